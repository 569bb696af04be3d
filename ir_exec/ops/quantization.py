"""Fake quantization: numbers rounded to the values of a shorter type, in their original type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.choice import KernelChoice, choosing
from ir_exec.kernels.chunks import by_chunks
from ir_exec.kernels.precision import CALCULABLE, accumulator, round_to, type_limits, widen
from ir_exec.kernels.quantize import Levels, level_numbers
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Int, at_least
from ir_exec.ops.base.inputs import Usual
from ir_exec.ops.base.shapes import broadcast_shapes, broadcasts_to, merge_shapes
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, Shape, TensorType, convert, element_types

__all__ = ["FakeConvert", "FakeQuantize"]

_SHORTENED = element_types("f16 bf16 f32")


@op("FakeQuantize", since=1)
class FakeQuantize(Op):
    """Values rounded to one of `levels` between limits.

    output = round((data - input_low) / (input_high - input_low) * (levels - 1)) / (levels - 1)
    * (output_high - output_low) + output_low; ties are rounded to even.

    data up to the lesser of input_low and input_high becomes output_low, data above the greater one output_high.

    Floats shorter than f32 are quantized in f32, integers in f64 and rounded.

    Specification: quantization/fake-quantize-1, in which data has a float type; integers are an extension of OpenVINO.
    The mode pdpd is treated as numpy, which broadcasts a superset of shapes.

    Inputs:
        data: Any shape, any numeric type.
        input_low: Numeric, as in OpenVINO of any type; a shape that broadcasts to the shape of data.
        input_high: Like `input_low`.
        output_low: Like `input_low`.
        output_high: Like `input_low`.

    Attributes:
        levels: 2 or more.
        auto_broadcast: `numpy` (the default), or `none`: the limits have the shape of data.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR504 for limits that do not broadcast to data, IR501 and IR502 for other shapes with `none`.
    """

    steps = "levels"

    inputs = (
        In("data", types=CALCULABLE),
        In("input_low", types=CALCULABLE, domain=Usual(-1, "the least level")),
        In("input_high", types=CALCULABLE, domain=Usual(1, "the greatest level")),
        In("output_low", types=CALCULABLE, domain=Usual(-1, "the least level")),
        In("output_high", types=CALCULABLE, domain=Usual(1, "the greatest level")),
    )
    is_elementwise = True
    is_discontinuous = True

    levels: Annotated[Int, at_least(2)]
    auto_broadcast: Annotated[Literal["none", "explicit", "numpy", "pdpd"], LOWER] = "numpy"

    def infer(
        self,
        data: TensorType,
        input_low: TensorType,
        input_high: TensorType,
        output_low: TensorType,
        output_high: TensorType,
    ) -> TensorType:
        limits = {"input_low": input_low, "input_high": input_high}
        limits |= {"output_low": output_low, "output_high": output_high}
        for name, limit in limits.items():
            if self.auto_broadcast in ("none", "explicit"):
                merge_shapes(data.shape, limit.shape, f"the shapes of data and {name} without broadcasting", port=name)
            else:
                _require_broadcast(limit.shape, data.shape, name)
        return data.without_values()

    def evaluate(
        self, data: Array, input_low: Array, input_high: Array, output_low: Array, output_high: Array
    ) -> Array:
        working = _working_dtype(data.dtype)
        return _quantize(data, self._levels((input_low, input_high, output_low, output_high), working, data.ndim))

    def with_constants(self, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        """Precompute the values that depend on constant limits only."""
        limits = [constants[position] for position in range(1, len(self.inputs)) if position in constants]
        if len(limits) < len(self.inputs) - 1:
            return None
        levels = cache(partial(self._levels, limits))
        return choosing(lambda data, *_: _quantize(data, levels(_working_dtype(data.dtype), data.ndim)), _KNOWN_LIMITS)

    def _levels(self, limits: Sequence[Array], dtype: np.dtype[Any], rank: int) -> Levels:
        return level_numbers([limit.astype(dtype, copy=False) for limit in limits], self.levels - 1, rank)


_KNOWN_LIMITS = KernelChoice(
    "The limits are constants: values that depend on them are precomputed.",
    ("evaluate: does so in every run",),
    "known_limits",
)


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float64) if ElementType.of_dtype(dtype).is_integer else accumulator(dtype)


def _quantize(data: Array, levels: Levels) -> Array:
    result = levels.quantize(data.astype(levels.steps.dtype, copy=False))
    return round_to(np.rint(result) if ElementType.of(data).is_integer else result, data.dtype)


@op("FakeConvert", since=13)
class FakeConvert(Op):
    """output = (converted(data * scale - shift) + shift) / scale, where converted means to an 8-bit float and back.

    As in OpenVINO, numbers are converted via f16, and so rounded twice. Too large numbers become the largest finite
    value; NaN remains NaN.

    Specification: quantization/fake-convert-13.

    Inputs:
        data: Any shape, f16, bf16 or f32.
        scale: The type of data, and a shape that broadcasts to the shape of data.
        shift: Like scale, of the same shape; by default 0.

    Attributes:
        destination_type: `f8e4m3` or `f8e5m2`.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR504 for a scale that does not broadcast to data, IR501 and IR502 for another shape of shift.
    """

    inputs = (
        In("data", types=_SHORTENED),
        In("scale", types=_SHORTENED, like="data"),
        In("shift", types=_SHORTENED, like="data", optional=True),
    )
    is_elementwise = True
    is_discontinuous = True

    destination_type: Literal["f8e4m3", "f8e5m2"]

    def infer(self, data: TensorType, scale: TensorType, shift: TensorType | None = None) -> TensorType:
        factor = scale.shape
        if shift is not None:
            factor = merge_shapes(factor, shift.shape, "the shapes of scale and shift", port="shift")
        if factor.dims is not None and data.rank is not None and len(factor) > data.rank:
            message = f"scale {factor} has more axes than data {data.shape}"
            raise ShapeError(message, code=Code.no_broadcast, port="scale")
        _require_broadcast(factor, data.shape, "scale")
        return data.with_shape(broadcast_shapes(data.shape, factor))

    def evaluate(self, data: Array, scale: Array, shift: Array | None = None) -> Array:
        target = ElementType[self.destination_type]
        factor, offset = widen(scale), None if shift is None else widen(shift)
        if factor.size > 1:
            return _fake_converted(data, target, factor, offset)
        factors, by = factor.ravel(), None if offset is None else offset.ravel()

        def write(part: Array, out: Array) -> None:
            out[...] = _fake_converted(part, target, factors, by)

        return by_chunks(write, data, np.empty(data.shape, data.dtype))


def _fake_converted(data: Array, target: ElementType, factor: Array, offset: Array | None) -> Array:
    result = np.asarray(widen(data) * factor)
    if offset is not None:
        result -= offset
    halves = result.astype(np.float16)
    if halves.size > thresholds.TABLE_ELEMENTS:
        result = _shortened_codes(target).take(halves.view(np.uint16), mode="clip")
    else:
        result = _round_to_float8(halves, target)
    if offset is not None:
        result += offset
    result /= factor
    return round_to(result, data.dtype)


@cache
def _shortened_codes(target: ElementType) -> Array:
    """The result for every f16."""
    with np.errstate(invalid="ignore"):
        return _round_to_float8(np.arange(2**16).astype(np.uint16).view(np.float16), target)


def _round_to_float8(halves: Array, target: ElementType) -> Array:
    """f16 converted to an 8-bit float and then f32; too large values become the largest finite value."""
    largest = np.float16(type_limits(target.dtype)[1])
    return convert(convert(np.clip(halves, -largest, largest), target), ElementType.f32)


def _require_broadcast(limit: Shape, data: Shape, name: str) -> None:
    """Raise ShapeError IR504 if NumPy cannot broadcast the limit to the shape of data."""
    if not broadcasts_to(limit, data):
        raise ShapeError(f"{name} {limit} does not broadcast to data {data}", code=Code.no_broadcast, port=name)
