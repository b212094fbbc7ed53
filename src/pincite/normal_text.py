"""Text as it is compared word for word: without what differs between two prints of the same words.

Alike become: kinds of white space, line breaks and the ``>`` of block quotes; quotation marks and apostrophes of every
kind; dashes; upper and lower case; compatibility characters such as ligatures, and composed and decomposed letters
(NFKC); dots of an ellipsis. Left out are invisible characters, hyphens at line ends, and the asterisks of Markdown's
emphasis. Nothing else: words, numbers, accents and punctuation stay.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property, lru_cache

__all__ = ["NormalText", "touches"]

_QUOTES = "\"'‘’‚‛“”„‟′″´`「」『』｢｣＂＇"
_DASHES = "‐‑‒–−﹣－"
_LONG_DASHES = "—―⸺⸻"
_BREAKS = "\r\x0b\x0c\x85\u2028\u2029"
#: Characters that mean the same as one other.
_SAME = dict.fromkeys(_QUOTES, "'") | dict.fromkeys(_DASHES, "-") | dict.fromkeys(_LONG_DASHES, "—")
_SAME |= dict.fromkeys(_BREAKS, "\n") | {"‹": "«", "›": "»", "…": "…", "⁄": "/", "·": "·"}

# Scripts that put no space between words: no borders to keep there, and each character is a word when words are
# compared. Korean is not among them.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")

#: Matched in a text of which single characters are alike already. Every branch begins with what it is about, for the
#: engine to skip all else: the hyphen of "termi-\nnation" is looked behind from after itself.
_ALIKE = re.compile(
    rf"""
    (?P<soft> -(?<=[^\W\d_]-)[ ]*\n[ \n]*(?=[^\W\d_]) | \u00ad[ ]*\n[ \n]* )
    | (?P<hard> -(?<=[^\W\d_]-)(?=[^\W\d_]) )
    | (?P<join> -(?<=\w-)[ ]*\n[ \n]*(?=\w) )
    | (?P<dash> [ \n]+(?:—|-(?=[ \n-]))[ \n-]*(?:—[ \n]*)? | —[ \n]* | --+[ \n]* )
    | (?P<none> [ \n](?<=[{_UNSPACED}][ \n])[ \n]* | [ \n]+(?=[{_UNSPACED}])
        | \*(?<!\w\*)(?<!\*\*)\*{{0,2}}(?=[^\s*]) | \*(?<=[^\s*]\*)\*{{0,2}}(?!\w) )
    | (?P<mark> «(?<![^ \n(]«)[ ]+ | [ ]+»(?=[\s.,;:!?)]|\Z) | [«»] | ''+ )
    | (?P<dots> \.(?:[ ]?\.){{2,}} )
    | (?P<space> [ ]*\n[ \n]*(?:>[ >]*)? | [ ]{{2,}} )
    """,
    re.VERBOSE,
)
_WRITTEN = {"soft": "", "hard": "", "join": "-", "dash": "—", "none": "", "mark": "'", "dots": "…", "space": " "}

_NUMBER = r"(?:-(?<![\w)]-))?\d+(?:[.,:/]\d+)*\w*"
_WORD = re.compile(rf"{_NUMBER}|[^\W\d]\w*(?:'(?=\w)\w+)*|[%‰$€£₹°§]")
_WORD_OR_CHARACTER = re.compile(
    rf"[{_UNSPACED}]|{_NUMBER}|(?:(?![{_UNSPACED}])[^\W\d])(?:(?![{_UNSPACED}])\w)*(?:'(?=\w)\w+)*|[%‰$€£₹°§]"
)


class NormalText:
    r"""A text made alike, with the way back to its own characters. Made once, asked often; linear in its length.

    >>> source = NormalText("He pays “40\u00a0bar” on termi-\nnation.")
    >>> [source.text[a:b] for a, b in source.find("'40 BAR' on termination")]
    ['“40\xa0bar” on termi-\nnation']
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = array("q")  #: where in `normal` a run begins
        self._from = array("q")  #: where in `text`
        self._to = array(
            "q"
        )  #: where in `text` it ends, of one that stands for itself as a whole; -1: letter by letter
        self._hard: list[int] = []  #: where in `normal` a hyphen within a word was left out
        self._soft: list[int] = []  #: and one at a line end, which may have been of the word or of the line
        self.normal = self._made()

    def _made(self) -> str:
        singles, marks, others = _kinds(self.text)
        alike = self.text.translate(singles)
        pattern = _ALIKE if not (marks or others) else _with_clusters(marks, others)
        out: list[str] = []
        size = position = 0

        def run(start: int, written: str, to: int) -> None:
            nonlocal size
            if written:
                self._at.append(size)
                self._from.append(start)
                self._to.append(to)
                out.append(written)
                size += len(written)

        for match in pattern.finditer(alike):
            start, end = match.span()
            run(position, alike[position:start], -1)
            kind = match.lastgroup or ""
            if kind == "soft":
                self._soft.append(size)
            elif kind == "hard":
                self._hard.append(size)
            written = _WRITTEN[kind] if kind in _WRITTEN else _cluster(self.text, start, end)
            if kind == "dash" and match.group().strip() == "-" and _is_range(alike, start, end):
                written = "-"
            run(start, written, end)
            position = end
        run(position, alike[position:], -1)
        return "".join(out)

    def find(self, words: NormalText | str) -> Iterator[tuple[int, int]]:
        """Every place where the same words stand, in order, as half-open ranges of `text`.

        Never from or to the middle of a word, a number ("5" is not in "5,000", "-5" or "3.5") or a compound; none for
        words without a letter or digit.
        """
        wanted = words if isinstance(words, NormalText) else NormalText(words)
        for start, end in self.find_normal(wanted):
            yield self.span(start, end)

    def find_normal(self, wanted: NormalText, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
        """As `find`, as ranges of `normal`, between `start` and `stop`."""
        lead = len(wanted.normal) - len(wanted.normal.lstrip())
        bare = wanted.normal.strip()
        if not any(character.isalnum() for character in bare):
            return
        limit = len(self.normal) if stop is None else stop
        at = self.normal.find(bare, start, limit)
        while at >= 0:
            end = at + len(bare)
            if self.is_whole(at, end) and self._same_hyphens(at, end, wanted, lead):
                yield at, end
            at = self.normal.find(bare, at + 1, limit)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of `text` that a range of `normal`, not an empty one, was made of."""
        first = bisect_right(self._at, start) - 1
        last = bisect_right(self._at, end - 1) - 1
        begin = self._from[first] + (0 if self._to[first] >= 0 else start - self._at[first])
        finish = self._to[last] if self._to[last] >= 0 else self._from[last] + end - self._at[last]
        return begin, finish

    def is_whole(self, start: int, end: int) -> bool:
        """Whether a range of `normal` divides no word, no number and no character of `text` at either end."""
        normal = self.normal
        return (
            not self._within(start)
            and not self._within(end)
            and not (start > 0 and touches(normal, start))
            and not (end < len(normal) and touches(normal, end))
        )

    def _within(self, position: int) -> bool:
        """Whether `position` is in the middle of what one character became: "2 cups" is not in "½ cups"."""
        run = bisect_right(self._at, position) - 1
        return run >= 0 and self._to[run] >= 0 and self._at[run] < position < self._end(run)

    def _end(self, run: int) -> int:
        return self._at[run + 1] if run + 1 < len(self._at) else len(self.normal)

    def _same_hyphens(self, start: int, end: int, wanted: NormalText, lead: int) -> bool:
        """Whether the words are joined by hyphens alike; one at a line end may be either."""
        if not (self._hard or self._soft or wanted._hard or wanted._soft):
            return True
        shift = start - lead
        here, there = _between(self._hard, start, end), {each + shift for each in wanted._hard}
        soft_here, soft_there = _between(self._soft, start, end), {each + shift for each in wanted._soft}
        return here - there <= soft_there and there - here <= soft_here

    @cached_property
    def words(self) -> list[str]:
        """The words in order, numbers with their sign and signs of units too; in unspaced scripts every character."""
        return self._pattern.findall(self.normal)

    @cached_property
    def starts(self) -> array[int]:
        """Where in `normal` each of `words` begins."""
        return array("q", (match.start() for match in self._pattern.finditer(self.normal)))

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _WORD_OR_CHARACTER if _IS_UNSPACED.search(self.normal) else _WORD

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Word → where it stands, as indices into `words`, in order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(self.words):
            found[word].append(i)
        return dict(found)


_LEFT_OF_NUMBER = re.compile(r"\d[.,:/-]\Z|(?:\A|[\s('])-\Z")
_RIGHT_OF_NUMBER = re.compile(r"[.,:/-]\d")


def touches(text: str, position: int) -> bool:
    """Whether what stands on either side of `position` is one word or one number."""
    before, after = text[position - 1], text[position]
    if _is_mark(after):
        return before.isalnum() or _is_mark(before)
    if _IS_UNSPACED.match(before) or _IS_UNSPACED.match(after):
        return False
    left, right = before.isalnum() or before == "_" or _is_mark(before), after.isalnum() or after == "_"
    if left and right:
        return True
    if right and after.isdigit() and _LEFT_OF_NUMBER.search(text[max(0, position - 2) : position]):
        return True
    if left and before.isdigit() and _RIGHT_OF_NUMBER.match(text, position):
        return True
    # "the tenant's": an apostrophe within a word.
    if left and after == "'" and before.isalpha():
        return position + 1 < len(text) and text[position + 1].isalpha()
    return right and before == "'" and after.isalpha() and position > 1 and text[position - 2].isalpha()


def _is_range(text: str, start: int, end: int) -> bool:
    """Whether numbers stand on both sides: "40 – 50" is 40-50."""
    return start > 0 and text[start - 1].isdigit() and text[end : end + 1].isdigit()


def _between(positions: list[int], start: int, end: int) -> set[int]:
    return set(positions[bisect_left(positions, start + 1) : bisect_left(positions, end)])


def _is_mark(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] == "M"


@lru_cache(maxsize=65_536)
def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(_SAME.get(each, each) for each in folded)


@lru_cache(maxsize=65_536)
def _kind(character: str) -> str:
    r"""What becomes of a character by itself; "\0" for a mark that joins the one before it."""
    if character in _SAME:
        return _SAME[character]
    if character.isspace():
        return "\n" if character == "\n" else " "
    decomposed = unicodedata.normalize("NFKD", character)
    if unicodedata.combining(decomposed[0]) or "\u1160" <= character <= "\u11ff":
        return "\0"
    if unicodedata.category(character) in ("Cf", "Cc"):
        return ""
    if unicodedata.decomposition(character).startswith("<super>") and decomposed.isdigit():
        return "^" + decomposed  # 10² is not 102
    return _folded(character)


def _kinds(text: str) -> tuple[dict[int, str], str, str]:
    """What single characters become, the combining marks, and what becomes none or several."""
    singles: dict[int, str] = {}
    marks: list[str] = []
    others: list[str] = []
    for character in set(text):
        made = _kind(character)
        if made == "\0":
            marks.append(character)
        elif len(made) != 1:
            others.append(character)
        elif made != character:
            singles[ord(character)] = made
    return singles, "".join(sorted(marks)), "".join(sorted(others))


@lru_cache(maxsize=64)
def _with_clusters(marks: str, others: str) -> re.Pattern[str]:
    branches = []
    if marks:
        branches.append(rf"[^\s{re.escape(marks)}][{re.escape(marks)}]+")
    # A soft hyphen at a line end takes the line end with it: that branch is first.
    if others:
        branches.append(rf"(?!\u00ad[ ]*\n)[{re.escape(others)}]")
    return re.compile(f"(?P<cluster>{'|'.join(branches)}) | {_ALIKE.pattern}", re.VERBOSE)


def _cluster(text: str, start: int, end: int) -> str:
    if end - start > 1:
        return _folded(text[start:end])
    made = _kind(text[start])
    # "6½" is 6 1/2 and not 61/2.
    if "/" in made and start and text[start - 1].isdigit():
        return f" {made}"
    return made
