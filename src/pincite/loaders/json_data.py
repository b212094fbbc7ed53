"""JSON: records with a text in them, or settings and the like, written as lines that can be read and searched.

Which is which, for files of one JSON value (.json) and of one on each line (.jsonl, .ndjson):

- Lines are records that have nothing to do with each other, as in a corpus: each is a document of its own.
- A list of records in a .json file is one work, as a statute is a list of sections: one document with a heading for
  each record.
- Anything else is one document of lines ``path: value``.

The field that is the text: the one named by the caller; or a field with a usual name (`TEXT_FIELDS`) whose texts are at
least a fifth as long as those of the longest field; or the longest, where it is 40 characters long on average. Only
fields that at least half of the records have are looked at, and texts may be lists of strings. The heading is made of
a number and a title (``103. Punishment for murder``), the fields with a usual name for them, or of either. A record
without the text field, and a file without one, is written as lines ``path: value``. Nothing is lost: in a document of
records the other fields are lines below the heading; of a document that is one record they are its metadata, and lines
where they are nested.

Numbers stay as they are written, so that 1.10 is not 1.1 and no digit of a long one is lost.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any, TypeAlias

from pincite.errors import LoadError, NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.parts import Names, skipped
from pincite.loaders.writer import TextWriter
from pincite.protocols import Source
from pincite.types import Document, FileOutcome, MetadataValue

__all__ = ["TEXT_FIELDS", "JsonLinesLoader", "JsonLoader"]

_Value: TypeAlias = Any  # what JSON holds
_Record: TypeAlias = "dict[str, _Value]"


def _names(listed: str) -> tuple[str, ...]:
    return tuple(listed.split())


TEXT_FIELDS = _names(
    "text content contents body full_text fulltext passage document section_desc section_text article_text "
    "description desc answer abstract summary message transcript"
)
"""Usual names of the field that holds the text, the likeliest first."""

_TITLES = _names("title section_title article_title heading headline section_name article_name name subject question")
_NUMBERS = _names("number no section section_no section_number article article_no article_number num clause rule")
_CHAPTERS = _names("chapter_title chapter_name part_title part_name chapter part")
_CHAPTER_NUMBERS = _names("chapter chapter_no chapter_number part part_no part_number")
_IDS = _names("_id id doc_id docid document_id record_id uid uuid key pid")
_USUAL = 0.2
_LONG = 40
_SAMPLE = 200  #: records looked at to find the fields of a stream
_LARGEST_LINE = 64 << 20
_LARGEST_OUTPUT = 6  #: times the size of the file; long paths repeated at every leaf are no text for a reader
_INTEGER = re.compile(r"-?\d{1,18}")
_FLOAT = re.compile(r"-?\d{1,17}\.\d{1,17}")
_NUMBERED = re.compile(r"[\w.()-]{1,12}")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Duplicates:
    """Counts names that stand twice in an object; the later one gets a number, so that neither is lost."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, pairs: list[tuple[str, _Value]]) -> _Record:
        record = dict(pairs)
        if len(record) == len(pairs):
            return record
        record, seen = {}, Counter[str]()
        for name, value in pairs:
            seen[name] += 1
            self.count += seen[name] > 1
            record[name if seen[name] == 1 else f"{name} ({seen[name]})"] = value
        return record

    def warnings(self) -> tuple[str, ...]:
        """What to say of it."""
        return (f"{self.count} names stand twice in an object: both are kept",) if self.count else ()


def _parse(text: str, duplicates: _Duplicates) -> _Value:
    """Raises ValueError for what is not JSON, RecursionError for what nests too deeply."""
    return json.loads(
        text, object_pairs_hook=duplicates, parse_int=_Number, parse_float=_Number, parse_constant=_Number
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """What the fields of records are for; "" where there is none for it."""

    text: str = ""
    title: str = ""
    number: str = ""
    chapter: str = ""
    chapter_number: str = ""
    id: str = ""


class JsonLoader:
    """Reads a file of one JSON value as one document: records with a heading each, or lines ``path: value``.

    The module says how the fields are chosen; `text_field` names the one that is the text. What is not valid JSON is
    read as the records on its lines if it has such, or else as it stands, with a warning. The title is the value's own
    ``title`` or ``name``, or the file's name.
    """

    name = "json"
    suffixes = frozenset({".json", ".geojson"})

    def __init__(self, text_field: str | None = None) -> None:
        self._text_field = text_field

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises UnsupportedFormatError for binary data, NoTextError for a file without a value.
        """
        decoded = decode(source.data)
        cleaned = clean(decoded.text)
        if not cleaned.text.strip():
            raise NoTextError("the file is empty" if not source.data else "the file holds no visible text")
        duplicates = _Duplicates()
        doubt = ""
        try:
            value = _parse(cleaned.text, duplicates)
        except ValueError as error:
            value = _lines_of(cleaned.text, duplicates)
            if value is None:
                doubt = f"the file is not valid JSON and is read as it stands: {collapse(str(error))}"
        except RecursionError:
            value, doubt = None, "the file nests too deeply to be read as JSON and is read as it stands"
        writer = TextWriter()
        title = ""
        if not doubt:
            title = self._write(writer, value)
            if writer.length > _LARGEST_OUTPUT * len(cleaned.text) + 10_000:
                doubt = (
                    "the names in the file are repeated too often to write them at every value: it is read as it stands"
                )
        if doubt:
            writer = TextWriter()
            writer.write(cleaned.text)
        text = writer.text
        if not text.strip():
            raise NoTextError("the file holds no text")
        metadata: dict[str, MetadataValue] = {"encoding": decoded.encoding} if decoded.detected else {}
        return Document(
            id=document_id(source.uri),
            text=text,
            title=title or stem_title(source.name),
            uri=source.uri,
            media_type="application/json",
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=tuple(writer.headings),
            warnings=(
                *decoded.warnings,
                *loss_warnings(cleaned.controls, cleaned.invisible),
                *writer.losses(),
                *duplicates.warnings(),
                *((doubt,) if doubt else ()),
            ),
        )

    def _write(self, writer: TextWriter, value: _Value) -> str:
        """Write `value`, and say what it is called."""
        title = ""
        records = _records(value)
        if isinstance(value, dict):
            title = next((collapse(_shown(value[name])) for name in ("title", "name") if _scalar(value.get(name))), "")
        if records is not None:
            around, listed = records
            fields = _choose(listed, self._text_field)
            if fields.text:
                for line in _path_lines(around):
                    writer.write(line, close=True)
                _write_records(writer, listed, fields)
                return clean(title).text
        for line in _path_lines(value):
            writer.write(line, close=True)
            if writer.length > _LARGEST_OUTPUT << 28:
                break
        return clean(title).text


class JsonLinesLoader:
    """Reads a file with a JSON value on each line: every record is a document.

    The address is ``FILE#ID`` with the record's own id, or ``FILE#line-N``. The text field is the document's text, the
    title its title, the other plain fields its metadata; what is nested stands as lines ``path: value`` below the text.
    A broken line is skipped. The file is read as a stream. `text_field` names the field that is the text; else the
    first 200 records show it, see the module.
    """

    name = "json-lines"
    suffixes = frozenset({".jsonl", ".ndjson", ".jsonlines"})

    def __init__(self, text_field: str | None = None) -> None:
        self._text_field = text_field

    def load_all(self, source: Source) -> Iterator[Document | FileOutcome]:
        """The records in the order of the lines.

        Raises UnsupportedFormatError for binary data, NoTextError for a file without a value, LoadError where no
        line is JSON.
        """
        names = Names(source.uri)
        with _open(source) as file:
            lines = _lines(file)
            first = list(islice(lines, _SAMPLE))
            if not first:
                raise NoTextError("the file is empty")
            values = [self._value(line) for _, line in first]
            sound = [value for value, _, doubt in values if not doubt]
            if not sound:
                raise LoadError(f"the file is not JSON lines: {values[0][2]}")
            fields = _choose([value for value in sound if isinstance(value, dict)], self._text_field)
            for number, line in chain(first, lines):
                value, warnings, doubt = self._value(line)
                if doubt:
                    yield skipped(names.address(f"line-{number}"), LoadError(doubt))
                    continue
                name = f"line-{number}"
                if isinstance(value, dict) and fields.id and _scalar(value.get(fields.id)):
                    name = collapse(clean(_shown(value[fields.id])).text)[:500] or name
                uri = names.address(name)
                try:
                    yield _document(uri, name, value, fields, line, warnings)
                except LoadError as error:
                    yield skipped(uri, error)

    @staticmethod
    def _value(line: bytes) -> tuple[_Value, tuple[str, ...], str]:
        """The value on a line, warnings, and why there is none."""
        duplicates = _Duplicates()
        if len(line) > _LARGEST_LINE:
            return None, (), f"the line is longer than {_LARGEST_LINE >> 20} MB"
        try:
            decoded = decode(line)
            return _parse(decoded.text, duplicates), (*decoded.warnings, *duplicates.warnings()), ""
        except RecursionError:
            return None, (), "the line nests too deeply"
        except ValueError as error:
            return None, (), f"the line is not JSON: {collapse(str(error))}"


def _open(source: Source) -> IO[bytes]:
    file: IO[bytes] = source.path.open("rb") if source.path is not None else io.BytesIO(source.data)
    mark = file.read(4)
    file.seek(0)
    if mark.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or mark[1:2] == b"\x00":
        # In wide encodings a line does not end with the byte of a line end.
        with file:
            return io.BytesIO(decode(file.read()).text.encode("utf-8", "surrogatepass"))
    return file


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of every line that is not blank; one that is too long is cut above the limit."""
    number, line = 0, b""
    while part := file.readline(_LARGEST_LINE + 1):
        number += 1
        line = part
        while not part.endswith(b"\n") and (part := file.readline(_LARGEST_LINE)):
            pass
        if line.strip(b"\xef\xbb\xbf \t\r\n\x1e"):
            # The record separator of RFC 7464 stands before a value, not in it.
            yield number, line.strip(b" \t\r\n\x1e")


def _document(uri: str, name: str, value: _Value, fields: _Fields, line: bytes, warnings: tuple[str, ...]) -> Document:
    record: _Record = value if isinstance(value, dict) else {}
    texts = _texts(record.get(fields.text)) if fields.text else ""
    title = _shown(record[fields.title]) if fields.title and _scalar(record.get(fields.title)) else ""
    metadata: dict[str, MetadataValue] = {}
    writer = TextWriter()
    rest: _Value = value
    if texts.strip():
        writer.write(texts.strip("\n"))
        rest = {}
        for key, item in record.items():
            if key in (fields.text, fields.title):
                continue
            plain = _plain(item)
            if plain is not None:
                metadata[collapse(clean(key).text)[:200]] = plain
            else:
                rest[key] = item
    for i, text in enumerate(_path_lines(rest)):
        writer.write(text, close=i > 0)
        if writer.length > _LARGEST_OUTPUT * len(line) + 10_000:
            raise LoadError("the record repeats its names too often to be written")
    text = writer.text
    if not text.strip():
        raise NoTextError("the record holds no text")
    return Document(
        id=document_id(uri),
        text=text,
        title=collapse(clean(title).text) or name,
        uri=uri,
        media_type="application/json",
        content_hash=content_hash(line),
        metadata={key: item for key, item in metadata.items() if key and item != ""},
        warnings=(*warnings, *writer.losses()),
    )


def _lines_of(text: str, duplicates: _Duplicates) -> list[_Value] | None:
    """The values on the lines of `text`, where there are several and each is an object."""
    values: list[_Value] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            value = _parse(line, duplicates)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        values.append(value)
    return values if len(values) > 1 else None


def _records(value: _Value) -> tuple[_Record, list[_Record]] | None:
    """The list of records that `value` is, or that is the one list in it, and what stands around that."""
    around: _Record = {}
    if isinstance(value, dict):
        lists = [key for key, item in value.items() if isinstance(item, list) and len(item) > 1]
        if len(lists) != 1:
            return None
        around = {key: item for key, item in value.items() if key != lists[0]}
        value = value[lists[0]]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return around, value
    return None


def _choose(records: Sequence[_Record], text_field: str | None) -> _Fields:
    """What the fields of `records` are for."""
    filled: Counter[str] = Counter()
    length: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for record in records:
        for key, item in record.items():
            text = _texts(item)
            if text:
                filled[key] += 1
                length[key] += len(text)
            plain[key] += _scalar(item) and len(_shown(item)) <= 300
    usual = {key for key, count in plain.items() if 2 * count >= len(records)}
    mean = {key: length[key] / filled[key] for key, count in filled.items() if 2 * count >= len(records)}
    longest = max(mean, key=lambda key: mean[key], default="")
    text = text_field or ""
    if not text and longest:
        named = (each for name in TEXT_FIELDS for each in _called(mean, name) if mean[each] >= _USUAL * mean[longest])
        text = next(named, longest if mean[longest] >= _LONG else "")
        if text not in mean or (mean[text] < _LONG and text.lower() not in TEXT_FIELDS[:6]):
            text = ""
    usual.discard(text)

    def field(names: tuple[str, ...]) -> str:
        return next((each for name in names for each in _called(usual, name)), "")

    chapter = field(_CHAPTERS)
    return _Fields(text, field(_TITLES), field(_NUMBERS), chapter, field(_CHAPTER_NUMBERS), field(_IDS))


def _called(keys: dict[str, float] | set[str], name: str) -> Iterator[str]:
    squeezed = name.replace("_", "")
    return (key for key in keys if re.sub(r"[\s_-]", "", key).lower() == squeezed)


def _write_records(writer: TextWriter, records: Sequence[_Record], fields: _Fields) -> None:
    chapter = ""
    for record in records:
        now = _heading(record, fields.chapter_number, fields.chapter)
        if now and now != chapter:
            word = "Part" if fields.chapter_number.lower().startswith("part") else "Chapter"
            writer.write(f"{word} {now}" if _NUMBERED.fullmatch(now.split(" ")[0]) else now, level=1)
            chapter = now
        heading = _heading(record, fields.number, fields.title) or _heading(record, "", fields.id)
        writer.write(heading, level=2 if fields.chapter else 1)
        told = {fields.text}
        if heading:
            told |= {fields.number, fields.title} if heading != _heading(record, "", fields.id) else {fields.id}
        if now:
            told |= {fields.chapter, fields.chapter_number}
        rest = {key: item for key, item in record.items() if key not in told}
        text = _texts(record.get(fields.text))
        if text:
            for i, line in enumerate(_path_lines(rest)):
                writer.write(line, close=i > 0)
            writer.write(text.strip("\n"))
        else:
            for i, line in enumerate(_path_lines({**rest, fields.text: record.get(fields.text)})):
                writer.write(line, close=i > 0)


def _heading(record: _Record, number: str, title: str) -> str:
    """``103. Punishment for murder``, or either of the two."""
    values = [collapse(_shown(record[key])) if _scalar(record.get(key)) else "" for key in (number, title)]
    if not all(values) or number == title or values[1].startswith(values[0]) or len(values[0]) > 12:
        return values[1] or values[0]
    return f"{values[0].rstrip('.')}. {values[1]}"


def _texts(value: _Value) -> str:
    """The text that a field holds: a string, or strings in a list, each on a line."""
    if isinstance(value, str) and not isinstance(value, _Number):
        return value
    if isinstance(value, list) and value and all(type(item) is str for item in value):
        return "\n".join(value)
    return ""


def _scalar(value: _Value) -> bool:
    return value is not None and value != "" and isinstance(value, (str, bool))


def _shown(value: _Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _plain(value: _Value) -> MetadataValue | None:
    """`value` as metadata: "" for nothing, None for what is nested."""
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, list):
        if all(isinstance(item, (str, bool)) for item in value):
            return ", ".join(collapse(clean(_shown(item)).text) for item in value)
        return None
    if isinstance(value, dict):
        return None
    if isinstance(value, _Number):
        return int(value) if _INTEGER.fullmatch(value) else float(value) if _FLOAT.fullmatch(value) else str(value)
    return value if isinstance(value, bool) else collapse(clean(str(value)).text)


def _path_lines(value: _Value) -> Iterator[str]:
    """Every plain value in `value` with the path to it; a list of plain values is one line. Without recursion."""
    waiting: list[tuple[str, _Value]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            waiting += [(f"{path}.{key}" if path else key, item[key]) for key in reversed(item)]
        elif isinstance(item, list) and any(isinstance(each, (dict, list)) for each in item):
            waiting += [(f"{path}[{i}]", each) for i, each in reversed(list(enumerate(item)))]
        elif isinstance(item, list):
            if item:
                yield _line(path, ", ".join(map(_shown, item)))
        elif item is not None and item != "":
            yield _line(path, _shown(item))


def _line(path: str, shown: str) -> str:
    return f"{path}: {shown}" if path else shown
