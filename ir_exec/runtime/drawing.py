"""Inputs that nobody gave, drawn at random."""

from __future__ import annotations

import math

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ResourceError, ShapeError
from ir_exec.model import ModelPort
from ir_exec.runtime.memory import default_budget
from ir_exec.types import BOOLEAN, STRING, Array, ElementType, Shape, element_types

__all__ = ["draw"]

_RECORDS = element_types("u1 u3 u6 nf4")

_WORDS = ("alpha", "beta", "gamma", "delta")


def draw(port: ModelPort, wanted: Shape | None, random: np.random.Generator) -> Array:
    """Random values for an input: floats from the normal distribution, integers of 16 bits and more 0 or 1 (they are
    indices and masks as a rule), narrower ones over their whole range. Dims that are not known are their least size, 1
    or more. Raises ShapeError for an input of unknown rank without a shape, and ResourceError where the array would not
    fit into memory."""
    shape = port.shape if wanted is None else wanted
    if shape.dims is None:
        raise ShapeError(
            f"the rank of input {port.name!r} is not known: say which shape it is to have", code=Code.input_array_shape
        )
    sizes = tuple([max(dim.lo, 0 if dim.is_static else 1) for dim in shape.dims])
    if math.prod(sizes) * 8 > default_budget():
        raise ResourceError(f"input {port.name!r} of shape {list(sizes)} does not fit into memory")
    kind = port.element_type if port.element_type.is_known else ElementType.f32
    if kind in STRING:
        return np.asarray(random.choice(_WORDS, sizes), object)
    if kind in BOOLEAN:
        return random.integers(0, 2, sizes).astype(np.bool_)
    if kind is ElementType.f8e8m0:
        return np.exp2(random.integers(-4, 5, sizes)).astype(kind.dtype)  # it holds powers of two alone
    if kind in _RECORDS:
        return random.integers(0, 2**kind.bits, sizes, np.uint8).view(kind.dtype)
    if kind.is_float:
        return random.standard_normal(sizes).astype(kind.dtype)
    if kind.bits > 8:
        return random.integers(0, 2, sizes).astype(kind.dtype)
    lowest = -(2 ** (kind.bits - 1)) if kind.is_signed else 0
    return random.integers(lowest, lowest + 2**kind.bits, sizes).astype(kind.dtype)
