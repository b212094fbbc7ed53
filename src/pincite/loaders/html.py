"""HTML: what a reader sees of a page, in order, with its headings."""

from __future__ import annotations

from pincite.errors import NoTextError
from pincite.loaders.clean import loss_warnings
from pincite.loaders.hypertext import decode_page, read_hypertext
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document

__all__ = ["HtmlLoader"]


class HtmlLoader:
    """Reads HTML as a reader sees it, in linear time.

    Blocks stand on lines of their own, paragraphs are set off by a blank line, list items begin with "- " or their
    number, ``pre`` keeps its lines. Tables are Markdown, with a header where the page says or the first row names the
    columns; a cell that spans rows is written in each of them, one that spans columns is followed by empty ones. A
    table of one column, or one that holds headings, ``pre`` or other tables, only arranges blocks. ``main`` or the
    ``article`` elements are taken alone when they hold at least half of the text; otherwise the whole body is.

    Left out: scripts, styles, form controls, navigation, and headers, footers and asides of the page as a whole (those
    of an article stay, and so does a header with the page's ``h1``). Lists that call themselves menus are read only
    where the page shows nothing but links. Text that is hidden is left out as well and told in a warning, since text
    that only machines read is a known way to plant instructions: by ``hidden`` or ``aria-hidden``, by a style or a
    simple rule of the page's own sheet that takes it off the page, by a size that nobody can read, by the colour of its
    background. Comments are left out, and told where they read like orders to a model. Where it takes the layout to
    know, see `pincite.loaders.hypertext_hiding`.

    The title is ``title``, or the first ``h1``, or the first heading, or the file's name.
    """

    name = "html"
    suffixes = frozenset({".html", ".htm", ".xhtml", ".xht"})

    def load(self, source: Source) -> Document:
        """The visible text of `source`.

        Raises NoTextError for a page without visible text, UnsupportedFormatError for binary data, LoadError when
        the page cannot be parsed.
        """
        decoded = decode_page(source.data)
        page = read_hypertext(decoded.text)
        if not page.text.strip():
            raise NoTextError("the page holds no visible text")
        metadata = dict(page.metadata)
        if decoded.detected:
            metadata["encoding"] = decoded.encoding
        first = next((each for each in page.headings if each.level == 1), page.headings[0] if page.headings else None)
        warnings = decoded.warnings + loss_warnings(page.controls, page.invisible) + page.hidden.warnings()
        return Document(
            id=document_id(source.uri),
            text=page.text,
            title=page.title or (first.text if first else stem_title(source.name)),
            uri=source.uri,
            media_type="application/xhtml+xml" if source.name.lower().endswith((".xhtml", ".xht")) else "text/html",
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=page.headings,
            warnings=warnings,
        )
