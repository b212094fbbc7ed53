"""The authorities that a text names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pincite.verify.case_names import find_cases
from pincite.verify.grammar import Grammar
from pincite.verify.provisions import find_provisions
from pincite.verify.records import Authority

__all__ = ["find_authorities", "merge"]

#: Marks around emphasized words, as names of cases are in Markdown.
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|\*{1,3}")


def find_authorities(text: str, grammar: Grammar) -> list[Authority]:
    """The provisions and cases that `text` names, in the order of the text, none overlapping another.

    ``text[a.start:a.end] == a.text`` for each. A list of provisions ("ss. 299, 300 and 302 IPC") gives one authority
    for each number, a range one for each end; the first spans the leading word and its number, the last its number and
    the act. A case is one authority with all of its reports.
    """
    plain = _EMPHASIS.sub(lambda marks: " " * len(marks.group()), text)
    found = merge(find_cases(plain, grammar), find_provisions(plain, grammar))
    return found if plain == text else [replace(each, text=text[each.start : each.end]) for each in found]


def merge(first: Sequence[Authority], second: Sequence[Authority]) -> list[Authority]:
    """Both in the order of the text; of two that overlap the longer stays, of two alike that of `first`."""
    kept: list[Authority] = []
    for each in sorted((*first, *second), key=lambda each: each.start - each.end):
        if not any(each.start < other.end and other.start < each.end for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda each: each.start)
