"""Repeated runs of a reference, to find values that vary between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ir_exec.debug.values.entries import Key
from ir_exec.tuning.machine import machine
from ir_exec.types import Array, ElementType

__all__ = ["VARIED", "Repeatable", "RepeatedValue", "RunSetting", "Vary", "plan_runs"]

Vary: TypeAlias = Literal["threads", "hint", "compile"]
"""threads: the number of threads. hint: accuracy or performance. compile: the model is compiled for each run."""

VARIED: tuple[Vary, ...] = ("threads", "hint", "compile")


@dataclass(frozen=True)
class RunSetting:
    """The difference of a run from the first one.

    Attributes:
        name: Its description in reports, "" for a run of the same compiled model.
        varies: The setting that differs; None for none.
        compiles: True to compile the model for this run.
        threads: None for the number of the first run.
        hint: None for the hint of the first run.
        is_base: True for a run that later ones are compared with: the first one with another hint, which may compute in
            another precision.
    """

    name: str = ""
    varies: Vary | None = None
    compiles: bool = False
    threads: int | None = None
    hint: str | None = None
    is_base: bool = False


@dataclass(frozen=True)
class RepeatedValue:
    """A value of a run with other bits than in its base.

    Attributes:
        run: The position of its setting.
        first: The value of the base: the first run, or the first one with this hint.
        is_probed: True if the run had intermediate values as outputs.
        computes_in: The element type that the run computed in, if it is coarser than that of the value.
    """

    run: int
    setting: RunSetting
    key: Key
    first: Array
    array: Array
    is_probed: bool
    computes_in: ElementType | None = None


@runtime_checkable
class Repeatable(Protocol):
    """A reference that can run again.

    Attributes:
        varied: The settings that it has.
    """

    varied: frozenset[Vary]

    def repeat(self, settings: Sequence[RunSetting], requested: Collection[Key]) -> Iterator[RepeatedValue]:
        """Run all calls again: once as a base, then once for each setting; yield the values that differ from the base.

        A setting with `is_base` is the base of those after it.

        Outputs are compared in runs without intermediate values, and the requested values in runs with them.
        """


def plan_runs(repeat: int, vary: Collection[Vary], hint: str) -> list[RunSetting]:
    """Return the settings of the runs after the first one: `repeat` - 1 equal ones, and `repeat` for each setting.

    Runs with another hint are compared with each other only.
    """
    settings = [RunSetting()] * (repeat - 1)
    if "compile" in vary:
        settings += [RunSetting("compiled again", "compile", compiles=True)] * repeat
    if "threads" in vary:
        counts = list(dict.fromkeys((1, 2, machine().cores)))
        numbers = [counts[position % len(counts)] for position in range(repeat)]
        settings += [RunSetting(_threads(number), "threads", threads=number) for number in numbers]
    if "hint" in vary:
        other = "performance" if hint == "accuracy" else "accuracy"
        runs = [RunSetting(f"hint {other}", "hint", hint=other)] * (repeat - 1)
        settings += [RunSetting(f"hint {other}", "hint", hint=other, is_base=True), *runs]
    return settings


def _threads(number: int) -> str:
    return f"{number} thread{'' if number == 1 else 's'}"
