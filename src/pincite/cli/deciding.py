"""A person decides in the terminal: on what a model proposed, and on questions typed there and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pincite.build import Pincite
    from pincite.evaluation.making import Journal, Label, Proposal
    from pincite.types import Chunk, Passage

__all__ = ["Ask", "add_questions", "ask_person", "count", "review"]

Ask = Callable[[str, str], str]
"""Asks a person: prompt, and the text to begin with → what was typed. Raises EOFError at the end of the input."""
_KEYS = "[a]ccept  [e]dit the question  [w]ords of the answer  [r]eject  [s]kip  [q]uit"

#: Characters of an answer that are confirmed if they are more, and of one that is shown whole.
_LONG = 600
_SHOWN = 240

_FLAGS = {
    "copied": "copied: its words are the passage's own, so that finding it again by words is easy",
    "ambiguous": "ambiguous: these words stand in the passage more than once, the first place is marked",
    "points-at-text": 'points at the text: "this passage" means nothing to a search',
}


def review(pincite: Pincite, journal: Journal, out: Console, ask: Ask) -> None:
    """Show every proposal that nobody decided, and take the decision. Each is saved before the next is shown."""
    waiting = journal.open()
    for number, proposal in enumerate(waiting, 1):
        if not _decide(pincite, journal, proposal, f"{number}/{len(waiting)}", out, ask):
            return


def _decide(pincite: Pincite, journal: Journal, proposal: Proposal, place: str, out: Console, ask: Ask) -> bool:
    """Whether to go on."""
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
        changed = None
        if key == "e":
            changed = _other_question(pincite, journal, proposal, ask)
        elif key == "w":
            changed = _other_words(pincite, proposal, out, ask)
        if changed is not None:
            proposal = changed
            journal.propose(proposal)  # kept also if the person leaves before deciding
            _show_proposal(pincite, proposal, place, out)


def _other_question(pincite: Pincite, journal: Journal, proposal: Proposal, ask: Ask) -> Proposal | None:
    from dataclasses import replace

    from pincite.evaluation.making import AMBIGUOUS, flags

    typed = " ".join(ask("Question: ", proposal.question).split())
    if not typed:
        return None
    document = pincite.store.get_document(proposal.labels[0].document_id)
    excerpt = document.text[slice(*proposal.excerpt)] if document else ""
    marks = flags(typed, excerpt, [each for each in journal.live() if each.id != proposal.id])
    kept = tuple(mark for mark in proposal.flags if mark == AMBIGUOUS)  # that one is of the words
    return replace(proposal, question=typed, flags=(*marks, *kept), edited=True)


def _other_words(pincite: Pincite, proposal: Proposal, out: Console, ask: Ask) -> Proposal | None:
    from dataclasses import replace

    from pincite.evaluation.making import AMBIGUOUS

    first, *others = proposal.labels
    label = _ask_words(pincite, first.document_id, proposal.excerpt, out, ask)
    if label is None:
        return None
    # Found elsewhere in the document: what is shown reaches to it.
    shown = min(proposal.excerpt[0], label.start), max(proposal.excerpt[1], label.end)
    marks = tuple(mark for mark in proposal.flags if mark != AMBIGUOUS)  # a person has said which place
    return replace(proposal, labels=(label, *others), excerpt=shown, flags=marks, edited=True)


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
        if document.text[label.start : label.end] != label.quote:
            # The document as it is now is shown where the words stand.
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


def _ask_words(
    pincite: Pincite, document_id: str, excerpt: tuple[int, int] | None, out: Console, ask: Ask
) -> Label | None:
    """The span of the words that a person types: in the excerpt, and elsewhere in its document only if they agree.

    A long span is confirmed as well. None for none.
    """
    from pincite.evaluation.making import excerpt_at, find_words, label_at

    document = pincite.store.get_document(document_id)
    if document is None:
        out.print("the document was removed meanwhile")
        return None
    start, end = excerpt or (0, len(document.text))
    while typed := ask("Words that answer (paste them, or: first words ... last words; empty: leave): ", "").strip():
        place = find_words(document.text, typed, start, (start, end))
        doubt = f"that is long: {place[1] - place[0]:,} characters" if place else ""
        if place is None:
            place = find_words(document.text, typed, start)
            if place is None:
                out.print("these words are not in the document: copy them as they stand")
                continue
            doubt = (
                f"these words are not in the passage shown; in its document there are {place[1] - place[0]:,} "
                f"characters {_distance(place, (start, end))}"
            )
        elif place[1] - place[0] <= _LONG:
            doubt = ""
        if doubt:
            out.print(f"{doubt}:", markup=False)
            _show_words(document.text[slice(*place)], out)
            if ask("Take them? [y/N] ", "").strip().lower() not in ("y", "yes"):
                out.print("not taken: copy the words from the passage as they stand")
                continue
        return label_at(excerpt_at(document, 0, len(document.text)), *place)
    return None


def _distance(place: tuple[int, int], excerpt: tuple[int, int]) -> str:
    """Where a span stands that is not wholly in the excerpt, in words."""
    if place[1] <= excerpt[0]:
        return f"that end {excerpt[0] - place[1]:,} before it"
    if place[0] >= excerpt[1]:
        return f"that begin {place[0] - excerpt[1]:,} after it"
    if place[0] >= excerpt[0]:
        return f"that begin in it and end {place[1] - excerpt[1]:,} after it"
    return f"that begin {excerpt[0] - place[0]:,} before it"


def _show_words(words: str, out: Console) -> None:
    """Words on a line of their own, without their middle where they are long."""
    from rich.text import Text

    from pincite.evaluation.making import visible

    line = " ".join(visible(words.replace("\x0c", " ")).split())
    if len(line) > _SHOWN:
        line = f"{line[: _SHOWN // 2].rstrip()} … {line[-(_SHOWN // 2) :].lstrip()}"
    out.print(Text.assemble("  ", ("»", "bold green"), (line, "bold green"), ("«", "bold green")))


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
        out.print(f"[green]{proposal.id}[/] saved, {count(len(labels), 'answer')}")
        for each in labels:
            _show_words(each.quote, out)


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
        places: list[tuple[str, Chunk | None, str]] = []
        if typed.startswith("d "):
            try:
                places.append(("", None, pincite.show(typed[2:].strip()).id))
            except InputError as error:
                out.print(str(error), markup=False)
                continue
        else:
            chunks = {str(number): passage.chunk for number, passage in enumerate(passages, 1)}
            numbers = list(dict.fromkeys(typed.replace(",", " ").split()))
            if not set(numbers) <= chunks.keys():
                out.print(f"numbers from 1 to {len(passages)}, as shown")
                continue
            places += [(number, chunks[number], chunks[number].document_id) for number in numbers]
        for number, chunk, document_id in places:
            if len(places) > 1:
                out.print(f"In passage {number}:")
            label = _ask_words(pincite, document_id, (chunk.start, chunk.end) if chunk else None, out, ask)
            if label is None:
                continue
            if not labels:
                # Of a document that was named nothing was shown: its answer alone is what was read.
                shown = (chunk.start, chunk.end, chunk.text) if chunk else (label.start, label.end, label.quote)
                excerpt, read = shown[:2], shown[2]
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


def ask_person(prompt: str, begin: str) -> str:
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


def count(number: int, noun: str) -> str:
    """``1 question``, ``2 questions``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
