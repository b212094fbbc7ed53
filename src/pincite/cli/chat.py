"""``pincite chat``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.cli.ask import print_sources
from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    WhereOption,
    console,
    open_index,
    parse_where,
    plain,
    read_settings,
    short_path,
)
from pincite.cli.versions import (
    AsOfOption,
    AsRecordedOption,
    check_point,
    nothing_then,
    told_point,
    version_data,
    versions_of,
)
from pincite.cli.writing import Writing

if TYPE_CHECKING:
    from pincite.build import Pincite
    from pincite.types import Answer, Filter, Message

__all__ = ["chat"]

_HELP = "/sources: what the last answer was written from · /new: another conversation · /quit: leave"


def chat(
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
    where: WhereOption = None,
    as_of: AsOfOption = None,
    as_recorded: AsRecordedOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer one question after the other, each in the light of those before it.

    A question that leans on the ones before is made to stand alone before anything is searched for; what was searched
    for is shown where it differs. Questions are read from standard input, one a line. With --json each answer is one
    line of JSON.

    Lines that begin with a slash are for the program: /sources shows what the last answer was written from, /new
    begins another conversation, /quit (or the end of the input) leaves.

    Exit status: 0, or that of the last error; one question that fails does not end the conversation.
    """
    from pincite.errors import PinciteError

    check_point(as_of, as_recorded)
    settings = read_settings(
        store, config, answer_model=model, answer_base_url=base_url, answer_passages=k, answer_marginalize=marginalize
    )
    wanted = parse_where(where)
    failed = 0
    with open_index(settings) as pincite:
        talk = _Talk(pincite, wanted, as_of, as_recorded, as_json=as_json)
        for line in _lines(as_json=as_json):
            if line == "/quit":
                break
            try:
                talk.take(line)
            except PinciteError as error:
                failed = error.exit_code
                talk.fail(str(error))
    if failed:
        raise typer.Exit(failed)


def _lines(*, as_json: bool) -> Iterator[str]:
    """What is typed or piped in, line by line, without the empty ones. Ends with the input."""
    interactive = sys.stdin.isatty()
    if interactive:
        from contextlib import suppress

        with suppress(ImportError):
            import readline  # noqa: F401 - lines can be edited, and earlier ones called back
        typer.echo(_HELP, err=True)
    while True:
        try:
            line = input("" if as_json else "> ") if interactive else sys.stdin.readline()
        except (EOFError, KeyboardInterrupt):
            typer.echo("", err=True)
            return
        if not interactive and not line:
            return
        if text := " ".join(line.split()):
            yield text


@dataclass
class _Talk:
    """One conversation after the other, about one index."""

    pincite: Pincite
    where: Filter | None
    as_of: str | None
    as_recorded: str | None
    as_json: bool
    history: list[Message] = field(default_factory=list)
    last: Answer | None = None

    def take(self, line: str) -> None:
        """Answer a question, or do what a line with a slash says."""
        if line == "/new":
            self.history.clear()
            self.last = None
            self._say("another conversation begins")
        elif line == "/sources":
            self._passages()
        elif line.startswith("/"):
            self._say(f"{line.split()[0]} is not known. {_HELP}")
        else:
            self._answer(line)

    def fail(self, problem: str) -> None:
        """Tell why a question has no answer."""
        if self.as_json:
            _json_line({"error": problem})
        else:
            typer.echo(f"pincite: {problem}", err=True)

    def _say(self, text: str) -> None:
        typer.echo(text, err=True)

    def _answer(self, question: str) -> None:
        from pincite.types import Answer, Message

        answer: Answer | None = None
        writing = Writing()
        for piece in self.pincite.stream(
            question, where=self.where, as_of=self.as_of, as_recorded=self.as_recorded, history=tuple(self.history)
        ):
            if isinstance(piece, Answer):
                answer = piece
            elif not self.as_json:
                writing.take(piece)
        assert answer is not None
        # Only what was answered is part of the conversation: a question that failed can be asked again.
        self.history += [Message("user", question, answer.searched), Message("assistant", answer.text)]
        self.last = answer
        store = self.pincite.store
        if not answer.passages and (told := nothing_then(store, self.as_of, self.as_recorded, self.where)):
            others = (warning for warning in answer.warnings if not warning.startswith("bm25:"))
            answer = replace(answer, warnings=(told, *others))
        versions = versions_of(store, ((each.document_id, each.version) for each in answer.citations))
        if self.as_json:
            data = {**plain(answer), "probability": answer.probability}
            for row, citation in zip(data["citations"], answer.citations, strict=True):
                row["reference"] = citation.reference
                row.update(version_data(versions.get((citation.document_id, citation.version))))
            _json_line(data)
            return
        writing.end(answer)
        out = console()
        print_sources(out, answer, versions, point=told_point(self.as_of, self.as_recorded))
        out.print()

    def _passages(self) -> None:
        """The passages of the last answer, cited or not."""
        if self.last is None:
            self._say("nothing has been asked yet")
            return
        if self.as_json:
            _json_line({"sources": plain(self.last.passages)})
            return
        from rich.markup import escape

        out = console()
        cited = {citation.chunk_id for citation in self.last.citations}
        for number, passage in enumerate(self.last.passages, start=1):
            chunk = passage.chunk
            where = f", {passage.location}" if passage.location else ""
            mark = "cited" if chunk.id in cited else "read"
            out.print(
                f"{number}. [bold]{escape(passage.title)}[/]{escape(where)}  [dim]{escape(short_path(passage.uri))} · "
                f"{chunk.document_id}@{chunk.version}:{chunk.start}-{chunk.end} · {mark}[/]"
            )
        if not self.last.passages:
            out.print("no passage was read")


def _json_line(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))
    sys.stdout.flush()
