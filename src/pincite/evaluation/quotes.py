"""Where quoted words stand in a text: as they are, or in what says the same with other characters."""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Iterable, Iterator

from pincite.words import has_content

__all__ = ["find_quote", "find_quotes", "find_words", "visible"]

#: Control, format and direction characters, tags, and halves of surrogate pairs: what is not seen, or no character.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SAME = str.maketrans(
    dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-") | {"\u00ad": None}
)
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…)\s*")
#: From here on are scripts without spaces between words.
_UNSPACED = "\u2e80"


def visible(text: str) -> str:
    """`text` without control characters, which could move a terminal's cursor or hide words."""
    return _UNSEEN.sub("", text)


def find_quote(text: str, quote: str, near: int = 0) -> tuple[int, int] | None:
    r"""Where `quote` stands in `text`, as a half-open range; of several places the one that begins nearest to `near`.

    The very characters are looked for first. Then kinds of white space, quotation marks and dashes, case, composed and
    decomposed letters, and the marks of Markdown emphasis make no difference. Never within a word. None where it does
    not stand, and for a quote without a word that means anything.

    >>> find_quote('He said: “We\nare late.”', '"we are late."')
    (9, 23)
    """
    return _nearest(find_quotes(text, quote), near)


def find_quotes(text: str, quote: str) -> list[tuple[int, int]]:
    """Every place of `quote` in `text`: of the very characters, or else of what says the same. See `find_quote`."""
    quote = quote.strip()
    if not quote or not has_content(quote):
        return []
    exact = [(at, at + len(quote)) for at in _places(text, quote)]
    return [span for span in exact if _whole_words(text, *span)] or _alike(text, quote)


def find_words(text: str, typed: str, near: int = 0, within: tuple[int, int] | None = None) -> tuple[int, int] | None:
    """The span that a person means by `typed`: a quote, or its first words, ``...``, and its last words.

    Only what lies wholly in the half-open range `within` is taken, if it is given. Of several places of a quote the one
    that begins nearest to `near`; of first and last words the shortest span, then the nearest. None for none.

    >>> find_words("Four one. Four five six. Seven six.", "Four ... six.")
    (10, 24)
    """
    start, end = within or (0, len(text))
    part = text[start:end]

    def inside(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        moved = [(start + first, start + last) for first, last in spans]
        # The range may begin or end within a word.
        return [span for span in moved if _whole_words(text, *span)]

    # A person may name any words, also those that mean nothing alone ("not", "of the").
    if span := _nearest(inside(find_quotes(part, typed)) or inside(_alike(part, typed)), near):
        return span
    shortest = inside(_first_to_last(part, typed))
    return min(shortest, key=lambda span: (span[1] - span[0], abs(span[0] - near)), default=None)


def _first_to_last(text: str, typed: str) -> list[tuple[int, int]]:
    """For every place of the last words, from the nearest place of the first words before it."""
    parts = _ELLIPSIS.split(typed.strip())
    if len(parts) != 2 or not all(parts):
        return []
    begins = _alike(text, parts[0])
    found = []
    for last in _alike(text, parts[1]):
        # In order of their starts, and so of their ends.
        before = bisect.bisect_right(begins, last[0], key=lambda span: span[1])
        if before:
            found.append((begins[before - 1][0], last[1]))
    return found


def _nearest(spans: list[tuple[int, int]], near: int) -> tuple[int, int] | None:
    return min(spans, key=lambda span: (abs(span[0] - near), span), default=None)


def _alike(text: str, words: str) -> list[tuple[int, int]]:
    """Every place in `text` of what says the same as `words`, in order."""
    folded, origin = _folded(text)
    wanted = _folded(words)[0].strip()
    if not wanted:
        return []
    found = []
    for at in _places(folded, wanted):
        end = at + len(wanted)
        # Not from or to the middle of a character that folds to several: "2 cups" is not in "½ cups".
        cut = (at > 0 and origin[at - 1] == origin[at]) or (end < len(origin) and origin[end - 1] == origin[end])
        span = origin[at], origin[end - 1] + 1
        if not cut and _whole_words(text, *span):
            found.append(span)
    return found


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _whole_words(text: str, start: int, end: int) -> bool:
    return not (start > 0 and _joined(text[start - 1], text[start])) and not (
        end < len(text) and _joined(text[end - 1], text[end])
    )


def _joined(one: str, other: str) -> bool:
    if _is_mark(other):  # an accent or a vowel sign belongs to the letter before it, in every script
        return one.isalnum() or _is_mark(one)
    # Scripts without spaces have no such borders to keep.
    return (one.isalnum() or _is_mark(one)) and other.isalnum() and max(one, other) < _UNSPACED


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _folded(text: str) -> tuple[str, list[int]]:
    """`text` without what makes no difference, and for each of its characters the place it came from."""
    kept: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        for each in unicodedata.normalize("NFKD", character).translate(_SAME).casefold():
            if each.isspace():
                each = " "  # also a form feed, which is a control character
            if each == "*" or _UNSEEN.match(each) or (each == " " and (not kept or kept[-1] == " ")):
                continue
            kept.append(each)
            origin.append(place)
    return "".join(kept), origin
