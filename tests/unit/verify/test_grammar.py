"""Which authorities a text names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import ConfigError
from pincite.verify.find import find_authorities, merge
from pincite.verify.forms import from_roman, read_form, report_year
from pincite.verify.grammar import load_grammar
from pincite.verify.records import Authority

GRAMMAR = load_grammar()


def provisions(text: str) -> list[str]:
    """Each as ``act unit number below``."""
    return [
        " ".join(filter(None, (each.act or "-", each.unit, each.provision, each.below)))
        for each in find_authorities(text, GRAMMAR)
        if each.kind == "provision"
    ]


def cases(text: str) -> list[Authority]:
    return [each for each in find_authorities(text, GRAMMAR) if each.kind == "case"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("convicted under s. 302 IPC.", ["ipc section 302"]),
        ("ss. 299, 300 and 302 IPC", ["ipc section 299", "ipc section 300", "ipc section 302"]),
        ("sections 302/34 IPC", ["ipc section 302", "ipc section 34"]),
        ("Arts. 14, 19 and 21", ["constitution article 14", "constitution article 19", "constitution article 21"]),
        ("S. 420 r/w 120B I.P.C.", ["ipc section 420", "ipc section 120B"]),
        ("section 302 of the Indian Penal Code, 1860", ["ipc section 302"]),
        ("u/s 498A IPC", ["ipc section 498A"]),
        ("u/ss. 302 and 396 read with S. 149 of the I.P.C.", ["ipc section 302", "ipc section 396", "ipc section 149"]),
        ("Section 103(1) of the Bharatiya Nyaya Sanhita", ["bns section 103 (1)"]),
        ("Art. 19(1)(a) of the Constitution", ["constitution article 19 (1)(a)"]),
        ("Order XXI Rule 90 CPC", ["cpc order 21 Rule 90"]),
        ("O. 41 R. 27 of the Code of Civil Procedure", ["cpc order 41 Rule 27"]),
        ("s. 302 IPC read with S. 34 thereof", ["ipc section 302", "ipc section 34"]),
        ("Section 302 read with Section 34 of the Indian Penal Code", ["ipc section 302", "ipc section 34"]),
        ("Section 304-B, IPC, to the case", ["ipc section 304B"]),
        ("u/s. 304 Part I IPC", ["ipc section 304 Part I"]),
        ("clause (a) of sub-section (2) of section 376 IPC", ["ipc section 376 (2)(a)"]),
        ("Section 27 of the Arms Act. Sentence", ["arms section 27"]),
        ("Section 9 of the Foreigners Act, 1946", ["Foreigners Act, 1946 section 9"]),
        ("Rule 45 of the Delhi Prisons Rules", ["Delhi Prisons Rules rule 45"]),
        ("Article 5 of the agreement", ["the agreement article 5"]),
        ("section 437 of the Code of Criminal Procedure, 1898", ["crpc-1898 section 437"]),
        ("Sections 299 to 304 IPC", ["ipc section 299", "ipc section 304"]),
        ("Section 376 IPC and Section 4 of the POCSO Act", ["ipc section 376", "pocso section 4"]),
        ("Section 482 BNSS or S. 438 Cr.P.C.", ["bnss section 482", "crpc section 438"]),
        ("section 302 and 3 others", ["- section 302"]),
        ("Section 302, 1973 was the year", ["- section 302"]),
        ("42 U.S.C. § 1983", ["42 U.S.C. section 1983"]),
        ("u/s. 304 Part-II of the Indian Penal Code, not u/s. 302", ["ipc section 304 Part II", "ipc section 302"]),
        ("Part II-A of the Act and sub-section (4) of S. 17 of the Act", ["the Act section 17 (4)"]),
        (
            "Section 498-A, 302/34 and 120-B IPC",
            ["ipc section 498A", "ipc section 302", "ipc section 34", "ipc section 120B"],
        ),
        ("Section 482 CrPc", ["crpc section 482"]),
        ("S. 4 of the Tamil Nadu Land Acquisition Act", ["Tamil Nadu Land Acquisition Act section 4"]),
    ],
)
def test_provisions(text: str, expected: list[str]) -> None:
    assert provisions(text) == expected


def test_the_act_goes_back_to_the_one_that_was_named_so() -> None:
    text = "The Land Acquisition Act, 1894 (hereinafter 'the Act'). A notice under section 4 of the Act was issued."
    assert provisions(text) == ["land-acquisition section 4"]


def test_the_act_stays_open_where_two_were_named() -> None:
    text = "The Arms Act and the Foreigners Act apply. Section 4 of the Act was relied on."
    assert provisions(text) == ["the Act section 4"]


def test_a_bare_section_is_of_the_only_act_spoken_of() -> None:
    assert provisions("The Arms Act applies. Under Section 27 he was convicted.") == ["arms section 27"]
    assert provisions("The Arms Act and the Evidence Act apply. Under Section 27 he was convicted.") == ["- section 27"]


@pytest.mark.parametrize(
    "text",
    [
        "He sent 3 letters.",
        "Rs. 302 were paid on 21.4.1973.",
        "Order 5 was served.",
        "P.W. 3 and Dr. V. Tripathi",
        "sections",
    ],
)
def test_what_names_no_authority(text: str) -> None:
    assert find_authorities(text, GRAMMAR) == []


@pytest.mark.parametrize(
    ("written", "report"),
    [
        ("AIR 1973 SC 1461", "AIR 1973 SC 1461"),
        ("A.I.R. 1960 All. 434", "AIR 1960 All 434"),
        ("AIR1956 SC 415", "AIR 1956 SC 415"),
        ("(1973) 4 SCC 225", "(1973) 4 SCC 225"),
        ("1973 (4) S.C.C. 225", "(1973) 4 SCC 225"),
        ("[1950] SCR 88", "[1950] SCR 88"),
        ("[1960] I SCR 806", "[1960] 1 SCR 806"),
        ("1980 Supp SCC 92", "1980 Supp SCC 92"),
        ("1995 Supp. (1) SCC 248", "1995 Supp (1) SCC 248"),
        ("[1962] Suppl. 2 S.C.R. 623", "[1962] Supp 2 SCR 623"),
        ("2023 INSC 677", "2023 INSC 677"),
        ("JT 1996 (7) SC 265", "JT 1996 (7) SC 265"),
        ("2004 Cri.L.J. 3962", "2004 Cri LJ 3962"),
        ("1955 Indlaw SC 111", "1955 Indlaw SC 111"),
    ],
)
def test_a_report_is_written_in_one_form(written: str, report: str) -> None:
    (found,) = cases(f"See {written} for this.")
    assert found.reports == (report,)
    assert found.text == written


def test_a_case_with_parallel_reports_is_one() -> None:
    text = "In Purshottam Lal & Ors. vs. Union of India & Ors [AIR 1973 SC 1088= (1973) 1 SCC 651], this Court held"
    (found,) = cases(text)
    assert found.parties == ("Purshottam Lal & Ors.", "Union of India & Ors")
    assert found.reports == ("AIR 1973 SC 1088", "(1973) 1 SCC 651")
    assert found.year == 1973
    assert not found.decided


def test_two_reports_of_one_kind_are_two_cases() -> None:
    assert [each.reports for each in cases("AIR 1980 SC 20, AIR 1981 SC 3.")] == [
        ("AIR 1980 SC 20",),
        ("AIR 1981 SC 3",),
    ]


@pytest.mark.parametrize(
    ("text", "parties"),
    [
        ("In Kesavananda Bharati v. State of Kerala, (1973) 4 SCC 225", ("Kesavananda Bharati", "State of Kerala")),
        ("Baijnath Kedai v. State of Bihar([1970] 2 S.C.R. 100) relied on", ("Baijnath Kedai", "State of Bihar")),
        ("Madan Gopal v. State of Punjab1962 Indlaw SC 55, there", ("Madan Gopal", "State of Punjab")),
        ("In the State of Madras v. V. G. Row (1952) S.C.R. 597", ("State of Madras", "V. G. Row")),
        ("this Court in State of U.P. v. Ram. It is", ("State of U.P.", "Ram")),
        ("Binod Singh v. District Magistrate, Dhanbad, Bihar and Ors., [1986] 4 SCC 416",
         ("Binod Singh", "District Magistrate, Dhanbad, Bihar and Ors.")),
        ("vs the case of Common Cause, A Registered Society v. Union of India, (1996) 6 SCC 530",
         ("Common Cause, A Registered Society", "Union of India")),
        ("State of Orissa v. M. A. Tulloch and Company (1963)", ("State of Orissa", "M. A. Tulloch and Company")),
        ("Munshi Ram v. Delhi Administration Crl. A. No. 124 of 1965", ("Munshi Ram", "Delhi Administration")),
        ("Ram And Others v. State (Govt. of Delhi) (2003)", ("Ram And Others", "State (Govt. of Delhi)")),
        ("Narain Das (Since Deceased) By L.Rs v. Agra Nagar", ("Narain Das (Since Deceased) By L.Rs", "Agra Nagar")),
        ("the CBI. In State of West Bengal v. Committee for Protection, (2010) 3 SCC 571",
         ("State of West Bengal", "Committee for Protection")),
    ],
)  # fmt: skip
def test_parties(text: str, parties: tuple[str, str]) -> None:
    assert cases(text)[0].parties == parties


def test_the_year_of_the_decision_is_told_from_that_of_a_report() -> None:
    decided, reported = cases("Maneka Gandhi v. Union of India (1978) and Ram v. Shyam, AIR 1980 SC 20.")
    assert (decided.year, decided.decided) == (1978, True)
    assert (reported.year, reported.decided) == (1980, False)
    (neutral,) = cases("Ram v. Shyam, 2023 INSC 677")
    assert (neutral.year, neutral.decided) == (2023, True)


def test_marks_of_emphasis_are_no_part_of_a_name() -> None:
    one, other = cases("In *Kulja Industries v. B.S.N.L. and others*, 2011, as in **Ram v. Shyam** (1990) 2 SCC 3.")
    assert (one.parties, one.year, one.decided) == (("Kulja Industries", "B.S.N.L. and others"), 2011, True)
    assert (other.parties, other.reports) == (("Ram", "Shyam"), ("(1990) 2 SCC 3",))


def test_a_pinpoint_belongs_to_the_case() -> None:
    (found,) = cases("Masud Khan v. State of UP, (1974) 3 SCC 469 (para 12) holds")
    assert found.pinpoint == "para 12"
    assert found.text.endswith("(para 12)")


def test_a_case_in_short_is_the_one_named_before() -> None:
    text = "Maneka Gandhi v. Union of India, AIR 1978 SC 597. In Maneka Gandhi's case and Maneka Gandhi (supra) it was."
    first, second, third = cases(text)
    assert not first.short
    assert second.short
    assert second.parties == third.parties == first.parties
    assert second.reports == first.reports


def test_a_party_is_no_case_without_one() -> None:
    assert cases("It is the prosecution's case that in the present case the State's case fails.") == []


def test_in_re() -> None:
    (found,) = cases("In re Berubari Union, (1960) 3 SCR 250; AIR 1960 SC 845")
    assert found.parties == ("In re Berubari Union", "")
    assert found.reports == ("[1960] 3 SCR 250", "AIR 1960 SC 845")


_PIECES = st.sampled_from(
    ["s. 302 IPC", "Section 34", "read with", "and", ", ", "Ram v. Shyam", "State of U.P. v. Ram & Ors.",
     "AIR 1973 SC 1461", "(1974) 3 SCC 469", "[", "(", ")", "the Act", "of the Arms Act, 1959", "\n",
     "\n\n", "u/s", "Art. 21", "(supra)",
     "Ram's case", "Order XXI Rule 90", "1973", "v.", "In re X", "§", "Sections 1-3", ".", "The Court held that"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=6)), max_size=14).map(" ".join))
def test_authorities_lie_in_order_apart_and_are_their_text(text: str) -> None:
    last = 0
    for each in find_authorities(text, GRAMMAR):
        assert last <= each.start < each.end <= len(text)
        assert text[each.start : each.end] == each.text
        last = each.end


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1850, 2026),
    st.integers(1, 30),
    st.integers(1, 9999),
    st.sampled_from(["({y}) {v} SCC {p}", "[{y}] {v} S.C.C. {p}", "{y} ({v}) SCC {p}", "({y}) {v} SCC  {p}"]),
)
def test_every_way_to_write_a_report_gives_the_same(year: int, volume: int, page: int, form: str) -> None:
    written = form.replace("{y}", str(year)).replace("{v}", str(volume)).replace("{p}", str(page))
    (found,) = GRAMMAR.reader.find(f"see {written}, there")
    assert found.text == f"({year}) {volume} SCC {page}"
    assert report_year(found.text) == year


@given(st.integers(1, 60))
def test_roman_numbers(number: int) -> None:
    tens, ones = divmod(number, 10)
    written = ["", "X", "XX", "XXX", "XL", "L", "LX"][tens] + [
        "",
        "I",
        "II",
        "III",
        "IV",
        "V",
        "VI",
        "VII",
        "VIII",
        "IX",
    ][ones]
    assert from_roman(written) == number == from_roman(str(number))


def test_of_two_that_overlap_the_longer_stays() -> None:
    long, short = Authority("case", 0, 9, "x" * 9), Authority("provision", 4, 6, "xx")
    apart = Authority("case", 9, 12, "yyy")
    assert merge([short], [apart, long]) == [long, apart]


def test_a_file_adds_acts_reports_and_words(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        '[units.section]\nwords = ["paragraph"]\n'
        '[[acts]]\nkey = "bgb"\nname = "Civil Code"\naliases = ["BGB"]\nyear = 1896\n'
        '[[reports]]\nform = "BGHZ {volume}, {page}"\n[courts]\nBGH = []\n'
        '[[reports]]\nform = "{year} EWHC {number}"\nyear = "decision"\n',
        encoding="utf-8",
    )
    grammar = load_grammar(file)
    found = find_authorities("paragraph 823 BGB; BGHZ 12, 345 and 2019 EWHC 17; s. 302 IPC", grammar)
    assert [each.act for each in found if each.kind == "provision"] == ["bgb", "ipc"]
    assert [each.reports for each in found if each.kind == "case"] == [("BGHZ 12, 345",), ("2019 EWHC 17",)]
    assert [each.decided for each in found if each.kind == "case"] == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= 3", "is no TOML"),
        ("[unit]\nx = 1", "there is no key 'unit'; the nearest is 'units'"),
        ('[[acts]]\nkey = "x"\nname = "X"\nyears = 3', "number 1: there is no key 'years'; the nearest is 'year'"),
        ('[[acts]]\nkey = "x"\nname = "X"\nunit = "verse"', "provisions called 'verse', which is no unit"),
        ('[[acts]]\nkey = "x"\nname = "X"\nreplaced_by = "y"', "replaced by 'y', which is not there"),
        ('[[reports]]\nform = "SCC"', "has no {page} and no {number}"),
        ('[[reports]]\nform = "{year} {page}"', "has no letters to know it by"),
        ('[[reports]]\nform = "{year} X {pag}"', "has {pag}; there are court, number, page, supp, volume, year"),
        ('[[reports]]\nform = "{year} X {page}"\nvariants = ["X {page}"]', "lacks {year}"),
        ('[[reports]]\nform = "{year} X {page}"\nyear = "print"', "year is 'print'"),
        ("[[acts]]\nname = \"X\"", "key must be a word"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_named_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_grammar(file)
    assert message in str(caught.value)
    if "units" not in message and "verse" not in message and "'y'" not in message:
        assert "wrong.toml" in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read"):
        load_grammar(Path("none.toml"))


def test_a_form_needs_something_to_know_it_by() -> None:
    with pytest.raises(ValueError, match="cannot be read from"):
        read_form("{year} § {page}")
