"""Constants of two networks side by side: the arrays, and what weights in few bits stand for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ir_exec.debug.metrics import Difference, Tolerance, difference, same_bits
from ir_exec.debug.numbers import as_numbers
from ir_exec.graph import Node, Value
from ir_exec.ir import Weights
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import STRING, Array

__all__ = ["constant_difference", "constants_behind", "numbers_behind"]

_DEEPEST = 8
"""Layers between a weight in few bits and the layer that multiplies by it: conversions, zero point, scale, no more."""

_STEPS = {"Convert", "Subtract", "Multiply"}


def constant_difference(a: Node, b: Node, weights: tuple[Weights | None, Weights | None]) -> Difference | None:
    """How far two constants are apart; None where they are the same, bit by bit. One side's weights may be missing."""
    if weights[0] is None or weights[1] is None:
        return Difference(problem="not compared: the .bin is missing")
    assert isinstance(a.op, Const)
    assert isinstance(b.op, Const)
    mine, theirs = a.op.evaluate(weights=weights[0]), b.op.evaluate(weights=weights[1])
    if same_bits(mine, theirs):
        return None
    if mine.shape != theirs.shape:
        return Difference(problem="the shapes differ")
    if (a.op.element_type in STRING) != (b.op.element_type in STRING):
        return Difference(problem="one holds strings, the other numbers")
    return difference(theirs, mine, Tolerance())


def constants_behind(value: Value, depth: int = 0) -> Iterator[Node]:
    """The constants that a value is made of by conversions, differences and products; none where others take part."""
    node = value.node
    if isinstance(node.op, Const):
        yield node
    elif canonical(node.type) in _STEPS and depth < _DEEPEST:
        parts = [list(constants_behind(one, depth + 1)) for one in node.values_in]
        if all(parts):
            for part in parts:
                yield from part


def numbers_behind(value: Value, weights: Weights) -> Array:
    """What the constants behind a value stand for, in f64. ValueError where they do not broadcast, and for strings."""
    node = value.node
    if isinstance(node.op, Const):
        return as_numbers(node.op.evaluate(weights=weights))
    parts = [numbers_behind(one, weights) for one in node.values_in]
    if canonical(node.type) == "Convert":
        return parts[0]
    with np.errstate(all="ignore"):
        return parts[0] - parts[1] if canonical(node.type) == "Subtract" else parts[0] * parts[1]
