"""Every place at which a store writes, to the engine, the database and the folder: for dying, or looking, before it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pincite.store import exchange, opening
from pincite.store.catalogue import Catalogue

__all__ = ["tick_before_writes"]

Tick = Callable[[str], None]

_PLACES: tuple[tuple[Any, str], ...] = (
    (Catalogue, "transaction"),
    (Catalogue, "vacuum"),
    (opening, "create_shard"),
    (exchange, "create_shard"),
    (exchange, "copy_shard"),
    (exchange, "optimize_folder"),
    (shutil, "rmtree"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
)


class _Ticking:
    """The engine's shard, with a tick before everything that writes."""

    def __init__(self, shard: Any, tick: Tick) -> None:
        self._shard = shard
        self._tick = tick

    def __getattr__(self, name: str) -> Any:
        if name in ("update", "flush", "close", "optimize"):
            self._tick(name)
        return getattr(self._shard, name)


def tick_before_writes(tick: Tick, patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Have `tick` called, with a name, before every write of a store; `patch` puts what does that in its place."""

    def ticking(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def wrapped(*args: Any, **options: Any) -> Any:
            tick(name)
            return real(*args, **options)

        patch(owner, name, wrapped)

    for owner, name in _PLACES:
        ticking(owner, name)
    load = opening.load_shard
    for owner in (opening, exchange):
        patch(owner, "load_shard", lambda *args: _Ticking(load(*args), tick))
