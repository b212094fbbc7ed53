"""A small corpus of law in a real index: three judgments, a penal code no longer in force, and its successor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pincite.chunkers.structure import StructureChunker
from pincite.formats import build_loaders
from pincite.generators.extractive import ExtractiveGenerator
from pincite.loaders.ids import document_id
from pincite.loaders.read import InProcessReader
from pincite.pipeline import Options, Pipeline
from pincite.store.edge import EdgeStore
from pincite.support.lexical import LexicalSupport
from pincite.types import Document
from pincite.verify.check import check_brief
from pincite.verify.grammar import load_grammar
from pincite.verify.marks import marks
from pincite.verify.records import Brief, Mark
from pincite.verify.registry import build_registry
from toys import ToyEncoder, toy_header

RAM_LAL = """\
Ram Lal Sharma v State of Punjab

Supreme Court of India

4 February 1994
Criminal Appeal No. 22 of 1991
The Judgment was delivered by : A. S. Anand, J.

1. This appeal is directed against the judgment of the High Court upholding the conviction of the appellant.

2. Bail is the rule and committal to jail is an exception. The refusal of bail is a restriction on personal liberty.

3. The court must not keep an accused in custody for more than ninety days without a charge sheet.
"""
SEETA = """\
Seeta Devi v Union of India

Supreme Court of India

12 May 2005
Civil Appeal No. 694 of 2004
The Judgment was delivered by : P. Venkatarama Reddi, J.

1. The pension of a widow is no bounty. It is a right that accrues with every month of service.

2. The power under section 9 of that Act is wide and is to be used with care.

3. The appeal is allowed with costs of five thousand rupees.
"""
CHURCH = """\
Church of God (Full Gospel) In India v Majestic Colony Association

Supreme Court of India

30 August 2000
Appeal (Crl.) 732 of 2000

1. No religion prescribes that prayers should be performed by disturbing the peace of others.
"""
PENAL = """\
# The Indian Penal Code, 1860

## 300. Murder

Culpable homicide is murder, if the act by which the death is caused is done with the intention of causing death.

## 302. Punishment for murder

Whoever commits murder shall be punished with death or 1[imprisonment for life], and shall also be liable to fine.

## 378. Theft

Whoever, intending to take dishonestly any movable property out of the possession of any person without that person's \
consent, moves that property in order to such taking, is said to commit theft.
"""
SANHITA = """\
# The Bharatiya Nyaya Sanhita, 2023

## 103. Punishment for murder

Whoever commits murder shall be punished with death or imprisonment for life, and shall also be liable to fine.

## 302. Uttering words with intent to wound religious feelings

Whoever, with the deliberate intention of wounding the religious feelings of any person, utters any word in the \
hearing of that person, shall be punished with imprisonment for a term which may extend to one year.
"""


class Law:
    """The corpus, and a check against it."""

    def __init__(self, root: Path) -> None:
        files = root / "law"
        files.mkdir()
        encoder = ToyEncoder(8)
        store = EdgeStore.create(root / "index", toy_header(encoder))
        self.pipeline = Pipeline(
            store=store,
            encoder=encoder,
            chunker=StructureChunker(encoder.tokenizer, size=60),
            reader=InProcessReader(build_loaders()),
            generator=lambda: ExtractiveGenerator(encoder),
            options=Options(),
        )
        for name, text, days in (
            ("Ram Lal Sharma v State of Punjab.txt", RAM_LAL, {}),
            ("Seeta Devi v Union of India.txt", SEETA, {}),
            ("Church of God (Full Gospel) In India v Majestic Colony Association.txt", CHURCH, {}),
            ("penal-code.md", PENAL, {"valid_from": "1862-01-01", "valid_to": "2024-06-30"}),
            ("sanhita.md", SANHITA, {"valid_from": "2024-07-01"}),
        ):
            (files / name).write_text(text, encoding="utf-8")
            report = self.pipeline.add(files / name, **days)
            assert report.count("added") == 1, report
        self.grammar = load_grammar()
        self.registry = build_registry(store, self.grammar)

    def check(self, text: str, **options: Any) -> Brief:
        document = Document(document_id("brief"), text, "brief", "brief.md", "text/markdown", "")
        return check_brief(
            document,
            self.pipeline.store,
            grammar=self.grammar,
            registry=self.registry,
            support=LexicalSupport(),
            **options,
        )

    def marks(self, text: str, **options: Any) -> list[Mark]:
        return marks(self.check(text, **options))


@contextmanager
def law(root: Path) -> Iterator[Law]:
    made = Law(root)
    try:
        yield made
    finally:
        made.pipeline.close()


def told(found: list[Mark], text: str) -> list[tuple[str, str, str]]:
    """What, status and words of each mark."""
    return [(mark.what, mark.status, text[mark.start : mark.end]) for mark in found]
