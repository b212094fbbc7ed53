"""The grammar of authorities: which words name an act, a provision, a report of cases. It is data, in TOML.

``authorities.toml`` beside this file holds what comes with pincite and says what its keys mean. Other files add to it:
an act whose key is there already is replaced, a report is tried before those that are there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from pincite.errors import ConfigError
from pincite.verify.forms import ReportForm, ReportReader, read_form
from pincite.verify.names import PartyWords

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ActNames", "Grammar", "Unit", "load_grammar"]


@dataclass(frozen=True, slots=True)
class ActNames:
    """An act as the grammar knows it."""

    key: str  #: ``ipc``
    name: str  #: ``Indian Penal Code``
    unit: str = "section"  #: of its provisions
    year: int | None = None
    aliases: tuple[str, ...] = ()
    replaced_by: str = ""  #: key of the act that took its place
    replaced_on: str = ""  #: the first day of that one, ISO 8601
    field: str = ""  #: metadata in which a document of one provision has its number
    documents: tuple[str, ...] = ()  #: patterns of the addresses of its documents, as of a shell

    @property
    def full_name(self) -> str:
        """With the year, as it is cited: ``Indian Penal Code, 1860``."""
        return f"{self.name}, {self.year}" if self.year else self.name


@dataclass(frozen=True, slots=True)
class Unit:
    """What the provisions of an act are called: section, article."""

    key: str
    words: tuple[str, ...]  #: before the number: ``section``, ``ss.``
    act: str = ""  #: the act that is meant where none is named
    roman: bool = False  #: whether its numbers may be Roman
    below: str = ""  #: the unit that its provisions have inside: the rules of an order


@dataclass(frozen=True, slots=True)
class Grammar:
    """What `load_grammar` made of the files."""

    acts: Mapping[str, ActNames]
    units: Mapping[str, Unit]
    reports: tuple[ReportForm, ...]
    versus: tuple[str, ...]
    kinds: tuple[str, ...]  #: what acts are called: ``Act``, ``Code``
    parties: PartyWords  #: how names of parties are compared
    reader: ReportReader = field(compare=False)  #: finds the reports in a text


_TABLES = {"units", "words", "acts", "courts", "reports", "parties"}
_UNIT_KEYS = {"words", "act", "number", "below"}
_ACT_KEYS = {
    "key", "name", "unit", "year", "aliases", "replaced_by", "replaced_on", "field", "documents",
}  # fmt: skip
_REPORT_KEYS = {"form", "variants", "year"}
_WORD_KEYS = {"versus", "kinds"}
_PARTY_KEYS = {"expand", "ignore", "rest"}


def load_grammar(*extra: Path) -> Grammar:
    """The grammar that comes with pincite, with what the TOML files `extra` add to it or change, in their order.

    Raises ConfigError, which names the file and the place, for what is no TOML, an unknown key or a form that cannot
    be read.
    """
    own = resources.files("pincite.verify").joinpath("authorities.toml")
    layers = [("authorities.toml", own.read_text(encoding="utf-8"))]
    for path in extra:
        try:
            layers.append((str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the grammar {path} cannot be read: {error}") from error
    units: dict[str, Unit] = {}
    acts: dict[str, ActNames] = {}
    courts: dict[str, tuple[str, ...]] = {}
    forms: list[tuple[str, Mapping[str, Any]]] = []
    words: dict[str, tuple[str, ...]] = {}
    expand: dict[str, str] = {}
    for name, text in layers:
        data = _parse(name, text)
        for key, value in _table(name, data, "units").items():
            units[key] = _unit(f"{name}: units.{key}", key, value, units.get(key))
        for key, value in _table(name, data, "words").items():
            _known(f"{name}: words", {key: value}, _WORD_KEYS)
            words[key] = tuple(dict.fromkeys((*words.get(key, ()), *_strings(f"{name}: words.{key}", value))))
        for key, value in _table(name, data, "courts").items():
            courts[key] = tuple(dict.fromkeys((*courts.get(key, ()), *_strings(f"{name}: courts.{key}", value))))
        parties = _table(name, data, "parties")
        _known(f"{name}: parties", parties, _PARTY_KEYS)
        for key in ("ignore", "rest"):
            more = _strings(f"{name}: parties.{key}", parties.get(key, []))
            words[key] = tuple(dict.fromkeys((*words.get(key, ()), *more)))
        expansions = _table(f"{name}: parties", parties, "expand")
        expand |= {key: _string(f"{name}: parties.expand", expansions, key) for key in expansions}
        for i, each in enumerate(_list(name, data, "acts"), start=1):
            act = _act(f"{name}: acts, number {i}", each)
            acts[act.key] = act
        # What a user says of a report counts before what comes with pincite.
        forms = [
            (f"{name}: reports, number {i}", each) for i, each in enumerate(_list(name, data, "reports"), 1)
        ] + forms
    for act in acts.values():
        if act.unit not in units:
            raise ConfigError(f"the grammar's act {act.key} has provisions called {act.unit!r}, which is no unit")
        if act.replaced_by and act.replaced_by not in acts:
            raise ConfigError(f"the grammar's act {act.key} is replaced by {act.replaced_by!r}, which is not there")
    reports = tuple(_report(where, each) for where, each in forms)
    names = PartyWords(expand, frozenset(words["ignore"]), frozenset(words["rest"]))
    return Grammar(acts, units, reports, words["versus"], words["kinds"], names, ReportReader(reports, courts))


def _parse(name: str, text: str) -> Mapping[str, Any]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the grammar {name} is no TOML: {error}") from error
    _known(name, data, _TABLES)
    return data


def _known(where: str, given: Mapping[str, Any], known: set[str]) -> None:
    for key in given:
        if key not in known:
            near = get_close_matches(key, sorted(known), 1, 0.0)[0]
            raise ConfigError(f"the grammar {where}: there is no key {key!r}; the nearest is {near!r}")


def _table(name: str, data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, Mapping):
        raise ConfigError(f"the grammar {name}: {key} must be a table, written [{key}]")
    return value


def _list(name: str, data: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise ConfigError(f"the grammar {name}: {key} must be a list of tables, written [[{key}]]")
    return value


def _strings(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise ConfigError(f"the grammar {where} must be a list of words")
    return tuple(value)


def _string(where: str, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise ConfigError(f"the grammar {where}: {key} must be a word")
    return value


def _unit(where: str, key: str, value: object, before: Unit | None) -> Unit:
    if not isinstance(value, Mapping):
        raise ConfigError(f"the grammar {where} must be a table: {{ words = [...] }}")
    _known(where, value, _UNIT_KEYS)
    words = _strings(f"{where}.words", value.get("words", []))
    return Unit(
        key,
        tuple(dict.fromkeys((*(before.words if before else ()), *words))),
        _string(where, value, "act", before.act if before else ""),
        _string(where, value, "number", "roman" if before and before.roman else "") == "roman",
        _string(where, value, "below", before.below if before else ""),
    )


def _act(where: str, value: Mapping[str, Any]) -> ActNames:
    _known(where, value, _ACT_KEYS)
    year = value.get("year")
    if year is not None and not (isinstance(year, int) and 1000 <= year <= 9999):
        raise ConfigError(f"the grammar {where}: year must be a year")
    return ActNames(
        key=_string(where, value, "key"),
        name=_string(where, value, "name"),
        unit=_string(where, value, "unit", "section"),
        year=year,
        aliases=_strings(f"{where}, aliases", value.get("aliases", [])),
        replaced_by=_string(where, value, "replaced_by", ""),
        replaced_on=_string(where, value, "replaced_on", ""),
        field=_string(where, value, "field", ""),
        documents=_strings(f"{where}, documents", value.get("documents", [])),
    )


def _report(where: str, value: Mapping[str, Any]) -> ReportForm:
    _known(where, value, _REPORT_KEYS)
    year = _string(where, value, "year", "report")
    if year not in ("report", "decision"):
        raise ConfigError(f"the grammar {where}: year is {year!r}; it is of the report or of the decision")
    form = _string(where, value, "form")
    variants = _strings(f"{where}, variants", value.get("variants", []))
    try:
        return read_form(form, variants, of_decision=year == "decision")
    except ValueError as error:
        raise ConfigError(f"the grammar {where}: {error}") from error
