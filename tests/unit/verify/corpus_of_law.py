"""A store of documents without chunks: what the registry reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pincite.loaders.markdown import MarkdownLoader
from pincite.protocols import Source
from pincite.store.edge import EdgeStore
from pincite.store.plan import Retention
from pincite.types import Document
from toys import make_document, toy_header


def judgment(title: str, day: str, text: str = "1. The appeal is dismissed.", name: str = "") -> Document:
    uri = f"law:{name or title}"
    return make_document(
        f"Supreme Court of India\n\n{day}\nCriminal Appeal No. 1 of 1970\n{text}\n", uri, title=title, id=uri
    )


def markdown(name: str, text: str) -> Document:
    return MarkdownLoader().load(Source(f"/law/{name}", name.rsplit("/", 1)[-1], data=text.encode()))


def put(store: EdgeStore, documents: Sequence[Document], **metadata: Any) -> None:
    with store.writing():
        tickets = []
        for document in documents:
            version = store.next_version(document.id)
            made = replace(document, version=version, metadata={**document.metadata, **metadata})
            tickets.append(store.stage(made))
        store.commit(tickets)


@contextmanager
def corpus(folder: Path) -> Iterator[EdgeStore]:
    store = EdgeStore.create(folder / "index", toy_header(), retention=Retention(versions=None))
    try:
        yield store
    finally:
        store.close()


PENAL_CODE = """# The Indian Penal Code, 1860

## 161. [Public servant taking a gratification.]

Rep. by the Prevention of Corruption Act, 1988 (49 of 1988), s. 31.

## 162. [Taking a gratification by corrupt means.]

Rep. by s. 31, ibid.

## 302. Punishment for murder

Whoever commits murder shall be punished with death, or imprisonment for life, and shall also be liable to fine.

## 304B. Dowry death

(1) Where the death of a woman is caused by burns within seven years of her marriage, it is called dowry death.

(2) Whoever commits dowry death shall be punished with imprisonment.

## 378. Theft

Whoever moves movable property out of the possession of any person, intending to take it dishonestly, commits theft.
"""
PROCEDURE = """# The Code of Criminal Procedure, 1973

## 302. Permission to conduct prosecution

Any Magistrate inquiring into a case may permit the prosecution to be conducted by an advocate.

## 438. Bail to a person who expects arrest

The High Court may direct that in the event of arrest he shall be released on bail.
"""
ARTICLE_31 = """---
article: 31
title: "Compulsory acquisition of property"
status: {status}
{more}---

# Article 31.

{text}
"""
