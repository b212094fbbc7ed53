"""One battery for every chunker with every kind of tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import resources

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as RustTokenizer

from pincite.chunkers.context import encoded_text
from pincite.chunkers.parent_child import ParentChildChunker
from pincite.chunkers.sentence_window import SentenceWindowChunker
from pincite.chunkers.sentences import SentenceChunker
from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.errors import ConfigError
from pincite.protocols import Chunker, Tokenizer
from pincite.types import Chunk, Document, Heading, Page


class ToyCharacters:
    """Every character that is not white space is a token."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) if not c.isspace()]


class ToyWords:
    """Every run without white space is a token."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [m.span() for m in re.finditer(r"\S+", text)]


class ToyBytes:
    """Every UTF-8 byte is a token, as in a byte-level BPE without merges: one character, several tokens."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) for _ in c.encode()]


class ToyContextual:
    """Counts depend on the surroundings: a word longer than six characters is one token, a shorter one its letters.

    So a piece cut out of a long word has more tokens than the whole word had.
    """

    def spans(self, text: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for m in re.finditer(r"\S+", text):
            if len(m.group()) > 6:
                found.append(m.span())
            else:
                found.extend((i, i + 1) for i in range(*m.span()))
        return found


class MiniLM:
    """The tokenizer of the bundled encoder."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = _minilm().encode(text, add_special_tokens=False).offsets
        return offsets


@lru_cache
def _minilm() -> RustTokenizer:
    data = (resources.files("pincite") / "encoders" / "minilm" / "tokenizer.json").read_text("utf-8")
    tokenizer = RustTokenizer.from_str(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


TOKENIZERS: list[Tokenizer] = [ToyCharacters(), ToyWords(), ToyBytes(), ToyContextual(), MiniLM()]
CHUNKERS: dict[str, Callable[[Tokenizer, int], Chunker]] = {
    "window": lambda tokenizer, size: WindowChunker(tokenizer, size=size),
    "window-overlap": lambda tokenizer, size: WindowChunker(tokenizer, size=size, overlap=size // 3),
    "window-overlap-most": lambda tokenizer, size: WindowChunker(tokenizer, size=size, overlap=size - 1),
    "structure": lambda tokenizer, size: StructureChunker(tokenizer, size=size),
    "structure-overlap": lambda tokenizer, size: StructureChunker(
        tokenizer, size=size, overlap_sentences=2 if size != 2 and size != 1 else 0
    ),
    "sentences": lambda tokenizer, size: SentenceChunker(tokenizer, size=size),
    "sentences-overlap": lambda tokenizer, size: SentenceChunker(
        tokenizer, size=size, overlap_sentences=3 if size > 3 else 0
    ),
    "sentence-window": lambda tokenizer, size: SentenceWindowChunker(tokenizer, size=size, window=2),
    "parent-child": lambda tokenizer, size: ParentChildChunker(tokenizer, size=size, parent_size=max(2, size) * 3),
    "parent-child-near": lambda tokenizer, size: ParentChildChunker(tokenizer, size=size, parent_size=max(1, size) + 1),
}
#: Which recipes follow the headings: none of their chunks reaches over one of its own level or further out.
STRUCTURED = (StructureChunker, SentenceWindowChunker, ParentChildChunker)

every = pytest.mark.parametrize(
    ("make", "tokenizer"),
    [
        pytest.param(make, tokenizer, id=f"{name}-{type(tokenizer).__name__}")
        for name, make in CHUNKERS.items()
        for tokenizer in TOKENIZERS
    ],
)

PIECES = [
    "The tenant shall pay rent. ",
    "See s. 302 and Art. 5. ",
    "word ",
    "unreasonablylongcompoundword ",
    "\n",
    "\n\n",
    "\n \n",
    "   ",
    "第一条。この法律は、公布の日から施行する。",
    "東京都",
    "กำหนดให้ผู้เช่าชำระค่าเช่า",
    "👨‍👩‍👧‍👦",
    "🇳🇴🇮🇳",
    "👍🏽 ",
    "e\u0301e\u0301",
    "q" + "\u0301\u0302\u0323" * 5,
    " \u0301",
    "हिन्दी में लिखा क्षेत्र है। ",
    "هل هذا نص؟ نعم. ",
    "שלום ",
    "한국어 각각",
    "\u0600 1",
    "\u200b",
    "\r\n",
    "\x85",
    "\u2028",
    "```py\na = 1\n\nb = 2\n```\n",
    "```\n",
    "~~~~ text\n    indented | a\n```\n\nmore\n~~~~\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "Table 1\n| a | b |\n| c | d |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
    "\nname | unit | value\nlow | s | 1\nhigh | ms | 2\nmean | ms | 3\n",
    "(a) first; or\n(b) second;\n",
    '{"key":[1,2,3]},',
    "x" * 40,
]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    parts: list[str] = []
    headings: list[Heading] = []
    pages: list[Page] = []
    length = page_start = 0
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.integers(0, 9))
        if kind <= 1:
            level = draw(st.integers(1, 3))
            title = draw(
                st.sampled_from(["Scope", "Part II", "302. Murder", "第二章", "A very long heading of many words"])
            )
            line = "#" * level + " " + title
            headings.append(Heading(level, title, length, length + len(line)))
            piece = line + draw(st.sampled_from(["\n", "\n\n", " \n\n\n"]))
        elif kind == 2 and length > page_start:
            pages.append(Page(len(pages) + 1, page_start, length))
            page_start = length
            piece = "\n"
        elif kind == 3:
            piece = draw(st.text(max_size=12))
        else:
            piece = draw(st.sampled_from(PIECES)) * draw(st.integers(1, 4))
        parts.append(piece)
        length += len(piece)
    return document("".join(parts), headings=tuple(headings), pages=tuple(pages))


def document(text: str, headings: tuple[Heading, ...] = (), pages: tuple[Page, ...] = ()) -> Document:
    return Document("doc", text, "t", "file:///t", "text/plain", "0" * 64, 3, headings=headings, pages=pages)


def cluster_bounds(text: str) -> list[tuple[int, int]]:
    return [m.span() for m in regex.finditer(r"\X", text)]


def check(doc: Document, chunker: Chunker, tokenizer: Tokenizer, size: int) -> list[Chunk]:
    chunks = list(chunker.chunk(doc))
    text = doc.text
    covered = bytearray(len(text))
    clusters = {p: (a, b) for a, b in cluster_bounds(text) for p in range(a + 1, b)}
    for ordinal, chunk in enumerate(chunks):
        assert chunk.ordinal == ordinal
        assert chunk.id == f"doc.3.{ordinal}"
        assert (chunk.document_id, chunk.version) == ("doc", 3)
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text
        assert chunk.text == chunk.text.strip()
        assert chunk.page == doc.page_at(chunk.start)
        if ordinal:
            before = chunks[ordinal - 1]
            assert before.start < chunk.start
            assert before.end < chunk.end
        encoded = encoded_text(chunk.headings, chunk.text, chunk.before, chunk.after)
        assert encoded.endswith(chunk.reading)
        tokens = len(tokenizer.spans(encoded))
        assert tokens <= size or len(chunk.text) == 1, (tokens, chunk)
        parent = chunk.parent or (chunk.start, chunk.end)
        assert 0 <= parent[0] <= chunk.start < chunk.end <= parent[1] <= len(text)
        assert chunk.parent != (chunk.start, chunk.end)
        assert not text[parent[0]].isspace()
        assert not text[parent[1] - 1].isspace()
        for cut in (chunk.start, chunk.end, *parent):
            if cut not in clusters or text[cut - 1].isspace() or text[cut].isspace():
                continue
            a, b = clusters[cut]
            assert len(tokenizer.spans(text[a:b])) > size or b - a > 512, (cut, chunk)
        covered[chunk.start : chunk.end] = b"\x01" * (chunk.end - chunk.start)
        above = [heading for heading in doc.headings if heading.start <= chunk.start]
        within = [heading for heading in doc.headings if chunk.start < heading.start < chunk.end]
        if chunk.headings:  # the inner end of the headings in force where the chunk's own words begin
            paths = [doc.heading_path(at) for at in (chunk.start, *(heading.start for heading in within))]
            assert any(path[-len(chunk.headings) :] == chunk.headings for path in paths)
        if isinstance(chunker, STRUCTURED):
            assert all(above and heading.level > above[-1].level for heading in within), chunk
    missing = [i for i, c in enumerate(text) if not covered[i] and not c.isspace()]
    assert not missing
    return chunks


@every
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(doc=documents(), size=st.sampled_from([1, 2, 5, 9, 16, 40, 254]))
def test_contract(make: Callable[[Tokenizer, int], Chunker], tokenizer: Tokenizer, doc: Document, size: int) -> None:
    chunker = make(tokenizer, size)
    chunks = check(doc, chunker, tokenizer, size)
    assert list(chunker.chunk(doc)) == chunks


@every
@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\u2028\u3000"])
def test_blank_documents_have_no_chunks(
    make: Callable[[Tokenizer, int], Chunker], tokenizer: Tokenizer, text: str
) -> None:
    assert list(make(tokenizer, 8).chunk(document(text))) == []


@every
def test_one_piece_many_times(make: Callable[[Tokenizer, int], Chunker], tokenizer: Tokenizer) -> None:
    for piece in PIECES:
        doc = document(piece * 8)
        for size in (7, 50):
            check(doc, make(tokenizer, size), tokenizer, size)


@every
def test_short_document_is_one_chunk(make: Callable[[Tokenizer, int], Chunker], tokenizer: Tokenizer) -> None:
    chunker = make(tokenizer, 200)
    text = "One sentence." if isinstance(chunker, SentenceWindowChunker) else "One sentence. And another."
    (chunk,) = chunker.chunk(document(f"\n  {text}\n"))
    assert (chunk.text, chunk.start, chunk.end) == (text, 3, 3 + len(text))


@every
@pytest.mark.parametrize("size", [0, -1, -130, True, 2.5])
def test_impossible_sizes_are_refused_at_once(
    make: Callable[[Tokenizer, int], Chunker], tokenizer: Tokenizer, size: int
) -> None:
    with pytest.raises(ConfigError, match="size is"):
        make(tokenizer, size)


@every
def test_is_a_chunker(make: Callable[[Tokenizer, int], Chunker], tokenizer: Tokenizer) -> None:
    assert isinstance(make(tokenizer, 9), Chunker)


class ToyCounting:
    """Counts what it is asked to do: a word is a token, a long one every eight characters."""

    def __init__(self) -> None:
        self.characters = 0
        self.calls = 0

    def spans(self, text: str) -> list[tuple[int, int]]:
        self.characters += len(text)
        self.calls += 1
        return [m.span() for m in re.finditer(r"\S{1,8}", text)]


UNITS = [
    '{"a":1},',
    "東京タワーは高い",
    "x",
    "word ",
    "A sentence. ",
    "Para.\n\n",
    "ก็ไม่",
    "e\u0301",
    " ",
    "# H\n",
    "| r |\n",
    "r | s\n",
    "```\na\n",
    "```\na\n```\n",
    "| h | i |\n|---|---|\n| r | s |\n\n",
    "No. ",
]


@pytest.mark.parametrize("name", sorted(CHUNKERS.keys() - {"window-overlap-most", "parent-child-near"}))
@pytest.mark.parametrize("unit", UNITS)
def test_work_is_linear(name: str, unit: str) -> None:
    """Twice the text costs little more than twice the tokenizing, and each character is seen a few times only."""
    work = []
    for length in (12_000, 24_000):
        text = (unit * length)[:length]
        count = length // 4 if unit == "# H\n" else 0
        headings = tuple(Heading(1 + i % 2, "H", i * 4, i * 4 + 3) for i in range(count))
        tokenizer = ToyCounting()
        for _ in CHUNKERS[name](tokenizer, 30).chunk(document(text, headings)):
            pass
        assert tokenizer.characters <= 12 * length + 10_000
        work.append(tokenizer.characters + 100 * tokenizer.calls)
    assert work[1] <= 2.1 * work[0] + 10_000
