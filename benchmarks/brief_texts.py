"""Made-up briefs for benchmarks/briefs.py: true ones, and ones with exactly one planted fault.

Every sentence that is true rests on a document of the corpus: a case is named as its document is, with its own date and
with the reports under which other judgments cite it; a provision's words are its own. The ways of citing are those
found in the judgments themselves ("u/s. 302 r/w s. 34 IPC", "(2003) 8 SCC 180", "State of U.P.", "Vs."), and were fixed
before the checker was run on them.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from pincite.sentences import sentence_spans

__all__ = ["FAULTS", "Brief", "Case", "Fault", "Provision", "Writer", "mine_reports", "read_case"]

Fault = Literal["invented", "wrong-year", "wrong-act", "altered-quote", "superseded", "unsupported"]
FAULTS: dict[Fault, str] = {
    "invented": "not-found",
    "wrong-year": "wrong-year",
    "wrong-act": "wrong-act",
    "altered-quote": "altered-quote",
    "superseded": "not-in-force",
    "unsupported": "unsupported",
}
"""Fault → the status by which it is to be found."""

OLD_DAY, NEW_DAY = "2023-06-30", "2025-06-30"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DATE = re.compile(rf"(\d{{1,2}})\s+({'|'.join(_MONTHS)})\s+(\d{{4}})")


@dataclass(frozen=True)
class Case:
    id: str
    name: str
    first: str
    second: str
    decided: date
    sentences: tuple[str, ...]
    reports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provision:
    act: str  #: ``ipc``, ``crpc``, ``bns``, ``bnss``, ``constitution``
    number: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Brief:
    number: int
    text: str
    as_of: str
    fault: Fault | None = None
    at: tuple[int, int] = (0, 0)  #: of the paragraph with the fault
    planted: str = ""  #: what was done
    named: tuple[str, ...] = ()  #: every authority as the text names it


@dataclass
class _Draft:
    """What a paragraph names."""

    named: list[str] = field(default_factory=list)


# What the corpus holds


def read_case(identity: str, title: str, text: str) -> Case | None:
    """A judgment as a source of true sentences; None where its name or its date does not say enough."""
    name = " ".join(title.split())
    # A capital "V." may be an initial.
    sides = re.split(r"\s+v\s+", name) if re.search(r"\sv\s", name) else re.split(r"\s+[vV]s?\.\s+", name)
    found = _DATE.search(" ".join(text[:400].split()))
    if len(sides) != 2 or not found or len(name) > 110 or name.isupper() or re.search(r"\(\d\)|;", name):
        return None
    decided = date(int(found[3]), _MONTHS.index(found[2]) + 1, int(found[1]))
    body = text[len(text) // 4 :]
    said = (_bare(body[start:end]) for start, end in sentence_spans(body))
    sentences = tuple(each for each in said if _quotable(each, case=True))
    return Case(identity, name, sides[0].strip(), sides[1].strip(), decided, sentences) if len(sentences) >= 5 else None


def _bare(said: str) -> str:
    """A sentence on one line, without the number of its paragraph."""
    return re.sub(r"^\(?\w{1,3}[.)]\s+", "", " ".join(said.split()))


def _quotable(said: str, *, case: bool) -> bool:
    """Whether a sentence can stand by itself, and of a judgment names no other authority."""
    if not 12 <= len(said.split()) <= 45 or not said[0].isupper() or not said.endswith("."):
        return False
    if re.search(r"\bAct,?\s*\d{4}", said):  # it names an act that may not be in the corpus
        return False
    if re.match(r"(?:But|And|Provided|Rep|Ins|Subs)\b", said):
        return False
    if re.search(r"[\"“”\[\]{}*|]|\.\.|\(\w$|…", said) or said.count("(") != said.count(")"):
        return False
    other = (
        r"\bIndlaw\b|\bregulations?\b|\brr?\.|['’]s case\b|\bsupra\b|\bv\.|\bvs\b|\bSCC\b|\bAIR\b|\bsecs?\b|"
        r"\bsections?\b|\bss?\.|\bart(?:icle)?s?\b|\bact\b|\brules?\b|u/s"
    )
    return not (case and re.search(other, said, re.IGNORECASE))


_REPORT = re.compile(
    r"(?:\(\d{4}\)\s*\d{1,2}\s*SCC\s*\d+|\d{4}\s*\(\d{1,2}\)\s*SCC\s*\d+|\[\d{4}\]\s*\d\s*SCR\s*\d+|"
    r"AIR\s*\d{4}\s*SC\s*\d+|\d{4}\s*Indlaw\s*SC\s*\d+)"
)
_VERSUS = re.compile(r"\s[vV](?:s|ersus)?\.?\s")


def mine_reports(cases: Sequence[Case], texts: Sequence[str]) -> dict[str, list[str]]:
    """Case id → the reports under which `texts` cite it: right behind its name, of its year or the two after it."""
    sides: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        first, second = _words(case.first), _words(case.second)
        if first and second:
            sides[first[-1], second[0]].append(case)
    found: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        for match in _VERSUS.finditer(text):
            before, after = _words(text[max(0, match.start() - 90) : match.start()]), text[match.end() :][:160]
            following = _words(after)
            for case in sides.get((before[-1] if before else "", following[0] if following else ""), ()):
                first, second = _words(case.first), _words(case.second)
                report = _REPORT.search(after)
                if before[-len(first) :] != first or following[: len(second)] != second or not report:
                    continue
                year = int(re.search(r"\d{4}", report.group())[0])  # type: ignore[index]
                between = after[: report.start()]
                if 0 <= year - case.decided.year <= 2 and not _VERSUS.search(between):
                    said = " ".join(report.group().split())
                    if said not in found[case.id]:
                        found[case.id].append(said)
    return found


def _words(name: str) -> list[str]:
    plain = re.sub(r"\b(?:and|&)\s+(?:others?|ors|another|anr)\b\.?", " ", name.lower())
    return re.findall(r"[a-z]+", plain)


# How it is cited

_ACTS = {
    "ipc": (["IPC", "I.P.C.", "Penal Code"], ["Indian Penal Code", "Indian Penal Code, 1860", "Penal Code, 1860"]),
    "crpc": (
        ["CrPC", "Cr.P.C.", "Cr. P.C.", "Cr.P.C"],
        ["Code of Criminal Procedure", "Code of Criminal Procedure, 1973", "Criminal Procedure Code"],
    ),
    "bns": (["BNS", "BNS, 2023", "B.N.S."], ["Bharatiya Nyaya Sanhita", "Bharatiya Nyaya Sanhita, 2023"]),
    "bnss": (
        ["BNSS", "BNSS, 2023", "B.N.S.S."],
        ["Bharatiya Nagarik Suraksha Sanhita", "Bharatiya Nagarik Suraksha Sanhita, 2023"],
    ),
}
_SWAPPED = {"ipc": "crpc", "crpc": "ipc", "bns": "bnss", "bnss": "bns"}
_SUPERSEDES = {"ipc": "bns", "crpc": "bnss", "bns": "ipc", "bnss": "crpc"}
_STATES = {
    "Uttar Pradesh": ["U.P.", "UP"],
    "Madhya Pradesh": ["M.P.", "MP"],
    "Andhra Pradesh": ["A.P.", "Andhra Pradesh"],
    "Tamil Nadu": ["T.N.", "Tamil Nadu"],
    "West Bengal": ["W.B.", "West Bengal"],
    "Himachal Pradesh": ["H.P.", "Himachal Pradesh"],
}
_CASE_SAYS = (
    "In {case}, the Supreme Court {held} that {said}.",
    "In {case} this Hon'ble Court {held} that {said}.",
    "It was {held} in {case} that {said}.",
    "As {held} by the Apex Court in {case}, {said}.",
    "Reliance is placed on {case}, wherein it was {held} that {said}.",
    "{Said} ({case}).",
    "{Said}. See {case}.",
    "The Court in {case} {held}: {said}.",
)
_CASE_QUOTES = (
    "In {case}, the Supreme Court observed: “{said}”",
    "In {case} it was held as under:\n\n> {said}",
    'The learned Judges in {case} put it thus: "{said}"',
    "“{said}” ({case})",
    "In {case}, this Court had occasion to consider the question. It was observed that “{said}”",
    "The following passage from {case} is apposite:\n\n“{said}”",
)
_PROVISION_SAYS = (
    "{Provision} provides that {said}.",
    "Under {provision}, {said}.",
    "{Provision} lays down that {said}.",
    "By virtue of {provision}, {said}.",
    "{Said} ({provision}).",
    "{Said}: see {provision}.",
    "In terms of {provision}, {said}.",
)
_PROVISION_QUOTES = (
    "{Provision} reads: “{said}”",
    "{Provision} is in these terms:\n\n> {said}",
    'The words of {provision} are plain: "{said}"',
    "The material part of {provision} states that “{said}”",
    "“{said}”, says {provision}.",
)
_FACTS = (
    "The appellant was charged {under} and the trial court convicted him on all counts.",
    "The FIR came to be registered {under}, and the investigation was completed within sixty days.",
    "After trial the accused stands convicted for an offence punishable {under}.",
    "The Sessions Judge framed a charge {under} against all the accused.",
)
_PLAIN = (
    "The prosecution examined eleven witnesses, of whom four did not support its case.",
    "The delay in lodging the report has not been explained.",
    "It is respectfully submitted that the impugned order cannot be sustained.",
    "The recovery memo bears no signature of an independent witness.",
    "The appellant has been in custody for more than two years.",
    "The High Court did not advert to the medical evidence at all.",
    "The statement of the complainant was recorded nine days after the occurrence.",
    "The parties have since settled the dispute between them.",
)
_HELD = ("held", "observed", "ruled", "laid down", "reiterated", "held")
_GIVEN = (
    "Harbhajan",
    "Dinesh",
    "Ramesh",
    "Lakshmi",
    "Abdul",
    "Suresh",
    "Gopal",
    "Mohinder",
    "Parvati",
    "Anwar",
    "Joseph",
)
_FAMILY = (
    "Tandekar",
    "Vadhwaniya",
    "Brarsingh",
    "Kuttappan",
    "Lohariya",
    "Mirchandka",
    "Sonowalia",
    "Pillaimar",
    "Quadrani",
)
_SUPREME = (
    "State of Haryana",
    "State of Kerala",
    "Union of India",
    "State of Bihar",
    "State of Gujarat",
    "State of Assam",
)


class Writer:
    """Writes briefs from cases and provisions, with a seed."""

    def __init__(self, cases: Sequence[Case], provisions: Mapping[str, Sequence[Provision]], seed: int) -> None:
        self.cases = list(cases)
        self.provisions = {act: list(each) for act, each in provisions.items()}
        self.random = random.Random(seed)
        self.years: dict[tuple[str, str], set[int]] = defaultdict(set)
        for case in cases:
            self.years[" ".join(_words(case.first)), " ".join(_words(case.second))].add(case.decided.year)
        self.parties = {" ".join(_words(each)) for case in cases for each in (case.first, case.second)}

    def brief(self, number: int, fault: Fault | None = None) -> Brief:
        """One brief: two cases, two provisions, a quotation and facts; one of the first four gives way to a fault."""
        r = self.random
        old = r.random() < 0.5
        penal, procedure = ("ipc", "crpc") if old else ("bns", "bnss")
        one, two = r.sample(self.cases, 2)
        makers: list[Callable[[_Draft], str]] = [
            lambda draft: self._case_says(one, draft),
            lambda draft: self._case_quotes(two, draft) if r.random() < 0.6 else self._case_says(two, draft),
            lambda draft: self._provision_says(self._pick(penal), draft),
            lambda draft: self._provision_quotes(self._pick(r.choice([procedure, "constitution"])), draft),
        ]
        written: list[tuple[str, bool, list[str]]] = []
        for make in makers:
            draft = _Draft()
            written.append((make(draft), False, draft.named))
        planted = ""
        if fault is not None:
            said, planted = self._fault(fault, penal, procedure, _Draft())
            written[r.randrange(len(written))] = (said, True, [])
        r.shuffle(written)
        facts = _Draft()
        text = f"# Written submissions in appeal no. {r.randrange(11, 990)}\n\n{self._facts(penal, facts)}"
        named, at = facts.named, (0, 0)
        for said, faulty, names in written:
            text += "\n\n" + (r.choice(_PLAIN) + " " if r.random() < 0.4 else "")
            start = len(text)
            text += said
            at = (start, len(text)) if faulty else at
            named += names
            if r.random() < 0.4 and not said.endswith("”") and "\n" not in said:
                text += " " + r.choice(_PLAIN)
        text += "\n\nIt is therefore prayed that the appeal be allowed.\n"
        return Brief(number, text, OLD_DAY if old else NEW_DAY, fault, at, planted, tuple(named))

    # Paragraphs

    def _case_says(self, case: Case, draft: _Draft, said: str = "", cited: str = "") -> str:
        said = said or self._clause(self.random.choice(case.sentences))
        return self._fill(_CASE_SAYS, said, draft, case=cited or self._cite(case))

    def _case_quotes(self, case: Case, draft: _Draft, said: str = "") -> str:
        said = said or self.random.choice(case.sentences)
        return self._fill(_CASE_QUOTES, said, draft, case=self._cite(case), quoted=True)

    def _provision_says(
        self, provision: Provision, draft: _Draft, said: str = "", act: str = "", number: str = ""
    ) -> str:
        said = said or self._clause(self.random.choice(provision.sentences))
        cited = self._cite_provision(act or provision.act, number or provision.number)
        return self._fill(_PROVISION_SAYS, said, draft, provision=cited)

    def _provision_quotes(self, provision: Provision, draft: _Draft, said: str = "") -> str:
        said = said or self.random.choice(provision.sentences)
        cited = self._cite_provision(provision.act, provision.number)
        return self._fill(_PROVISION_QUOTES, said, draft, provision=cited, quoted=True)

    def _facts(self, act: str, draft: _Draft) -> str:
        numbers = [each.number for each in self.random.sample(self.provisions[act], 2)]
        short = self.random.choice(_ACTS[act][0])
        form = self.random.choice(
            (
                "u/s. {0} {a}",
                "under sections {0} and {1} {a}",
                "under Section {0} read with Section {1} {a}",
                "u/s {0} r/w {1} {a}",
                "under s. {0} {a}",
                "under Sections {0}, {1} of the {a}",
            )
        )
        under = form.format(*numbers, a=short)
        draft.named += numbers if "{1}" in form else numbers[:1]
        return self.random.choice(_FACTS).format(under=under)

    def _fill(self, forms: Sequence[str], said: str, draft: _Draft, *, quoted: bool = False, **cited: str) -> str:
        (what, name), *_ = cited.items()
        draft.named.append(name)
        bare = said if quoted else said.rstrip(". ")
        lower = bare if _keeps_capital(bare) else bare[0].lower() + bare[1:]
        return self.random.choice(forms).format(
            **{what: name, what.title(): name[0].upper() + name[1:]},
            said=bare if quoted else lower,
            Said=bare[0].upper() + bare[1:],
            held=self.random.choice(_HELD),
        )

    # The faults

    def _fault(self, fault: Fault, penal: str, procedure: str, draft: _Draft) -> tuple[str, str]:
        r = self.random
        case, provision = r.choice(self.cases), self._pick(r.choice([penal, procedure]))
        if fault == "invented":
            return self._invented(case, draft)
        if fault == "wrong-year":
            return self._wrong_year(case, draft)
        if fault == "wrong-act":
            other = _SWAPPED[provision.act]
            return self._provision_says(
                provision, draft, act=other
            ), f"{provision.number} of {provision.act} as {other}"
        if fault == "superseded":
            gone = self._pick(_SUPERSEDES[provision.act])
            return self._provision_says(gone, draft), f"{gone.number} of {gone.act}"
        if fault == "altered-quote":
            of_case = r.random() < 0.5
            while True:
                source = r.choice(self.cases) if of_case else self._pick(r.choice([penal, procedure, "constitution"]))
                said = r.choice(source.sentences)
                altered, what = _altered(said, r)
                if altered:
                    break
            if isinstance(source, Case):
                return self._case_quotes(source, draft, altered), what
            return self._provision_quotes(source, draft, altered), what
        return self._unsupported(case, provision, draft)

    def _invented(self, case: Case, draft: _Draft) -> tuple[str, str]:
        r = self.random
        while True:
            first = f"{r.choice(_GIVEN)} {r.choice(_FAMILY)}"
            if " ".join(_words(first)) not in self.parties:
                break
        year = r.randrange(1962, 2019)
        report = r.choice(
            (
                f"({year}) {r.randrange(1, 12)} SCC {r.randrange(11, 890)}",
                f"AIR {year} SC {r.randrange(100, 2900)}",
                f"{year} ({r.randrange(1, 9)}) SCC {r.randrange(11, 890)}",
                f"decided on 4 March {year}",
                f"({year})",
            )
        )
        name = f"{first} {r.choice(['v.', 'vs.', 'v', 'versus'])} {r.choice(_SUPREME)}"
        cited = f"{name}, {report}" if not report.startswith("(") or r.random() < 0.3 else f"{name} {report}"
        return self._case_says(case, draft, cited=cited), cited

    def _wrong_year(self, case: Case, draft: _Draft) -> tuple[str, str]:
        r = self.random
        known = self.years[" ".join(_words(case.first)), " ".join(_words(case.second))]
        near = {year + step for year in known for step in (-1, 0, 1, 2)}
        wrong = r.choice(
            [y for y in range(case.decided.year - 14, case.decided.year + 15) if y not in near and y < 2020]
        )
        moved = case.decided.replace(year=wrong, day=min(case.decided.day, 28))
        cited = self._cite(Case(case.id, case.name, case.first, case.second, moved, case.sentences), dated=True)
        return self._case_says(case, draft, cited=cited), f"{wrong} for {case.decided.year}: {cited}"

    def _unsupported(self, case: Case, provision: Provision, draft: _Draft) -> tuple[str, str]:
        r = self.random
        if r.random() < 0.5:  # what another one says
            if r.random() < 0.5:
                other = r.choice([each for each in self.cases if each is not case])
                return self._case_says(case, draft, self._clause(r.choice(other.sentences))), f"words of {other.name}"
            alike = [each for each in self.provisions[provision.act] if each.number != provision.number]
            other_one = r.choice(alike)
            said = self._clause(r.choice(other_one.sentences))
            return self._provision_says(provision, draft, said), f"words of {other_one.number}"
        while True:
            source = r.choice(self.cases) if r.random() < 0.5 else self._pick(provision.act)
            said, what = _altered(self._clause(r.choice(source.sentences)), r, words=False)
            if said:
                break
        if isinstance(source, Case):
            return self._case_says(source, draft, said), what
        return self._provision_says(source, draft, said), what

    # Citing

    def _pick(self, act: str) -> Provision:
        return self.random.choice(self.provisions[act])

    def _cite(self, case: Case, *, dated: bool = False) -> str:
        """A case as lawyers write it: never the same way, always with something that says when it was decided."""
        r = self.random
        first, second = self._party(case.first), self._party(case.second)
        name = f"{first} {r.choice(['v.', 'v.', 'v', 'vs.', 'Vs.', 'versus', 'V.'])} {second}"
        name = f"*{name}*" if r.random() < 0.2 else name
        on = case.decided
        reports = [each for each in case.reports if not dated]
        if reports and r.random() < 0.6:
            report = r.choice(reports)
            return r.choice(
                [f"{name} {report}", f"{name}, {report}", f"{name} reported in {report}", f"{name} [{report}]"]
            )
        return r.choice(
            (
                f"{name} ({on.year})",
                f"{name}, decided on {on.day} {_MONTHS[on.month - 1]} {on.year}",
                f"{name}, {on.year}",
                f"{name} (judgment dated {on.day:02}.{on.month:02}.{on.year})",
                f"{name} (decided on {_MONTHS[on.month - 1]} {on.day}, {on.year})",
                f"{name} [{on.year}]",
            )
        )

    def _party(self, name: str) -> str:
        r = self.random
        for long, shorts in _STATES.items():
            if name.lower().endswith(f"state of {long.lower()}") and r.random() < 0.6:
                return name[: -len(long)] + r.choice(shorts)
        if found := re.search(r"\s+(?:and|&)\s+(others?|another|ors\.?|anr\.?)$", name, re.IGNORECASE):
            many = found[1].lower().startswith("o")
            return name[: found.start()] + r.choice(["", " & Ors." if many else " & Anr.", found.group()])
        return name

    def _cite_provision(self, act: str, number: str) -> str:
        r = self.random
        if act == "constitution":
            return r.choice(
                (
                    f"Article {number} of the Constitution",
                    f"Art. {number} of the Constitution of India",
                    f"Article {number} of the Constitution of India",
                    f"Article {number}, Constitution of India",
                )
            )
        short, full = r.choice(_ACTS[act][0]), r.choice(_ACTS[act][1])
        return r.choice(
            (
                f"Section {number} of the {full}",
                f"section {number} {short}",
                f"s. {number} {short}",
                f"Section {number}, {short}",
                f"Sec. {number} of the {short}",
                f"S. {number} of the {full}",
                f"Section {number} of {short}",
            )
        )

    def _clause(self, said: str) -> str:
        """A sentence or its first clauses, where what is left out takes nothing back."""
        ends = [match.start() for match in re.finditer(r"[,;](?=\s)", said)]
        fitting = [
            end
            for end in ends
            if len(said[:end].split()) >= 9
            and said[:end].count("(") == said[:end].count(")")
            and not _LIMITS.search(said[end:])
        ]
        return said[: self.random.choice(fitting)] if fitting and self.random.random() < 0.7 else said


#: What takes back or narrows what was said before it.
_LIMITS = re.compile(
    r"\b(?:not|no|nor|never|none|unless|except|provided|if|subject|without|until|but|only|save|whose|who|which|that|when|"
    r"where|being|having|knowing|with|under|or)\b"
)


def _keeps_capital(said: str) -> bool:
    first = said.split()[0]
    return first not in (
        "The",
        "A",
        "An",
        "In",
        "It",
        "If",
        "When",
        "Where",
        "Whoever",
        "There",
        "This",
        "No",
        "Any",
        "Every",
    )


_TURNS = (
    (r"\bshall be\b", "may be"),
    (r"\bshall not\b", "shall"),
    (r"\bmay not\b", "may"),
    (r"\bmust\b", "need not"),
    (r"\bis not\b", "is"),
    (r"\bcannot be\b", "can be"),
    (r"\bwas not\b", "was"),
    (r"\bis\b(?! not)", "is not"),
    (r"\bmay be\b", "may not be"),
    (r"\bhas been\b", "has never been"),
)
_NUMBERS = {"two": "five", "three": "seven", "five": "ten", "seven": "three", "ten": "six", "fifteen": "thirty"}
_NUMBERS |= {
    "twenty": "forty",
    "thirty": "sixty",
    "sixty": "ninety",
    "one year": "four years",
    "six months": "two years",
}
_OTHERS = {"death": "transportation", "accused": "complainant", "imprisonment": "detention", "fine": "forfeiture"}
_OTHERS |= {"evidence": "suspicion", "murder": "hurt", "police": "military", "bail": "parole", "court": "legislature"}


def _altered(said: str, r: random.Random, *, words: bool = True) -> tuple[str, str]:
    """The sentence with one thing changed that changes what it says; "" where nothing in it can be."""
    ways: list[tuple[str, str]] = []
    for pattern, other in _TURNS:
        if found := re.search(pattern, said):
            ways.append((said[: found.start()] + other + said[found.end() :], f"{found.group()} → {other}"))
    for pattern, other in (_NUMBERS | _OTHERS if words else _NUMBERS).items():
        if found := re.search(rf"\b{pattern}\b", said):
            ways.append((said[: found.start()] + other + said[found.end() :], f"{found.group()} → {other}"))
    return r.choice(ways) if ways else ("", "")
