"""Windows of a fixed number of tokens."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.chunkers.ids import chunk_id
from pincite.chunkers.pack import Graphemes, TokenMap, check_size, largest_fit, max_characters, trim
from pincite.errors import ConfigError
from pincite.protocols import Tokenizer
from pincite.types import Chunk, Document

__all__ = ["WindowChunker"]


class WindowChunker:
    """Cuts a document every `size` tokens; each window begins `overlap` tokens before the last one ended.

    Tokens are those of `tokenizer`, which should be the encoder's. Cuts are moved back to the boundary of a
    grapheme cluster, so a window may hold a little less than `size`, never more as counted on its own text. Two
    exceptions are forced: a cluster that alone is over the limit is cut between code points, and a code point that
    alone is over the limit is a chunk by itself. Chunks have no headings.

    Raises ConfigError when `size` is below 1, `overlap` is negative, or `overlap` is not less than `size`.
    """

    name = "window"

    def __init__(self, tokenizer: Tokenizer, *, size: int, overlap: int = 0) -> None:
        self.tokenizer = tokenizer
        self.size = check_size(self.name, size)
        if isinstance(overlap, bool) or not isinstance(overlap, int) or overlap < 0:
            raise ConfigError(f"{self.name}: overlap is {overlap!r}; it must be a number of tokens of at least 0")
        if overlap >= size:
            raise ConfigError(
                f"{self.name}: overlap is {overlap} and size is {size}; overlap (chunk.overlap in the settings) must "
                "be less than size (chunk.size; unset: what the encoder takes), "
                "or no window would begin after the one before it"
            )
        self.overlap = overlap

    def chunk(self, document: Document) -> Iterator[Chunk]:
        """Chunks of `document` in reading order; see `pincite.protocols.Chunker`."""
        text = document.text
        start, last = trim(text, 0, len(text))
        if start == last:
            return
        graphemes = Graphemes(text)
        tokens = TokenMap(self.tokenizer, text, graphemes)
        ordinal = 0
        covered = start
        while True:
            end = self._end(text, start, last, tokens, graphemes)
            a, b = trim(text, start, end)
            # A window that adds nothing to the one before it (its end could not move on) is left out.
            if b > covered:
                yield Chunk(
                    id=chunk_id(document.id, document.version, ordinal),
                    document_id=document.id,
                    version=document.version,
                    text=text[a:b],
                    start=a,
                    end=b,
                    ordinal=ordinal,
                    page=document.page_at(a),
                )
                ordinal += 1
                covered = b
            if end >= last:
                return
            start = self._next_start(text, start, end, tokens, graphemes)

    def _end(self, text: str, start: int, last: int, tokens: TokenMap, graphemes: Graphemes) -> int:
        limit = min(last, tokens.advance(start, self.size), start + max_characters(self.size))

        def at_grapheme(limit: int) -> int | None:
            end = graphemes.before(limit)
            return end if end > start else None

        def excess(end: int) -> int | None:
            a, b = trim(text, start, end)
            spans = self.tokenizer.spans(text[a:b])
            return a + spans[self.size][0] if len(spans) > self.size else None

        end = largest_fit(start, limit, at_grapheme, excess)
        if end is None:
            end = largest_fit(start, max(limit, start + 1), lambda limit: limit, excess)
        return end if end is not None else start + 1

    def _next_start(self, text: str, start: int, end: int, tokens: TokenMap, graphemes: Graphemes) -> int:
        """A boundary in (start, end]: where the overlap begins, or the first place after `start` if that is later."""
        begin = end
        if self.overlap:
            begin = graphemes.before(tokens.start(max(tokens.before(end) - self.overlap, 0)))
        if begin <= start:
            begin = graphemes.after(start + 1)
        begin = min(begin, end)
        while begin < len(text) and text[begin].isspace():
            begin += 1
        return begin
