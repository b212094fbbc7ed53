"""Books and mail, made on the spot."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def chapter(body: str, title: str = "") -> str:
    head = f"<title>{title}</title>" if title else "<title/>"
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head>{head}</head><body>{body}</body></html>'
    )


def nav(entries: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="{target}">{title}</a></li>' for title, target in entries)
    return chapter(f'<nav epub:type="toc"><h1>Contents</h1><ol>{items}</ol></nav>')


def ncx(entries: Sequence[tuple[str, str]]) -> str:
    points = "".join(
        f'<navPoint><navLabel><text>{title}</text></navLabel><content src="{target}"/></navPoint>'
        for title, target in entries
    )
    return f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{points}</navMap></ncx>'


def epub(
    chapters: dict[str, str | bytes],
    *,
    spine: Sequence[str] | None = None,
    later: Sequence[str] = (),
    contents: Sequence[tuple[str, str]] = (),
    old_contents: Sequence[tuple[str, str]] = (),
    metadata: str = "<dc:title>T</dc:title>",
    extra: dict[str, str | bytes] | None = None,
) -> bytes:
    """A book of `chapters` (file name → page); `contents` is its table of contents, `old_contents` that of EPUB 2."""
    names = list(chapters if spine is None else spine)
    items = [f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters]
    files: dict[str, str | bytes] = {f"OPS/{name}": page for name, page in chapters.items()}
    references = [
        f'<itemref idref="{name}"{" linear=" + chr(34) + "no" + chr(34) if name in later else ""}/>' for name in names
    ]
    toc = ""
    if contents:
        items.append('<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>')
        references.insert(0, '<itemref idref="nav"/>')
        files["OPS/nav.xhtml"] = nav(contents)
    if old_contents:
        items.append('<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>')
        files["OPS/toc.ncx"] = ncx(old_contents)
        toc = ' toc="ncx"'
    files["OPS/book.opf"] = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata>'
        f"<manifest>{''.join(items)}</manifest><spine{toc}>{''.join(references)}</spine></package>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        package.writestr("META-INF/container.xml", CONTAINER)
        for name, content in {**files, **(extra or {})}.items():
            package.writestr(name, content)
    return buffer.getvalue()
