"""PDF: the text of every page in reading order, with its headings; scanned pages by OCR."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from pincite.errors import LoadError, NoTextError
from pincite.loaders.clean import clean, loss_warnings
from pincite.loaders.hidden import Hidden, reads_like_orders
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.ocr import Tesseract, check_languages
from pincite.loaders.pdf_pages import INFO, RawFile, RawPage, read_file
from pincite.loaders.pdf_scans import Scans, page_numbers, read_scans
from pincite.loaders.pdf_text import PdfText, read_text
from pincite.protocols import Source
from pincite.types import Document, MetadataValue

__all__ = ["PdfLoader"]

# Titles that a program left behind rather than a person wrote.
_NO_TITLE = re.compile(
    r"(?:untitled|title|document\d*|microsoft word\b.*|powerpoint presentation|slide \d+"
    r"|.*\.(?:docx?|odt|ods|odp|pdf|indd|tex|dvi|qxd|xlsx?|pptx?))",
    re.IGNORECASE,
)
_INSTALL = "install tesseract-ocr to have scanned pages read"


class PdfLoader:
    """Reads the text of a PDF.

    Pages are joined by a blank line, and lines stay as they are set, in the order in which they are read: see
    `pincite.loaders.pdf_columns`. A word broken by a hyphen at the end of a line is mended by the document's own
    spelling elsewhere: "sub-section" keeps its hyphen where the document writes it with one, "distri-bution" loses it.
    Ligatures are written as letters. Running heads, feet and page numbers are left out of documents of three pages
    and more, and counted in a warning.

    Bookmarks become headings where their words stand as a line of the page that they point to; how many could not be
    placed is a warning. Without bookmarks the sections of an act, or lines that are set as headings, become headings.

    Every page without text is a warning with the reason, and so is every page whose font does not say which characters
    it shows. With `ocr` "auto" such a page is read by Tesseract where that is installed and the page shows something;
    "force" reads every page so and needs it; "off" none. `languages` are Tesseract's, as in ``eng+hin``. Which pages
    were read so is a warning, and in the metadata as ``ocr_pages`` and ``ocr_languages``.

    Text that is not shown (invisible and no reading of a picture below it, white on white, transparent, smaller than
    two points) is left out and told in a warning; so is what stands outside of the page where it reads like orders to a
    model.

    The title is the file's own unless a program made it up, or the name of an act, or the first heading, or the
    file's name.
    """

    name = "pdf"
    suffixes = frozenset({".pdf"})

    def __init__(self, ocr: Literal["auto", "off", "force"] = "auto", languages: str = "eng") -> None:
        check_languages(languages)
        self._ocr = ocr
        self._languages = languages

    def load(self, source: Source) -> Document:
        """The text of `source` with its pages and headings.

        Raises EncryptedError when a password is needed (a file that only restricts printing or copying opens),
        NoTextError when no page has text, LoadError for anything PDFium cannot open, and for `ocr` "force" where
        Tesseract or its data for a language is not installed.
        """
        data = source.data
        raw = read_file(data)
        scans, advice, version = self._scans(data, raw)
        raw = scans.file
        read = read_text(raw)
        if not read.text:
            raise NoTextError(_no_text(raw, read, scans, advice))
        return Document(
            id=document_id(source.uri),
            text=read.text,
            title=_title(raw, read) or stem_title(source.name),
            uri=source.uri,
            media_type="application/pdf",
            content_hash=content_hash(data),
            metadata=_metadata(raw.info) | self._marks(scans),
            pages=read.pages,
            headings=read.headings,
            warnings=_warnings(raw, read, scans, advice, version),
        )

    def _scans(self, data: bytes, raw: RawFile) -> tuple[Scans, str, str]:
        """The file with its scanned pages read; what to install to have more read; Tesseract's version."""
        force = self._ocr == "force"
        wanted = [i for i, page in enumerate(raw.pages) if force or _may_need_ocr(page)]
        nothing = Scans(raw, {}, {})
        if not wanted:
            return nothing, "", ""
        if self._ocr == "off":
            return nothing, "reading scanned pages is turned off (load.ocr)", ""
        tesseract = Tesseract.find()
        advice = _INSTALL if tesseract is None else tesseract.missing(self._languages)
        if tesseract is None or advice:
            if force:
                raise LoadError(f"OCR of every page was asked for: {advice}")
            return nothing, advice, ""
        return read_scans(data, raw, wanted, tesseract, self._languages), "", tesseract.version

    def _marks(self, scans: Scans) -> dict[str, MetadataValue]:
        if not scans.read:
            return {}
        return {"ocr_pages": page_numbers(scans.read), "ocr_languages": self._languages}


def _warnings(raw: RawFile, read: PdfText, scans: Scans, advice: str, version: str) -> tuple[str, ...]:
    reasons: list[tuple[int, str]] = []
    for i, page in enumerate(raw.pages):
        has_text = read.pages[i].end > read.pages[i].start
        if page.fault:
            reasons.append((i, f"could not be read ({page.fault})"))
        elif not has_text:
            reasons.append((i, _without_text(page, read.outside[i], scans.failed.get(i, ""))))
        elif i in scans.failed:
            reasons.append((i, scans.failed[i]))
        elif read.controls[i]:
            reasons.append((i, f"{read.controls[i]} characters without a meaning (font without a map) removed"))
    warnings = _by_reason(reasons)
    if scans.read:
        sure = sum(scans.read.values()) / len(scans.read)
        pages = page_numbers(scans.read)
        plural = "s" if len(scans.read) > 1 else ""
        warnings.append(f"page{plural} {pages} read by OCR (Tesseract {version}, confidence {sure:.2f})")
    if advice and any(page.images and page.readable for page in raw.pages):
        warnings.append(advice)
    outside = sum(count for page, count in zip(read.pages, read.outside, strict=True) if page.end > page.start)
    if outside:
        warnings.append(f"{outside} line{'s' if outside > 1 else ''} outside of the page left out")
    hidden = Hidden()
    for page in raw.pages:
        for why, words in page.hidden:
            hidden.note(why, words)
        hidden.shown()
    for beyond in read.beyond:
        if reads_like_orders(beyond):
            hidden.note("outside of the page", beyond)
    warnings += hidden.warnings()
    if read.left_out:
        warnings.append(f"{read.left_out} running heads, feet and page numbers left out")
    if read.lost_bookmarks:
        warnings.append(f"{read.lost_bookmarks} of {len(raw.outline)} bookmarks not found on their page")
    return (*warnings, *loss_warnings(0, read.invisible))


def _may_need_ocr(page: RawPage) -> bool:
    """Whether a page shows something and has no text: a picture, marks, or a font that does not say what it is."""
    return not clean(page.text).text.strip() and (page.readable or bool(page.text.strip()))


def _without_text(page: RawPage, outside: int, failure: str) -> str:
    if outside:
        return "no text (all of it lies outside of the page)"
    if page.hidden and not page.images:
        return "no text that is shown"
    if page.unread and not page.images:
        return "no text (its font has no map from glyphs to characters)"
    if page.text.strip():
        return "no text (its font has no map from glyphs to characters)"
    reason = "no text layer (image only)" if page.images else "no text"
    return f"{reason}; {failure}" if failure and page.images else reason


def _by_reason(reasons: Iterable[tuple[int, str]]) -> list[str]:
    pages: dict[str, list[int]] = {}
    for page, reason in reasons:
        pages.setdefault(reason, []).append(page)
    return [f"page{'s' if len(each) > 1 else ''} {page_numbers(each)}: {reason}" for reason, each in pages.items()]


def _metadata(info: dict[str, str]) -> dict[str, MetadataValue]:
    metadata: dict[str, MetadataValue] = {name: info[key] for key, name in INFO.items() if info.get(key)}
    created = re.match(r"D:(\d{4})(\d\d)(\d\d)", info.get("CreationDate", ""))
    metadata.pop("created", None)
    if created:
        metadata["created"] = "-".join(created.groups())
    return metadata


def _title(raw: RawFile, read: PdfText) -> str:
    title = raw.info.get("Title", "")
    if title and not _NO_TITLE.fullmatch(title):
        return title
    return read.title or (read.headings[0].text if read.headings else "")


def _no_text(raw: RawFile, read: PdfText, scans: Scans, advice: str) -> str:
    count = len(raw.pages)
    pages = f"{count} page{'s' if count != 1 else ''}"
    if not count:
        return "the PDF has no pages"
    faults = [page.fault for page in raw.pages if page.fault]
    images = sum(page.images for page in raw.pages)
    if faults:
        why = f"{len(faults)} could not be read ({faults[0]})"
    elif images:
        why = f"{images} of them pictures of pages"
        if scans.failed:
            why += f"; {next(iter(scans.failed.values()))}"
        else:
            why += f"; reading those needs OCR: {advice or 'these are too small to hold text'}"
    elif any(read.outside):
        why = "their text lies outside of what is shown"
    elif any(page.hidden for page in raw.pages):
        why = f"it is hidden ({next(why for page in raw.pages for why, _ in page.hidden)})"
    elif any(page.unread or page.text.strip() for page in raw.pages):
        why = "their fonts have no map from glyphs to characters"
    else:
        why = "all blank"
    return f"the PDF has {pages} and none has text: {why}"
