"""How often the lexical scorer is wrong on pairs whose author had not read its rules: counted once, held as a bound."""

from __future__ import annotations

from support_pairs_unseen import UNSEEN

from pincite.support.lexical import judge

WRONG_ACCEPTANCES = 4  # of 40 statements that the source does not support
WRONG_REFUSALS = 25  # of 40 that it does


def accepted(statement: str, source: str) -> bool:
    return judge(statement, source).verdict in ("verbatim", "supported")


def test_the_pairs_are_half_and_half_and_none_is_there_twice() -> None:
    assert [holds for _, _, holds in UNSEEN].count(True) == 40
    assert [holds for _, _, holds in UNSEEN].count(False) == 40
    assert len({(statement, source) for statement, source, _ in UNSEEN}) == 80


def test_no_more_unsupported_statements_are_accepted_than_were_counted() -> None:
    wrong = [statement for statement, source, holds in UNSEEN if not holds and accepted(statement, source)]
    assert len(wrong) <= WRONG_ACCEPTANCES, wrong


def test_no_more_supported_statements_are_refused_than_were_counted() -> None:
    wrong = [statement for statement, source, holds in UNSEEN if holds and not accepted(statement, source)]
    assert len(wrong) <= WRONG_REFUSALS, wrong
