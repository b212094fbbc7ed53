"""`EndpointScorer` against llama.cpp's own server, over HTTP, with the packaged Gemma."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.errors import BackendError, InputError, MissingExtraError
from pincite.generators import gemma
from pincite.marginalize import decode
from pincite.protocols import Context
from pincite.scorers.endpoint import EndpointScorer

pytestmark = pytest.mark.model

CONTEXTS: list[Context] = [
    ("Passage:", " The lighthouse is 34 metres tall.", "\nQuestion: How tall is it?\nAnswer:"),
    ("Passage:", " The fee is 12 euros.", "\nQuestion: How tall is it?\nAnswer:"),
    ("Passage:", " The tower is 52 metres tall.", "\nQuestion: How tall is it?\nAnswer:"),
]
PRIOR = np.log([0.6, 0.1, 0.3])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    with tempfile.TemporaryDirectory(prefix="pincite-test-") as directory:
        try:
            weights = gemma.locate(Path(directory))
        except MissingExtraError as error:
            pytest.skip(str(error))
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_parallel = len(CONTEXTS)
        params.n_ctx = 256 * len(CONTEXTS)
        params.n_gpu_layers = 0
        params.swa_full = True
        params.cache_ram_mib = 0
        params.warmup = False
        params.verbosity = -1
        params.api_keys = ["secret"]
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads = 1
        server = xllamacpp.Server(params)
        yield f"{server.listening_address}/v1"
        del server


@pytest.fixture(scope="module")
def scorer(url: str) -> Iterator[EndpointScorer]:
    scorer = EndpointScorer("gemma", url, api_key="secret", provider="llama.cpp")
    yield scorer
    scorer.close()


def ask(scorer: EndpointScorer, prompt: Any, **more: Any) -> list[dict[str, Any]]:
    """The tokens of the reply to a request of the server's own kind."""
    body = {"prompt": prompt, "max_tokens": 1, "temperature": 0.0, "logprobs": 1, **more}
    reply = scorer._post(f"{scorer.base_url}/completions", body)
    return list(reply["choices"][0]["logprobs"]["content"])


def test_what_the_server_is_found_to_do(scorer: EndpointScorer) -> None:
    assert scorer.exact
    assert scorer.widest == 1000
    pieces = {token: ask(scorer, "\n", logit_bias=[[token, 1000.0]])[0] for token in (1, 106, 107, 108)}
    assert set(pieces) <= scorer.ends  # end of text, end of turn, and two runs of line feeds
    assert [bytes(each["bytes"]) for each in pieces.values()] == [b"", b"", b"\n", b"\n\n"]
    assert not set(scorer.encode(" a \n b")[:2]) & scorer.ends


def test_several_rows_in_one_request(scorer: EndpointScorer) -> None:
    reading = scorer.read(CONTEXTS)
    given = reading.next_tokens(50)
    assert given.ids is not None
    assert given.logprobs.shape == given.ids.shape == (3, 50)
    assert (np.diff(given.logprobs) <= 0).all()
    # The server's own single precision: it sums a vocabulary of 262144 a little short.
    assert (np.exp(given.logprobs.astype(float)).sum(axis=1) < 1.001).all()
    for row in range(len(CONTEXTS)):
        alone = ask(scorer, list(scorer._open().words.prompt(CONTEXTS[row])))[0]  # computed as the row was
        assert given.ids[row, 0] == alone["id"]
        assert given.logprobs[row, 0] == pytest.approx(alone["logprob"], abs=0.03)
    reading.close()


@pytest.mark.parametrize("text", [" 34 metres", " naïve 第三条 🫠 x", "12"])
def test_text_comes_back(scorer: EndpointScorer, text: str) -> None:
    tokens = scorer.encode(text)
    assert scorer.decode(tokens) == text
    assert scorer.decode([*tokens, *sorted(scorer.ends)]) == text


def test_a_score_is_the_chain_and_what_the_server_forces(scorer: EndpointScorer) -> None:
    answers = [scorer.encode(" 34 metres"), scorer.encode(" naïve xylophone")]
    reading = scorer.read(CONTEXTS)
    scores = reading.score(answers, end=True)
    prompts = [list(scorer._open().words.prompt(context)) for context in CONTEXTS]
    chain = np.zeros((3, len(answers[0])))
    for place, token in enumerate(answers[0]):
        given = reading.next_tokens(1000)
        assert given.ids is not None
        for row in range(3):
            (where,) = np.flatnonzero(given.ids[row] == token)
            chain[row, place] = given.logprobs[row, where]
        reading.extend(range(3), [token] * 3)
    np.testing.assert_allclose(scores[0][:, :-1], chain, atol=1e-4)
    reading.close()
    assert np.isfinite(scores[1]).all()
    assert scores[1].min() < -15  # far below what any list holds
    for answer, score in zip(answers, scores, strict=True):
        place = len(answer) - 1
        (forced,) = ask(scorer, [*prompts[0], *answer[:place]], logit_bias=[[answer[place], 1000.0]])
        assert score[0, place] == pytest.approx(forced["logprob"], abs=0.05)


def test_greedy_over_the_mixture_is_certified(scorer: EndpointScorer) -> None:
    reading = scorer.read(CONTEXTS)
    found = decode.greedy(reading, PRIOR, scorer.ends, max_tokens=12, widest=scorer.widest)
    reading.close()
    assert str(found.certainty) == "certified"
    assert found.ended
    assert scorer.decode(found.tokens).strip() == "34 metres"
    scored = decode.score_answer(scorer.read(CONTEXTS), found.tokens, scorer.ends)
    mixed = np.logaddexp.reduce(scored + PRIOR[:, None], axis=0)
    assert found.logprob <= mixed.sum() + 0.05
    assert found.logprob + found.slack >= mixed.sum() - 0.05


def test_the_same_question_again(scorer: EndpointScorer) -> None:
    first = scorer.read(CONTEXTS).next_tokens(20)
    scorer.read([("Something else",), ("entirely",)]).score([scorer.encode(" and more")])
    again = scorer.read(CONTEXTS).next_tokens(20)
    assert first.ids is not None
    assert again.ids is not None
    assert (first.ids[:, 0] == again.ids[:, 0]).all()
    np.testing.assert_allclose(first.logprobs[:, :3], again.logprobs[:, :3], atol=1e-4)


def test_a_context_too_long(scorer: EndpointScorer) -> None:
    with pytest.raises(InputError, match="too long for the model"):
        scorer.read([("x",), ("word " * 3000,)])


def test_a_wrong_key(url: str) -> None:
    other = EndpointScorer("gemma", url, api_key="wrong")
    with pytest.raises(BackendError, match=r"401.*OPENAI_API_KEY"):
        _ = other.ends
    other.close()
