"""The parts of an evaluation put together: settings, encoders and the cache, and every configuration on a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pincite.config import Settings
    from pincite.encoders.cached import CachedEncoder
    from pincite.evaluation.compare import Configuration, Outcome, Search, SearchRun, SetReport
    from pincite.evaluation.datasets import Dataset
    from pincite.evaluation.index import CorpusIndex, EvaluationListener
    from pincite.protocols import Encoder

__all__ = ["IRRELEVANT", "Bench"]

#: Sections of the settings that no search depends on.
IRRELEVANT = ("store", "answer", "load")

#: How long to wait for another evaluation that searches the same index.
_BUSY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Survey:
    """What one reading of a corpus tells beside its index."""

    document_ids: list[str]
    texts: dict[str, str]  #: of the documents with labelled spans
    absent: int  #: relevant pairs whose document is not in the corpus


class Bench:
    """Settings, encoders and the cache of one run: puts the parts together."""

    def __init__(
        self,
        settings: Mapping[str, Settings],
        *,
        unit: str,
        k: int,
        measures: Sequence[str],
        against: str,
        seed: int,
        cache: Path | None,
        trec_out: Path | None,
        fresh: bool,
        listener: EvaluationListener,
    ) -> None:
        from pincite.build import cache_folder

        if unit == "document":
            # There is nothing to put together, and looking for it would search deeper than the settings say.
            alone = {"merge": 0, "per_document": 0}
            settings = {
                name: each.model_copy(update={"search": each.search.model_copy(update=alone)})
                for name, each in settings.items()
            }
        self.settings = settings
        self.unit: Any = unit
        self.k, self.seed, self.fresh = k, seed, fresh
        self.measures = measures  #: the first is what they are compared on
        self.against = against
        self.trec_out = trec_out
        self.listener = listener
        self.folder = (cache.expanduser() if cache else cache_folder()) / "evaluation"
        self._encoders: dict[str, tuple[Encoder, CachedEncoder]] = {}

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for _encoder, cached in self._encoders.values():
            cached.close()

    def measure(self, dataset: Dataset, judged: int, *, baselines: bool) -> SetReport:
        """Every configuration on one set. Spans are measured with the unit ``chunk`` alone."""
        from dataclasses import replace

        from pincite.evaluation.compare import SetReport, assess, compare, run_configuration
        from pincite.evaluation.trec import write_qrels

        survey = _survey(dataset)
        notes = list(dataset.notes)
        if survey.absent:
            notes.append(f"{survey.absent} relevant judgements are of documents that the corpus lacks: never found")
        labelled = dataset
        if self.unit == "document" and dataset.spans:
            # A whole document covers every answer in it.
            labelled = replace(dataset, spans={})
            notes.append("answers are labelled in the text, and spans are measured with --unit chunk alone")
        trec = self.trec_out and self.trec_out / dataset.name
        depth, primary = min(100, self.k), self.measures[0]
        outcomes: list[Outcome] = []
        indexes: dict[str, CorpusIndex] = {}
        for name, settings in self.settings.items():
            configuration, indexes[name] = self._configuration(dataset, name, settings)
            run = run_configuration(
                dataset, configuration, saved_in=self.folder / "runs", fresh=self.fresh, listener=self.listener
            )
            if trec:
                _write_run(run, trec / f"{name}.run")
            outcomes.append(
                assess(labelled, run, measures=self.measures, depth=depth, texts=survey.texts, seed=self.seed)
            )
        if trec:
            write_qrels(dataset.qrels, trec / f"{dataset.split}.qrels")
        base = next(each for each in outcomes if each.name == self.against)
        others = [each for each in outcomes if each is not base]
        versus = [compare(dataset, each, base, primary=primary, seed=self.seed) for each in others]
        if baselines:
            outcomes += [
                assess(dataset, run, measures=self.measures, depth=depth, seed=self.seed, is_baseline=True)
                for run in _baseline_runs(dataset, survey.document_ids, self.k, self.seed)
            ]
        first = next(iter(indexes.values()))
        if first.empty:
            notes.append(f"{len(first.empty)} empty documents are not in the index: {', '.join(first.empty[:5])}")
        facts: dict[str, object] = {"documents": first.documents, "passages": first.chunks}
        for name, index in indexes.items():
            if index.key != first.key:
                facts[f"passages of {name}"] = index.chunks
        return SetReport(
            dataset=dataset.name,
            split=dataset.split,
            queries=len(dataset.queries),
            judged=judged,
            unit=self.unit,
            k=self.k,
            outcomes=tuple(outcomes),
            versus=tuple(versus),
            primary=primary,
            notes=tuple(notes),
            facts=facts,
        )

    def _configuration(self, dataset: Dataset, name: str, settings: Settings) -> tuple[Configuration, CorpusIndex]:
        import json

        from pincite import __version__
        from pincite.build import Pincite, build_chunker, chunk_recipe, index_options
        from pincite.evaluation.compare import Configuration, Ranked
        from pincite.evaluation.index import ensure_index
        from pincite.evaluation.measures import Retrieved
        from pincite.evaluation.timed import TimedQueries
        from pincite.store.edge import EdgeStore

        encoder, cached = self._encoder(settings)
        options = index_options(settings)
        vectors = json.dumps(settings.index.model_dump(mode="json"), sort_keys=True)
        cut = f"{chunk_recipe(settings.chunk)}, pincite {__version__}" if self.unit == "chunk" else ""
        index = ensure_index(
            dataset,
            self.folder / "indexes",
            create=lambda folder, header: EdgeStore.create(folder, header, index=options),
            encoder=cached,
            language=settings.search.language or "english",
            unit=self.unit,
            chunker=build_chunker(settings, encoder) if self.unit == "chunk" else None,
            recipe=f"{cut} {vectors}",
            listener=self.listener,
        )

        @contextmanager
        def opened() -> Iterator[Search]:
            timed = TimedQueries(encoder, cached)
            with (
                EdgeStore.open(index.folder, timeout=_BUSY_SECONDS, index=options) as store,
                Pincite.over(settings, store, cast("Encoder", timed)) as pincite,
            ):

                def search(query: str) -> Ranked:
                    timed.encode_seconds = timed.aside_seconds = 0.0
                    result = pincite.search(query, k=self.k)
                    passages = [
                        Retrieved(each.chunk.document_id, each.chunk.start, each.chunk.end, each.hit.score)
                        for each in result.passages
                    ]
                    return Ranked(passages, result.notes, timed.encode_seconds, timed.aside_seconds)

                yield search

        searching = {key: value for key, value in settings.masked().items() if key not in IRRELEVANT}
        if "openai" in settings.rerank.model:
            searching["endpoint"] = settings.answer.base_url
        recipe = json.dumps(
            {"index": index.key, "settings": searching, "k": self.k, "pincite": __version__}, sort_keys=True
        )
        return Configuration(name, recipe, opened), index

    def _encoder(self, settings: Settings) -> tuple[Encoder, CachedEncoder]:
        from pincite.build import build_encoder
        from pincite.encoders.cached import CachedEncoder

        key = settings.encoder.model_dump_json()
        if key not in self._encoders:
            encoder = build_encoder(settings)
            self._encoders[key] = (encoder, CachedEncoder(encoder, self.folder / "vectors"))
        return self._encoders[key]


def _survey(dataset: Dataset) -> _Survey:
    labelled = {span.document_id for spans in dataset.spans.values() for span in spans}
    relevant = [d for grades in dataset.qrels.values() for d, grade in grades.items() if grade > 0]
    document_ids: list[str] = []
    texts: dict[str, str] = {}
    for record in dataset.documents():
        document_ids.append(record.id)
        if record.id in labelled:
            texts[record.id] = record.text
    known = set(document_ids)
    return _Survey(document_ids, texts, sum(each not in known for each in relevant))


def _baseline_runs(dataset: Dataset, document_ids: Sequence[str], k: int, seed: int) -> Iterator[SearchRun]:
    from pincite.evaluation.baselines import constant_run, oracle_run, random_run
    from pincite.evaluation.compare import SearchRun
    from pincite.evaluation.measures import Retrieved

    for name, run in (
        ("constant", constant_run(dataset, document_ids, k)),
        ("random", random_run(dataset, document_ids, k, seed)),
        ("oracle", oracle_run(dataset, k)),
    ):
        yield SearchRun(
            name,
            {
                query_id: tuple(Retrieved(each, 0, 0, -float(place)) for place, each in enumerate(ranking))
                for query_id, ranking in run.items()
            },
        )


def _write_run(run: SearchRun, file: Path) -> None:
    from pincite.evaluation.trec import falling, write_run

    documents: dict[str, list[tuple[str, float]]] = {}
    for query_id, passages in run.passages.items():
        best: dict[str, float] = {}
        for each in passages:
            best.setdefault(each.document_id, each.score)
        documents[query_id] = falling(list(best.items()))
    write_run(documents, file, tag=run.name)
