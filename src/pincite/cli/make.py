"""``pincite eval make``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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

    from pincite.build import Pincite
    from pincite.config import Settings
    from pincite.evaluation.making import Asker, Journal, Written

__all__ = ["make"]

#: Tokens of instructions and reply around an excerpt, for the estimate that is shown before a model is asked.
_AROUND = 320
#: Passages that the estimate is made from.
_MEASURED = 50


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
        str | None,
        typer.Option(
            "--split",
            metavar="NAME[,NAME]",
            help="Name of the split; of two, each gets a part by hash. Default: test, or that of the set begun.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the choice of passages.")] = 0,
    where: WhereOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Make an evaluation set from your own documents: questions with the exact words that answer them.

    A model proposes questions and you decide in the terminal, or you type them with --add. Every decision is saved at
    once: after Ctrl-C go on with --resume.
    """
    from pincite.cli.deciding import add_questions, ask_person, review
    from pincite.errors import InputError
    from pincite.evaluation.making import Journal, check_splits, write_set

    if add and accept_all:
        raise InputError("--add asks you, --accept-all asks nobody: give one of them")
    if not accept_all and not sys.stdin.isatty():
        raise InputError(
            "a person decides on each question, and there is no terminal here: "
            "run it in one, or give --accept-all to take what a model proposes unseen"
        )
    condition = parse_where(where)
    given = [each.strip() for each in split.split(",") if each.strip()] if split is not None else None
    check_splits(["test"] if given is None else given)
    settings = read_settings(store, config, answer_model=model, answer_base_url=base_url)
    out = console()
    with open_index(settings) as pincite:
        # Not before the index is ours: another may be deciding on the same set.
        begun = Journal.resume(folder) if resume else None
        if begun:
            seed = int(begun.header.get("seed") or 0)
            _same(begun, "--where", "where", condition)
            _same(begun, "--split", "splits", given)
        asker = None if add else _asker(settings, seed)
        journal = begun or Journal.begin(folder, _header(pincite, seed, condition, given or ["test"]))
        splits = journal.header.get("splits") or given or ["test"]
        try:
            if asker is None:
                add_questions(pincite, journal, out, ask_person)
            else:
                _propose(pincite, journal, asker, out, questions, max_calls, alone=accept_all)
                if accept_all:
                    _accept_unflagged(journal)
                else:
                    review(pincite, journal, out, ask_person)
        except EOFError:
            out.print()
        finally:
            # Also after Ctrl-C and a failing endpoint: what was decided is a set.
            _tell(out, folder, write_set(folder, journal, pincite.store, splits=splits), len(journal.open()))


def _same(journal: Journal, option: str, name: str, given: object) -> None:
    """Raises InputError if a set that was begun one way is gone on with another way."""
    from pincite.errors import InputError

    if given and name in journal.header and given != journal.header[name]:
        raise InputError(f"the set was begun with another {option}: leave it out, or begin another set")


def _tell(out: Console, folder: Path, written: Written, waiting: int) -> None:
    from pincite.cli.deciding import count

    sides = ", ".join(f"{n} in {name}" for name, n in written.splits.items())
    out.print(
        f"{folder}: {count(written.questions, 'question')} over {count(written.documents, 'document')}"
        + (f" ({sides})" if len(written.splits) > 1 else "")
        + (f"; {waiting} not decided yet: go on with --resume" if waiting else ""),
        markup=False,
        soft_wrap=True,
    )
    if written.moved:
        out.print(f"{count(written.moved, 'label')} found again in the document as it is now")
    if written.lost:
        out.print(f"left out, as their words are gone from the documents: {', '.join(written.lost)}")


def _header(pincite: Pincite, seed: int, where: object, splits: Sequence[str]) -> dict[str, object]:
    from datetime import datetime, timezone

    return {
        "seed": seed,
        "where": where,
        "splits": splits,
        "begun": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "encoder": pincite.store.header.identity.name,
        "documents": pincite.store.document_count,
    }


def _asker(settings: Settings, seed: int) -> tuple[Asker, str]:
    """Who proposes, and its name. Nothing is loaded and nothing contacted yet."""
    from pincite.answer_models import build_generator
    from pincite.build import build_encoder
    from pincite.errors import ConfigError
    from pincite.evaluation.making import ask_chat, ask_local
    from pincite.generators.local import LocalGenerator

    kind = settings.answer.model.partition(":")[0]
    if kind in ("extractive", "transformers", "fid"):
        raise ConfigError(
            f"`{kind}` writes no questions: name a model with --model openai:NAME, ollama:NAME or local, "
            "or type the questions yourself with --add"
        )
    # Questions are written, not answered: there are no passages to marginalize.
    plain = settings.model_copy(update={"answer": settings.answer.model_copy(update={"marginalize": "none"})})
    generator = build_generator(plain, build_encoder(settings))
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
    from itertools import chain, islice

    from pincite.assemble import estimate_tokens
    from pincite.cli.bars import bars
    from pincite.cli.deciding import ask_person, count
    from pincite.evaluation.making import propose, sample_excerpts, visible

    have, calls, before = len(journal.proposals), journal.calls, journal.reasons.copy()
    if have >= questions:
        return
    limit = calls + 3 * (questions - have) if max_calls is None else max_calls
    ask, name = asker
    drawn = sample_excerpts(pincite.store, seed=int(journal.header.get("seed") or 0), where=journal.header.get("where"))
    first = list(islice(drawn, _MEASURED))
    if not first:
        out.print("no passage is long enough to ask about")
        return
    size = sum(estimate_tokens(each.text) for each in first) // len(first)
    out.print(
        f"{name} is asked for {count(questions - have, 'question')}: {max(0, limit - calls)} calls at most, "
        f"about {size + _AROUND} tokens each (--max-calls sets the limit)",
        markup=False,
        soft_wrap=True,
    )
    err = console(stderr=True)
    if name.startswith("local:"):
        err.print("[yellow]note[/] the local model is very small and its questions are poor: look at each")
    if not alone and ask_person("Go on? [Y/n] ", "").strip().lower() in ("n", "no"):
        return
    with bars(err) as progress:
        task = progress.add_task("proposals", total=questions, completed=have)
        excerpts = chain(first, drawn)
        for outcome in propose(excerpts, ask, journal, wanted=questions, max_calls=limit, made_by=name):
            title = visible(outcome.excerpt.title)[:40]
            progress.update(task, completed=len(journal.proposals), description=title)
    reasons = journal.reasons - before
    flagged = sum(bool(each.flags) for each in list(journal.proposals.values())[have:])
    out.print(
        f"{count(len(journal.proposals) - have, 'proposal')} from {count(journal.calls - calls, 'call')}"
        + (f", {flagged} flagged" if flagged else "")
        + (f"; no question came of {count(reasons.total(), 'passage')}: " if reasons else "")
        + ", ".join(f"{why} {n}" for why, n in sorted(reasons.items())),
        markup=False,
        soft_wrap=True,
    )
    if len(journal.proposals) < questions:
        more = f"stopped at {limit} calls; --resume with a higher --max-calls goes on"
        done = "every passage was asked about: there are no more proposals"
        out.print(more if journal.calls >= limit else done)


def _accept_unflagged(journal: Journal) -> None:
    for proposal in journal.open():
        if not proposal.flags:  # those with flags wait for somebody who looks
            journal.decide(proposal, "accepted-unseen")
