"""``pincite config``."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.common import ConfigOption, JsonOption, StoreOption, print_json, read_settings

__all__ = ["config"]


def config(
    store: StoreOption = None,
    config: ConfigOption = None,
    describe: Annotated[bool, typer.Option("--describe", help="Say what each setting means.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the settings in force as a pincite.toml, secrets masked."""
    settings = read_settings(store, config)
    if as_json:
        print_json(settings.masked())
        return
    import json

    from pydantic import SecretStr

    for section, values in settings.masked().items():
        typer.echo(f"[{section}]")
        fields = type(getattr(settings, section)).model_fields
        for key, value in values.items():
            if describe:
                typer.echo(f"# {fields[key].description}")
            # TOML has no null: what is not set stands as a comment. So does a masked secret, which is not its value.
            secret = isinstance(getattr(getattr(settings, section), key), SecretStr)
            shown = "" if value is None else f" {json.dumps(value, ensure_ascii=False)}"
            typer.echo(f"{'# ' if value is None or secret else ''}{key} ={shown}")
        typer.echo()
