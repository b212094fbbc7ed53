"""Citation markers in generated text, found while it still streams in.

Understood are, in the digits of any script: ``[2]``, ``[1, 3]``, ``[1 and 3]``, ``[1-3]``, ``[[2]]``, ``[^2]``,
``【2】``, ``【2†source】``, ``[Source 2]``, ``[doc2]``, ``[cite: 1, 2]``, ``[2, p. 7]``, ``(source 2)``. Bare numbers
in round brackets are subsections, and raised digits are powers: they are no markers.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

import regex

__all__ = ["CodeReader", "MarkerResolver"]

#: The longest inside of a marker that is recognised, with its closing bracket. While streaming, no more than this, the
#: opening bracket and the space before it are ever held back.
LONGEST = 24

_OPENING = {"[": "]", "【": "】", "(": ")"}
_NOUN = r"(?i:sources?|src|docs?|documents?|passages?|refs?|references?|cites?|citations?)\s*[:.#]?\s*"
_NUMBERS = rf"\p{{Nd}}{{1,3}}(?:\s*(?:[,;、&]|and\b|[-–—])\s*(?:{_NOUN})?\p{{Nd}}{{1,3}})*"
_PAGES = r"\s*,?\s*(?i:pp?\.|pages?|p(?=\s?\p{Nd}))\s*\p{Nd}{1,4}(?:\s*[-–—]\s*\p{Nd}{1,4})?"
# What may stand between the brackets, and between round ones.
_INSIDE = regex.compile(rf"\s*\^?\s*(?:{_NOUN})?(?P<numbers>{_NUMBERS})(?:{_PAGES}|†[^\]】]*)?\s*")
_IN_ROUND = regex.compile(rf"\s*(?i:(?:see\s+)?sources?)\s*:?\s*(?P<numbers>{_NUMBERS})(?:{_PAGES})?\s*")
_CLOSE = frozenset(".,;:!?)]\r\n")
_ITEM = regex.compile(r"(\p{Nd}{1,3})(?:\s*[-–—]\s*(\p{Nd}{1,3}))?")


@dataclass
class CodeReader:
    """Tells, one character after the other, which of a text's characters are code.

    Code stands between runs of equally many back-quotes, which belong to it. One or two do not reach past a blank line,
    so that a stray back-quote spoils no more than its paragraph; three or more that are never closed reach to the end.
    """

    _run: int = 0  #: length of the run of back-quotes being read
    _fence: int = 0  #: length of the run that opened the code being read; 0 outside code
    _line_empty: bool = False  #: only white space since the last line break

    def is_code(self, character: str) -> bool:
        """Whether the next character is code."""
        if character == "`":
            self._run += 1
            self._line_empty = False
            return True
        if self._run:
            self._fence = 0 if self._fence == self._run else self._fence or self._run
            self._run = 0
        if character == "\n":
            if self._line_empty and self._fence < 3:
                self._fence = 0
            self._line_empty = True
        elif not character.isspace():
            self._line_empty = False
        return self._fence > 0


@dataclass
class MarkerResolver:
    """Rewrites markers to the form ``[n]``, one a number, and removes numbers that were never offered.

    Feed it text in any pieces and call `finish` at the end: the joined output is the same for every way of cutting.
    Code (see `CodeReader`) and subscripts (``array[2]``) are left alone. `unknown` collects the removed numbers.

    >>> resolver = MarkerResolver(known=3)
    >>> resolver.feed("True [1-2] and fal") + resolver.feed("se [7][3].") + resolver.finish(), resolver.unknown
    ('True [1][2] and false [3].', [7])
    """

    known: int  #: markers 1 … known name passages
    unknown: list[int] = field(default_factory=list)
    _held: str = ""  #: read, not yet decided
    _space: str = ""  #: one space, not written before it is known what follows
    _last: str = ""  #: the last character written
    _removed: bool = False  #: a marker was removed since
    _code: CodeReader = field(default_factory=CodeReader)

    def feed(self, text: str) -> str:
        """Take more text and give what can be decided."""
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        """No more text comes: give the rest. An unfinished marker is text."""
        rest = self._drain(final=True)
        space, self._space = self._space, ""
        return rest if self._removed else rest + space

    def _drain(self, *, final: bool) -> str:
        out: list[str] = []
        held, i = self._held, 0
        while i < len(held):
            character = held[i]
            end = i + 1
            if self._code.is_code(character):
                self._write(out, character)
            elif character == " ":
                # Around a removed marker two spaces become one, and at the beginning of a line none.
                if self._space and not self._removed:
                    self._write(out, "")
                if not (self._removed and self._last in ("", "\n")):
                    self._space = character
            elif character in _OPENING and not self._is_subscript(character):
                found = self._found(held, i, final=final)
                if found is None:
                    break
                numbers, end = found
                if numbers:
                    self._marker(out, numbers)
                else:
                    self._write(out, character)
            else:
                self._write(out, character)
            i = end
        self._held = held[i:]
        return "".join(out)

    def _is_subscript(self, character: str) -> bool:
        """``array[2]``: a bracket that touches a word. Not after ideographs: spaces do not set them off."""
        touches = self._last.isalnum() or self._last == "_"
        return character in "[(" and not self._space and touches and ord(self._last) < 0x2E80

    def _found(self, text: str, start: int, *, final: bool) -> tuple[str, int] | None:
        """The numbers of the marker at `start`, and its end; "" if it is none; None if more text is needed to tell."""
        opening = text[start]
        twice = text.startswith("[[", start)
        first = start + (2 if twice else 1)
        closing = "]]" if twice else _OPENING[opening]
        inside = _IN_ROUND if opening == "(" else _INSIDE
        window = text[first : start + 1 + LONGEST]
        end = window.find(_OPENING[opening])
        if end >= 0 and (found := inside.fullmatch(window[:end])):
            if window.startswith(closing, end):
                return found["numbers"], first + end + len(closing)
            # "[[1" and one "]": the second may come.
            waits = len(window) == end + 1 and not final and len(window) + first - start <= LONGEST
            return None if twice and waits else ("", start + 1)
        may_go_on = end < 0 and first + len(window) < start + 1 + LONGEST and inside.fullmatch(window, partial=True)
        # A single "[" may become two.
        return None if may_go_on and not final else ("", start + 1)

    def _marker(self, out: list[str], inside: str) -> None:
        numbers: list[int] = []
        for match in _ITEM.finditer(inside):
            first = _number(match.group(1))
            last = _number(match.group(2)) if match.group(2) else first
            # A range is spelt out where it can be one; "[9-2]" names its two ends.
            numbers.extend(range(first, last + 1) if first <= last <= first + 50 else (first, last))
        numbers = list(dict.fromkeys(numbers))
        self.unknown.extend(number for number in numbers if not 1 <= number <= self.known)
        if kept := "".join(f"[{number}]" for number in numbers if 1 <= number <= self.known):
            self._write(out, kept)
        else:
            self._removed = True
            if self._last == "[":
                self._space = " "  # or "[[9]1]" would become a marker that nobody wrote

    def _write(self, out: list[str], text: str) -> None:
        # The space before a removed marker goes with it where a punctuation mark or a line break follows.
        if not (self._removed and text[:1] in _CLOSE):
            out.append(self._space)
            self._last = self._space or self._last
        self._space, self._removed = "", False
        out.append(text)
        self._last = text[-1:] or self._last


def _number(digits: str) -> int:
    return int("".join(str(unicodedata.decimal(digit)) for digit in digits))
