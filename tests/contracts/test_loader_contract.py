"""One battery for every loader: whatever the bytes, a sound document or a LoadError."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.errors import LoadError
from pincite.loaders.delimited import DelimitedLoader
from pincite.loaders.docx import DocxLoader
from pincite.loaders.epub import EpubLoader
from pincite.loaders.html import HtmlLoader
from pincite.loaders.ids import content_hash, document_id
from pincite.loaders.json_data import JsonLoader
from pincite.loaders.markdown import MarkdownLoader
from pincite.loaders.opendocument import OpenDocumentLoader
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pptx import PptxLoader
from pincite.loaders.rtf import RtfLoader
from pincite.loaders.source_code import SourceCodeLoader
from pincite.loaders.text import TextLoader
from pincite.loaders.workbook import WorkbookLoader
from pincite.protocols import Loader, Source
from pincite.types import Document

samples = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "loaders" / "loader_samples.py"))
books = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "loaders" / "book_samples.py"))
p: Callable[..., str] = samples["p"]

ROW = f"<w:tr><w:tc>{p('c')}</w:tc><w:tc>{p('d')}</w:tc></w:tr>"
REAL: dict[str, bytes] = {
    "text": "Title\n=====\n\nÜber “uns”\tund Sie.\n\nPart\n----\n\nmore\n".encode(),
    "markdown": (
        b"---\ntitle: T\ntags: [a]\n---\n# One\n\ntext\n\n```\n# no\n```\n\nTwo\n---\n\n"
        b"| a | b |\n|---|---|\n| 1 | 2 |\n"
    ),
    "html": (
        b"<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title></head><body><nav>n</nav><h1>One</h1>"
        b"<p>a <b>b</b></p><ol><li>x<ul><li>y</ul></ol><table><tr><th>A<th>B<tr><td>1<td>2</table><pre> c\n  d</pre>"
        b"<p hidden>h</p><h2>Two</h2>&#x202e;z</body></html>"
    ),
    "pdf": samples["pdf"](
        ["Scope\none two", None, "Rules\nthree"], outline=[("Scope", 0, 0), ("Rules", 1, 2)], title="T"
    ),
    "docx": samples["docx"](
        p("Deed", "t") + p("Terms", "h1", (1, 0)) + p("a", number=(1, 1)) + f"<w:tbl>{ROW}{ROW}</w:tbl>"
    ),
}
NAMES = {"text": "a.rst", "markdown": "a.md", "html": "a.html", "pdf": "a.pdf", "docx": "a.docx"}
LOADERS: list[Loader] = [TextLoader(), MarkdownLoader(), HtmlLoader(), PdfLoader(), DocxLoader()]


# Books, Rich Text, data and programs.
REAL |= {
    "epub": books["epub"](
        {"a.xhtml": books["chapter"]("<h1>One</h1><p>a</p>"), "b.xhtml": books["chapter"]("<p>b</p>")},
        contents=[("One", "a.xhtml"), ("Two", "b.xhtml")],
    ),
    "rtf": (
        rb"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}{\stylesheet{\s1 heading 1;}}{\info{\title T}}\pard\s1 One\par"
        rb"\pard {\v h}\'cf\u8364 ?{\footnote n}\par\trowd\intbl a\cell b\cell\row\pard\outlinelevel0 Two\par x}"
    ),
    "json": (
        b'{"title": "T", "items": [{"no": 1, "text": "one and two"}, {"no": 2, "text": "three", "x": {"y": [1.0]}}]}'
    ),
    "source-code": b"import os\n\n\nclass A:\n    @property\n    def b(self) -> int:\n        return 1\n",
}
NAMES |= {"epub": "a.epub", "rtf": "a.rtf", "json": "a.json", "source-code": "T.py"}
LOADERS += [EpubLoader(), RtfLoader(), JsonLoader(), SourceCodeLoader()]


def office_file(main: str, body: str) -> bytes:
    """The smallest package whose main part is at `main`."""
    target = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    head = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    folder, _, name = main.rpartition("/")
    part = f'xmlns:r="{target}" xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:a="a"'
    kind = "slide" if "ppt" in main else "worksheet"
    sheets = "".join(f'<Relationship Id="rId{i}" Type="{target}/{kind}" Target="part{i}.xml"/>' for i in (1, 2))
    listed = {
        "slide": '<presentation {}><sldIdLst><sldId r:id="rId1"/><sldId r:id="rId2"/></sldIdLst></presentation>',
        "worksheet": '<workbook {}><sheets><sheet name="One" sheetId="1" r:id="rId1"/>'
        '<sheet name="Two" sheetId="2" r:id="rId2"/></sheets></workbook>',
    }[kind]
    return samples["package"](  # type: ignore[no-any-return]
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": head
            + f'<Relationship Id="a" Type="{target}/officeDocument" Target="{main}"/></Relationships>',
            main: listed.format(part),
            f"{folder}/_rels/{name}.rels": f"{head}{sheets}</Relationships>",
            **{f"{folder}/part{i}.xml": body.format(part) for i in (1, 2)},
        }
    )


SLIDE = (
    "<sld {}><cSld><spTree><sp><nvSpPr><nvPr><ph type='title'/></nvPr></nvSpPr><txBody><p><r><t>Deed</t></r></p>"
    "</txBody></sp><sp><txBody><p><r><t>text</t></r></p></txBody></sp></spTree></cSld></sld>"
)
SHEET = (
    "<worksheet {}><sheetData><row r='1'><c r='A1' t='inlineStr'><is><t>a</t></is></c><c r='B1'><v>2</v></c></row>"
    "</sheetData></worksheet>"
)
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
REAL |= {
    "pptx": office_file("ppt/presentation.xml", SLIDE),
    "workbook": office_file("xl/workbook.xml", SHEET),
    "opendocument": samples["package"](
        {
            "content.xml": f"<o:document-content xmlns:o='{ODF}office:1.0' xmlns:t='{ODF}text:1.0'><o:body><o:text>"
            "<t:h>Deed</t:h><t:list><t:list-item><t:p>a<t:s/>b</t:p></t:list-item></t:list><t:h t:outline-level='2'>Two"
            "</t:h></o:text></o:body></o:document-content>",
        }
    ),
    "delimited": b'name;note\n"a; b";"c\nd"\ne;f\n',
}
NAMES |= {"pptx": "a.pptx", "workbook": "T.xlsx", "opendocument": "a.odt", "delimited": "T.csv"}
LOADERS += [PptxLoader(), WorkbookLoader(), OpenDocumentLoader(), DelimitedLoader()]


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.name)
def loader(request: pytest.FixtureRequest) -> Loader:
    return request.param  # type: ignore[no-any-return]


def try_load(loader: Loader, data: bytes) -> Document | None:
    """The document, checked; None when it was refused. Any other exception fails the test."""
    source = Source(uri="/x/" + NAMES[loader.name], name=NAMES[loader.name], data=data)
    try:
        document = loader.load(source)
    except LoadError as error:
        refused = error
    else:
        check(document, source)
        assert loader.load(source) == document
        return document
    assert str(refused)
    assert refused.reason in {"unreadable", "unsupported", "encrypted", "no-text"}
    return None


def check(document: Document, source: Source) -> None:
    text = document.text
    assert text.strip()
    assert not set(text) & set("\x00\r\x0b\x0c\x1b\x7f")
    text.encode()  # no lone surrogates
    assert document.id == document_id(source.uri)
    assert document.uri == source.uri
    assert document.content_hash == content_hash(source.data)
    assert document.version == 1
    assert document.title
    assert document.title == " ".join(document.title.split())
    assert "/" in document.media_type
    assert all(type(value) in (str, int, float, bool) for value in document.metadata.values())
    assert all(warning and "\n" not in warning for warning in document.warnings)
    end = 0
    for number, page in enumerate(document.pages, 1):
        assert page.number == number
        assert end <= page.start <= page.end <= len(text)
        end = page.end
    start = -1
    for heading in document.headings:
        assert heading.level >= 1
        assert start < heading.start < heading.end <= len(text)
        assert heading.text in " ".join(text[heading.start : heading.end].split())
        assert heading.text
        start = heading.start


def test_it_is_a_loader(loader: Loader) -> None:
    assert isinstance(loader, Loader)
    assert loader.suffixes


def test_a_real_file_loads_with_its_headings(loader: Loader) -> None:
    document = try_load(loader, REAL[loader.name])
    assert document is not None
    assert len(document.headings) == (0 if loader.name == "delimited" else 2)
    assert document.title in ("T", "T.py", "Title", "Deed")


def test_empty_bytes_are_refused(loader: Loader) -> None:
    assert try_load(loader, b"") is None


def test_every_truncation(loader: Loader) -> None:
    data = REAL[loader.name]
    for length in range(0, len(data), max(1, len(data) // 60)):
        try_load(loader, data[:length])


def test_nul_bytes_anywhere(loader: Loader) -> None:
    data = REAL[loader.name]
    for at in range(0, len(data), max(1, len(data) // 30)):
        try_load(loader, data[:at] + b"\x00" + data[at:])
        try_load(loader, data[:at] + b"\x00" * 8 + data[at + 8 :])


def test_files_of_the_other_formats(loader: Loader) -> None:
    for data in REAL.values():
        try_load(loader, data)


# The loaders hold no state, so one instance may serve every example.
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(data=st.binary(max_size=400))
def test_random_bytes(loader: Loader, data: bytes) -> None:
    try_load(loader, data)


@FUZZ
@given(text=st.text(st.characters(), max_size=200), codec=st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-16-le"]))
def test_random_text(loader: Loader, text: str, codec: str) -> None:
    try_load(loader, text.encode(codec, "surrogatepass"))


@FUZZ
@given(changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=6)), min_size=1, max_size=8))
def test_real_files_with_bytes_overwritten(loader: Loader, changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(REAL[loader.name])
    for at, new in changes:
        at %= len(data)
        data[at : at + len(new)] = new
    try_load(loader, bytes(data))


TAGS = (
    "<p> </p> <ul> </ul> <li> <ol> </ol> <table> </table> <tr> <td> <th> <h1> </h1> <h2> </h2> <pre> </pre> <br> <b> "
    "</b> <div> </div> <main> </main> <article> <header> <nav> <sup> <q> </q> <svg> <math> <select> <form> <hr> a b1 "
    "&#13; &nbsp; &#x200b; # > - --- === ``` | <!-- --> <![CDATA[ <plaintext> <frameset> <template> </template>"
)


@FUZZ
@given(pieces=st.lists(st.sampled_from([*TAGS.split(), " ", "\n", "<a hidden>"]), max_size=40))
@pytest.mark.parametrize("loader", [HtmlLoader(), MarkdownLoader()], ids=["html", "markdown"])
def test_any_order_of_tags(loader: Loader, pieces: list[str]) -> None:
    try_load(loader, "".join(pieces).encode())


WORD_TAGS = "p r tbl tr tc sdt sdtContent ins del hyperlink txbxContent AlternateContent Choice pPr numPr"
WORD_LEAVES = ["<w:t>x</w:t>", "<w:br/>", '<w:footnoteReference w:id="1"/>', p("y", "h1"), p("z", "", (1, 1))]
WORD_PARTS = st.recursive(
    st.sampled_from(WORD_LEAVES),
    lambda inner: st.builds(
        lambda tag, children: f"<w:{tag}>{''.join(children)}</w:{tag}>",
        st.sampled_from(WORD_TAGS.split()),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@FUZZ
@given(body=WORD_PARTS)
def test_any_nesting_of_word_elements(body: str) -> None:
    try_load(DocxLoader(), samples["docx"](body))
