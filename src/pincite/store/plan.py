"""Which past versions are kept; which vector index is wanted, which was built, how wide it is searched. No engine.

A `Layout` is what is built; a `Beam` is how far a search looks in it; `IndexState` is both with the recall that was
measured, as the catalogue keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from pincite.errors import InputError
from pincite.protocols import Recall

__all__ = ["NAMES", "UNMEASURED", "Beam", "IndexOptions", "IndexState", "Kind", "Layout", "Retention", "Sidecar"]

Kind = Literal["auto", "exact", "hnsw", "int8", "pq", "binary", "ivfpq"]

#: What people call them.
NAMES = {
    "exact": "exact",
    "hnsw": "HNSW",
    "int8": "HNSW on int8 codes",
    "pq": "HNSW on product-quantized codes",
    "binary": "HNSW on binary codes",
    "ivfpq": "IVF-PQ",
}

#: Why an index that was built and not yet measured is not used.
UNMEASURED = "its recall has not been measured: run `pincite optimize`"

#: Chunks to which every search is exact (docs/decisions/0009), and the same where a kind was asked for by name.
AUTO_EXACT_UNTIL = 50_000
EXACT_UNTIL = 10_000

_FIRST_EF = 128
_LAST_EF = 1024
#: Candidates per result that are scored again with their own vectors (docs/decisions/0013).
_FIRST_OVERSAMPLING = {"int8": 2.0, "pq": 16.0, "binary": 8.0, "ivfpq": 4.0}
_LAST_OVERSAMPLING = 64.0
_FIRST_NPROBE = 16


@dataclass(frozen=True, slots=True)
class Retention:
    """Which past versions are kept: of each document the last `versions` of them, and none that ended so long ago."""

    versions: int | None = 0  #: None: any number; 0: none, what is replaced or removed is deleted
    days: float | None = None  #: since it ended; None: for good

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever deleted."""
        return self.versions is None and self.days is None

    def keeps(self, later: int, ended_at: str, moment: str) -> bool:
        """Whether a version is kept that ended at `ended_at` and after which `later` past ones of its document came.

        Times are ISO 8601 in UTC.
        """
        if self.versions is not None and later >= self.versions:
            return False
        return ended_at > self.ended_until(moment)

    def ended_until(self, moment: str) -> str:
        """At `moment` none is kept that ended until then; empty: whenever they ended. Times as for `keeps`."""
        if self.days is None:
            return ""
        try:
            until = datetime.fromisoformat(moment) - timedelta(days=self.days)
        except OverflowError:  # longer ago than the calendar reaches
            return ""
        return until.isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Beam:
    """How far a search looks: HNSW `ef`, candidates scored again per result, IVF `nprobe`. None: does not apply."""

    ef: int | None = None
    oversampling: float | None = None
    nprobe: int | None = None

    def __str__(self) -> str:
        given = (f"{name} {value:g}" for name, value in asdict(self).items() if value is not None)
        return ", ".join(given)


@dataclass(frozen=True, slots=True)
class Layout:
    """What is built over the vectors. The defaults are those of every index made before there was a choice."""

    kind: str = "hnsw"  #: a key of `NAMES`
    m: int = 16
    ef_construct: int = 128
    threshold: int = AUTO_EXACT_UNTIL  #: points up to which nothing is built
    nlist: int | None = None  #: cells of IVF; None: by the number of points
    finer: bool = False  #: codes of twice the bits

    @property
    def graph(self) -> bool:
        """Whether the engine builds an HNSW graph."""
        return self.kind not in ("exact", "ivfpq")

    def stronger(self) -> Layout:
        """The same kind built with more care: at least 32 links, beams of 256, codes of twice the bits."""
        return replace(
            self, m=max(2 * self.m, 32), ef_construct=max(2 * self.ef_construct, 256), finer=self.kind != "int8"
        )

    def rungs(self, options: IndexOptions) -> Iterator[Beam]:
        """Ever wider beams, from the one in the settings to a limit."""
        ef = options.ef or _FIRST_EF if self.graph else None
        oversampling = options.oversampling or _FIRST_OVERSAMPLING.get(self.kind)
        if self.kind == "hnsw":
            oversampling = None
        nprobe = options.nprobe or _FIRST_NPROBE if self.kind == "ivfpq" else None
        while True:
            yield Beam(ef, oversampling, nprobe)
            wider = (
                ef and max(ef, min(2 * ef, _LAST_EF)),
                oversampling and max(oversampling, min(2 * oversampling, _LAST_OVERSAMPLING)),
                nprobe and max(nprobe, min(2 * nprobe, 16 * _FIRST_NPROBE)),
            )
            if wider == (ef, oversampling, nprobe):
                return
            ef, oversampling, nprobe = wider


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """The settings of the vector index; see `pincite.config.IndexSettings`."""

    kind: Kind = "auto"
    exact_until: int | None = None
    m: int = 16
    ef_construct: int = 128
    ef: int | None = None
    oversampling: float | None = None
    nlist: int | None = None
    nprobe: int | None = None
    recall_floor: float = 0.98

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"no vector index of kind {self.kind!r}; there are: {', '.join(get_args(Kind))}")

    @property
    def threshold(self) -> int:
        """Points up to which every search is exact."""
        if self.exact_until is not None:
            return self.exact_until
        return AUTO_EXACT_UNTIL if self.kind == "auto" else EXACT_UNTIL

    def layout(self) -> Layout:
        """What these options build."""
        if self.kind == "exact":
            return Layout("exact")
        if self.kind == "ivfpq":
            return Layout("ivfpq", threshold=self.threshold, nlist=self.nlist)
        kind = "hnsw" if self.kind == "auto" else self.kind
        return Layout(kind, self.m, self.ef_construct, self.threshold)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file of IVF-PQ codes beside the points: what it must be to be believed."""

    file: str
    sha256: str
    points: str  #: the folder of points that it was made from
    count: int
    dimension: int
    runs: tuple[tuple[int, int], ...]  #: document versions it covers, as first and last of each run of numbers

    def keys(self) -> set[int]:
        """The document versions it covers."""
        return {key for first, last in self.runs for key in range(first, last + 1)}


@dataclass(frozen=True, slots=True)
class IndexState:
    """What was built, and what was found out about it."""

    wanted: Layout = Layout()  #: what was asked for; `layout` may have been strengthened since
    layout: Layout = Layout()
    beam: Beam | None = None
    recall: Recall | None = None
    floor: float | None = None  #: that `recall` was held against
    exact: str = ""  #: why it is not used; empty when it is
    sidecar: Sidecar | None = None

    def dump(self) -> str:
        """As text for the catalogue."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str | None) -> IndexState:
        """From the catalogue; None stands for an index made before this was recorded.

        What cannot be read is not believed: everything is then searched exactly, which needs no record.
        """
        if text is None:
            return cls()
        try:
            data: dict[str, Any] = json.loads(text)
            sidecar = data["sidecar"]
            return cls(
                wanted=Layout(**data["wanted"]),
                layout=Layout(**data["layout"]),
                beam=Beam(**data["beam"]) if data["beam"] else None,
                recall=Recall(**data["recall"]) if data["recall"] else None,
                floor=data["floor"],
                exact=str(data["exact"]),
                sidecar=Sidecar(**{**sidecar, "runs": tuple((a, b) for a, b in sidecar["runs"])}) if sidecar else None,
            )
        except (KeyError, TypeError, ValueError):
            return cls(wanted=Layout("exact"), exact="the record of the index is damaged: run `pincite optimize`")
