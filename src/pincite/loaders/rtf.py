"""Rich Text (.rtf): body text in order, with headings, tables and notes, read in one pass over the control words."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from pincite.errors import LoadError, NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.hidden import Hidden
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue

__all__ = ["RtfLoader"]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,64})(?P<number>-?[0-9]{1,10})? ?"
    rb"|\\'(?P<byte>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|(?P<rest>[\r\n]+|.)",
    re.DOTALL,
)
# Groups whose inside is no text of the document.
_SILENT = _names(
    "fonttbl colortbl stylesheet listtable listoverridetable revtbl rsidtbl generator info pict objdata themedata "
    "datastore latentstyles colorschememapping xmlnstbl fldinst header headerl headerr headerf footer footerl footerr "
    "footerf ftnsep ftnsepc aftnsep aftnsepc annotation atnid atnauthor atnref atrfstart atrfend atndate bkmkstart "
    "bkmkend xe tc tcn template filetbl mmathPr wgrffmtfilter blipuid nonesttables shprslt sp sn sv nonshppict "
    "pgdsctbl listpicture panose falt fontemb passwordhash userprops"
)
# What is marked as unknown to old programs ({\* …}) and is text all the same.
_STARRED_TEXT = frozenset({"nesttableprops", "shpinst", "shptxt"})
_SIGNS = {
    "par": "\n",
    "sect": "\n",
    "page": "\n",
    "line": "\x0b",
    "lbr": "\x0b",
    "column": "\x0b",
    "softline": "\x0b",
    "tab": "\t",
    "emdash": "\u2014",
    "endash": "\u2013",
    "emspace": "\u2003",
    "enspace": "\u2002",
    "qmspace": " ",
    "bullet": "\u2022",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "zwj": "\u200d",
    "zwnj": "\u200c",
}
_CODE_PAGES = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
# Character sets of fonts, by their number in Windows.
_CHARSETS = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
_HEADING_NAME = re.compile(r"(?:heading|berschrift|titre|t\u00edtulo|\u6807\u9898)\s*([1-9])", re.IGNORECASE)
_INFO = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords", "company": "company"}
_MOST_DEPTH = 10_000


@dataclass(slots=True)
class _State:
    """What holds in a group and ends with it."""

    place: str = "body"  #: body, silent, fonts, styles, info (or a field of it), note
    hidden: bool = False
    deleted: bool = False
    skip: int = 1  #: characters after a \u that only old programs read
    font: int = -1
    style: int = 0
    outline: int = 9  #: of the paragraph, from 0; 9 is body text
    in_table: bool = False


@dataclass(slots=True)
class _Style:
    name: str = ""
    outline: int = 9


@dataclass(slots=True)
class _Line:
    """A paragraph that is being read."""

    pieces: list[str] = field(default_factory=list)
    raw: bytearray = field(default_factory=bytearray)  # bytes whose code page is known when they end
    cells: list[str] = field(default_factory=list)


class RtfLoader:
    r"""Reads the body of a Rich Text file in reading order.

    Paragraphs are set off by a blank line; a row of a table is one line, its cells joined by " | ". Notes follow the
    body, each behind the mark "[^1]" that stands where it is referred to. Headers, footers, comments, pictures and what
    tracked changes took away are left out; hidden text (``\v``) is left out and told in a warning. Bytes are read in
    the code page of their font.

    Headings come from the outline level of a paragraph or its style, or the style's name ("heading 1"). The title is
    the document's own property, or the first heading, or the file's name. Metadata: author, subject, keywords,
    company, date (of creation).
    """

    name = "rtf"
    suffixes = frozenset({".rtf"})

    def load(self, source: Source) -> Document:
        r"""The text of `source`.

        Raises LoadError for what is not Rich Text, NoTextError for a file without text.
        """
        data = source.data
        if not data.lstrip(b"\xef\xbb\xbf \t\r\n\x00").startswith(b"{\\rt"):
            raise LoadError("the file is not Rich Text")
        reader = _Reader(data)
        reader.read()
        text = "".join(reader.parts)
        if not text.strip():
            raise NoTextError("the Rich Text file holds no text")
        title = str(reader.info.pop("title", ""))
        warnings = loss_warnings(reader.controls, reader.invisible)
        warnings += reader.hidden.warnings()
        if reader.lost:
            warnings += (f"{reader.lost} bytes are no characters of their code page",)
        if reader.unclosed:
            warnings += ("the file ends too early",)
        return Document(
            id=document_id(source.uri),
            text=text,
            title=title or (reader.headings[0].text if reader.headings else stem_title(source.name)),
            uri=source.uri,
            media_type="application/rtf",
            content_hash=content_hash(data),
            metadata=reader.info,
            headings=tuple(reader.headings),
            warnings=warnings,
        )


class _Reader:
    """Goes over the tokens and writes paragraphs."""

    def __init__(self, data: bytes) -> None:
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self.info: dict[str, MetadataValue] = {}
        self.controls = self.invisible = self.lost = 0
        self.hidden = Hidden()
        self.unclosed = False
        self._data = data
        self._length = 0
        self._state = _State()
        self._stack: list[_State] = []
        self._codec = "cp1252"
        self._fonts: dict[int, str] = {}
        self._default_font = -1
        self._styles: dict[int, _Style] = {}
        self._line = _Line()
        self._notes: list[_Line] = []
        self._open_notes: list[tuple[int, _Line]] = []  # depth at which a note began, and the line around it
        self._skipped = 0  # characters that follow a \u and are not read
        self._starred = False
        self._was_row = False
        self._high = ""  # the first half of a character beyond U+FFFF
        self._field: list[str] = []
        self._time: dict[str, int] = {}

    def read(self) -> None:
        """Read all of it."""
        position = 0
        while (match := _TOKEN.match(self._data, position)) is not None:
            position = match.end()
            kind = match.lastgroup
            if kind == "text":
                self._bytes(match["text"])
            elif kind == "byte":
                self._bytes(bytes.fromhex(match["byte"].decode("ascii")))
            elif kind == "brace":
                if match["brace"] == b"{":
                    self._open()
                else:
                    self._close()
            elif kind == "sign":
                self._sign(match["sign"])
            elif match["word"] is not None:
                word = match["word"].decode("ascii")
                number = int(match["number"]) if match["number"] else None
                if word == "bin":
                    position += max(0, number or 0)
                else:
                    self._word(word, number)
        self.unclosed = bool(self._stack)
        while self._open_notes:
            self._end_note()
        self._paragraph()
        for i, note in enumerate(self._notes, 1):
            body = collapse(self._cleaned("".join(note.pieces)))
            if body:
                self._write(f"[^{i}]: {body}", row=False)

    def _open(self) -> None:
        self._flush()
        if len(self._stack) > _MOST_DEPTH:
            raise LoadError("the file nests its groups too deeply to be read")
        self._stack.append(self._state)
        self._state = replace(self._state)
        self._starred = False
        self._skipped = 0

    def _close(self) -> None:
        self._flush()
        if not self._stack:
            return
        place = self._state.place
        if place.startswith("info:") and self._stack[-1].place == "info":
            self._end_field(place.removeprefix("info:"))
        self._state = self._stack.pop()
        if self._open_notes and len(self._stack) < self._open_notes[-1][0]:
            self._end_note()
        self._starred = False
        self._skipped = 0

    def _end_note(self) -> None:
        self._flush()
        _, self._line = self._open_notes.pop()

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._starred = True
        elif sign in (b"\n", b"\r"):
            self._put("\n")
        elif sign in (b"\\", b"{", b"}"):
            self._bytes(sign)
        elif sign == b"~":
            self._put("\u00a0")
        elif sign == b"_":
            self._put("\u2011")

    def _word(self, word: str, number: int | None) -> None:
        starred, self._starred = self._starred, False
        state = self._state
        if word == "u" and number is not None:
            self._unicode(number)
        elif word == "uc":
            state.skip = min(max(0, number if number is not None else 1), 100)
        elif word in _CODE_PAGES:
            self._codec = _CODE_PAGES[word]
        elif word == "ansicpg":
            self._codec = _known(f"cp{number}") or self._codec
        elif word == "deff":
            self._default_font = number or 0
        elif state.place == "fonts":
            self._font_word(word, number)
        elif state.place == "styles":
            self._style_word(word, number)
        elif state.place.startswith("info"):
            self._info_word(word, number)
        elif word in ("fonttbl", "stylesheet", "info"):
            state.place = {"fonttbl": "fonts", "stylesheet": "styles", "info": "info"}[word]
        elif word in _SILENT or (starred and word not in _STARRED_TEXT):
            self._flush()
            state.place = "silent"
        elif state.place == "body":
            self._body_word(word, number)

    def _body_word(self, word: str, number: int | None) -> None:
        state = self._state
        if word in _SIGNS:
            self._put(_SIGNS[word])
        elif word == "footnote":
            self._flush()
            note = _Line()
            self._notes.append(note)
            self._line.pieces.append(f"[^{len(self._notes)}]")
            self._open_notes.append((len(self._stack), self._line))
            self._line = note
        elif word in ("chftn", "chatn"):
            pass  # the mark of the note, which stands there already
        elif word in ("cell", "nestcell"):
            self._cell()
        elif word in ("row", "nestrow"):
            self._row()
        elif word == "v":
            self._flush()
            state.hidden = number != 0
        elif word == "deleted":
            self._flush()
            state.deleted = number != 0
        elif word == "plain":
            self._flush()
            state.hidden = state.deleted = False
            state.font = self._default_font
        elif word == "f":
            self._flush()
            state.font = number or 0
        elif word == "pard":
            state.style, state.outline, state.in_table = 0, 9, False
        elif word == "intbl":
            state.in_table = True
        elif word == "s":
            state.style = number or 0
        elif word == "outlinelevel":
            state.outline = number if number is not None else 9

    def _font_word(self, word: str, number: int | None) -> None:
        if word == "f":
            self._state.font = number or 0
        elif word == "fcharset" and number in _CHARSETS:
            # Zero means the code page of the file as often as Western.
            self._fonts[self._state.font] = _CHARSETS[number] if number else ""
        elif word == "cpg":
            self._fonts[self._state.font] = _known(f"cp{number}")

    def _style_word(self, word: str, number: int | None) -> None:
        if word in ("s", "cs", "ds", "ts"):
            self._state.style = (number or 0) if word == "s" else -1
        elif word == "outlinelevel":
            self._styles.setdefault(self._state.style, _Style()).outline = number if number is not None else 9

    def _info_word(self, word: str, number: int | None) -> None:
        if word in _INFO or word == "creatim":
            self._flush()
            self._state.place = f"info:{word}"
            self._field, self._time = [], {}
        elif word in ("yr", "mo", "dy") and number is not None:
            self._time[word] = number
        elif self._state.place == "info":
            self._state.place = "info"

    def _end_field(self, word: str) -> None:
        if word == "creatim":
            year, month, day = (self._time.get(key, 0) for key in ("yr", "mo", "dy"))
            if year > 0 and 1 <= month <= 12 and 1 <= day <= 31:
                self.info["date"] = f"{year:04}-{month:02}-{day:02}"
        else:
            value = collapse(clean("".join(self._field)).text)
            if value:
                self.info[_INFO[word]] = value
        self._field = []

    def _unicode(self, number: int) -> None:
        self._flush()
        code = number & 0xFFFF if number < 0 else number
        self._skipped = self._state.skip
        if 0xD800 <= code <= 0xDBFF:
            self._high = chr(code)
            return
        if 0xDC00 <= code <= 0xDFFF and self._high:
            pair = self._high + chr(code)
            self._high = ""
            self._put(pair.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), escaped=True)
            return
        self._high = ""
        # Symbol fonts stand in the private area, where only the font says what a sign is.
        if code <= 0x10FFFF and not 0xF000 <= code <= 0xF0FF:
            self._put(chr(code), escaped=True)

    def _bytes(self, data: bytes) -> None:
        if self._skipped:
            taken = min(self._skipped, len(data))
            self._skipped -= taken
            data = data[taken:]
        if data and self._state.place != "silent":
            self._line.raw += data

    def _put(self, text: str, *, escaped: bool = False) -> None:
        if self._skipped and not escaped:
            self._skipped -= 1
            return
        self._flush()
        self._take(text)

    def _flush(self) -> None:
        """Turn the bytes that were collected into text, while the font that they are in still holds."""
        raw = self._line.raw
        if not raw:
            return
        font = self._state.font if self._state.font >= 0 else self._default_font
        codec = self._fonts.get(font) or self._codec
        text = raw.decode(codec, "replace")
        if self._state.place == "body":
            self.lost += text.count("\ufffd")
        raw.clear()
        self._take(text)

    def _take(self, text: str) -> None:
        state = self._state
        if state.place == "styles":
            if state.style >= 0:
                style = self._styles.setdefault(state.style, _Style())
                style.name += text.rstrip(";")
        elif state.place.startswith("info:"):
            self._field.append(text)
        elif state.place == "body":
            if state.hidden or state.deleted:
                if state.hidden:
                    self.hidden.note("marked as hidden", text)
                if text != "\n":
                    return
            elif text.strip():
                self.hidden.shown()
            if text == "\n" and not self._open_notes and not state.in_table:
                self._paragraph()
            else:
                self._line.pieces.append(" " if text == "\n" and state.in_table else text)

    def _cleaned(self, text: str) -> str:
        cleaned = clean(text)
        self.controls += cleaned.controls
        self.invisible += cleaned.invisible
        return cleaned.text

    def _cell(self) -> None:
        self._flush()
        if self._state.place == "body" and not self._open_notes:
            self._line.cells.append(collapse(self._cleaned("".join(self._line.pieces))))
            self._line.pieces.clear()

    def _row(self) -> None:
        self._flush()
        cells, self._line.cells = self._line.cells, []
        if any(cells) and not self._open_notes:
            if len(cells) == 1:
                self._write(cells[0], row=False)
            else:
                self._write(" | ".join(cells).strip(), row=True)

    def _paragraph(self) -> None:
        self._flush()
        if self._line.cells:
            self._row()
        lines = [line.rstrip() for line in self._cleaned("".join(self._line.pieces)).split("\n")]
        self._line.pieces.clear()
        text = "\n".join(lines).strip()
        if text:
            self._write(text, row=False, level=self._level())

    def _level(self) -> int:
        """The heading level of the paragraph that ends, from 1; 0 for body text."""
        if self._state.outline < 9:
            return max(0, self._state.outline) + 1
        style = self._styles.get(self._state.style)
        if style is None or not self._state.style:
            return 0
        if style.outline < 9:
            return max(0, style.outline) + 1
        named = _HEADING_NAME.search(style.name)
        return int(named[1]) if named else 1 if style.name.strip().lower() == "title" else 0

    def _write(self, text: str, *, row: bool, level: int = 0) -> None:
        lead = ("\n" if row and self._was_row else "\n\n") if self.parts else ""
        start = self._length + len(lead)
        self.parts.append(lead + text)
        self._length = start + len(text)
        self._was_row = row
        if level:
            self.headings.append(Heading(level, collapse(text), start, self._length))


def _known(codec: str) -> str:
    codec = {"cp65001": "utf-8", "cp10000": "mac_roman", "cp0": "cp1252"}.get(codec, codec)
    try:
        codecs.lookup(codec)
        b"".decode(codec)
    except (LookupError, ValueError):
        return ""
    return codec
