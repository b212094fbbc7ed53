"""What the scorers of encoder-decoder models share: loading T5, BART and their kind, encoding, and the decoder's state.

Where an answer begins. The decoder is given the start token that the generation configuration states
(``decoder_start_token_id``: ``</s>`` for BART, the padding token for T5), and then the first token, if there is one:
what the configuration forces (``forced_bos_token_id``: ``<s>`` for BART, the language for mBART), or else the ``<s>``
that the tokenizer puts before every text, as those were the answers of the training. Both stand before the answer and
have no probability of their own: `generate` of transformers gives a forced token probability 1, and RAG leaves it out
of its scores (``exclude_bos_score``). The answer's tokens follow, and the end token closes it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pincite.errors import BackendError, InputError
from pincite.protocols import NextTokens
from pincite.scorers.base import (
    Dtype,
    Words,
    batches,
    cache_keyword,
    check_contexts,
    check_extension,
    check_settings,
    check_tokens,
    end_ids,
    load_model,
    load_tokenizer,
    log_softmax,
    model_folder,
    pick,
    read_config,
    score_batches,
    select_rows,
    short_name,
    vocabulary_size,
)

if TYPE_CHECKING:
    from pincite.protocols import Context, Matrix

__all__ = ["DecoderReading", "EncoderDecoder"]

#: Published RAG checkpoints: a question encoder and, under ``generator``, the model that writes.
_RAG = ("RagSequenceForGeneration", "RagTokenForGeneration", "RagModel")


class _Loaded(NamedTuple):
    model: Any
    words: Words
    ends: frozenset[int]
    start: list[int]  #: what the decoder is given before an answer
    vocabulary: int
    limit: int | None  #: tokens that encoder and decoder have positions for, each


class EncoderDecoder:
    """An encoder-decoder model of transformers, loaded at first use, from safetensors only.

    The folder may be a RAG checkpoint (``facebook/rag-sequence-nq``): its generator and the generator's tokenizer are
    taken out of it. Never with code of the folder's own. May be used from several threads.

    Parameters
        path_or_name: a folder, or a hub name ``owner/model``.
        device: where the model runs, as torch names it: ``cpu``, ``cuda``, ``mps``.
        dtype: of weights and activations. Log-probabilities are float32 in any case. T5 overflows in float16.
        max_rows: the most rows of one pass when contexts are encoded and continuations scored; bounds the memory.
        max_tokens: the most tokens of a context, special ones included; by default as many as the model has positions
            for. T5 has no such number: its positions are relative.
        force_first: give the decoder the first token too, see above. Off, the model is free to choose it, it counts,
            and a given answer is scored as if it began without it.
        special_tokens: read special tokens that are written out in contexts as such. By default they are ordinary
            text, so that no passage can end itself.
    """

    kind = "transformers"  #: first half of `name`
    encodes = True  #: contexts go through an encoder, and an answer is a text of its own

    def __init__(
        self,
        path_or_name: str,
        *,
        device: str = "cpu",
        dtype: Dtype = "float32",
        max_rows: int = 16,
        max_tokens: int | None = None,
        force_first: bool = True,
        special_tokens: bool = False,
    ) -> None:
        check_settings(device, dtype, max_rows, max_tokens)
        self.path_or_name = path_or_name
        self.device = device
        self.dtype: Dtype = dtype
        self.max_rows = max_rows
        self.max_tokens = max_tokens
        self.force_first = force_first
        self.special_tokens = special_tokens
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        return short_name(self.path_or_name, self.kind)

    @property
    def ends(self) -> frozenset[int]:
        return self._load().ends

    @property
    def widest(self) -> int | None:
        return None

    def encode(self, text: str) -> list[int]:
        return self._load().words.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        loaded = self._load()
        return loaded.words.decode([token for token in tokens if token not in loaded.ends])

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _encoded(self, contexts: Sequence[Context]) -> tuple[_Loaded, list[Any]]:
        """The encoder's states of each context alone, each of shape (its tokens, model dimension).

        The parts of a context are read as one text, with the special tokens that the tokenizer puts around it.
        Raises InputError for no contexts and for one too long.
        """
        import torch

        check_contexts(contexts)
        loaded = self._load()
        ids = [loaded.words.framed("".join(each)) for each in contexts]
        limit = self.max_tokens or loaded.limit
        for index, each in enumerate(ids):
            if not each:
                raise InputError(f"context {index} is empty, and this model puts no token around it")
            if limit is not None and len(each) > limit:
                raise InputError(f"context {index} has {len(each)} tokens; {self.name} reads {limit}: shorten it")
        states: dict[int, Any] = {}
        with torch.inference_mode():
            for batch in batches([len(each) for each in ids], self.max_rows):
                width = max(len(ids[index]) for index in batch)
                tokens = torch.zeros((len(batch), width), dtype=torch.long, device=loaded.model.device)
                mask = torch.zeros_like(tokens)
                for row, index in enumerate(batch):
                    tokens[row, : len(ids[index])] = torch.tensor(ids[index])
                    mask[row, : len(ids[index])] = 1
                try:
                    encoded = loaded.model.get_encoder()(input_ids=tokens, attention_mask=mask)[0]
                except (RuntimeError, ValueError, TypeError, IndexError) as error:
                    raise BackendError(
                        f"the encoder failed on a batch of shape {tuple(tokens.shape)}: {error}"
                    ) from error
                for row, index in enumerate(batch):
                    states[index] = encoded[row, : len(ids[index])]
        return loaded, [states[index] for index in range(len(ids))]

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                folder = model_folder(self.path_or_name)
                model, tokens = self._model(folder)
                words = Words(load_tokenizer(tokens, model.config), continues=False, special=self.special_tokens)
                self._loaded = self._described(model, words)
            return self._loaded

    def _model(self, folder: Path) -> tuple[Any, Path]:
        """The model, and the folder of its tokenizer."""
        stated = read_config(folder)
        if stated.get("model_type") != "rag":
            return load_model(folder, "AutoModelForSeq2SeqLM", device=self.device, dtype=self.dtype), folder
        kind = next((each for each in stated.get("architectures") or () if each in _RAG), "RagModel")
        tokens = folder / "generator_tokenizer"
        if not tokens.is_dir():
            raise InputError(f"{folder} is a RAG checkpoint without the folder generator_tokenizer")
        # The question encoder is freed with the checkpoint.
        checkpoint = load_model(folder, kind, device=self.device, dtype=self.dtype)
        return checkpoint.generator, tokens

    def _described(self, model: Any, words: Words) -> _Loaded:
        # A generator that was part of another model may state nothing but in its own configuration.
        generation, config = model.generation_config, model.config
        tokenizer = words.tokenizer

        def stated(name: str) -> Any:
            value = getattr(generation, name, None)
            return getattr(config, name, None) if value is None else value

        start = stated("decoder_start_token_id")
        if start is None:
            raise InputError(f"{self.name} states no decoder_start_token_id: nothing would begin an answer")
        forced = stated("forced_bos_token_id")
        if forced is None and words.opening == [tokenizer.bos_token_id]:
            forced = tokenizer.bos_token_id
        vocabulary = vocabulary_size(model)
        eos = stated("eos_token_id")
        ends = end_ids(tokenizer.eos_token_id if eos is None else eos)
        ends = frozenset(each for each in ends if 0 <= each < vocabulary)
        if not ends:
            raise InputError(f"{self.name} states no end token: nothing would end an answer")
        begins = [int(start), int(forced)] if self.force_first and forced is not None else [int(start)]
        limit = getattr(config, "max_position_embeddings", None)
        return _Loaded(model, words, ends, begins, vocabulary, limit)


class DecoderReading:
    """Encoded contexts and the decoder's cache, one row each. See `Reading`."""

    def __init__(self, loaded: _Loaded, states: Sequence[Any], max_rows: int) -> None:
        """`states`: for each row the encoder's states that the decoder attends to, of shape (tokens, dimension)."""
        import torch
        from transformers import DynamicCache, EncoderDecoderCache

        self.computed = 0  #: positions that went through the decoder so far, padding included
        self._loaded: _Loaded | None = loaded
        self._max_rows = max_rows
        self._device = loaded.model.device
        self._ends = torch.tensor(sorted(loaded.ends), device=self._device)
        with torch.inference_mode():
            self._states = torch.nn.utils.rnn.pad_sequence(list(states), batch_first=True)
            self._mask = torch.zeros(self._states.shape[:2], dtype=torch.long, device=self._device)
            for row, each in enumerate(states):
                self._mask[row, : each.shape[0]] = 1
            self._cache: Any = EncoderDecoderCache(DynamicCache(), DynamicCache())
            begin = torch.tensor([loaded.start] * len(states), device=self._device)
            self._logprobs: Any = log_softmax(self._decode(begin, self._states, self._mask, self._cache)[:, -1])

    @property
    def rows(self) -> int:
        return int(self._mask.shape[0])

    def next_tokens(self, width: int | None = None) -> NextTokens:  # noqa: ARG002 - the whole vocabulary is there
        self._open()
        return NextTokens(self._logprobs.cpu().numpy().copy())

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """See `Reading.extend`. Raises InputError where the decoder has no position left."""
        import torch

        loaded = self._open()
        check_extension(rows, tokens, count=self.rows, vocabulary=loaded.vocabulary)
        self._check_room(1)
        with torch.inference_mode():
            if list(rows) != list(range(self.rows)):
                chosen = torch.tensor(list(rows), device=self._device)
                self._cache = self._selected(chosen)
                self._states, self._mask = self._states[chosen], self._mask[chosen]
            fed = torch.tensor([[token] for token in tokens], device=self._device)
            self._logprobs = log_softmax(self._decode(fed, self._states, self._mask, self._cache)[:, -1])

    def score(self, continuations: Sequence[Sequence[int]], *, end: bool = False) -> list[Matrix]:
        """See `Reading.score`: every continuation after every row, in as few batches as `max_rows` allows."""
        loaded = self._open()
        for each in continuations:
            check_tokens(each, loaded.vocabulary)
        self._check_room(max((len(each) for each in continuations), default=0))
        return score_batches(
            continuations,
            self._logprobs,
            self._ends,
            self._teach,
            end=end,
            max_rows=self._max_rows,
            vocabulary=loaded.vocabulary,
        )

    def close(self) -> None:
        self._loaded = self._cache = self._logprobs = self._states = None

    def _open(self) -> _Loaded:
        if self._loaded is None:
            raise InputError("this reading is closed")
        return self._loaded

    def _check_room(self, tokens: int) -> None:
        limit = self._open().limit
        length = int(self._cache.get_seq_length())
        if limit is not None and tokens and length + tokens > limit:
            raise InputError(f"an answer of {length + tokens} tokens is too long: the decoder has {limit} positions")

    def _selected(self, rows: Any) -> Any:
        from transformers import EncoderDecoderCache

        return EncoderDecoderCache(
            select_rows(self._cache.self_attention_cache, rows), select_rows(self._cache.cross_attention_cache, rows)
        )

    def _decode(self, tokens: Any, states: Any, mask: Any, cache: Any) -> Any:
        """Logits after each token, of one pass of the decoder, which adds to `cache`."""
        from transformers.modeling_outputs import BaseModelOutput

        model = self._open().model
        self.computed += tokens.numel()
        try:
            return model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=mask,
                decoder_input_ids=tokens,
                use_cache=True,
                **{cache_keyword(model): cache},
            ).logits
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise BackendError(f"the decoder failed on a batch of shape {tuple(tokens.shape)}: {error}") from error

    def _teach(self, jobs: Sequence[tuple[int, Sequence[int], int]]) -> tuple[Any, Any]:
        """For (row, continuation, tokens to feed): log-probabilities after each token fed: of the next, and the end.

        Two arrays of shape (jobs, most tokens fed); what is beyond a job's own length means nothing. All rows of a
        decoder are of one length, and what pads a short continuation stands after it: nothing looks at it.
        """
        import torch

        width = max(length for _, _, length in jobs)
        fed = torch.zeros((len(jobs), width), dtype=torch.long, device=self._device)
        target = torch.zeros_like(fed)
        for index, (_, tokens, length) in enumerate(jobs):
            fed[index, :length] = torch.tensor(list(tokens[:length]))
            target[index, : len(tokens) - 1] = torch.tensor(list(tokens[1:]), dtype=torch.long)
        rows = torch.tensor([row for row, _, _ in jobs], device=self._device)
        logits = self._decode(fed, self._states[rows], self._mask[rows], self._selected(rows))
        picked, stopped = pick(logits, target, self._ends)
        return picked.cpu().numpy(), stopped.cpu().numpy()
