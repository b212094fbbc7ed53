"""Texts too long for one document: a log of half a gigabyte is read as a sequence of parts, from the disk.

A part ends at the last end of a paragraph in the second half of what it may hold; where there is none, at the last end
of a line, of a sentence, at the last space, or between two characters as a reader sees them. Where a part ends depends
on nothing behind it: a log that grows keeps all of them but the last.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import IO

import regex

from pincite.errors import LoadError, NoTextError
from pincite.loaders.decode import decode, decode_as
from pincite.loaders.ids import content_hash
from pincite.protocols import Loader, Source
from pincite.types import Document, FileOutcome

__all__ = ["LIMIT", "PART", "LongTextLoader"]

#: Bytes above which a file is read in parts, and bytes of a part.
LIMIT, PART = 16_000_000, 4_000_000

_SAMPLE = 1 << 16
_PARAGRAPHS = ("\n\n", "\r\n\r\n", "\n", "\r")
_SENTENCES = (". ", "。", " ")
# What a part must not be cut off from: the longest cluster of code points that is looked for, in code points.
_CLUSTER = 64


class LongTextLoader:
    """Reads a file with `inner`, and one above `limit` bytes in parts of about `part` bytes, each with `inner`.

    The parts have the addresses ``FILE#part-0001`` and so on, the title of the first with the number of the part, and
    the metadata `part` (the number) and `from_byte` (the offset in the file at which it begins). The encoding is that
    of the first part, by the rules of `pincite.loaders.decode`; a later part that is not in it is read with damage
    repaired and counted, or in the encoding that it is in where the first were plain ASCII or UTF-8. A later part
    that is no text is an outcome ``skipped``. Headings of a part are not carried into the next, which a warning says.

    Of a file with a path not more than a part is in memory.
    """

    def __init__(self, inner: Loader, *, limit: int = LIMIT, part: int = PART) -> None:
        self._inner = inner
        self._limit = limit
        self._part = part
        self.name = inner.name
        self.suffixes = inner.suffixes

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The document, or the parts, of `source`; errors as of `inner`, when the first part has them."""
        if source.size <= self._limit:
            yield self._inner.load(source)
            return
        with _open(source) as stream:
            yield from self._parts(source, stream)

    def _parts(self, source: Source, stream: IO[bytes]) -> Iterator[Document | FileOutcome]:
        codec = _codec(stream.read(min(_SAMPLE, self._part)))
        stream.seek(0)
        detected = False
        title = ""
        headings = False
        for number, (offset, data) in enumerate(_pieces(stream, source.size, self._part, codec), 1):
            uri = f"{source.uri}#part-{number:04d}"
            try:
                if number == 1:
                    codec, detected = _encoding(data)
                document = self._read(Source(uri, source.name, data), codec, detected)
            except NoTextError:
                continue  # nothing is lost with it
            except LoadError as error:
                if number == 1:
                    raise
                yield FileOutcome(uri, "skipped", reason=error.reason, detail=str(error))
                continue
            title = title or document.title
            warnings = document.warnings
            if headings:
                warnings += ("a part of a long text: the headings of the parts before it do not reach into it",)
            headings = headings or bool(document.headings)
            yield replace(
                document,
                title=f"{title} (part {number})",
                content_hash=content_hash(data),
                metadata={**document.metadata, "part": number, "from_byte": offset},
                warnings=warnings,
            )
            del document, data
        if not title:
            raise NoTextError("the file holds no visible text")

    def _read(self, piece: Source, codec: str, detected: bool) -> Document:
        if codec == "utf-8":
            return self._inner.load(_without_front_matter(piece))
        decoded = decode_as(piece.data, codec, detected=detected)
        text = decoded.text.removeprefix("\ufeff").encode("utf-8", "replace")
        document = self._inner.load(_without_front_matter(Source(piece.uri, piece.name, text)))
        metadata = {**document.metadata, "encoding": codec} if detected else document.metadata
        return replace(document, metadata=metadata, warnings=decoded.warnings + document.warnings)


def _without_front_matter(piece: Source) -> Source:
    # Two rules are front matter at the head of a file alone, not where a part happens to begin.
    if piece.data.startswith(b"---") and not piece.uri.endswith("#part-0001"):
        return Source(piece.uri, piece.name, b"\n" + piece.data)
    return piece


def _open(source: Source) -> IO[bytes]:
    return BytesIO(source.data) if source.path is None else source.path.open("rb")


def _codec(sample: bytes) -> str:
    """The encoding where its units are wider than a byte, and UTF-8 for all others, whose white space is the same."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)) or b"\x00" in sample:
        return decode(sample[: len(sample) & ~3]).encoding
    return "utf-8"


def _encoding(data: bytes) -> tuple[str, bool]:
    decoded = decode(data)
    return decoded.encoding, decoded.detected


def _pieces(stream: IO[bytes], size: int, part: int, codec: str) -> Iterator[tuple[int, bytes]]:
    """The first `size` bytes of `stream` in pieces of at most `part` (the last: a quarter more), with their offsets."""
    offset = read = 0
    buffer = b""
    most = part + part // 4
    while True:
        buffer += stream.read(min(most - len(buffer), size - read))
        read = offset + len(buffer)
        if len(buffer) < most or read == size:
            break  # the end, which comes too early in a file that was cut off meanwhile
        cut = _cut(buffer, part, codec)
        piece, buffer = buffer[:cut], buffer[cut:]
        yield offset, piece
        offset += cut
        del piece
    if buffer:
        yield offset, buffer


def _cut(buffer: bytes, size: int, codec: str) -> int:
    """Where a piece of `buffer` of at most `size` bytes ends; `buffer` is longer than that."""
    unit = {"utf-16": 2, "utf-32": 4}.get(codec[:6], 1)
    size -= size % unit
    if buffer[size - unit : size + unit] == "\r\n".encode(codec):
        size -= unit
    for marks in (_PARAGRAPHS[:2], _PARAGRAPHS[2:3], _PARAGRAPHS[3:], _SENTENCES[:2], _SENTENCES[2:]):
        ends = [_end(buffer, mark.encode(codec), size, unit) for mark in marks if mark.isascii() or codec[:3] == "utf"]
        if max(ends) > size // 2:
            return max(ends)
    return _character(buffer[:size], codec)


def _end(buffer: bytes, mark: bytes, size: int, unit: int) -> int:
    """Behind the last `mark` that begins at a whole unit and ends at or before `size`; 0 where there is none."""
    at = buffer.rfind(mark, size // 2, size)
    while at >= 0 and at % unit:
        at = buffer.rfind(mark, size // 2, at + len(mark) - 1)
    return at + len(mark) if at >= 0 else 0


def _character(window: bytes, codec: str) -> int:
    """The end of the last whole character of `window` that what follows cannot be part of."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    text = decoder.decode(window)
    cut = len(window) - len(decoder.getstate()[0])
    clusters = regex.findall(r"\X", text[-_CLUSTER:])
    last = clusters[-1].encode(codec, "replace") if len(clusters) > 1 else b""
    return cut - len(last) if last and window[:cut].endswith(last) else cut
