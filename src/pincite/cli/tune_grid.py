"""Settings as points of a grid: what is tried, read as the settings read it, and which points can stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from pincite.config import Settings
    from pincite.evaluation.tune import Point, Value
    from pincite.protocols import Encoder

__all__ = ["default_grid", "objection", "parse_grid", "present_point", "rest_of", "value_of", "with_point"]

#: What is tried of each setting unless --grid names others, beside its present value. Every recipe and every way of
#: fusing comes on top.
_TRIED: dict[str, tuple[Any, ...]] = {
    "chunk.size": (None, 128),
    "search.dense_weight": (0.3, 0.45, 0.6),
    "search.rrf_k": (5, 10, 30, 60),
    "search.depth": (50, 200),
}
#: Named by every point, whether the grid varies them or not.
_CUTTING = ("chunk.recipe", "chunk.size", "chunk.overlap")
_SEARCHING = ("search.mode", "search.depth", "search.k", "search.fusion")
#: Settings that are choices of a few names, all of which are tried.
_ALL_OF = ("chunk.recipe", "search.fusion")
#: A setting that only has a part in something when another has this value.
_ONLY_WITH = {"search.rrf_k": ("search.fusion", "rrf"), "search.dense_weight": ("search.fusion", "zscore")}
#: Fixed when an index is made, or nothing that a search result depends on.
_NOT_TUNED = ("search.language",)


def default_grid(settings: Settings) -> dict[str, list[Value]]:
    """Setting → values to try, the present one among them."""
    from pincite.config import setting_names

    known = setting_names()
    grid: dict[str, list[Value]] = {}
    for name in _ALL_OF:
        if name in known:
            grid[name] = list(get_args(_annotation(name)))
    grid |= {name: list(values) for name, values in _TRIED.items() if name in known}
    for name, values in grid.items():
        if (now := value_of(settings, name)) not in values:
            values.insert(0, now)
    return grid


def parse_grid(written: Sequence[str], settings: Settings) -> dict[str, list[Value]]:
    """``["chunk.size=128,unset"]`` → setting → values, each checked. Raises InputError, or ConfigError for a value."""
    from pincite.config import setting_names
    from pincite.errors import InputError

    tunable = [n for n in setting_names() if n.startswith(("chunk.", "search.", "rerank.")) and n not in _NOT_TUNED]
    grid: dict[str, list[Value]] = {}
    for each in written:
        name, equals, values = each.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise InputError(f"--grid takes SECTION.KEY=VALUE,VALUE, got {each!r}")
        if name not in tunable:
            raise InputError(f"{name!r} cannot be tuned; there are: {', '.join(tunable)}")
        for value in values.split(","):
            typed: Value = None if value.strip().lower() == "unset" else value.strip()
            # As the settings read it: "128" is a number where a number is meant.
            read = value_of(with_point(settings, {name: typed}, alone=True), name)
            if read not in grid.setdefault(name, []):
                grid[name].append(read)
    return grid


def _annotation(name: str) -> Any:
    from pincite.config import Settings

    section, _, key = name.partition(".")
    inner: Any = Settings.model_fields[section].annotation
    return inner.model_fields[key].annotation


def present_point(settings: Settings, grid: Iterable[str]) -> dict[str, Value]:
    """The settings in force as a point: those of `grid` and those that every measurement names."""
    names = dict.fromkeys((*_CUTTING, *grid, *_SEARCHING))
    return {name: value_of(settings, name) for name in names}


def value_of(settings: Settings, name: str) -> Value:
    """The value of ``section.key``."""
    section, _, key = name.partition(".")
    value: Value = getattr(getattr(settings, section), key)
    return value


def with_point(settings: Settings, point: Point, *, alone: bool = False) -> Settings:
    """The settings with those of a point. `alone`: a single value is looked at, which others need not fit."""
    from pydantic import ValidationError

    from pincite.config import Settings
    from pincite.errors import ConfigError

    data = Settings().model_dump() if alone else settings.model_dump()
    for name, value in point.items():
        section, _, key = name.partition(".")
        data[section][key] = value
    if alone and "chunk.overlap" in point:
        data["chunk"]["size"] = None
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise ConfigError(f"{where}: {problem['msg'].removeprefix('Value error, ')}") from None


def objection(settings: Settings, point: Point, present: Point, encoder: Encoder) -> str | None:
    """Why these settings cannot stand together, "" if they are another point in other words; None if they can."""
    from pincite.build import build_chunker
    from pincite.errors import ConfigError

    for name, (other, needed) in _ONLY_WITH.items():
        if name in point and other in point and point[other] != needed and point[name] != present[name]:
            return ""
    try:
        build_chunker(with_point(settings, point), encoder)
    except ConfigError as error:
        return str(error)
    return None


def rest_of(settings: Settings, present: Point) -> str:
    """Everything that a search depends on beside what is swept: measurements with other values of it are others."""
    import hashlib
    import json

    kept = {
        f"{section}.{key}": value
        for section, body in settings.masked().items()
        if section in ("chunk", "search", "rerank", "index")
        for key, value in body.items()
        if f"{section}.{key}" not in present
    }
    if "openai" in settings.rerank.model:
        kept["answer.base_url"] = settings.answer.base_url
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]
