"""Scanned pages: the protocol against a toy in place of Tesseract, and the real one where it is installed."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from pathlib import Path

import pytest
from loader_samples import drawn, lines, pdf, scanned, source

from pincite.errors import LoadError, NoTextError
from pincite.loaders.ocr import OcrError, Tesseract
from pincite.loaders.pdf import PdfLoader
from pincite.loaders.pdf_boxes import boxes
from pincite.loaders.pdf_pages import read_file
from pincite.loaders.pdf_scans import page_numbers, read_scans

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="needs Tesseract: install tesseract-ocr")
PROSE = ["The tenant may give notice of three months", "at the end of each quarter of the year.", "The rent is due."]
HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"


def word(text: str, line: int, left: int, top: int, conf: str = "90.5") -> str:
    return f"5\t1\t1\t1\t{line}\t1\t{left}\t{top}\t80\t30\t{conf}\t{text}"


TABLE = "\n".join(
    [HEADER, "4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t", word("Toy", 1, 100, 100), word("words", 1, 200, 100)]
) + ("\n" + word("be-", 2, 100, 150) + "\n" + word("low", 3, 100, 200) + "\n")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Puts a toy ``tesseract`` on the path that does as it is told when it is given a page."""
    if os.name == "nt":
        pytest.skip("the toy is a script of the POSIX kind")

    def make(read: str, languages: str = "eng osd") -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / "tesseract"
        script.write_text(
            f"#!{sys.executable}\nimport sys, time\n"
            "if '--version' in sys.argv:\n    print('tesseract 9.8.7'); sys.exit()\n"
            f"if '--list-langs' in sys.argv:\n    print('List of available languages in \"/x\" (2):'); "
            f"[print(each) for each in {languages.split()!r}]; sys.exit()\n"
            "picture = sys.stdin.buffer.read()\n"
            f"{read}\n",
            encoding="utf-8",
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder))

    return make


SCAN = scanned(drawn([lines(PROSE)]), dpi=72)


def test_words_lines_and_boxes_come_from_the_table(toy) -> None:  # type: ignore[no-untyped-def]
    toy(f"assert picture.startswith(b'P5 '); sys.stdout.write({TABLE!r})")
    data = scanned(drawn([lines(PROSE), lines(PROSE)]), dpi=72)
    document = PdfLoader().load(source("scan.pdf", data))
    assert document.text == "Toy words\nbelow\n\nToy words\nbelow"
    assert document.warnings == ("pages 1-2 read by OCR (Tesseract 9.8.7, confidence 0.91)",)
    assert document.metadata["ocr_pages"] == "1-2"
    start = document.text.index("words")
    (box,) = boxes(data, document, start, start + 5)
    height = 841.89
    assert (box.page, box.x0, box.x1) == (
        1,
        pytest.approx(200 * 72 / 300, abs=0.5),
        pytest.approx(280 * 72 / 300, abs=0.5),
    )
    assert (box.y0, box.y1) == (pytest.approx(height - 130 * 0.24, abs=1), pytest.approx(height - 100 * 0.24, abs=1))
    broken = boxes(data, document, *(lambda at: (at, at + 5))(document.text.index("below")))
    assert len(broken) == 2


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("sys.stderr.write('no such thing\\n'); sys.exit(3)", "exit code 3.: no such thing"),
        ("print('garbage')", "no table"),
        ("sys.stdout.buffer.write(bytes(range(256)))", "no table"),
        (f"print({HEADER!r}); print('5\\t1\\tx\\t1\\t1\\t1\\t1\\t1\\t1\\t1\\t90\\tword')", "table is damaged"),
        (f"print({HEADER!r})", "nothing legible"),
        (f"print({HEADER!r}); print({word('noise', 1, 1, 1, '7')!r})", "nothing legible"),
    ],
)
def test_what_goes_wrong_costs_the_page_and_is_said(toy, read: str, said: str) -> None:  # type: ignore[no-untyped-def]
    toy(read)
    with pytest.raises(NoTextError, match=said):
        PdfLoader().load(source("scan.pdf", SCAN))


def test_a_page_that_takes_too_long_is_ended(toy) -> None:  # type: ignore[no-untyped-def]
    toy("time.sleep(60)")
    tesseract = Tesseract.find()
    assert tesseract is not None
    started = time.monotonic()
    with pytest.raises(OcrError, match=r"longer than 0\.5 seconds"):
        tesseract.read(b"P5 1 1 255\n\0", "eng", dpi=300, seconds=0.5)
    scans = read_scans(SCAN, read_file(SCAN), [0], tesseract, "eng", seconds=0.5)
    assert "longer than" in scans.failed[0]
    assert time.monotonic() - started < 20


def test_doubtful_pages_are_tried_the_other_ways_up(toy, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    count = tmp_path / "count"
    toy(
        f"import pathlib; p = pathlib.Path({str(count)!r}); n = len(p.read_text()) if p.exists() else 0\n"
        f"p.write_text('x' * (n + 1))\n"
        f"sys.stdout.write({(HEADER + chr(10) + word('upset', 1, 10, 20, '31'))!r} if n == 0 else {TABLE!r})"
    )
    document = PdfLoader().load(source("scan.pdf", SCAN))
    assert document.text == "Toy words\nbelow"
    assert count.read_text() == "xx"


def test_a_language_without_data_names_its_package(toy) -> None:  # type: ignore[no-untyped-def]
    toy(f"sys.stdout.write({TABLE!r})")
    with pytest.raises(NoTextError, match="tesseract-ocr-hin tesseract-ocr-chi-sim"):
        PdfLoader(languages="eng+hin+chi_sim").load(source("scan.pdf", SCAN))
    with pytest.raises(LoadError, match="tesseract-ocr-hin"):
        PdfLoader("force", "hin").load(source("text.pdf", pdf(["words"])))
    with pytest.raises(LoadError, match="eng"):
        PdfLoader(languages="eng; rm -rf /")


def test_force_reads_pages_that_have_text(toy) -> None:  # type: ignore[no-untyped-def]
    toy(f"sys.stdout.write({TABLE!r})")
    document = PdfLoader("force").load(source("text.pdf", pdf(["the text layer"])))
    assert document.text == "Toy words\nbelow"
    toy("sys.exit(1)")
    kept = PdfLoader("force").load(source("text.pdf", pdf(["the text layer"])))
    assert kept.text == "the text layer"
    assert kept.warnings == ("page 1: Tesseract failed (exit code 1)",)


def test_pages_with_text_are_not_read_again(toy) -> None:  # type: ignore[no-untyped-def]
    toy("sys.exit(1)")
    assert PdfLoader().load(source("text.pdf", pdf(["the text layer", ""]))).warnings == ("page 2: no text",)


def test_without_tesseract_it_is_said_how_to_have_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoTextError, match="install tesseract-ocr"):
        PdfLoader().load(source("scan.pdf", SCAN))
    with pytest.raises(LoadError, match="install tesseract-ocr"):
        PdfLoader("force").load(source("text.pdf", pdf(["words"])))
    with pytest.raises(NoTextError, match="turned off"):
        PdfLoader("off").load(source("scan.pdf", SCAN))


def test_page_numbers_as_people_write_them() -> None:
    assert page_numbers([4, 0, 1, 2]) == "1-3, 5"
    assert page_numbers([]) == ""


@pytest.mark.slow
@needs_tesseract
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_a_real_scan_is_read_whichever_way_it_lies(quarters: int) -> None:
    data = scanned(
        drawn([[(x, y, text, "Helvetica", 16) for x, y, text in lines(PROSE * 3, pitch=24)]]), quarters=quarters
    )
    document = PdfLoader("auto").load(source("scan.pdf", data))
    assert document.text.split("\n")[:3] == PROSE
    assert "read by OCR" in document.warnings[0]
    start = document.text.index("notice")
    (box,) = boxes(data, document, start, start + 6)
    if quarters == 0:
        assert box.y0 < 720 < box.y1
        assert 150 < box.x0 < box.x1 < 300
