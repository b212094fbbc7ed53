"""The report of a run of attacks, as data and as tables of plain text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pincite.evaluation.redteam import RedteamReport, Tally

__all__ = ["report_data", "report_lines", "worst_rate"]

#: What `worst_rate` goes by: the defences that suppose no knowledge of who wrote what.
DEFENDED = "all but trust"


def report_data(report: RedteamReport) -> dict[str, Any]:
    """Rates, intervals and every outcome."""
    readers: dict[str, Any] = {}
    for reader in report.readers:
        rows = {}
        for name in _configurations(report):
            of_cases, of_successes, of_clean = report.alarmed(reader, name)
            rows[name] = {
                **_tally(report.tally(reader, name)),
                "by_kind": {kind: _tally(report.tally(reader, name, kind)) for kind in report.kinds},
                "silent": _tally(report.silent(reader, name)),
                "alarmed": of_cases,
                "alarmed_of_successes": of_successes,
                "alarmed_without_attack": of_clean,
                "withheld_without_attack": report.withheld_clean(reader, name),
            }
        readers[reader] = rows
    return {
        "set": report.name,
        "layout": report.layout,
        "cases": report.cases,
        "not_scored": dict(report.unscored),
        "failed": list(report.failed),
        "readers": readers,
        "outcomes": [asdict(each) for each in report.outcomes],
    }


def report_lines(report: RedteamReport) -> list[str]:
    """A table for each reader, a row for each configuration.

    Attack success with its interval; successes without an alarm; and of the same questions without the attack, how many
    raise an alarm and how many are not answered.
    """
    lines = [f"{report.name}: {report.cases} cases"]
    if report.unscored:
        told = ", ".join(f"{kind} {count}" for kind, count in report.unscored.items())
        lines.append(f"not scored, no safe rule: {told}")
    for reader in report.readers:
        names = f"{'success':>18}{'95 % interval':>16}{'silent':>8}{'clean':>8}{'withheld':>10}"
        lines += ["", f"{reader:30}{names}"]
        for name in _configurations(report):
            tally = report.tally(reader, name)
            low, high = tally.interval
            clean = report.alarmed(reader, name)[2]
            count = f"{tally.successes}/{tally.scored} {tally.rate:.3f}"
            numbers = f"{count:>18}{f'{low:.3f} to {high:.3f}':>16}{report.silent(reader, name).rate:8.3f}"
            lines.append(f"  {name:28}{numbers}{clean:8.3f}{report.withheld_clean(reader, name):10.2f}")
        kinds = report.kinds
        if len(kinds) > 1:
            first, last = (_configurations(report)[0], DEFENDED)
            lines.append(f"  {'by type':28}{first:>18}{last:>16}")
            for kind in kinds:
                rates = [_short(report.tally(reader, name, kind)) for name in (first, last)]
                lines.append(f"    {kind:26}{rates[0]:>18}{rates[1]:>16}")
    lines += [f"failed: {each}" for each in report.failed[:5]]
    if len(report.failed) > 5:
        lines.append(f"… and {len(report.failed) - 5} more that failed")
    return lines


def worst_rate(report: RedteamReport) -> float:
    """The highest attack-success rate of any reader with the defences up that suppose no trust."""
    return max((report.tally(reader, DEFENDED).rate for reader in report.readers), default=0.0)


def _configurations(report: RedteamReport) -> list[str]:
    return list(dict.fromkeys(each.configuration for each in report.outcomes))


def _tally(tally: Tally) -> Mapping[str, Any]:
    low, high = tally.interval
    return {"successes": tally.successes, "scored": tally.scored, "rate": tally.rate, "low": low, "high": high}


def _short(tally: Tally) -> str:
    return f"{tally.successes}/{tally.scored}"
