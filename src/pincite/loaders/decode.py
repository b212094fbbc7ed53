"""Bytes to text: byte-order mark, strict UTF-8, what the file declares, and detection last, in that order."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from pincite.errors import LoadError, UnsupportedFormatError

__all__ = ["Decoded", "decode", "decode_as", "looks_binary"]

# Longest first: the mark of UTF-32 LE begins with that of UTF-16 LE.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Encodings worth guessing. The order settles what statistics leave open: multi-byte ones first, since few texts
# satisfy their rules by accident, then the commonest in old files (a short Western text is as good in cp1250 as in
# cp1252). DOS and Macintosh code pages are left out on purpose: they accept every byte and win on short texts that
# are not theirs.
_GUESSES = (
    "cp932",
    "gb18030",
    "euc_jp",
    "cp949",
    "big5",
    "cp1252",
    "cp1251",
    "cp1250",
    "cp1253",
    "cp1255",
    "cp1256",
    "cp1254",
    "koi8_r",
    "koi8_u",
    "cp1257",
    "cp1258",
    "cp874",
)

# Labels as the web uses them: a page that says Latin-1 means cp1252.
_LABELS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
}
_SEVEN_BIT = ("iso2022", "hz")  # all their bytes are ASCII, so that they look like UTF-8

_SIGNATURES = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\xfd7zXZ\x00",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"\x7fELF",
    b"SQLite format 3\x00",
    b"II*\x00",
    b"MM\x00*",
    b"\x00\x00\x01\x00",
    b"\xca\xfe\xba\xbe",
)
# A text may begin with these words ("ID3 tags"); a file of the kind has control characters behind them.
_WORDS = (b"%PDF-", b"GIF8", b"BZh", b"RIFF", b"OggS", b"ID3", b"wOFF", b"wOF2", b"PAR1")
_BEHIND = 256
_SAMPLE = 1 << 16
# Controls that do not occur in text. Escape does, in logs; so does form feed.
_ODD_BYTES = bytes([*range(0x00, 0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])
_ODD_CHARACTERS = re.compile(
    "[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)
_MOST_ODD = 0.02  #: share of the characters above which something is not a text
_MOST_DAMAGE = 0.1  #: share of the non-ASCII sequences that may be broken in a file still taken for UTF-8


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and how it was read.

    `encoding` is a Python codec name. `warnings` says what was guessed or lost; it is empty when there was no doubt.
    The text is not cleaned: it may hold NUL and any line end.
    """

    text: str
    encoding: str
    detected: bool = False  #: guessed from the bytes alone
    warnings: tuple[str, ...] = ()


def looks_binary(data: bytes) -> bool:
    """Whether `data` is plainly not text: a known signature, or too many control bytes without a byte-order mark."""
    if _signed(data):
        return True
    if data.startswith(tuple(mark for mark, _ in _MARKS)) or _unmarked_utf16(data) is not None:
        return False
    sample = data[:_SAMPLE]
    odd = len(sample) - len(sample.translate(None, _ODD_BYTES))
    return odd > _MOST_ODD * len(sample)


def _signed(data: bytes) -> bool:
    if not data.startswith(_WORDS):
        return data.startswith(_SIGNATURES)
    behind = data[:_BEHIND]
    return data.startswith(b"%PDF-") or len(behind.translate(None, _ODD_BYTES)) < len(behind)


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """The text of `data`.

    A byte-order mark wins (longest mark first) and is not part of the text; then strict UTF-8; then `declared`, the
    encoding that the file names itself; then detection, which is recorded. A UTF-8 file in which at most one
    non-ASCII sequence in ten is broken stays UTF-8, with U+FFFD for what is broken and a warning.

    Raises UnsupportedFormatError for binary data and for bytes no encoding explains, LoadError when the bytes
    contradict their byte-order mark.
    """
    if _signed(data):
        raise UnsupportedFormatError("the file is binary, not text")
    marked = _by_mark(data)
    if marked is not None:
        return marked
    wide = _unmarked_utf16(data)
    if wide is not None:
        return wide
    if looks_binary(data):
        raise UnsupportedFormatError("the file is binary, not text")

    codec = _codec(declared)
    if codec is not None and codec.startswith(_SEVEN_BIT):
        stateful = _strict(data, codec)
        if stateful is not None:
            return Decoded(stateful, codec)
    text = _strict(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    if codec is not None:
        text = _strict(data, codec)
        if text is not None and not _odd(text):
            return Decoded(text, codec)
    damaged = _damaged_utf8(data)
    if damaged is not None:
        return damaged
    return _detect(data)


def decode_as(data: bytes, codec: str, *, detected: bool = False) -> Decoded:
    """The text of `data`, a part of a file that is in `codec`; what is broken becomes U+FFFD and is counted.

    `detected` says that the codec was guessed. Raises UnsupportedFormatError for a part that is not text.
    """
    doubts: tuple[str, ...] = (_guessed(codec),) if detected else ()
    text = _strict(data, codec)
    if text is None:
        text = data.decode(codec, "replace")
        broken = text.count("\ufffd")
        if broken > max(1, len(text) // 10):
            raise UnsupportedFormatError(f"the bytes are not text in {codec}, the encoding of the file")
        doubts += (_damage(broken, codec),)
    return _checked(Decoded(text, codec, detected, doubts))


def _by_mark(data: bytes) -> Decoded | None:
    contradicted = ""
    for mark, codec in _MARKS:
        if not data.startswith(mark):
            continue
        body = data[len(mark) :]
        text = _strict(body, codec)
        if text is not None:
            return _checked(Decoded(text, codec))
        loose = body.decode(codec, "replace")
        broken = loose.count("\ufffd") - body.count("\ufffd".encode(codec))
        if broken <= max(1, len(loose) // 100):
            return _checked(Decoded(loose, codec, warnings=(_damage(broken, codec),)))
        contradicted = contradicted or codec
    if contradicted:
        raise LoadError(f"the file is marked as {contradicted.upper()} but its bytes are not")
    return None


def _checked(decoded: Decoded) -> Decoded:
    # Two bytes are a weak signature: FF FE also begins some audio files.
    if _odd(decoded.text):
        raise UnsupportedFormatError("the file is binary, not text")
    return decoded


def _unmarked_utf16(data: bytes) -> Decoded | None:
    # Western text in UTF-16 has NUL in every second byte and nowhere else.
    sample = data[: _SAMPLE & ~1]
    if len(data) % 2 or len(sample) < 4:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.6 * half and even == 0:
        codec = "utf-16-le"
    elif even > 0.6 * half and odd == 0:
        codec = "utf-16-be"
    else:
        return None
    text = _strict(data, codec)
    if text is None or _odd(text):
        return None
    return Decoded(text, codec, True, (_guessed(codec),))


def _damaged_utf8(data: bytes) -> Decoded | None:
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    sound = sum(1 for c in text if c > "\x7f") - broken
    if broken > _MOST_DAMAGE * sound:
        return None
    return Decoded(text, "utf-8", warnings=(_damage(broken, "utf-8"),))


def _detect(data: bytes) -> Decoded:
    from charset_normalizer import from_bytes

    matches = from_bytes(_telling_words(data), cp_isolation=list(_GUESSES))
    best = matches.best()
    if best is None:
        raise UnsupportedFormatError("the file is not text in any known encoding")
    near = {
        name
        for match in matches
        if match.chaos <= best.chaos + 0.02 and match.coherence >= best.coherence - 0.1
        # Encodings under which the bytes read the same are reported once, under the first name tried.
        for name in match.could_be_from_charset
    }
    order = [codec for codec in _GUESSES if codec in near]
    for codec in order:
        text = _strict(data, codec)
        if text is not None and not _odd(text):
            return Decoded(text, codec, True, (_guessed(codec),))
    codec = order[0] if order else best.encoding
    text = data.decode(codec, "replace")
    broken = text.count("\ufffd")
    if _odd(text) or broken > max(1, len(text) // 100):
        raise UnsupportedFormatError("the file is not text in any known encoding")
    return Decoded(text, codec, True, (_guessed(codec), _damage(broken, codec)))


def _telling_words(data: bytes) -> bytes:
    # Detection looks at samples and averages, in which much ASCII hides the few bytes that tell encodings apart: take
    # the words that hold such bytes, each with its neighbours. No multi-byte encoding guessed here uses white space
    # as a trail byte, so words can be taken out whole.
    words = data.split()
    kept: list[bytes] = []
    size = last = 0
    for i, word in enumerate(words):
        if word.isascii():
            continue
        for near in words[max(last, i - 1) : i + 2]:
            kept.append(near[:_SAMPLE])
            size += len(kept[-1])
        last = i + 2
        if size >= _SAMPLE:
            break
    return b" ".join(kept)


def _codec(label: str | None) -> str | None:
    if not label:
        return None
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return None
    if name.startswith(("utf-16", "utf-32")):
        return None  # a declaration that could be read as ASCII is not in UTF-16
    return _LABELS.get(name, name) if _is_text_codec(name) else None


def _is_text_codec(name: str) -> bool:
    # "hex", "zlib" and "rot13" are codecs too; a document must not be able to ask for them.
    try:
        return isinstance(b"".decode(name), str)
    except (LookupError, ValueError, UnicodeError):
        return False


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _odd(text: str) -> bool:
    sample = text[:_SAMPLE]
    return len(_ODD_CHARACTERS.findall(sample)) > _MOST_ODD * len(sample)


def _guessed(codec: str) -> str:
    return f"encoding detected as {codec}: the file does not say"


def _damage(broken: int, codec: str) -> str:
    return f"{broken} byte sequence{'s' if broken != 1 else ''} could not be read as {codec}"
