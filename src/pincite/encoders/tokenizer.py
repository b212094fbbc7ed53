"""The encoder's own tokenizer, as chunkers and encoders use it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Encoding
    from tokenizers import Tokenizer as RustTokenizer

__all__ = ["FastTokenizer"]


class FastTokenizer:
    """A ``tokenizer.json``, read at first use.

    Whatever truncation and padding the file asks for is switched off: `spans` never truncates, `encode` truncates at
    `max_length` positions.
    """

    def __init__(self, path: Path, *, max_length: int) -> None:
        self.path = path
        self.max_length = max_length

    def _read(self) -> RustTokenizer:
        from tokenizers import Tokenizer as RustTokenizer

        if not self.path.is_file():
            raise InputError(f"there is no tokenizer at {self.path}; expected a file named tokenizer.json")
        try:
            tokenizer = RustTokenizer.from_file(str(self.path))
        except Exception as error:  # the library raises no type of its own
            raise InputError(f"{self.path} is not a tokenizer: {error}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    # Truncation is a setting of the object, so counting and encoding have one each: neither can disturb the other
    # in another thread.
    @cached_property
    def _counting(self) -> RustTokenizer:
        return self._read()

    @cached_property
    def _encoding(self) -> RustTokenizer:
        tokenizer = self._read()
        tokenizer.enable_truncation(max_length=self.max_length)
        return tokenizer

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character ranges of the tokens of `text`, without special tokens; see `pincite.protocols.Tokenizer`."""
        offsets: list[tuple[int, int]] = self._counting.encode(_as_text(text), add_special_tokens=False).offsets
        return offsets

    def known_spans(self, text: str) -> list[tuple[int, int]]:
        """As `spans`, without the tokens that stand for what the vocabulary does not know."""
        encoding = self._counting.encode(_as_text(text), add_special_tokens=False)
        unknown = {getattr(self._counting.model, "unk_token", None), "[UNK]", "<unk>"}
        return [span for span, token in zip(encoding.offsets, encoding.tokens, strict=True) if token not in unknown]

    def special_tokens(self) -> int:
        """How many special tokens the model's template adds around one text."""
        return int(self._encoding.num_special_tokens_to_add(False))

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Token ids of each text with special tokens, `max_length` in all at most."""
        clean = [_as_text(text) for text in texts]
        encodings: list[Encoding] = self._encoding.encode_batch(clean, add_special_tokens=True)
        return encodings


def _as_text(text: str) -> str:
    """A question mark for each lone surrogate, which is no text and which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")
