"""From what was found to an answer with checked citations, or to an abstention with its reason."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.abstaining import Abstaining, Considered, insufficient, told_scope
from pincite.assemble import Layout, assemble, estimate_tokens, is_refusal, left_out
from pincite.citations import words_in_common
from pincite.conflicts import conflicts
from pincite.outgoing import Outgoing
from pincite.protocols import TokenCounter
from pincite.reading import parts_found
from pincite.settle import Check, Settled, settle, settle_unmarked
from pincite.statements import statements
from pincite.steering import steering
from pincite.types import Answer, Citation, Conflict, Document, Gate, Generation, Marginal, Prompt, SearchResult
from pincite.words import has_content

if TYPE_CHECKING:
    from pincite import protocols
    from pincite.protocols import Encoder, Store, SupportScorer
    from pincite.types import Message, Passage

__all__ = ["INSUFFICIENT", "NO_EVIDENCE", "RELEVANT_COSINE", "RELEVANT_WORDS", "UNREAD", "Answering"]

#: A passage speaks to a question if it is this near to it, or holds this share of its content words.
#: Measured: see docs/decisions/0006-no-evidence.md.
RELEVANT_COSINE = 0.35
RELEVANT_WORDS = 0.60

#: Below this share of a query's letters the encoder is said not to read it, and what it finds near is no evidence.
UNREAD = 0.5

NO_EVIDENCE = "no-evidence"
INSUFFICIENT = "insufficient-evidence"


@dataclass(frozen=True, slots=True)
class Answering:
    """The parts that an answer takes."""

    store: Store
    encoder: Encoder
    generator: protocols.Generator
    layout: Layout  #: of a prompt for a model that follows instructions
    support: SupportScorer
    abstaining: Abstaining

    def answer(
        self,
        question: str,
        found: SearchResult,
        timings: dict[str, float],
        history: Sequence[Message] = (),
        *,
        before: Considered | None = None,
        searched: str = "",
    ) -> Generator[str, None, Answer]:
        """The text in pieces as it is written, then the answer.

        A model that follows instructions is given `history` and the question as it was asked; any other compares words
        with words, and is given the question that `found` was searched for. `before` is what is known of the search
        (measured here where it is not given), and `searched` says where was looked.
        """
        before = before or self.abstaining.search(found.query, found, self.as_found(found.passages))
        searched = searched or told_scope(None, None, self.store.document_count)
        started = time.perf_counter()
        generator = self.generator
        prompt = self._prompt(question, found, history) if generator.cites else Prompt(found.query, found.passages)
        warnings = [*found.notes, *left_out(prompt)]
        # A generator that writes no markers chooses its words after reading everything; the others stream.
        outgoing = Outgoing(prompt.passages if generator.cites else ())
        generation = Generation("")
        for item in generator.stream(prompt):
            if isinstance(item, Generation):
                generation = item
            elif generator.cites:
                yield from outgoing.feed(item.text)
        if generator.cites:
            yield from outgoing.finish()
        text = outgoing.text if generator.cites else generation.text if generation.parts else generation.text.strip()
        if generation.marginal is not None and generation.marginal.certainty.startswith("approximate"):
            warnings.append(
                f"the endpoint lists too few tokens to prove the words of this answer: {generation.marginal.certainty}"
            )
        timings["generate"] = time.perf_counter() - started
        if outgoing.unknown:
            warnings.append(_unknown_sources(outgoing.unknown))
        if generation.refused:
            warnings.append(_not_given(generation.refused))
        if generation.finish_reason == "length":
            warnings.append("the answer was cut off at its longest allowed length")

        def considered(citations: Sequence[Citation]) -> Considered:
            count = len(generation.parts) or sum(has_content(each.text) for each in statements(text))
            return self.abstaining.answer(before, found.query, generator, generation, citations, sentences=count)

        def abstain(text: str, known: Considered, gate: Gate) -> Answer:
            return Answer(
                question,
                text,
                (),
                prompt.passages,
                abstained=True,
                reason=INSUFFICIENT,
                gate=gate,
                model=generator.name,
                warnings=tuple(warnings),
                timings=timings,
                evidence=known.evidence,
                confidence=known.confidence,
            )

        if not text.strip():
            known = considered(())
            explanation = insufficient(replace(known, confidence=None), found, searched)
            yield explanation
            return abstain(text + explanation, known, "generator")
        if is_refusal(text):
            if not generator.cites:
                yield text
            return abstain(text, considered(()), "generator")
        started = time.perf_counter()
        documents: dict[tuple[str, int], Document | None] = {}
        settled = self._settled(
            text,
            found.query,
            prompt,
            generation,
            check=lambda citations: self._pinpoint(citations, documents, warnings),
        )
        known = considered(settled.citations)
        spans = [(each.start, each.end) for each in statements(settled.text)]
        steered = steering(prompt.passages, generation, settled.citations, spans, text=settled.text)
        alarms = (*outgoing.alarms(), *steered)
        if not generator.cites:
            if not settled.stands:
                warnings.append(_not_given(text))
                explanation = insufficient(replace(known, confidence=None), found, searched)
                yield explanation
                return abstain(explanation, known, "support")
            if not known.enough:
                warnings.append(f"not given, for want of evidence: {_short(text)!r}")
                explanation = insufficient(known, found, searched)
                yield explanation
                return abstain(explanation, known, "confidence")
            yield settled.text
        else:
            # It has been shown as it came; what it is worth is said now.
            warnings += settled.notes
            refuted = replace(
                abstain(settled.text, known, "confidence" if settled.stands else "support"),
                citations=settled.citations,
                quotations=settled.quotations,
                corrections=settled.corrections,
                alarms=alarms,
            )
            if not settled.stands:
                warnings.append("no sentence of this answer is supported by a source it names: it is not an answer")
                return replace(refuted, warnings=tuple(warnings))
            if not known.enough:
                explanation = f"\n\n{insufficient(known, found, searched)}"
                yield explanation
                return replace(refuted, text=settled.text + explanation)
        contradicting = self._conflicts(settled.citations, prompt.passages)
        timings["cite"] = time.perf_counter() - started
        return Answer(
            question,
            settled.text,
            settled.citations,
            _weighed(prompt.passages, generation.marginal),
            model=generator.name,
            warnings=tuple(warnings),
            timings=timings,
            tokens=generation.tokens,
            marginal=generation.marginal,
            quotations=settled.quotations,
            corrections=settled.corrections,
            conflicts=contradicting,
            alarms=alarms,
            evidence=known.evidence,
            # What an order says of itself is no evidence that anybody weighed.
            confidence=None if any(each.kind == "instruction" for each in alarms) else known.confidence,
        )

    def _settled(self, text: str, question: str, prompt: Prompt, generation: Generation, *, check: Check) -> Settled:
        if self.generator.cites:
            return settle(text, question, prompt.passages, support=self.support, check=check)
        return settle_unmarked(
            text,
            question,
            prompt.passages,
            support=self.support,
            sources=generation.sources,
            parts=generation.parts,
            check=check,
        )

    def _prompt(self, question: str, found: SearchResult, history: Sequence[Message]) -> Prompt:
        layout, generator = self.layout, self.generator
        return assemble(
            question,
            found.passages,
            budget=layout.budget,
            answer=layout.answer,
            history=history,
            turns=layout.turns,
            template=layout.template,
            order=layout.order,
            relevance=layout.relevance,
            count=generator.count_tokens if isinstance(generator, TokenCounter) else estimate_tokens,
            parts_of=lambda passage: parts_found(passage, self.store.get_document),
        )

    def no_evidence(self, question: str, found: SearchResult, *, narrowed: bool) -> str:
        """Why nothing found speaks to the question; empty if something may."""
        if not found.passages:
            if not self.store.document_count and not narrowed:
                return "The index is empty: add documents first."
            return "No document matches the filter or the date: there is nothing to answer from."
        nearest = max((hit.score for hit in found.legs.get("dense", ())), default=0.0)
        if self.encoder.reads(question) < UNREAD:
            nearest = 0.0  # vectors of what was not read are near everything
        if nearest >= RELEVANT_COSINE or words_in_common(question, self.as_found(found.passages)) >= RELEVANT_WORDS:
            return ""
        everything = f"the {_count(self.store.document_count, 'document')} of the index"
        searched = "the documents that the filter or the date admits" if narrowed else everything
        similarity = f" (similarity {nearest:.2f})" if "dense" in found.legs else ""
        return (
            f"Nothing in {searched} speaks to this question. "
            f"The nearest passage is in {found.passages[0].title}{similarity}."
        )

    def as_found(self, passages: Sequence[Passage]) -> list[Passage]:
        """What was found, of passages that are read wider, under its own headings: the gate was measured on that."""
        return [part for each in passages for part in parts_found(each, self.store.get_document) or [each]]

    def _conflicts(self, citations: Sequence[Citation], passages: Sequence[Passage]) -> tuple[Conflict, ...]:
        """What passages say otherwise; their places are held against the stored documents as those of citations are."""

        def added(document_id: str, version: int) -> str | None:
            return next((e.added_at for e in self.store.history(document_id) if e.version == version), None)

        found = conflicts(citations, passages, dated=added)
        return tuple(replace(each, against=at) for each in found for at in self._pinpoint([each.against], {}, []))

    def _pinpoint(
        self,
        citations: Iterable[Citation],
        documents: dict[tuple[str, int], Document | None],
        warnings: list[str],
    ) -> list[Citation]:
        """Hold every citation against the stored document: its characters must be there, and give its page.

        `documents` keeps what was read, by id and version.
        """
        checked = []
        for citation in citations:
            key = citation.document_id, citation.version
            if key not in documents:
                documents[key] = self.store.get_document(*key)
            document = documents[key]
            if document is None or document.text[citation.start : citation.end] != citation.quote:
                told = f"a citation to {citation.title} was dropped: the document changed meanwhile"
                warnings += [] if told in warnings else [told]
                continue
            checked.append(
                replace(
                    citation,
                    page=document.page_at(citation.start),
                    headings=document.heading_path(citation.start),
                )
            )
        return checked


def _weighed(passages: Sequence[Passage], marginal: Marginal | None) -> tuple[Passage, ...]:
    """The passages with what each was worth before and after the answer."""
    if marginal is None:
        return tuple(passages)
    worth = list(zip(marginal.priors, marginal.posteriors, strict=True))
    return tuple(
        replace(passage, prior=worth[i][0], posterior=worth[i][1]) if i < len(worth) else passage
        for i, passage in enumerate(passages)
    )


def _unknown_sources(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"the model named a source [{numbers[0]}] that it was not given; removed"
    named = ", ".join(f"[{number}]" for number in numbers[:5])
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"the model named sources that it was not given: {named}{more}; removed"


def _not_given(text: str) -> str:
    return f"the model wrote {_short(text)!r}, which no passage supports; not given as an answer"


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:120]}…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
