"""The log of runs: what became of every file, for a while."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pincite.protocols import RunNote
from pincite.types import FileOutcome

if TYPE_CHECKING:
    from pincite.store.catalogue import Catalogue
    from pincite.types import AddReport

__all__ = ["note_run", "runs"]

#: So many runs are remembered.
_KEPT = 50


def note_run(catalogue: Catalogue, command: str, report: AddReport, at: str) -> None:
    """Write down a run, and forget the oldest. Of what was unchanged only the number is kept."""
    with catalogue.transaction() as connection:
        cursor = connection.execute(
            "INSERT INTO runs (command, at, seconds, unchanged) VALUES (?, ?, ?, ?)",
            (command, at, report.seconds, report.count("unchanged")),
        )
        run = cursor.lastrowid or 0
        connection.executemany(
            "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    run,
                    each.uri.encode("utf-8", "replace").decode(),
                    each.status,
                    each.document_id,
                    each.version,
                    each.chunks,
                    each.reason,
                    each.detail.encode("utf-8", "replace").decode(),
                    json.dumps(each.warnings, ensure_ascii=False),
                )
                for each in report.outcomes
                if each.status != "unchanged"
            ],
        )
        for table in ("runs", "outcomes"):
            connection.execute(f"DELETE FROM {table} WHERE run <= ?", (run - _KEPT,))


def runs(catalogue: Catalogue, limit: int) -> list[RunNote]:
    """The last runs, the latest first."""
    found = []
    for run, command, at, seconds, unchanged in catalogue.rows(
        "SELECT run, command, at, seconds, unchanged FROM runs ORDER BY run DESC LIMIT ?", (limit,)
    ):
        outcomes = catalogue.rows(
            "SELECT uri, status, document_id, version, chunks, reason, detail, warnings FROM outcomes"
            " WHERE run = ? ORDER BY rowid",
            (run,),
        )
        found.append(
            RunNote(
                command,
                at,
                seconds,
                unchanged,
                tuple(_outcome(*row) for row in outcomes),
            )
        )
    return found


def _outcome(
    uri: str,
    status: Any,
    document_id: str | None,
    version: int | None,
    chunks: int,
    reason: str,
    detail: str,
    warnings: str,
) -> FileOutcome:
    return FileOutcome(uri, status, document_id, version, chunks, reason, detail, tuple(json.loads(warnings)))
