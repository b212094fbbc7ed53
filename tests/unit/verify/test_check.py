"""The whole check, against a small corpus in a real index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from corpus_of_law import corpus as store_of
from corpus_of_law import markdown, put
from hypothesis import given
from hypothesis import strategies as st
from verify_helpers import Law, law, told

from pincite.support.lexical import LexicalSupport
from pincite.types import Document, Support
from pincite.verify.check import check_brief, find_all
from pincite.verify.grammar import load_grammar
from pincite.verify.lookup import look_up
from pincite.verify.marks import SAID, WRONG, counts, wrong
from pincite.verify.reading import UNSEEN, without_amendments
from pincite.verify.registry import build_registry
from pincite.verify.reports import brief_data

OLD, NEW = "2023-06-30", "2025-01-01"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Law]:
    with law(tmp_path_factory.mktemp("verify")) as made:
        yield made


def statuses(corpus: Law, text: str, **options: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for mark in corpus.marks(text, **options):
        found.setdefault(mark.what, []).append(mark.status)
    return found


def test_what_is_true_is_ok(corpus: Law) -> None:
    text = (
        "In Ram Lal Sharma v. State of Punjab (1994), the Supreme Court held that bail is the rule and committal to "
        "jail is an exception. Section 103 of the BNS provides that whoever commits murder shall be punished with "
        "death or imprisonment for life. It rained."
    )
    brief = corpus.check(text, as_of=NEW)
    assert told([m for c in brief.claims for m in c.marks if m.what == "authority"], text) == [
        ("authority", "ok", "Ram Lal Sharma v. State of Punjab (1994)"),
        ("authority", "ok", "Section 103 of the BNS"),
    ]
    assert [claim.support and claim.support.verdict for claim in brief.claims] == ["verbatim", "verbatim"]
    assert [text[a:b] for a, b in brief.silent] == ["It rained."]
    assert wrong([mark for claim in brief.claims for mark in claim.marks]) == []
    for claim in brief.claims:
        assert claim.place is not None
        document = corpus.pipeline.store.get_document(claim.place.document_id, claim.place.version)
        assert document is not None
        assert claim.support is not None
        shown = document.text[claim.place.start : claim.place.end]
        assert (claim.support.start, claim.support.end) == (claim.place.start, claim.place.end)
        assert "rule" in shown or "murder" in shown


def test_each_fault_has_its_status(corpus: Law) -> None:
    for text, expected, as_of in (
        ("Arun Tandekar v. State of Bihar, (1987) 3 SCC 44 held that bail is the rule.", "not-found", NEW),
        ("Ram Lal Sharma v. State of Punjab (1983) held that bail is the rule.", "wrong-year", NEW),
        ("Section 302 IPC provides that whoever commits murder shall be punished with death.", "not-in-force", NEW),
        ("Section 103 of the BNS provides that whoever commits murder shall be punished.", "not-in-force", OLD),
        (
            "In Ram Lal Sharma v. State of Punjab (1994) it was held: “The court must not keep an accused in custody "
            "for more than sixty days without a charge sheet.”",
            "altered-quote",
            NEW,
        ),
        (
            "In Ram Lal Sharma v. State of Punjab (1994) it was held: “It is a right that accrues with every month of "
            "service.”",
            "quote-elsewhere",
            NEW,
        ),
        (
            "In Ram Lal Sharma v. State of Punjab (1994) it was held: “A dog that barks at night is a nuisance.”",
            "quote-absent",
            NEW,
        ),
        (
            "In Ram Lal Sharma v. State of Punjab (1994) the Court held that a widow has a right to a pension.",
            "unsupported",
            NEW,
        ),
    ):
        assert expected in [mark.status for mark in corpus.marks(text, as_of=as_of)], text


def test_the_wrong_act_is_told_by_what_is_said_of_it(corpus: Law) -> None:
    text = "Section 302 of the BNS punishes murder with death."
    (authority,) = [mark for mark in corpus.marks(text) if mark.what == "authority"]
    assert authority.status == "wrong-act"
    assert "Penal Code" in authority.note


def test_the_year_and_the_rest_of_the_name_belong_to_a_case(corpus: Law) -> None:
    for text, named, year in (
        ("In Ram v. Union of India, 1998 that was so.", "Ram v. Union of India, 1998", 1998),
        ("See Ram v. Collector, Pune, decided on 16 May 1957.", "Ram v. Collector, Pune, decided on 16 May 1957", 1957),
        (
            "In *State of M.P. V. Ram* (judgment dated 03.07.2010) so.",
            "State of M.P. V. Ram* (judgment dated 03.07.2010)",
            2010,
        ),
        (
            "See Ram v. Collector, Pune reported in AIR 1957 SC 3.",
            "Ram v. Collector, Pune reported in AIR 1957 SC 3",
            1957,
        ),
        ("In Ram v. State of Punjab. The Court in 1997 said no.", "Ram v. State of Punjab", None),
        ("See Ram v. State of Punjab, the accused in 1998.", "Ram v. State of Punjab", None),
    ):
        (found,) = find_all(text, corpus.grammar)
        assert (found.text, found.year) == (named, year), text
        assert text[found.start : found.end] == found.text


def test_a_name_is_taken_as_far_as_the_corpus_knows_it(corpus: Law) -> None:
    said = "that no religion prescribes that prayers should be performed by disturbing the peace of others"
    text = f"It was held in Church of God (Full Gospel) In India v. Majestic Colony Association (2000) {said}."
    assert told(corpus.marks(text), text) == [
        ("claim", "ok", text),
        ("authority", "ok", "Church of God (Full Gospel) In India v. Majestic Colony Association (2000)"),
    ]


def test_ways_of_stating_a_claim_are_never_a_bare_tick(corpus: Law) -> None:
    for text, expected in (
        ("3. Under Section 103 BNS, whoever commits murder shall be punished with fine for ten years.", "unsupported"),
        ("Murder is punishable with imprisonment for ten years under Section 103 BNS.", "unsupported"),
        ("The punishment for murder under Section 103 BNS is imprisonment for ten years.", "unsupported"),
        ("The maximum sentence under Section 302 BNS is seven years.", "unsupported"),
        ("The maximum sentence under Section 302 BNS is one year.", "ok"),
        ("In Ram Lal Sharma v. State of Punjab (1994), this Court refused anticipatory bail.", "unchecked"),
        ("The case of Ram Lal Sharma v. State of Punjab (1994) was decided by this Court.", "unchecked"),
        ("In Ram Lal Sharma v. State of Punjab (1994) the test of a prima facie case was laid down.", "unchecked"),
        (
            "Ram Lal Sharma v. State of Punjab (1994), holding that the court may keep a widow in custody.",
            "unsupported",
        ),
    ):
        (claim,) = [mark for mark in corpus.marks(text, as_of=NEW) if mark.what == "claim"]
        assert claim.status == expected, (text, claim)
        assert claim.note or claim.status == "ok"


def test_a_quotation_that_is_credited_in_any_way_must_stand_there(corpus: Law) -> None:
    for text in (
        "As per the decision in Ram Lal Sharma v. State of Punjab (1994), “bail can never be granted to a dog”.",
        "In Ram Lal Sharma v. State of Punjab (1994) it was held that bail is the rule.\n\n3. It was further held that "
        "“bail can never be granted to a dog”.",
        "In Ram Lal Sharma v. State of Punjab (1994) bail was given.\n\nIn Ram Lal Sharma, supra, the Court held that "
        "“bail can never be granted to a dog”.",
        "In Ram Lal Sharma v. State of Punjab (1994) bail was given.\n\n“Bail can never be granted to a dog.”\n\n"
        "(Ram Lal Sharma, supra)",
    ):
        assert "quote-absent" in [mark.status for mark in corpus.marks(text)], text


def test_a_part_that_a_section_has_not_is_wrong(tmp_path: Path) -> None:
    sections = "".join(f"## {i}. Title\n\n(1) One rule of {i}.\n\n(2) Another rule of {i}.\n\n" for i in range(1, 31))
    with store_of(tmp_path) as store:
        put(store, [markdown("act.md", f"# The Bharatiya Nyaya Sanhita, 2023\n\n{sections}")])
        registry = build_registry(store, load_grammar())
        for named, status in (
            ("Section 999 BNS", "no-such-provision"),
            ("Section 12A BNS", "no-such-provision"),
            ("Section 12(7) BNS", "no-such-provision"),
            ("Section 12(2) BNS", "found"),
            ("Section 12 IPC", "not-found"),
        ):
            (authority,) = find_all(named, registry.grammar)
            assert look_up(authority, registry).status == status, named
    assert {"no-such-provision"} < WRONG


def test_what_is_said_twice_is_judged_once(corpus: Law) -> None:
    class Counting(LexicalSupport):
        asked = 0

        def judge(self, statement: str, sources: Sequence[str], *, question: str = "") -> list[Support]:
            self.asked += 1
            return super().judge(statement, sources, question=question)

    support = Counting()
    text = "In Ram Lal Sharma v. State of Punjab (1994), the Court held that bail is the rule.\n\n" * 20
    brief = check_brief(
        Document("x", text, "brief", "brief.md", "text/markdown", ""),
        corpus.pipeline.store,
        grammar=corpus.grammar,
        registry=corpus.registry,
        support=support,
    )
    assert support.asked == 1
    assert [claim.marks[-1].end <= claim.end and claim.marks[0].start >= claim.start for claim in brief.claims] == [
        True
    ] * 20


def test_another_spelling_of_a_name_is_told(corpus: Law) -> None:
    for named in ("Ram Lal Sarma v. State of Punjab", "State of Punjab v. Ram Lal Sharma"):
        (mark,) = corpus.marks(f"See {named}.")
        assert (mark.status, "named there as Ram Lal Sharma v State of Punjab" in mark.note) == ("ok", True), mark
    (mark,) = corpus.marks("See Ram Lal Sharma v. State of Punjab.")
    assert "named there" not in mark.note


NAMES = [
    "Ram",
    " v. ",
    "State of U.P.",
    ", ",
    "1994",
    "(1994)",
    " decided on ",
    "*",
    "and Others",
    "AIR 1957 SC 3",
    " s. 302 IPC",
    ". ",
]


@given(st.lists(st.sampled_from(NAMES), max_size=14).map("".join))
def test_authorities_do_not_overlap(corpus: Law, text: str) -> None:
    found = find_all(text, corpus.grammar)
    assert all(text[each.start : each.end] == each.text for each in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_an_authority_that_is_not_there_is_not_false(corpus: Law) -> None:
    found = corpus.marks("Arun Tandekar v. State of Bihar, (1987) 3 SCC 44 held that bail is the rule.")
    assert {mark.status for mark in found} == {"not-found", "unchecked"}
    assert SAID["not-found"] == "not found in this corpus"
    assert "not-found" not in WRONG
    assert wrong(found)
    assert not wrong(found, missing=False)


def test_a_mention_is_not_held_against_the_law(corpus: Law) -> None:
    assert statuses(corpus, "The accused was charged under section 378 IPC with the theft of a cow.", as_of=OLD) == {
        "authority": ["ok"]
    }


def test_marks_of_amendments_are_no_alteration(corpus: Law) -> None:
    text = "Section 302 IPC reads: “Whoever commits murder shall be punished with death or imprisonment for life”."
    found = corpus.marks(text, as_of=OLD)
    (quotation,) = [mark for mark in found if mark.what == "quotation"]
    assert quotation.status == "ok"
    assert quotation.quote.endswith("1[imprisonment for life")
    assert without_amendments("2***, or 1[x] y] [z]").replace(UNSEEN, "") == ", or x y] [z]"


@given(st.text("12[]* .a\n", max_size=60))
def test_what_amendments_leave_stays_in_its_place(text: str) -> None:
    plain = without_amendments(text)
    assert len(plain) == len(text)
    assert all(a == b or b == UNSEEN for a, b in zip(text, plain, strict=True))


def test_what_a_true_quotation_names_is_not_looked_up(corpus: Law) -> None:
    quoted = "The power under section 9 of that Act is wide and is to be used with care."
    text = f"Seeta Devi v. Union of India (2005) says “{quoted}”"
    found = [(mark.status, mark.what) for mark in corpus.marks(text)]
    assert found == [("ok", "authority"), ("ok", "quotation")]
    altered = corpus.marks(text.replace("wide", "narrow"))
    assert ("altered-quote", "quotation") in [(mark.status, mark.what) for mark in altered]
    assert sum(mark.what == "authority" for mark in altered) == 2


def test_a_quotation_without_its_authority_is_not_checked(corpus: Law) -> None:
    text = "Arun Tandekar v. State of Bihar (1987) held: “It is a right that accrues with every month of service.”"
    (quotation,) = [mark for mark in corpus.marks(text) if mark.what == "quotation"]
    assert quotation.status == "unchecked"
    assert "Seeta Devi" in quotation.note


def test_pointers_of_pincite_are_followed(corpus: Law) -> None:
    store = corpus.pipeline.store
    stored = next(each for each in store.documents() if "Seeta" in each.title)
    document = store.get_document(stored.id)
    assert document is not None
    start = document.text.index("The pension")
    end = document.text.index(" It is a right")
    text = (
        f"The pension of a widow is no bounty [1]. The court shall fine the widow [1]. Nothing [3].\n\n"
        f"[1] {stored.title}  {stored.uri} · version 1 · characters {start}-{end}  verbatim\n"
        f"[2] {stored.id}@1:{start}-99999999\n\nAlso {stored.id}@7:1-2."
    )
    found = corpus.marks(text)
    by_claim = [(mark.status, text[mark.start : mark.end]) for mark in found if mark.what == "claim"]
    assert by_claim[:2] == [
        ("ok", "The pension of a widow is no bounty [1]."),
        ("unsupported", "The court shall fine the widow [1]."),
    ]
    assert ("authority", "not-found", "[3]") in told(found, text)
    notes = {text[mark.start : mark.end]: mark.note for mark in found if mark.what == "authority"}
    assert notes[f"{stored.id}@7:1-2"] == "version 7 of this document is not in this corpus"
    assert "it points at characters" in notes[f"{stored.id}@1:{start}-99999999"]


def test_an_empty_text_and_one_without_authorities(corpus: Law) -> None:
    assert corpus.check("").claims == ()
    brief = corpus.check("It rained. Nobody came.")
    assert (brief.claims, len(brief.silent)) == ((), 2)
    assert counts([]) == {"authority": {}, "quotation": {}, "claim": {}}


def test_the_data_is_whole(corpus: Law) -> None:
    text = "In *Ram Lal Sharma v. State of Punjab* (1983) it was held that bail is the rule and jail an exception."
    brief = corpus.check(text, as_of=NEW)
    data = brief_data(brief)
    assert data["ok"] is False
    assert data["as_of"] == NEW
    claims = data["claims"]
    assert isinstance(claims, list)
    for claim in claims:
        assert text[claim["start"] : claim["end"]] == claim["text"]
        for mark in claim["marks"]:
            assert text[mark["start"] : mark["end"]] == mark["text"]
            assert mark["said"] == SAID[mark["status"]] or mark["status"] == "ok"


@given(
    st.lists(
        st.sampled_from(
            [
                "Ram Lal Sharma v. State of Punjab (1994)",
                "s. 302 IPC",
                "Section 103 BNS",
                " held that bail is the rule. ",
                " “Bail is the rule and committal to jail is an exception.” ",
                "[1]",
                "\n\n[1] ",
                "\n> ",
                "*",
                ". ",
                " x ",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_whatever_the_text_every_mark_lies_in_its_claim(corpus: Law, text: str) -> None:
    brief = corpus.check(text, as_of=NEW)
    for claim in brief.claims:
        assert text[claim.start : claim.end] == claim.text
        for mark in claim.marks:
            assert claim.start <= mark.start < mark.end <= claim.end
            if mark.place is not None:
                document = corpus.pipeline.store.get_document(mark.place.document_id, mark.place.version)
                assert document is not None
                assert 0 <= mark.place.start < mark.place.end <= len(document.text)
                if mark.what != "authority":
                    assert document.text[mark.place.start : mark.place.end] == mark.quote
