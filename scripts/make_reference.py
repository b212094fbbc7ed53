"""Writes docs/reference.md: every command with its help, and every setting with its default and meaning.

python scripts/make_reference.py          # write
python scripts/make_reference.py --check  # exit 1 if the file is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import typer
from pydantic import BaseModel

from pincite.cli import app
from pincite.config import Settings

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference.md"


def exit_codes() -> list[str]:
    return [
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        "| 0 | done |",
        "| 1 | done, with something to say: files skipped, no answer in the documents, a problem found |",
        "| 2 | wrong input or settings; nothing was done |",
        "| 3 | another process holds the index |",
        "| 4 | the index has another format or encoder, or is damaged |",
        "| 5 | a model or an endpoint failed |",
        "| 130 | interrupted; the index is valid and holds what was reported |",
        "",
    ]


def commands() -> list[str]:
    return ["## Commands", "", *group("pincite", typer.main.get_command(app))]


def group(prefix: str, commands: object) -> list[str]:
    """The commands of a group, those of groups within it included."""
    lines = []
    for name, command in commands.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            lines += group(f"{prefix} {name}", command)
            continue
        lines += [f"### {prefix} {name}", "", *(line.strip() for line in (command.help or "").strip().splitlines()), ""]
        for parameter in command.params:
            if parameter.name == "help":
                continue
            shown = ", ".join(f"`{each}`" for each in parameter.opts) if parameter.opts else ""
            if parameter.param_type_name == "argument":
                shown = f"`{parameter.metavar or parameter.name.upper()}`"
            elif parameter.metavar:
                shown += f" {parameter.metavar}"
            lines.append(f"- {shown}: {getattr(parameter, 'help', None) or ''}".rstrip(": ").rstrip())
        lines.append("")
    return lines


def settings() -> list[str]:
    lines = [
        "## Settings",
        "",
        "In `pincite.toml` a setting stands in its section; in the environment it is `PINCITE_SECTION_KEY`. The folder",
        "of the index is also `PINCITE_STORE`, and the key of an endpoint is also `OPENAI_API_KEY`. `PINCITE_CACHE`",
        "names the folder where packaged model weights are put together. An unknown name is an error.",
        "",
    ]
    for section, field in Settings.model_fields.items():
        model = field.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        lines += [
            f"### [{section}]",
            "",
            (model.__doc__ or "").strip(),
            "",
            "| setting | default | meaning |",
            "|---|---|---|",
        ]
        for key, each in model.model_fields.items():
            value = each.get_default(call_default_factory=True)
            default = "unset" if value is None else f"`{value}`"
            lines.append(f"| `{key}` | {default} | {each.description} |")
        lines.append("")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = "\n".join(
        [
            "# Reference",
            "",
            "Written by `python scripts/make_reference.py`; a test keeps it true.",
            "",
            *exit_codes(),
            *commands(),
            *settings(),
        ]
    )
    text = text.rstrip("\n") + "\n"
    if not arguments.check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET.name} is out of date: run python scripts/make_reference.py")


if __name__ == "__main__":
    main()
