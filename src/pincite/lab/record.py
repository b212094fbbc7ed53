"""What a lesson is: steps with a formula and the numbers that come of it. Nothing here prints."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pincite.errors import InputError

__all__ = ["Lesson", "Step", "Value", "check_distribution", "dec", "product", "total"]


@dataclass(frozen=True, slots=True)
class Value:
    """One number of a step: what it is called, how it comes about, and in what form it is shown.

    `form` is a format specification of Python (``.4f``, ``,d``), or ``e`` for two digits and a power of ten.
    """

    name: str
    value: float
    how: str = ""  #: its working, as text: ``0.6453 × 0.90``; "given" for an input
    form: str = ".4f"
    unit: str = ""

    @property
    def shown(self) -> str:
        """The number with its unit, as it is printed."""
        return f"{dec(self.value, self.form)} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lesson: in plain words, as a formula, and in numbers."""

    title: str
    says: str = ""
    formula: str = ""  #: one to a line
    values: tuple[Value, ...] = ()
    after: str = ""  #: what the numbers show
    measured: bool = False  #: whether the numbers are of this machine and this moment


@dataclass(frozen=True, slots=True)
class Lesson:
    """A worked example."""

    name: str
    title: str
    steps: tuple[Step, ...]
    sources: tuple[str, ...] = ()  #: where the formulas come from


def dec(value: float, form: str = ".4f") -> str:
    """A number as lessons write it.

    >>> dec(0.64533), dec(-0.5), dec(21015324, ",d"), dec(32279537664, "e")
    ('0.6453', '−0.5000', '21,015,324', '3.2 × 10^10')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if form == "e":
        digits, _, power = f"{value:.1e}".partition("e")
        text = f"{digits} × 10^{int(power)}"
    else:
        text = format(int(value) if form.endswith("d") else value, form)
    return text.replace("-", "−")


def total(values: list[float] | tuple[float, ...], form: str = ".4f") -> str:
    """The working of a sum."""
    return " + ".join(dec(value, form) for value in values)


def product(*values: float, form: str = ".4f") -> str:
    """The working of a product."""
    return " × ".join(dec(value, form) for value in values)


def check_distribution(name: str, values: tuple[float, ...], count: int, *, sums: bool = False) -> None:
    """Raise InputError unless there are `count` probabilities, which add up to 1 where `sums`."""
    if len(values) != count:
        raise InputError(f"{name}: {len(values)} numbers, but there are {count} passages")
    if not all(0.0 <= value <= 1.0 for value in values):
        raise InputError(f"{name}: {values} are not all probabilities")
    if sums and not math.isclose(math.fsum(values), 1.0, abs_tol=1e-9):
        raise InputError(f"{name}: {values} add up to {math.fsum(values)}, not to 1")
