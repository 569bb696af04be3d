"""Ordered lists of the ways to do one thing, of which the first that applies is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple

__all__ = ["Strategy", "always", "choose"]

Args = TypeVarTuple("Args")

R = TypeVar("R")


class Strategy(NamedTuple, Generic[*Args, R]):
    """applies: whether the strategy can work on these arguments and pays. run: does the work. why: what it saves.

    Both functions take the arguments of the kernel whose list this stands in.
    """

    name: str
    applies: Callable[[*Args], bool]
    run: Callable[[*Args], R]
    why: str


def choose(strategies: Sequence[Strategy[*Args, R]], *args: *Args) -> Strategy[*Args, R]:
    """The first strategy that applies to the arguments; the last of a list applies to all."""
    for strategy in strategies:
        if strategy.applies(*args):
            return strategy
    raise AssertionError("the last strategy applies always")


def always(*_args: object) -> bool:
    return True
