"""Small real files, made on the spot."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from pincite.protocols import Source

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def source(name: str, data: bytes | str) -> Source:
    return Source(uri=f"/folder/{name}", name=name, data=data.encode() if isinstance(data, str) else data)


def pdf(
    pages: Sequence[str | None],
    *,
    outline: Sequence[tuple[str, int, int]] = (),
    title: str = "",
    user: str | None = None,
    owner: str | None = None,
) -> bytes:
    """A page of text lines for each string, a picture for None, an empty page for "".

    `outline` holds (title, level from 0, page from 0).
    """
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    encrypt = StandardEncryption(user or "", ownerPassword=owner, canCopy=0) if user or owner else None
    canvas = Canvas(buffer, invariant=1, encrypt=encrypt, pageCompression=0)
    canvas.setTitle(title)
    for index, text in enumerate(pages):
        for name, level, page in outline:
            if page == index:
                canvas.bookmarkPage(name)
                canvas.addOutlineEntry(name, name, level)
        if text is None:
            from PIL import Image

            canvas.drawImage(ImageReader(Image.new("L", (8, 8), 128)), 0, 0, 300, 300)
        else:
            for row, line in enumerate(text.split("\n")):
                canvas.drawString(72, 770 - 16 * row, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def package(parts: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="a"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="t"><w:name w:val="Title"/><w:pPr/></w:style>
<w:style w:type="paragraph" w:styleId="h1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="h2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="own"><w:name w:val="Clause"/><w:basedOn w:val="h2"/></w:style>
"""

NUMBERING = """
<w:abstractNum w:abstractNumId="7">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1(%2)"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="8">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>
"""


def docx(body: str, *, namespace: str = W, title: str = "", extra: dict[str, str | bytes] | None = None) -> bytes:
    def part(root: str, inner: str) -> str:
        return f'<?xml version="1.0" encoding="UTF-8"?><w:{root} xmlns:w="{namespace}">{inner}</w:{root}>'

    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title><dc:creator>Ada</dc:creator>'
        "</cp:coreProperties>"
    )
    return package(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
            "word/styles.xml": part("styles", STYLES),
            "word/numbering.xml": part("numbering", NUMBERING),
            "docProps/core.xml": core,
            **(extra or {}),
        }
    )


def p(text: str, style: str = "", number: tuple[int, int] | None = None) -> str:
    listed = f'<w:numPr><w:ilvl w:val="{number[1]}"/><w:numId w:val="{number[0]}"/></w:numPr>' if number else ""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{listed}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


Placed = tuple[float, float, str] | tuple[float, float, str, str, float]


def drawn(pages: Sequence[Sequence[Placed]], *, turned: int = 0, drawn_turned: int = 0) -> bytes:
    """Pages of texts at places, in the order in which they are drawn: (x, y from below, text, font, size).

    `turned` is how a viewer turns every page, in degrees clockwise, `drawn_turned` how it is drawn, anticlockwise.
    """
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1, pageCompression=0)
    for page in pages:
        canvas.setPageRotation(turned)
        canvas.translate(*{0: (0, 0), 90: (595, 0), 180: (595, 842), 270: (0, 842)}[drawn_turned])
        canvas.rotate(drawn_turned)
        for x, y, text, *how in page:
            canvas.setFont(*(how or ("Times-Roman", 11)))  # type: ignore[arg-type]
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def lines(
    texts: Sequence[str], *, x: float = 72, top: float = 720, pitch: float = 14
) -> list[tuple[float, float, str]]:
    """Lines below one another, for `drawn`."""
    return [(x, top - pitch * row, text) for row, text in enumerate(texts)]


def scanned(data: bytes, *, dpi: int = 200, quarters: int = 0) -> bytes:
    """The same pages as pictures without a text layer, turned anticlockwise by `quarters`."""
    import pypdfium2 as pdfium
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    document = pdfium.PdfDocument(data)
    for page in document:
        picture = page.render(scale=dpi / 72, grayscale=True).to_pil().rotate(90 * quarters, expand=True)
        width, height = (size * 72 / dpi for size in picture.size)
        canvas.setPageSize((width, height))
        canvas.drawImage(ImageReader(picture), 0, 0, width, height)
        canvas.showPage()
    document.close()
    canvas.save()
    return buffer.getvalue()
