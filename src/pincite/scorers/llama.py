"""Probabilities of a language model in this process: llama.cpp through cyllama, which gives raw logits.

What it computes does not depend on what was asked before, on how many rows are read together or on the order they
stand in, to the last bit where the weights are quantized (a row alone may differ in the last digits where they are in
full or half precision). llama.cpp does not promise that; three of its settings bring it about, and they cost nothing
that could be measured (see `LlamaScorer._open`). Without them, what stands beside a row changed log-probabilities of a
small model by up to 0.9: rounding of activations to eight bits makes much of the last digit of a sum.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import BackendError, ConfigError, InputError, MissingExtraError
from pincite.protocols import NextTokens
from pincite.scorers.base import check_contexts, check_extension, check_tokens
from pincite.scorers.llama_vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.protocols import Context, Matrix

__all__ = ["LlamaReading", "LlamaScorer"]

_BATCH = 512
"""Tokens of one call of the model."""


@dataclass(slots=True)
class _Model:
    """A loaded model and its context; None of it outlives `LlamaScorer.close`."""

    llama: Any  #: the module of cyllama
    model: Any
    context: Any
    vocabulary: Vocabulary
    free: set[int]  #: sequences that no reading holds


@dataclass(frozen=True, slots=True)
class _Kept:
    """The beginning of contexts, read: keys and values of its tokens, as llama.cpp writes them."""

    tokens: int
    state: bytes


class LlamaScorer:
    """A model in GGUF format as a `pincite.protocols.TokenScorer` with the whole vocabulary.

    Parameters
        model_path: a GGUF file of a decoder-only transformer, or a function that finds it when the model is loaded.
        name: for people and for the record; ``local:`` and the name of the file unless given.
        n_ctx: tokens that a row may have: context and answer. Memory is taken for `n_ctx` × `max_rows` when the model
            is loaded (Gemma 3 270M: 18 kB a token, so 226 MB for 1536 × 8).
        max_rows: the most rows that open readings may have together.
        threads: of the computation. Without a number all cores but one, at least one and at most eight, because
            llama.cpp's threads wait for each other in a spin.
        cache_bytes: how much may be kept of what contexts begin with. After each part of a context but the last, what
            the model made of it so far is kept, so that it is computed once: the frame of a prompt for as long as it
            is used, and passages that stand before the question for the questions that follow. The least recently
            used is forgotten first. (Gemma 3 270M: 18 kB a token; a frame of 383 tokens 7 MB, with a passage 9 MB.)
        end_at_newline: whether every token that begins with a line feed ends an answer, as it does where a base
            model continues a text of worked examples, beside the model's own end tokens.

    Log-probabilities are float32: logits minus the logarithm of their exponentials' sum, which is taken in float64.

    The model is loaded at the first use, once, and kept until `close`. Any thread may use the scorer, and several
    readings may be open at once as long as their rows together are no more than `max_rows`; the model works for one
    of them at a time. A reading that is thrown away without `close` gives its rows back when the next is opened.

    Text is never read as control tokens, whatever it says: ``<eos>`` in a passage is five characters.
    """

    def __init__(
        self,
        model_path: str | Path | Callable[[], Path],
        *,
        name: str = "",
        n_ctx: int = 1536,
        max_rows: int = 8,
        threads: int | None = None,
        cache_bytes: int = 256 << 20,
        end_at_newline: bool = True,
    ) -> None:
        for option, value, least in (("n_ctx", n_ctx, 1), ("max_rows", max_rows, 1), ("cache_bytes", cache_bytes, 0)):
            if value < least:
                raise InputError(f"{option} must be at least {least}, not {value}")
        if threads is not None and threads < 1:
            raise InputError(f"threads must be at least 1, not {threads}")
        self.model_path = model_path if callable(model_path) else Path(model_path)
        self.n_ctx = n_ctx
        self.max_rows = max_rows
        self.threads = threads
        self.cache_bytes = cache_bytes
        self.end_at_newline = end_at_newline
        self._name = name
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._kept: OrderedDict[Context, _Kept] = OrderedDict()
        #: Of readings that were thrown away. They cannot take the lock: they may go while this thread holds it.
        self._abandoned: deque[tuple[_Model, list[int]]] = deque()

    @property
    def name(self) -> str:
        """Which model."""
        return self._name or ("local" if callable(self.model_path) else f"local:{self.model_path.stem}")

    @property
    def ends(self) -> frozenset[int]:
        """The model's end-of-generation tokens, and with `end_at_newline` those that begin with a line feed."""
        return self._vocabulary().ends

    @property
    def widest(self) -> int | None:
        """None: the whole vocabulary."""
        return None

    def check(self) -> None:
        """Raise MissingExtraError or ConfigError for what can be known to be missing without loading anything."""
        if find_spec("cyllama") is None:
            raise MissingExtraError("Reading probabilities from the local language model", "local")
        if not callable(self.model_path):
            _check_file(self.model_path)

    def load(self) -> None:
        """Load the weights now. Raises MissingExtraError, ConfigError (no such file) or BackendError."""
        with self._lock:
            self._loaded()

    def encode(self, text: str) -> list[int]:
        """The tokens of `text`, none of them special. Joined with nothing between to the tokens before it."""
        return self._vocabulary().cut(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without those that end an answer. Broken characters become U+FFFD."""
        vocabulary = self._vocabulary()
        check_tokens(tokens, vocabulary.size)
        kept = (vocabulary.piece(token) for token in tokens if token not in vocabulary.ends)
        return b"".join(kept).decode("utf-8", "replace")

    def read(self, contexts: Sequence[Context]) -> LlamaReading:
        """Read `contexts`. Parts that were read before at the beginning of another context are not computed again.

        Raises InputError for no contexts, an empty or too long one, or more than `max_rows`, and BackendError where
        other readings hold the rows or the model fails.
        """
        check_contexts(contexts)
        with self._lock:
            loaded = self._loaded()
            self._check_room(loaded, len(contexts))
            pieces = [loaded.vocabulary.context(context) for context in contexts]
            for i, parts in enumerate(pieces):
                count = sum(map(len, parts))
                if not count:
                    raise InputError(f"context {i} is empty: there is nothing to continue")
                if count >= self.n_ctx:
                    raise InputError(
                        f"context {i} has {count} tokens (frame, passage and question), and with an answer it must "
                        f"fit into n_ctx = {self.n_ctx}; ask a shorter question, or raise n_ctx"
                    )
            slots = _place(loaded.free, len(contexts))
            loaded.free.difference_update(slots)
            try:
                rows, lengths, cached = [], [], 0
                for slot, context, parts in zip(slots, contexts, pieces, strict=True):
                    row, restored = self._prefill(loaded, slot, context, parts)
                    rows.append(row)
                    lengths.append(sum(map(len, parts)))
                    cached += restored
            except BaseException:
                self._give_back(loaded, slots)
                raise
            return LlamaReading(self, loaded, slots, lengths, rows, cached)

    def forget(self) -> None:
        """Drop what is kept of the beginnings of contexts. The numbers stay the same; reading takes longer."""
        with self._lock:
            self._kept.clear()

    def close(self) -> None:
        """Free the model. Readings that are still open cannot be used any more. Idempotent."""
        with self._lock:
            self._kept.clear()
            self._abandoned.clear()
            if self._model is not None:
                loaded, self._model = self._model, None
                loaded.context.close()
                loaded.model.close()

    def _vocabulary(self) -> Vocabulary:
        with self._lock:
            return self._loaded().vocabulary

    # What follows is called with the lock held.

    def _loaded(self) -> _Model:
        if self._model is None:
            self._model = self._open()
        return self._model

    def _open(self) -> _Model:
        self.check()
        try:
            import cyllama.llama.llama_cpp as llama
        except ImportError as error:
            raise MissingExtraError("Reading probabilities from the local language model", "local") from error
        llama.disable_logging()
        path = self.model_path() if callable(self.model_path) else self.model_path
        _check_file(path)
        settings = llama.LlamaModelParams()
        settings.n_gpu_layers = 0
        # Weights laid out anew for wide registers: a row's numbers would depend on how many rows stand beside it.
        settings.use_extra_bufts = False
        # cyllama 0.2 looks up `n_vocab` where its models have none; an object of a subclass can be given one.
        model_class = type("LlamaModel", (llama.LlamaModel,), {})
        try:
            model = model_class(str(path), settings, verbose=False)
            vocabulary = Vocabulary(model.get_vocab(), self.end_at_newline)
            model.n_vocab = vocabulary.size
            if model.is_recurrent() or model.is_hybrid() or model.has_encoder() or not model.has_decoder():
                raise ConfigError(
                    f"{path.name} is not a decoder-only transformer: its answers cannot be taken back and "
                    "tried otherwise; choose another model"
                )
            context = llama.LlamaContext(model, self._context_settings(llama), verbose=False)
        except (ValueError, RuntimeError, MemoryError, OSError) as error:
            raise BackendError(
                f"llama.cpp cannot load {path}: {error}; is it a model in GGUF format, and is there memory "
                f"for n_ctx × max_rows = {self.n_ctx} × {self.max_rows} tokens?"
            ) from error
        return _Model(llama, model, context, vocabulary, set(range(self.max_rows)))

    def _context_settings(self, llama: Any) -> Any:
        settings = llama.LlamaContextParams()
        settings.n_ctx = self.n_ctx * self.max_rows
        settings.n_seq_max = self.max_rows
        settings.n_batch = _BATCH
        settings.n_ubatch = _BATCH // 4  # a quarter of the memory, no slower on a CPU
        settings.n_threads = settings.n_threads_batch = self.threads or max(1, min(8, _cores() - 1))
        # Each row has its own keys and values, so that where they lie does not depend on the other rows.
        settings.kv_unified = False
        # Flash attention splits its sums by how many rows there are.
        settings.flash_attn_type = 0
        settings.swa_full = True  # otherwise layers of sliding attention cannot take an answer back
        return settings

    def _collect(self, loaded: _Model) -> None:
        while self._abandoned:
            owner, slots = self._abandoned.popleft()
            if owner is loaded:
                self._give_back(loaded, slots)

    def _check_room(self, loaded: _Model, rows: int, held: int = 0) -> None:
        """Whether a reading that holds `held` rows can have `rows`."""
        if rows > self.max_rows:
            raise InputError(f"{rows} rows are more than max_rows = {self.max_rows}; raise it or use fewer")
        self._collect(loaded)
        others = self.max_rows - len(loaded.free) - held
        if rows > self.max_rows - others:
            raise BackendError(
                f"{rows} rows are wanted and other open readings hold {others} of max_rows = {self.max_rows}; "
                "close them first or raise max_rows"
            )

    def _give_back(self, loaded: _Model, slots: Collection[int]) -> None:
        for slot in slots:
            loaded.context.memory_seq_rm(slot, -1, -1)
            loaded.free.add(slot)

    def _prefill(
        self, loaded: _Model, slot: int, context: Context, parts: Sequence[Sequence[int]]
    ) -> tuple[NDArray[np.float32], int]:
        """Read one context into a sequence; what comes next, and how many tokens were known already."""
        known = next((i for i in range(len(parts) - 1, 0, -1) if context[:i] in self._kept and any(parts[i:])), 0)
        position = 0
        for i in range(known):  # the shorter ones have been used too
            if context[: i + 1] in self._kept:
                self._kept.move_to_end(context[: i + 1])
        if known:
            kept = self._kept[context[:known]]
            loaded.context.set_state_seq_data(kept.state, slot)
            position = kept.tokens
        cached = position
        for i in range(known, len(parts)):
            last = not any(parts[i + 1 :])
            rows = _decode(
                loaded, [(slot, position + j, t) for j, t in enumerate(parts[i])], "last" if last else "none"
            )
            position += len(parts[i])
            if last:
                return rows[0], cached
            self._keep(context[: i + 1], position, loaded, slot)
        raise AssertionError("a context has a last token")

    def _keep(self, begin: Context, tokens: int, loaded: _Model, slot: int) -> None:
        if tokens == 0 or loaded.context.get_state_seq_size(slot) > self.cache_bytes:
            return
        self._kept[begin] = _Kept(tokens, loaded.context.get_state_seq_data(slot))
        while sum(len(kept.state) for kept in self._kept.values()) > self.cache_bytes:
            self._kept.popitem(last=False)


class LlamaReading:
    """Contexts that `LlamaScorer` has read: a `pincite.protocols.Reading`."""

    def __init__(
        self,
        scorer: LlamaScorer,
        loaded: _Model,
        slots: list[int],
        lengths: list[int],
        logprobs: list[NDArray[np.float32]],
        cached: int,
    ) -> None:
        self._scorer = scorer
        self._loaded = loaded
        self._slots = slots  #: the sequence of each row; none once the reading is closed
        self._lengths = lengths
        self._logprobs = logprobs
        self.prompt_tokens = sum(lengths)  #: of all contexts together
        self.cached_tokens = cached  #: of these, those that were not computed again

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self._lengths)

    def next_tokens(self, width: int | None = None) -> NextTokens:  # noqa: ARG002
        """What comes next after every row: float32, shape (rows, vocabulary)."""
        import numpy as np

        self._usable()
        return NextTokens(np.stack(self._logprobs))

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Row i becomes row ``rows[i]`` followed by ``tokens[i]``: copies of sequences, and one call of the model.

        Raises InputError for rows and tokens that are not there, more rows than `max_rows` and a row longer than
        `n_ctx`, and leaves the reading as it was; BackendError when other readings hold the rows.
        """
        with self._scorer._lock:
            loaded = self._usable()
            check_extension(rows, tokens, count=len(self._slots), vocabulary=loaded.vocabulary.size)
            for row in rows:
                self._fits(row, 1)
            self._scorer._check_room(loaded, len(rows), len(self._slots))
            slots = self._moved(loaded, rows)
            lengths = [self._lengths[row] for row in rows]
            self._slots = slots
            entries = [(s, n, int(t)) for s, n, t in zip(slots, lengths, tokens, strict=True)]
            try:
                self._logprobs = _decode(loaded, entries, "all")
            except BaseException:
                self._release()  # half a step: nothing that could be used
                raise
            self._lengths = [n + 1 for n in lengths]

    def score(self, continuations: Sequence[Sequence[int]], *, end: bool = False) -> list[Matrix]:
        """Log-probabilities of continuations after every row: float32, shapes (rows, length of each (+ 1)).

        Exactly what `extend`, token by token, would give, and afterwards every token is taken back. Beginnings that
        continuations have in common are computed once.
        """
        with self._scorer._lock:
            loaded = self._usable()
            for tokens in continuations:
                check_tokens(tokens, loaded.vocabulary.size)
                for row in range(len(self._slots)):
                    self._fits(row, len(tokens))
            try:
                return self._scored(loaded, [list(map(int, tokens)) for tokens in continuations], end)
            except BaseException:
                self._release()  # tokens that were not taken back: nothing that could be used
                raise

    def close(self) -> None:
        """Give the rows back. Idempotent."""
        with self._scorer._lock:
            self._release()

    def __del__(self) -> None:
        if self._slots:
            self._scorer._abandoned.append((self._loaded, self._slots))

    def _moved(self, loaded: _Model, rows: Sequence[int]) -> list[int]:
        """Sequences that hold what `rows` are now, which the reading then has instead of those it had."""
        had = set(self._slots)
        going_on = {self._slots[row] for row in rows}
        place = _place(loaded.free | had, len(rows), going_on)
        # The first to continue a row keeps its sequence if it is in its place; all others get copies.
        staying, vacant = going_on.intersection(place), [slot for slot in place if slot not in going_on]
        self._scorer._give_back(loaded, had - going_on)
        slots = []
        for row in rows:
            slot = self._slots[row]
            if slot in staying:
                staying.remove(slot)
                slots.append(slot)
            else:
                slots.append(vacant.pop(0))
                loaded.context.memory_seq_cp(slot, slots[-1], -1, -1)
        self._scorer._give_back(loaded, going_on.difference(place))
        loaded.free.difference_update(place)
        return slots

    def _scored(self, loaded: _Model, continuations: list[list[int]], end: bool) -> list[Matrix]:
        import numpy as np

        ends = np.array(sorted(loaded.vocabulary.ends))
        scores = [np.empty((self.rows, len(tokens) + end), np.float32) for tokens in continuations]
        # Depth first through the tree of continuations: those that share their first `depth` tokens go together. Each
        # step is one token for each row, as in `extend`: several tokens of a row at once take half the time of the
        # model, but other sums, and another 0.2 in a log-probability of a quantized model.
        stack = [(0, [i for i, each in enumerate(scores) if each.shape[1]])]
        while stack:
            depth, some = stack.pop()
            logprobs = self._logprobs
            if depth:
                self._take_back(loaded, depth - 1)
                token = continuations[some[0]][depth - 1]
                places = zip(self._slots, self._lengths, strict=True)
                logprobs = _decode(loaded, [(slot, n + depth - 1, token) for slot, n in places], "all")
            branches: dict[int, list[int]] = {}
            for i in some:
                tokens = continuations[i]
                wanted = tokens[depth] if depth < len(tokens) else ends
                scores[i][:, depth] = [_pick(row, wanted) for row in logprobs]
                if depth + 1 < scores[i].shape[1]:
                    branches.setdefault(tokens[depth], []).append(i)
            stack.extend((depth + 1, branch) for branch in branches.values())
        self._take_back(loaded, 0)
        return list(scores)

    def _take_back(self, loaded: _Model, kept: int) -> None:
        """Forget the tokens of every row after the first `kept` of what is being scored."""
        for slot, length in zip(self._slots, self._lengths, strict=True):
            if not loaded.context.memory_seq_rm(slot, length + kept, -1):
                raise BackendError("llama.cpp cannot take tokens back with this model; choose another")

    def _usable(self) -> _Model:
        if not self._slots or self._scorer._model is not self._loaded:
            raise InputError("the reading is closed; read the contexts again")
        return self._loaded

    def _fits(self, row: int, more: int) -> None:
        if self._lengths[row] + more > self._scorer.n_ctx:
            raise InputError(
                f"{more} more tokens after the {self._lengths[row]} of row {row} do not fit into "
                f"n_ctx = {self._scorer.n_ctx}; shorten the context or raise n_ctx"
            )

    def _release(self) -> None:
        slots, self._slots = self._slots, []
        if self._scorer._model is self._loaded:
            self._scorer._give_back(self._loaded, slots)
        self._logprobs = []


def _place(free: Collection[int], count: int, going_on: Collection[int] = ()) -> list[int]:
    """Which `count` of the `free` sequences to take, where those in `going_on` hold something that would be copied.

    llama.cpp computes sequences together only where their numbers follow one another; five apart take three times as
    long. So they are taken in a row where there is one: that with the least to copy, and else in the smallest gap.
    """
    ordered = sorted(free)
    runs = [ordered[i : i + count] for i in range(len(ordered) - count + 1)]
    runs = [run for run in runs if run[-1] - run[0] == count - 1]

    def gap(run: list[int]) -> int:
        first, last = run[0], run[-1]
        while first - 1 in free:
            first -= 1
        while last + 1 in free:
            last += 1
        return last - first

    if runs:
        return min(runs, key=lambda run: (-len(set(run).intersection(going_on)), gap(run), run[0]))
    return sorted([*going_on, *(slot for slot in ordered if slot not in going_on)][:count])


def _decode(loaded: _Model, entries: Sequence[tuple[int, int, int]], wanted: str) -> list[NDArray[np.float32]]:
    """Put tokens, each as (sequence, position, token), through the model.

    `wanted`: after which of them log-probabilities are given: "all", the "last" or "none".
    """
    # Only sequences that follow one another in the batch are computed together: see `_place`.
    order = sorted(range(len(entries)), key=lambda i: entries[i][0])
    made: dict[int, NDArray[np.float32]] = {}
    for start in range(0, len(entries), _BATCH):
        some = order[start : start + _BATCH]
        batch = loaded.llama.LlamaBatch(n_tokens=len(some), embd=0, n_seq_max=1)
        outputs = []
        for i in some:
            slot, position, token = entries[i]
            output = wanted == "all" or (wanted == "last" and i == len(entries) - 1)
            outputs.append(output)
            batch.add(token, position, [slot], output)
        try:
            loaded.context.decode(batch)
            for place, i in enumerate(some):
                if outputs[place]:
                    made[i] = _log_softmax(loaded.context.get_logits_ith(place))
        except (ValueError, RuntimeError, InterruptedError, MemoryError) as error:
            raise BackendError(f"the local model failed: {error}") from error
    return [made[i] for i in sorted(made)]


def _log_softmax(logits: Sequence[float]) -> NDArray[np.float32]:
    import numpy as np

    # A list is all that cyllama gives; `fromiter` is the fastest way out of it.
    values = np.fromiter(logits, np.float32, count=len(logits))
    top = values.max()
    if not np.isfinite(top):
        raise BackendError("the local model gave no numbers; its file may be damaged")
    total = np.log(np.exp(values - top).sum(dtype=np.float64))
    made: NDArray[np.float32] = ((values.astype(np.float64) - float(top)) - total).astype(np.float32)
    return made


def _pick(logprobs: NDArray[np.float32], wanted: Any) -> float:
    """The log-probability of a token, or of any of several together."""
    import numpy as np

    if isinstance(wanted, int):
        return float(logprobs[wanted])
    return float(np.logaddexp.reduce(logprobs[wanted].astype(np.float64)))


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise ConfigError(f"model_path {str(path)!r} is not a file; it must name a model in GGUF format")


def _cores() -> int:
    import os

    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
