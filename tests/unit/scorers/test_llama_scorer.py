"""llama.cpp through cyllama: on small models of random weights, and at the end on the packaged one."""

from __future__ import annotations

import gc
import math
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import BackendError, ConfigError, InputError, MissingExtraError, PinciteError
from pincite.generators.local import LocalGenerator
from pincite.protocols import Context
from pincite.scorers import llama
from pincite.scorers.llama import LlamaReading, LlamaScorer
from toys_gguf import make_gguf

pytest.importorskip("cyllama", reason="the extra 'local' is not installed")

FRAME = "Passage: the lease of the house. Question: what? Answer: the house\n\nPassage:"
CONTEXTS: list[Context] = [
    (FRAME, " the lease ends in 1871.\n", "Question: when?\nAnswer:"),
    (FRAME, " it is the tenant who pays, in the winter and then again in the spring.\n", "Question: when?\nAnswer:"),
    (FRAME, " a house.\n", "Question: when?\nAnswer:"),
    (FRAME, " the house by the river, in which nobody lives.\n", "Question: when?\nAnswer:"),
    (FRAME, " no.\n", "Question: when?\nAnswer:"),
]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama") / "toy.gguf"
    make_gguf(path)
    return path


@pytest.fixture(scope="module")
def made(toy: Path) -> Iterator[Callable[..., LlamaScorer]]:
    scorers: list[LlamaScorer] = []

    def make(**options: object) -> LlamaScorer:
        scorers.append(LlamaScorer(toy, **{"threads": 1, **options}))  # type: ignore[arg-type]
        return scorers[-1]

    yield make
    for scorer in scorers:
        scorer.close()


@pytest.fixture(scope="module")
def scorer(made: Callable[..., LlamaScorer]) -> LlamaScorer:
    return made()


def logprobs(scorer: LlamaScorer, contexts: list[Context], answer: str = "") -> np.ndarray:
    """What comes next after every context and `answer`."""
    reading = scorer.read(contexts)
    for token in scorer.encode(answer):
        reading.extend(range(reading.rows), [token] * reading.rows)
    found = reading.next_tokens().logprobs
    reading.close()
    return found


# The same numbers, to the last bit


def test_a_row_alone_is_that_row_among_others(scorer: LlamaScorer) -> None:
    together = logprobs(scorer, CONTEXTS, " in the")
    for i, context in enumerate(CONTEXTS):
        np.testing.assert_array_equal(logprobs(scorer, [context], " in the")[0], together[i])
    np.testing.assert_array_equal(logprobs(scorer, CONTEXTS[::-1], " in the"), together[::-1])


def test_nor_does_it_matter_with_several_threads_and_long_contexts(made: Callable[..., LlamaScorer]) -> None:
    scorer = made(threads=2, n_ctx=2048, max_rows=5)
    contexts: list[Context] = [(FRAME * 10, *context[1:]) for context in CONTEXTS]
    together = logprobs(scorer, contexts, " in the")
    for i in (0, 3):
        np.testing.assert_array_equal(logprobs(scorer, [contexts[i]], " in the")[0], together[i])


def test_what_was_asked_before_changes_nothing(made: Callable[..., LlamaScorer]) -> None:
    fresh = logprobs(made(), CONTEXTS[:3], " the")
    used = made()
    other = used.read([("the other frame", " in the house"), CONTEXTS[4], ("x",)])
    other.extend([2, 1, 1, 0], used.encode("abab")[:1] * 4)
    np.testing.assert_array_equal(logprobs(used, CONTEXTS[:3], " the"), fresh)
    other.close()
    used.read(CONTEXTS).close()
    np.testing.assert_array_equal(logprobs(used, CONTEXTS[:3], " the"), fresh)


def test_a_score_is_exactly_the_chain(scorer: LlamaScorer) -> None:
    answers = [scorer.encode(text) for text in (" in 1871", " in the house", "", " in 1871", " the", " in the house.")]
    reading = scorer.read(CONTEXTS)
    start = scorer.encode(" it")[0]
    reading.extend([4, 1, 1], [start, start, start])
    before = reading.next_tokens().logprobs
    scores, ended = reading.score(answers), reading.score(answers, end=True)
    np.testing.assert_array_equal(reading.next_tokens().logprobs, before)
    ends = sorted(scorer.ends)
    for tokens, score, with_end in zip(answers, scores, ended, strict=True):
        chain = scorer.read([CONTEXTS[4], CONTEXTS[1], CONTEXTS[1]])
        chain.extend([0, 1, 2], [start] * 3)
        for i, token in enumerate(tokens):
            np.testing.assert_array_equal(chain.next_tokens().logprobs[:, token], score[:, i])
            chain.extend([0, 1, 2], [token] * 3)
        last = np.logaddexp.reduce(chain.next_tokens().logprobs[:, ends].astype(np.float64), axis=1)
        np.testing.assert_array_equal(last.astype(np.float32), with_end[:, -1])
        np.testing.assert_array_equal(with_end[:, :-1], score)
        chain.close()
    # And the reading goes on as if nothing had been scored.
    reading.extend([0, 2], [start, start])
    expected = scorer.read([CONTEXTS[4], CONTEXTS[1]])
    for _ in range(2):
        expected.extend([0, 1], [start, start])
    np.testing.assert_array_equal(reading.next_tokens().logprobs, expected.next_tokens().logprobs)
    reading.close()
    expected.close()


def test_a_long_walk_of_beams_ends_where_each_row_alone_does(made: Callable[..., LlamaScorer]) -> None:
    scorer, draw = made(max_rows=6), random.Random(3)
    reading = scorer.read(CONTEXTS[:3])
    paths: list[tuple[int, tuple[int, ...]]] = [(i, ()) for i in range(3)]
    letters = scorer.encode("abinthexy")
    for step in range(25):
        rows = [draw.randrange(len(paths)) for _ in range(draw.randint(1, 6))]
        tokens = [draw.choice(letters) for _ in rows]
        reading.extend(rows, tokens)
        paths = [(paths[row][0], (*paths[row][1], token)) for row, token in zip(rows, tokens, strict=True)]
        if step % 6 == 0:
            reading.score([letters[:3], letters[1:2]])
    found = reading.next_tokens().logprobs
    reading.close()
    for row, (context, path) in enumerate(paths):
        alone = scorer.read([CONTEXTS[context]])
        for token in path:
            alone.extend([0], [token])
        np.testing.assert_array_equal(found[row], alone.next_tokens().logprobs[0])
        alone.close()


def test_what_is_kept_gives_the_same_as_what_is_computed(made: Callable[..., LlamaScorer]) -> None:
    scorer, forgetful = made(), made(cache_bytes=0)
    frame = len(scorer.encode(FRAME)) + 1
    counts = [frame + sum(len(scorer.encode(part)) for part in context[1:]) for context in CONTEXTS]
    first, again = scorer.read(CONTEXTS), scorer.read(CONTEXTS[:2])
    assert first.prompt_tokens == sum(counts)
    assert first.cached_tokens == 4 * frame  # read for the first row, known for the others
    question = len(scorer.encode(CONTEXTS[0][2]))
    assert again.cached_tokens == counts[0] + counts[1] - 2 * question
    first.close()
    again.close()
    without = forgetful.read(CONTEXTS)
    assert without.cached_tokens == 0
    np.testing.assert_array_equal(without.next_tokens().logprobs, logprobs(scorer, CONTEXTS))
    without.close()


def test_parts_that_are_empty_and_parts_that_are_all_known(scorer: LlamaScorer) -> None:
    whole = logprobs(scorer, [(FRAME,)])
    for context in [(FRAME, ""), (FRAME, "", ""), ("", FRAME), (FRAME, " in", ""), (FRAME, " in")]:
        expected = whole if "".join(context) == FRAME else logprobs(scorer, [(FRAME, " in")])
        for _ in range(2):
            np.testing.assert_array_equal(logprobs(scorer, [context]), expected)


def test_the_frame_stays_and_what_is_kept_is_bounded(made: Callable[..., LlamaScorer]) -> None:
    generous = made()
    generous.read([CONTEXTS[0]]).close()
    frame, passage = (len(kept.state) for kept in generous._kept.values())
    scorer = made(cache_bytes=frame + 2 * passage + 4000)
    for _ in range(2):
        for context in CONTEXTS:
            scorer.read([context]).close()
            assert sum(len(kept.state) for kept in scorer._kept.values()) <= scorer.cache_bytes
            assert (FRAME,) in scorer._kept
            assert context[:2] in scorer._kept
    assert len(scorer._kept) < 1 + len(CONTEXTS)


# Text


def test_documents_cannot_write_control_tokens(scorer: LlamaScorer) -> None:
    tokens = scorer.encode("<s></s><unk><0x0A>")
    assert not set(tokens) & {0, 1, 2, 13}
    assert scorer.decode(tokens) == "<s></s><unk><0x0A>"
    forged = scorer.read([(FRAME, "</s>", "x")])
    assert forged.prompt_tokens == 1 + len(scorer.encode(FRAME)) + 4 + 1
    forged.close()


def test_text_that_no_model_can_read_is_read_somehow(scorer: LlamaScorer) -> None:
    assert scorer.decode(scorer.encode("a\x00b")) == "a\x00b"
    assert scorer.decode(scorer.encode("a\ud800b")) == "a?b"
    logprobs(scorer, [("\ud800\x00",)])


def test_ends_begin_with_a_line_feed_only_where_wanted(scorer: LlamaScorer, made: Callable[..., LlamaScorer]) -> None:
    plain = made(end_at_newline=False)
    assert plain.ends == {2}
    assert scorer.ends > plain.ends
    assert all(plain.decode([end]).startswith("\n") for end in scorer.ends - {2})
    assert plain.decode(plain.encode("a\n\nb")) == "a\n\nb"


def test_log_probabilities_are_exact_and_sum_to_one() -> None:
    rng = np.random.default_rng(5)
    for logits in (rng.normal(0, 8, 50_000), np.array([1e4, 1e4 - 1, -1e4, -np.inf]), np.array([-1e30, 1e30, 0.0])):
        found = llama._log_softmax(logits.tolist())
        wide = logits.astype(np.float32).astype(np.float64)
        expected = wide - wide.max() - math.log(sum(math.exp(each - wide.max()) for each in wide))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


# Rows


class Batches:
    """Stands in for cyllama: notes the order in which tokens are given, and says of each what it was."""

    def __init__(self) -> None:
        self.given: list[tuple[int, int, int]] = []
        self.context = self

    @property
    def llama(self) -> Batches:
        return self

    def LlamaBatch(self, **_: int) -> Batches:  # noqa: N802
        self.given = []
        return self

    def add(self, token: int, position: int, slots: list[int], output: bool) -> None:  # noqa: ARG002
        self.given.append((slots[0], position, token))

    def decode(self, batch: Batches) -> None: ...

    def get_logits_ith(self, i: int) -> list[float]:
        return [float(each) for each in self.given[i]]


def test_sequences_are_given_in_their_order_and_answered_in_ours() -> None:
    batches = Batches()
    entries = [(3, 7, 1), (1, 5, 2), (2, 9, 3), (1, 6, 4)]
    found = llama._decode(batches, entries, "all")  # type: ignore[arg-type]
    assert batches.given == [(1, 5, 2), (1, 6, 4), (2, 9, 3), (3, 7, 1)]
    for entry, logprobs_ in zip(entries, found, strict=True):
        np.testing.assert_array_equal(logprobs_, llama._log_softmax([float(each) for each in entry]))


def test_rows_stand_in_a_row_where_they_can() -> None:
    place = llama._place
    assert place({0, 1, 2, 3}, 2) == [0, 1]
    assert place({0, 3, 4, 5, 7, 8}, 2) == [7, 8]  # the smaller gap
    assert place({0, 3, 4, 5, 7, 8}, 3, {4, 7}) == [3, 4, 5]
    assert place({0, 1, 2, 3}, 2, {2, 3}) == [2, 3]  # nothing to copy
    assert place({0, 1, 2, 3}, 2, {0, 3}) == [0, 1]
    assert place({0, 2, 4}, 2) == [0, 2]  # none in a row
    assert place({0, 2, 4}, 2, {4}) == [0, 4]


def test_scattered_rows_give_the_same(made: Callable[..., LlamaScorer]) -> None:
    scorer = made(max_rows=6)
    expected = logprobs(scorer, CONTEXTS[:3], " in")
    holders = [scorer.read([("x",)]) for _ in range(6)]
    for i in (0, 2, 5):
        holders[i].close()
    np.testing.assert_array_equal(logprobs(scorer, CONTEXTS[:3], " in"), expected)
    for holder in holders:
        holder.close()


# Limits and errors


def test_rows_are_limited(made: Callable[..., LlamaScorer]) -> None:
    scorer = made(max_rows=4)
    token = scorer.encode("a")[0]
    with pytest.raises(InputError, match="5 rows are more than max_rows = 4"):
        scorer.read(CONTEXTS)
    reading = scorer.read(CONTEXTS[:3])
    before = reading.next_tokens().logprobs
    with pytest.raises(BackendError, match="2 rows are wanted and other open readings hold 3 of max_rows = 4"):
        scorer.read(CONTEXTS[:2])
    with pytest.raises(InputError, match="5 rows are more than max_rows = 4"):
        reading.extend([0, 0, 0, 1, 2], [token] * 5)
    other = scorer.read(CONTEXTS[3:4])
    with pytest.raises(BackendError, match="4 rows are wanted and other open readings hold 1"):
        reading.extend([0, 0, 0, 0], [token] * 4)
    np.testing.assert_array_equal(reading.next_tokens().logprobs, before)
    other.close()
    reading.extend([0, 0, 0, 0], [token] * 4)
    reading.close()
    scorer.read(CONTEXTS[:4]).close()


def test_a_reading_thrown_away_gives_its_rows_back(made: Callable[..., LlamaScorer]) -> None:
    scorer = made(max_rows=3)
    expected = logprobs(scorer, CONTEXTS[:3])
    for _ in range(3):
        scorer.read(CONTEXTS[:3]).extend([0], scorer.encode("a"))
        gc.collect()
    np.testing.assert_array_equal(logprobs(scorer, CONTEXTS[:3]), expected)


def test_rows_and_answers_must_fit(made: Callable[..., LlamaScorer]) -> None:
    scorer = made(n_ctx=12)
    (token,) = scorer.encode("a")
    with pytest.raises(InputError, match="context 1 has 12 tokens"):
        scorer.read([("b",), ("bcdefghijkl",)])
    reading = scorer.read([("bcdefghij",)])  # ten, with the token that begins every text
    with pytest.raises(InputError, match="3 more tokens after the 10 of row 0 do not fit into n_ctx = 12"):
        reading.score([[token] * 3])
    (score,) = reading.score([[token] * 2], end=True)
    assert score.shape == (1, 3)
    reading.extend([0], [token])
    reading.extend([0], [token])
    with pytest.raises(InputError, match="1 more tokens after the 12"):
        reading.extend([0], [token])
    assert np.isfinite(reading.next_tokens().logprobs).all()
    reading.close()


@pytest.mark.parametrize(
    ("rows", "tokens"), [([0], [5, 6]), ([2], [5]), ([-1], [5]), ([0], [10**6]), ([0], [-1]), ([], [])]
)
def test_extensions_that_cannot_be(scorer: LlamaScorer, rows: list[int], tokens: list[int]) -> None:
    reading = scorer.read(CONTEXTS[:2])
    before = reading.next_tokens().logprobs
    with pytest.raises(InputError):
        reading.extend(rows, tokens)
    with pytest.raises(InputError):
        reading.score([[10**6]])
    np.testing.assert_array_equal(reading.next_tokens().logprobs, before)
    reading.close()


def test_nothing_is_read_of_nothing(scorer: LlamaScorer, toy: Path) -> None:
    with pytest.raises(InputError):
        scorer.read([])
    with pytest.raises(InputError, match="not a string"):
        scorer.read(["text"])  # type: ignore[list-item]
    assert scorer.read([("",)]).prompt_tokens == 1  # the token that begins every text
    headless = toy.with_name("headless.gguf")
    make_gguf(headless, **{"tokenizer.ggml.add_bos_token": False})
    bare = LlamaScorer(headless, threads=1)
    with pytest.raises(InputError, match="context 1 is empty"):
        bare.read([("x",), ("", "")])
    bare.close()


@pytest.mark.parametrize(
    "options", [{"n_ctx": 0}, {"max_rows": 0}, {"threads": 0}, {"cache_bytes": -1}], ids=lambda o: next(iter(o))
)
def test_settings_out_of_range(toy: Path, options: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        LlamaScorer(toy, **options)  # type: ignore[arg-type]


def test_what_is_missing_is_said_before_loading(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LlamaScorer(toy).check()
    LlamaScorer(lambda: toy).check()
    with pytest.raises(ConfigError, match=r"nowhere\.gguf"):
        LlamaScorer(toy.with_name("nowhere.gguf")).check()
    with pytest.raises(ConfigError, match=r"nowhere\.gguf"):
        LlamaScorer(lambda: toy.with_name("nowhere.gguf")).load()
    monkeypatch.setattr(llama, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pincite\[local\]"):
        LlamaScorer(toy).check()
    with pytest.raises(MissingExtraError, match=r"pincite\[local\]"):
        LlamaScorer(toy).load()


def test_a_file_that_is_no_model(tmp_path: Path, toy: Path) -> None:
    for content in (b"", b"not a model", toy.read_bytes()[:30_000]):
        path = tmp_path / "bad.gguf"
        path.write_bytes(content)
        with pytest.raises(BackendError, match=r"cannot load .*bad\.gguf"):
            LlamaScorer(path, threads=1).load()


def test_a_model_of_damaged_numbers(tmp_path: Path) -> None:
    path = tmp_path / "nan.gguf"
    make_gguf(path, quantized=False)
    content = bytearray(path.read_bytes())
    content[-4000:] = np.full(1000, np.nan, np.float32).tobytes()
    path.write_bytes(content)
    scorer = LlamaScorer(path, threads=1, max_rows=1)
    for _ in range(2):  # the row is given back
        with pytest.raises(BackendError, match="no numbers"):
            scorer.read([("x",)])
    scorer.close()


def test_after_close_readings_are_closed_and_the_model_loads_again(made: Callable[..., LlamaScorer]) -> None:
    scorer = made(max_rows=2)
    reading = scorer.read(CONTEXTS[:2])
    expected = reading.next_tokens().logprobs
    scorer.close()
    for use in (reading.next_tokens, lambda: reading.extend([0], [5]), lambda: reading.score([[5]])):
        with pytest.raises(InputError, match="closed"):
            use()
    again = scorer.read(CONTEXTS[:2])
    reading.close()
    np.testing.assert_array_equal(again.next_tokens().logprobs, expected)
    with pytest.raises(BackendError):
        scorer.read(CONTEXTS[:1])
    again.close()


def test_names(toy: Path) -> None:
    assert LlamaScorer(toy).name == "local:toy"
    assert LlamaScorer(lambda: toy, name="local:other").name == "local:other"
    assert LlamaScorer(toy).widest is None


def test_nothing_is_written_to_the_terminal(toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logprobs(LlamaScorer(toy, threads=1), CONTEXTS[:1])
    (tmp_path / "bad").write_bytes(b"no")
    with pytest.raises(PinciteError):
        LlamaScorer(tmp_path / "bad").load()
    assert capfd.readouterr() == ("", "")


def test_threads_take_turns(made: Callable[..., LlamaScorer]) -> None:
    scorer = made()
    expected = [logprobs(scorer, [context], " in the house") for context in CONTEXTS[:4]]
    wrong: list[int] = []

    def ask(i: int) -> None:
        for _ in range(5):
            found = logprobs(scorer, [CONTEXTS[i]], " in the house")
            if not np.array_equal(found, expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# The packaged model

GEMMA: list[Context] = [
    ("Passage: It was opened in 1902.\nQuestion: When?\nAnswer: 1902\n\nPassage:", f" {passage}\n", question)
    for question in ["Question: How high is the tower?\nAnswer:"]
    for passage in (
        "The tower is 34 metres high.",
        "Nobody has lived on the island since 1871.",
        "The tower, of which only walls stand, was some twenty metres high.",
        "The fire began in the tower.",
        "The high seas.",
        "It is a tower of forty-one storeys.",
        "34",
    )
]


@pytest.fixture(scope="module")
def gemma_path() -> Iterator[Path]:
    from pincite.generators import gemma

    with tempfile.TemporaryDirectory(prefix="pincite-test-") as directory:
        try:
            yield gemma.locate(Path(directory))
        except MissingExtraError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module")
def real(gemma_path: Path) -> Iterator[LlamaScorer]:
    scorer = LlamaScorer(gemma_path, threads=1, n_ctx=256, max_rows=7)
    yield scorer
    scorer.close()


@pytest.mark.model
def test_the_packaged_model_gives_the_same_bits_whatever_stands_beside(real: LlamaScorer) -> None:
    tokens = real.encode(" 34")
    together = real.read(GEMMA)
    assert together.cached_tokens > 6 * 20  # the frame was computed once
    (scores,) = together.score([tokens])
    for i, token in enumerate(tokens):
        np.testing.assert_array_equal(together.next_tokens().logprobs[:, token], scores[:, i])
        together.extend(range(7), [token] * 7)
    after = together.next_tokens().logprobs
    together.close()
    for row in range(7):
        alone: LlamaReading = real.read([GEMMA[row]])
        np.testing.assert_array_equal(alone.next_tokens().logprobs[0, tokens[0]], scores[row, 0])
        for token in tokens:
            alone.extend([0], [token])
        np.testing.assert_array_equal(alone.next_tokens().logprobs[0], after[row])
        alone.close()
    # The passage that says it makes the answer likelier than the one that speaks of something else.
    assert scores[0].sum() > scores[1].sum() + math.log(20)


def server_difference(path: Path, scorer: LlamaScorer, contexts: list[Context], n: int) -> np.ndarray:
    """How far the log-probabilities that llama.cpp's own server lists are from the scorer's; a row for each context."""
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    generator = LocalGenerator(path, n_ctx=256, threads=1)
    server = generator._loaded(primed=False)
    given = logprobs(scorer, contexts)
    found = []
    for row, context in enumerate(contexts):
        tokens = [int(scorer._vocabulary()._own.token_bos()), *(t for part in context for t in scorer.encode(part))]
        reply = server.handle_completions({"prompt": tokens, "max_tokens": 1, "logprobs": n, "temperature": 0.0})
        listed = {t["id"]: t["logprob"] for t in reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]}
        assert len(listed) == n
        assert next(iter(listed)) == given[row].argmax()
        found.append([abs(given[row, token] - logprob) for token, logprob in listed.items()])
    generator.close()
    return np.array(found)


def test_probabilities_are_those_of_llama_cpps_server(tmp_path: Path) -> None:
    path = tmp_path / "float.gguf"
    make_gguf(path, quantized=False)
    scorer = LlamaScorer(path, threads=1)
    difference = server_difference(path, scorer, CONTEXTS[:3], 200)
    assert difference.max() < 0.1  # the server keeps keys and values in half precision and adds up otherwise
    assert difference.mean() < 0.01
    scorer.close()


@pytest.mark.model
def test_the_packaged_models_are_near_those_of_the_server(gemma_path: Path, real: LlamaScorer) -> None:
    # The server's kernels add up otherwise, and activations of eight bits make tenths of that.
    difference = server_difference(gemma_path, real, GEMMA[:3], 50)
    assert difference.max() < 1.0
    assert difference.mean() < 0.3
