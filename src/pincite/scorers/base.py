"""What the scorers that run in torch share: a model's folder, its weights, its words, and its cache of keys and values.

torch and transformers are imported inside functions: importing this module loads neither.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pincite.errors import BackendError, InputError, MissingExtraError

if TYPE_CHECKING:
    from pincite.protocols import Context, Matrix

__all__ = [
    "DTYPES",
    "LOGIT_BUDGET",
    "Dtype",
    "Words",
    "batches",
    "cache_keyword",
    "check_contexts",
    "check_extension",
    "check_settings",
    "check_tokens",
    "end_ids",
    "forward_parameters",
    "load_model",
    "load_tokenizer",
    "log_softmax",
    "model_folder",
    "need_transformers",
    "pick",
    "read_config",
    "score_batches",
    "select_rows",
    "short_name",
    "stated_config",
    "vocabulary_size",
]

Dtype = Literal["float32", "bfloat16", "float16"]
DTYPES: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")

LOGIT_BUDGET = 1 << 26
"""Logits of one scoring batch, rows × positions × vocabulary; what is more is done in several (256 MB in float32)."""

#: What is fetched of a hub model. Weights in any other form than safetensors are pickles, which run what they hold.
_WANTED = ("*.json", "*.safetensors", "*.model", "merges.txt", "vocab.txt", "*_tokenizer/*")

#: Text that a tokenizer with a space of its own before every text is given first, so that the space is not ours.
_LEADS = ("\n", ".", "a")


def check_settings(device: str, dtype: str, max_rows: int, max_tokens: int | None) -> None:
    """Raises InputError for a setting out of range, and MissingExtraError where torch or transformers is absent."""
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")
    if max_rows < 1:
        raise InputError(f"max_rows must be at least 1, not {max_rows}")
    if max_tokens is not None and max_tokens < 1:
        raise InputError(f"max_tokens must be at least 1, not {max_tokens}")
    if not device:
        raise InputError("device must be named: cpu, cuda, cuda:1, mps …")
    need_transformers()


def need_transformers() -> None:
    """Raises MissingExtraError where torch or transformers is absent. Imports neither."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtraError("scoring with a model of transformers", "transformers")


def short_name(path_or_name: str, kind: str = "transformers") -> str:
    """``kind:`` and the hub name, or the last part of a path."""
    folder = Path(path_or_name).expanduser()
    return f"{kind}:{folder.resolve().name if folder.is_dir() else path_or_name}"


def model_folder(path_or_name: str) -> Path:
    """The folder at this path, or that of the hub model of this name (``owner/model``), with weights in safetensors.

    A name is looked up in the hub's cache on this machine and fetched if it is not there. Raises InputError when
    there is neither, and when the folder holds no safetensors.
    """
    folder = Path(path_or_name).expanduser()
    if not folder.is_dir():
        folder = _from_hub(path_or_name, _WANTED)
    _check_config(folder)
    if not any(folder.glob("*.safetensors")):
        pickled = sorted(each.name for each in folder.glob("*.bin"))
        found = f"only {', '.join(pickled)}, which is pickled and" if pickled else "no weights in a form that"
        raise InputError(
            f"{folder} holds {found} is not read, because loading a pickle runs what is in it. Take a revision of the "
            "model with model.safetensors, or convert it once, in a place you trust, with save_pretrained"
        )
    return folder


def stated_config(path_or_name: str) -> dict[str, Any]:
    """The ``config.json`` of a model, without its weights: of a hub model nothing else is fetched.

    Raises InputError where there is no such model.
    """
    folder = Path(path_or_name).expanduser()
    if not folder.is_dir():
        folder = _from_hub(path_or_name, ("config.json",))
    _check_config(folder)
    return read_config(folder)


def _check_config(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} is not a model folder: it has no config.json")


def _from_hub(name: str, wanted: Sequence[str]) -> Path:
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise InputError(f"there is no model folder {name!r}, and it is not a hub name of the form owner/model")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        # What is on this machine is used as it is: no question to the hub, and no other model by the same name.
        folder = Path(snapshot_download(name, allow_patterns=list(wanted), local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        pass
    else:
        # A snapshot of which only the configuration was looked at is not whole.
        if len(wanted) == 1 or any(folder.glob("*.safetensors")):
            return folder
    try:
        return Path(snapshot_download(name, allow_patterns=list(wanted)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise InputError(
            f"the model {name!r} is neither a folder here nor to be had from the hub ({type(error).__name__}); "
            "give the path of a folder instead"
        ) from error


def read_config(folder: Path) -> dict[str, Any]:
    """What ``config.json`` of a model folder says. Raises InputError when it is no JSON object."""
    path = folder / "config.json"
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} should hold an object")
    return value


def load_model(folder: Path, class_name: str, *, device: str, dtype: Dtype) -> Any:
    """The model in `folder` as the class of transformers of that name, in evaluation mode.

    From safetensors only, and never with code of the folder's own. Raises BackendError when it cannot be loaded, and
    when the checkpoint lacks weights of that class: they would be random.
    """
    import torch
    import transformers

    try:
        with _without_bars():
            model, report = getattr(transformers, class_name).from_pretrained(
                str(folder),
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=getattr(torch, dtype),
                output_loading_info=True,
            )
        model = model.to(device).eval()
    except Exception as error:  # the libraries below raise many unrelated types for a bad file
        raise BackendError(f"transformers cannot load {folder} as {class_name}: {error}") from error
    if missing := sorted(str(each) for each in report["missing_keys"]):
        shown = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
        raise BackendError(f"{folder} lacks {len(missing)} weights of a {class_name} ({shown}): it is another model")
    return model


def score_batches(
    continuations: Sequence[Sequence[int]],
    logprobs: Any,
    ends: Any,
    teach: Callable[[Sequence[tuple[int, Sequence[int], int]]], tuple[Any, Any]],
    *,
    end: bool,
    max_rows: int,
    vocabulary: int,
) -> list[Matrix]:
    """`Reading.score`: every continuation after every row, in as few passes of the model as `max_rows` allows.

    `logprobs`, shape (rows, vocabulary), is what comes next after every row now. `teach` takes (row, continuation,
    tokens to feed) and gives, for each, log-probabilities after every token fed: of the next one, and of the `ends`.
    """
    import numpy as np
    import torch

    count = int(logprobs.shape[0])
    scores = [np.zeros((count, len(each) + end), dtype=np.float32) for each in continuations]
    now = logprobs.cpu().numpy()
    ended = torch.logsumexp(logprobs[:, ends], dim=-1).cpu().numpy()
    # The first token is known already; the model is asked for what follows each of the others.
    fed = [len(each) - (not end) for each in continuations]
    for each, score in zip(continuations, scores, strict=True):
        if len(each):
            score[:, 0] = now[:, each[0]]
        elif end:
            score[:, 0] = ended
    jobs = [(index, row) for index, length in enumerate(fed) if length > 0 for row in range(count)]
    with torch.inference_mode():
        for batch in batches([fed[index] for index, _ in jobs], max_rows, vocabulary):
            chosen = [jobs[each] for each in batch]
            picked, stopped = teach([(row, continuations[index], fed[index]) for index, row in chosen])
            for (index, row), values, stops in zip(chosen, picked, stopped, strict=True):
                length = len(continuations[index])
                scores[index][row, 1:length] = values[: length - 1]
                if end:
                    scores[index][row, length] = stops[length - 1]
    return scores


@contextmanager
def _without_bars() -> Iterator[None]:
    """Nothing of the progress of loading, which takes a second and would stand before an answer."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def load_tokenizer(folder: Path, config: Any) -> Any:
    """The tokenizer in `folder`, of the kind `config` says. Raises BackendError when it cannot be loaded."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            str(folder), config=config, local_files_only=True, trust_remote_code=False, use_fast=True
        )
    except Exception as error:  # as above
        raise BackendError(f"transformers cannot load the tokenizer in {folder}: {error}") from error


class Words:
    """A tokenizer as a scorer uses it.

    Parameters
        tokenizer: of transformers.
        continues: whether an answer goes on where its context stops, as with a decoder-only model, so that a space
            which the tokenizer puts before every text is left out; otherwise an answer is a text of its own.
        special: whether special tokens written out in a text are read as such. By default they are ordinary
            characters: a passage cannot end itself or open another turn.
    """

    def __init__(self, tokenizer: Any, *, continues: bool, special: bool = False) -> None:
        self.tokenizer = tokenizer
        self.special = special
        self._lead = self._find_lead() if continues else ""
        self._lead_ids = self._plain(self._lead) if self._lead else []

    def _plain(self, text: str, *, framed: bool = False) -> list[int]:
        ids: list[int] = self.tokenizer(
            text, add_special_tokens=framed, split_special_tokens=not self.special, verbose=False
        )["input_ids"]
        return ids

    def _find_lead(self) -> str:
        """Text to put first, if the tokenizer begins every text with a space of its own; else empty."""
        pieces = self.tokenizer.convert_ids_to_tokens(self._plain("a"))
        if not (pieces and pieces[0] and pieces[0][0] in "▁Ġ"):
            return ""
        for lead in _LEADS:
            ids = self._plain(lead)
            if self._plain(lead + "b")[: len(ids)] == ids:
                return lead
        return ""

    def encode(self, text: str) -> list[int]:
        """The tokens of an answer's text, without special ones."""
        if not text:
            return []
        if self._lead:
            ids = self._plain(self._lead + text)
            if ids[: len(self._lead_ids)] == self._lead_ids:
                return ids[len(self._lead_ids) :]
        return self._plain(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an answer's tokens; special ones are left out."""
        text: str = self._text([*self._lead_ids, *tokens])
        return text[len(self._text(self._lead_ids)) :] if self._lead_ids else text

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def framed(self, text: str) -> list[int]:
        """The tokens of a text with those special ones that the tokenizer puts around it: what an encoder reads."""
        return self._plain(text, framed=True)

    @property
    def opening(self) -> list[int]:
        """The special tokens that the tokenizer puts before a text."""
        plain, framed = self._plain("a"), self._plain("a", framed=True)
        for start in range(len(framed) - len(plain) + 1):
            if framed[start : start + len(plain)] == plain:
                return framed[:start]
        return []

    def newlines(self) -> frozenset[int]:
        """Every token whose text begins with a line feed, however the vocabulary writes it."""
        count = len(self.tokenizer)
        pieces = self.tokenizer.convert_ids_to_tokens(list(range(count)))
        # "Ċ" is byte 0x0A in a byte-level vocabulary, and a letter in others: decoding tells.
        likely = [i for i, piece in enumerate(pieces) if piece and piece.startswith(("\n", "Ċ", "<0x0A>"))]
        return frozenset(i for i in likely if self.decode([i]).startswith("\n"))


def end_ids(*stated: int | Iterable[int] | None) -> frozenset[int]:
    """The end tokens that configurations state, each one of them, several or none."""
    ends: set[int] = set()
    for each in stated:
        if isinstance(each, int):
            ends.add(each)
        elif each is not None:
            ends.update(int(one) for one in each)
    return frozenset(ends)


def check_contexts(contexts: Sequence[Context]) -> None:
    """Raises InputError where there are no contexts, or one is a bare string."""
    if not contexts:
        raise InputError("there are no contexts to read: give at least one")
    given: Sequence[object] = contexts
    for each in given:
        if isinstance(each, str):
            raise InputError("a context is a tuple of parts, not a string: write (text,)")


def check_extension(rows: Sequence[int], tokens: Sequence[int], *, count: int, vocabulary: int) -> None:
    """Raises InputError for rows and tokens of different number, for none, and for one that does not exist."""
    if len(rows) != len(tokens):
        raise InputError(f"{len(rows)} rows cannot take {len(tokens)} tokens: one each")
    if not len(rows):
        raise InputError("a reading keeps at least one row; close it instead")
    if any(not 0 <= row < count for row in rows):
        raise InputError(f"rows are numbered from 0 to {count - 1}: {list(rows)}")
    check_tokens(tokens, vocabulary)


def check_tokens(tokens: Sequence[int], vocabulary: int) -> None:
    """Raises InputError for a token that the model does not have."""
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise InputError(f"there is no token {token}: the model has {vocabulary}")


def vocabulary_size(model: Any) -> int:
    """How many tokens the model gives a logit; published models have more than their tokenizers know."""
    head = model.get_output_embeddings()
    return int(model.config.get_text_config().vocab_size if head is None else head.weight.shape[0])


def forward_parameters(model: Any) -> frozenset[str]:
    """The names of the arguments that a model's forward pass takes."""
    return frozenset(inspect.signature(model.forward).parameters)


def cache_keyword(model: Any) -> str:
    """Under which name the model takes its cache: it was renamed in 2026."""
    return "cache" if "cache" in forward_parameters(model) else "past_key_values"


def select_rows(cache: Any, rows: Any) -> Any:
    """A new cache of the given rows of `cache`, which stays as it was. `rows`: a tensor of indices."""
    from transformers import DynamicCache

    chosen = DynamicCache()
    for index, layer in enumerate(cache.layers):
        if layer.get_seq_length():
            # Given no rows first, the layer is made; given them all, it would copy them once more.
            chosen.update(layer.keys[:0], layer.values[:0], index)
            chosen.layers[index].keys, chosen.layers[index].values = layer.keys[rows], layer.values[rows]
    return chosen


def log_softmax(logits: Any) -> Any:
    """Natural log-probabilities over the last axis, in float32 whatever came in. Raises BackendError for NaN."""
    import torch

    logprobs = torch.log_softmax(logits.float(), dim=-1)
    if bool(torch.isnan(logprobs).any()):
        raise BackendError("the model gave logits that are no numbers; float16 overflows where bfloat16 does not")
    return logprobs


def pick(logits: Any, targets: Any, ends: Any) -> tuple[Any, Any]:
    """Log-probabilities of one token at each position, and of the end there, as float32.

    Parameters
        logits: shape (rows, positions, vocabulary), of any float type.
        targets: token ids, shape (rows, positions).
        ends: ids of the tokens that end an answer; their probabilities are summed.
    """
    import torch

    # A row at a time: a float32 copy of all the logits may not fit beside them.
    chosen, ended = [], []
    for row, target in zip(logits, targets, strict=True):
        logprobs = log_softmax(row)
        chosen.append(logprobs.gather(-1, target[:, None])[:, 0])
        ended.append(torch.logsumexp(logprobs[:, ends], dim=-1))
    return torch.stack(chosen), torch.stack(ended)


def batches(lengths: Sequence[int], max_rows: int, vocabulary: int = 0) -> list[list[int]]:
    """Indices in batches of like lengths, shortest first: at most `max_rows`, and `LOGIT_BUDGET` logits, in each."""
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    made: list[list[int]] = []
    for index in order:
        room = max_rows
        if vocabulary:
            room = max(1, min(max_rows, LOGIT_BUDGET // (max(1, lengths[index]) * vocabulary)))
        if made and len(made[-1]) < room:
            made[-1].append(index)
        else:
            made.append([index])
    return made
