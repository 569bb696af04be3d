"""Range: numbers from start to stop in equal steps."""

from __future__ import annotations

import math
from itertools import product
from typing import Annotated, TypeAlias, cast

import numpy as np

from ir_exec.errors import EvaluationError, IRError, ShapeError
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import ElementTypeName, among
from ir_exec.ops.base.dims import element_type_of, index_bounds
from ir_exec.ops.base.inputs import Usual, ValueRange
from ir_exec.ops.base.shapes import require_rank
from ir_exec.types import UNBOUNDED, Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = ["Range", "Range1"]

Number: TypeAlias = int | float

RANGE_TYPES = CALCULABLE - element_types("i4 u2 u4")


class _Range(Op):
    """The base of both versions of Range.

    Raises:
        IRError: IR501 for an input that is not a scalar, IR505 and IR704 for a step of 0 and infinite numbers or NaN.
    """

    is_progression = True

    is_discontinuous = True
    sized_by = ("start", "stop", "step")

    def _element_type(self, start: TensorType, stop: TensorType, step: TensorType) -> ElementType:
        """The element type of the output."""
        raise NotImplementedError

    def _infer(self, start: TensorType, stop: TensorType, step: TensorType) -> TensorType:
        scalars = {"start": start, "stop": stop, "step": step}
        element_type = self._element_type(start, stop, step)
        values: dict[str, Number | None] = {}
        for name, scalar in scalars.items():
            require_rank(scalar, 0, name)
            value = scalar.value
            values[name] = None if value is None else _read_scalar(name, value, element_type, ShapeError)
        numbers = [number for number in values.values() if number is not None]
        if len(numbers) == 3:
            return TensorType(element_type, Shape([min(_length(*numbers), UNBOUNDED)]))
        return TensorType(element_type, Shape([_length_between(list(scalars.values()))]))

    def _evaluate(self, element_type: ElementType, start: Array, stop: Array, step: Array) -> Array:
        scalars = {"start": start, "stop": stop, "step": step}
        first, end, stride = (
            _read_scalar(name, value, element_type, EvaluationError) for name, value in scalars.items()
        )
        length = _length(first, end, stride)
        if not element_type.is_integer:
            return (np.arange(length) * stride + first).astype(element_type.dtype)
        # Modulo 2**64: shorter types keep its low bits, so all types wrap.
        steps = np.arange(length, dtype=np.uint64)
        steps *= np.uint64(int(stride) % 2**64)
        steps += np.uint64(int(first) % 2**64)
        return steps.astype(element_type.dtype)


@op("Range", since=1)
class Range1(_Range):
    """start, start + step, start + 2 * step, ... before stop.

    Specification: generation/range-1.

    Inputs:
        start: A scalar of one numeric type.
        stop: Like `start`.
        step: Like `start`.

    Outputs:
        output: A vector of that type; empty if step leads away from stop, where OpenVINO's CPU plugin counts as if the
            signs agreed.
    """

    inputs = (
        In("start", types=RANGE_TYPES, domain=Usual(0, "the start of a range")),
        In("stop", types=RANGE_TYPES, like="start", domain=ValueRange(4, 8, "the end of a range")),
        In("step", types=RANGE_TYPES, like="start", domain=Usual(1, "the step of a range")),
    )

    def infer(self, start: TensorType, stop: TensorType, step: TensorType) -> TensorType:
        return self._infer(start, stop, step)

    def evaluate(self, start: Array, stop: Array, step: Array) -> Array:
        return self._evaluate(ElementType.of(start), start, stop, step)

    def _element_type(self, start: TensorType, stop: TensorType, step: TensorType) -> ElementType:
        return element_type_of((start, stop, step))


@op("Range", since=4)
class Range(_Range):
    """start, start + step, start + 2 * step, ... before stop, in the element type `output_type`.

    The specification does not define a step of 0. OpenVINO's CPU plugin keeps the fractions of inputs that are not
    constants, and counts as if the signs agreed if step leads away from stop; the specification, OpenVINO's shape
    inference and this class do not.

    Specification: generation/range-4.

    Inputs:
        start: A scalar of any numeric types; for an integer output their fractions are truncated first.
        stop: Like `start`.
        step: Like `start`.

    Outputs:
        output: A vector of the type `output_type`; empty if step leads away from stop.
    """

    inputs = (
        In("start", types=CALCULABLE, domain=Usual(0, "the start of a range")),
        In("stop", types=CALCULABLE, domain=ValueRange(4, 8, "the end of a range")),
        In("step", types=CALCULABLE, domain=Usual(1, "the step of a range")),
    )

    output_type: Annotated[ElementTypeName, among(CALCULABLE, "a numeric element type")]

    def infer(self, start: TensorType, stop: TensorType, step: TensorType) -> TensorType:
        return self._infer(start, stop, step)

    def evaluate(self, start: Array, stop: Array, step: Array) -> Array:
        return self._evaluate(self.output_type, start, stop, step)

    def _element_type(self, start: TensorType, stop: TensorType, step: TensorType) -> ElementType:
        return self.output_type


def _read_scalar(name: str, scalar: Array, element_type: ElementType, error: type[IRError]) -> Number:
    """The value of the input `name` for an output of type `element_type`, truncated for an integer type."""
    value = _number(scalar)
    _require_valid(name, value, error)
    if not element_type.is_integer:
        value = float(value)
    elif isinstance(value, float):
        value = int(value)
    _require_valid(name, value, error)
    return value


def _number(scalar: Array) -> Number:
    value = scalar.reshape(-1)[0]
    if scalar.dtype.hasobject:
        # A traced integer.
        number: Number = value
        return number
    return int(value) if ElementType.of(scalar).is_integer else float(value)


def _require_valid(name: str, value: Number, error: type[IRError]) -> None:
    """Raise the error for a value of the input `name` that is not finite, or a step of 0."""
    if isinstance(value, float) and not math.isfinite(value):
        raise error(f"{name} is", actual=value, expected="a finite number", port=name)
    if name == "step" and value == 0:
        raise error("step is", actual=0, expected="a positive or a negative number", port=name)


def _length(start: Number, stop: Number, step: Number) -> int:
    """ceil((stop - start) / step) if that is positive, exact for integers."""
    if any(isinstance(number, float) for number in (start, stop, step)):
        length = (stop - start) / step
        return max(math.ceil(length), 0) if math.isfinite(length) else UNBOUNDED
    # Not only `int`: traced integers too.
    return max(-((cast(int, start) - cast(int, stop)) // cast(int, step)), 0)


def _length_between(scalars: list[TensorType]) -> Dim:
    """The lengths that the bounds of three integers allow."""
    if not all(scalar.element_type.is_integer for scalar in scalars):
        return Dim.any()
    bounds = [index_bounds(scalar) for scalar in scalars]
    ends = [bound[0] for bound in bounds if bound]
    if len(ends) < 3 or ends[2][0] <= 0 <= ends[2][1]:
        return Dim.any()
    # The length is monotone in start and stop: its extremes are at corners.
    lengths = [_length(*corner) for corner in product(*ends)]
    return Dim(min(lengths), max(lengths))
