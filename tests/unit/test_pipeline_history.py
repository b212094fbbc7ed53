"""The pipeline in a conversation, with a toy encoder and scripted generators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.assemble import Layout
from pincite.build import _options
from pincite.chunkers.structure import StructureChunker
from pincite.config import load_settings
from pincite.errors import ConfigError
from pincite.formats import build_loaders
from pincite.loaders.read import InProcessReader
from pincite.pipeline import Options, Pipeline
from pincite.store.edge import EdgeStore
from pincite.types import Answer, Generation, Message, Prompt, Token
from toys import ToyEncoder, toy_header

X200 = "How long is the warranty on the X200?"
HISTORY = (Message("user", X200), Message("assistant", "Two years. [1]"))


class ToyEndpoint:
    """Cites its first passage; keeps its prompts."""

    name = "toy:endpoint"
    cites = True

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        self.prompts.append(prompt)
        text = f"{prompt.passages[0].chunk.text.strip()} [1]"
        yield Token(text)
        yield Generation(text, (Token(text),), model=self.name)

    def close(self) -> None: ...


class ToyCounter(ToyEndpoint):
    """One that counts a token for each word."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class ToyBase(ToyEndpoint):
    """One that follows no instructions."""

    cites = False

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        self.prompts.append(prompt)
        text = prompt.passages[0].chunk.text.strip()
        yield Generation(text, (Token(text),), model=self.name, sources=(0,))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Pipeline]:
    for model, years in (("X200", "two"), ("X300", "three"), ("X400", "four")):
        (tmp_path / f"{model}.txt").write_text(f"The warranty on the {model} lasts {years} years.\n")
    (tmp_path / "chain.txt").write_text("The chain is oiled every month.\n")
    encoder = ToyEncoder()
    pipeline = Pipeline(
        store=EdgeStore.create(tmp_path / "index", toy_header(encoder)),
        encoder=encoder,
        chunker=StructureChunker(encoder.tokenizer, size=60),
        reader=InProcessReader(build_loaders()),
        generator=ToyEndpoint,
        options=Options(layout=Layout(relevance=0)),
    )
    pipeline.add(sorted(tmp_path.glob("*.txt")))
    yield pipeline
    pipeline.close()


def asked(made: Pipeline, generator: ToyEndpoint, question: str, history: tuple[Message, ...]) -> tuple[Answer, Prompt]:
    made._make_generator, made._generator = lambda: generator, None
    answer = made.ask(question, history=history)
    return answer, generator.prompts[-1]


def test_the_model_is_asked_what_was_asked_and_the_search_what_stands_alone(made: Pipeline) -> None:
    answer, prompt = asked(made, ToyEndpoint(), "and the X300?", HISTORY)
    assert (answer.question, answer.searched) == ("and the X300?", "How long is the warranty on the X300?")
    assert prompt.question == "and the X300?"
    assert [message.content for message in prompt.history] == [X200, "Two years."]
    assert answer.passages[0].title == "X300"
    assert answer.timings["rewrite"] >= 0


def test_one_that_follows_no_instructions_is_given_the_question_that_stands_alone(made: Pipeline) -> None:
    answer, prompt = asked(made, ToyBase(), "and the X300?", HISTORY)
    assert prompt.question == answer.searched == "How long is the warranty on the X300?"
    assert answer.question == "and the X300?"


def test_without_a_conversation_nothing_changes(made: Pipeline) -> None:
    answer, prompt = asked(made, ToyEndpoint(), X200, ())
    assert answer.searched == answer.question == X200
    assert "rewrite" not in answer.timings
    assert prompt.history == ()


def test_nothing_that_is_gone_comes_back_with_the_turn_before(made: Pipeline) -> None:
    made.options = replace(made.options, answer_passages=3)
    question = "Who oils the chain of it?"
    titles = {passage.title for passage in asked(made, ToyEndpoint(), question, HISTORY)[0].passages}
    assert "X200" in titles
    made.remove(next(each.id for each in made.documents() if each.title == "X200"))
    for k in (3, 10):
        made.options = replace(made.options, answer_passages=k)
        titles = {passage.title for passage in asked(made, ToyEndpoint(), question, HISTORY)[0].passages}
        assert "X200" not in titles


def test_the_generators_own_count_holds(made: Pipeline) -> None:
    _, counted = asked(made, ToyCounter(), X200, ())
    words = sum(len(message.content.split()) for message in counted.messages)
    assert words <= counted.token_count <= words + 64 + 2 * len(counted.passages)
    _, estimated = asked(made, ToyEndpoint(), X200, ())
    assert estimated.token_count > 1.2 * counted.token_count


def test_settings_reach_the_prompt(tmp_path: Path, made: Pipeline) -> None:
    file = tmp_path / "mine.tpl"
    file.write_text("--- system\n{key} {refusal}\n--- user\n{sources}\n\nFrage: {question}")
    options = _options(
        load_settings(
            environment={},
            overrides={
                "answer.template": str(file),
                "answer.order": "edges",
                "answer.relevance": 0.0,
                "answer.history": 1,
                "answer.context_tokens": 4000,
                "answer.max_tokens": 100,
            },
        )
    )
    assert options.prompt_tokens == 3900
    made.options = replace(made.options, layout=options.layout)
    _, prompt = asked(made, ToyEndpoint(), "Does it cover the X300?", (*HISTORY, *HISTORY))
    assert prompt.template.startswith("mine.tpl#")
    assert prompt.messages[-1].content.endswith("Frage: Does it cover the X300?")
    assert len(prompt.history) == len(prompt.forgotten) == 2
    assert prompt.answer_tokens == 100
    ranks = [passage.hit.rank for passage in prompt.passages]
    assert len(ranks) == 4
    assert ranks[0] < ranks[-1] < ranks[1]
    file.write_text("--- system\n{key}\n--- user\n{sources} {question}")
    with pytest.raises(ConfigError, match=r"lacks the placeholder \{refusal\}"):
        _options(load_settings(environment={}, overrides={"answer.template": str(file)}))


def test_a_warning_tells_what_was_left_out(made: Pipeline) -> None:
    made.options = replace(made.options, layout=Layout(relevance=1.0, turns=0))
    answer, prompt = asked(made, ToyEndpoint(), "and the X300?", HISTORY)
    assert prompt.dropped
    assert any(each.startswith("left out of the prompt as far below the best: ") for each in answer.warnings)
    assert any(each.startswith("2 messages of the conversation left out") for each in answer.warnings)
