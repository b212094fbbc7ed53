"""From settings to objects: the only place that knows which name stands for which class."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pincite.adding import NO_TESSERACT
from pincite.answer_models import build_generator
from pincite.assemble import Layout
from pincite.calibration import Calibration, default_calibration, load_calibration
from pincite.config import ChunkSettings, Settings, load_settings
from pincite.errors import ConfigError
from pincite.identity import probe_vectors
from pincite.indexing import AddListener, copy_documents
from pincite.pipeline import Options, Pipeline
from pincite.prompt_template import read as read_template
from pincite.protocols import StoreHeader
from pincite.support_models import build_support
from pincite.trust import Trust

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Generator, Reader, Reranker, Store
    from pincite.rerankers.likelihood import LikelihoodModel
    from pincite.store.edge import EdgeStore
    from pincite.store.plan import IndexOptions, Retention

__all__ = [
    "Pincite",
    "build_calibration",
    "build_chunker",
    "build_encoder",
    "build_reader",
    "build_reranker",
    "cache_folder",
    "chunk_recipe",
    "index_options",
    "reindex",
    "retention",
]

#: Of the recipes that read more than they find; measured: see docs/decisions/0011-chunk-recipes.md.
_WINDOW = 3
_CHILD_SIZE = 128
_PARENT_SIZE = 512
#: Raised when the same settings come to cut otherwise, so that a document added again is cut again.
#: 2: pieces of tables and fenced blocks carry their header and fences.
#: 3: tables of web pages and word-processor files are Markdown.
_REVISION = 3
#: Raised when loaders come to read otherwise, so that a file added again is read again.
_READING = 4

_OPENAI = "https://api.openai.com/v1"


class Pincite(Pipeline):
    """An index on disk, ready to add, search and ask. Use it as a context manager, or call `close`.

    >>> from pincite import Pincite
    >>> with Pincite.open("library") as p:                    # doctest: +SKIP
    ...     p.add("contracts/")
    ...     print(p.ask("When does the lease end?").text)
    """

    settings: Settings

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        create: bool = True,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
        salvage: bool = False,
        **overrides: object,
    ) -> Pincite:
        """Open the index at `path`, and make it if there is none and `create` is true.

        Settings come from ``pincite.toml`` and the environment unless given; `overrides` win over both and are named
        ``section_key``, for example ``answer_model="extractive"``. With `salvage` one whose points cannot be opened is
        opened without them, for `repair` to make them anew. Raises StoreBusyError when another process holds
        the index, EncoderMismatchError when it was made with another encoder, ConfigError for a wrong setting, and
        InputError when there is no index and `create` is false.
        """
        given = {name.replace("_", ".", 1): value for name, value in overrides.items()}
        if path is not None:
            given["store.path"] = Path(path)
        if settings is None:
            environment = os.environ if environment is None else environment
            settings = load_settings(environment=environment, overrides=given)
        elif given:
            raise ConfigError(f"give either settings or {', '.join(overrides) or 'path'}, not both")
        encoder = build_encoder(settings)
        store = _open_store(settings, encoder, create=create, salvage=salvage)
        try:
            return cls.over(settings, store, encoder)
        except BaseException:
            store.close()
            raise

    @classmethod
    def over(
        cls,
        settings: Settings,
        store: Store,
        encoder: Encoder,
        *,
        generator: Callable[[], Generator] | None = None,
    ) -> Pincite:
        """A pipeline of these settings over a store and an encoder that are open already; `close` closes the store.

        A `generator` takes the place of the one of the settings. `Settings.store` and `Settings.encoder` are not looked
        at. Raises EncoderMismatchError when the store was made
        with another encoder, ConfigError for settings that contradict each other.
        """
        calibration = build_calibration(settings, encoder)
        weighed = calibration is not None and "extractive" in calibration.kinds
        pincite = cls(
            store=store,
            encoder=encoder,
            chunker=build_chunker(settings, encoder),
            reader=build_reader(settings),
            generator=generator or (lambda: build_generator(settings, encoder, weighed=weighed)),
            options=replace(_options(settings), calibration=calibration),
            reranker=build_reranker(settings, encoder, store),
            support=build_support(settings, encoder),
        )
        pincite.settings = settings
        return pincite

    def __enter__(self) -> Pincite:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open_store(settings: Settings, encoder: Encoder, *, create: bool, salvage: bool = False) -> Store:
    """The index, shared with other processes: see `pincite.store.shared`."""
    from pincite.store.edge import EdgeStore
    from pincite.store.shared import open_shared

    index, kept, folder = index_options(settings), retention(settings), settings.store.path
    if folder.is_file():
        raise ConfigError(f"the index must be a folder, {folder} is a file: name another with --store")

    def open_here(seconds: float) -> Store:
        if EdgeStore.exists(folder) or not create:
            return EdgeStore.open(folder, timeout=seconds, index=index, retention=kept, salvage=salvage)
        header = StoreHeader(
            identity=encoder.identity,
            probes=tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder)),
            language=settings.search.language or "english",
        )
        return EdgeStore.create(folder, header, timeout=seconds, index=index, retention=kept)

    # Its methods are those of the protocol, by name; no type checker sees that.
    store = cast("Store", open_shared(folder, open_here, write=salvage, timeout=settings.store.lock_timeout))
    wanted, found = settings.search.language, store.header.language
    if wanted is not None and wanted != found:
        store.close()
        raise ConfigError(
            f"search.language is {wanted}, the index at {folder} was made for {found}. "
            "Run `pincite reindex` to make it anew, or unset search.language."
        )
    return store


def retention(settings: Settings) -> Retention:
    """Which past versions are kept."""
    from pincite.store.plan import Retention

    return Retention(settings.history.versions, settings.history.days)


def index_options(settings: Settings) -> IndexOptions:
    """How vectors shall be searched. Raises MissingExtraError when that needs a library that is not installed."""
    from pincite.store.ivfpq import require
    from pincite.store.plan import IndexOptions

    if settings.index.kind == "ivfpq":
        require()
    return IndexOptions(**settings.index.model_dump())


def build_encoder(settings: Settings) -> Encoder:
    """The encoder that `encoder.model` names; nothing is loaded yet."""
    chosen = settings.encoder
    if chosen.model == "minilm":
        if chosen.query_prefix or chosen.passage_prefix:
            raise ConfigError(
                "encoder.query_prefix and passage_prefix are for other models: minilm was trained without"
            )
        from pincite.encoders.minilm import minilm

        return minilm(threads=chosen.threads)
    if chosen.model.startswith("dpr:"):
        from pincite.encoders.dpr import load_dpr

        question, _, passage = (each.strip() for each in chosen.model.removeprefix("dpr:").partition(","))
        if not question or not passage or "," in passage:
            raise ConfigError(
                f"encoder.model {chosen.model!r} names no pair: write dpr:QUESTION_MODEL,PASSAGE_MODEL, two folders or "
                "hub names without a comma in them"
            )
        return load_dpr(
            question,
            passage,
            query_prefix=chosen.query_prefix or "",
            passage_prefix=chosen.passage_prefix or "",
            threads=chosen.threads,
        )
    from pincite.encoders.sentence_transformer import load_sentence_transformer

    return load_sentence_transformer(
        chosen.model,
        query_prefix=chosen.query_prefix,
        passage_prefix=chosen.passage_prefix,
        threads=chosen.threads,
    )


def build_calibration(settings: Settings, encoder: Encoder) -> Calibration | None:
    """What `answer.calibration` names; None for ``off``, and for the one that is shipped under another encoder.

    Raises ConfigError for a file that is none, or was fitted with another encoder: its similarities are other numbers.
    """
    chosen = settings.answer.calibration
    if chosen == "off":
        return None
    name = encoder.identity.name
    if chosen == "default":
        shipped = default_calibration()
        return shipped if shipped.encoder == name else None
    calibration = load_calibration(Path(os.path.expanduser(chosen)))
    if calibration.encoder not in ("", name):
        raise ConfigError(
            f"answer.calibration {chosen} was fitted with the encoder {calibration.encoder}, and this is {name}: "
            "run `pincite calibrate` again, or set it to off"
        )
    return calibration


def build_chunker(settings: Settings, encoder: Encoder) -> Chunker:
    """The chunker that `chunk.recipe` names. Raises ConfigError for a size over the encoder's limit."""
    chosen, limit, tokenizer = settings.chunk, encoder.max_tokens, encoder.tokenizer
    size = chosen.size or (min(_CHILD_SIZE, limit) if chosen.recipe == "parent-child" else limit)
    if size > limit:
        raise ConfigError(f"chunk.size is {size} tokens, the encoder {encoder.identity.name} takes {limit} at most")
    if chosen.recipe == "window":
        from pincite.chunkers.window import WindowChunker

        return WindowChunker(tokenizer, size=size, overlap=chosen.overlap)
    if chosen.recipe == "sentences":
        from pincite.chunkers.sentences import SentenceChunker

        return SentenceChunker(tokenizer, size=size, overlap_sentences=chosen.overlap)
    if chosen.recipe == "sentence-window":
        from pincite.chunkers.sentence_window import SentenceWindowChunker

        return SentenceWindowChunker(tokenizer, size=size, window=chosen.window or _WINDOW)
    if chosen.recipe == "parent-child":
        from pincite.chunkers.parent_child import ParentChildChunker

        return ParentChildChunker(tokenizer, size=size, parent_size=chosen.parent_size or _PARENT_SIZE)
    from pincite.chunkers.structure import StructureChunker

    return StructureChunker(tokenizer, size=size, overlap_sentences=chosen.overlap)


def chunk_recipe(chunk: ChunkSettings) -> str:
    """How chunks are cut, in words that are the same only for the same cut: what a document was indexed with."""
    parts = [chunk.recipe if chunk.recipe == "window" else f"{chunk.recipe}/{_REVISION}"]
    parts.append(f"size={chunk.size or (_CHILD_SIZE if chunk.recipe == 'parent-child' else 'limit')}")
    if chunk.recipe == "sentence-window":
        parts.append(f"window={chunk.window or _WINDOW}")
    elif chunk.recipe == "parent-child":
        parts.append(f"parent={chunk.parent_size or _PARENT_SIZE}")
    else:
        parts.append(f"overlap={chunk.overlap}")
    return " ".join(parts)


def build_reader(settings: Settings) -> Reader:
    """What makes documents of files, in a process of its own: a file on which that hangs or ends costs itself alone."""
    from pincite.loaders.worker import WorkerReader

    return WorkerReader(settings.load.model_dump(mode="json"))


def build_reranker(settings: Settings, encoder: Encoder, store: Store) -> Reranker | None:
    """The reranker that `rerank.model` names, None for ``none``; no weights are loaded and nothing is contacted yet.

    Raises ConfigError, InputError or MissingExtraError for one that cannot run: an unknown name, a folder that is not
    there or holds no such model, an extra that is not installed, an encoder without token vectors.
    """
    chosen = settings.rerank
    kind, _, name = chosen.model.partition(":")
    if kind == "none" and not name:
        return None
    budget: dict[str, Any] = {
        key: value for key in ("depth", "batch", "seconds") if (value := getattr(chosen, key)) is not None
    }
    if kind == "mmr" and not name:
        from pincite.rerankers.mmr import MmrReranker

        if budget.keys() - {"depth"} or chosen.weight != 1:
            raise ConfigError("rerank.batch, seconds and weight are of rerankers that read passages, and mmr does not")
        given: dict[str, Any] = {} if chosen.mmr_lambda is None else {"weight": chosen.mmr_lambda}
        return MmrReranker(store.vectors, **given, **budget)
    if chosen.mmr_lambda is not None:
        raise ConfigError(f"rerank.mmr_lambda is of mmr, and rerank.model is {chosen.model!r}")
    budget["weight"] = chosen.weight
    if kind == "cross-encoder" and name:
        from pincite.rerankers.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(name, threads=settings.encoder.threads, **budget)
    if kind == "late-interaction" and not name:
        from pincite.rerankers.late_interaction import LateInteractionReranker

        return LateInteractionReranker(encoder, **budget)
    if kind == "likelihood" and name not in ("openai", "openai:"):
        from pincite.rerankers.likelihood import LikelihoodReranker

        return LikelihoodReranker(_likelihood_model(settings, name), **budget)
    raise ConfigError(
        f"rerank.model {chosen.model!r} is not known; there are: none, cross-encoder:PATH, late-interaction, mmr, "
        "likelihood, likelihood:PATH, likelihood:openai:NAME"
    )


def _likelihood_model(settings: Settings, name: str) -> LikelihoodModel:
    if name.startswith("openai:"):
        from pincite.generators.openai import OpenAIGenerator

        chosen = settings.answer
        if chosen.base_url is None and chosen.api_key is None:
            raise ConfigError(
                "likelihood:openai:NAME needs answer.base_url: an endpoint whose /completions takes echo with logprobs"
            )
        return OpenAIGenerator(
            name.removeprefix("openai:"),
            chosen.base_url or _OPENAI,
            api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
            timeout=chosen.timeout,
        )
    from pincite.generators.gemma import default_cache_dir
    from pincite.generators.local import LocalGenerator

    # One of its own: the generator that answers keeps its worked examples computed, which scoring would push out.
    model = LocalGenerator(Path(name).expanduser() if name else None, cache_dir=default_cache_dir(os.environ))
    model.check()
    return model


def cache_folder() -> Path:
    """Where what can be made again is kept: ``$PINCITE_CACHE``, or the user's own folder for it."""
    from pincite.generators.gemma import default_cache_dir

    return default_cache_dir(os.environ)


def _options(settings: Settings) -> Options:
    if settings.answer.context_tokens <= settings.answer.max_tokens:
        raise ConfigError(
            f"answer.max_tokens ({settings.answer.max_tokens}) leaves nothing of "
            f"answer.context_tokens ({settings.answer.context_tokens}) for the prompt"
        )
    return Options(
        k=settings.search.k,
        mode=settings.search.mode,
        depth=settings.search.depth,
        fusion=settings.search.fusion,
        dense_weight=settings.search.dense_weight,
        rrf_k=settings.search.rrf_k,
        merge=settings.search.merge,
        per_document=settings.search.per_document,
        answer_passages=settings.answer.passages,
        layout=Layout(
            budget=settings.answer.context_tokens,
            answer=settings.answer.max_tokens,
            order=settings.answer.order,
            relevance=settings.answer.relevance,
            turns=settings.answer.history,
            template=read_template(settings.answer.template) if settings.answer.template else None,
        ),
        least_confidence=settings.answer.least_confidence,
        steering=Trust(settings.answer.trust, tuple(settings.answer.trust_of.items())),
        max_file_bytes=int(settings.load.max_file_mb * 1e6),
        reading=_reading(settings),
        recipe=chunk_recipe(settings.chunk),
    )


def _reading(settings: Settings) -> str:
    """How files are read, in words that are the same only where the same text comes of it."""
    load = settings.load
    scans = "off" if load.ocr == "off" else f"{load.ocr} {load.ocr_languages}"
    missing = NO_TESSERACT if load.ocr != "off" and shutil.which("tesseract") is None else ""
    return f"{_READING}, scans: {scans}{missing}"


def reindex(settings: Settings, listener: AddListener | None = None) -> int:
    """Encode every document of an index anew with the encoder in the settings. Returns how many there were.

    The new index is built within the old one's folder, from the text that is stored, and takes its place when complete;
    until then the old one is whole. Document ids, versions and times stay. Interrupted or failed before that, it leaves
    nothing of the new one behind.
    """
    from pincite.store.edge import EdgeStore
    from pincite.store.shared import open_shared

    folder = settings.store.path
    encoder = build_encoder(settings)
    chunker = build_chunker(settings, encoder)
    # Inside the index's own folder: nobody else's, on the same disk, and under its lock.
    fresh = folder / "reindex"
    timeout = settings.store.lock_timeout
    with closing(
        open_shared(folder, lambda s: EdgeStore.open(folder, timeout=s), write=True, timeout=timeout)
    ) as shared:
        source = cast("EdgeStore", shared)  # what it has of one: reading, and giving place
        shutil.rmtree(fresh, ignore_errors=True)  # of one that was cut off
        header = StoreHeader(
            identity=encoder.identity,
            probes=tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder)),
            language=settings.search.language or source.header.language,
            created_at=source.header.created_at,
        )
        try:
            with EdgeStore.create(
                fresh, header, index=index_options(settings), retention=retention(settings)
            ) as target:
                count = copy_documents(source, target, chunker, encoder, _options(settings).recipe, listener)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)  # half made: of no use to anybody
            raise
        source.give_place_to(fresh)
    return count
