"""What an opposing counsel would try: invented names close to real ones, years behind odd marks, acts left unclear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from corpus_of_law import PENAL_CODE, PROCEDURE, corpus, judgment, markdown, put
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.verify.check import find_all
from pincite.verify.grammar import load_grammar
from pincite.verify.lookup import look_up
from pincite.verify.page import to_html
from pincite.verify.records import Brief, Claim, Finding, Mark
from pincite.verify.registry import Registry, build_registry

GRAMMAR = load_grammar()
CASES = (
    ("Anwar and Others v State of Haryana", "24 February 1997"),
    ("Laxman Marotrao Navakhare v Keshavrao", "2 March 1993"),
    ("S. P. Bhatnagar and Another v State of Maharashtra", "4 January 1979"),
    ("Sk. Rafiq v State of Maharashtra", "10 November 1978"),
    ("State of Bihar and Others v Bihar State +2 Lecturers Associations and Others", "15 May 2007"),
    ("Gopal v The Administrative Officer, Madhya Pradesh Khadi and Village", "19 August 1985"),
    ("Sekar v State, represented by Inspector of Police (L and O)", "16 February 2017"),
    ("Suraj Lamp and Industries (P) Limited. Thru. Dir v State of Haryana", "15 May 2009"),
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with corpus(tmp_path_factory.mktemp("law")) as store:
        put(store, [judgment(title, day, name=str(i)) for i, (title, day) in enumerate(CASES)])
        put(store, [markdown("ipc.md", PENAL_CODE)], valid_from="1862-01-01", valid_to="2024-06-30")
        put(store, [markdown("crpc.md", PROCEDURE)], valid_from="1974-04-01", valid_to="2024-06-30")
        yield build_registry(store, GRAMMAR)


def asked(registry: Registry, text: str) -> list[Finding]:
    found = find_all(text, GRAMMAR)
    assert all(text[each.start : each.end] == each.text for each in found)
    return [look_up(each, registry, sentence=text) for each in found]


@pytest.mark.parametrize(
    "named",
    [
        "Anwar Lohariya v. State of Haryana (1997)",
        "Anwar Singh v. State of Haryana (1997)",
        "Lohariya Anwar v. State of Haryana",
        "Laxman Quadrani Marotrao Navakhare v. Keshavrao (1993)",
        "Laxman Marotrao Navakhare v. Keshavrao Bhosekar (1993)",
        "Sonowalia S.P. Bhatnagar v. State of Maharashtra (1979)",
        "Sitaram Kuttappan v. State of Maharashtra (1978)",
    ],
)
def test_an_invented_name_that_holds_a_real_one_is_not_found(registry: Registry, named: str) -> None:
    (finding,) = asked(registry, f"In {named} it was held that bail is the rule.")
    assert finding.status == "not-found"
    assert "nearest" in finding.note or finding.note == "not in this corpus"


@pytest.mark.parametrize(
    "named",
    [
        "Anwar & Ors. v. State of Haryana (1997)",
        "Anwar And 2 Others v. State of Haryana (1997)",
        "State of Haryana v. Anwar (1997)",
        "L.M. Navakhare v. Keshavrao (1993)",
        "Laxman Marotrao v. Keshavrao (1993)",
        "Bhatnagar v. State of Maharashtra, (1979) 1 SCC 535",
        "State of Bihar & Ors. V. Bihar State +2 Lecturers Associations (2007)",
        "Gopal V. The Administrative Officer, Madhya Pradesh Khadi and Village (decided on August 19, 1985)",
        "Suraj Lamp and Industries (P) Limited. Thru. Dir vs. State of Haryana (2009)",
        "ANWAR VERSUS STATE OF HARYANA (1997)",
        "Anwar v. State of Haryana (१९९७)",
    ],
)
def test_a_real_name_is_found_as_it_is_cited(registry: Registry, named: str) -> None:
    (finding,) = asked(registry, f"In {named} it was held that bail is the rule.")
    assert (finding.status, finding.authority.text) == ("found", named)


@pytest.mark.parametrize(
    "behind",
    [
        ",, decided on 19 October {}",
        "....* (judgment dated 02.04.{})",
        ". (decided on September 19, {})",
        " and ohters, {}",
        " -- dt. 26.9.{}",
        ", Crl. A. No. 123 of 1996, D/- 26-9-{}",
        ", Civil Appeal Nos. 12-15/1996 decided on 26th September, {}",
    ],
)
def test_a_year_behind_odd_marks_is_read(registry: Registry, behind: str) -> None:
    for year, status in ((1997, "found"), (1991, "wrong-year")):
        (finding,) = asked(registry, f"In Anwar v. State of Haryana{behind.format(year)} it was held so.")
        assert (finding.authority.year, finding.status) == (year, status)


def test_a_year_that_begins_a_report_is_not_that_of_the_decision() -> None:
    # The page runs into the next number, so that no report is read.
    first = find_all("*Anwar v. State of Haryana & Ors.*, [1997] 2 SCR 8321974. It rained.", GRAMMAR)[0]
    assert (first.parties, first.decided) == (("Anwar", "State of Haryana & Ors."), False)


def test_a_year_of_something_else_is_no_year_of_the_decision(registry: Registry) -> None:
    for behind in (" was followed in 2018.", " is good law. In 2018, it rained.", ". The Act of 1956 (1956) applies."):
        finding = asked(registry, f"Anwar v. State of Haryana{behind}")[0]
        assert (finding.authority.year, finding.status) == (None, "found"), behind


def test_a_person_with_an_initial_v_is_no_case() -> None:
    for name in ("Sujata V. Manohar, J.", "Justice V. Ramasubramanian", "Mr. V. Commissioner"):
        assert find_all(f"{name} delivered the judgment.", GRAMMAR) == []


@pytest.mark.parametrize("said", ["Section 4 of the Act", "Section 302 of the Rules", "Section 5 of the agreement"])
def test_what_the_text_leaves_unclear_is_not_taken_for_what_was_named_before(registry: Registry, said: str) -> None:
    named, unclear = asked(registry, f"He was convicted under section 302 IPC. {said} provides that a fine is levied.")
    assert named.authority.act == "ipc"
    assert (unclear.status, unclear.place) == ("ambiguous", None)


def test_a_number_that_the_act_lacks_is_told_of_the_act_that_it_fits(registry: Registry) -> None:
    text = "Section 438 IPC provides that he shall be released on bail in the event of arrest."
    (finding,) = asked(registry, text)
    assert finding.status == "wrong-act"
    assert "Code of Criminal Procedure" in finding.note
    assert asked(registry, "Section 438 IPC punishes forgery of passports.")[0].status == "not-found"


def test_a_sentence_ends_before_a_name(registry: Registry) -> None:
    for code in ("Indian Penal Code", "IPC"):
        _, case = asked(
            registry, f"He was tried under section 302 of the {code}. Anwar v. State of Haryana (1997) says so."
        )
        assert case.authority.parties == ("Anwar", "State of Haryana")
    first, second = asked(registry, "SECTION 302 OF THE INDIAN PENAL CODE. ANWAR V. STATE OF HARYANA (1997)")
    assert (first.authority.text, first.authority.act) == ("SECTION 302 OF THE INDIAN PENAL CODE", "ipc")
    assert second.status == "found"


def test_digits_of_other_scripts_are_numbers(registry: Registry) -> None:
    (finding,) = asked(registry, "He was charged u/s ३०२ IPC.")
    assert (finding.authority.provision, finding.authority.text) == ("302", "u/s ३०२ IPC")


PIECES = [
    *"*_.,()[]’”\u00a0\u200b३Ｓ<&>\n- ",
    *("Anwar", " v. ", " V. ", "State of Bihar", "(1997)", "s. 302", " IPC", " of the Act", "(2003) 3 SCC 4"),
    *("+2", "And 2 Others", ", decided on ", "Crl. A. No. 1 of "),
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_every_span_is_what_stands_there(pieces: list[str]) -> None:
    text = "".join(pieces)
    last = 0
    for each in find_all(text, GRAMMAR):
        assert text[each.start : each.end] == each.text
        assert last <= each.start < each.end <= len(text)
        last = each.end


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.sampled_from("ab <>&\"'\n\u00a0é"), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(1, 30)), max_size=5),
)
def test_the_page_holds_the_text_and_nothing_else(text: str, spans: list[tuple[int, int]]) -> None:
    made = [Mark(a, min(a + n, len(text)), "claim", "unsupported", "<b>") for a, n in spans if a < len(text)]
    page = to_html(Brief("<script>", text, (Claim(0, len(text), text, (), marks=tuple(made)),)))
    body = re.sub(r"<sup>.*?</sup>", "", page[page.index('<div class="text">') : page.index("</div>")])
    shown = unescape(re.sub(r"<[^>]*>", "", body))
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
    assert "<script" not in page
    assert "<b><b>" not in page
