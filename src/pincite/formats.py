"""Which formats are read, and by which loader: the only place that knows them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pincite.config import LoadSettings
from pincite.loaders.archive import ArchiveLoader
from pincite.loaders.delimited import DelimitedLoader
from pincite.loaders.docx import DocxLoader
from pincite.loaders.epub import EpubLoader
from pincite.loaders.html import HtmlLoader
from pincite.loaders.json_data import JsonLinesLoader, JsonLoader
from pincite.loaders.long_text import LongTextLoader
from pincite.loaders.mail import MailLoader
from pincite.loaders.mailbox_file import MailboxLoader
from pincite.loaders.markdown import MarkdownLoader
from pincite.loaders.opendocument import OpenDocumentLoader
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pptx import PptxLoader
from pincite.loaders.rtf import RtfLoader
from pincite.loaders.source_code import SourceCodeLoader
from pincite.loaders.text import TextLoader
from pincite.loaders.workbook import WorkbookLoader

if TYPE_CHECKING:
    from pincite.protocols import Container, Loader

__all__ = ["build_loaders"]


def build_loaders(load: LoadSettings | None = None) -> list[Loader | Container]:
    """Every loader, with the settings of a section ``load``; without, the defaults."""
    load = load or LoadSettings()
    loaders: list[Loader | Container] = [
        PdfLoader(load.ocr, load.ocr_languages),
        DocxLoader(),
        HtmlLoader(),
        # Its parser takes a hundred times the memory of the text.
        LongTextLoader(MarkdownLoader(), limit=8_000_000, part=2_000_000),
    ]
    loaders += [EpubLoader(), RtfLoader(), JsonLoader(), JsonLinesLoader()]
    loaders.append(LongTextLoader(SourceCodeLoader(), limit=2_000_000, part=1_000_000))  # as the Markdown parser
    loaders += [PptxLoader(), WorkbookLoader(), OpenDocumentLoader(), DelimitedLoader()]
    # What holds other files reads them with any of the loaders, itself among them.
    size, files = int(load.archive_mb * 1e6), load.archive_files
    loaders += [MailLoader(lambda: loaders), MailboxLoader(lambda: loaders)]
    loaders.append(ArchiveLoader(lambda: loaders, load.archive_depth, size, files))
    loaders.append(LongTextLoader(TextLoader()))  # last: the others know more of their own formats
    return loaders
