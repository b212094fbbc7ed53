"""What a scorer of support said, kept: nothing is judged twice, and a judge that costs is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.errors import BackendError
from pincite.evaluation.kept_replies import KeptReplies

if TYPE_CHECKING:
    from pincite.protocols import SupportScorer

__all__ = ["Verdicts"]


class Verdicts:
    """Whether a text supports a statement, by a scorer; each pair is put to it once.

    With `kept` what it says is on disk when the call returns, and taken from there by the name of the scorer; `recipe`
    says everything else that its verdicts depend on.
    """

    def __init__(self, scorer: SupportScorer, kept: KeptReplies | None = None, recipe: str = "") -> None:
        self.scorer = scorer
        self.kept = kept
        self.recipe = recipe
        self._known: dict[str, bool] = {}

    def __call__(self, statement: str, sources: Sequence[str]) -> list[bool]:
        """Whether each of `sources` supports `statement`.

        Raises BackendError where the scorer comes to no verdict and says why: a judge that failed has not denied.
        """
        keys = [KeptReplies.key(self.recipe, self.scorer.name, statement, each) for each in sources]
        unknown = {
            key: source
            for key, source in zip(keys, sources, strict=True)
            if key not in self._known and not self._taken(key)
        }
        if unknown:
            judged = self.scorer.judge(statement, list(unknown.values()))
            for key, support in zip(unknown, judged, strict=True):
                if support.verdict == "unknown" and support.why:
                    raise BackendError(f"{self.scorer.name} came to no verdict: {support.why}")
                self._known[key] = support.verdict in ("verbatim", "supported")
                if self.kept:
                    self.kept.put_verdict(key, self._known[key])
        return [self._known[key] for key in keys]

    def _taken(self, key: str) -> bool:
        found = self.kept.verdict(key) if self.kept else None
        if found is not None:
            self._known[key] = found
        return found is not None
