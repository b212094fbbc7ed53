"""``pincite eval make``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    StoreOption,
    WhereOption,
    console,
    open_index,
    parse_where,
    read_settings,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pincite.build import Pincite
    from pincite.config import Settings
    from pincite.evaluation.making import Asker, Journal, Label, Proposal
    from pincite.types import Passage

__all__ = ["add_questions", "make", "review"]

Ask = Callable[[str, str], str]
"""Asks a person: prompt, and the text to begin with → what was typed. Raises EOFError at the end of the input."""

#: Tokens of instructions and reply around an excerpt, for the estimate that is shown before a model is asked.
_AROUND = 320
_KEYS = "[a]ccept  [e]dit the question  [w]ords of the answer  [r]eject  [s]kip  [q]uit"


def make(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to put the set.")],
    questions: Annotated[int, typer.Option("--questions", min=1, help="How many questions to propose.")] = 50,
    add: Annotated[
        bool, typer.Option("--add", help="Type questions yourself, and pick what answers them: needs no model.")
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Who proposes: openai:NAME, ollama:NAME or local.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Address of an OpenAI-compatible endpoint.")
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option("--max-calls", min=1, help="Most calls of the model in all. Default: three for each question."),
    ] = None,
    accept_all: Annotated[
        bool,
        typer.Option("--accept-all", help="Ask nobody: take all that is not flagged, marked as unseen."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the set begun in FOLDER.")] = False,
    split: Annotated[
        str,
        typer.Option("--split", metavar="NAME[,NAME]", help="Name of the split; of two, each gets a part by hash."),
    ] = "test",
    seed: Annotated[int, typer.Option("--seed", help="Of the choice of passages.")] = 0,
    where: WhereOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Make an evaluation set from your own documents: questions with the exact words that answer them.

    A model proposes questions and you decide in the terminal, or you type them with --add. Every decision is saved at
    once: after Ctrl-C go on with --resume.
    """
    from pincite.errors import InputError
    from pincite.evaluation.making import Journal, write_set

    if add and accept_all:
        raise InputError("--add asks you, --accept-all asks nobody: give one of them")
    if not accept_all and not sys.stdin.isatty():
        raise InputError(
            "a person decides on each question, and there is no terminal here: "
            "run it in one, or give --accept-all to take what a model proposes unseen"
        )
    splits = tuple(each.strip() for each in split.split(",") if each.strip())
    condition = parse_where(where)
    settings = read_settings(store, config, answer_model=model, answer_base_url=base_url)
    begun = Journal.resume(folder) if resume else None
    if begun and condition and condition != begun.header.get("where"):
        raise InputError("the set was begun with another --where: leave it out, or begin another set")
    seed = int(begun.header.get("seed") or 0) if begun else seed
    asker = None if add else _asker(settings, seed)
    out = console()
    with open_index(settings) as pincite:
        journal = begun or Journal.begin(folder, _header(pincite, settings, seed, condition, add))
        try:
            if asker is None:
                add_questions(pincite, journal, out, _ask)
            else:
                _propose(pincite, journal, asker, out, questions, max_calls, alone=accept_all)
                if accept_all:
                    _accept_unflagged(journal)
                else:
                    review(pincite, journal, out, _ask)
        except EOFError:
            out.print()
        finally:
            # Also after Ctrl-C and a failing endpoint: what was decided is a set.
            written = write_set(folder, journal, pincite.store, splits=splits)
            waiting = len(journal.open())
            out.print(
                f"{folder}: {_count(written.questions, 'question')} over {_count(written.documents, 'document')}"
                + (f" ({', '.join(f'{n} in {name}' for name, n in written.splits.items())})" if len(splits) > 1 else "")
                + (f"; {waiting} not decided yet: go on with --resume" if waiting else ""),
                markup=False,
                soft_wrap=True,
            )
            if written.moved:
                out.print(f"{_count(written.moved, 'label')} found again in a newer version of the document")
            if written.lost:
                out.print(f"left out, as their words are gone from the documents: {', '.join(written.lost)}")


def _header(pincite: Pincite, settings: Settings, seed: int, where: object, by_hand: bool) -> dict[str, object]:
    from datetime import datetime, timezone

    return {
        "seed": seed,
        "model": "" if by_hand else settings.answer.model,
        "where": where,
        "begun": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "encoder": pincite.store.header.identity.name,
        "documents": pincite.store.document_count,
    }


def _asker(settings: Settings, seed: int) -> tuple[Asker, str]:
    """Who proposes, and its name. Nothing is loaded and nothing contacted yet."""
    from pincite.build import build_encoder, build_generator
    from pincite.errors import ConfigError
    from pincite.evaluation.making import ask_chat, ask_local
    from pincite.generators.local import LocalGenerator

    if settings.answer.model.partition(":")[0] == "extractive":
        raise ConfigError(
            "`extractive` writes no questions: name a model with --model openai:NAME, ollama:NAME or local, "
            "or type the questions yourself with --add"
        )
    generator = build_generator(settings, build_encoder(settings))
    asker = ask_local(generator, seed) if isinstance(generator, LocalGenerator) else ask_chat(generator)
    return asker, generator.name


def _propose(
    pincite: Pincite,
    journal: Journal,
    asker: tuple[Asker, str],
    out: Console,
    questions: int,
    max_calls: int | None,
    *,
    alone: bool,
) -> None:
    from itertools import islice

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from pincite.assemble import estimate_tokens
    from pincite.evaluation.making import propose, sample_excerpts

    have = len(journal.proposals)
    if have >= questions:
        return
    limit = journal.calls + 3 * (questions - have) if max_calls is None else max_calls
    seed = int(journal.header.get("seed") or 0)
    ask, name = asker
    where = journal.header.get("where")
    drawn = sample_excerpts(pincite.store, seed=seed, where=where)
    excerpts = list(islice(drawn, 3 * questions + len(journal.asked)))
    if not excerpts:
        out.print("no passage is long enough to ask about")
        return
    size = sum(estimate_tokens(each.text) for each in excerpts) // len(excerpts)
    out.print(
        f"{name} is asked for {_count(questions - have, 'question')}: {max(0, limit - journal.calls)} calls at most, "
        f"about {size + _AROUND} tokens each (--max-calls sets the limit)",
        markup=False,
        soft_wrap=True,
    )
    if name.startswith("local:"):
        console(stderr=True).print(
            "[yellow]note[/] the local model is very small and its questions are poor: look at each, or use another"
        )
    if not alone and _ask("Go on? [Y/n] ", "").strip().lower() in ("n", "no"):
        return
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    before = dict(journal.reasons)
    with progress:
        task = progress.add_task("proposals", total=questions, completed=have)
        for outcome in propose(excerpts, ask, journal, wanted=questions, max_calls=limit, made_by=name):
            progress.update(task, completed=len(journal.proposals), description=outcome.excerpt.title[:40])
    new = {why: n - before.get(why, 0) for why, n in sorted(journal.reasons.items()) if n > before.get(why, 0)}
    flagged = sum(bool(each.flags) for each in journal.open())
    out.print(
        f"{_count(len(journal.proposals) - have, 'proposal')} from {_count(journal.calls, 'call')}"
        + (f", {flagged} flagged" if flagged else "")
        + (f"; no question came of {sum(new.values())} passages: " if new else "")
        + ", ".join(f"{why} {n}" for why, n in new.items()),
        markup=False,
        soft_wrap=True,
    )
    if len(journal.proposals) < questions:
        more = f"stopped at {limit} calls; --resume with a higher --max-calls goes on"
        out.print(
            more if journal.calls >= limit else "every passage drawn was asked about: there are no more proposals"
        )


def _accept_unflagged(journal: Journal) -> None:
    for proposal in journal.open():
        if not proposal.flags:  # those with flags wait for somebody who looks
            journal.decide(proposal, "accepted-unseen")


# Deciding


def review(pincite: Pincite, journal: Journal, out: Console, ask: Ask) -> None:
    """Show every proposal that nobody decided, and take the decision. Each is saved before the next is shown."""
    waiting = journal.open()
    for number, proposal in enumerate(waiting, 1):
        if not _decide(pincite, journal, proposal, f"{number}/{len(waiting)}", out, ask):
            return


def _decide(pincite: Pincite, journal: Journal, proposal: Proposal, place: str, out: Console, ask: Ask) -> bool:
    """Whether to go on."""
    from dataclasses import replace

    from pincite.evaluation.making import flags

    _show_proposal(pincite, proposal, place, out)
    while True:
        key = ask(f"{_KEYS}: ", "").strip().lower()[:1]
        if key == "a":
            journal.decide(proposal, "accepted")
            return True
        if key == "r":
            journal.decide(proposal, "rejected")
            return True
        if key == "s":
            return True
        if key == "q":
            return False
        if key == "e":
            typed = " ".join(ask("Question: ", proposal.question).split())
            if typed:
                others = [each for each in journal.live() if each.id != proposal.id]
                marks = flags(typed, _excerpt_text(pincite, proposal), others)
                proposal = replace(proposal, question=typed, flags=marks, edited=True)
                _show_proposal(pincite, proposal, place, out)
        elif key == "w":
            label = _ask_words(pincite, proposal.labels[0].document_id, proposal.excerpt, out, ask)
            if label is not None:
                # Found elsewhere in the document: what is shown reaches to it.
                shown = min(proposal.excerpt[0], label.start), max(proposal.excerpt[1], label.end)
                proposal = replace(proposal, labels=(label, *proposal.labels[1:]), excerpt=shown, edited=True)
                _show_proposal(pincite, proposal, place, out)


def _excerpt_text(pincite: Pincite, proposal: Proposal) -> str:
    document = pincite.store.get_document(proposal.labels[0].document_id)
    return document.text[slice(*proposal.excerpt)] if document else ""


def _show_proposal(pincite: Pincite, proposal: Proposal, place: str, out: Console) -> None:
    from rich.text import Text

    from pincite.evaluation.making import excerpt_at, find_quote, visible

    label = proposal.labels[0]
    document = pincite.store.get_document(label.document_id)
    out.rule(f"{place}  {proposal.id}", style="dim")
    if document is None:
        out.print("the document was removed meanwhile: reject this one")
    else:
        start, end = proposal.excerpt
        if document.version != label.version:
            # The newer version is shown where the words stand now.
            found = find_quote(document.text, label.quote, label.start)
            out.print("[yellow]note[/] the document changed meanwhile" + ("" if found else ": the words are gone"))
            moved = found[0] - label.start if found else 0
            start, end = max(0, start + moved), min(len(document.text), end + moved)
            spans = [found] if found else []
        else:
            spans = [(each.start, each.end) for each in proposal.labels if each.document_id == document.id]
        shown = excerpt_at(document, start, end)
        head = Text(visible(shown.title), style="bold")
        if shown.location:
            head.append(f", {visible(shown.location)}", style="dim")
        out.print(head)
        out.print(_highlighted(document.text, start, end, spans))
    out.print(Text.assemble("\nQuestion: ", (visible(proposal.question), "bold")))
    for flag in proposal.flags:
        out.print(Text.assemble(("flag ", "yellow"), _FLAGS.get(flag, flag)))


_FLAGS = {
    "copied": "copied: its words are the passage's own, so that finding it again by words is easy",
    "ambiguous": "ambiguous: these words stand in the passage more than once, the first place is marked",
    "points-at-text": 'points at the text: "this passage" means nothing to a search',
}


def _highlighted(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> Text:
    from rich.text import Text

    from pincite.evaluation.making import visible

    shown = Text()
    at = start
    for first, last in sorted(spans):
        first, last = max(first, at), min(last, end)
        if first >= last:
            continue
        shown.append(visible(text[at:first]))
        shown.append("»", style="bold green")
        shown.append(visible(text[first:last]), style="bold green")
        shown.append("«", style="bold green")
        at = last
    shown.append(visible(text[at:end]))
    return shown


def _ask_words(pincite: Pincite, document_id: str, excerpt: tuple[int, int], out: Console, ask: Ask) -> Label | None:
    """The span of the words that a person types, in the excerpt or else anywhere in its document. None for none."""
    from pincite.evaluation.making import excerpt_at, find_words, label_at

    document = pincite.store.get_document(document_id)
    if document is None:
        out.print("the document was removed meanwhile")
        return None
    start, end = excerpt
    while typed := ask("Words that answer (paste them, or: first words ... last words; empty: leave): ", "").strip():
        span = find_words(document.text[start:end], typed)
        place = (start + span[0], start + span[1]) if span else find_words(document.text, typed, start)
        if place is None:
            out.print("these words are not in the document: copy them as they stand")
            continue
        return label_at(excerpt_at(document, 0, len(document.text)), *place)
    return None


# Typing questions


def add_questions(pincite: Pincite, journal: Journal, out: Console, ask: Ask) -> None:
    """Take questions from a person: search for each, let the person pick what answers it. An empty question ends it."""
    from pincite.evaluation.making import Proposal, flags

    out.print("Type a question as a reader would ask it. An empty line ends.")
    while question := " ".join(ask("\nQuestion: ", "").split()):
        labels, excerpt, read = _pick(pincite, question, out, ask)
        if not labels:
            out.print("left out: a question needs the words that answer it")
            continue
        marks = flags(question, read, journal.live())
        if near := [mark for mark in marks if mark.startswith("near-duplicate")]:
            out.print(f"[yellow]note[/] {near[0]}")
            if ask("Keep it? [y/N] ", "").strip().lower() not in ("y", "yes"):
                continue
        proposal = Proposal(journal.next_id(), question, tuple(labels), "person", marks, excerpt)
        journal.decide(proposal, "accepted")
        out.print(f"[green]{proposal.id}[/] saved, {_count(len(labels), 'answer')}")


def _pick(pincite: Pincite, question: str, out: Console, ask: Ask) -> tuple[list[Label], tuple[int, int], str]:
    """Labels that a person picks among what a search finds, what was shown of the first, and its text."""
    from pincite.errors import InputError

    passages = _found(pincite, question, out)
    labels: list[Label] = []
    excerpt, read = (0, 0), ""
    while True:
        typed = ask("Which answer it? Numbers, /other words, d DOCUMENT, or empty for none: ", "").strip()
        if not typed:
            return labels, excerpt, read
        if typed.startswith("/"):
            passages = _found(pincite, typed[1:].strip() or question, out)
            continue
        places: list[tuple[str, tuple[int, int]]] = []
        if typed.startswith("d "):
            try:
                document = pincite.show(typed[2:].strip())
            except InputError as error:
                out.print(str(error), markup=False)
                continue
            places.append((document.id, (0, len(document.text))))
        else:
            numbers = typed.replace(",", " ").split()
            if not all(each.isdecimal() and 1 <= int(each) <= len(passages) for each in numbers):
                out.print(f"numbers from 1 to {len(passages)}, as shown")
                continue
            picked = [passages[int(each) - 1].chunk for each in numbers]
            places += [(chunk.document_id, (chunk.start, chunk.end)) for chunk in picked]
        for document_id, span in places:
            label = _ask_words(pincite, document_id, span, out, ask)
            if label is not None:
                if not labels:
                    shown = pincite.store.get_document(document_id)
                    excerpt, read = span, shown.text[slice(*span)] if shown else ""
                labels.append(label)
        if labels:
            return labels, excerpt, read


def _found(pincite: Pincite, words: str, out: Console) -> list[Passage]:
    from rich.text import Text

    from pincite.evaluation.making import visible

    passages = list(pincite.search(words, k=5).passages)
    if not passages:
        out.print("nothing found")
    for number, passage in enumerate(passages, 1):
        head = Text.assemble((f"{number}. {visible(passage.title)}", "bold"))
        if passage.location:
            head.append(f", {visible(passage.location)}", style="dim")
        out.print(head)
        out.print(Text(visible(passage.chunk.text)))
        out.print()
    return passages


def _ask(prompt: str, begin: str) -> str:
    """A line from the terminal, which begins with `begin` where lines can be edited."""
    try:
        import readline
    except ImportError:  # not on Windows: what is typed replaces what was there
        return input(prompt) or begin
    readline.set_startup_hook((lambda: readline.insert_text(begin)) if begin else None)
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook(None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
