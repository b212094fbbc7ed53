"""Optimizing a folder of points, in a process of its own where that takes long.

The engine holds the interpreter for the whole of it: in the process that answers others nothing would move.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.errors import StoreError
from pincite.processes import die_with_parent
from pincite.store.engine import load_shard
from pincite.store.plan import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["optimize_apart", "optimize_folder"]


def optimize_folder(folder: Path, dimension: int, layout: Layout) -> bool:
    """Bring the closed shard in `folder` into the layout, here. True if anything was done."""
    shard = load_shard(folder, dimension, layout)
    try:
        done = bool(shard.optimize())
        shard.flush()
        return done
    finally:
        shard.close()


def optimize_apart(folder: Path, dimension: int, layout: Layout) -> bool:
    """The same in another process, for which this one waits. Raises StoreError when that fails.

    The other one does not outlive this one, where the system can see to that; the folder is then of no use to anybody.
    """
    told = json.dumps({"folder": str(folder), "dimension": dimension, "layout": asdict(layout)})
    # Not the caller's folder on the path: it may hold modules of any name.
    command = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]
    with subprocess.Popen(
        [*command, "-m", "pincite.store.building", told],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        try:
            answer, said = child.communicate()
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
        raise StoreError(f"the points in {folder} cannot be optimized: {last[0]}")
    return answer.strip() == b"done"


def _main(arguments: Sequence[str]) -> None:
    # Where the system cannot see to it, the work is finished for nobody.
    die_with_parent()
    told = json.loads(arguments[0])
    done = optimize_folder(Path(told["folder"]), told["dimension"], Layout(**told["layout"]))
    sys.stdout.write("done" if done else "nothing to do")


if __name__ == "__main__":
    _main(sys.argv[1:])
