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
    "LoadSettings",
    "SearchSettings",
    "Settings",
    "StoreSettings",
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

    model: str = Field("minilm", description="`minilm` (bundled), the path of a model folder, or a hub name.")
    query_prefix: str | None = Field(None, description="Put before queries; unset: what the model states.")
    passage_prefix: str | None = Field(None, description="Put before passages; unset: what the model states.")
    threads: int | None = Field(None, ge=1, description="Threads of the encoder; unset: every core.")


class ChunkSettings(_Section):
    """How documents are cut."""

    recipe: Literal["structure", "window"] = Field(
        "structure", description="`structure`: headings, paragraphs, sentences; `window`: fixed token windows."
    )
    size: int | None = Field(
        None, ge=1, description="Tokens of a chunk, headings included; unset: what the encoder takes."
    )
    overlap: int = Field(0, ge=0, description="Tokens (window) or sentences (structure) shared by neighbours.")

    @model_validator(mode="after")
    def _overlap_below_size(self) -> ChunkSettings:
        if self.size is not None and self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        return self


class SearchSettings(_Section):
    """How passages are found."""

    language: str | None = Field(
        None, description="Stemmer and stop words of the lexical leg; unset: the index's own, english for a new one."
    )
    k: int = Field(10, ge=1, le=10_000, description="Passages returned.")
    mode: Literal["hybrid", "dense", "bm25"] = Field("hybrid", description="Which legs are asked.")
    depth: int = Field(100, ge=1, le=10_000, description="Hits each leg gives to fusion.")
    rrf_k: int = Field(10, ge=0, description="The constant of reciprocal rank fusion.")

    @field_validator("language")
    @classmethod
    def _known_language(cls, value: str | None) -> str | None:
        if value is not None and value not in LANGUAGES:
            raise ValueError(f"there is no stemmer of that name; there are: {', '.join(LANGUAGES)}")
        return value


class AnswerSettings(_Section):
    """How answers are written."""

    model: str = Field(
        "extractive",
        description="`extractive` (sentences of the documents, no model), `local` (Gemma 3 270M, in this process), "
        "`local:PATH` of a GGUF file, `openai:NAME` or `ollama:NAME`.",
    )
    base_url: str | None = Field(None, description="Address of an OpenAI-compatible endpoint.")
    api_key: SecretStr | None = Field(None, description="Its key; better given as OPENAI_API_KEY in the environment.")
    passages: int = Field(5, ge=1, le=1000, description="Passages a generator is offered.")
    max_tokens: int = Field(512, ge=1, description="The longest answer of an endpoint, in tokens.")
    context_tokens: int = Field(8192, ge=256, description="The endpoint's context window, prompt and answer.")
    temperature: float = Field(0.0, ge=0, le=2, description="Sampling temperature of an endpoint.")
    timeout: float = Field(120.0, gt=0, description="Seconds an endpoint may take in all.")


class LoadSettings(_Section):
    """What is read from disk."""

    max_file_mb: float = Field(512, gt=0, description="Larger files are skipped and named.")


class Settings(_Section):
    """Every setting, checked."""

    store: StoreSettings = Field(default_factory=StoreSettings)
    encoder: EncoderSettings = Field(default_factory=EncoderSettings)
    chunk: ChunkSettings = Field(default_factory=ChunkSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    answer: AnswerSettings = Field(default_factory=AnswerSettings)
    load: LoadSettings = Field(default_factory=LoadSettings)

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
