"""What was asked, proposed and decided while a set is made. Kept at once: a run that is cut off loses nothing."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.evaluation.excerpts import Excerpt

__all__ = ["JOURNAL", "Journal", "Label", "Proposal", "label_at"]

JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Label:
    """Where an answer stands in a version of a document, and its words: they find it again in the next version."""

    document_id: str
    version: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question with its answers' places, as proposed or as decided."""

    id: str
    question: str
    labels: tuple[Label, ...]
    made_by: str  #: ``person``, or the name of the model
    flags: tuple[str, ...] = ()
    excerpt: tuple[int, int] = (0, 0)  #: what was shown of the first label's document
    edited: bool = False  #: whether a person changed what the model proposed


def label_at(excerpt: Excerpt, start: int, end: int) -> Label:
    """The label of ``excerpt.text[start:end]``, in characters of the document."""
    return Label(
        excerpt.document_id, excerpt.version, excerpt.start + start, excerpt.start + end, excerpt.text[start:end]
    )


class Journal:
    """A line of a file for each event. Each is on disk when its call returns.

    The line that a crash cut short is left out when the file is read again, and cut off. `header` is what the set was
    begun with.
    """

    def __init__(self, file: Path, header: Mapping[str, Any]) -> None:
        self.file = file
        self.header = dict(header)
        self.proposals: dict[str, Proposal] = {}
        self.decisions: dict[str, str] = {}  #: id → ``accepted``, ``accepted-unseen`` or ``rejected``
        self.asked: set[tuple[str, int, int]] = set()  #: the excerpts that a model replied about
        self.reasons: Counter[str] = Counter()
        self.calls = 0

    @classmethod
    def begin(cls, folder: Path, header: Mapping[str, Any]) -> Journal:
        """A new set in `folder`. Raises InputError if there is one, or other files."""
        file = folder / JOURNAL
        if file.exists():
            raise InputError(f"{folder} holds a set that was begun: go on with --resume, or name another folder")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} is not an empty folder: name another for the new set")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {folder} cannot be made: {error.strerror}") from error
        journal = cls(file, header)
        journal._append({"event": "begin", **header})
        return journal

    @classmethod
    def resume(cls, folder: Path) -> Journal:
        """The set begun in `folder`. Raises InputError if there is none, naming the line for one that is damaged."""
        file = folder / JOURNAL
        if not file.is_file():
            raise InputError(f"there is no {file}: no set was begun there")
        data = file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:  # a line that was being written when the machine stopped
            with file.open("r+b") as opened:
                opened.truncate(len(whole))
        journal: Journal | None = None
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                row = json.loads(line)
                if journal is None:
                    if row.pop("event") != "begin":
                        raise ValueError("it does not begin with what the set was begun with")
                    journal = cls(file, row)
                else:
                    journal._replay(row)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{file}, line {number}, is damaged: {error}") from None
        if journal is None:
            raise InputError(f"{file} is empty: delete the folder and begin anew")
        return journal

    def next_id(self) -> str:
        """An id that no question of the set had: q001, q002 …"""
        return f"q{len(self.proposals) + 1:03d}"

    def live(self) -> list[Proposal]:
        """The proposals that were not rejected, in order."""
        return [each for each in self.proposals.values() if self.decisions.get(each.id) != "rejected"]

    def open(self) -> list[Proposal]:
        """The proposals that nobody decided, in order."""
        return [each for each in self.proposals.values() if each.id not in self.decisions]

    def accepted(self) -> list[Proposal]:
        """The questions of the set, in order."""
        return [each for each in self.proposals.values() if self.decisions.get(each.id, "").startswith("accepted")]

    def called(self) -> None:
        """A call of the model begins."""
        self._record({"event": "call"})

    def turned_down(self, excerpt: Excerpt, reason: str, detail: str) -> None:
        """No question came of an excerpt. With the reason ``failed`` no reply came at all: it may be asked again."""
        asked = excerpt.document_id, excerpt.version, excerpt.start
        self._record({"event": "none", "reason": reason, "detail": detail, "asked": asked})

    def propose(self, proposal: Proposal) -> None:
        """A question was proposed, or changed by a person who has not decided yet."""
        self._record({"event": "proposed", "proposal": asdict(proposal)})

    def decide(self, proposal: Proposal, decision: str) -> None:
        """A proposal, as it is now, is ``accepted``, ``accepted-unseen`` (nobody looked) or ``rejected``."""
        if decision not in ("accepted", "accepted-unseen", "rejected"):
            raise InputError(f"no decision {decision!r}")
        self._record({"event": "decided", "decision": decision, "proposal": asdict(proposal)})

    def _record(self, row: dict[str, Any]) -> None:
        # From the bytes of the file, so that what is read again is what was written.
        self._replay(json.loads(self._append(row)))

    def _append(self, row: dict[str, Any]) -> bytes:
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            with self.file.open("ab") as opened:
                opened.write(line)
                opened.flush()
                os.fsync(opened.fileno())
        except OSError as error:
            raise InputError(f"{self.file} cannot be written: {error.strerror}") from error
        return line

    def _replay(self, row: dict[str, Any]) -> None:
        event = row["event"]
        if event == "call":
            self.calls += 1
        elif event == "none":
            self.reasons[row["reason"]] += 1
            if row["reason"] != "failed":
                self.asked.add(tuple(row["asked"]))
        elif event in ("proposed", "decided"):
            data = row["proposal"]
            labels = tuple(Label(**label) for label in data["labels"])
            first, last = data["excerpt"]
            proposal = Proposal(**{**data, "labels": labels, "flags": tuple(data["flags"]), "excerpt": (first, last)})
            self.proposals[proposal.id] = proposal
            if event == "decided":
                self.decisions[proposal.id] = row["decision"]
            elif proposal.labels:
                first = proposal.labels[0]
                self.asked.add((first.document_id, first.version, proposal.excerpt[0]))
        else:
            raise ValueError(f"no event {event!r}")
