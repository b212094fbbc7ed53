"""Settings: defaults, then ``pincite.toml``, then ``PINCITE_…`` in the environment, then arguments. Later wins.

In the file a setting stands in its section; in the environment its name is ``PINCITE_SECTION_KEY``, for example
``PINCITE_ANSWER_MODEL=extractive``. The store's folder alone is also ``PINCITE_STORE``. An unknown name is an error
that offers the nearest valid one: a setting is never silently ignored.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from pincite.analysis import LANGUAGES
from pincite.assemble import RELEVANCE
from pincite.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "FILE_NAME",
    "AnswerSettings",
    "ChunkSettings",
    "EncoderSettings",
    "HistorySettings",
    "IndexSettings",
    "LoadSettings",
    "RerankSettings",
    "SearchSettings",
    "Settings",
    "StoreSettings",
    "SupportSettings",
    "load_settings",
]

FILE_NAME = "pincite.toml"
_PREFIX = "PINCITE_"
#: Names in the environment that other parts read: where weights are unpacked, and where evaluation data lies.
_NOT_SETTINGS = frozenset({"PINCITE_CACHE", "PINCITE_DATA"})


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _not_a_truth_value(cls, value: object) -> object:
        # No setting is one, and ``k = true`` would otherwise be read as 1.
        if isinstance(value, bool):
            raise ValueError("true and false are not values of this setting")
        return value


class StoreSettings(_Section):
    """Where the index is."""

    path: Path = Field(Path(".pincite"), description="Folder of the index; `~` is the home folder.")
    lock_timeout: float = Field(5.0, ge=0, description="Seconds to wait for a process that holds the index.")

    @field_validator("path")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return Path(os.path.expanduser(value))


class EncoderSettings(_Section):
    """What turns text into vectors. Fixed when an index is created."""

    model: str = Field(
        "minilm",
        description="`minilm` (bundled), the path of a model folder, or a hub name; "
        "`dpr:QUESTION_MODEL,PASSAGE_MODEL` for the two towers of DPR.",
    )
    query_prefix: str | None = Field(None, description="Put before queries; unset: what the model states.")
    passage_prefix: str | None = Field(None, description="Put before passages; unset: what the model states.")
    threads: int | None = Field(None, ge=1, description="Threads of the encoder; unset: every core.")


#: Settings that only some recipes have.
_OF_RECIPE = {
    "overlap": ("structure", "sentences", "window"),
    "window": ("sentence-window",),
    "parent_size": ("parent-child",),
}


class ChunkSettings(_Section):
    """How documents are cut."""

    recipe: Literal["structure", "sentences", "window", "sentence-window", "parent-child"] = Field(
        "structure",
        description="`structure`: headings, paragraphs, sentences; `sentences`: sentences, whatever the headings; "
        "`window`: fixed token windows; `sentence-window`: finds one sentence, reads its neighbourhood; "
        "`parent-child`: finds a small chunk, reads the section around it.",
    )
    size: int | None = Field(
        None,
        ge=1,
        description="Tokens of a chunk, headings included; unset: what the encoder takes (parent-child: 128).",
    )
    overlap: int = Field(
        0, ge=0, description="Tokens (window) or sentences (structure, sentences) shared by neighbours."
    )
    window: int | None = Field(
        None, ge=1, description="Sentences read to either side of the one found (sentence-window alone); unset: 3."
    )
    parent_size: int | None = Field(
        None, ge=2, description="Tokens of what is read around a chunk (parent-child alone); unset: 512."
    )

    @model_validator(mode="after")
    def _overlap_below_size(self) -> ChunkSettings:
        if self.size is not None and self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        if self.size is not None and self.parent_size is not None and self.parent_size <= self.size:
            raise ValueError(f"parent_size ({self.parent_size}) must be greater than size ({self.size})")
        return self

    @model_validator(mode="after")
    def _settings_of_the_recipe(self) -> ChunkSettings:
        for name, recipes in _OF_RECIPE.items():
            if getattr(self, name) and self.recipe not in recipes:
                raise ValueError(f"{name} is a setting of {', '.join(recipes)}, not of {self.recipe}: unset it")
        return self


class SearchSettings(_Section):
    """How passages are found."""

    language: str | None = Field(
        None, description="Stemmer and stop words of the lexical leg; unset: the index's own, english for a new one."
    )
    k: int = Field(10, ge=1, le=10_000, description="Passages returned.")
    mode: Literal["hybrid", "dense", "bm25"] = Field("hybrid", description="Which legs are asked.")
    depth: int = Field(200, ge=1, le=10_000, description="Hits each leg gives to fusion.")
    fusion: Literal["zscore", "rrf"] = Field(
        "zscore", description="`zscore`: the sum of the legs' standardized scores; `rrf`: reciprocal rank fusion."
    )
    dense_weight: float = Field(
        0.45,
        ge=0,
        le=1,
        description="Weight of the dense leg in `zscore`, the lexical leg has the rest; less for a query that the "
        "encoder's vocabulary does not know.",
    )
    rrf_k: int = Field(10, ge=0, description="The constant of `rrf`.")
    merge: int = Field(
        3000,
        ge=0,
        description="Passages of a document that overlap or follow each other are read as one of at most so many "
        "characters; 0: they stay apart.",
    )
    per_document: int = Field(0, ge=0, description="The most passages of one document; 0: as many as there are.")

    @field_validator("language")
    @classmethod
    def _known_language(cls, value: str | None) -> str | None:
        if value is not None and value not in LANGUAGES:
            raise ValueError(f"there is no stemmer of that name; there are: {', '.join(LANGUAGES)}")
        return value


class RerankSettings(_Section):
    """Whether the first passages are read again, and by what."""

    model: str = Field(
        "none",
        description="`none`, `cross-encoder:PATH` of a model folder (or hub name), `late-interaction`, `mmr`, "
        "`likelihood` (of the local model), `likelihood:PATH` of a GGUF file or `likelihood:openai:NAME`.",
    )
    depth: int | None = Field(
        None, ge=1, le=1000, description="Passages read again; unset: 50, late interaction 20, likelihood 10."
    )
    seconds: float | None = Field(
        None, gt=0, description="Time for it; what is not read by then keeps its order behind. Unset: no limit."
    )
    batch: int | None = Field(
        None, ge=1, description="Passages between two looks at the clock; unset: 16, late interaction 8, likelihood 1."
    )
    weight: float = Field(
        1.0, gt=0, le=1, description="Weight of the new score; the rest is that of the score before, both standardised."
    )
    mmr_lambda: float | None = Field(
        None, ge=0, le=1, description="Of `mmr`: 1 is relevance alone, 0 unlikeness alone; unset: 0.7."
    )


class IndexSettings(_Section):
    """How vectors are searched. Built by `pincite optimize`, and by `pincite add` where it pays."""

    kind: Literal["auto", "exact", "hnsw", "int8", "pq", "binary", "ivfpq"] = Field(
        "auto",
        description="`auto`: exact, and above `exact_until` an HNSW graph; `exact`; `hnsw`; a graph on codes that are "
        "re-scored: `int8`, `pq`, `binary`; `ivfpq`: faiss, for many documents that seldom change.",
    )
    exact_until: int | None = Field(
        None, ge=0, description="Chunks up to which every search is exact; unset: 50,000 for `auto`, 10,000 else."
    )
    m: int = Field(16, ge=2, le=512, description="HNSW: links of a chunk.")
    ef_construct: int = Field(128, ge=4, le=4096, description="HNSW: width of the search that places a chunk.")
    ef: int | None = Field(None, ge=1, le=100_000, description="HNSW: width of a search to begin with; unset: 128.")
    oversampling: float | None = Field(
        None,
        ge=1,
        le=1000,
        description="Codes: candidates per result that are re-scored; unset: int8 2, ivfpq 4, binary 8, pq 16.",
    )
    nlist: int | None = Field(None, ge=1, description="IVF-PQ: cells; unset: by the number of chunks.")
    nprobe: int | None = Field(None, ge=1, description="IVF-PQ: cells looked into, to begin with; unset: 16.")
    recall_floor: float = Field(
        0.98,
        ge=0,
        le=1,
        description="Recall@10 that `optimize` measures and sees to: wider search, a more careful build, or exact.",
    )


class AnswerSettings(_Section):
    """How answers are written."""

    model: str = Field(
        "extractive",
        description="`extractive` (sentences of the documents, no model), `local` (Gemma 3 270M, in this process), "
        "`local:PATH` of a GGUF file, `transformers:NAME` or `fid:NAME` of a hub or a folder, `openai:NAME` or "
        "`ollama:NAME`.",
    )
    marginalize: Literal["auto", "none", "token", "sequence"] = Field(
        "auto",
        description="How the passages are weighed: `token` (RAG-Token) or `sequence` (RAG-Sequence) sum the answer's "
        "probability over the passages, each read apart; `none` does not; `auto` is what was measured to be better "
        "for the model: `token` for `local`, `token` for `transformers`, else `none`.",
    )
    prior_temperature: float | None = Field(
        None,
        gt=0,
        description="Of the softmax that makes retrieval scores the passages' prior; unset: what was measured for "
        "the stage that gave the scores (rerankers: 1).",
    )
    base_url: str | None = Field(None, description="Address of an OpenAI-compatible endpoint.")
    api_key: SecretStr | None = Field(None, description="Its key; better given as OPENAI_API_KEY in the environment.")
    passages: int = Field(5, ge=1, le=1000, description="Passages a generator is offered.")
    max_tokens: int = Field(512, ge=1, description="The longest answer of an endpoint, in tokens.")
    context_tokens: int = Field(8192, ge=256, description="The endpoint's context window, prompt and answer.")
    relevance: float = Field(
        RELEVANCE,
        ge=0,
        le=1,
        description="Passages are left out of an endpoint's prompt that every leg scores below this share of its best "
        "score among them; 0 leaves none out.",
    )
    order: Literal["best-first", "edges"] = Field(
        "best-first",
        description="How passages stand in an endpoint's prompt: `best-first`, or `edges`: the best first, the second "
        "best last, and so on inwards.",
    )
    template: Path | None = Field(
        None,
        description="A file of your own in place of `templates/answer-1.txt`: what an endpoint is told; `~` is the "
        "home folder.",
    )
    trust: Literal["low", "normal", "high"] = Field(
        "low",
        description="Answers are made from sources of at least this trust: the field `trust` of the metadata that a "
        "document was added with (`--meta trust=low`), else normal. `low`: from all.",
    )
    trust_of: dict[str, Literal["low", "normal", "high"]] = Field(
        default_factory=dict,
        description='Patterns of addresses with their trust, which outdo metadata: `{"*/mail/*" = "low"}`; the first '
        "that matches counts.",
    )
    history: int = Field(6, ge=0, le=1000, description="Turns of a conversation that an endpoint is given, at most.")
    calibration: str = Field(
        "default",
        min_length=1,
        description="What makes evidence the probability that the passages answer: `default` (shipped, for the encoder "
        "`minilm`), the path of a file that `pincite calibrate` wrote, or `off`: fixed limits, no probability.",
    )
    least_confidence: float | None = Field(
        None, ge=0, le=1, description="Probability below which there is no answer; unset: the calibration's own."
    )
    temperature: float = Field(0.0, ge=0, le=2, description="Sampling temperature of an endpoint.")
    timeout: float = Field(120.0, gt=0, description="Seconds an endpoint may take in all.")

    @field_validator("template")
    @classmethod
    def _home(cls, value: Path | None) -> Path | None:
        return value and Path(os.path.expanduser(value))


class SupportSettings(_Section):
    """What says whether a source supports a sentence of an answer."""

    model: str = Field(
        "lexical",
        description="`lexical` (words, numbers, names, conditions), `semantic` (words or vectors of the encoder), "
        "`nli:PATH` of a model folder (or hub name) that tells entailment, `judge` (the model of `answer.model`, "
        "but not the packaged one).",
    )
    threshold: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Probability from which a sentence counts as supported (`semantic`, `nli:PATH`, a `judge` that "
        "scores); unset: the scorer's own.",
    )


class LoadSettings(_Section):
    """What is read from disk."""

    max_file_mb: float = Field(512, gt=0, description="Larger files are skipped and named.")
    seconds: float = Field(300, gt=0, description="Reading a file that takes longer is stopped; the file is skipped.")
    memory_mb: int = Field(
        4096, ge=256, description="Memory that reading a file may take, where the system can limit it; else skipped."
    )
    ocr: Literal["auto", "off", "force"] = Field(
        "auto",
        description="Read scanned pages with Tesseract: pages without text, where it is installed (auto), none (off), "
        "or every page (force).",
    )
    ocr_languages: str = Field("eng", min_length=1, description="Their languages, as for Tesseract: eng+hin.")
    archive_depth: int = Field(2, ge=0, le=8, description="Archives within archives that are opened; 0: none is.")
    archive_mb: float = Field(1024, gt=0, description="Unpacked size of an archive above which it is not read on.")
    archive_files: int = Field(10_000, gt=0, description="Files of an archive above which it is not read on.")


class HistorySettings(_Section):
    """Which versions are kept that were replaced or removed. What is not kept is deleted with the next change."""

    versions: int | None = Field(None, ge=0, description="So many of each document; unset: all; 0: none.")
    days: float | None = Field(None, ge=0, description="So long after they ended; unset: for good.")


class Settings(_Section):
    """Every setting, checked."""

    store: StoreSettings = Field(default_factory=StoreSettings)
    encoder: EncoderSettings = Field(default_factory=EncoderSettings)
    chunk: ChunkSettings = Field(default_factory=ChunkSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    index: IndexSettings = Field(default_factory=IndexSettings)
    rerank: RerankSettings = Field(default_factory=RerankSettings)
    answer: AnswerSettings = Field(default_factory=AnswerSettings)
    support: SupportSettings = Field(default_factory=SupportSettings)
    load: LoadSettings = Field(default_factory=LoadSettings)
    history: HistorySettings = Field(default_factory=HistorySettings)

    def masked(self) -> dict[str, Any]:
        """As plain data for printing; secrets show as asterisks."""
        return self.model_dump(mode="json")


def setting_names() -> list[str]:
    """Every setting as ``section.key``, in order."""
    return [
        f"{section}.{key}"
        for section, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        for key in field.annotation.model_fields
    ]


def load_settings(
    file: Path | None = None,
    *,
    environment: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Read the settings that are in force.

    `file` is the settings file; None takes ``pincite.toml`` of the current folder if there is one. `overrides` are
    ``section.key`` → value, where None means not given. OPENAI_API_KEY is taken for `answer.api_key`, but not where a
    settings file that was found, not named, sends questions elsewhere by `answer.base_url`. Raises ConfigError naming
    the setting, what was found and what is allowed.
    """
    values: dict[str, dict[str, object]] = {}
    found_by_chance = file is None
    if file is None:
        file = Path(FILE_NAME) if Path(FILE_NAME).is_file() else None
    elif not file.is_file():
        raise ConfigError(f"there is no settings file {file}")
    if file is not None:
        values = _from_file(file)
    from_file = set(values.get("answer", {}))
    for name, value in _from_environment(environment).items():
        _put(values, name, value)
    # The usual name, so that nobody must keep the key twice. It was not written for pincite: the setting itself wins,
    # and it does not go to an address that merely lay in the current folder's settings file.
    elsewhere = found_by_chance and "base_url" in from_file and "PINCITE_ANSWER_BASE_URL" not in environment
    if (key := environment.get("OPENAI_API_KEY")) and "api_key" not in values.get("answer", {}) and not elsewhere:
        _put(values, "answer.api_key", key)
    known = setting_names()
    for name, given in (overrides or {}).items():
        if name not in known:
            raise ConfigError(f"unknown setting {name}{_nearest(name, known)}")
        if given is not None:
            _put(values, name, given)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def _from_file(file: Path) -> dict[str, dict[str, object]]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    known = setting_names()
    sections = list(Settings.model_fields)
    for section, body in data.items():
        if section not in sections:
            homes = [name.partition(".")[0] for name in known if name.endswith(f".{section}")]
            if homes and not isinstance(body, dict):
                stands = " or ".join(f"[{home}]" for home in homes)
                raise ConfigError(f"{file}: {section} is a setting of {stands}: put it below a line {stands}")
            raise ConfigError(f"{file}: unknown section [{section}]{_nearest(section, sections)}")
        if not isinstance(body, dict):
            raise ConfigError(f"{file}: {section} is a section: write [{section}] and its settings below it")
        for key in body:
            if f"{section}.{key}" not in known:
                raise ConfigError(f"{file}: unknown setting {section}.{key}{_nearest(f'{section}.{key}', known)}")
    return {section: dict(body) for section, body in data.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    known = {_PREFIX + name.replace(".", "_").upper(): name for name in setting_names()}
    known[_PREFIX + "STORE"] = "store.path"
    found: dict[str, object] = {}
    # In order of their names: of PINCITE_STORE and PINCITE_STORE_PATH the longer, which is the setting's own, wins.
    for variable, value in sorted(environment.items()):
        if not variable.startswith(_PREFIX) or variable in _NOT_SETTINGS:
            continue
        if variable not in known:
            raise ConfigError(f"unknown setting {variable} in the environment{_nearest(variable, list(known))}")
        if value != "":
            found[known[variable]] = value
    return found


def _put(values: dict[str, dict[str, object]], name: str, value: object) -> None:
    section, _, key = name.partition(".")
    values.setdefault(section, {})[key] = value


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(known)}"


def _explain(error: ValidationError) -> str:
    problems = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        message = re.sub(r" for <class '[^']+'>$", "", problem["msg"].removeprefix("Value error, "))
        shown = "" if "api_key" in name or isinstance(problem["input"], Mapping) else f", got {problem['input']!r}"
        problems.append(f"setting {name}: {message[0].lower() + message[1:]}{shown}")
    return "; ".join(problems)
