"""American citations, as eyecite reads them."""

from __future__ import annotations

import sys

import pytest

from pincite.errors import MissingExtraError
from pincite.verify.american import find_american

TEXT = (
    "In Roe v. Wade, 410 U.S. 113, 120 (1973), and Brown v. Board of Education, 347 U.S. 483, 74 S. Ct. 686 (1954), "
    "the Court held so; see 42 U.S.C. § 1983. Id. at 12."
)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eyecite", None)
    with pytest.raises(MissingExtraError, match=r"pincite\[law\]"):
        find_american(TEXT)


def test_cases_and_statutes() -> None:
    pytest.importorskip("eyecite", reason="needs the extra law")
    roe, brown, civil_rights = find_american(TEXT)
    assert (roe.parties, roe.reports, roe.year, roe.decided) == (("Roe", "Wade"), ("410 U.S. 113",), 1973, True)
    assert roe.pinpoint == "120"
    assert brown.parties == ("Brown", "Board of Education")
    assert brown.reports == ("347 U.S. 483", "74 S. Ct. 686")
    assert brown.year == 1954
    assert (civil_rights.act, civil_rights.provision) == ("42 U.S.C.", "1983")
    for each in (roe, brown, civil_rights):
        assert TEXT[each.start : each.end] == each.text


def test_a_text_without_any() -> None:
    pytest.importorskip("eyecite", reason="needs the extra law")
    assert find_american("Nothing is cited here.") == []
