"""Text to tokens and back, as llama.cpp does it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pincite.errors import ConfigError

if TYPE_CHECKING:
    from pincite.protocols import Context

__all__ = ["Vocabulary"]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""How a vocabulary of whole characters writes the tokens that are single bytes."""


class Vocabulary:
    """The tokens of a loaded model.

    `vocabulary` is cyllama's. With `end_at_newline` every token that begins with a line feed ends an answer, beside the
    model's own end tokens. Raises ConfigError for a model without any.
    """

    def __init__(self, vocabulary: Any, end_at_newline: bool) -> None:
        self._own = vocabulary
        self.size = int(vocabulary.n_vocab)
        self._characters = _byte_level() if vocabulary.vocab_type == 2 else None
        self.ends = frozenset(
            i
            for i in range(self.size)
            if vocabulary.is_eog(i) or (end_at_newline and vocabulary.token_to_piece(i, 0, False).startswith("\n"))
        )
        if not self.ends:
            raise ConfigError("the model has no token that ends a text; choose another")
        # A tokenizer that puts a space before every text is given a line feed first, so that the space is not ours.
        plain = self._cut("a")
        self._lead = self._cut("\n") if plain and vocabulary.get_text(plain[0]).startswith("▁") else []

    def _cut(self, text: str, *, begin: bool = False) -> list[int]:
        # `parse_special` is off: what looks like a control token in a document is text.
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return [int(token) for token in self._own.tokenize(readable, begin, False)]

    def cut(self, text: str) -> list[int]:
        """The tokens of `text`, and nothing else."""
        if not text:
            return []
        if self._lead:
            tokens = self._cut(f"\n{text}")
            if tokens[: len(self._lead)] == self._lead:
                return tokens[len(self._lead) :]
        return self._cut(text)

    def context(self, parts: Context) -> list[list[int]]:
        """The tokens of each part; those with which the model wants every text begun stand in the first."""
        cut = [self.cut(part) for part in parts]
        if cut and self._own.get_add_bos():
            cut[0].insert(0, int(self._own.token_bos()))
        return cut

    def piece(self, token: int) -> bytes:
        """What a token writes; control tokens write nothing."""
        if self._own.is_control(token):
            return b""
        text = self._own.get_text(token)
        if self._characters is not None and all(c in self._characters for c in text):
            return bytes(self._characters[c] for c in text)
        if found := _BYTE.fullmatch(text):
            return bytes([int(found[1], 16)])
        return str(self._own.token_to_piece(token, 0, False)).encode("utf-8", "replace")


def _byte_level() -> dict[str, int]:
    """The letter by which a byte-level vocabulary (GPT-2's and its children) writes each byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in shown}
    letters.update((chr(0x100 + i), byte) for i, byte in enumerate(b for b in range(256) if b not in shown))
    return letters
