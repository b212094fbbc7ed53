"""The entry of the process that reads files; started by `pincite.loaders.worker`, which says how it is spoken to."""

from __future__ import annotations

import json
import sys

__all__ = ["main"]


def main() -> None:
    """Read what is asked for with the loaders that the settings, a section ``load`` as JSON in argument 1, make."""
    from pincite.config import LoadSettings
    from pincite.formats import build_loaders
    from pincite.loaders.serving import serve

    load = LoadSettings.model_validate(json.loads(sys.argv[1]))
    serve(build_loaders(load), load.memory_mb)
