"""Whether an authority is in the corpus as it is named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from corpus_of_law import ARTICLE_31, PENAL_CODE, PROCEDURE, corpus, judgment, markdown, put
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.verify.find import find_authorities
from pincite.verify.fitting import fit
from pincite.verify.grammar import load_grammar
from pincite.verify.known_cases import SAME_NAME, name_score
from pincite.verify.lookup import look_up
from pincite.verify.names import alike, party_score
from pincite.verify.records import Authority, Finding
from pincite.verify.registry import Registry, build_registry

GRAMMAR = load_grammar()
CITING = (
    "1. Masud Khan v. State of U.P., (1974) 3 SCC 469 was followed. So was Ali Sher v. The State, AIR 1960 All 431, "
    "and Vadivelu Thevar v. State of Madras (AIR 1957 SC 614)."
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with corpus(tmp_path_factory.mktemp("law")) as store:
        put(
            store,
            [
                judgment("Masud Khan v State Of Uttar Pradesh", "26 September 1973"),
                judgment(
                    "Smt. Lakshmi Devi and Others v Union of India and Another", "4 February 1994\nAIR 1995 SC 11"
                ),
                judgment("Sucha Singh v State of Punjab", "31 July 2003"),
                judgment("Gurdev Singh v State of Punjab", "8 August 2003", CITING, "citing one"),
                judgment("Gopal Das v State of Assam", "8 August 2004", CITING, "citing two"),
                judgment("Ram Kumar v State of Haryana", "1 March 1987", name="ram 1987"),
                judgment("Ram Kumar v State of Haryana", "1 March 1995", name="ram 1995"),
                judgment("Raj Kumar v State of Haryana", "1 March 1990"),
                judgment("State Bank of India v Umadevi (3)", "1 March 1999"),
            ],
        )
        put(store, [markdown("ipc.md", PENAL_CODE)], valid_from="1862-01-01", valid_to="2024-06-30")
        put(store, [markdown("crpc.md", PROCEDURE)], valid_from="1974-04-01", valid_to="2024-06-30")
        article = "constitution/article-031.md"
        active = ARTICLE_31.format(status="active", more="", text="No person shall be deprived of his property.")
        gone = ARTICLE_31.format(status="repealed", more='repealed_by: "Act, 1978"\n', text="*[Article 31 omitted.]*")
        put(store, [markdown(article, active)], valid_from="1950-01-26")
        put(store, [markdown(article, gone)], valid_from="1979-06-20")
        yield build_registry(store, GRAMMAR)


def asked(registry: Registry, text: str, as_of: str | None = None) -> Finding:
    """What becomes of the first authority of a sentence."""
    return look_up(find_authorities(text, GRAMMAR)[0], registry, as_of, sentence=text)


@pytest.mark.parametrize(
    ("text", "status", "note"),
    [
        ("Masud Khan v. State of U.P. held so.", "found", ""),
        ("Masud Khan v. State of UP (1973)", "found", ""),
        ("Masood Khan vs. State of Uttar Pradesh & Ors., (1974) 3 SCC 469", "found", ""),
        ("Masud Khan v. State of U.P., AIR 1974 SC 28", "found", "AIR 1974 SC 28 is said by nothing in this corpus"),
        ("Masud Khan v. State of U.P. (1974)", "wrong-year", "(1973-09-26); none of 1974"),
        ("Masud Khan v. State of U.P., (1979) 3 SCC 469", "wrong-year", "none of 1979"),
        ("Masud Khan v. State of U.P., (1972) 3 SCC 469", "wrong-year", "none of 1972"),
        ("Masud Khan v. State of U.P., (1975) 3 SCC 469", "wrong-year", "as (1974) 3 SCC 469, not (1975) 3 SCC 469"),
        ("Laxmi Devi v. U.O.I., AIR 1995 SC 11", "found", ""),
        ("State of Punjab v. Sucha Singh (2003)", "found", ""),
        ("SBI v. Uma Devi (1999)", "found", ""),
        ("Ram Kumar v. State of Haryana (1995)", "found", ""),
        ("Ram Kumar v. State of Haryana", "ambiguous", "2 cases of that name"),
        ("Ram Kumar v. State of Haryana (1990)", "wrong-year", "(1987-03-01)"),
        ("Sham Kumar v. State of Haryana (1990)", "not-found", "not in this corpus"),
        ("Brij Mohan v. Union of Nepal, AIR 1980 SC 11", "not-found", "not in this corpus"),
        ("Brij Mohan v. State of Kerala, AIR 1957 SC 614", "wrong-name", "614 is Vadivelu Thevar v State of Madras"),
        ("Masud Khan v. State of U.P., AIR 1957 SC 614", "wrong-year", "none of 1957"),
        ("Brij Mohan v. State of Kerala, AIR 1995 SC 11", "wrong-name", "that report is Smt. Lakshmi Devi"),
        ("Vadivelu Thevar v. State of Madras, AIR 1957 SC 614", "not-found", "2 documents of this corpus cite it so"),
        ("(1974) 3 SCC 469 is clear.", "found", "2 documents of this corpus cite Masud Khan"),
        ("AIR 1995 SC 11 is clear.", "found", ""),
        ("AIR 1960 All 431 is clear.", "not-found", "cite Ali Sher v The State so"),
        ("AIR 1999 SC 1 is clear.", "not-found", "cited nowhere in it"),
        ("It was said in Masud Khan's case.", "found", ""),
    ],
)  # fmt: skip
def test_cases(registry: Registry, text: str, status: str, note: str) -> None:
    finding = asked(registry, text)
    assert (finding.status, note in finding.note) == (status, True), finding
    if status == "found":
        assert finding.place is not None


@pytest.mark.parametrize(
    ("text", "as_of", "status", "note"),
    [
        ("Section 302 IPC punishes murder with death.", None, "found", "in force until 2024-06-30; replaced from"),
        ("Section 302 IPC", "2024-06-30", "found", ""),
        ("Section 302 IPC", "2024-07-01", "not-in-force", "Nyaya Sanhita, 2023, which is not in this corpus"),
        ("Section 302 IPC", "1850-01-01", "not-in-force", "in force from 1862-01-01 only"),
        ("Section 302 CrPC punishes murder with death or imprisonment for life.", None, "wrong-act", "302, Indian"),
        ("Section 378 CrPC: who moves movable property dishonestly commits theft.", None, "wrong-act", "has no"),
        ("Section 302 CrPC lets a Magistrate permit an advocate to conduct the prosecution.", None, "found", ""),
        ("Section 999 IPC", None, "not-found", "has no section 999 (161 to 378)"),
        ("Section 304B(2) IPC", None, "found", ""),
        ("Section 304-B(7) IPC", None, "no-such-provision", "it has no (7)"),
        ("Section 302(1) IPC", None, "found", ""),
        ("Section 304 (B) IPC", None, "found", ""),
        ("Section 161 IPC", None, "not-in-force", "no longer in force: Rep. by the Prevention of Corruption Act, 1988"),
        ("Section 161 IPC", "1980-01-01", "found", "its text of that day is not in this corpus"),
        ("Section 161 IPC", "1990-01-01", "not-in-force", "Rep. by"),
        ("Section 3 of the Foreigners Act, 1946", None, "not-found", "Foreigners Act, 1946 is not in this corpus"),
        ("Article 31", "1960-01-01", "found", ""),
        ("Article 31", "1980-01-01", "not-in-force", "no longer in force: Act, 1978"),
        ("Article 31", None, "not-in-force", "no longer in force"),
        ("Section 438 allows bail.", None, "found", "no act is named; taken for that of the"),
        ("Section 302 was charged.", None, "ambiguous", "1973; Indian Penal Code, 1860 have section 302"),
        ("Section 777 was charged.", None, "not-found", "no act is named, and none"),
    ],
)  # fmt: skip
def test_provisions(registry: Registry, text: str, as_of: str | None, status: str, note: str) -> None:
    finding = asked(registry, text, as_of)
    assert (finding.status, note in finding.note) == (status, True), finding


def test_the_place_is_the_provision_itself(registry: Registry) -> None:
    finding = asked(registry, "Section 302 IPC")
    assert finding.place is not None
    assert registry.texts(finding.place).endswith("liable to fine.")
    assert finding.name == "Section 302, Indian Penal Code, 1860, Punishment for murder"


def test_the_version_of_the_day_is_shown(registry: Registry) -> None:
    finding = asked(registry, "Article 31", "1960-01-01")
    assert finding.place is not None
    assert "deprived of his property" in registry.texts(finding.place)


@settings(max_examples=200, deadline=None)
@given(
    authority=st.builds(
        Authority,
        kind=st.sampled_from(["case", "provision"]),
        start=st.just(0),
        end=st.just(1),
        text=st.text(max_size=8),
        act=st.sampled_from(["", "ipc", "x", "constitution", "arms"]),
        unit=st.sampled_from(["section", "article", "", "order"]),
        provision=st.text("0123456789AB", max_size=4),
        below=st.sampled_from(["", "(1)", "(a)(b)", " Part I", "Rule 3", "("]),
        parties=st.one_of(st.none(), st.tuples(st.text(max_size=9), st.text(max_size=9))),
        reports=st.lists(st.sampled_from(["AIR 1995 SC 11", "", "x", "(1974) 3 SCC 469"]), max_size=2).map(tuple),
        year=st.one_of(st.none(), st.integers(0, 3000)),
        decided=st.booleans(),
    ),
    as_of=st.sampled_from([None, "1950-01-01", "2030-01-01"]),
    sentence=st.text(max_size=20),
)
def test_whatever_is_asked_has_an_answer(
    registry: Registry, authority: Authority, as_of: str | None, sentence: str
) -> None:
    finding = look_up(authority, registry, as_of, sentence=sentence)
    assert finding.authority == authority
    if finding.status in ("found", "not-in-force", "wrong-act", "wrong-year"):
        assert finding.place is not None
    if finding.status != "found":
        assert finding.note


def score(one: str, other: str) -> float:
    words = [tuple(GRAMMAR.parties.words(party) for party in name.split(" v ")) for name in (one, other)]
    return name_score((words[0][0], words[0][1]), (words[1][0], words[1][1]), {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Masud Khan v State of U.P.", "Masood Khan v State of Uttar Pradesh & Ors."),
        ("Mohd. Hanif v State", "Mohammad Haneef v State"),
        ("Rumi Dhar (Smt.) v State of West Bengal & Anr.", "Smt. Rumi Dhar v State of W.B."),
        ("SBI v K.L. Tripathi", "State Bank of India v K. L. Tripathi"),
        ("State of Karnataka v Uma Devi", "State of Karnataka v Umadevi (3)"),
        ("Sham @ Kishore v State of Maharashtra", "Sham alias Kishore Bhaskarrao v State of Maharashtra"),
        ("Delhi Admn. v Gian Singh", "Gian Singh v Delhi Administration"),
    ],
)
def test_one_name_in_two_spellings(one: str, other: str) -> None:
    assert score(one, other) >= SAME_NAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ram Kumar v State of Haryana", "Raj Kumar v State of Haryana"),
        ("Ram Kumar v State of Haryana", "Ram Kumar v State of Kerala"),
        ("Lata Singh v State of U.P.", "Lalita Kumari v Government of U.P."),
        ("Chameli Singh v State of U.P.", "Komal v State of U.P."),
        ("Sonelal v State of M.P.", "Sunil Bajaj v State of M.P."),
        ("Gian Singh v State of Punjab", "Jagir Singh v State of Punjab"),
    ],
)
def test_two_names(one: str, other: str) -> None:
    assert score(one, other) < SAME_NAME


_NAME = st.lists(
    st.sampled_from(["ram", "kumar", "singh", "state", "k", "mohammed", "lakshmi", "sbi", "1"]), max_size=5
)


@given(_NAME, _NAME)
def test_a_score_is_a_share_and_whole_for_the_same(one: list[str], other: list[str]) -> None:
    assert 0.0 <= party_score(one, other, {}) <= 1.0
    if one:
        assert party_score(one, one, {}) == 1.0


@given(st.text("abcdefgh", min_size=1, max_size=9), st.text("abcdefgh", min_size=1, max_size=9))
def test_likeness_is_the_same_both_ways(one: str, other: str) -> None:
    assert (alike(one, other) > 0) == (alike(other, one) > 0)


def test_a_sentence_fits_what_it_is_about() -> None:
    text = "Whoever commits murder shall be punished with death, or imprisonment for life."
    assert fit("He was given death for the murder.", text) > 0.5
    assert fit("The Magistrate permits an advocate to conduct the prosecution.", text) < 0.3
    assert fit("Section 302 applies.", text) == 0.0
