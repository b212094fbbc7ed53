"""One battery for every scorer: a table, and small models of random weights where torch is installed."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from pincite.errors import InputError, PinciteError
from pincite.protocols import Context, NextTokens, Reading, TokenScorer
from toys_endpoint import shared
from toys_gguf import Vocabulary, make_gguf
from toys_scorer import TableScorer

FRAME = "Answer from the text. "
CONTEXTS: list[Context] = [
    (FRAME, "The lease ends in 1871; so it was agreed.", " Q: when does it end? A:"),
    (FRAME, "It was long.", " Q: when does it end? A:"),
    (FRAME, "The tenant of the house pays in the winter, and then again.", " Q: who pays? A:"),
]
ANSWERS = [" in 1871", " the tenant", "it"]
TEXTS = ["in 1871", " the tenant's  house", "x", " naïve café 🙂 第三条", ""]


@dataclass(frozen=True)
class Kind:
    """How to make a scorer, and what is particular about it.

    continues: an answer goes on where the context stops, so that a context may be longer by it.
    fuses: all contexts are one row.
    plain: only these letters can be encoded.
    too_long: how to make one that reads less than it is then given.
    one_at_a_time: only one reading may be open; a second is an InputError or BackendError.
    """

    make: Callable[..., TokenScorer]
    continues: bool = True
    fuses: bool = False
    plain: bool = False
    one_at_a_time: bool = False
    too_long: dict[str, Any] | None = None
    tolerance: float = 1e-5


def table(_: Path, **options: Any) -> TokenScorer:
    letters = [*string.ascii_letters, *string.digits, *" .,;:?'-", "\n", "the", " the", "in"]
    return TableScorer(letters, ends=(letters.index("\n"),), sharpness=2.0, **options)


def causal(kind: str, **shape: Any) -> Callable[..., TokenScorer]:
    def make(folder: Path, **options: Any) -> TokenScorer:
        pytest.importorskip("torch", reason="torch is not installed")
        pytest.importorskip("transformers", reason="transformers is not installed")
        from pincite.scorers.causal import CausalScorer
        from toys_models import make_causal, space_tokenizer

        tokenizer = space_tokenizer() if shape.get("spaces") else None
        path = folder / "model"
        if not path.is_dir():
            make_causal(path, kind, tokenizer=tokenizer)
        return CausalScorer(str(path), **options)

    return make


def seq2seq(kind: str, fused: bool = False) -> Callable[..., TokenScorer]:
    def make(folder: Path, **options: Any) -> TokenScorer:
        pytest.importorskip("torch", reason="torch is not installed")
        pytest.importorskip("transformers", reason="transformers is not installed")
        from pincite.scorers.fusion_in_decoder import FusionInDecoderScorer
        from pincite.scorers.seq2seq import Seq2SeqScorer
        from toys_models import make_seq2seq

        path = folder / "model"
        if not path.is_dir():
            make_seq2seq(path, kind)
        return (FusionInDecoderScorer if fused else Seq2SeqScorer)(str(path), **options)

    return make


def gguf(vocabulary: Vocabulary) -> Callable[..., TokenScorer]:
    def make(folder: Path, **options: Any) -> TokenScorer:
        pytest.importorskip("cyllama", reason="the extra 'local' is not installed")
        from pincite.scorers.llama import LlamaScorer

        path = folder / "model.gguf"
        if not path.is_file():
            make_gguf(path, vocabulary)
        return LlamaScorer(path, threads=1, **options)

    return make


def endpoint(shape: Literal["llama.cpp", "vllm"], whole: str = "") -> Callable[..., TokenScorer]:
    """A toy server, whose probabilities are made up."""

    def make(_: Path, **options: Any) -> TokenScorer:
        from pincite.scorers.endpoint import EndpointScorer

        # As wide as `listed` asks: the end is the sum over those ends that a list of the widest holds.
        return EndpointScorer("toy", shared(shape, whole).url, widest=64, **options)

    return make


SHORT = {"max_tokens": 8}
#: llama.cpp keeps keys and values in half precision: other sums, of a token alone and of many, round them otherwise.
HALF = 1e-3
KINDS = {
    "endpoint, llama.cpp": Kind(endpoint("llama.cpp")),
    "endpoint, vllm": Kind(endpoint("vllm", whole="ï🙂第三条")),
    "table": Kind(table, continues=False, plain=True),
    "table, listed": Kind(lambda folder: table(folder, widest=12), continues=False, plain=True),
    "llama": Kind(causal("llama"), too_long=SHORT),
    "llama, spaces": Kind(causal("llama", spaces=True), too_long=SHORT),
    "gemma3": Kind(causal("gemma3"), too_long=SHORT),
    "gpt2": Kind(causal("gpt2"), too_long=SHORT),
    "llama.cpp": Kind(gguf("pieces"), too_long={"n_ctx": 8}, tolerance=HALF),
    "llama.cpp, spaces": Kind(gguf("pieces, spaces"), too_long={"n_ctx": 8}, tolerance=HALF),
    "llama.cpp, bytes": Kind(gguf("bytes"), too_long={"n_ctx": 8}, tolerance=HALF),
    "t5": Kind(seq2seq("t5"), continues=False, too_long=SHORT),
    "bart": Kind(seq2seq("bart"), continues=False, too_long=SHORT),
    "fid, t5": Kind(seq2seq("t5", fused=True), continues=False, fuses=True, too_long=SHORT),
    "fid, bart": Kind(seq2seq("bart", fused=True), continues=False, fuses=True, too_long=SHORT),
}


@pytest.fixture(scope="module", params=sorted(KINDS))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    kind = KINDS[request.param]
    folder = tmp_path_factory.mktemp("scorer")
    scorer = kind.make(folder)
    yield Case(kind, folder, scorer)
    scorer.close()


@dataclass(frozen=True)
class Case:
    kind: Kind
    folder: Path
    scorer: TokenScorer

    def read(self, contexts: list[Context] = CONTEXTS) -> Reading:
        return self.scorer.read(contexts)

    def rows(self, contexts: list[Context] = CONTEXTS) -> list[dict[int, float]]:
        with_reading = self.read(contexts)
        found = listed(with_reading)
        with_reading.close()
        return found


def as_rows(given: NextTokens) -> list[dict[int, float]]:
    """Each row as {token: log-probability}."""
    if given.ids is None:
        return [dict(enumerate(map(float, row))) for row in given.logprobs]
    return [
        {int(token): float(value) for token, value in zip(ids, row, strict=True) if token >= 0}
        for ids, row in zip(given.ids, given.logprobs, strict=True)
    ]


def listed(reading: Reading) -> list[dict[int, float]]:
    return as_rows(reading.next_tokens(64))


def assert_same(found: dict[int, float], expected: dict[int, float], tolerance: float) -> None:
    """The same tokens with the same numbers; where tokens are only listed, the last ones may change places."""
    common = found.keys() & expected.keys()
    assert len(common) >= max(1, len(expected) - 2)
    for token in common:
        assert found[token] == pytest.approx(expected[token], abs=tolerance, rel=tolerance), token


def test_is_a_scorer_and_says_what_it_is(case: Case) -> None:
    assert isinstance(case.scorer, TokenScorer)
    assert case.scorer.name
    reading = case.read()
    assert isinstance(reading, Reading)
    assert reading.rows == (1 if case.kind.fuses else len(CONTEXTS))
    reading.close()


def test_every_row_is_a_distribution(case: Case) -> None:
    reading = case.read()
    given = reading.next_tokens()
    assert given.logprobs.shape[0] == reading.rows
    assert (given.ids is None) == (case.scorer.widest is None)
    assert not np.isnan(given.logprobs).any()
    assert (given.logprobs <= 1e-6).all()
    total = np.exp(given.logprobs.astype(np.float64)).sum(axis=1)
    if given.ids is None:
        np.testing.assert_allclose(total, 1.0, atol=1e-5)
    else:
        assert given.ids.shape == given.logprobs.shape
        assert (total <= 1.0 + 1e-5).all()
        for row, ids in zip(given.logprobs, given.ids, strict=True):
            assert (np.diff(row) <= 0).all()
            assert len(set(ids[ids >= 0].tolist())) == (ids >= 0).sum()
    reading.close()


def test_what_is_given_is_the_callers_own(case: Case) -> None:
    reading = case.read()
    before = listed(reading)
    reading.next_tokens().logprobs[:] = 0.0
    for found, expected in zip(listed(reading), before, strict=True):
        assert found == expected
    reading.close()


def test_a_batch_gives_what_each_context_alone_gives(case: Case) -> None:
    if case.kind.fuses:
        pytest.skip("all contexts are one row")
    together = case.rows()
    for context, expected in zip(CONTEXTS, together, strict=True):
        assert_same(case.rows([context])[0], expected, case.kind.tolerance)
    # Contexts matter: else nothing above says anything.
    assert together[0] != pytest.approx(together[1], abs=1e-3)


def test_the_order_of_contexts_is_that_of_the_rows(case: Case) -> None:
    forth, back = case.rows(), case.rows(CONTEXTS[::-1])
    for found, expected in zip(back, forth[::-1], strict=True):
        assert_same(found, expected, case.kind.tolerance)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_goes_on_as_a_longer_context(case: Case, answer: str) -> None:
    if not case.kind.continues:
        pytest.skip("an encoder's context does not go on in the answer")
    reading = case.read()
    tokens = case.scorer.encode(answer)
    for token in tokens:
        reading.extend(range(reading.rows), [token] * reading.rows)
    extended = listed(reading)
    reading.close()
    for found, expected in zip(extended, case.rows([(*each, answer) for each in CONTEXTS]), strict=True):
        assert_same(found, expected, case.kind.tolerance)


def test_rows_are_reordered_repeated_and_left_out(case: Case) -> None:
    tokens = case.scorer.encode(ANSWERS[0])
    first, second = tokens[0], tokens[1]
    count = case.read().rows if not case.kind.one_at_a_time else len(CONTEXTS)
    last = count - 1
    reading = case.read()
    reading.extend(range(count), [first] * count)
    reading.extend([last, 0, last, 0], [second, second, first, first])
    assert reading.rows == 4
    found = listed(reading)
    reading.extend([3, 0], [second, second])
    again = listed(reading)
    reading.close()
    for (row, path), got in zip(
        [
            (last, [first, second]),
            (0, [first, second]),
            (last, [first, first]),
            (0, [first, first]),
            (0, [first, first, second]),
            (last, [first, second, second]),
        ],
        [*found, *again],
        strict=True,
    ):
        alone = case.read()
        for token in path:
            alone.extend(range(count), [token] * count)
        assert_same(got, listed(alone)[row], case.kind.tolerance)
        alone.close()


def chained(case: Case, tokens: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By `next_tokens` and `extend`: of each token, of the end after all, and where they are only bounds."""
    reading = case.read()
    columns, bounds = [], []
    for token in tokens:
        rows = listed(reading)
        columns.append([row.get(token, -math.inf) for row in rows])
        bounds.append([min(row.values()) for row in rows])
        reading.extend(range(reading.rows), [token] * reading.rows)
    rows = listed(reading)
    ends = np.array(
        [np.logaddexp.reduce([row[end] for end in case.scorer.ends if end in row] or [-math.inf]) for row in rows]
    )
    reading.close()
    return np.array(columns).T.reshape(len(rows), len(tokens)), ends, np.array(bounds).T


@pytest.mark.parametrize("again", [0, 1], ids=["after the contexts", "within an answer"])
def test_a_score_is_the_chain_of_next_tokens(case: Case, again: int) -> None:
    encoded = [case.scorer.encode(answer) for answer in ANSWERS]
    head, continuations = [], encoded
    if again:
        head, continuations = encoded[0][:2], [encoded[0][2:], encoded[1], encoded[2][:1]]
    reading = case.read()
    for token in head:
        reading.extend(range(reading.rows), [token] * reading.rows)
    plain, ended = reading.score(continuations), reading.score(continuations, end=True)
    reading.close()
    for tokens, score, with_end in zip(continuations, plain, ended, strict=True):
        assert score.shape == (reading.rows, len(tokens))
        assert with_end.shape == (reading.rows, len(tokens) + 1)
        expected, ends, bounds = chained(case, [*head, *tokens])
        expected, bounds = expected[:, len(head) :], bounds[:, len(head) :]
        np.testing.assert_allclose(with_end[:, :-1], score, atol=case.kind.tolerance, rtol=case.kind.tolerance)
        known = np.isfinite(expected)
        np.testing.assert_allclose(score[known], expected[known], atol=case.kind.tolerance, rtol=case.kind.tolerance)
        assert (score[~known] <= bounds[~known] + case.kind.tolerance).all()
        known = np.isfinite(ends)
        np.testing.assert_allclose(with_end[known, -1], ends[known], atol=case.kind.tolerance, rtol=case.kind.tolerance)
        assert (with_end <= 1e-5).all()


def test_scoring_leaves_the_reading_as_it_was(case: Case) -> None:
    reading = case.read()
    reading.extend(range(reading.rows), case.scorer.encode("x") * reading.rows)
    before = listed(reading)
    first = reading.score([case.scorer.encode(answer) for answer in ANSWERS], end=True)
    assert listed(reading) == before
    second = reading.score([case.scorer.encode(answer) for answer in ANSWERS], end=True)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    token = case.scorer.encode("x")[0]
    reading.extend(range(reading.rows), [token] * reading.rows)
    fresh = case.read() if not case.kind.one_at_a_time else None
    if fresh is not None:
        for _ in range(2):
            fresh.extend(range(fresh.rows), [token] * fresh.rows)
        for found, expected in zip(listed(reading), listed(fresh), strict=True):
            assert_same(found, expected, case.kind.tolerance)
        fresh.close()
    reading.close()


def test_an_empty_continuation_has_no_columns(case: Case) -> None:
    reading = case.read()
    (nothing,) = reading.score([[]])
    assert nothing.shape == (reading.rows, 0)
    (ended,) = reading.score([[]], end=True)
    _, expected, _ = chained(case, []) if not case.kind.one_at_a_time else (None, ended[:, 0], None)
    np.testing.assert_allclose(ended[:, 0], expected, atol=case.kind.tolerance)
    assert reading.score([]) == []
    mixed = reading.score([[], case.scorer.encode("x")])
    assert [each.shape[1] for each in mixed] == [0, 1]
    reading.close()


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_as_it_was(case: Case, text: str) -> None:
    if case.kind.plain and not text.isascii():
        pytest.skip("its vocabulary does not hold these letters")
    tokens = case.scorer.encode(text)
    assert all(isinstance(token, int) for token in tokens)
    assert case.scorer.decode(tokens) == text


def test_ends_are_never_in_a_text(case: Case) -> None:
    ends = case.scorer.ends
    assert isinstance(ends, frozenset)
    assert ends
    tokens = case.scorer.encode("it")
    assert not ends & set(tokens)
    for end in ends:
        assert case.scorer.decode([end]) == ""
        assert case.scorer.decode([*tokens, end]) == "it"


def test_half_a_character_is_a_replacement_character(case: Case) -> None:
    if case.kind.plain:
        pytest.skip("its vocabulary holds whole letters only")
    tokens = case.scorer.encode("🙂")
    if len(tokens) < 2:
        pytest.skip("it has a token for this")
    assert set(case.scorer.decode(tokens[:-1])) == {"�"}


def test_the_same_question_has_the_same_answer(case: Case) -> None:
    first = case.rows()
    case.rows([CONTEXTS[2], CONTEXTS[2]])
    for found, expected in zip(case.rows(), first, strict=True):
        assert_same(found, expected, 1e-6)


def test_no_contexts_is_an_error(case: Case) -> None:
    with pytest.raises(InputError, match=r"."):
        case.read([])


def test_a_context_too_long_is_an_error(case: Case) -> None:
    if case.kind.too_long is None:
        pytest.skip("it has no limit, or none that is quickly reached")
    small = case.kind.make(case.folder, **case.kind.too_long)
    with pytest.raises(InputError, match=r"context 1 has \d+ tokens"):
        small.read([("x",), *CONTEXTS[1:]])
    small.read([("x",)]).close()
    small.close()


def test_several_readings_stand_side_by_side(case: Case) -> None:
    one = case.read()
    if case.kind.one_at_a_time:
        with pytest.raises(PinciteError):
            case.read()
        one.close()
        case.read().close()
        return
    before = listed(one)
    other = case.read(CONTEXTS[::-1])
    token = case.scorer.encode("x")[0]
    other.extend(range(other.rows), [token] * other.rows)
    other.score([case.scorer.encode(ANSWERS[0])])
    other.close()
    assert listed(one) == before
    one.extend(range(one.rows), [token] * one.rows)
    one.close()


def test_closing_twice_is_as_closing_once(case: Case) -> None:
    reading = case.read()
    reading.close()
    reading.close()
    with pytest.raises(PinciteError):
        reading.next_tokens()
    scorer = case.kind.make(case.folder)
    scorer.close()
    scorer.close()
    scorer.read(CONTEXTS[:1]).close()
    scorer.close()


def test_nan_never_comes_out_of_many_steps(case: Case) -> None:
    reading = case.read()
    token = case.scorer.encode("x")[0]
    for _ in range(6):
        reading.extend(range(reading.rows), [token] * reading.rows)
        assert not np.isnan(reading.next_tokens().logprobs).any()
    reading.close()
