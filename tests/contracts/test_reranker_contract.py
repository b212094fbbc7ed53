"""One battery for every reranker, on models small enough to run everywhere and on the bundled encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pincite.encoders.minilm import minilm
from pincite.errors import InputError
from pincite.protocols import Reranked, Reranker
from pincite.rerankers.cross_encoder import CrossEncoderReranker
from pincite.rerankers.late_interaction import LateInteractionReranker
from pincite.rerankers.likelihood import LikelihoodReranker
from pincite.rerankers.mmr import MmrReranker
from pincite.types import Passage
from toys import ToyEncoder
from toys_rerank import ToyLikelihood, ToyTokenEncoder, make_passages, write_cross_encoder

if TYPE_CHECKING:
    from pincite.protocols import Matrix

QUERY = "when does the lease of the harbour end"
TEXTS = [
    "Photosynthesis in green algae needs light.",
    "The lease of the harbour shall end in the year 1871.",
    "The harbour was dredged.",
    "",
    "The tenant pays rent; the lease does not say when.",
    "धारा 302 — murder; 第三条; naïve café 🙂",
    "Nothing.",
    "when when when the lease",
]


@dataclass(frozen=True)
class Kind:
    """How to make a reranker. `reads`: whether a model reads the passages (or what came with them is used)."""

    make: Callable[..., Reranker]
    reads: bool = True


def cross_encoder(folder: Path, *, nan: bool = False, **options: Any) -> Reranker:
    pytest.importorskip("onnx", reason="onnx, which builds the model, is not installed")
    return CrossEncoderReranker(str(write_cross_encoder(folder / f"counts-{nan}", nan=nan)), threads=1, **options)


def late_interaction(_: Path, *, nan: bool = False, **options: Any) -> Reranker:
    return LateInteractionReranker(ToyTokenEncoder(nan=nan), **options)


class _Broken:
    """The bundled encoder with one vector too many that is no number."""

    def __init__(self) -> None:
        self.query_tokens = minilm(threads=1).query_tokens

    def passage_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        return [np.full((1, 384), np.nan, dtype=np.float32) for _ in texts]


def bundled(_: Path, *, nan: bool = False, **options: Any) -> Reranker:
    return LateInteractionReranker(_Broken() if nan else minilm(threads=1), **options)


def likelihood(_: Path, *, nan: bool = False, **options: Any) -> Reranker:
    return LikelihoodReranker(ToyLikelihood(nan=nan), **options)


def mmr(_: Path, *, nan: bool = False, **options: Any) -> Reranker:
    def vectors_of(ids: Sequence[str]) -> Matrix:
        texts = [TEXTS[(int(each.split(".")[0][1:]) - 1) % len(TEXTS)] for each in ids]
        return ToyEncoder().encode_passages(texts) * np.float32(math.nan if nan else 1)

    return MmrReranker(vectors_of, **{key: value for key, value in options.items() if key in ("depth", "weight")})


KINDS = {
    "cross-encoder": Kind(cross_encoder),
    "late-interaction": Kind(late_interaction),
    "late-interaction-minilm": Kind(bundled),
    "likelihood": Kind(likelihood),
    "mmr": Kind(mmr, reads=False),
}
Make = Callable[..., Reranker]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def make(kind: Kind, tmp_path: Path) -> Make:
    return lambda **options: kind.make(tmp_path, **options)


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.reads])
def make_reading(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Those that read the passages: they take time, and have a budget of it."""
    return lambda **options: KINDS[request.param].make(tmp_path, **options)


def ids(passages: Sequence[Passage]) -> list[str]:
    return [passage.chunk.id for passage in passages]


def test_it_follows_the_protocol(make: Make) -> None:
    reranker = make(depth=7)
    assert isinstance(reranker, Reranker)
    assert reranker.depth == 7
    assert reranker.name


def test_every_passage_comes_back_once_best_first(make: Make) -> None:
    reranker, given = make(), make_passages(TEXTS)
    kept = list(given)
    found = reranker.rerank(QUERY, given)
    assert isinstance(found, Reranked)
    assert given == kept
    assert sorted(ids(found.passages)) == sorted(ids(given))
    assert found.notes == ()
    hits = [passage.hit for passage in found.passages]
    assert [hit.stage for hit in hits] == [reranker.name] * len(given)
    assert [hit.rank for hit in hits] == list(range(1, len(given) + 1))
    assert [hit.chunk_id for hit in hits] == ids(found.passages)
    assert all(type(hit.score) is float and math.isfinite(hit.score) for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.score for hit in hits}) > 2


def test_what_is_relevant_comes_first(kind: Kind, make: Make) -> None:
    """Its words are in the second passage; what only ranks by what came before leaves the first in front."""
    first = make().rerank(QUERY, make_passages(TEXTS)).passages[0]
    assert first.chunk.text == (TEXTS[1] if kind.reads else TEXTS[0])


def test_the_hit_it_had_is_kept_among_the_legs(make: Make) -> None:
    given = {passage.chunk.id: passage for passage in make_passages(TEXTS)}
    for passage in make().rerank(QUERY, list(given.values())).passages:
        before = given[passage.chunk.id]
        assert passage.legs == {**before.legs, "fused": before.hit}
        assert passage.chunk is before.chunk
        assert (passage.title, passage.uri) == (before.title, before.uri)


def test_what_is_beyond_the_depth_is_as_it_was(make: Make) -> None:
    given = make_passages(TEXTS)
    found = make(depth=3).rerank(QUERY, given).passages
    assert set(ids(found[:3])) == set(ids(given[:3]))
    assert found[3:] == given[3:]
    assert ids(found[:3]) == ids(make(depth=3).rerank(QUERY, given[:3]).passages)


def test_no_passage(make: Make) -> None:
    assert make().rerank(QUERY, []) == Reranked([], ())


def test_one_passage(make: Make) -> None:
    reranker, given = make(), make_passages(TEXTS[1:2])
    found = reranker.rerank(QUERY, given)
    assert ids(found.passages) == ids(given)
    assert found.passages[0].hit.stage == reranker.name
    assert found.passages[0].hit.rank == 1
    assert found.notes == ()


def test_equals_keep_their_order(make_reading: Make) -> None:
    """Four the same and one that is relevant, wherever the first stage had it."""
    for place in range(5):
        texts = [TEXTS[0]] * 5
        texts[place] = TEXTS[1]
        found = make_reading(batch=5).rerank(QUERY, make_passages(texts)).passages
        assert ids(found)[0] == f"d{place + 1}.1.0"
        assert ids(found)[1:] == sorted(ids(found)[1:])
        assert len({passage.hit.score for passage in found[1:]}) == 1


def test_scores_that_are_all_equal_say_nothing(make: Make) -> None:
    given = make_passages([TEXTS[1]] * 4, [0.5] * 4)
    found = make().rerank(QUERY, given)
    assert found.passages == given
    assert len(found.notes) == 1
    assert "equal" in found.notes[0]


def test_scores_that_are_no_numbers_say_nothing(make: Make) -> None:
    given = make_passages(TEXTS)
    reranker = make(nan=True)
    found = reranker.rerank(QUERY, given)
    assert found.passages == given
    assert any("no numbers" in note and note.startswith(reranker.name) for note in found.notes)


def test_when_time_is_up_the_rest_keeps_its_order(make_reading: Make) -> None:
    given = make_passages(TEXTS)
    reranker = make_reading(batch=3, seconds=1e-9)
    found = reranker.rerank(QUERY, given)
    assert set(ids(found.passages[:3])) == set(ids(given[:3]))
    assert found.passages[0].chunk.text == TEXTS[1]
    assert found.passages[3:] == given[3:]
    assert [note for note in found.notes if note.startswith(reranker.name)] == list(found.notes)
    assert "5 of 8 passages not scored" in found.notes[0]
    assert ids(make_reading(batch=3, seconds=3600).rerank(QUERY, given).passages) == ids(
        make_reading(batch=8).rerank(QUERY, given).passages
    )


def test_a_budget_of_one_batch_is_not_short(make_reading: Make) -> None:
    assert make_reading(batch=8, seconds=1e-9).rerank(QUERY, make_passages(TEXTS)).notes == ()


def test_weight_blends_in_the_score_before(make_reading: Make) -> None:
    """With hardly any weight the order is the one given, with nearly all it is not."""
    given = make_passages(TEXTS)
    assert ids(make_reading(weight=1e-6).rerank(QUERY, given).passages) == ids(given)
    assert ids(make_reading(weight=0.9).rerank(QUERY, given).passages) != ids(given)


def test_the_same_again(make: Make) -> None:
    given, reranker = make_passages(TEXTS), make()
    assert reranker.rerank(QUERY, given) == reranker.rerank(QUERY, given)


def test_many_threads(make: Make) -> None:
    reranker, given = make(), make_passages(TEXTS)
    queries = [QUERY, "light", "rent of the tenant", "murder"] * 3
    expected = [ids(make().rerank(query, given).passages) for query in queries[:4]] * 3
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda query: ids(reranker.rerank(query, given).passages), queries))
    assert found == expected


def test_text_that_is_no_text(make: Make) -> None:
    given = make_passages(["rent \udcff due", "\x00\u202e", "harbour " * 3])
    assert sorted(ids(make().rerank("rent \udcff", given).passages)) == ids(given)


def test_an_empty_question_loses_nothing(make: Make) -> None:
    given = make_passages(TEXTS)
    assert sorted(ids(make().rerank("", given).passages)) == sorted(ids(given))


def test_closing_twice_and_going_on(make: Make) -> None:
    reranker, given = make(), make_passages(TEXTS)
    before = reranker.rerank(QUERY, given)
    reranker.close()
    reranker.close()
    assert reranker.rerank(QUERY, given) == before


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": -1}, {"weight": 1.5}])
def test_wrong_options_are_errors(make: Make, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"must be|above 0"):
        make(**options)


@pytest.mark.parametrize("options", [{"batch": 0}, {"seconds": 0.0}, {"seconds": math.nan}, {"weight": 0.0}])
def test_a_wrong_budget_is_an_error(make_reading: Make, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"must be|above 0"):
        make_reading(**options)
