"""What `Pipeline.search` does around retrieval: fusion, the reranker, what is read of what was found."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.assemble import Layout
from pincite.chunkers.parent_child import ParentChildChunker
from pincite.chunkers.sentence_window import SentenceWindowChunker
from pincite.chunkers.sentences import SentenceChunker
from pincite.chunkers.structure import StructureChunker
from pincite.chunkers.window import WindowChunker
from pincite.errors import BackendError
from pincite.formats import build_loaders
from pincite.generators.extractive import ExtractiveGenerator
from pincite.loaders.read import InProcessReader
from pincite.pipeline import Options, Pipeline
from pincite.protocols import Chunker, Reranked, Reranker
from pincite.store.edge import EdgeStore
from pincite.types import Generation, Hit, Passage, Prompt, Token
from toys import ToyEncoder, toy_header

TEXTS = ["the tenant pays rent", "the landlord pays tax", "the tenant keeps a dog", "nobody pays in june"]


class Illiterate(ToyEncoder):
    """Reads none of what it is asked."""

    def reads(self, text: str) -> float:  # noqa: ARG002
        return 0.0


class Backwards:
    """A toy reranker: the last becomes the first."""

    name = "backwards"
    depth = 3

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.seen: list[int] = []
        self.closed = 0

    def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:  # noqa: ARG002
        self.seen.append(len(passages))
        if self.error:
            raise self.error
        turned = list(passages[: self.depth])[::-1]
        hits = Hit.ranked([each.chunk.id for each in turned], [3.0, 2.0, 1.0], self.name)
        new = [replace(each, hit=hit) for each, hit in zip(turned, hits, strict=False)]
        return Reranked([*new, *passages[self.depth :]], ("turned around",))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Any]:
    opened: list[Pipeline] = []

    def make(
        texts: Sequence[str] = TEXTS,
        *,
        encoder: ToyEncoder | None = None,
        reranker: Reranker | None = None,
        chunker: Chunker | None = None,
        **options: Any,
    ) -> Pipeline:
        encoder = encoder or ToyEncoder()
        pipeline = Pipeline(
            store=EdgeStore.create(tmp_path / f"index{len(opened)}", toy_header(encoder)),
            encoder=encoder,
            chunker=chunker or StructureChunker(encoder.tokenizer, size=60),
            reader=InProcessReader(build_loaders()),
            generator=lambda: ExtractiveGenerator(encoder),
            options=Options(**options),
            reranker=reranker,
        )
        opened.append(pipeline)
        for number, text in enumerate(texts):
            pipeline.add_text(text, name=f"{number}.txt")
        return pipeline

    yield make
    for pipeline in opened:
        pipeline.close()


def texts(passages: Sequence[Passage]) -> list[str]:
    return [each.chunk.text for each in passages]


def test_the_reranker_orders_the_first_passages(made: Any) -> None:
    plain = made().search("tenant pays", k=4)
    reranker = Backwards()
    found = made(reranker=reranker).search("tenant pays", k=4)
    first, last = texts(plain.passages)[:3], texts(plain.passages)[3:]
    assert texts(found.passages) == [*first[::-1], *last]
    assert [each.hit.stage for each in found.passages] == ["backwards"] * 3 + ["fused"]
    assert "turned around" in found.notes
    assert "rerank" in found.timings
    assert all(each.legs for each in found.passages)


def test_the_reranker_sees_its_depth_though_fewer_are_wanted(made: Any) -> None:
    reranker = Backwards()
    pipeline = made(reranker=reranker, merge=0)
    found = pipeline.search("tenant pays", k=1)
    assert reranker.seen == [3]
    assert texts(found.passages) == texts(made().search("tenant pays", k=3).passages)[2:]
    pipeline.close()
    assert reranker.closed


def test_a_reranker_that_fails_leaves_the_order_and_says_so(made: Any) -> None:
    plain = made().search("tenant pays")
    found = made(reranker=Backwards(BackendError("no memory"))).search("tenant pays")
    assert texts(found.passages) == texts(plain.passages)
    assert found.notes == ("backwards: failed, the order is that of the first stage: no memory",)


def test_a_fault_that_is_no_failure_of_a_model_is_not_hidden(made: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        made(reranker=Backwards(ZeroDivisionError())).search("tenant pays")


def test_words_decide_where_the_encoder_reads_nothing(made: Any) -> None:
    pipeline = made(encoder=Illiterate())
    found = pipeline.search("tenant pays dog")
    assert texts(found.passages) == texts(pipeline.search("tenant pays dog", mode="bm25").passages) + [
        text for text in texts(found.passages) if text == TEXTS[3] and "bm25" not in found.passages[-1].legs
    ]
    assert found.notes == ("dense: the encoder's vocabulary knows less than half of this query; words decide",)
    assert pipeline.search("zebra").notes[-1].endswith("what it finds near may be anything")
    # Asked for by name the leg answers as ever, and reciprocal ranks weigh nothing.
    assert pipeline.search("tenant pays dog", mode="dense").notes == ()
    assert made(encoder=Illiterate(), fusion="rrf").search("tenant pays dog").notes == ()


def test_a_near_vector_of_what_is_not_read_is_no_evidence(made: Any) -> None:
    question = TEXTS[0].replace("rent", "zebra quagga okapi gnu eland")  # near by its vector, few words in common
    assert made(encoder=ToyEncoder()).ask(question).reason != "no-evidence"
    assert made(encoder=Illiterate()).ask(question).reason == "no-evidence"


def test_the_weight_of_the_dense_leg_moves_the_order(made: Any) -> None:
    words, vectors = made(dense_weight=0.0), made(dense_weight=1.0)
    for query in ("tenant pays dog", "landlord june"):
        dense = texts(vectors.search(query, mode="dense").passages)
        assert texts(vectors.search(query).passages) == dense
        lexical = texts(words.search(query, mode="bm25").passages)
        assert texts(words.search(query).passages)[: len(lexical)] == lexical


LONG = "# Refunds\n\n" + "\n\n".join(f"Clause {n} speaks of the matter {word}." for n, word in enumerate("abcdefgh"))


def test_what_is_found_small_is_read_large_and_cited_exactly(made: Any) -> None:
    encoder = ToyEncoder()
    chunker = ParentChildChunker(encoder.tokenizer, size=12, parent_size=200)
    pipeline = made([LONG], encoder=encoder, chunker=chunker)
    found = pipeline.search("clause matter c", k=1)
    (passage,) = found.passages
    (stored,) = pipeline.documents()
    document = pipeline.show(stored.id)
    assert "matter a." in passage.chunk.text
    assert "matter h." in passage.chunk.text
    assert document.text[passage.chunk.start : passage.chunk.end] == passage.chunk.text
    assert passage.found
    assert all(passage.chunk.start <= start < end <= passage.chunk.end for start, end in passage.found)
    for citation in pipeline.ask("Which clause speaks of the matter c?").citations:
        assert document.text[citation.start : citation.end] == citation.quote


def test_neighbours_are_read_as_one_and_a_document_can_be_capped(made: Any) -> None:
    encoder = ToyEncoder()
    chunker = StructureChunker(encoder.tokenizer, size=12)
    apart = made([LONG], encoder=encoder, chunker=chunker, merge=0).search("clause matter", k=3)
    assert len(apart.passages) == 3
    merged = made([LONG], encoder=encoder, chunker=chunker).search("clause matter", k=3)
    assert len(merged.passages) < 3
    assert sum(len(each.found) or 1 for each in merged.passages) > 3
    capped = made([LONG, TEXTS[0]], encoder=encoder, chunker=chunker, merge=0, per_document=1).search("clause", k=3)
    assert len({each.chunk.document_id for each in capped.passages}) == len(capped.passages) == 2
    assert any("search.per_document" in note for note in capped.notes)


def test_what_is_found_keeps_its_own_headings_when_it_is_read_with_the_section_above(made: Any) -> None:
    text = (
        "# Alpha\n\nThe first thing is said here in some words.\n\n# Zebra quagga\n\n"
        "Nothing of any weight stands in this line at all.\n\nThe okapi and the gnu are meant in this line too."
    )
    encoder = Illiterate()
    chunker = StructureChunker(encoder.tokenizer, size=14)
    question = "zebra quagga okapi gnu"
    for merge in (0, 3000):
        pipeline = made([], encoder=encoder, chunker=chunker, merge=merge)
        pipeline.add_text(text, name="animals.md")
        found = pipeline.search(question, k=9)
        assert (len(found.passages) == 1) is (merge > 0)
        # The line with the last two words alone, and the heading over it, hold all of the question.
        assert pipeline._answering().no_evidence(question, found, narrowed=False) == ""


class Citing:
    """A toy generator that keeps the prompts it was given."""

    name, cites = "citing", True

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        self.prompts.append(prompt)
        yield Token("The sources do not say.")
        yield Generation("The sources do not say.")

    def close(self) -> None:
        pass


def test_of_a_passage_that_fits_no_prompt_the_parts_that_were_found_are_read(made: Any) -> None:
    encoder = ToyEncoder()
    chunker = StructureChunker(encoder.tokenizer, size=12)
    generator = Citing()
    text = "# Refunds\n\n" + "\n\n".join(
        f"Clause {n} speaks of the matter {word}." for n, word in enumerate("abcdefgh")
    )
    pipeline = made([text], encoder=encoder, chunker=chunker)
    pipeline._make_generator = lambda: generator
    pipeline.options = replace(pipeline.options, layout=Layout(relevance=0))
    pipeline.ask("Which clause speaks of the matter?", k=3)
    room = generator.prompts[0].token_count - 1
    pipeline.options = replace(pipeline.options, layout=Layout(budget=room, answer=0, relevance=0))
    answer = pipeline.ask("Which clause speaks of the matter?", k=3)
    assert answer.passages == generator.prompts[1].passages
    whole, narrow = generator.prompts
    assert any(each.found for each in whole.passages)
    assert whole.dropped == ()
    assert len(narrow.dropped) == 1
    assert narrow.passages
    assert narrow.token_count <= room
    document = pipeline.show(pipeline.documents()[0].id)
    for passage in narrow.passages:
        assert document.text[passage.chunk.start : passage.chunk.end] == passage.chunk.text
        read = [span for each in whole.passages for span in (*each.found, (each.chunk.start, each.chunk.end))]
        assert (passage.chunk.start, passage.chunk.end) in read
    assert any("parts of it that were found" in warning for warning in answer.warnings)


@pytest.mark.parametrize("reranked", [False, True])
@pytest.mark.parametrize("recipe", ["structure", "parent-child"])
def test_nothing_of_a_document_that_the_filter_excludes_is_read(made: Any, reranked: bool, recipe: str) -> None:
    encoder = ToyEncoder()
    chunker: Chunker = (
        StructureChunker(encoder.tokenizer, size=12)
        if recipe == "structure"
        else ParentChildChunker(encoder.tokenizer, size=12, parent_size=60)
    )
    pipeline = made([], encoder=encoder, chunker=chunker, reranker=Backwards() if reranked else None, per_document=2)
    for name in ("open", "secret"):
        pipeline.add_text(LONG.replace("Clause", f"{name} clause"), name=f"{name}.txt", metadata={"right": name})
    for mode in ("hybrid", "dense", "bm25"):
        found = pipeline.search("secret clause matter", where={"right": ["open"]}, mode=mode, k=50)
        assert found.passages
        assert not any("secret" in passage.chunk.reading for passage in found.passages)


def test_an_old_version_that_goes_away_between_finding_and_reading_is_read_as_it_was_found(made: Any) -> None:
    encoder = ToyEncoder()
    chunker = ParentChildChunker(encoder.tokenizer, size=12, parent_size=200)
    pipeline = made([LONG], encoder=encoder, chunker=chunker)
    asked = pipeline.store.get_document

    def update(document_id: str, version: int | None = None) -> Any:
        if version == 1:
            pipeline.add_text("All is new.", name="0.txt")
        return asked(document_id, version)

    pipeline.store.get_document = update
    found = pipeline.search("clause matter c", k=3)
    assert found.passages
    for passage in found.passages:
        assert LONG[passage.chunk.start : passage.chunk.end] == passage.chunk.text
        assert passage.chunk.version == 1


PARTS = [
    "Refunds are given within 30 days. ",
    "No. ",
    "# Part\n\n",
    "## Scope of sale\n\n",
    "Not for sale items, though.\n\n",
    "\n\n```py\na = 1\n\nb = 2\nc = 3\n```\n\n",
    "\n\n| a | sale |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | refund |\n\n",
    "第一条。この法律は、サーバーに適用する。",
    "२०२३ में किराया ५,००० रुपये था। ",
    "👨\u200d👩\u200d👧\u200d👦 cafe\u0301 ",
    "\n\n  \n",
    "x" * 90 + " ",
]
QUERIES = ("refunds for sale items", "b = 2", "第一条 サーバー", "किराया २०२३", "cafe 👨\u200d👩\u200d👧", "\ud800 x")
RECIPES: dict[str, Callable[[ToyEncoder], Chunker]] = {
    "structure": lambda e: StructureChunker(e.tokenizer, size=14, overlap_sentences=1),
    "sentences": lambda e: SentenceChunker(e.tokenizer, size=12, overlap_sentences=2),
    "window": lambda e: WindowChunker(e.tokenizer, size=10, overlap=4),
    "sentence-window": lambda e: SentenceWindowChunker(e.tokenizer, size=14, window=2),
    "parent-child": lambda e: ParentChildChunker(e.tokenizer, size=10, parent_size=30),
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_read_stands_in_the_stored_document_to_the_character(made: Any, recipe: str) -> None:
    """Random documents through the loader, a recipe, the store, fusion, a reranker and what is read of it."""
    draw = random.Random(recipe)
    encoder = ToyEncoder()
    pipeline = made([], encoder=encoder, chunker=RECIPES[recipe](encoder), reranker=Backwards())
    for number in range(12):
        text = "".join(draw.choices(PARTS, k=draw.randint(1, 14)))
        if text.strip():
            pipeline.add_text(text, name=f"{number}.md")
    texts_of = {each.id: pipeline.show(each.id).text for each in pipeline.documents()}
    wider = 0
    for merge, per_document, k in itertools.product((0, 40, 3000), (0, 2), (1, 4, 100)):
        pipeline.options = replace(pipeline.options, merge=merge, per_document=per_document)
        for query in QUERIES:
            result = pipeline.search(query, k=k)
            assert 0 < len(result.passages) <= k
            for passage in result.passages:
                chunk = passage.chunk
                assert texts_of[chunk.document_id][chunk.start : chunk.end] == chunk.text
                assert all(chunk.start <= start < end <= chunk.end for start, end in passage.found)
                wider += bool(passage.found)
            for part in pipeline._answering().as_found(result.passages):
                assert texts_of[part.chunk.document_id][part.chunk.start : part.chunk.end] == part.chunk.text
    assert wider
