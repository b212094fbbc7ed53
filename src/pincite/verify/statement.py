"""What a sentence says an authority holds, apart from naming it and from the words that lead to it.

"In *A v. B* (1973) 4 SCC 225, this Court held that bail is the rule." says "bail is the rule" of the case. "The accused
was charged under section 302 IPC." says nothing of the section: that is a fact of the matter, and no source of law can
confirm it. Written for English; in other languages the whole sentence is compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pincite.words import content_words, has_content

__all__ = ["asserts", "goes_on", "only_cites", "remark", "says_further", "statement_of", "takes_up"]

Remark: TypeAlias = Literal["loose", "topic", "fact", "other"]

_SAID = (
    "held|observed|ruled|opined|noted|noticed|reiterated|affirmed|reaffirmed|declared|concluded|stated|said|"
    r"decided(?=\s+that\b)|"
    "explained|clarified|cautioned|emphasi[sz]ed|stressed|remarked|pointed out|laid down|recogni[sz]ed|found|"
    "reminded|expressed the view|took the view|taken the view|summari[sz]ed|settled|established|laid"
)
_SAYS = (
    "holds|says|states|reads|provides|lays down|lays|prescribes|stipulates|punishes|defines|requires|empowers|confers|"
    "enables|bars|prohibits|mandates|declares|guarantees|protects|deals with|contemplates|imposes|obliges|"
    "authori[sz]es|entitles|permits|allows|enacts|creates|gives|grants|secures|ensures|directs|forbids|"
    "makes|sets out|speaks of|extends|excludes|saves|vests|casts|applies|envisages|postulates|enjoins|"
    "establishes|explains"
)
_COURT = (
    r"(?:(?:the|this|that|our|their|his|a)\s+)?(?:(?:hon['’]?ble|honou?rable|learned|apex|supreme|high|constitution|"
    r"division|full|same|larger|three[- ]judge|two[- ]judge)\s+)*"
    r"(?:court|bench|lordships?|tribunal|judges?|judgment|decision|ruling|magistrate)(?:\s+of\s+india)?"
)
_ADVERBS = (
    r"(?:\s*,?\s*(?:has|have|had|was|were|is|are|been|also|further|again|clearly|categorically|rightly|thus|therefore|"
    r"then|expressly|specifically|in\s+terms|inter\s+alia|authoritatively|consistently|held\s+and|while\s+\w+ing"
    r"\s+\w+))*\s*,?\s*"
)
_THAT = r"(?:\s*,?\s*(?:that|as\s+follows|as\s+under|thus|to\s+the\s+effect\s+that|inter\s+alia))*\s*[:,\-–—]*\s*"
#: What leads to the statement: "the Supreme Court held that", "it is settled that".
_LEADS = re.compile(
    rf"(?:\b(?:where|when|wherein|in\s+which)\b\s*)?(?:\b(?:{_COURT})|\bit|\bthey)\b{_ADVERBS}"
    rf"(?:well[- ])?\b(?:{_SAID})\b(?:\s+(?:in|by|down)\b)?\s*{_THAT}",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:it|the law|the position)\s+(?:is|was|has been|stands)\s+(?:now\s+|also\s+|well[- ]|fairly\s+|trite\s*)*"
    r"(?:settled|established|trite|law|clear|beyond doubt)?(?:\s+law)?\s*(?:in|by|from|since)?\s*,?\s*that\b",
    re.IGNORECASE,
)
#: The verb that stands right behind the authority it is said of: "… provides that", "… holds".
_VERB_FIRST = re.compile(
    rf"\A[\s,;:()\[\]*_]*(?:(?:which|that|it)\s+)?(?:(?:clearly|expressly|further|also|specifically|itself|thus|inter "
    rf"alia)\s+)*(?:(?:{_SAYS}|{_SAID})\b{_THAT}|(?:holding|observing|ruling|stating|laying\s+down|reiterating|"
    rf"affirming|declaring|concluding)\b\s*(?:inter\s+alia\s*,?\s*)?that\b\s*"
    rf"|(?:is|was|are|stands?)\s+(?:(?:an?|the|clear|good|binding|also)\s+)*(?:authority|authorities)?\s*(?:for|on|to)\s+"
    rf"(?:the|this)\s+(?:\w+\s+)?(?:proposition|principle|point|effect|view)\s*,?\s+that\b\s*)",
    re.IGNORECASE,
)
#: Verbs that carry meaning of their own stay in the statement: "punishes murder".
_TELLING = re.compile(
    r"punishes|defines|requires|empowers|confers|enables|bars|prohibits|guarantees|protects|imposes|authori[sz]es|"
    r"entitles|permits|allows|forbids|grants|vests|excludes|applies",
    re.IGNORECASE,
)
#: Words that point at a citation. One by one: a choice between "refer" and "refer to" could be made in too many ways.
_SIGNALS = (
    r"\b(?:see|also|vide|cf|compare|accord|refer|referred|to|relied|up|upon|on|reported|in|as|supra|ibid|e\.?g|and|or|with|"
    r"read|r/w|under|of|per|by|at|the|from|case|cases|decision|judgment|followed|affirmed|approved|paras?|paragraphs?|"
    r"pages?|pp?)\b"
)
#: "as held by the Apex Court in": what stands before a citation that is said to hold it.
_AS_HELD = re.compile(
    rf"\bas\s+(?:(?:was|has\s+been|is)\s+)?(?:{_SAID}|{_SAYS})\s*(?:by\s+{_COURT})?\s*(?:in|by|under)?\W*\Z",
    re.IGNORECASE,
)
_COURT_ALONE = re.compile(rf"\A\W*{_COURT}\W*\Z", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH},?\s+|{_MONTH}\s+\d{{1,2}},?\s+|\d{{1,2}}[./-]\d{{1,2}}[./-])?"
#: The date behind a citation belongs to it: ", decided on 4 April 1989", "(1989)".
_DATED = re.compile(
    rf"\A[*_]*[\s,]*[(\[]?\s*(?:(?:judge?ment|order|decision)?\s*(?:decided|dated|dt\.?|d/-|delivered|pronounced)\s*(?:on)?\s*)?"
    rf"{_DAY}(?:1[6-9]|20)\d\d\b\s*[)\]]?",
    re.IGNORECASE,
)
_ONLY_SIGNALS = re.compile(rf"(?:[\W\d_]|{_SIGNALS})*", re.IGNORECASE)
_BEFORE = re.compile(
    r"(?:\b(?:in\s+terms\s+of|within\s+the\s+meaning\s+of|by\s+virtue\s+of|in\s+the\s+(?:case|matter|decision|judgment)"
    r"\s+of|(?:the\s+)?(?:decision|judgment|ruling|case)s?\s+(?:in|of|reported\s+in)|pursuant\s+to|according\s+to|"
    r"as\s+per|reported\s+(?:in|as|at)|relying\s+(?:up)?on|reliance\s+on|following|under|u/s|vide|"
    r"see(?:\s+also)?|in|per|by|of|cf)\.?\s*|[(\[,;:]\s*)+\Z",
    re.IGNORECASE,
)
_RELIANCE = re.compile(
    r"\b(?:reliance|support|assistance)\s+(?:is|was|may be|can be|has been)\s+(?:\w+\s+)?(?:placed|drawn|had|sought)"
    r"\s*(?:up)?(?:on|from|to)?\s*[,:]?|\b(?:we|counsel|the (?:appellants?|petitioners?|respondents?|accused|state))"
    r"\s+(?:also\s+)?rel(?:y|ies|ied)\s*(?:up)?on\s*[,:]?",
    re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"[(\[]\s*(?:" + _SIGNALS + r"|[\s,;.:/&\d-])*[)\]]", re.IGNORECASE)
_OPENING = re.compile(
    r"\A\W*(?:under|by\s+virtue\s+of|in\s+terms\s+of|as\s+per|per|according\s+to|by|in\s+view\s+of|pursuant\s+to|"
    r"in\s+the\s+words\s+of|on\s+the\s+authority\s+of|going\s+by)\b"
    r"(?:\s+(?:the|said|provisions?|decision|judge?ment|ruling|case|dictum|ratio|law|of|in|laid|down|reported|honou?rable|"
    r"hon['’]ble|supreme|apex|court|mandate|by))*\W*\Z",
    re.IGNORECASE,
)
#: The number of a paragraph or of a point: "4. ", "1) ", "(a) ", "1.1 ", "# 4. ".
_NUMBERED = re.compile(
    r"\A\s*(?:(?:[-*•>]+|#{1,6})\s+)*(?:(?:\(?\d{1,3}(?:\.\d{1,3})*[.)]|\d{1,3}(?:\.\d{1,3})+|\([a-z]{1,4}\)|[a-zA-Z][.)]|"
    r"\(?[ivx]{1,5}[.)])\s+)?(?=\S)"
)
#: How an argument begins; what follows is what is said of the law.
_SUBMITTED = re.compile(
    r"\A\W*(?:(?:further|moreover|therefore|thus|hence|accordingly|similarly|again|also)\s*,?\s+)?"
    r"(?:it\s+(?:is|was|may\s+be|must\s+be)\s+(?:(?:most|very|further|also|humbly|respectfully|again|therefore|and)\s*,?\s+)*"
    r"(?:submitted|urged|contended|pointed\s+out|pertinent\s+to\s+(?:note|mention)|noted|stated)"
    r"|(?:the|learned)\s+(?:\w+\s+){0,5}?(?:(?:most|humbly|respectfully)\s+)*(?:submits?|contends?|urges?))"
    r"\s*,?\s+that\b[\s,]*",
    re.IGNORECASE,
)
#: What befalls a case as a whole, and not what it holds: "was followed in".
_PROCEDURAL = re.compile(
    r"\b(?:is|was|were|are|been|being)\s+(?:(?:also|recently|later|subsequently|since|thereafter|rightly|further|expressly|"
    r"impliedly)\s+)*(?:decided|delivered|reported|followed|distinguished|overruled|relied\s+(?:up)?on|cited|approved|"
    r"pronounced|rendered|referred\s+to|applied|doubted|explained|considered|affirmed|reiterated|argued|heard)\b"
    r"(?!\s*(?:,\s*)?that\b)",
    re.IGNORECASE,
)
_TOPICS = (
    r"(?:tests?|principles?|scope|law|ratio|guidelines?|questions?|issues?|ambit|meaning|parameters|doctrine|concept|"
    r"conditions|requirements|ingredients|factors|considerations|approach|standards?|nature|extent|powers?)"
)
_TREATED = (
    r"(?:laid\s+down|considered|discussed|explained|formulated|set\s+out|summari[sz]ed|examined|dealt\s+with|enunciated|"
    r"analy[sz]ed|elucidated|reiterated|stated|settled|propounded|expounded|restated|culled\s+out)"
)
#: What a judgment is about, without what it says of that: "the test of a prima facie case was laid down".
_TOPIC = re.compile(
    rf"\b{_TREATED}\s+(?:at\s+length\s+|in\s+detail\s+)?(?:the|a|an|this|that|certain|some)\s+(?:\w+\s+){{0,3}}?{_TOPICS}\b"
    rf"|\b{_TOPICS}\b[^.;:]{{0,120}}?\b(?:was|were|is|are|has\s+been|have\s+been|came\s+to\s+be)\s+(?:\w+ly\s+)?{_TREATED}\b",
    re.IGNORECASE,
)
_SAYS_WHAT = re.compile(r"\bthat\b|:|[“\"«„]|\bas\s+(?:follows|under)\b|\bnamely\b", re.IGNORECASE)
#: A mention of a punishment, and of the penalty in a way that says something of the section that is named with it.
_PENALTY = re.compile(
    r"\bpunishable\s+(?:with|by)\b|\bpunished\s+(?:with|by)\b"
    r"|\b(?:punishment|sentence|penalty|term|fine|imprisonment)\b[^.;]{0,120}?\b(?:is|are|shall\s+be|may\s+be|extends?|cannot|"
    r"must\s+be)\b",
    re.IGNORECASE,
)
#: What a court did in a case.
_OUTCOME = re.compile(
    rf"\b{_COURT}\s+(?:(?:has|had|also|further|rightly|thus|therefore)\s+)*(?:refused|granted|allowed|dismissed|quashed|"
    r"set\s+aside|upheld|acquitted|convicted|rejected|declined|directed|struck\s+down|reversed|reduced|enhanced|restored|"
    r"remanded|awarded|imposed|permitted|ordered|confirmed|cancelled|commuted|released|interfered)\b",
    re.IGNORECASE,
)
#: Between an authority and a quotation that it is credited with: nothing but marks, or words that point at it.
_TO_QUOTE = re.compile(r"[\s\d,;:.()\[\]*_–—\-“”\"'‘’«»„]*(?:(?:see|vide|per|at|paras?|p)\b[\s\d,.:()\[\]*_]*)*")
#: Words from which on a quotation beside an authority is taken for the authority's.
_CREDITED = 4
_REPORTS = re.compile(rf"\b(?:{_SAID}|{_SAYS})\b", re.IGNORECASE)
_PASSIVE = re.compile(rf"\bas\s+(?:was\s+|has\s+been\s+)?(?:{_SAID})\b", re.IGNORECASE)
#: What befell the parties, and what they argue: facts of the matter.
_FACTS = re.compile(
    r"\b(?:appellants?|accused|petitioners?|respondents?|prosecution|complainants?|plaintiffs?|defendants?|counsel|"
    r"fir|charge[- ]?sheet|trial court|sessions judge|investigating officer|applicants?|we)\b"
    r"(?:\s+\S+){0,5}?\s+(?:was|were|has been|have been|had been|stands?|came to be|argue[sd]?|submit(?:s|ted)?|"
    r"contend(?:s|ed)?|relie[sd]|rely|filed|moved|prefer(?:s|red)|urge[sd]?|placed|seeks?|prays?|faces?)\b",
    re.IGNORECASE,
)
#: What is done to somebody under a provision.
_MATTER = re.compile(
    r"\b(?:convicted|charged|charge|sentenced|acquitted|arrested|tried|registered|prosecuted|committed|indicted|booked|"
    r"lodged|framed|invoked|filed|relied|reliance|offences?\s+(?:punishable\s+)?(?:under|u/s)|fir|proceedings|"
    r"applications?|petitions?|appeals?|notice|complaint|investigat\w+)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    rf"\A\W*(?:{_COURT}|it|they|(?:the|this|that|the said)\s+(?:section|provision|article|rule|proviso|sub-?section|"
    rf"clause))\b{_ADVERBS}(?:{_SAID}|{_SAYS})\b",
    re.IGNORECASE,
)
#: "It was held in Pratibha V. …" is of another case, seen or not.
_OF_ANOTHER = re.compile(
    rf"\A\W*(?:{_COURT}|it|they)\b{_ADVERBS}(?i:{_SAID})\s+(?i:in|by)\s+[*_“\"]*(?-i:[A-Z])\S*", re.IGNORECASE
)
_FURTHER = re.compile(r"\A[^.;:]{0,60}?\b(?:further|also|again|additionally)\b", re.IGNORECASE)
_LOWER_COURT = re.compile(r"\A[^.;:]{0,40}?\b(?:high|trial|sessions|magistrate|tribunal|judges?)\b", re.IGNORECASE)
_MARK = re.compile(r"\[\^?\d{1,3}\]")
_FRAMING = 5  #: words around a long quotation that merely lead to it: "the material part … is in these terms"
_LONG_QUOTE = 6  #: words from which on a quotation stands for itself


def goes_on(sentence: str) -> bool:
    """Whether a sentence that names no authority goes on about the last one: "The Court further held that …".

    >>> goes_on("It further observed that bail is the rule."), goes_on("The appeal should be allowed.")
    (True, False)
    """
    bare = _bare(sentence)
    return _GOES_ON.match(bare) is not None and _OF_ANOTHER.match(bare) is None


def takes_up(sentence: str) -> bool:
    """Whether one that `goes_on` may do so at the beginning of a paragraph: not of a lower court.

    >>> takes_up("3. It was further held that bail is due."), takes_up("The High Court held that bail is due.")
    (True, False)
    """
    return goes_on(sentence) and not _LOWER_COURT.match(_bare(sentence))


def says_further(sentence: str) -> bool:
    """Whether one that `takes_up` an authority does so in words that point back to it: "It was further held"."""
    return takes_up(sentence) and _FURTHER.match(_bare(sentence)) is not None


def _bare(sentence: str) -> str:
    """Without the number of its paragraph and the words that begin an argument."""
    return _SUBMITTED.sub("", _NUMBERED.sub("", sentence))


def only_cites(rest: str) -> bool:
    """Whether nothing is left of a sentence without its citations but words that point at them.

    >>> only_cites("See also ; and ."), only_cites("Bail is the rule: see .")
    (True, False)
    """
    return _ONLY_SIGNALS.fullmatch(rest) is not None


def asserts(text: str, named: Sequence[tuple[int, int]], quoted: Sequence[tuple[int, int]] = ()) -> bool:
    """Whether a sentence says what an authority holds, and does not merely name it.

    `named` are the spans of the authorities in `text`, in order, `quoted` those of quotations.
    """
    bare = _bare(_without(text, [*named, *quoted], " § "))
    if any(_beside(text, name, quote) for name in named for quote in quoted):
        return True
    if not _SAYS_WHAT.search(bare) and (_PROCEDURAL.search(bare) or _TOPIC.search(bare)):
        return False
    if _PASSIVE.search(bare):
        return True
    told = _LEADS.search(bare) or _SETTLED.search(bare)
    facts = _FACTS.search(bare) is not None
    for _, end in named:
        following = text[end:]
        if _VERB_FIRST.match(following):
            return True
    if told:
        return True
    if facts:
        return False
    if _REPORTS.search(bare):
        return True
    if named and _OPENING.match(_bare(text[: named[0][0]])):
        return True
    # "Murder is punished with death (s. 302 IPC)."
    last = text[named[-1][0] - 1 : named[-1][0]] if named and named[-1][0] else ""
    closes = bool(named) and not re.search(r"\w", _MARK.sub("", text[named[-1][1] :]))
    return closes and (last in "([" or re.search(r"\b(?:see|vide|cf)\W*\Z", text[: named[-1][0]], re.I) is not None)


def remark(text: str, named: Sequence[tuple[int, int]], quoted: Sequence[tuple[int, int]] = ()) -> Remark:
    """What a sentence that does not `asserts` says beside naming its authorities.

    ``loose``: something of the law or of what a court did, in a way that is compared without much being made of it.
    ``topic``: what an authority is about or what became of it. ``fact``: what happened in the matter, or nothing.
    ``other``: something that is not known for any of these.
    """
    bare = _bare(_without(text, [*named, *quoted], " § "))
    if not _SAYS_WHAT.search(bare) and (_PROCEDURAL.search(bare) or _TOPIC.search(bare)):
        return "topic"
    if _FACTS.search(bare) or _MATTER.search(bare):
        return "fact"
    if _PENALTY.search(bare) or _OUTCOME.search(bare):
        return "loose"
    return "other"


def _beside(text: str, name: tuple[int, int], quote: tuple[int, int]) -> bool:
    """Whether a quotation stands right behind an authority, or right before it."""
    if len(text[quote[0] : quote[1]].split()) < _CREDITED:
        return False
    between = text[name[1] : quote[0]] if name[1] <= quote[0] else text[quote[1] : name[0]]
    return (name[1] <= quote[0] or quote[1] <= name[0]) and _TO_QUOTE.fullmatch(between) is not None


def statement_of(text: str, named: Sequence[tuple[int, int]], quoted: Sequence[tuple[int, int]] = ()) -> str:
    """The words of a sentence that are to be held against its authorities; "" where there are none.

    `named` are the spans of the authorities in `text`, `quoted` those of quotations, without their marks: long ones
    are left out, since they are compared word for word.

    >>> said = "In A v. B, 1973, this Court held that bail is the rule."
    >>> statement_of(said, [(3, 16)])
    'bail is the rule.'
    """
    cut = sorted([*named, *((a, b) for a, b in quoted if len(text[a:b].split()) >= _LONG_QUOTE)])
    parts: list[str] = []
    position = 0
    for start, end in cut:
        if start < position:
            position = max(position, end)
            continue
        before = text[position:start]
        is_named = (start, end) in named
        if is_named:
            # What leads to a citation goes with it, but a bracket that opens before it stays to be closed.
            before = _AS_HELD.sub(" ", before.rstrip("*_"))
            before = _BEFORE.sub(lambda found: "(" if "(" in found.group() else " ", before)
            before = " " if _COURT_ALONE.match(before) else before
        parts.append(before)
        if is_named and (dated := _DATED.match(text[end : end + 80])):
            end += dated.end()
        following = text[end:]
        position = end
        if is_named and (verb := _VERB_FIRST.match(following)) and not _TELLING.search(verb.group()):
            position += verb.end()
    parts.append(text[position:])
    rest = " ".join(parts)
    rest = _MARK.sub(" ", rest)
    for _ in range(3):
        rest = _PARENTHESIS.sub(" ", rest)
    rest = _RELIANCE.sub(" ", _LEADS.sub(" ", _SETTLED.sub(" ", rest)))
    rest = _NUMBERED.sub("", rest)
    rest = _SUBMITTED.sub("", rest)
    rest = re.sub(r"[(\[]\s*(?=[.,;]|\Z)|\(\s*\)|\[\s*\]", " ", rest)
    rest = re.sub(r"[\"“”«»„]\s*[\"“”«»„]", " ", rest)
    rest = re.sub(r"\A[\s,;:.()\]\-–—]*(?:(?:that|and|also|the\s+effect\s+that)\b[\s,:]*)*", "", rest)
    rest = re.sub(r"\s+([.,;:)])", r"\1", " ".join(rest.split()))
    rest = re.sub(r"(?:\s*[.;,:])*(\.)(?:\s*[.;,:])*\Z", r"\1", rest).strip(" ,;:-–—(")
    least = _FRAMING + 1 if len(cut) > len(named) else 2
    return rest if has_content(rest) and len(content_words(rest)) >= least else ""


def _without(text: str, spans: Sequence[tuple[int, int]], filler: str) -> str:
    parts, position = [], 0
    for start, end in sorted(spans):
        if start >= position:
            parts += [text[position:start], filler]
        position = max(position, end)
    return "".join([*parts, text[position:]])
