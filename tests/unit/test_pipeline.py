"""The pipeline with a toy encoder and scripted generators: what it does around its parts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pincite.chunkers.structure import StructureChunker
from pincite.errors import InputError, StoreBusyError
from pincite.formats import build_loaders
from pincite.generators.extractive import ExtractiveGenerator
from pincite.loaders.read import InProcessReader
from pincite.pipeline import Options, Pipeline
from pincite.protocols import Generator, Loader, Source
from pincite.settle import UNSUPPORTED
from pincite.store.edge import EdgeStore
from pincite.types import Answer, Document, Generation, Prompt, Token
from toys import ToyEncoder, toy_header

LEASE = "The tenant pays 500 euros a month.\n\nNo pets are allowed in the building.\n"


class FakeEndpoint:
    """Says what it was told to, with markers."""

    name = "fake:endpoint"
    cites = True

    def __init__(self, text: str) -> None:
        self.text = text

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:  # noqa: ARG002
        words = self.text.split(" ")
        tokens = tuple(Token(word if i == 0 else f" {word}") for i, word in enumerate(words))
        yield from tokens
        yield Generation(self.text, tokens, model=self.name)

    def close(self) -> None:
        pass


class FakeBaseModel(FakeEndpoint):
    """Says what it was told to, without markers, of the first passage."""

    name = "fake:base"
    cites = False

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:  # noqa: ARG002
        yield Token(self.text)
        yield Generation(self.text, (Token(self.text),), model=self.name, sources=(0,))


def pipeline(
    folder: Path, generator: Generator | None = None, loaders: Sequence[Loader] | None = None, **options: int
) -> Pipeline:
    encoder = ToyEncoder()
    index = folder / "index"
    store = EdgeStore.open(index) if EdgeStore.exists(index) else EdgeStore.create(index, toy_header(encoder))
    return Pipeline(
        store=store,
        encoder=encoder,
        chunker=StructureChunker(encoder.tokenizer, size=60),
        reader=InProcessReader(loaders or build_loaders()),
        generator=lambda: generator or ExtractiveGenerator(encoder),
        options=Options(**options),  # type: ignore[arg-type]
    )


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    file = tmp_path / "lease.txt"
    file.write_text(LEASE)
    return file


def ask(folder: Path, lease: Path, said: FakeEndpoint, question: str = "How much does the tenant pay?") -> Answer:
    made = pipeline(folder, said)
    made.add(lease)
    *pieces, answer = made.stream(question)
    made.close()
    assert isinstance(answer, Answer)
    # What is found wrong when it has been shown is set right in the answer alone.
    shown = "".join(str(piece) for piece in pieces)
    assert shown == answer.text or (said.cites and UNSUPPORTED in answer.text)
    return answer


def test_a_sentence_that_names_no_source_is_counted(tmp_path: Path, lease: Path) -> None:
    answer = ask(tmp_path, lease, FakeEndpoint("The tenant pays 500 euros a month [1]. The landlord is a thief."))
    assert not answer.abstained
    assert [citation.verdict for citation in answer.citations] == ["verbatim"]
    assert any("1 sentence of the answer names no source" in warning for warning in answer.warnings)


def test_an_answer_that_its_sources_do_not_support_is_no_answer(tmp_path: Path, lease: Path) -> None:
    answer = ask(tmp_path, lease, FakeEndpoint("The tenant pays 900 euros a month [1]."))
    assert answer.abstained
    assert answer.reason == "insufficient-evidence"
    assert [citation.verdict for citation in answer.citations] == ["unsupported"]


def test_what_a_base_model_makes_up_is_not_shown(tmp_path: Path, lease: Path) -> None:
    answer = ask(tmp_path, lease, FakeBaseModel("900 euros"))
    assert answer.abstained
    assert "900" not in answer.text
    assert any("900 euros" in warning for warning in answer.warnings)


def test_a_base_models_answer_gets_its_marker(tmp_path: Path, lease: Path) -> None:
    answer = ask(tmp_path, lease, FakeBaseModel(" 500 euros"))
    assert answer.text == "500 euros [1]"
    assert answer.citations[0].quote == "The tenant pays 500 euros a month."
    assert answer.text[answer.citations[0].answer_start : answer.citations[0].answer_end] == "500 euros"


def test_unknown_numbers_are_removed_and_reported(tmp_path: Path, lease: Path) -> None:
    answer = ask(tmp_path, lease, FakeEndpoint("The tenant pays 500 euros a month [1] [7]."))
    assert "[7]" not in answer.text
    assert any("[7]" in warning for warning in answer.warnings)


def test_what_is_wrong_is_set_right_or_marked_in_the_answer(tmp_path: Path, lease: Path) -> None:
    (tmp_path / "pump.txt").write_text("The pump is checked every year by the tenant. It is painted blue.\n")
    said = 'The tenant pays 500 euros a month [2]. It says: "no cats are allowed in the building" [1].'
    made = pipeline(tmp_path, FakeEndpoint(said))
    made.add([lease, tmp_path / "pump.txt"])
    *pieces, answer = made.stream("How much does the tenant pay?")
    document = made.show(lease)
    made.close()
    assert isinstance(answer, Answer)
    assert "".join(map(str, pieces)) == said
    lease_number = 1 + [passage.title for passage in answer.passages].index(document.title)
    (wrong,) = {1, 2} - {lease_number}
    right, marked = answer.text.split(". ", 1)
    assert right == f"The tenant pays 500 euros a month [{lease_number}]"
    assert marked == f'It says: "no cats are allowed in the building" {UNSUPPORTED}.'
    assert [(each.was, each.now) for each in answer.corrections] == ([(2, 1)] if wrong == 2 else [])
    (quoted,) = answer.quotations
    assert (quoted.verdict, quoted.number, quoted.difference) == ("altered", lease_number, "“cats” for “pets”")
    assert document.text[quoted.start : quoted.end] == quoted.quote == "No pets are allowed in the building"
    assert answer.text[quoted.answer_start : quoted.answer_end] == quoted.text


def test_a_refusal_is_an_abstention(tmp_path: Path, lease: Path) -> None:
    for said in (FakeEndpoint("The sources do not say."), FakeBaseModel("The sources do not say.")):
        assert ask(tmp_path, lease, said).abstained


class BrokenLoader:
    name = "broken"
    suffixes = frozenset({".txt"})

    def load(self, source: Source) -> Document:  # noqa: ARG002
        raise AttributeError("no such thing")


def test_a_fault_of_a_loader_costs_one_file(tmp_path: Path, lease: Path) -> None:
    (tmp_path / "note.md").write_text("# Note\n\nIt holds.\n")
    made = pipeline(tmp_path, loaders=[BrokenLoader(), *build_loaders()])
    report = made.add([lease, tmp_path / "note.md"])
    made.close()
    assert [(outcome.status, outcome.reason) for outcome in report.outcomes] == [
        ("skipped", "loader-fault"),
        ("added", ""),
    ]
    assert "AttributeError" in report.outcomes[0].detail


def test_one_file_is_one_document_however_it_is_named(
    tmp_path: Path, lease: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pipeline(tmp_path)
    made.add(lease)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    for spelling in ("lease.txt", "./lease.txt", f"../{tmp_path.name}/lease.txt", "link/lease.txt"):
        assert made.add(spelling).count("unchanged") == 1
        assert made.resolve(spelling).id == made.documents()[0].id
    assert len(made.documents()) == 1
    made.close()


def test_the_index_itself_is_not_indexed(tmp_path: Path, lease: Path) -> None:
    made = pipeline(tmp_path)
    report = made.add(tmp_path)
    assert {Path(o.uri).name: (o.status, o.reason) for o in report.outcomes} == {
        "index": ("skipped", "index"),
        lease.name: ("added", ""),
    }
    made.close()


def test_metadata_that_an_update_loses_is_named(tmp_path: Path, lease: Path) -> None:
    made = pipeline(tmp_path)
    made.add(lease, metadata={"year": "1990"})
    lease.write_text(LEASE + "\nMore.\n")
    (outcome,) = made.add(lease).outcomes
    assert outcome.status == "updated"
    assert any("year" in warning for warning in outcome.warnings)
    made.close()


def test_wrong_arguments(tmp_path: Path, lease: Path) -> None:
    made = pipeline(tmp_path)
    made.add(lease)
    with pytest.raises(InputError, match="k and depth"):
        made.ask("How much?", k=0)
    with pytest.raises(InputError, match="mode must be"):
        made.search("rent", mode="bogus")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="empty"):
        made.ask("  ")
    assert made.search("  ").notes == ("the query is empty",)
    made.close()


def test_the_generator_is_made_once(tmp_path: Path) -> None:
    made: list[FakeEndpoint] = []
    together = threading.Barrier(4)

    def make() -> FakeEndpoint:
        made.append(FakeEndpoint("x"))
        return made[-1]

    built = pipeline(tmp_path)
    built._make_generator = make

    def first() -> None:
        together.wait()
        assert built.generator is not None

    threads = [threading.Thread(target=first) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    built.close()


def test_a_store_that_fails_to_close_is_free_again(
    tmp_path: Path, lease: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pipeline(tmp_path)
    made.add(lease)
    store = made.store
    assert isinstance(store, EdgeStore)
    real = store._close_files

    def fail() -> None:
        real()
        raise OSError("no space left")

    monkeypatch.setattr(store, "_close_files", fail)
    with pytest.raises(OSError, match="no space"):
        store.close()
    try:
        EdgeStore.open(tmp_path / "index", timeout=0.1).close()
    except StoreBusyError:
        pytest.fail("the lock was kept")
