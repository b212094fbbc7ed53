"""A person's own evaluation set, made from the documents of an index: questions with the exact words that answer them.

Questions come from a model or from a person. `excerpts` draws what to ask about, `proposals` asks a model, `quotes`
finds the words of an answer, `journal` keeps what was proposed and decided, and `set_files` writes the set. This module
names them all in one place.
"""

from pincite.evaluation.datasets import as_document
from pincite.evaluation.excerpts import Excerpt, excerpt_at, sample_excerpts, worth_asking
from pincite.evaluation.journal import JOURNAL, Journal, Label, Proposal, label_at
from pincite.evaluation.proposals import (
    AMBIGUOUS,
    Asker,
    Outcome,
    ask_chat,
    ask_local,
    flags,
    parse_reply,
    propose,
    question_prompt,
)
from pincite.evaluation.quotes import find_quote, find_words, visible
from pincite.evaluation.set_files import Written, check_splits, split_of, write_set

__all__ = [
    "AMBIGUOUS",
    "JOURNAL",
    "Asker",
    "Excerpt",
    "Journal",
    "Label",
    "Outcome",
    "Proposal",
    "Written",
    "as_document",
    "ask_chat",
    "ask_local",
    "check_splits",
    "excerpt_at",
    "find_quote",
    "find_words",
    "flags",
    "label_at",
    "parse_reply",
    "propose",
    "question_prompt",
    "sample_excerpts",
    "split_of",
    "visible",
    "worth_asking",
    "write_set",
]
