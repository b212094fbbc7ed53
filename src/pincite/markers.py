"""Citation markers in generated text, ``[2]``, ``[1, 3]``, ``[1-3]``, ``【1】``, found while it still streams in."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

import regex

__all__ = ["MarkerResolver"]

#: The longest marker recognised; at most this many characters are held back while streaming.
LONGEST = 24

_OPENING = {"[": "]", "【": "】"}
# What may stand between the brackets: numbers in any script's digits, separated by commas, semicolons or dashes.
_INSIDE = regex.compile(r"\s*\^?\s*\p{Nd}{1,3}(?:\s*(?:[,;、]|[-–—])\s*\p{Nd}{1,3})*\s*")
_INSIDE_SO_FAR = regex.compile(r"[\s^\p{Nd},;、–—-]*")
_ITEM = regex.compile(r"(\p{Nd}{1,3})(?:\s*[-–—]\s*(\p{Nd}{1,3}))?")


@dataclass
class MarkerResolver:
    """Rewrites markers to the form ``[n]``, one a number, and removes numbers that were never offered.

    Feed it text in any pieces and call `finish` at the end: the joined output is the same for every way of cutting.
    Code (between back-quotes) and subscripts (``array[2]``) are left alone. `unknown` collects the removed numbers.

    >>> resolver = MarkerResolver(known=3)
    >>> resolver.feed("True [1-2] and fal") + resolver.feed("se [7][3].") + resolver.finish(), resolver.unknown
    ('True [1][2] and false [3].', [7])
    """

    known: int  #: markers 1 … known name passages
    unknown: list[int] = field(default_factory=list)
    _held: str = ""  #: read, not yet decided
    _spaces: str = ""  #: decided, but not written before it is known what follows
    _last: str = ""  #: the last character written
    _removed: bool = False  #: a marker was removed since
    _fence: int = 0  #: length of the run of back-quotes that opened the code being read; 0 outside code

    def feed(self, text: str) -> str:
        """Take more text and give what can be decided."""
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        """No more text comes: give the rest. An unfinished marker is text."""
        rest = self._drain(final=True)
        spaces, self._spaces = self._spaces, ""
        return rest if self._removed else rest + spaces

    def _drain(self, *, final: bool) -> str:
        out: list[str] = []
        held, i = self._held, 0
        while i < len(held):
            character = held[i]
            end = i + 1
            if character == "`":
                while held[end : end + 1] == "`":
                    end += 1
                if end == len(held) and not final:
                    break  # the run may go on
                self._fence = 0 if self._fence == end - i else self._fence or end - i
                self._write(out, held[i:end])
            elif self._fence:
                self._write(out, character)
            elif character == " ":
                if not (self._removed and self._spaces):
                    self._spaces += character
            elif character in _OPENING and not self._is_subscript(character):
                closing = self._closing(held, i, final=final)
                if closing is None:
                    break
                if closing:
                    self._marker(out, held[i + 1 : closing])
                    end = closing + 1
                else:
                    self._write(out, character)
            else:
                self._write(out, character)
            i = end
        self._held = held[i:]
        return "".join(out)

    def _is_subscript(self, character: str) -> bool:
        """``array[2]``: a square bracket that touches a word. Not after ideographs: spaces do not set them off."""
        touches = self._last.isalnum() or self._last == "_"
        return character == "[" and not self._spaces and touches and ord(self._last) < 0x2E80

    def _closing(self, text: str, start: int, *, final: bool) -> int | None:
        """Index of the closing bracket; 0 if this is no marker; None if more text is needed to tell."""
        window = text[start + 1 : start + 1 + LONGEST]
        end = window.find(_OPENING[text[start]])
        if end >= 0:
            return start + 1 + end if _INSIDE.fullmatch(window[:end]) else 0
        may_go_on = len(window) < LONGEST and _INSIDE_SO_FAR.fullmatch(window)
        return None if may_go_on and not final else 0

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

    def _write(self, out: list[str], text: str) -> None:
        # The space before a removed marker goes with it where a punctuation mark or a line break follows.
        if not (self._removed and text[0] in ".,;:!?)\n"):
            out.append(self._spaces)
        self._spaces, self._removed = "", False
        out.append(text)
        self._last = text[-1]


def _number(digits: str) -> int:
    return int("".join(str(unicodedata.decimal(digit)) for digit in digits))
