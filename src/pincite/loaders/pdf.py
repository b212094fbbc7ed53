"""PDF: the text layer, page by page, with the outline as headings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw

from pincite.errors import EncryptedError, LoadError, NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue, Page

__all__ = ["PdfLoader"]

_PAGE_BREAK = "\n\n"
# PDFium puts U+FFFE for a hyphen at the end of a line and runs the lines together; older ones put U+0002. Files that
# name the character themselves have a soft hyphen before the line end.
_HYPHEN = re.compile("(?<=[^\\W\\d_])\u0002\n?(?=[^\\W\\d_])|\ufffe\n?|\u00ad[ \t]*\n")
_MARK = "\ufffe"
_WORD = re.compile(r"[^\W\d_]+")
_PAIR = re.compile(r"(?<![^\W\d_])(?=([^\W\d_]{1,40}-[^\W\d_]{1,40})(?![^\W\d_]))")
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+\Z")
_LONGEST_WORD = 60
_NUMBERING = re.compile(
    r"(?:(?:chapter|section|appendix|part|annex|article|schedule)\s+)?[\dA-Z]{1,4}(?:\.\d{1,3})*[.:)]?\s+",
    re.IGNORECASE,
)
_INFO = {"Author": "author", "Subject": "subject", "Keywords": "keywords", "CreationDate": "created"}
# Titles that a program left behind rather than a person wrote.
_NO_TITLE = re.compile(
    r"(?:untitled|title|document\d*|microsoft word\b.*|powerpoint presentation|slide \d+"
    r"|.*\.(?:docx?|odt|ods|odp|pdf|indd|tex|dvi))",
    re.IGNORECASE,
)

# PDFium is not thread-safe: one document at a time in the whole process.
_lock = Lock()


class PdfLoader:
    """Reads the text layer of a PDF in the order of the file.

    Pages are joined by a blank line, and lines stay as they are set. A word broken by a hyphen at the end of a line is
    mended by the document's own spelling elsewhere: "sub-section" keeps its hyphen where the document writes it with
    one, "distri-bution" loses it. Bookmarks become headings where their words stand as a line of the page that they
    point to; how many could not be placed is a warning. So is every page without text, with the reason, and every page
    whose font does not say which characters it shows.

    The title is the file's own unless a program made it up, or the first heading, or the file's name.
    """

    name = "pdf"
    suffixes = frozenset({".pdf"})

    def load(self, source: Source) -> Document:
        """The text of `source` with its pages and headings.

        Raises EncryptedError when a password is needed (a file that only restricts printing or copying opens),
        NoTextError when no page has text, LoadError for anything PDFium cannot open.
        """
        with _lock:
            raw = _read(source.data)
        spelling = _Spelling("\n".join(page.text for page in raw.pages))
        warnings: list[str] = []
        pages: list[Page] = []
        parts: list[str] = []
        length = invisible = 0
        for number, page in enumerate(raw.pages, 1):
            cleaned = clean(spelling.mend(page.text))
            # Not a regular expression for white space before a line end: that is quadratic on long runs.
            text = "\n".join(line.rstrip() for line in cleaned.text.split("\n")).strip("\n")
            if not text.strip():
                text = ""
            invisible += cleaned.invisible
            if parts and text:
                parts.append(_PAGE_BREAK)
                length += len(_PAGE_BREAK)
            if text:
                parts.append(text)
            pages.append(Page(number, length, length + len(text), page.label))
            length += len(text)
            if page.fault:
                warnings.append(f"page {number}: could not be read ({page.fault})")
            elif not text:
                warnings.append(f"page {number}: {'no text layer (image only)' if page.images else 'no text'}")
            elif cleaned.controls:
                warnings.append(
                    f"page {number}: {cleaned.controls} characters without a meaning (font without a map) removed"
                )
        text = "".join(parts)
        if not text:
            raise NoTextError(_no_text(raw))
        headings, lost = _place(raw.outline, text, pages)
        text, pages, headings = _set_apart(text, pages, headings)
        if lost:
            warnings.append(f"{lost} of {len(raw.outline)} bookmarks not found on their page")
        return Document(
            id=document_id(source.uri),
            text=text,
            title=_title(raw.info.get("Title", "")) or (headings[0].text if headings else stem_title(source.name)),
            uri=source.uri,
            media_type="application/pdf",
            content_hash=content_hash(source.data),
            metadata=_metadata(raw.info),
            pages=tuple(pages),
            headings=headings,
            warnings=(*warnings, *loss_warnings(0, invisible)),
        )


@dataclass(frozen=True, slots=True)
class _RawPage:
    text: str
    label: str
    images: bool = False  #: it shows pictures; looked up only for a page without text
    fault: str = ""


@dataclass(frozen=True, slots=True)
class _Bookmark:
    level: int  #: from 1
    title: str
    page: int  #: from 0


@dataclass(frozen=True, slots=True)
class _Raw:
    """What PDFium says, before any of it is interpreted."""

    pages: list[_RawPage]
    outline: list[_Bookmark]
    info: dict[str, str]


def _read(data: bytes) -> _Raw:
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == pdfium_raw.FPDF_ERR_PASSWORD:
            raise EncryptedError("the PDF is encrypted: a password is needed to open it") from error
        if code == pdfium_raw.FPDF_ERR_SECURITY:
            raise EncryptedError("the PDF is encrypted in a way that cannot be opened") from error
        raise LoadError("the file is not a PDF, or is damaged beyond repair") from error
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise LoadError(f"the PDF could not be opened: {error}") from error
    with closing(document):
        try:
            count = len(document)
            pages = [_read_page(document, index) for index in range(count)]
            return _Raw(pages, list(_read_outline(document)), _read_info(document))
        except (pdfium.PdfiumError, ValueError, OSError, MemoryError) as error:
            raise LoadError(f"the PDF could not be read: {error}") from error


def _read_page(document: Any, index: int) -> _RawPage:
    label = ""
    try:
        label = collapse(clean(document.get_page_label(index)).text)
        with closing(document[index]) as page, closing(page.get_textpage()) as layer:
            text = str(layer.get_text_range()).replace("\r\n", "\n").replace("\r", "\n")
            images = not text.strip() and next(page.get_objects([pdfium_raw.FPDF_PAGEOBJ_IMAGE]), None) is not None
            return _RawPage(text, label, images)
    except (pdfium.PdfiumError, ValueError) as error:
        # One bad page must not cost the others; it is reported.
        return _RawPage("", label, fault=collapse(str(error)) or type(error).__name__)


def _read_outline(document: Any) -> Iterator[_Bookmark]:
    for bookmark in document.get_toc():
        try:
            destination = bookmark.get_dest()
            page = destination.get_index() if destination else None
            title = collapse(clean(bookmark.get_title()).text)
        except (pdfium.PdfiumError, ValueError):
            continue
        if page is not None and title:
            yield _Bookmark(bookmark.level + 1, title, page)


def _read_info(document: Any) -> dict[str, str]:
    return {key: _read_value(document, key) for key in ("Title", *_INFO)}


def _read_value(document: Any, key: str) -> str:
    try:
        return collapse(clean(document.get_metadata_value(key)).text)
    except (pdfium.PdfiumError, ValueError):
        return ""


def _metadata(info: dict[str, str]) -> dict[str, MetadataValue]:
    metadata: dict[str, MetadataValue] = {name: info[key] for key, name in _INFO.items() if info.get(key)}
    created = re.match(r"D:(\d{4})(\d\d)(\d\d)", info.get("CreationDate", ""))
    metadata.pop("created", None)
    if created:
        metadata["created"] = "-".join(created.groups())
    return metadata


def _title(title: str) -> str:
    return "" if _NO_TITLE.fullmatch(title) else title


def _no_text(raw: _Raw) -> str:
    count = len(raw.pages)
    pages = f"{count} page{'s' if count != 1 else ''}"
    if not count:
        return "the PDF has no pages"
    images = sum(page.images for page in raw.pages)
    why = (
        f"{images} of them pictures of pages; reading those needs OCR, which is not available"
        if images
        else "all blank"
    )
    return f"the PDF has {pages} and none has text: {why}"


class _Spelling:
    """How a document spells the words that it breaks at line ends."""

    def __init__(self, text: str) -> None:
        self._text = _HYPHEN.sub(_MARK, text)
        self._words: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()
        self._hyphenates = True  # words are broken at all, not only compounds at their own hyphens
        if _MARK in self._text:
            self._study()

    def mend(self, text: str) -> str:
        """`text` with every hyphen at a line end either written or dropped, and the lines run together there."""
        text = _HYPHEN.sub(_MARK, text)
        if _MARK not in text:
            return text
        parts = text.split(_MARK)
        mended = [parts[0]]
        for left, part in pairwise(parts):
            halves = _halves(left, part)
            joined = halves is not None and self._is_one_word(*halves)
            mended.append(part if joined else f"-{part}")
        return "".join(mended)

    def _study(self) -> None:
        low = self._text.lower()
        self._words = Counter(_WORD.findall(low))
        self._pairs = Counter(match[1] for match in _PAIR.finditer(low))
        parts = low.split(_MARK)
        known = [self._written(*halves) for halves in map(_halves, parts, parts[1:]) if halves is not None]
        decided = [one for one in known if one is not None]
        self._hyphenates = any(decided) or not decided

    def _written(self, left: str, right: str) -> bool | None:
        """Whether the document elsewhere writes the word without the hyphen; None where it has neither spelling."""
        one, two = self._words[left + right], self._pairs[f"{left}-{right}"]
        return one > two if one or two else None

    def _is_one_word(self, left: str, right: str) -> bool:
        """Whether a word broken into `left` and `right` is written without the hyphen.

        The commoner of the two spellings in this document decides. Where it has neither, two parts that are both words
        of this document make a compound ("well-founded"), and anything else is one word ("hori-zontally"), unless all
        other breaks of the document are at hyphens that were there anyway.
        """
        left, right = left.lower(), right.lower()
        known = self._written(left, right)
        if known is not None:
            return known
        # The broken parts themselves were counted once each, on either side of the mark.
        return self._hyphenates and (self._words[left] < 2 or self._words[right] < 2)


def _halves(before: str, after: str) -> tuple[str, str] | None:
    """The letters on either side of a break; None when one side has none."""
    left = _LETTERS_BEFORE.search(before[-_LONGEST_WORD:])
    right = _WORD.match(after[:_LONGEST_WORD])
    return (left[0], right[0]) if left and right else None


def _place(outline: list[_Bookmark], text: str, pages: list[Page]) -> tuple[tuple[Heading, ...], int]:
    """The bookmarks that stand as a line, or as lines in sequence, on their page; and how many do not."""
    headings: list[Heading] = []
    taken: set[int] = set()
    lost = 0
    lines: dict[int, list[tuple[str, int, int]]] = {}
    for bookmark in outline:
        if bookmark.page >= len(pages):
            lost += 1
            continue
        if bookmark.page not in lines:
            lines[bookmark.page] = _lines(text, pages[bookmark.page])
        span = _find_title(bookmark.title, lines[bookmark.page], taken)
        if span is None:
            lost += 1
            continue
        start, end = span
        taken.add(start)
        headings.append(Heading(bookmark.level, collapse(text[start:end]), start, end))
    headings.sort(key=lambda heading: heading.start)
    return tuple(headings), lost


def _set_apart(
    text: str, pages: list[Page], headings: tuple[Heading, ...]
) -> tuple[str, list[Page], tuple[Heading, ...]]:
    """The text with a blank line around every heading, and the maps moved along.

    A page gives a heading and the line below it as two lines like any others; without the blank line the heading
    would run into the sentence that follows.
    """
    inserted: list[int] = []  # a line break goes in before each of these offsets
    for heading in headings:
        if text[max(0, heading.start - 2) : heading.start].endswith("\n") and text[heading.start - 2] != "\n":
            inserted.append(heading.start)
        if text[heading.end : heading.end + 1] == "\n" and text[heading.end + 1 : heading.end + 2] != "\n":
            inserted.append(heading.end)
    inserted = sorted(set(inserted))
    if not inserted:
        return text, pages, headings
    parts = [text[start:end] for start, end in zip([0, *inserted], [*inserted, len(text)], strict=True)]

    def span(start: int, end: int) -> tuple[int, int]:
        return start + bisect_right(inserted, start), end + bisect_left(inserted, end)

    return (
        "\n".join(parts),
        [Page(page.number, *span(page.start, page.end), page.label) for page in pages],
        tuple(Heading(heading.level, heading.text, *span(heading.start, heading.end)) for heading in headings),
    )


def _lines(text: str, page: Page) -> list[tuple[str, int, int]]:
    """The lines of a page that are not blank: collapsed, start, end."""
    lines = []
    start = page.start
    for line in text[page.start : page.end].split("\n"):
        shown = line.strip()
        if shown:
            begin = start + line.index(shown)
            lines.append((collapse(shown), begin, begin + len(shown)))
        start += len(line) + 1
    return lines


def _find_title(title: str, lines: list[tuple[str, int, int]], taken: set[int]) -> tuple[int, int] | None:
    # A line with a number before the words counts: bookmarks often leave the number out.
    wanted = title.casefold()
    for i, (_, start, _) in enumerate(lines):
        if start in taken:
            continue
        joined = ""
        for shown, _, end in lines[i : i + 4]:
            joined = f"{joined} {shown}".strip()
            if len(joined) > len(title) + 40:
                break
            folded = joined.casefold()
            if folded == wanted:
                return start, end
            if folded.endswith(wanted):
                number = joined[: len(joined) - len(title)]
                if _NUMBERING.fullmatch(number):
                    return start, end
    return None
