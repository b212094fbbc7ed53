"""Checking a finished text: every authority that it names and every claim that it cites, against the corpus."""
