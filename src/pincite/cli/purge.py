"""``pincite purge``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.common import (
    ConfigOption,
    JsonOption,
    StoreOption,
    console,
    open_index,
    print_json,
    read_settings,
    short_path,
)

if TYPE_CHECKING:
    from pincite.cli.purge_proof import Check
    from pincite.evaluation.forget import Forgotten
    from pincite.types import StoredDocument

__all__ = ["purge"]

#: So much of what was found is named.
_NAMED = 10


def purge(
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="Its id, the beginning of one, or its path; also a removed one.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where nobody can be asked.")] = False,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            "--labels", metavar="FOLDER", help="An evaluation set to take the document and its questions out of."
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option("--cache", metavar="DIR", help="The cache of evaluations. Default: the user's.")
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a document with every version of it, for good, and prove that it is gone.

    Its words, sentences and vectors are searched for, and the bytes of every file of the index are scanned for them,
    before and after. Vectors of its chunks in the cache of evaluations are deleted; files there that hold its text are
    named. The document's own file, backups, and what an editor or a disk keeps of deleted blocks are not touched.

    Exit status: 0 when nothing is left, 1 when something was found, which is named.
    """
    from pincite.build import cache_folder
    from pincite.cli.purge_proof import Evidence, proof, sentences_in
    from pincite.encoders.cached import forget_texts
    from pincite.errors import InputError
    from pincite.evaluation.forget import check_set, forget_document
    from pincite.store.copies import copies

    for folder in labels or ():
        check_set(folder)  # before anything is deleted
    settings = read_settings(store, config)
    kept = (cache.expanduser() if cache else cache_folder()) / "evaluation"
    with open_index(settings) as pincite:
        found = pincite.resolve(document, removed=True)
        removed, held = copies(pincite.store.history(), found.id)
        # What was moved is the same file under the address it had before.
        versions = [*removed, *pincite.history(found.id)]
        ids = list(dict.fromkeys(each.id for each in versions))
        if not yes:
            # Where there is no input at all, Python has none.
            if as_json or sys.stdin is None or not sys.stdin.isatty():
                raise InputError(f"purge deletes {_named(versions)} for good: say --yes")
            sys.stdout.flush()
            if not typer.confirm(f"Delete {_named(versions)} for good?"):
                raise typer.Exit(1)
        evidence = Evidence.of(pincite.store, versions)

        def delete() -> None:
            pincite.purge(found.id)
            pincite.store.purge(ids)  # what that has left of them

        checks = proof(pincite.store, settings.store.path, evidence, delete)
        forgotten = [forget_document(folder, each) for folder in labels or () for each in ids]
        # Chunks are encoded to be found, sentences to check citations.
        vectors = forget_texts(kept / "vectors", [*evidence.encoded, *evidence.sentences])
        places = sentences_in(kept, evidence.sentences)
    left = [each for check in checks for each in check.left] + [
        f"{count} sentences in {f}" for f, count in places.items()
    ]
    clean = not places and not held and not any(check.after for check in checks)
    if as_json:
        print_json(
            {
                "purged": versions,
                "checks": checks,
                "held_by": held,
                "labels": forgotten,
                "cached_vectors_deleted": vectors,
                "cached_files_with_its_text": {str(file): count for file, count in places.items()},
                "clean": clean,
            }
        )
    else:
        _print(versions, checks, forgotten, vectors, places)
        for each in left[:_NAMED]:
            console().print(f"left: {each}", style="red", markup=False)
        for text in _held(held):
            console().print(text, style="red", markup=False)
    if not clean:
        raise typer.Exit(1)


def _named(versions: Sequence[StoredDocument]) -> str:
    """The document, which comes last, with those that are purged with it."""
    count = sum(each.id == versions[-1].id for each in versions)
    told = f"{short_path(versions[-1].uri)} ({versions[-1].id}), {count} {'version' if count == 1 else 'versions'}"
    others = {each.id: short_path(each.uri) for each in versions if each.id != versions[-1].id}
    if others:
        told += f", and of {', '.join(others.values())}, removed with the same bytes, {len(versions) - count}"
    return told


def _held(held: Sequence[StoredDocument]) -> Iterator[str]:
    """Which documents still hold the text, and what to do."""
    documents = {each.id: each for each in held}
    for each in list(documents.values())[:_NAMED]:
        numbers = ", ".join(str(other.version) for other in held if other.id == each.id)
        yield (
            f"left: the same bytes in {short_path(each.uri)} (version {numbers}), a document of its own: "
            f"delete it with `pincite purge {each.id}`"
        )
    if len(documents) > _NAMED:
        yield f"left: the same bytes in {len(documents) - _NAMED} more documents; --json names them all"


def _print(
    versions: Sequence[StoredDocument],
    checks: Sequence[Check],
    forgotten: Sequence[Forgotten],
    vectors: int,
    places: dict[Path, int],
) -> None:
    out = console()
    chunks = sum(each.chunks for each in versions)
    out.print(f"purged {_named(versions)}, {chunks} chunks", markup=False)
    out.print("looked for, and found before and after:")
    for each in checks:
        state = "[red]FOUND[/]" if each.after else "[green]gone[/]" if each.looked_for else "[yellow]not checked[/]"
        detail = f"  [dim]{each.detail}[/]" if each.detail else ""
        out.print(f"  {each.name:38} {each.looked_for:5,}   {each.before:5,} → {each.after:<5,} {state}{detail}")
    for each_set in forgotten:
        out.print(
            f"labels in {each_set.folder}: {each_set.documents} of the corpus, {each_set.questions} questions, "
            f"{each_set.events} entries of the journal taken out; `pincite eval make --resume` writes its README anew",
            markup=False,
        )
    out.print(f"cache of evaluations: {vectors} vectors deleted; {len(places)} files hold its text", markup=False)
    if places:
        out.print("they can be made again: delete them", markup=False)
    if not forgotten:
        out.print("evaluation sets were not looked at: name them with --labels", style="dim")
    out.print("not touched: the file it was read from, backups, exports", style="dim")
