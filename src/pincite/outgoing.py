"""What a model writes on its way to a reader: its markers resolved, and no address that the passages do not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pincite.links import LinkFilter, standing_in
from pincite.markers import MarkerResolver
from pincite.steering import suspicious_passages
from pincite.types import Alarm, Passage

__all__ = ["Outgoing"]


@dataclass
class Outgoing:
    """Feed it text in any pieces and call `finish`: the joined output is the same for every way of cutting.

    An address may leave that stands in a passage which does not read like orders to a model.
    """

    passages: Sequence[Passage]
    pieces: list[str] = field(default_factory=list)  #: what has left

    def __post_init__(self) -> None:
        self._resolver = MarkerResolver(known=len(self.passages))
        suspects = {i for i, _ in suspicious_passages(self.passages)}
        self._links = LinkFilter(standing_in(each for i, each in enumerate(self.passages) if i not in suspects))

    @property
    def text(self) -> str:
        """All that has left."""
        return "".join(self.pieces)

    @property
    def unknown(self) -> list[int]:
        """Numbers of sources that were never offered, each once."""
        return list(dict.fromkeys(self._resolver.unknown))

    def feed(self, text: str) -> Iterable[str]:
        """What of it, and of what was held back, may leave now."""
        yield from self._leave(self._links.feed(self._resolver.feed(text)))

    def finish(self) -> Iterable[str]:
        """The rest."""
        yield from self._leave(self._links.feed(self._resolver.finish()) + self._links.finish())

    def alarms(self) -> list[Alarm]:
        """What was taken out."""
        return self._links.alarms()

    def _leave(self, piece: str) -> Iterable[str]:
        if piece:
            self.pieces.append(piece)
            yield piece
