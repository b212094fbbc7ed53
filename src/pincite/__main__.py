"""The command line's entry, also as ``python -m pincite``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. An interruption before it is even loaded is no fault to print a stack for."""
    try:
        from pincite.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
