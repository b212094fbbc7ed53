from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pincite.errors import BackendError, ConfigError, InputError
from pincite.marginalize import decode
from pincite.marginalize.steps import best
from pincite.protocols import Context, NextTokens
from pincite.scorers.endpoint import EndpointScorer
from pincite.scorers.endpoint_replies import Listed, named_limit
from pincite.scorers.endpoint_words import END_TEXTS, TextWords
from toys_endpoint import BOS, EOS, ToyEndpoint

KEY = "sk-secret-123456"
CONTEXTS: list[Context] = [("Read this. ", "The lease ends in 1871.", " A:"), ("Read this. ", "It was long.", " A:")]

Make = Callable[..., tuple[ToyEndpoint, EndpointScorer]]


@pytest.fixture
def make() -> Iterator[Make]:
    """A toy endpoint and a scorer of it, both closed afterwards."""
    made: list[Any] = []

    def build(shape: Any = "llama.cpp", scorer: dict[str, Any] | None = None, **options: Any) -> Any:
        toy = ToyEndpoint(shape, **options)
        one = EndpointScorer("m", toy.url, **{"sleep": lambda _: None, **(scorer or {})})
        made.extend([one, toy])
        return toy, one

    yield build
    for each in made:
        each.close()


def texts(scorer: EndpointScorer, given: NextTokens, row: int = 0) -> dict[str, float]:
    """A row by the texts of its tokens, ends left out."""
    assert given.ids is not None
    pairs = zip(given.ids[row].tolist(), given.logprobs[row].tolist(), strict=True)
    return {scorer.decode([token]): value for token, value in pairs if token >= 0 and token not in scorer.ends}


def true_texts(toy: ToyEndpoint, text: str, least: float) -> dict[str, float]:
    """What the toy's table says after `text`, of tokens that are whole texts and no ends, down to `least`."""
    logprobs, found = toy.logprobs(text), {}
    for number in range(2, len(toy.vocabulary)):
        data = toy.vocabulary[number]
        if logprobs[number] >= least - 1e-6 and not data.startswith(b"\n"):
            found[data.decode("utf-8", "replace")] = float(logprobs[number])
    return found


class TestReplies:
    @pytest.mark.parametrize("shape", ["llama.cpp", "vllm"])
    def test_the_lists_are_those_of_the_table(self, make: Make, shape: str) -> None:
        toy, scorer = make(shape, pieces=False)
        given = scorer.read(CONTEXTS).next_tokens(30)
        assert given.ids is not None
        for row, context in enumerate(CONTEXTS):
            assert (given.ids[row] >= 0).sum() == 30
            expected = true_texts(toy, "".join(context), float(given.logprobs[row].min()))
            assert texts(scorer, given, row) == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("shape", ["llama.cpp", "vllm"])
    def test_a_step_is_one_request_for_all_rows(self, make: Make, shape: str) -> None:
        toy, scorer = make(shape, pieces=False)
        reading = scorer.read(CONTEXTS)
        (token,) = scorer.encode(" lease")
        reading.next_tokens()
        before = len(toy.asked)
        reading.extend([1, 0, 1], [token] * 3)
        assert len(toy.asked) == before
        given = reading.next_tokens()
        reading.next_tokens(5)  # a shorter list is part of what is known
        (path, body) = toy.asked[-1]
        assert len(toy.asked) == before + 1
        assert path == "/v1/completions"
        assert len(body["prompt"]) == 2  # the same row twice is asked for once
        assert body["max_tokens"] == 1
        assert body["logprobs"] == scorer.width
        assert body["model"] == "m"
        assert body["temperature"] == 0.0
        assert given.ids is not None
        assert (given.ids[0] == given.ids[2]).all()
        expected = true_texts(toy, "".join(CONTEXTS[1]) + " lease", float(given.logprobs[0].min()))
        assert texts(scorer, given) == pytest.approx(expected, abs=1e-5)

    def test_readings_take_slots_from_each_other(self, make: Make) -> None:
        assert not make()[1].concurrent
        assert make("vllm", pieces=False)[1].concurrent

    @pytest.mark.parametrize("reuse", [False, True])
    def test_contexts_are_first_computed_one_by_one_in_slots_of_their_own(self, make: Make, reuse: bool) -> None:
        toy, scorer = make(scorer={"reuse": reuse})
        assert scorer.exact
        toy.asked.clear()
        scorer.read([*CONTEXTS, *([("x" * i,) for i in range(1, 5)]), CONTEXTS[0]])
        *filled, step = toy.completions()
        assert [body["id_slot"] for body in filled] == [0, 1, 2, 3, 0, 1]
        assert {body["cache_prompt"] for body in filled} == {reuse}
        assert step["prompt"] == [body["prompt"] for body in filled]
        assert "cache_prompt" not in step

    @pytest.mark.parametrize(
        "choice",
        [
            {"logprobs": None},
            {},
            {"logprobs": {"content": []}},
            {"logprobs": {"content": [{"token": "x"}]}},
            {"logprobs": {"content": [{"token": "x", "top_logprobs": [{"token": "x", "logprob": "no"}]}]}},
            {"logprobs": {"content": [{"token": "x", "top_logprobs": [{"token": "x", "logprob": None}]}]}},
            {"logprobs": {"tokens": ["x"], "token_logprobs": [-1.0], "top_logprobs": [None]}},
            {"logprobs": {"tokens": ["x"], "token_logprobs": [-1.0], "top_logprobs": [["x", -1.0]]}},
        ],
    )
    def test_other_shapes_are_refused_saying_what_is_needed(self, make: Make, choice: dict[str, Any]) -> None:
        toy, scorer = make()
        toy.replies = [(200, {"choices": [{"text": "x", **choice}]})]
        with pytest.raises(BackendError, match="the N likeliest next tokens with their log-probabilities"):
            scorer.read(CONTEXTS)

    def test_numbers_where_texts_are_expected(self, make: Make) -> None:
        toy, scorer = make()
        listed = {"tokens": ["token_id:7"], "token_logprobs": [-1.0], "top_logprobs": [{"token_id:7": -1.0}]}
        toy.replies = [(200, {"choices": [{"text": "x", "logprobs": listed}]})]
        with pytest.raises(BackendError, match="without --return-tokens-as-token-ids"):
            _ = scorer.ends

    def test_vllms_minus_infinity_and_a_little_more_than_one(self, make: Make) -> None:
        toy, scorer = make("vllm", pieces=False)
        assert scorer.widest
        listed = {"tokens": ["a"], "token_logprobs": [1e-7], "top_logprobs": [{"a": 1e-7, "b": -9999.0}]}
        toy.replies = [(200, {"choices": [{"index": i, "text": "a", "logprobs": listed} for i in range(2)]})]
        given = scorer.read(CONTEXTS).next_tokens()
        assert given.logprobs.tolist() == [[0.0], [0.0]]


class TestLimits:
    @pytest.mark.parametrize("shape", ["llama.cpp", "vllm"])
    @pytest.mark.parametrize(
        ("refusal", "limit", "requests"),
        [
            ("Requested sample logprobs of {asked}, which is greater than max allowed: {limit}", 20, 2),
            ("Invalid value for 'logprobs': must be less than or equal to {limit}.", 5, 2),
            ("This model (v0.3) takes at most {limit} logprobs, not {asked}", 5, 2),
            ("too many logprobs", 23, 11),
            ("Too many logprobs", 1, 11),
        ],
    )
    def test_the_most_that_is_accepted_is_found_and_remembered(
        self, make: Make, shape: str, refusal: str, limit: int, requests: int
    ) -> None:
        toy, scorer = make(shape, pieces=False, limit=limit, refusal=refusal)
        assert scorer.widest == limit
        finding = [body["logprobs"] for body in toy.completions() if body["prompt"] == "The"]
        assert finding[0] == 1000
        assert len(finding) <= requests
        toy.asked.clear()
        reading = scorer.read(CONTEXTS)
        given = reading.next_tokens(500)
        assert given.logprobs.shape == (2, limit)
        assert scorer.widest == limit
        assert max(body["logprobs"] for body in toy.completions()) == limit

    def test_a_limit_that_is_not_said(self, make: Make) -> None:
        _, scorer = make("vllm", pieces=False, limit=7, refusal="")
        assert scorer.widest == 7
        assert scorer.read(CONTEXTS).next_tokens(500).logprobs.shape == (2, 7)

    def test_no_more_than_the_caller_wants(self, make: Make) -> None:
        toy, scorer = make(scorer={"widest": 12, "width": 3})
        reading = scorer.read(CONTEXTS)
        assert reading.next_tokens().logprobs.shape == (2, 3)
        assert reading.next_tokens(100).logprobs.shape == (2, 12)
        assert scorer.widest == 12
        assert max(body["logprobs"] for body in toy.completions() if "grammar" not in body) == 12

    def test_an_endpoint_that_gives_none_at_all(self, make: Make) -> None:
        toy, scorer = make()
        toy.replies = [(400, {"error": {"message": "logprobs are not supported"}})] * 20
        with pytest.raises(BackendError, match="the N likeliest next tokens"):
            scorer.read(CONTEXTS)

    @pytest.mark.parametrize(
        ("message", "asked", "limit"),
        [
            ("logprobs must be <= 5 for gpt-3.5-turbo-0125", 20, 5),
            ("got 1000, at most 20.", 1000, 20),
            ("no number", 1000, None),
            ("at most 2000", 1000, None),
            ("between 1 and 5", 20, 5),
            ("0 allowed", 20, None),
        ],
    )
    def test_the_number_in_a_refusal(self, message: str, asked: int, limit: int | None) -> None:
        assert named_limit(message, asked) == limit

    @pytest.mark.parametrize("arrays", [False, "one", "list"])
    @pytest.mark.parametrize("shape", ["llama.cpp", "vllm"])
    def test_a_server_that_takes_one_prompt_at_a_time(self, make: Make, shape: str, arrays: Any) -> None:
        toy, scorer = make(shape, pieces=False, arrays=arrays)
        reading = scorer.read(CONTEXTS)
        toy.asked.clear()
        given = reading.next_tokens(30)
        assert len(toy.asked) == len(CONTEXTS)
        assert not any(
            isinstance(body["prompt"], list) and isinstance(body["prompt"][0], list) for _, body in toy.asked
        )
        for row, context in enumerate(CONTEXTS):
            expected = true_texts(toy, "".join(context), float(given.logprobs[row].min()))
            assert texts(scorer, given, row) == pytest.approx(expected, abs=1e-5)


class TestCharacters:
    def test_half_a_character_goes_on_where_tokens_have_numbers(self, make: Make) -> None:
        toy, scorer = make()
        halves = list("ö".encode())
        context = "".join(CONTEXTS[0]).encode()
        toy.set(context, {bytes(halves[:1]): 0.9})
        toy.set(context + bytes(halves[:1]), {bytes(halves[1:]): 0.9})
        toy.set(context + bytes(halves), {"\n": 0.9})
        reading = scorer.read(CONTEXTS[:1])
        found = decode.greedy(reading, [0.0], scorer.ends, max_tokens=5, widest=scorer.widest)
        assert len(found.tokens) == 2
        assert scorer.decode(found.tokens[:1]) == "\ufffd"
        assert scorer.decode(found.tokens) == "ö"
        assert found.logprob == pytest.approx(3 * np.log(0.9), abs=1e-5)
        assert str(found.certainty) == "certified"

    def test_a_token_that_is_not_told_ends_the_list(self, make: Make) -> None:
        """Two tokens that look alike: one of them is lost on the way, and it may be the likelier one."""
        toy, scorer = make("vllm")
        text = "".join(CONTEXTS[0])
        toy.set(text, {"a": 0.4, b"\x80": 0.3, b"\x81": 0.02, "b": 0.2, "c": 0.01})
        reading = scorer.read(CONTEXTS[:1])
        assert texts(scorer, reading.next_tokens()) == {"a": pytest.approx(np.log(0.4), abs=1e-5)}
        tokens = scorer.encode("b")
        toy.echo = False
        # A score of what is told needs no bound.
        assert reading.score([tokens])[0].tolist() == [[pytest.approx(np.log(0.2), abs=1e-5)]]

    def test_pieces_of_characters_as_openai_writes_them(self, make: Make) -> None:
        toy, scorer = make("vllm", pieces=False)
        assert scorer.widest
        # In no order: what is less likely than a piece bounds nothing, wherever it stands.
        top = {"z": -4.0, "a": -0.5, "bytes:\\xc3\\xa9": -1.5, "bytes:\\xe2\\x80": -2.0, "b": -3.0}
        listed = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [top]}
        toy.replies = [(200, {"choices": [{"text": "a", "logprobs": listed}]})]
        assert set(texts(scorer, scorer.read(CONTEXTS[:1]).next_tokens())) == {"a", "é"}

    def test_the_first_token_is_not_told(self, make: Make) -> None:
        toy, scorer = make("vllm")
        toy.set("".join(CONTEXTS[0]), {b"\x80": 0.9})
        given = scorer.read(CONTEXTS[:1]).next_tokens()
        assert given.ids is not None
        assert given.ids.tolist() == [[-1]]
        assert given.logprobs.tolist() == [[-np.inf]]

    def test_a_control_token_in_a_passage_is_text(self, make: Make) -> None:
        toy, scorer = make()
        scorer.read([("Read this: ", "</s> and more")])
        cuts = [body for path, body in toy.asked if path == "/tokenize"]
        assert {body["parse_special"] for body in cuts} == {False}
        assert [body["add_special"] for body in cuts if body["content"] != "A"] == [True, False]
        prompt = toy.completions()[-1]["prompt"][0]
        assert prompt[0] == BOS
        assert EOS not in prompt
        assert toy._data(prompt).decode() == "Read this: </s> and more"

    def test_a_tokenizer_that_begins_every_text_with_a_space(self, make: Make) -> None:
        toy, scorer = make(spaces=True)
        scorer.read([("Read this:", "it is", " A:")])
        assert toy._data(toy.completions()[-1]["prompt"][0]).decode() == " Read this:it is A:"
        assert scorer.decode(scorer.encode("it")) == "it"

    @pytest.mark.parametrize("shape", ["llama.cpp", "vllm"])
    def test_half_a_surrogate_pair(self, make: Make, shape: str) -> None:
        toy, scorer = make(shape, pieces=False)
        assert scorer.decode(scorer.encode("a\ud800")) == "a?"
        scorer.read([("a\ud800",)])
        prompt = toy.completions()[-1]["prompt"][0]
        assert toy._data(prompt) == b"a?"

    def test_an_empty_context(self, make: Make) -> None:
        _, scorer = make(opens=False)
        with pytest.raises(InputError, match="empty"):
            scorer.read([("", "")])


class TestEnds:
    def test_numbered_ends_are_those_that_the_server_lists(self, make: Make) -> None:
        toy, scorer = make()
        feeds = {number for number, data in enumerate(toy.vocabulary) if data.startswith(b"\n")}
        assert len(feeds) == 3
        assert scorer.ends == {EOS, *feeds}

    def test_paragraphs(self, make: Make) -> None:
        _, scorer = make(scorer={"end_at_newline": False})
        assert scorer.ends == {EOS}
        toy, scorer = make("vllm", scorer={"end_at_newline": False}, pieces=False)
        toy.set("".join(CONTEXTS[0]), {"\n": 0.6})
        assert "\n" in texts(scorer, scorer.read(CONTEXTS[:1]).next_tokens())

    def test_ends_by_their_texts_are_known_beforehand(self, make: Make) -> None:
        """Also those that nobody foresaw: every one that turns up counts as one of the known ones."""
        toy, scorer = make("vllm", pieces=False)
        known = scorer.ends
        toy.set("".join(CONTEXTS[0]), {"\n": 0.3, "\n ": 0.2, "</s>": 0.1, " \n": 0.25})
        given = scorer.read(CONTEXTS[:1]).next_tokens(60)
        assert given.ids is not None
        ended = [value for token, value in zip(given.ids[0], given.logprobs[0], strict=True) if token in known]
        plain = float(np.exp(toy.logprobs("".join(CONTEXTS[0]))[toy.number("\n\n")]))
        assert np.exp(ended).sum() == pytest.approx(0.6 + plain, abs=1e-4)
        assert " \n" in texts(scorer, given)
        assert scorer.ends == known

    def test_ends_that_no_list_shows_may_be_many(self) -> None:
        """A vocabulary has tokens that begin with a line feed by the hundred: what ends is not bounded by a few."""
        words = TextWords(lambda text: [text], END_TEXTS, line_feeds=True)
        # Beside these two, sixty tokens of 0.01 that begin with a line feed would make the end likelier than either.
        row = words.row([Listed(b" A", math.log(0.3)), Listed(b" B", math.log(0.01))], bounding=True)
        ids, logprobs = (np.array([values]) for values in zip(*row, strict=True))
        ends = np.array(sorted(words.ends))
        chosen = best(NextTokens(logprobs, ids), slice(None), np.zeros(1), ends)
        assert words.text(chosen.symbol) == " A"
        assert chosen.certainty.kind == "approximate"
        assert chosen.certainty.mass >= 60 * 0.01 - 0.3

    def test_an_end_is_learned_from_a_text_that_stops_with_it(self, make: Make) -> None:
        toy, scorer = make("vllm", pieces=False)
        toy.eos_text = "<|fin|>"
        known = scorer.ends
        toy.set("".join(CONTEXTS[0]), {"<|fin|>": 0.9})
        given = scorer.read(CONTEXTS[:1]).next_tokens()
        assert given.ids is not None
        assert given.ids[0, 0] in known

    def test_no_grammar_is_no_llama(self, make: Make) -> None:
        """A server that numbers its tokens and can say no more of them is read as one that lists texts."""
        toy, scorer = make(pieces=False)
        toy.replies = [toy.answer("/v1/completions", {"prompt": "The", "logprobs": 1000}), (400, {"error": "grammar"})]
        assert not scorer.exact
        given = scorer.read(CONTEXTS).next_tokens(30)
        assert isinstance(toy.completions()[-1]["prompt"][0], str)
        expected = true_texts(toy, "".join(CONTEXTS[0]), float(given.logprobs[0].min()))
        assert texts(scorer, given) == pytest.approx(expected, abs=1e-5)


class TestScores:
    def test_a_token_that_is_not_listed_is_forced(self, make: Make) -> None:
        toy, scorer = make(scorer={"width": 2, "widest": 2})
        reading = scorer.read(CONTEXTS)
        tokens = scorer.encode("the lease")
        (score,) = reading.score([tokens], end=True)
        for row, context in enumerate(CONTEXTS):
            text = "".join(context).encode()
            expected = []
            for token in tokens:
                expected.append(toy.logprobs(text)[token])
                text += toy.vocabulary[token]
            expected.append(np.logaddexp.reduce(toy.logprobs(text)[sorted(scorer.ends)]))
            assert score[row, :-1].tolist() == pytest.approx(expected[:-1], abs=1e-5)
            assert score[row, -1] <= expected[-1] + 1e-5
        assert any("logit_bias" in body for body in toy.completions())

    def test_an_end_that_is_not_listed_is_forced(self, make: Make) -> None:
        toy, scorer = make(scorer={"width": 1, "widest": 1})
        text = "".join(CONTEXTS[0])
        toy.set(text, {"a": 0.99})
        (score,) = scorer.read(CONTEXTS[:1]).score([[]], end=True)
        expected = np.logaddexp.reduce(toy.logprobs(text)[sorted(scorer.ends)])
        assert score.tolist() == [[pytest.approx(expected, abs=1e-5)]]

    def test_another_token_than_the_forced_one(self, make: Make) -> None:
        toy, scorer = make(scorer={"width": 1, "widest": 1})
        toy.set("".join(CONTEXTS[0]), {"a": 0.99})
        reading, tokens = scorer.read(CONTEXTS[:1]), scorer.encode("Z")
        toy.replies = [toy.answer("/v1/completions", {"prompt": "The", "logprobs": 1})]
        with pytest.raises(BackendError, match=r"wrote token \d+ where \d+ was to be scored"):
            reading.score([tokens])

    def test_an_echo_scores_all_at_once(self, make: Make) -> None:
        toy, scorer = make("vllm", pieces=False)
        reading = scorer.read(CONTEXTS)
        answers = [scorer.encode(" lease 1871"), scorer.encode("Zz")]
        toy.asked.clear()
        scores = reading.score(answers)
        (body,) = toy.completions()
        assert body["echo"] is True
        assert len(body["prompt"]) == 4
        for answer, score in zip(["( lease)( 1871)", "(Z)(z)"], scores, strict=True):
            for row, context in enumerate(CONTEXTS):
                text, expected = "".join(context), []
                for piece in answer.strip("()").split(")("):
                    expected.append(toy.logprobs(text)[toy.number(piece)])
                    text += piece
                assert score[row].tolist() == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("echo", ["none", "refused", "failed", "cut otherwise"])
    def test_without_a_fitting_echo_by_the_lists(self, make: Make, echo: str) -> None:
        toy, scorer = make("vllm", pieces=False, limit=20)
        answer = scorer.encode("in") if echo != "cut otherwise" else [*scorer.encode("t"), *scorer.encode("he")]
        context = "".join(CONTEXTS[0])
        pieces = [scorer.decode([token]) for token in answer]
        toy.set(context, {pieces[0]: 0.5})
        toy.set(context + pieces[0], {"x": 0.9})  # what else comes is not listed
        reading = scorer.read(CONTEXTS[:1])
        if echo == "none":
            toy.echo = False
        elif echo == "refused":
            toy.replies = [(400, {"error": {"message": "echo is not supported"}})]
        elif echo == "failed":
            toy.replies = [(500, {"error": {"message": "2326"}})] * 3
        for _ in range(2):
            toy.asked.clear()
            (score,) = reading.score([answer])
            assert score[0, 0] == pytest.approx(np.log(0.5), abs=1e-5)
            expected = toy.logprobs(context + pieces[0])
            listed = expected[toy.number(pieces[1])] >= np.sort(expected)[-20]
            assert bool(np.isneginf(score[0, 1])) is not listed
        if echo != "cut otherwise":  # it is not asked again
            assert not any(body.get("echo") for body in toy.completions())

    def test_text_cannot_be_cut_without_an_echo(self, make: Make) -> None:
        _, scorer = make("vllm", echo=False)
        assert scorer.encode("") == []
        with pytest.raises(BackendError, match="echo with logprobs, as vLLM"):
            scorer.encode("the lease")

    def test_the_mixture_is_certified(self, make: Make) -> None:
        """Greedy search over lists finds what the whole tables would have given, and knows that it does."""
        for shape in ("llama.cpp", "vllm"):
            toy, scorer = make(shape, pieces=False, sharpness=3.0)
            prior = np.log([0.6, 0.4])
            found = decode.greedy(scorer.read(CONTEXTS), prior, scorer.ends, max_tokens=6, widest=scorer.widest)
            assert str(found.certainty) == "certified"
            text, expected = "", []
            feeds = [i for i, data in enumerate(toy.vocabulary) if data.startswith(b"\n")]
            for _ in range(6):
                rows = np.stack([toy.logprobs("".join(context) + text) for context in CONTEXTS])
                mixed = np.logaddexp.reduce(rows + prior[:, None], axis=0)
                end = np.logaddexp.reduce(mixed[[EOS, *feeds]])
                mixed[[EOS, BOS, *feeds]] = -np.inf
                if end > mixed.max():
                    break
                expected.append(toy.vocabulary[int(mixed.argmax())].decode())
                text += expected[-1]
            assert [scorer.decode([token]) for token in found.tokens] == expected
            assert expected


class TestConduct:
    def test_nothing_is_contacted_before_it_is_asked(self) -> None:
        code = (
            "import socket, sys\n"
            "def refuse(*a, **k): raise SystemExit('connected')\n"
            "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
            "from pincite.scorers.endpoint import EndpointScorer\n"
            "s = EndpointScorer('m', 'http://example.invalid/v1', api_key='k'); repr(s); s.name; s.close()\n"
            "assert not {'httpx', 'numpy', 'torch'} & set(sys.modules)\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_the_key_is_sent_and_not_shown(self, make: Make) -> None:
        toy, scorer = make(scorer={"api_key": KEY})
        scorer.read(CONTEXTS)
        assert set(toy.keys) == {f"Bearer {KEY}"}
        assert KEY not in repr(scorer)
        toy.replies = [(401, {"error": {"message": f"bad key {KEY}"}})]
        with pytest.raises(BackendError, match=r"refused; check OPENAI_API_KEY: bad key \[key\]"):
            scorer.read(CONTEXTS)
        toy.replies = [(200, {"error": {"message": f"out of memory {KEY}"}})]
        with pytest.raises(BackendError, match=r"failed: .*out of memory") as caught:
            scorer.read(CONTEXTS)
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (401, "no API key was given; check MY_KEY"),
            (404, r"404: there is no model 'm'.*a chat endpoint has no such thing"),
            (405, r"405.*a chat endpoint has no such thing"),
            (302, "redirect"),
            (418, "answered 418"),
        ],
    )
    @pytest.mark.parametrize("before", [0, 4])
    def test_failures_are_named(self, make: Make, status: int, message: str, before: int) -> None:
        toy, scorer = make(scorer={"api_key_variable": "MY_KEY"})
        if before:
            scorer.read(CONTEXTS)
            message = message.partition(".*a chat")[0]
        toy.replies = [(status, {"error": {"message": "no"}})]
        with pytest.raises(BackendError, match=message):
            scorer.read([("another ", "context")])
        assert toy.replies == []

    def test_a_busy_endpoint_is_asked_again(self, make: Make) -> None:
        slept: list[float] = []
        toy, scorer = make(scorer={"sleep": slept.append})
        toy.replies = [(503, {}), (429, {})]
        assert scorer.widest
        assert slept == [0.5, 1.0]
        toy.replies = [(503, {})] * 3
        with pytest.raises(BackendError, match="503"):
            scorer.read(CONTEXTS)
        assert slept[2:] == [0.5, 1.0]
        toy.replies, toy.headers = [(429, {})], {"Retry-After": "3600"}
        with pytest.raises(BackendError, match="try again in 3600 s"):
            scorer.read(CONTEXTS)
        assert len(slept) == 4

    def test_a_connection_that_was_closed_meanwhile(self, make: Make) -> None:
        toy, scorer = make()
        reading = scorer.read(CONTEXTS)
        toy.replies = [None]
        assert reading.next_tokens(50).logprobs.shape == (2, 50)
        toy.replies = [None] * 3
        with pytest.raises(BackendError, match=r"the connection to openai:m .*broke"):
            reading.next_tokens(60)

    def test_nobody_listens(self) -> None:
        scorer = EndpointScorer("m", "http://127.0.0.1:1/v1", sleep=lambda _: None, provider="vllm")
        with pytest.raises(BackendError, match=r"cannot connect to vllm:m .*check that the server"):
            scorer.read(CONTEXTS)
        scorer.close()

    @pytest.mark.parametrize("shape", ["llama.cpp", "vllm"])
    def test_a_context_too_long(self, make: Make, shape: str) -> None:
        _, scorer = make(shape, longest=60)
        with pytest.raises(InputError, match=r"too long for the model: .*maximum context length is 60"):
            scorer.read([("x" * 61,)])
        reading = scorer.read([("x" * 60,)])
        reading.extend([0], scorer.encode("x"))
        with pytest.raises(InputError, match="too long"):
            reading.next_tokens()

    def test_bad_arguments(self, make: Make) -> None:
        for url in ("localhost:8080", "http://u:p@host/v1", ""):
            with pytest.raises(ConfigError, match="base_url"):
                EndpointScorer("m", url)
        with pytest.raises(InputError, match="width"):
            EndpointScorer("m", "http://h/v1", width=0)
        _, scorer = make()
        with pytest.raises(InputError, match="no contexts"):
            scorer.read([])
        with pytest.raises(InputError, match="tuple of parts"):
            scorer.read(["text"])  # type: ignore[list-item]
        reading = scorer.read(CONTEXTS)
        token = scorer.encode("a")[0]
        for rows, tokens in [([0], [token, token]), ([], []), ([2], [token]), ([-1], [token]), ([0], [99999])]:
            with pytest.raises(InputError):
                reading.extend(rows, tokens)
        assert reading.rows == 2
        with pytest.raises(InputError, match="width"):
            reading.next_tokens(0)
        with pytest.raises(InputError, match="token 99999"):
            scorer.decode([99999])
        with pytest.raises(InputError, match="token 99999"):
            reading.score([[99999]])

    def test_it_opens_again(self, make: Make) -> None:
        toy, scorer = make()
        reading = scorer.read(CONTEXTS)
        first = reading.next_tokens()
        asked = len(toy.asked)
        scorer.close()
        scorer.close()
        np.testing.assert_array_equal(scorer.read(CONTEXTS).next_tokens().logprobs, first.logprobs)
        assert not any(body["prompt"] == "The" for _, body in toy.asked[asked:])  # what it does is known
