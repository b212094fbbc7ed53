"""``pincite ask``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    WhereOption,
    console,
    open_index,
    parse_where,
    plain,
    print_json,
    read_settings,
    short_path,
)
from pincite.cli.proof import print_proof
from pincite.cli.versions import (
    AsOfOption,
    AsRecordedOption,
    check_point,
    nothing_then,
    told_point,
    told_version,
    version_data,
    versions_of,
)
from pincite.cli.writing import Writing

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.types import Answer, Citation, StoredDocument

__all__ = ["ask", "print_sources"]

_VERDICTS = {
    "verbatim": "[green]verbatim[/]",
    "supported": "[green]supported[/]",
    "unsupported": "[red]NOT supported by this source[/]",
    "unknown": "[yellow]not checked[/]",
}


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="extractive, local, local:PATH, transformers:NAME, fid:NAME, openai:NAME, ollama:NAME.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Address of an OpenAI-compatible endpoint.")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", "--k", min=1, help="How many passages to answer from.")] = None,
    marginalize: Annotated[
        str | None,
        typer.Option(
            "--marginalize",
            metavar="MODE",
            help="token or sequence: read every passage apart and sum over them (RAG-Token, RAG-Sequence). none; auto.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which passage made the model say each word, and how sure it is.")
    ] = False,
    where: WhereOption = None,
    as_of: AsOfOption = None,
    as_recorded: AsRecordedOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the documents, with checked sources.

    With --as-of and --as-recorded it is answered from the versions of then, and each source says which it is.

    Exit status: 0 for an answer, 1 when the documents do not hold one.
    """
    from pincite.types import Answer

    check_point(as_of, as_recorded)
    settings = read_settings(
        store, config, answer_model=model, answer_base_url=base_url, answer_passages=k, answer_marginalize=marginalize
    )
    wanted = parse_where(where)
    answer: Answer | None = None
    writing = Writing()
    with open_index(settings) as pincite:
        for piece in pincite.stream(question, where=wanted, as_of=as_of, as_recorded=as_recorded):
            if isinstance(piece, Answer):
                answer = piece
            elif not as_json:
                writing.take(piece)
        assert answer is not None
        if not answer.passages and (told := nothing_then(pincite.store, as_of, as_recorded, wanted)):
            # What a leg says of words is beside the point then.
            others = (warning for warning in answer.warnings if not warning.startswith("bm25:"))
            answer = replace(answer, warnings=(told, *others))
        versions = versions_of(pincite.store, ((each.document_id, each.version) for each in answer.citations))
    if as_json:
        data = {**plain(answer), "probability": answer.probability}
        for row, citation in zip(data["citations"], answer.citations, strict=True):
            row["reference"] = citation.reference
            row.update(version_data(versions.get((row["document_id"], row["version"]))))
        print_json(data)
    else:
        writing.end(answer)
        print_sources(console(), answer, versions, point=told_point(as_of, as_recorded))
        if explain:
            from pincite.cli.explain import print_explanation

            print_explanation(console(), answer)
    if answer.abstained:
        raise typer.Exit(1)


def print_sources(
    out: Console,
    answer: Answer,
    versions: Mapping[tuple[str, int], StoredDocument] | None = None,
    *,
    point: str = "",
) -> None:
    """The numbered sources of an answer: document, page or heading, characters, the quoted sentence, the verdict.

    Above a row of a table stands the table's header.

    `versions` says of the cited ones when they are in force, `point` for which point in time was asked.
    """
    from rich.markup import escape

    if answer.searched not in ("", answer.question):
        out.print(f"[dim]searched for: {escape(answer.searched)}[/]")
    if answer.citations:
        out.print()
    for citation in answer.citations:
        stored = (versions or {}).get((citation.document_id, citation.version))
        # Of a document that never said when it is in force, its number says enough today.
        telling = stored is not None and (point or stored.starts or stored.valid_to or not stored.current)
        version = told_version(stored) if stored is not None and telling else f"version {citation.version}"
        out.print(
            f"[bold]\\[{citation.number}][/] {escape(citation.title)}{escape(_where(citation))}  "
            f"[dim]{escape(short_path(citation.uri))} · {escape(version)} · "
            f"characters {citation.start}-{citation.end}[/]  {_VERDICTS[citation.verdict]}"
            f"{f': {escape(citation.why)}' if citation.why else ''}"
        )
        for line in citation.context.splitlines():
            if line.strip("|-: "):  # all but the row of dashes
                out.print(f"    [dim]{escape(line)}[/]")
        out.print(f"    “{escape(' '.join(citation.quote.split()))}” [dim]{escape(citation.reference)}[/]")
    print_proof(out, answer)
    for warning in answer.warnings:
        out.print(f"[yellow]note[/] {escape(warning)}")
    seconds = sum(answer.timings.values())
    by = f"{answer.model}, " if answer.model else ""
    sure = "" if answer.confidence is None else f"confidence {answer.confidence:.2f}, "
    out.print(f"[dim]{by}{f'{point}, ' if point else ''}{sure}{seconds:.1f} s[/]")


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _where(citation: Citation) -> str:
    parts = []
    if citation.page is not None:
        parts.append(f"p. {citation.page}")
    # The outermost heading often repeats the title, in other punctuation.
    title = _letters(citation.title)
    parts += [heading for heading in citation.headings if _letters(heading) != title]
    return f", {', '.join(parts)}" if parts else ""
