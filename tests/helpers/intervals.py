"""What the tests of shape operators share: shapes of which less is known, and whether they still hold an output."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ir_exec.ops import Op
from ir_exec.types import Array, Dim, Shape, TensorType


def draw_wider(draw: st.DrawFn, shape: tuple[int, ...]) -> Shape:
    """A shape that holds this one: dims known, within bounds or not at all, or not even a rank."""
    if draw(st.integers(0, 9)) == 0:
        return Shape.unknown()
    dims = []
    for size in shape:
        lo = draw(st.integers(0, size))
        hi = draw(st.sampled_from([size, size + 1, size + 5, None]))
        dims.append(draw(st.sampled_from([Dim(size), Dim(lo, size), Dim.any() if hi is None else Dim(lo, hi)])))
    return Shape(dims)


def draw_unsure(draw: st.DrawFn, values: Array, *, zero_is_known: bool = False) -> TensorType:
    """The type of integers of which the value, bounds, or only the number are known; -1 is known where bounds are.

    zero_is_known: bounds hold 0 only where the value is 0.
    """
    kind = TensorType.of(values)
    choice = draw(st.sampled_from(["value", "bounds", "nothing"]))
    if choice == "value":
        return kind
    if choice == "nothing":
        return kind.without_values()
    least = 1 if zero_is_known else 0
    lower = [max(value - draw(st.integers(0, 3)), min(value, least)) for value in values.tolist()]
    upper = [value if value < least else value + draw(st.sampled_from([0, 1, 7, 1000])) for value in values.tolist()]
    return kind.with_bounds(np.array(lower, values.dtype), np.array(upper, values.dtype))


def outputs(operator: Op, *inputs: Array) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        found: Any = operator.evaluate(*inputs)
    return found if isinstance(found, tuple) else (found,)


def inferred(operator: Op, *types: TensorType) -> tuple[TensorType, ...]:
    found: Any = operator.infer(*types)
    return found if isinstance(found, tuple) else (found,)


def assert_holds(operator: Op, types: list[TensorType], arrays: list[Array]) -> None:
    """What is inferred from these types holds what comes of these arrays."""
    found, real = inferred(operator, *types), outputs(operator, *arrays)
    found += found[-1:] * (len(real) - len(found))
    for kind, array in zip(found, real, strict=True):
        assert kind.element_type is TensorType.of(array).element_type
        assert kind.shape & Shape(array.shape) == Shape(array.shape), f"{kind} leaves out {list(array.shape)}"
