"""Damage files of every kind and read them: each must give sound documents or a reason, in bounded time.

    python benchmarks/fuzz_loaders.py --inputs 5000 --seconds 600 --seed 1

The files to damage are small ones made here and, where PINCITE_DATA names the folder of the evaluation data, the real
ones below 200 kB in its folders ``docs-*``. An input is one of them with up to four changes: bits flipped, the end or a
block cut out, a block repeated, a piece of another file of the kind, a word that its format gives a meaning to. In a
package (.docx, .epub …) the files inside are changed and packed anew, so that the damage gets past the checksums. Input
number i of a seed is the same in every run with the same files.

The files are read by `WorkerReader` as `pincite add` reads them, without OCR. Prints for each kind how many were read,
refused, and why. A fault of a loader, a file over the time limit and a document that is not sound are failures: the
input is kept in the folder ``--keep``, and the exit status is 1. One that needs too much memory is refused, as
``memory``.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sys
import tarfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pincite.config import LoadSettings
from pincite.errors import LoaderFaultError, LoadError, ReadTimeoutError
from pincite.loaders.worker import WorkerReader
from pincite.protocols import Source
from pincite.types import Document

LARGEST = 200_000  #: bytes of a real file that is used
PER_KIND = 12  #: real files of one suffix

# The files made here -------------------------------------------------------------------------------------------------

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
ODF_NAMES = " ".join(f'xmlns:{each}="{ODF}{each}:1.0"' for each in ("office", "text", "table"))
ATOM = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def package(members: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            kept = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), content, kept)
    return buffer.getvalue()


def office(main: str, kind: str, members: dict[str, str]) -> bytes:
    return package(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/><Override PartName="/{main}" '
            f'ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{RELS}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
            f'Target="{main}"/></Relationships>',
            **members,
        }
    )


def related(*targets: tuple[str, str]) -> str:
    each = "".join(f'<Relationship Id="r{i}" Type="{OFFICE}/{k}" Target="{t}"/>' for i, (k, t) in enumerate(targets))
    return f'<Relationships xmlns="{RELS}">{each}</Relationships>'


def docx() -> bytes:
    def p(text: str, style: str = "a", more: str = "") -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'

    listed = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    row = f"<w:tr><w:tc>{p('one')}</w:tc><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{p('two')}</w:tc></w:tr>"
    body = p("Deed", "h1") + p("a clause", more=listed) + f"<w:tbl>{row * 3}</w:tbl>" + p("the end") * 3
    styles = '<w:style w:type="paragraph" w:styleId="h1"><w:name w:val="heading 1"/></w:style>'
    level = '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    numbers = (
        f'<w:abstractNum w:abstractNumId="7">{level}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    )
    return office(
        "word/document.xml",
        "wordprocessingml.document",
        {
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
            "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
            "word/numbering.xml": f'<w:numbering xmlns:w="{W}">{numbers}</w:numbering>',
            "word/_rels/document.xml.rels": related(("styles", "styles.xml"), ("numbering", "numbering.xml")),
        },
    )


def pptx() -> bytes:
    p = "http://schemas.openxmlformats.org/presentationml/2006/main"
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Title"/><p:cNvSpPr/><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
        "<p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>A title and words</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    names = f'xmlns:p="{p}" xmlns:r="{OFFICE}" {ATOM}'
    slides = '<p:sldIdLst><p:sldId id="256" r:id="r0"/></p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/>'
    return office(
        "ppt/presentation.xml",
        "presentationml.presentation",
        {
            "ppt/presentation.xml": f"<p:presentation {names}>{slides}</p:presentation>",
            "ppt/_rels/presentation.xml.rels": related(("slide", "slides/slide1.xml")),
            "ppt/slides/slide1.xml": f"<p:sld {names}><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id='1' name=''/>"
            f"<p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{shape * 2}</p:spTree></p:cSld></p:sld>",
        },
    )


def xlsx() -> bytes:
    names = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    cells = '<c r="A{0}" t="s"><v>0</v></c><c r="B{0}"><v>{0}.5</v></c><c r="C{0}" t="inlineStr"><is><t>x</t></is></c>'
    rows = "".join(f'<row r="{i}">{cells.format(i)}</row>' for i in range(1, 9))
    return office(
        "xl/workbook.xml",
        "spreadsheetml.sheet",
        {
            "xl/workbook.xml": f'<workbook {names} xmlns:r="{OFFICE}"><sheets><sheet name="Prices" sheetId="1" '
            'r:id="r0"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": related(
                ("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")
            ),
            "xl/sharedStrings.xml": f'<sst {names} count="1" uniqueCount="1"><si><t>a word</t></si></sst>',
            "xl/worksheets/sheet1.xml": f"<worksheet {names}><sheetData>{rows}</sheetData>"
            '<mergeCells count="1"><mergeCell ref="A1:B2"/></mergeCells></worksheet>',
        },
    )


def opendocument(kind: str, body: str) -> bytes:
    return package(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{ODF}manifest:1.0"><manifest:file-entry '
            'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
            "content.xml": f"<office:document-content {ODF_NAMES}><office:body>{body}</office:body>"
            "</office:document-content>",
        }
    )


def odt() -> bytes:
    items = "<text:list><text:list-item><text:p>an item</text:p></text:list-item></text:list>" * 2
    heading = '<text:h text:outline-level="1">A heading</text:h>'
    return opendocument(
        "text", f"<office:text>{heading}<text:p>words<text:s text:c='3'/>x</text:p>{items}</office:text>"
    )


def ods() -> bytes:
    cell = '<table:table-cell table:number-columns-repeated="2"><text:p>cell</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="3">{cell * 2}</table:table-row>'
    return opendocument(
        "spreadsheet", f'<office:spreadsheet><table:table table:name="S">{row * 3}</table:table></office:spreadsheet>'
    )


def epub() -> bytes:
    chapter = "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>Chapter</h1><p>words</p></body></html>"
    return package(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="o/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
            "o/b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata><dc:title xmlns:dc="http://purl.org/'
            'dc/elements/1.1/">Book</dc:title></metadata><manifest><item id="c" href="c.xhtml" media-type="application/'
            'xhtml+xml"/></manifest><spine><itemref idref="c"/><itemref idref="c"/></spine></package>',
            "o/c.xhtml": chapter,
        }
    )


def pdf() -> bytes:
    show = b"BT /F1 12 Tf 72 700 Td (A line of words) Tj 0 -16 Td (and another) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(show), show),
        b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>",
        b"<< /Title (A line of words) /Parent 6 0 R /Dest [3 0 R /Fit] >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return (
        data
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (
            count,
            table,
            count,
            len(data),
        )
    )


MAIL = (
    b"From: A <a@example.org>\nTo: b@example.org\nSubject: =?utf-8?Q?Pr=C3=BCfung?=\n"
    b"Date: Mon, 1 Jan 2024 10:00:00 +0000\nMIME-Version: 1.0\n"
    b'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/plain; charset=utf-8\n'
    b"Content-Transfer-Encoding: quoted-printable\n\nWords =C3=BC\n--x\nContent-Type: text/html\n\n<p>more</p>\n--x\n"
    b'Content-Type: text/plain; name="a.txt"\nContent-Disposition: attachment; filename="a.txt"\n'
    b"Content-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQ=\n--x--\n"
)


def tar_gz() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in (("a.txt", b"words of a text\n"), ("b/c.md", b"# Title\n\nwords\n")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


HTML = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title></head><body><nav>n</nav><h1>One</h1>"
    "<p>a <b>b</b></p><ol start=3><li>x<ul><li>y</ul></ol><table><tr><th colspan=2>A<th>B<tr><td rowspan=2>1<td>2"
    "</table><pre> c\n  d</pre><p hidden>h</p><h2>Two</h2>z</body></html>"
)
MARKDOWN = (
    "---\ntitle: T\ntags: [a, b]\n---\n# One\n\ntext *with* `code`\n\n```py\n# no\n```\n\nTwo\n---\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n> - quoted\n>   1. list\n"
)
RTF = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}{\info{\title T}}{\stylesheet{\s1 heading 1;}}"
    r"\pard\s1 A heading\par\pard Words \b bold\b0  \'fc \u8364?\line more\par"
    r"\trowd\cellx100\cellx200\intbl one\cell two\cell\row{\pict\pngblip 89504e47}\par}"
)
JSON = '{"title": "T", "items": [{"id": 1, "text": "a text of some words", "ok": true}, {"id": 2, "text": null}]}'


def made() -> dict[str, list[bytes]]:
    texts = {
        ".txt": "Title\n=====\n\nÜber “uns”\tund Sie.\r\n\n漢字 👩\u200d👧 नि\n" * 3,
        ".rst": "Title\n=====\n\nwords\n\nPart\n----\n\nmore\n",
        ".md": MARKDOWN,
        ".html": HTML,
        ".rtf": RTF,
        ".json": JSON,
        ".jsonl": '{"_id": "1", "title": "T", "text": "a text of some words"}\n' * 4,
        ".csv": 'name,price,note\n"A, b",1.5,"two\nlines"\nc,2,\n' * 3,
        ".tsv": "a\tb\n1\t2\n3\t4\n",
        ".py": 'def f(x):\n    """Words."""\n    return "é"\n\n\nclass C:\n    pass\n',
        ".fodt": f"<office:document {ODF_NAMES}><office:body><office:text><text:p>w</text:p></office:text>"
        "</office:body></office:document>",
    }
    seeds = {suffix: [text.encode()] for suffix, text in texts.items()}
    seeds[".txt"] += ["Überblick und Größe\n".encode(codec) * 5 for codec in ("cp1252", "utf-16", "utf-32")]
    made_by: dict[str, Callable[[], bytes]] = {
        ".docx": docx,
        ".pptx": pptx,
        ".xlsx": xlsx,
        ".odt": odt,
        ".ods": ods,
        ".epub": epub,
        ".pdf": pdf,
        ".tgz": tar_gz,
    }
    seeds |= {suffix: [make()] for suffix, make in made_by.items()}
    seeds[".eml"] = [MAIL]
    seeds[".mbox"] = [(b"From a@example.org Mon Jan  1 10:00:00 2024\n" + MAIL + b"\n") * 2]
    seeds[".zip"] = [package({"a.txt": "words", "b.html": HTML, "c.zip": package({"d.md": MARKDOWN})})]
    return seeds


def real(folder: Path) -> dict[str, list[bytes]]:
    """The real files, the smallest of each suffix that some loader knows."""
    found: dict[str, list[Path]] = defaultdict(list)
    for top in sorted(folder.glob("docs-*")):
        for path in sorted(top.rglob("*")):
            if path.is_file() and path.stat().st_size <= LARGEST:
                found[path.suffix.lower()].append(path)
    kinds = {*made(), ".xls", ".xlsb", ".odp", ".xml"}
    return {
        suffix: [path.read_bytes() for path in sorted(paths, key=lambda path: (path.stat().st_size, path))[:PER_KIND]]
        for suffix, paths in found.items()
        if suffix in kinds
    }


# The damage ----------------------------------------------------------------------------------------------------------

ANYWHERE = [
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "\u202e".encode(), "\U000e0041".encode()),
    *("\u200b".encode(), b"\r", b"\x1b[31m", b"A" * 5000, b"\n" * 3000, b" " * 3000, b"-1", b"0", b"999999999999"),
    *(b"4294967295", b"1e999", b"NaN", b"%s%n", b"../../../etc/passwd", "é漢👩\u200d👧".encode()),
]
MARKUP = [
    b'<?xml version="1.0" encoding="utf-16"?>',
    b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>',
    b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
    *(b"&b;", b"&c;", b"&#0;", b"&#xd800;", b"&#x110000;", b"&", b"<", b">", b"]]>", b"<![CDATA[", b"<!--", b"-->"),
    *(b"<div>" * 3000, b"<b>" * 500, b"<table><tr><td>" * 300, b"<p>", b"</p>", b"<a:p>", b"<w:p>", b"<w:tbl>"),
    *(b"<w:tr>", b"<w:tc>", b"<w:txbxContent>", b"</w:tbl>", b"<text:list>" * 400, b"<table:table-row>", b"<br/>"),
    *(b' colspan="99999999"', b' rowspan="65535"', b' table:number-columns-repeated="999999999"', b' r="XFD1048576"'),
    *(b' table:number-rows-repeated="999999999"', b' w:val="-1"', b' text:c="999999999"', b"<script>", b"<style>"),
    *(b"<template>", b"<svg>", b"<math>", b"<select>", b"<iframe>", b"<base href=x>", b"<meta charset=utf-7>"),
]
PDF = [
    *(b"obj", b"endobj", b"stream", b"endstream", b"<<", b">>", b"[", b"]", b"(", b")", b"/Kids", b"/Parent 3 0 R"),
    *(b"3 0 R", b"2 0 R", b"/Length 999999999", b"/Count -1", b"/Count 99999999", b"/Filter /FlateDecode", b"xref"),
    *(b"/Filter [/FlateDecode /FlateDecode]", b"trailer", b"startxref", b"%%EOF", b"/Rotate 90", b"Tj", b"TJ"),
    *(b"/MediaBox [0 0 0 0]", b"/MediaBox [-1e9 -1e9 1e9 1e9]", b"/Encrypt 4 0 R", b" 1e9 0 0 1e9 0 0 cm ", b"0 Tf"),
]
RICH = [
    *(b"{", b"}", b"\\", b"\\bin99999999 ", b"\\bin-1 ", b"{\\*", b"\\u-3 ?", b"\\u55357?", b"\\uc99 ", b"\\'zz"),
    *(b"\\cell", b"\\row", b"\\trowd", b"\\nestrow", b"{" * 3000, b"\\ansicpg99999", b"\\par", b"{\\pict", b"\\ls1"),
]
MAILING = [
    *(b"Content-Type: multipart/mixed; boundary=x\n", b"--x\n", b"--x--\n", b"=?utf-8?B?////?=", b"=?x?Q?=FF?="),
    *(b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: uuencode\n", b"charset=utf-7", b"=\n"),
    *(b"Content-Type: message/rfc822\n\n", b"Content-Type: text/plain; charset=nonsense\n", b"\nFrom ", b"\n\n"),
    *(b"Date: Mon, 99 Foo 99999 99:99:99 +9999\n", b'filename="../a.exe"', b"begin 644 a\n", b"Subject:\n " * 50),
]
DATA = [
    *(b"[" * 3000, b'{"a":' * 1000, b"]", b"}", b",", b":", b'"', b"\\ud800", b"\\u0000", b"null", b"1" * 5000),
    *(b"\n", b"\t", b";", b"|", b'""', b",,,,,,,,", b'"\n"', b"-Infinity", b'{"text": "', b'"title": []'),
]
MARKS = [
    *(
        b"---\n",
        b"```\n",
        b"> " * 500,
        b"- " * 300,
        b"# ",
        b"|",
        b"|---|---|\n",
        b"[" * 300,
        b"*" * 500,
        b"<!--",
        b"===\n",
    ),
    *(b"    ", b"\n\n", b"1. ", b"\\", b"~~~", b"title: x\n"),
]
WORDS = {
    ".pdf": PDF,
    ".rtf": RICH,
    ".eml": MAILING,
    ".mbox": MAILING,
    **dict.fromkeys((".json", ".jsonl", ".csv", ".tsv"), DATA),
    **dict.fromkeys((".md", ".rst", ".txt", ".py"), MARKS),
}


def change(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """`data` with one change."""
    if not data:
        return rng.choice(words)
    at = rng.randrange(len(data))
    length = min(len(data) - at, int(2 ** rng.uniform(0, 12)))
    block = data[at : at + length]
    kind = rng.randrange(9)
    if kind == 0:  # bits
        changed = bytearray(data)
        for _ in range(int(2 ** rng.uniform(0, 5))):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if kind == 1:  # the end is lost
        return data[:at]
    if kind == 2:  # a block is lost
        return data[:at] + data[at + length :]
    if kind == 3:  # a block comes again, here or there
        to = rng.randrange(len(data))
        return data[:to] + block * rng.choice((1, 1, 2, 50)) + data[to:]
    if kind == 4 and other:  # a piece of another file
        start = rng.randrange(len(other))
        return data[:at] + other[start : start + length] + data[at + rng.choice((0, length)) :]
    if kind == 5:  # a block of noise
        return data[:at] + rng.randbytes(min(length, 64)) + data[at + min(length, 64) :]
    return data[:at] + rng.choice(words) + data[at + rng.choice((0, 0, 1, 8)) :]


def change_package(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The package `data` with changes in the files inside, packed anew."""
    try:
        members, others = unpacked(data), unpacked(other)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, RuntimeError):
        return change(rng, data, other, [*ANYWHERE, *MARKUP])
    names = sorted(members)
    marked = [name for name in names if name.endswith((".xml", ".rels", ".opf", ".html", ".xhtml", ".ncx"))] or names
    for _ in range(rng.randint(1, 4)):
        name = rng.choice(marked)
        kind = rng.randrange(12)
        if kind == 0:
            members.pop(name, None)
        elif kind == 1:
            members[rng.choice(names)] = members.get(name, b"")
        elif kind == 2 and others:
            members[name] = others.get(name) or others[rng.choice(sorted(others))]
        else:
            # Changes between tags are the ones that leave most of the file to be read.
            content = members.get(name, b"")
            if rng.random() < 0.5 and b">" in content:
                places = [i for i, byte in enumerate(content) if byte == ord(">")]
                at = rng.choice(places) + 1
                content = content[:at] + rng.choice([*ANYWHERE, *MARKUP]) + content[at:]
            else:
                content = change(rng, content, others.get(name, b""), [*ANYWHERE, *MARKUP])
            members[name] = content
    return package({name: members[name] for name in sorted(members, key=lambda name: name != "mimetype")})


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist() if info.file_size < 1 << 22}


def damaged(rng: random.Random, suffix: str, seeds: Sequence[bytes]) -> bytes:
    data, other = rng.choice(seeds), rng.choice(seeds)
    if data.startswith(b"PK") and rng.random() < 0.8:
        return change_package(rng, data, other)
    words = [*ANYWHERE, *WORDS.get(suffix, MARKUP)]
    for _ in range(rng.randint(1, 4)):
        data = change(rng, data, other, words)
    return data


# The reading ---------------------------------------------------------------------------------------------------------


def faults_of(document: Document) -> list[str]:
    """What is wrong with a document, in words."""
    text, faults = document.text, []
    if not text.strip():
        faults.append("no text")
    bad = sorted({c for c in text if c in "\x00\r\x1b\u202e\ufeff" or "\ud800" <= c <= "\udfff" or c > "\U000dffff"})
    bad = [c for c in bad if c < "\U000e0000" or c <= "\U000e007f"]
    if bad:
        faults.append(f"characters {bad!r}")
    places = [("heading", h.start, h.end) for h in document.headings] + [
        ("page", p.start, p.end) for p in document.pages
    ]
    faults += [f"{what} {a}-{b} of {len(text)}" for what, a, b in places if not 0 <= a <= b <= len(text)]
    starts = [heading.start for heading in document.headings]
    if starts != sorted(starts):
        faults.append("headings out of order")
    if any(one.end > two.start for one, two in zip(document.pages, document.pages[1:], strict=False)):
        faults.append("pages overlap")
    if not document.title.strip():
        faults.append("no title")
    shown = [document.title, document.uri, *document.warnings, *document.metadata, *(h.text for h in document.headings)]
    shown += [value for value in document.metadata.values() if isinstance(value, str)]
    try:
        "\n".join([text, *shown]).encode()
    except UnicodeEncodeError:
        faults.append("half a surrogate pair")
    if any("\x00" in each for each in shown):
        faults.append("NUL in a name, a warning or the metadata")
    if any(not isinstance(value, str | int | float | bool) for value in document.metadata.values()):
        faults.append("metadata that are no plain values")
    return faults


@dataclass(slots=True)
class Tally:
    inputs: int = 0
    documents: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    worst: float = 0.0


def read(reader: WorkerReader, name: str, data: bytes, tally: Tally) -> str:
    """Read one input. Returns what failed, in words."""
    began, failure = time.perf_counter(), ""
    try:
        for each in reader.read(Source(f"/fuzz/{name}", name, data)):
            if isinstance(each, Document):
                tally.documents += 1
                failure = failure or "; ".join(faults_of(each))
            elif each.reason == LoaderFaultError.reason:
                failure = failure or each.detail
    except (LoaderFaultError, ReadTimeoutError) as error:
        failure = f"{error.reason}: {error}"
    except LoadError as error:
        tally.refused[error.reason] += 1
    tally.inputs += 1
    tally.worst = max(tally.worst, time.perf_counter() - began)
    return failure


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=600, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=10, help="seconds that one file may take")
    parser.add_argument("--memory", type=int, default=LoadSettings().memory_mb, help="megabytes that one file may take")
    parser.add_argument("--only", nargs="*", default=[], help="suffixes to try, all by default")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="folder for inputs that fail")
    given = parser.parse_args()

    seeds = made()
    if folder := os.environ.get("PINCITE_DATA"):
        for suffix, files in real(Path(folder)).items():
            seeds.setdefault(suffix, []).extend(files)
    kinds = [suffix for suffix in sorted(seeds) if not given.only or suffix in given.only]
    load = LoadSettings(seconds=given.limit, memory_mb=given.memory, ocr="off", archive_mb=64)
    reader = WorkerReader(load.model_dump(mode="json"))
    tallies = {suffix: Tally() for suffix in kinds}
    for suffix in kinds:
        # What cannot be read undamaged would try nothing.
        for number, data in enumerate(made().get(suffix, [])):
            if failure := read(reader, f"whole-{number}{suffix}", data, tallies[suffix]):
                tallies[suffix].failures.append(f"undamaged {suffix}: {failure}")
        if tallies[suffix].refused:
            tallies[suffix].failures.append(f"undamaged {suffix} was refused")
    began = time.monotonic()
    for i in range(given.inputs):
        if time.monotonic() - began > given.seconds:
            break
        suffix = kinds[i % len(kinds)]
        data = damaged(random.Random(f"{given.seed} {i}"), suffix, seeds[suffix])
        name = f"input-{given.seed}-{i}{suffix}"
        if failure := read(reader, name, data, tallies[suffix]):
            tallies[suffix].failures.append(f"{name}: {failure[:300]}")
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / name).write_bytes(data)
    reader.close()

    print(f"{'kind':8} {'inputs':>7} {'documents':>9} {'failures':>8} {'worst s':>8}  refused")
    for suffix, tally in tallies.items():
        why = ", ".join(f"{count} {reason}" for reason, count in tally.refused.most_common())
        print(f"{suffix:8} {tally.inputs:7} {tally.documents:9} {len(tally.failures):8} {tally.worst:8.2f}  {why}")
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
