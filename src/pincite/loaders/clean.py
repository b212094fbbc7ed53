r"""What never reaches the text of a document, and how its loss is reported.

Removed:

- NUL and the other C0 and C1 controls except tab and line feed, with whole terminal colour sequences;
- lone surrogates and the noncharacters U+FFFE and U+FFFF;
- characters that a reader cannot see and that a language does not need: zero-width space, word joiner, byte-order
  marks inside the text, tag characters (U+E0000–E007F), runs of variation selectors, bidirectional embeddings,
  overrides and isolates. They hide words from search and can spell a message that only a model reads. The text
  keeps its logical order without the bidirectional controls;
- soft hyphens, which are typesetting hints.

Kept: zero-width joiner, non-joiner and space next to a letter that is not Latin. Persian, the Indic scripts, Thai,
Khmer and emoji sequences are misspelt without them. The left-to-right and right-to-left marks stay as well: they
are ordinary in mixed Hebrew, Arabic and Latin text. The price is that a flag written with tag characters (Scotland)
becomes a plain black flag.

Line ends of every kind (CR LF, CR, NEL, vertical tab, form feed, line and paragraph separator) become "\n".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Cleaned", "clean", "collapse", "loss_warnings"]

_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_TERMINAL = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_SOFT_HYPHEN = "\u00ad"

# Joiners are spelling after a letter, digit or mark from Hebrew onwards, and after emoji, but not after one
# another: a run of them is a message. The general punctuation block (2000-206F) holds the invisible ones.
_NEEDS_JOINERS = "\u0590-\u180d\u180f-\u1fff\u2100-\ufe00\ufe01-\ufefe\uff00-\ufffd\U00010000-\U000dffff"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_INVISIBLE = re.compile(
    f"(?<![{_NEEDS_JOINERS}])[\u200b-\u200d]"
    f"|(?<=[{_SELECTORS}])[{_SELECTORS}]"
    "|[\u180e\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e00ff]"
)
# One cheap test for the common case that there is nothing to do.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200d\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e01ef]"
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text without what a reader cannot see, and how many characters of each kind were taken out."""

    text: str
    controls: int = 0  #: control characters, surrogates and noncharacters
    invisible: int = 0  #: characters without width or direction of their own


def clean(text: str) -> Cleaned:
    r"""`text` as the module says, in linear time. Cleaning twice changes nothing.

    >>> clean("a\r\nb\x00c\u200bd")
    Cleaned(text='a\nbcd', controls=1, invisible=1)
    """
    if _SUSPECT.search(text) is None:
        return Cleaned(text)
    text = _NEWLINES.sub("\n", text)
    text = _TERMINAL.sub("", text)
    text, controls = _CONTROLS.subn("", text)
    text = text.replace(_SOFT_HYPHEN, "")
    invisible = 0
    # Taking one out can bring two others together; each round removes at least one, and hardly any text needs two.
    while True:
        text, found = _INVISIBLE.subn("", text)
        if not found:
            return Cleaned(text, controls, invisible)
        invisible += found


def collapse(text: str) -> str:
    """`text` on one line: every run of white space is one space, none at the ends."""
    return " ".join(text.split())


def loss_warnings(controls: int, invisible: int) -> tuple[str, ...]:
    """The warnings of a document for what `clean` removed; empty when that was nothing."""
    warnings = []
    if controls:
        warnings.append(f"{controls} control character{'s' if controls > 1 else ''} removed")
    if invisible:
        warnings.append(f"{invisible} invisible character{'s' if invisible > 1 else ''} removed")
    return tuple(warnings)
