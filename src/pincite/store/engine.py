"""What is said to Qdrant Edge: how a shard is laid out, loaded and copied; conditions and parameters of a search.

Qdrant Edge is in beta. Nothing outside this file, `points` and `search` knows it.
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import qdrant_edge as qdrant

from pincite.errors import InputError
from pincite.store.payload import KEY, PAST, TAGS, TERMS, tag

if TYPE_CHECKING:
    from pincite.protocols import StoreHeader
    from pincite.store.plan import Beam, Layout
    from pincite.types import Filter

__all__ = [
    "EXACT",
    "VECTOR",
    "any_key",
    "conditions",
    "copy_shard",
    "create_past_index",
    "create_shard",
    "from_engine",
    "load_shard",
    "number",
    "search_params",
]

VECTOR = "dense"

#: Of every point its own vector, whatever was built over them.
EXACT = qdrant.SearchParams(
    exact=True, quantization=qdrant.QuantizationSearchParams(ignore=True, rescore=False, oversampling=None)
)

#: Kilobytes of vectors of a segment below which the engine does not walk a graph; its own default.
_FULL_SCAN_KB = 10_000
#: More than any segment has.
_NEVER_KB = 10**9


def create_shard(folder: Path, header: StoreHeader, layout: Layout) -> None:
    """Make an empty shard in `folder`, closed."""
    folder.mkdir(parents=True)
    shard = qdrant.EdgeShard.create(str(folder), _config(header.identity.dimension, layout))
    language = header.language.capitalize()
    text_index = qdrant.TextIndexParams(
        tokenizer=qdrant.TokenizerType.Whitespace,
        lowercase=False,
        stopwords=getattr(qdrant.Language, language),
        stemmer=qdrant.SnowballParams(getattr(qdrant.SnowballLanguage, language)),
        scoring=True,
    )
    # A filter on a field without an index reads every payload.
    for field, schema in (
        (TERMS, text_index),
        (KEY, qdrant.IntegerIndexParams(lookup=True, range=False)),
        (TAGS, qdrant.KeywordIndexParams()),
    ):
        shard.update(qdrant.UpdateOperation.create_field_index(field, schema))
    create_past_index(shard)
    shard.flush()
    shard.close()


def create_past_index(shard: qdrant.EdgeShard) -> None:
    """Index which points are of past versions."""
    schema = qdrant.IntegerIndexParams(lookup=True, range=False)
    shard.update(qdrant.UpdateOperation.create_field_index(PAST, schema))


def load_shard(folder: Path, dimension: int = 0, layout: Layout | None = None) -> qdrant.EdgeShard:
    """Open a shard as it is, or so that its next `optimize` brings it into `layout`."""
    if layout is None:
        return qdrant.EdgeShard.load(str(folder))
    return qdrant.EdgeShard.load(str(folder), _config(dimension, layout))


def _config(dimension: int, layout: Layout) -> qdrant.EdgeConfig:
    threshold = max(1, layout.threshold * dimension * 4 // 1024) if layout.graph else _NEVER_KB
    return qdrant.EdgeConfig(
        vectors={VECTOR: qdrant.EdgeVectorParams(size=dimension, distance=qdrant.Distance.Cosine)},
        hnsw_config=qdrant.HnswIndexConfig(
            m=layout.m, ef_construct=layout.ef_construct, full_scan_threshold=min(_FULL_SCAN_KB, threshold)
        ),
        quantization_config=_quantization(layout),
        optimizers=qdrant.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=threshold),
        # One segment is searched by one thread in any case; a pool of more only passes the query around. Kept with
        # the index. Measured on two cores: a search takes two thirds of the time, two callers get as many answers.
        max_search_threads=1,
    )


def _quantization(layout: Layout) -> Any:
    """Codes stay in memory, the vectors they stand for on disk."""
    match layout.kind:
        case "int8":
            return qdrant.ScalarQuantizationConfig(qdrant.ScalarType.Int8, quantile=0.99, memory=qdrant.Memory.Pinned)
        case "pq":
            ratio = qdrant.CompressionRatio.X8 if layout.finer else qdrant.CompressionRatio.X16
            return qdrant.ProductQuantizationConfig(ratio, memory=qdrant.Memory.Pinned)
        case "binary":
            bits = qdrant.BinaryQuantizationEncoding.TwoBits if layout.finer else None
            return qdrant.BinaryQuantizationConfig(encoding=bits, memory=qdrant.Memory.Pinned)
        case _:
            return None


def search_params(beam: Beam) -> qdrant.SearchParams:
    """How wide to search. The scores are those of the vectors themselves, not of codes."""
    quantization = (
        qdrant.QuantizationSearchParams(rescore=True, oversampling=beam.oversampling) if beam.oversampling else None
    )
    return qdrant.SearchParams(hnsw_ef=beam.ef, quantization=quantization)


def copy_shard(source: Path, target: Path) -> None:
    """Copy the folder of a closed shard: what its files hold and not their holes, which are most of them. On disk."""
    for folder, _, files in os.walk(source):
        made = target / Path(folder).relative_to(source)
        made.mkdir(parents=True)
        for name in files:
            with open(Path(folder) / name, "rb") as old, open(made / name, "wb") as new:
                if hasattr(os, "SEEK_DATA"):
                    _copy_data(old, new)
                else:
                    shutil.copyfileobj(old, new)
                new.flush()
                os.fsync(new.fileno())


def _copy_data(old: Any, new: Any) -> None:
    size = os.fstat(old.fileno()).st_size
    new.truncate(size)
    start = 0
    while start < size:
        try:
            start = os.lseek(old.fileno(), start, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            return
        end = os.lseek(old.fileno(), start, os.SEEK_HOLE)
        old.seek(start)
        new.seek(start)
        while start < end:
            block = old.read(min(1 << 20, end - start))
            if not block:
                return
            new.write(block)
            start += len(block)


def from_engine(error: BaseException) -> bool:
    """The engine raises plain `Exception`, and when it panics a `BaseException` of a type that it does not export."""
    return type(error) is Exception or type(error).__name__ == "PanicException"


def number(point_id: Any) -> int:
    """The engine types ids as number, text or UUID; this store gives numbers only."""
    return int(point_id)


def any_key(keys: Sequence[int]) -> qdrant.Filter:
    """Points of any of these document versions."""
    return qdrant.Filter(must=[qdrant.FieldCondition(key=KEY, match=qdrant.MatchAny(list(keys)))])


def conditions(where: Filter | None, known: Set[str]) -> list[Any]:
    """What a filter asks, one condition a field. Raises InputError for an unknown field or a wrong value."""
    found = []
    for name, value in (where or {}).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(known))}"
            raise InputError(f"no document has a field {name!r}{hint}")
        values = [value] if isinstance(value, str | int | float | bool) else value
        if not isinstance(values, Sequence | Set) or not all(
            isinstance(each, str | int | float | bool) for each in values
        ):
            raise InputError(
                f"the filter {name!r} is {value!r}: expected text, a number, true or false, or a list of these"
            )
        found.append(qdrant.FieldCondition(key=TAGS, match=qdrant.MatchAny([tag(name, each) for each in values])))
    return found
