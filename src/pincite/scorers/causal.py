"""Any decoder-only model of transformers: full log-probabilities of the token that comes next.

Needs the ``transformers`` extra. The contexts of a reading are one batch. What their tokens begin with is computed
once and handed to every row; the rest is computed in one pass with the padding at the right, and then moved so that
all rows end in the same place and the padding is at the left. In this way no padding ever stands between two tokens
of a row: distances, sliding windows and positions are those of the row alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
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
    forward_parameters,
    load_model,
    load_tokenizer,
    log_softmax,
    model_folder,
    pick,
    score_batches,
    select_rows,
    short_name,
    vocabulary_size,
)

if TYPE_CHECKING:
    from pincite.protocols import Context, Matrix

__all__ = ["CausalReading", "CausalScorer"]

#: Layers whose keys and values can be moved within a row. A recurrent state cannot be.
_LAYERS = {"full_attention", "sliding_attention"}


class _Loaded(NamedTuple):
    model: Any
    words: Words
    ends: frozenset[int]
    opening: list[int]
    vocabulary: int
    limit: int | None  #: tokens that the model has positions for


class CausalScorer:
    """A decoder-only language model of transformers (Llama, Gemma, Qwen, GPT-2 …) as a `TokenScorer`.

    Loaded at first use, from safetensors only and never with code of the folder's own; may be used from several
    threads, and any number of readings may be open. An answer ends at the end tokens of the model's generation
    configuration, and with `end_at_newline` at every token whose text begins with a line feed.

    Parameters
        path_or_name: a folder, or a hub name ``owner/model``.
        device: where the model runs, as torch names it: ``cpu``, ``cuda``, ``mps``.
        dtype: of weights and activations. Log-probabilities are float32 in any case.
        max_rows: the most rows of one pass when contexts are read and continuations scored; bounds the memory.
        max_tokens: the most tokens of a context; by default as many as the model has positions for.
        end_at_newline: right for a base model that writes a line and goes on to the next example. A model that
            answers in paragraphs wants it off.
        special_tokens: read special tokens that are written out in contexts as such, as a chat's frame needs. By
            default they are ordinary text, so that no passage can forge one.
    """

    encodes = False  #: an answer goes on where its context stops

    def __init__(
        self,
        path_or_name: str,
        *,
        device: str = "cpu",
        dtype: Dtype = "float32",
        max_rows: int = 16,
        max_tokens: int | None = None,
        end_at_newline: bool = True,
        special_tokens: bool = False,
    ) -> None:
        check_settings(device, dtype, max_rows, max_tokens)
        self.path_or_name = path_or_name
        self.device = device
        self.dtype: Dtype = dtype
        self.max_rows = max_rows
        self.max_tokens = max_tokens
        self.end_at_newline = end_at_newline
        self.special_tokens = special_tokens
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        return short_name(self.path_or_name)

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

    def read(self, contexts: Sequence[Context]) -> CausalReading:
        """Read the contexts, each after the special tokens that the tokenizer begins a text with.

        Raises InputError for none, an empty one and one too long, BackendError when the model fails.
        """
        check_contexts(contexts)
        loaded = self._load()
        ids = [loaded.opening + [i for part in each for i in loaded.words.encode(part)] for each in contexts]
        limit = self.max_tokens or loaded.limit
        for index, each in enumerate(ids):
            if not each:
                raise InputError(f"context {index} is empty, and this model begins with no token of its own")
            if limit is not None and len(each) > limit:
                raise InputError(f"context {index} has {len(each)} tokens; {self.name} reads {limit}: shorten it")
        return CausalReading(loaded, ids, self.max_rows)

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                folder = model_folder(self.path_or_name)
                model = load_model(folder, "AutoModelForCausalLM", device=self.device, dtype=self.dtype)
                config = model.config.get_text_config()
                if unknown := set(getattr(config, "layer_types", None) or ()) - _LAYERS:
                    raise BackendError(
                        f"{self.name} has layers of a kind whose memory cannot be moved: {', '.join(sorted(unknown))}"
                    )
                words = Words(load_tokenizer(folder, model.config), continues=True, special=self.special_tokens)
                stated = getattr(model.generation_config, "eos_token_id", None)
                ends = end_ids(getattr(config, "eos_token_id", None) if stated is None else stated)
                if self.end_at_newline:
                    ends |= words.newlines()
                vocabulary = vocabulary_size(model)
                ends = frozenset(each for each in ends if 0 <= each < vocabulary)
                if not ends:
                    raise InputError(f"{self.name} states no end token: nothing would end an answer")
                limit = getattr(config, "max_position_embeddings", None)
                self._loaded = _Loaded(model, words, ends, words.opening, vocabulary, limit)
            return self._loaded


class CausalReading:
    """Contexts in the cache of keys and values of a decoder-only model, one row each. See `CausalScorer`."""

    def __init__(self, loaded: _Loaded, contexts: Sequence[Sequence[int]], max_rows: int) -> None:
        import torch

        self.computed = 0  #: positions that went through the model so far, padding included
        self._loaded: _Loaded | None = loaded
        self._max_rows = max_rows
        self._device = loaded.model.device
        self._ends = torch.tensor(sorted(loaded.ends), device=self._device)
        with torch.inference_mode():
            self._cache, self._mask = self._prefill(contexts)
            self._logprobs: Any = self._step([each[-1] for each in contexts])

    @property
    def rows(self) -> int:
        return int(self._mask.shape[0])

    def next_tokens(self, width: int | None = None) -> NextTokens:  # noqa: ARG002 - the whole vocabulary is there
        self._open()
        return NextTokens(self._logprobs.cpu().numpy().copy())

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """See `Reading.extend`. Raises InputError where the model has no position left."""
        import torch

        loaded = self._open()
        check_extension(rows, tokens, count=self.rows, vocabulary=loaded.vocabulary)
        self._check_room(1)
        with torch.inference_mode():
            if list(rows) != list(range(self.rows)):
                chosen = torch.tensor(list(rows), device=self._device)
                self._cache.batch_select_indices(chosen)
                self._mask = self._mask[chosen]
            self._logprobs = self._step(tokens)

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
        self._loaded = self._cache = self._logprobs = None

    def _open(self) -> _Loaded:
        if self._loaded is None:
            raise InputError("this reading is closed")
        return self._loaded

    def _check_room(self, tokens: int) -> None:
        limit = self._open().limit
        longest = int(self._mask.sum(dim=1).max())
        if limit is not None and tokens and longest + tokens > limit:
            raise InputError(f"{longest} tokens and {tokens} more are too long: the model has {limit} positions")

    def _forward(self, tokens: Any, mask: Any, positions: Any, cache: Any, keep: int) -> Any:
        """Logits of the last `keep` positions of one pass, which adds to `cache`; all where the model knows no less."""
        model = self._open().model
        known = forward_parameters(model)
        arguments: dict[str, Any] = {cache_keyword(model): cache, "use_cache": True, "attention_mask": mask}
        if "position_ids" in known:
            arguments["position_ids"] = positions
        if "logits_to_keep" in known:
            arguments["logits_to_keep"] = keep
        self.computed += tokens.numel()
        try:
            return model(input_ids=tokens, **arguments).logits[:, -keep:]
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise BackendError(f"the model failed on a batch of shape {tuple(tokens.shape)}: {error}") from error

    def _step(self, tokens: Sequence[int]) -> Any:
        """Each row followed by its token: log-probabilities of what comes next, shape (rows, vocabulary)."""
        import torch

        fed = torch.tensor([[token] for token in tokens], device=self._device)
        positions = self._mask.sum(dim=1, keepdim=True)
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        return log_softmax(self._forward(fed, self._mask, positions, self._cache, 1)[:, -1])

    def _teach(self, jobs: Sequence[tuple[int, Sequence[int], int]]) -> tuple[Any, Any]:
        """For (row, continuation, tokens to feed): log-probabilities after each token fed: of the next, and the end.

        Two arrays of shape (jobs, most tokens fed); what is beyond a job's own length means nothing.
        """
        import torch

        width = max(length for _, _, length in jobs)
        fed = torch.zeros((len(jobs), width), dtype=torch.long, device=self._device)
        target = torch.zeros_like(fed)
        valid = torch.zeros_like(fed)
        for index, (_, tokens, length) in enumerate(jobs):
            fed[index, :length] = torch.tensor(list(tokens[:length]))
            target[index, : len(tokens) - 1] = torch.tensor(list(tokens[1:]), dtype=torch.long)
            valid[index, :length] = 1
        rows = torch.tensor([row for row, _, _ in jobs], device=self._device)
        mask = self._mask[rows]
        positions = mask.sum(dim=1, keepdim=True) + (valid.cumsum(dim=1) - 1).clamp(min=0)
        logits = self._forward(fed, torch.cat([mask, valid], dim=1), positions, select_rows(self._cache, rows), width)
        picked, stopped = pick(logits, target, self._ends)
        return picked.cpu().numpy(), stopped.cpu().numpy()

    def _prefill(self, contexts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """A cache of all but the last token of each context, and its mask: padding at the left, rows in order."""
        import torch
        from transformers import DynamicCache

        shared = _common_prefix(contexts)
        shared_cache = DynamicCache()
        if shared:
            tokens = torch.tensor([list(contexts[0][:shared])], device=self._device)
            self._forward(
                tokens, torch.ones_like(tokens), torch.arange(shared, device=self._device)[None], shared_cache, 1
            )
        lengths = [len(each) - 1 for each in contexts]
        groups = batches(lengths, self._max_rows)
        caches = []
        for group in groups:
            cache = select_rows(shared_cache, torch.zeros(len(group), dtype=torch.long, device=self._device))
            width = max(lengths[row] for row in group) - shared
            if width:
                tokens = torch.zeros((len(group), width), dtype=torch.long, device=self._device)
                valid = torch.zeros_like(tokens)
                for index, row in enumerate(group):
                    rest = contexts[row][shared:-1]
                    tokens[index, : len(rest)] = torch.tensor(list(rest), dtype=torch.long)
                    valid[index, : len(rest)] = 1
                mask = torch.nn.functional.pad(valid, (shared, 0), value=1)
                positions = shared + (valid.cumsum(dim=1) - 1).clamp(min=0)
                self._forward(tokens, mask, positions, cache, 1)
            caches.append(cache)
        order = [row for group in groups for row in group]
        cache, mask = self._align(caches, [len(group) for group in groups], [lengths[row] for row in order])
        if order != sorted(order):
            back = torch.tensor(sorted(range(len(order)), key=order.__getitem__), device=self._device)
            cache.batch_select_indices(back)
            mask = mask[back]
        return cache, mask

    def _align(self, caches: Sequence[Any], sizes: Sequence[int], lengths: Sequence[int]) -> tuple[Any, Any]:
        """One cache of the rows of all, each moved to the right by what it is shorter, and the mask of it.

        `sizes`: how many rows each cache has; `lengths`: how many tokens each of all the rows has. What the padding at
        the left holds is masked wherever it is looked at.
        """
        import torch
        from transformers import DynamicCache

        width = max(lengths)
        length = torch.tensor(list(lengths), device=self._device)
        source = torch.arange(width, device=self._device)[None] - (width - length)[:, None]
        mask = (source >= 0).long()
        source = source.clamp(min=0)
        joined = DynamicCache()
        # A batch of contexts of one token each has kept nothing yet: it has no layers, and its rows no columns to show.
        kept = max(caches, key=lambda cache: len(cache.layers))
        for index, like in enumerate(kept.layers):
            if not like.get_seq_length():
                continue
            keys, values, start = [], [], 0
            for cache, rows in zip(caches, sizes, strict=True):
                where = source[start : start + rows, None, :, None]
                start += rows
                if len(cache.layers) > index:
                    keys.append(torch.take_along_dim(cache.layers[index].keys, where, dim=2))
                    values.append(torch.take_along_dim(cache.layers[index].values, where, dim=2))
                else:
                    keys.append(_blank(like.keys, rows, width))
                    values.append(_blank(like.values, rows, width))
            joined.update(torch.cat(keys), torch.cat(values), index)
        return joined, mask


def _blank(like: Any, rows: int, width: int) -> Any:
    """Zeros for `rows` rows of `width` columns, in the shape of a cache's tensor."""
    return like.new_zeros((rows, like.shape[1], width, like.shape[3]))


def _common_prefix(contexts: Sequence[Sequence[int]]) -> int:
    """How many tokens all contexts begin with, each keeping one of its own; 0 for one context alone."""
    if len(contexts) == 1:
        return 0
    longest = min(len(each) for each in contexts) - 1
    first = contexts[0]
    for index in range(longest):
        if any(each[index] != first[index] for each in contexts):
            return index
    return longest
