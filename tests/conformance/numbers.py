"""Numbers that replace those of `ir_exec.tuning.thresholds`: small cases take all paths of kernels."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import ir_exec.runtime  # noqa: F401  # imports every kernel
from ir_exec.tuning import thresholds

__all__ = ["NUMBERS", "cut", "mix", "replace_thresholds", "without_cuts"]

NUMBERS: dict[str, float] = {name: number for name, number in vars(thresholds).items() if name.isupper()}

HUGE = 2**40


def cut(least: int) -> dict[str, float]:
    """All work is cut into blocks of so many elements, which threads share, and nothing is few.

    Of the times only those of blocks and of work that is worth sharing change, which are whole numbers: 1.7 ns for an
    element stay.
    """
    return {name: _other(name, least, HUGE) for name in NUMBERS}


def without_cuts() -> dict[str, float]:
    """All work is done at once, by the calling thread, and nothing is many."""
    return {name: _other(name, HUGE, 2) for name in NUMBERS}


def mix(seed: str) -> dict[str, float]:
    """Each number is small, moderate or huge, independent of the others."""
    chosen = random.Random(seed)
    return {name: _other(name, *chosen.choices((2, 3, 7, 50, HUGE), k=2)) for name in NUMBERS}


def _other(name: str, number: int, most: int) -> float:
    default = NUMBERS[name]
    if isinstance(default, float):
        return default
    if name.startswith("MOST_"):
        return most
    return number * 1e-3 if name.endswith("_NANOSECONDS") and number < HUGE else number


@contextmanager
def replace_thresholds(numbers: Mapping[str, float]) -> Iterator[None]:
    """Kernels read these numbers, and forget what they have decided and kept by others."""
    try:
        _set(numbers)
        yield
    finally:
        _set(NUMBERS)


def _set(numbers: Mapping[str, float]) -> None:
    vars(thresholds).update(numbers)
    for forget in _forgetting(len(sys.modules)):
        forget()


@cache
def _forgetting(modules: int) -> list[Callable[[], None]]:
    """The functions that clear the caches of kernels."""
    kernels = [module for name, module in sys.modules.items() if name.startswith("ir_exec.kernels.")]
    members = [member for module in kernels for member in vars(module).values()]
    return [member.cache_clear for member in members if hasattr(member, "cache_clear")]
