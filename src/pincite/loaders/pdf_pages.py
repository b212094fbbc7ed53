"""What PDFium says of a file, before any of it is interpreted: characters with boxes and fonts, outline, properties."""

from __future__ import annotations

import ctypes
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pincite.errors import EncryptedError, LoadError
from pincite.loaders.clean import clean, collapse
from pincite.loaders.pdf_hidden import Doubt, confirmed, doubt_about, without

__all__ = ["INFO", "MARK", "Bookmark", "RawFile", "RawPage", "Style", "picture", "read_file"]

#: A hyphen at the end of a line, wherever it came from. PDFium puts U+FFFE or U+0002 for one and runs the lines
#: together; files that name the character themselves have a soft hyphen.
MARK = "\ufffe"

INFO = {"Author": "author", "Subject": "subject", "Keywords": "keywords", "CreationDate": "created"}
_MOST_PAGES = 50_000
_MOST_BOOKMARKS = 20_000
#: A picture with fewer pixels on a side holds no line of text that could be read.
_LEAST_PIXELS = 24
#: Objects of a page that are looked at for pictures and marks.
_MOST_OBJECTS = 200
# With the names of the bold fonts of TeX.
_BOLD = re.compile(
    r"bold|black|heavy|demi|(?:^|\+)(?:CMB|CMSSBX|SFBX|SFSX|LMRoman\d+-Bold)|-Medi(?:Ital)?$", re.IGNORECASE
)
_SEMIBOLD = 600
_FAULTS = (pdfium.PdfiumError, ValueError, OSError, MemoryError)

# PDFium is not thread-safe: one document at a time in the whole process.
_lock = Lock()


class Style(NamedTuple):
    """How a word is set."""

    size: float  #: height of the font in points, as it is shown
    bold: bool
    font: str


@dataclass(frozen=True, slots=True)
class RawPage:
    """The characters of a page in the order of the file, and where each stands.

    `text` has a line feed where PDFium ends a line. Character ``i`` has the box ``boxes[4 * i : 4 * i + 4]``: left,
    bottom, right, top in points of the page as it is stored; all zero where it has none (spaces that PDFium put in).
    `words` says from which character on which style of `styles` holds.
    """

    text: str
    label: str
    boxes: array[float] = field(default_factory=lambda: array("f"))
    words: tuple[tuple[int, int], ...] = ()
    styles: tuple[Style, ...] = ()
    size: tuple[float, float] = (0.0, 0.0)  #: width and height as stored, not turned
    corner: tuple[float, float] = (0.0, 0.0)  #: left and bottom of what is shown of it
    #: Degrees clockwise, 0 to 270, by which the page is turned to be read: so that most of its text is upright, which
    #: is not always how a viewer turns it; for a page without text, as a viewer does.
    turned: int = 0
    images: bool = False  #: it shows pictures; looked up only for a page without text
    readable: bool = False  #: OCR may find something: a picture that is not tiny, or drawn marks
    unread: bool = False  #: it has objects that show text, and PDFium found no character in them
    fault: str = ""
    confidence: float | None = None  #: of OCR, in [0, 1]; None for a text layer
    hidden: tuple[tuple[str, str], ...] = ()  #: (way, words) of what is not shown, which is not in `text`


@dataclass(frozen=True, slots=True)
class Bookmark:
    """One line of the outline."""

    level: int  #: from 1
    title: str
    page: int  #: from 0


@dataclass(frozen=True, slots=True)
class RawFile:
    """Everything that is read from a file."""

    pages: list[RawPage]
    outline: list[Bookmark]
    info: dict[str, str]


def read_file(data: bytes) -> RawFile:
    """The pages, outline and properties of a PDF.

    Raises EncryptedError when a password is needed, LoadError for anything PDFium cannot open. A page that cannot be
    read is reported in its `RawPage.fault`.
    """
    with _open(data) as document:
        count = len(document)
        if count > _MOST_PAGES:
            raise LoadError(f"the PDF claims {count} pages; at most {_MOST_PAGES} are read")
        pages = [_read_page(document, index) for index in range(count)]
        return RawFile(pages, list(_read_outline(document)), {key: _read_value(document, key) for key in INFO_KEYS})


INFO_KEYS = ("Title", *INFO)


def picture(data: bytes, index: int, dpi: int, most_pixels: int) -> tuple[Any, float]:
    """Page `index` (from 0) in grey, as an array of rows of bytes, and its pixels per point.

    `dpi` is lowered so that the picture has at most `most_pixels`. The picture is turned as a viewer shows the page.
    """
    with _open(data) as document, closing(document[index]) as page:
        width, height = page.get_size()
        if not (width > 0 and height > 0):
            raise LoadError(f"page {index + 1} has no area")
        scale = min(dpi / 72, (most_pixels / (width * height)) ** 0.5)
        with closing(page.render(scale=scale, grayscale=True)) as bitmap:  # with annotations: stamps are text too
            pixels = bitmap.to_numpy()
            rows, columns = pixels.shape[:2]
            return pixels.reshape(rows, columns).copy(), columns / width


@contextmanager
def _open(data: bytes) -> Iterator[Any]:
    with _lock:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            code = getattr(error, "err_code", None)
            if code == raw.FPDF_ERR_PASSWORD:
                raise EncryptedError("the PDF is encrypted: a password is needed to open it") from error
            if code == raw.FPDF_ERR_SECURITY:
                raise EncryptedError("the PDF is encrypted in a way that cannot be opened") from error
            raise LoadError("the file is not a PDF, or is damaged beyond repair") from error
        except (ValueError, TypeError, OSError, MemoryError) as error:
            raise LoadError(f"the PDF could not be opened: {error}") from error
        with closing(document):
            try:
                yield document
            except _FAULTS as error:
                if isinstance(error, LoadError):
                    raise
                raise LoadError(f"the PDF could not be read: {error}") from error


def _read_page(document: Any, index: int) -> RawPage:
    label = ""
    try:
        label = collapse(clean(document.get_page_label(index)).text)
        with closing(document[index]) as page:
            hidden: tuple[tuple[str, str], ...] = ()
            turned = page.get_rotation() % 360
            width, height = page.get_size()
            size = (height, width) if turned in (90, 270) else (width, height)
            left, bottom, _, _ = page.get_bbox()
            corner = (left, bottom)
            for upright in (turned, None):
                with closing(page.get_textpage()) as layer:
                    characters = _characters(layer)
                    if not characters.strip():
                        break
                    text, boxes = _placed(layer, characters)
                    words, styles, found, doubts = _styles(layer, text, boxes)
                    if doubts and (unseen := confirmed(page, text, boxes, doubts)):
                        hidden = tuple((each.why, text[each.start : each.end]) for each in unseen)
                        text, boxes, words = without(text, boxes, words, unseen)
                        if not text.strip():
                            break
                if upright is None or found == upright:
                    return RawPage(text, label, boxes, words, styles, size, corner, found, hidden=hidden)
                # PDFium makes lines along the page as it is turned: once more, along most of the text.
                page.set_rotation(found)
            return replace(_without_text(page, label, size, corner, turned), hidden=hidden)
    except _FAULTS as error:
        # One bad page must not cost the others; it is reported.
        return RawPage("", label, fault=collapse(str(error)) or type(error).__name__)


def _without_text(
    page: Any, label: str, size: tuple[float, float], corner: tuple[float, float], turned: int
) -> RawPage:
    images = readable = unread = False
    for count, thing in enumerate(page.get_objects()):
        if count == _MOST_OBJECTS:
            break
        if thing.type == raw.FPDF_PAGEOBJ_IMAGE:
            images = True
            readable = readable or min(thing.get_px_size()) >= _LEAST_PIXELS
        elif thing.type == raw.FPDF_PAGEOBJ_TEXT:
            unread = True
        elif thing.type == raw.FPDF_PAGEOBJ_PATH:
            readable = True
    return RawPage("", label, size=size, corner=corner, turned=turned, images=images, readable=readable, unread=unread)


def _characters(layer: Any) -> str:
    """One character for each that PDFium counts."""
    count = raw.FPDFText_CountChars(layer)
    if count <= 0:
        return ""
    text = str(layer.get_text_range(0, count))
    if len(text) != count:
        # Characters without a meaning are counted and not given.
        get = raw.FPDFText_GetUnicode
        text = "".join(chr(code) if code < 0x110000 else "\ufffd" for code in (get(layer, i) for i in range(count)))
    return text


def _placed(layer: Any, characters: str) -> tuple[str, array[float]]:
    boxes = array("f", bytes(16 * len(characters)))
    rectangle = raw.FS_RECTF()
    get = raw.FPDFText_GetLooseCharBox
    for i, character in enumerate(characters):
        if character > " " and get(layer, i, rectangle):
            boxes[4 * i : 4 * i + 4] = array("f", (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top))
    # A line end is two characters; the first becomes a space, which is dropped at the end of a line.
    return characters.replace("\r\n", " \n").replace("\r", "\n"), boxes


def _styles(
    layer: Any, text: str, boxes: array[float]
) -> tuple[tuple[tuple[int, int], ...], tuple[Style, ...], int, list[Doubt]]:
    """The style of each run, looked up where words begin: one changes hardly ever within. How the page is turned.

    And the runs that may be hidden.
    """
    doubts: list[Doubt] = []
    doubt, since = "", 0
    words: list[tuple[int, int]] = []
    known: dict[Style, int] = {}
    last = None
    angles: Counter[int] = Counter()
    angle = 0
    matrix, buffer, flags = raw.FS_MATRIX(), ctypes.create_string_buffer(256), ctypes.c_int()
    for match in re.finditer(r"\w+|[^\w\s]+", text):
        at = match.start()
        angles[angle] += 1
        address = ctypes.cast(raw.FPDFText_GetTextObject(layer, at), ctypes.c_void_p).value
        if address is None or address == last:
            continue
        last = address
        if doubt:
            doubts.append(Doubt(since, at, doubt))
        raw.FPDFText_GetMatrix(layer, at, matrix)
        angle = round(math.degrees(math.atan2(matrix.b, matrix.a)) / 90) * 90 % 360
        size = raw.FPDFText_GetFontSize(layer, at) * (matrix.c**2 + matrix.d**2) ** 0.5
        length = raw.FPDFText_GetFontInfo(layer, at, buffer, len(buffer), flags)
        font = buffer.raw[: max(0, length - 1)].decode("utf-8", "replace") if length <= len(buffer) else ""
        doubt, since = doubt_about(layer, at, size, boxes[4 * at + 3] - boxes[4 * at + 1]), at
        bold = raw.FPDFText_GetFontWeight(layer, at) >= _SEMIBOLD or _BOLD.search(font) is not None
        style = known.setdefault(Style(round(size, 1), bold, font), len(known))
        if not words or words[-1][1] != style:
            words.append((at, style))
    if doubt:
        doubts.append(Doubt(since, len(text), doubt))
    return tuple(words), tuple(known), angles.most_common(1)[0][0] if angles else 0, doubts


def _read_outline(document: Any) -> Iterator[Bookmark]:
    for count, bookmark in enumerate(document.get_toc()):
        if count == _MOST_BOOKMARKS:
            return
        try:
            destination = bookmark.get_dest()
            page = destination.get_index() if destination else None
            title = collapse(clean(bookmark.get_title()).text)
        except (pdfium.PdfiumError, ValueError):
            continue
        if page is not None and title:
            yield Bookmark(bookmark.level + 1, title, page)


def _read_value(document: Any, key: str) -> str:
    try:
        return collapse(clean(document.get_metadata_value(key)).text)
    except (pdfium.PdfiumError, ValueError):
        return ""
