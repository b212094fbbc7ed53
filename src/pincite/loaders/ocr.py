"""Reading pictures of text with Tesseract, a program of its own: nothing of it is part of this package."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

from pincite.errors import LoadError

__all__ = ["OcrError", "OcrWord", "Tesseract", "check_languages"]

_LANGUAGES = re.compile(r"[A-Za-z][A-Za-z0-9_/]*(?:\+[A-Za-z][A-Za-z0-9_/]*)*")
_QUESTION_SECONDS = 20
#: Bytes of Tesseract's answer for a page; a page of print has some hundred thousand.
_LONGEST_ANSWER = 64 * 2**20


class OcrError(LoadError):
    """A page that Tesseract did not read."""


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One word, in pixels of the picture from its top left corner."""

    text: str
    line: tuple[int, int, int]  #: block, paragraph and line; words of one line follow one another
    left: float
    top: float
    right: float
    bottom: float
    confidence: float  #: in [0, 1]


def check_languages(languages: str) -> None:
    """Raises LoadError unless `languages` is written as Tesseract takes it: ``eng``, ``eng+hin``."""
    if not _LANGUAGES.fullmatch(languages):
        raise LoadError(f"the languages of OCR are written like eng+hin, not {languages!r}")


@dataclass(frozen=True, slots=True)
class Tesseract:
    """The program as it is installed."""

    command: str
    version: str
    languages: frozenset[str]

    @classmethod
    def find(cls) -> Tesseract | None:
        """The ``tesseract`` of the path; None where there is none that runs."""
        command = shutil.which("tesseract")
        if command is None:
            return None
        try:
            version = _ask([command, "--version"])
            listed = _ask([command, "--list-langs"])
        except OcrError:
            return None
        found = re.search(r"\d+(?:\.\d+)*", version)
        languages = (line.strip() for line in listed.splitlines())
        known = frozenset(line for line in languages if line and _LANGUAGES.fullmatch(line))
        return cls(command, found[0] if found else "", known)

    def missing(self, languages: str) -> str:
        """What to install for `languages`, as a sentence; "" when nothing is missing."""
        check_languages(languages)
        absent = [each for each in languages.split("+") if each not in self.languages]
        if not absent:
            return ""
        packages = " ".join(f"tesseract-ocr-{each.lower().replace('_', '-').replace('/', '-')}" for each in absent)
        return f"Tesseract has no data for {', '.join(absent)}: install them (Debian: {packages})"

    def read(self, picture: bytes, languages: str, *, dpi: int, seconds: float) -> list[OcrWord]:
        """The words of a PNM `picture` in reading order; a page that lies on its side is read as well.

        A turned page needs Tesseract's data ``osd``. Raises OcrError when it fails, answers with anything but its
        table or takes longer than `seconds`, after which it is ended.
        """
        # 1 finds the page's orientation before its layout, 3 does not.
        mode = "1" if "osd" in self.languages else "3"
        answer = _ask(
            [self.command, "stdin", "stdout", "-l", languages, "--dpi", str(dpi), "--psm", mode, "tsv"],
            picture,
            seconds,
        )
        return _words(answer)


def _ask(command: list[str], given: bytes = b"", seconds: float = _QUESTION_SECONDS) -> str:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise OcrError(f"Tesseract took longer than {seconds:g} seconds") from error
    except OSError as error:
        raise OcrError(f"Tesseract could not be run: {error.strerror or error}") from error
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        raise OcrError(f"Tesseract failed (exit code {done.returncode}){': ' + said if said else ''}")
    if len(done.stdout) > _LONGEST_ANSWER:
        raise OcrError("Tesseract's answer is too long")
    return done.stdout.decode("utf-8", "replace")


def _words(table: str) -> list[OcrWord]:
    lines = table.split("\n")
    if not lines[0].startswith("level\tpage_num\t"):
        raise OcrError("Tesseract's answer is no table")
    words = []
    for line in lines[1:]:
        fields = line.rstrip("\r").split("\t")
        if len(fields) < 12 or fields[0] != "5":
            continue
        text = "\t".join(fields[11:]).strip()
        try:
            block, paragraph, number = (int(field) for field in fields[2:5])
            left, top, width, height = (float(field) for field in fields[6:10])
            confidence = float(fields[10])
        except ValueError as error:
            raise OcrError("Tesseract's table is damaged") from error
        if text and confidence >= 0:
            words.append(
                OcrWord(text, (block, paragraph, number), left, top, left + width, top + height, confidence / 100)
            )
    return words
