"""Small texts and tokenizers for the tests of cutting and reading."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

from tokenizers import Tokenizer as RustTokenizer

from pincite.types import Document, Heading


class ToyWords:
    """Every run without white space is a token."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [m.span() for m in re.finditer(r"\S+", text)]


class MiniLMTokenizer:
    """The tokenizer of the bundled encoder."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = _minilm().encode(text, add_special_tokens=False).offsets
        return offsets


MINILM = MiniLMTokenizer()


@lru_cache
def _minilm() -> RustTokenizer:
    data = (resources.files("pincite") / "encoders" / "minilm" / "tokenizer.json").read_text("utf-8")
    tokenizer = RustTokenizer.from_str(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def text_document(text: str, *, id: str = "d", media_type: str = "text/markdown", version: int = 1) -> Document:
    """A document whose ``#`` lines outside code are its headings."""
    headings, position, mark = [], 0, ""
    for line in text.split("\n"):
        if found := re.match(r"(`{3,}|~{3,})", line):
            if not mark:
                mark = found.group()
            elif line.strip() == line[0] * len(line.strip()) and line.startswith(mark):
                mark = ""
        elif not mark and (found := re.match(r"(#+) (.*)", line)):
            headings.append(Heading(len(found.group(1)), found.group(2), position, position + len(line)))
        position += len(line) + 1
    return Document(id, text, "t", f"/{id}", media_type, "0", version, headings=tuple(headings))


def fence_is_open(text: str) -> bool:
    """Whether a reader of Markdown would take what follows `text` for code."""
    mark = ""
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if not found:
            continue
        if not mark:
            if not (found.group(1)[0] == "`" and "`" in found.group(2)):
                mark = found.group(1)
        elif found.group(1)[0] == mark[0] and len(found.group(1)) >= len(mark) and not found.group(2).strip():
            mark = ""
    return bool(mark)
