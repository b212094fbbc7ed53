"""Changing a settings file: only what was meant, everything else as it stands."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import ConfigError, InputError, MissingExtraError

if TYPE_CHECKING:
    from pincite.evaluation.points import Value

__all__ = ["MARK", "edit_settings", "require_toml", "write_settings"]

#: How the comments begin that stand above what was changed.
MARK = "# pincite tune"


def edit_settings(text: str, changes: Mapping[str, Value], comment: Sequence[str]) -> str:
    """The settings file `text` with `changes` (None removes a setting) and `comment` above each group of them.

    Everything else stays as it is: order, comments, blank lines. Comments of an earlier tuning above the same settings
    are replaced. Raises ConfigError for what is not TOML, and InputError where the result would not say what was meant.
    """
    tomlkit = require_toml()
    try:
        file = tomlkit.parse(text)
    except tomlkit.exceptions.TOMLKitError as error:
        raise ConfigError(f"the settings file is not valid TOML: {error}") from None
    wanted = file.unwrap()
    for name, value in changes.items():
        section, _, key = name.partition(".")
        if value is None:
            if key in wanted.get(section, {}):
                del file[section][key]
                del wanted[section][key]
            continue
        if section not in file:
            file[section] = tomlkit.table()
        file[section][key] = value
        wanted.setdefault(section, {})[key] = value
    result = _commented(tomlkit.dumps(file), changes, comment)
    try:
        safe = tomlkit.parse(result).unwrap() == wanted
    except tomlkit.exceptions.TOMLKitError:
        safe = False
    if not safe:
        raise InputError("the settings file is written in a way that cannot be edited safely: change it by hand")
    return result


def _commented(text: str, changes: Mapping[str, Value], comment: Sequence[str]) -> str:
    # Lines end at line feeds alone, as TOML says; a comment is one line whatever it quotes.
    lines = text.removesuffix("\n").split("\n") if text else []
    comment = ["".join(character if character.isprintable() else " " for character in line) for line in comment]
    apart = False  # a section written as an inline table or with dotted names
    for section in dict.fromkeys(name.partition(".")[0] for name in changes):
        keys = {name.partition(".")[2] for name in changes if name.startswith(f"{section}.")}
        header = next((i for i, line in enumerate(lines) if re.match(rf"\s*\[\s*{section}\s*\]", line)), None)
        if header is None:
            apart = True
            continue
        end = next((i for i in range(header + 1, len(lines)) if re.match(r"\s*\[", lines[i])), len(lines))
        body = [line for line in lines[header + 1 : end] if not line.strip().startswith(MARK)]
        first = next(
            (i for i, line in enumerate(body) if (m := re.match(r'\s*"?([\w-]+)"?\s*=', line)) and m[1] in keys), 0
        )
        lines[header + 1 : end] = [*body[:first], *comment, *body[first:]]
    if apart:
        old = next((i for i, line in enumerate(lines) if not line.startswith(MARK)), len(lines))
        lines[:old] = comment
    return "\n".join(lines) + "\n"


def write_settings(file: Path, changes: Mapping[str, Value], comment: Sequence[str]) -> None:
    """Change `file` (see `edit_settings`), or make it, in one step. Mode and line ends stay; a link is followed.

    Raises InputError for a file that cannot be read or written, and what `edit_settings` raises.
    """
    try:
        # A link is followed: what it points to is the file.
        target = Path(os.path.realpath(file))
        text = target.read_bytes().decode("utf-8-sig") if target.exists() else ""
        edited = edit_settings(text.replace("\r\n", "\n"), changes, comment)
        if "\r\n" in text:
            edited = edited.replace("\n", "\r\n")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(edited)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(name, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be changed: {error}") from None


def require_toml() -> Any:
    """Tomlkit. Raises MissingExtraError where it is not installed."""
    try:
        import tomlkit
        import tomlkit.exceptions
    except ImportError as error:
        raise MissingExtraError("changing a settings file", "eval") from error
    return tomlkit
