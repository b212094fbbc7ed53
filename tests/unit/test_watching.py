"""A watch goes on whatever one round meets, short of a fault of the program or Ctrl-C."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from pincite.cli.sync import _Asked, _Rounds
from pincite.config import Settings
from pincite.errors import BackendError, ConfigError, InputError, PinciteError, StoreBusyError, StoreError

MET = (InputError, StoreError, StoreBusyError, BackendError, ConfigError, PinciteError, OSError)


def rounds(
    monkeypatch: pytest.MonkeyPatch, errors: list[type[BaseException]]
) -> tuple[_Rounds, io.StringIO, list[int]]:
    """Rounds of which each meets the next error, and those after the last none; with what is told and each round."""
    told = io.StringIO()
    asked = _Asked(["folder"], False, {}, None, False, False)
    made = _Rounds(asked, Settings(), Console(file=told, width=200), as_json=False, watching=True)
    done: list[int] = []

    def sync() -> None:
        done.append(len(done))
        if len(done) <= len(errors):
            raise errors[len(done) - 1]("the reason")

    monkeypatch.setattr(made, "sync", sync)
    return made, told, done


def waits(times: int) -> Iterator[bool]:
    """Nothing changes after the first time: what failed is tried again all the same."""
    yield True
    for _ in range(times - 1):
        yield False


@pytest.mark.parametrize("error", MET)
def test_a_round_that_fails_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    made, told, done = rounds(monkeypatch, [error])
    made.keep_on(waits(5))
    assert done == [0, 1]
    assert "the reason" in told.getvalue()


def test_a_fault_of_the_program_and_an_interrupt_end_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _, done = rounds(monkeypatch, [TypeError])
    with pytest.raises(TypeError):
        made.keep_on(waits(5))
    assert done == [0]
    made, told, done = rounds(monkeypatch, [KeyboardInterrupt])
    made.keep_on(waits(5))
    assert done == [0]
    assert "stopped" in told.getvalue()
