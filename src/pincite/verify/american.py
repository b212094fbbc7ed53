"""Authorities of the United States, found by eyecite (extra ``law``)."""

from __future__ import annotations

from pincite.verify.records import Authority

__all__ = ["find_american"]


def find_american(text: str) -> list[Authority]:
    """The cases and statutes of the United States that `text` names, in the order of the text.

    Of a statute `act` is its code (``U.S.C.``) with the title before it (``42 U.S.C.``). Raises MissingExtraError
    where eyecite is not installed. To join them with others: `pincite.verify.find.merge`.
    """
    raise NotImplementedError
