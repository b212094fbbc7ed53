"""How briefs speak of a penalty, in the words of an act: "punishable with", "the maximum sentence is seven years"."""

from __future__ import annotations

import re

__all__ = ["in_words_of_acts"]

_IS = r"(?:is|shall\s+be|would\s+be|will\s+be|may\s+be)"
_NOUN = r"(?:punishment|sentence|penalty|term|imprisonment|sentence\s+of\s+imprisonment|term\s+of\s+imprisonment)"
_PUNISHABLE = re.compile(r"\b(?:is|are)\s+punishable\s+(with|by)\b", re.IGNORECASE)
_BOUND = re.compile(
    rf"\A(?:the\s+|a\s+)?(?P<bound>maximum|highest|minimum|least|lowest)\s+{_NOUN}"
    rf"(?:\s+(?:prescribed|provided))?(?:\s+for\s+(?P<deed>[^,;:.]{{1,80}}?))?\s+{_IS}\s+(?:of\s+)?(?=\S)",
    re.IGNORECASE,
)
_PENALTY = re.compile(
    rf"\A(?:the\s+)?{_NOUN}(?:\s+(?:prescribed|provided))?\s+for\s+(?P<deed>[^,;:.]{{1,80}}?)\s+{_IS}\s+(?=\S)",
    re.IGNORECASE,
)
_MOST = "imprisonment for a term which may extend to "
_LEAST = "imprisonment for a term which shall not be less than "


def in_words_of_acts(statement: str) -> str:
    """`statement` as an act would say it; as it is where it speaks of no penalty.

    >>> in_words_of_acts("The punishment for murder is death.")
    'murder shall be punished with death.'
    >>> in_words_of_acts("The maximum sentence is seven years.")
    'imprisonment for a term which may extend to seven years.'
    """
    if bound := _BOUND.match(statement):
        words = _MOST if bound["bound"].casefold() in ("maximum", "highest") else _LEAST
        deed = f"{bound['deed']} shall be punished with " if bound["deed"] else ""
        rest = re.sub(r"\A(?:imprisonment|a\s+term)\s+(?:for|of)\s+", "", statement[bound.end() :], flags=re.IGNORECASE)
        return f"{deed}{words}{rest}" if re.match(r"\d|\w+\s+(?:years?|months?|days?)\b", rest) else statement
    if penalty := _PENALTY.match(statement):
        return f"{penalty['deed']} shall be punished with {statement[penalty.end() :]}"
    return _PUNISHABLE.sub(r"shall be punished \1", statement)
