"""``python -m pincite``."""

from pincite.cli import main

main()
