"""From settings to objects: the only place that knows which name stands for which class."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.config import Settings, load_settings
from pincite.errors import ConfigError
from pincite.pipeline import AddListener, Options, Pipeline, copy_documents, probe_vectors
from pincite.protocols import StoreHeader

if TYPE_CHECKING:
    from pincite.protocols import Chunker, Encoder, Generator, Loader
    from pincite.store.edge import EdgeStore

__all__ = ["Pincite", "build_chunker", "build_encoder", "build_generator", "build_loaders", "reindex"]

_OLLAMA = "http://127.0.0.1:11434/v1"
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
        **overrides: object,
    ) -> Pincite:
        """Open the index at `path`, and make it if there is none and `create` is true.

        Settings come from ``pincite.toml`` and the environment unless given; `overrides` win over both and are named
        ``section_key``, for example ``answer_model="extractive"``. Raises StoreBusyError when another process holds
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
        store = _open_store(settings, encoder, create=create)
        try:
            pincite = cls(
                store=store,
                encoder=encoder,
                chunker=build_chunker(settings, encoder),
                loaders=build_loaders(),
                generator=lambda: build_generator(settings, encoder),
                options=_options(settings),
            )
        except BaseException:
            store.close()
            raise
        pincite.settings = settings
        return pincite

    def __enter__(self) -> Pincite:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open_store(settings: Settings, encoder: Encoder, *, create: bool) -> EdgeStore:
    from pincite.store.edge import EdgeStore

    folder = settings.store.path
    timeout = settings.store.lock_timeout
    if folder.is_file():
        raise ConfigError(f"the index must be a folder, {folder} is a file: name another with --store")
    if EdgeStore.exists(folder) or not create:
        store = EdgeStore.open(folder, timeout=timeout)
        wanted = settings.search.language
        if wanted is not None and wanted != store.header.language:
            found = store.header.language
            store.close()
            raise ConfigError(
                f"search.language is {wanted}, the index at {folder} was made for {found}. "
                "Run `pincite reindex` to make it anew, or unset search.language."
            )
        return store
    header = StoreHeader(
        identity=encoder.identity,
        probes=tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder)),
        language=settings.search.language or "english",
    )
    return EdgeStore.create(folder, header, timeout=timeout)


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
    from pincite.encoders.sentence_transformer import load_sentence_transformer

    return load_sentence_transformer(
        chosen.model,
        query_prefix=chosen.query_prefix,
        passage_prefix=chosen.passage_prefix,
        threads=chosen.threads,
    )


def build_chunker(settings: Settings, encoder: Encoder) -> Chunker:
    """The chunker that `chunk.recipe` names. Raises ConfigError for a size over the encoder's limit."""
    limit = encoder.max_tokens
    size = settings.chunk.size or limit
    if size > limit:
        raise ConfigError(f"chunk.size is {size} tokens, the encoder {encoder.identity.name} takes {limit} at most")
    if settings.chunk.recipe == "window":
        from pincite.chunkers.window import WindowChunker

        return WindowChunker(encoder.tokenizer, size=size, overlap=settings.chunk.overlap)
    from pincite.chunkers.structure import StructureChunker

    return StructureChunker(encoder.tokenizer, size=size, overlap_sentences=settings.chunk.overlap)


def build_loaders() -> list[Loader]:
    """Every loader."""
    from pincite.loaders.docx import DocxLoader
    from pincite.loaders.html import HtmlLoader
    from pincite.loaders.markdown import MarkdownLoader
    from pincite.loaders.pdf import PdfLoader
    from pincite.loaders.text import TextLoader

    return [PdfLoader(), DocxLoader(), HtmlLoader(), MarkdownLoader(), TextLoader()]


def build_generator(settings: Settings, encoder: Encoder) -> Generator:
    """The generator that `answer.model` names; no model is loaded and nothing is contacted yet."""
    chosen = settings.answer
    kind, _, name = chosen.model.partition(":")
    if kind == "extractive" and not name:
        from pincite.generators.extractive import ExtractiveGenerator

        return ExtractiveGenerator(encoder)
    if kind == "local":
        from pincite.generators.gemma import default_cache_dir
        from pincite.generators.local import LocalGenerator

        return LocalGenerator(Path(name).expanduser() if name else None, cache_dir=default_cache_dir(os.environ))
    if kind in ("openai", "ollama") and name:
        from pincite.generators.openai import OpenAIGenerator

        if kind == "openai" and chosen.base_url is None and chosen.api_key is None:
            raise ConfigError("openai:NAME needs a key: set OPENAI_API_KEY, or answer.base_url for another endpoint")
        return OpenAIGenerator(
            name,
            chosen.base_url or (_OLLAMA if kind == "ollama" else _OPENAI),
            # Ollama asks for none, and a key of somebody else's is not for it to see.
            api_key=chosen.api_key.get_secret_value() if chosen.api_key and kind == "openai" else None,
            provider=kind,
            timeout=chosen.timeout,
            max_tokens=chosen.max_tokens,
            temperature=chosen.temperature,
        )
    raise ConfigError(
        f"answer.model {chosen.model!r} is not known; there are: extractive, local, local:PATH, "
        "openai:NAME, ollama:NAME"
    )


def _options(settings: Settings) -> Options:
    prompt_tokens = settings.answer.context_tokens - settings.answer.max_tokens
    if prompt_tokens <= 0:
        raise ConfigError(
            f"answer.max_tokens ({settings.answer.max_tokens}) leaves nothing of "
            f"answer.context_tokens ({settings.answer.context_tokens}) for the prompt"
        )
    chunk = settings.chunk
    return Options(
        k=settings.search.k,
        mode=settings.search.mode,
        depth=settings.search.depth,
        rrf_k=settings.search.rrf_k,
        answer_passages=settings.answer.passages,
        prompt_tokens=prompt_tokens,
        max_file_bytes=int(settings.load.max_file_mb * 1e6),
        recipe=f"{chunk.recipe} size={chunk.size or 'limit'} overlap={chunk.overlap}",
    )


def reindex(settings: Settings, listener: AddListener | None = None) -> int:
    """Encode every document of an index anew with the encoder in the settings. Returns how many there were.

    The new index is built within the old one's folder, from the text that is stored, and takes its place when complete;
    until then the old one is whole. Document ids, versions and times stay.
    """
    from pincite.store.edge import EdgeStore

    folder = settings.store.path
    encoder = build_encoder(settings)
    chunker = build_chunker(settings, encoder)
    # Inside the index's own folder: nobody else's, on the same disk, and under its lock.
    fresh = folder / "reindex"
    with EdgeStore.open(folder, timeout=settings.store.lock_timeout) as source:
        shutil.rmtree(fresh, ignore_errors=True)  # of one that was cut off
        header = StoreHeader(
            identity=encoder.identity,
            probes=tuple(tuple(float(x) for x in probe) for probe in probe_vectors(encoder)),
            language=settings.search.language or source.header.language,
            created_at=source.header.created_at,
        )
        with EdgeStore.create(fresh, header) as target:
            count = copy_documents(source, target, chunker, encoder, _options(settings).recipe, listener)
        source.give_place_to(fresh)
    return count
