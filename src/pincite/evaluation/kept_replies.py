"""What readers replied, kept at once: an evaluation that is cut off asks nothing twice."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pincite.errors import StoreError

__all__ = ["KeptReplies", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """How one question ended, before it is held against gold answers."""

    outcome: Literal["answered", "abstained", "failed"]
    text: str = ""
    reason: str = ""  #: of a failure the error, of an abstention what was said
    seconds: float = 0.0  #: of the reader, without the search
    priors: tuple[float, ...] = ()  #: p(z|x) of the passages, where they were marginalized
    posteriors: tuple[float, ...] = ()  #: p(z|x,y)
    logprob: float | None = None  #: log p(y|x) of the answer
    certainty: str = ""
    cut: bool = False  #: it ended at the longest allowed length
    dropped: int = 0  #: passages over the budget of the prompt
    cited: tuple[str, ...] | None = None  #: documents that it names as its sources; None where that is not told


class KeptReplies:
    """Replies in a file, a line each, on disk when the call returns; a line that was cut short is not read.

    Failures are never put here: what failed is asked again. A second process may add to the same file.
    """

    def __init__(self, file: Path, *, fresh: bool = False) -> None:
        self.file = file
        self._replies: dict[str, Reply] = {}
        self._logprobs: dict[str, float] = {}
        self._verdicts: dict[str, bool] = {}
        if fresh or not file.is_file():
            return
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
                if "reply" in row:
                    data = row["reply"]
                    vectors = {name: tuple(data[name]) for name in ("priors", "posteriors")}
                    cited = None if data.get("cited") is None else tuple(data["cited"])
                    self._replies[row["key"]] = Reply(**{**data, **vectors, "cited": cited})
                elif "supported" in row:
                    self._verdicts[row["key"]] = bool(row["supported"])
                else:
                    self._logprobs[row["key"]] = float(row["logprob"])
            except (ValueError, KeyError, TypeError):
                continue  # cut off while it was written: it is asked again

    @staticmethod
    def key(*facts: str) -> str:
        """A name for a reply: two that could differ have two names."""
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    def reply(self, key: str) -> Reply | None:
        """The reply of that name."""
        return self._replies.get(key)

    def logprob(self, key: str) -> float | None:
        """The log-probability of that name."""
        return self._logprobs.get(key)

    def put_reply(self, key: str, reply: Reply) -> None:
        """Keep a reply that is no failure."""
        self._append({"key": key, "reply": asdict(reply)})
        self._replies[key] = reply

    def put_logprob(self, key: str, logprob: float) -> None:
        """Keep a log-probability."""
        self._append({"key": key, "logprob": logprob})
        self._logprobs[key] = logprob

    def verdict(self, key: str) -> bool | None:
        """Whether what has that name was said to support its statement."""
        return self._verdicts.get(key)

    def put_verdict(self, key: str, supported: bool) -> None:
        """Keep a verdict."""
        self._append({"key": key, "supported": supported})
        self._verdicts[key] = supported

    def _append(self, row: dict[str, object]) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8", errors="replace") as out:
                # A line of its own also after one that was cut short. ASCII: no other line end stands in a text.
                out.write(("\n" if out.tell() else "") + json.dumps(row))
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise StoreError(f"replies cannot be kept in {self.file}: {error.strerror}") from error
