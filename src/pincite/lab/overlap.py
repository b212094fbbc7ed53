"""Windows that overlap: how many there are, what is read twice, and what becomes of sentences at a border."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from pincite.chunkers.window import WindowChunker
from pincite.errors import InputError
from pincite.lab.record import Lesson, Step, Value
from pincite.sentences import sentence_spans
from pincite.types import Document

__all__ = ["TEXT", "Words", "lesson"]

TEXT = (
    "The tenant pays the rent on the first day of each month. The landlord keeps the roof and the walls in repair. "
    "Either side may end this contract in writing, with three months' notice. "
    "A deposit of two months' rent is due before the keys are handed over. "
    "It is paid back within thirty days of the end of the contract, less the cost of damage."
)


class Words:
    """A tokenizer for examples: every run of characters that are not white space is one token."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """See `pincite.protocols.Tokenizer`."""
        return [match.span() for match in re.finditer(r"\S+", text)]


def lesson(text: str = TEXT, size: int = 20, overlap: int = 5) -> Lesson:
    """`text` cut into windows of `size` tokens without and with `overlap`. Tokens are words here.

    Raises InputError for a text without a word, ConfigError where `overlap` is not less than `size`.
    """
    tokens = Words().spans(text)
    if not tokens:
        raise InputError("the text has no word")
    sentences = [_tokens(tokens, start, end) for start, end in sentence_spans(text)]
    longest = max(last - first for first, last in sentences)
    plain, lapped = _windows(text, tokens, size, 0), _windows(text, tokens, size, overlap)
    # Windows begin every size - overlap tokens: with this one, any run as long as the longest sentence is in one.
    safe = max(0, min(longest, size) - 1)
    widest = _windows(text, tokens, size, safe)
    count = len(tokens)
    return Lesson(
        "overlap",
        "Windows that overlap, and what that costs",
        (
            Step(
                "The text",
                "A text is cut into windows of w tokens. Each begins o tokens before the last one ended. "
                "Here every word is a token.",
                values=(
                    Value("tokens N", count, "counted", "d"),
                    Value("window w", size, "given", "d"),
                    Value("overlap o", overlap, "given", "d"),
                    Value("sentences", len(sentences), "counted", "d"),
                    Value("longest sentence", longest, "tokens, counted", "d"),
                ),
            ),
            Step(
                "How many windows",
                "The first window takes w tokens. Each other one adds w − o new ones.",
                "windows = 1 + ⌈(N − w) / (w − o)⌉",
                (
                    _count("without overlap", plain, count, size, 0),
                    _count(f"with an overlap of {overlap}", lapped, count, size, overlap),
                ),
                "Counted in what the chunker gave for this very text.",
            ),
            Step(
                "Which tokens are read twice",
                "Tokens in two windows are encoded, stored and searched twice. Tokens are numbered from 1.",
                values=tuple(_twice(lapped)),
            ),
            Step(
                "What it costs",
                "Encoding time and the room of the index grow with the tokens in all windows together. "
                "For a long text that tends to w / (w − o).",
                "cost = tokens in all windows / N",
                (
                    _cost("without overlap", plain, count),
                    _cost(f"with an overlap of {overlap}", lapped, count),
                    Value("for a long text", size / (size - overlap), f"{size} / ({size} − {overlap})", ".3f", "times"),
                ),
            ),
            Step(
                "Sentences cut at a border",
                "A sentence that no window holds whole is found by halves: each half is searched by the words that "
                "happen to be in it, and a citation of it shows a torso.",
                values=(
                    *_cut("without overlap", sentences, plain),
                    *_cut(f"with an overlap of {overlap}", sentences, lapped),
                    *_cut(f"with an overlap of {safe}", sentences, widest),
                    _cost(f"cost with an overlap of {safe}", widest, count),
                ),
                after=f"A sentence of {longest} tokens is sure to be whole in some window only with an overlap of "
                f"{longest} − 1 = {longest - 1}. Cutting between sentences instead costs no overlap.",
            ),
        ),
    )


def _tokens(tokens: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The tokens inside a range of characters, half-open."""
    inside = [i for i, (first, last) in enumerate(tokens) if start <= first and last <= end]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _windows(text: str, tokens: list[tuple[int, int]], size: int, overlap: int) -> list[tuple[int, int]]:
    document = Document("text", text, "", "text", "text/plain", "")
    chunks = WindowChunker(Words(), size=size, overlap=overlap).chunk(document)
    return [_tokens(tokens, chunk.start, chunk.end) for chunk in chunks]


def _count(name: str, windows: list[tuple[int, int]], count: int, size: int, overlap: int) -> Value:
    by_formula = 1 + max(0, math.ceil((count - size) / (size - overlap)))
    how = f"1 + ⌈({count} − {size}) / ({size} − {overlap})⌉ = {by_formula}; counted"
    return Value(name, len(windows), how, "d", "windows")


def _twice(windows: list[tuple[int, int]]) -> list[Value]:
    values = []
    for number, ((_, end), (start, _)) in enumerate(pairwise(windows), 1):
        how = f"tokens {start + 1} to {end}" if end > start else "none"
        values.append(Value(f"windows {number} and {number + 1}", end - start, how, "d"))
    times = Counter(i for first, last in windows for i in range(first, last))
    again = sum(1 for each in times.values() if each > 1)
    return [*values, Value("tokens read more than once", again, "counted over all windows", "d")]


def _cost(name: str, windows: list[tuple[int, int]], count: int) -> Value:
    read = sum(last - first for first, last in windows)
    return Value(name, read / count, f"{read} / {count}", ".3f", "times")


def _cut(name: str, sentences: list[tuple[int, int]], windows: list[tuple[int, int]]) -> list[Value]:
    cut = [
        number
        for number, (first, last) in enumerate(sentences, 1)
        if not any(a <= first and last <= b for a, b in windows)
    ]
    how = f"number {', '.join(map(str, cut))} of {len(sentences)}" if cut else f"none of {len(sentences)}"
    lost = [max(min(b, sentences[n - 1][1]) - max(a, sentences[n - 1][0]) for a, b in windows) for n in cut]
    whole = [sentences[n - 1][1] - sentences[n - 1][0] for n in cut]
    values = [Value(f"sentences cut, {name}", len(cut), how, "d")]
    if cut:
        how = f"{', '.join(f'{a} of {b} tokens' for a, b in zip(lost, whole, strict=True))}"
        share = math.fsum(a / b for a, b in zip(lost, whole, strict=True)) / len(cut)
        values.append(Value("  largest piece left, on average", share, how, ".3f"))
    return values
