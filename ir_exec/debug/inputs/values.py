"""Random values for an input, in the range of its role or of its element type."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.inputs.roles import PLAIN, Role
from ir_exec.errors import ResourceError, ShapeError
from ir_exec.model import ModelPort
from ir_exec.plan.memory import default_budget
from ir_exec.types import BOOLEAN, MOST_AXES, STRING, Array, ElementType, Shape, element_types, require_array_size

__all__ = ["SCALES", "draw", "drawn_shape"]

_RECORDS = element_types("u1 u3 u6 nf4")

_WORDS = ("alpha", "beta", "gamma", "delta")

SCALES = (1.0, 0.1, 3.0)
"""Scale of floats without a range, by attempt. Integers without a range are 0 or 1 after the first attempt."""


def drawn_shape(port: ModelPort, requested: Shape | None) -> tuple[int, ...]:
    """The sizes of an input; dynamic dims have their least size, 1 or more.

    Raises:
        ShapeError: For an input of unknown rank without a shape.
        ResourceError: If the array does not fit into memory, or no array can have its shape.
    """
    shape = port.shape if requested is None else requested
    if shape.dims is None:
        raise ShapeError(
            f"input {port.name!r} has no known rank", expected="a shape for it", code=Code.input_array_shape
        )
    if len(shape.dims) > MOST_AXES:
        raise ResourceError(
            f"input {port.name!r} has",
            actual=len(shape.dims),
            detail="dims",
            expected=f"at most {MOST_AXES}",
            reason="as in NumPy",
        )
    sizes = tuple([max(dim.lo, 0 if dim.is_static else 1) for dim in shape.dims])
    require_array_size(sizes, 8)
    if math.prod(sizes) * 8 > default_budget():
        raise ResourceError(f"input {port.name!r} of shape {list(sizes)} does not fit into memory")
    return sizes


def draw(
    port: ModelPort, requested: Shape | None, random: np.random.Generator, role: Role = PLAIN, attempt: int = 0
) -> Array:
    """Random values for an input.

    Without a role, floats are normally distributed, integers of 16 bits or more are 0 or 1 (they usually are indices or
    masks), and narrower integers cover their whole range.

    Raises:
        IRError: The errors of `drawn_shape`.
    """
    sizes = drawn_shape(port, requested)
    element_type = port.element_type if port.element_type.is_known else ElementType.f32
    if element_type in STRING:
        return np.asarray(random.choice(_WORDS, sizes), object)
    if element_type in _RECORDS:
        return random.integers(0, 2**element_type.bits, sizes, np.uint8).view(element_type.dtype)
    if role.kind == "plain" or element_type is ElementType.f8e8m0:
        return _of_type(element_type, sizes, random, attempt)
    numbers = _DRAWN[role.kind](role, element_type, sizes, random)
    if attempt and role.text == "small integers":
        numbers = numbers % 2
    return np.asarray(numbers).astype(element_type.dtype)


def _of_type(element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator, attempt: int) -> Array:
    if element_type in BOOLEAN:
        return random.integers(0, 2, sizes).astype(np.bool_)
    if element_type is ElementType.f8e8m0:
        return np.exp2(random.integers(-4, 5, sizes)).astype(element_type.dtype)  # the type only has powers of two
    if element_type.is_float:
        return (random.standard_normal(sizes) * SCALES[attempt % len(SCALES)]).astype(element_type.dtype)
    if element_type.bits > 8:
        return random.integers(0, 2, sizes).astype(element_type.dtype)
    lowest = -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0
    return random.integers(lowest, lowest + 2**element_type.bits, sizes).astype(element_type.dtype)


def _between(
    low: float, high: float, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator
) -> Array:
    if element_type.is_float:
        return random.uniform(low, high, sizes)
    return random.integers(math.ceil(low), math.floor(high) + 1, sizes)


def _same(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    return np.full(sizes, role.low)


def _within(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    return _between(role.low, role.high, element_type, sizes, random)


def _indices(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    return random.integers(int(role.low), int(role.high) + 1, sizes)


def _counting(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    count = np.arange(sizes[-1] if sizes else 1) % int(role.high - role.low + 1) + int(role.low)
    return np.broadcast_to(count if sizes else count[0], sizes)


def _lengths(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    """Lengths in descending order, as packed sequences require; none is below half of the longest."""
    low, high = int(role.low), int(role.high)
    lengths = np.sort(random.integers(max(low, (high + 1) // 2), high + 1, math.prod(sizes)))[::-1]
    lengths[:1] = high
    return lengths.reshape(sizes)


def _offsets(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    count = math.prod(sizes)
    return (np.arange(count) * int(role.high) // max(count, 1)).reshape(sizes)


def _sorted_values(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    values = _between(role.low, role.high, element_type, sizes, random)
    return np.sort(values, axis=-1) if sizes else values


def _probabilities(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    weights = random.uniform(0.1, 1, sizes)
    return weights / weights.sum(axis=-1, keepdims=True) if sizes else np.ones(())


def _corners(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    """Corners of boxes: the first half of the last axis is below the second half."""
    middle = (role.low + role.high) / 2
    half = sizes[-1] // 2 if sizes else 0
    corners = np.asarray(_between(middle, role.high, element_type, sizes, random))
    if half:
        corners[..., :half] = _between(role.low, middle, element_type, (*sizes[:-1], half), random)
    return corners


def _exact(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    values = np.array(role.exact)
    return np.broadcast_to(values if sizes and values.size == sizes[-1] else values[:1].reshape(()), sizes)


_DRAWN: dict[str, Callable[[Role, ElementType, tuple[int, ...], np.random.Generator], Array]] = {
    "mask": _same,
    "index": _indices,
    "counting": _counting,
    "lengths": _lengths,
    "offsets": _offsets,
    "sorted": _sorted_values,
    "probabilities": _probabilities,
    "corners": _corners,
    "within": _within,
    "image": _within,
    "exact": _exact,
}
