"""RandomUniform: random numbers identical to OpenVINO's for equal seeds."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.random_bits import mersenne_twister, philox, words_of_number
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, ElementTypeName, Int, among
from ir_exec.ops.base.bodies import State
from ir_exec.ops.base.inputs import Usual, ValueRange
from ir_exec.ops.base.shapes import known_shape, require_one_element, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import INDEX, Array, ElementType, TensorType, element_types

__all__ = ["RandomUniform", "Seed"]

DRAWN = element_types("f16 bf16 f32 f64 i32 i64")


def _wrap_seed(seed: int) -> int:
    return seed % 2**64


Seed = Annotated[Int, _wrap_seed]


@op("RandomUniform", since=8)
class RandomUniform(Op):
    """Uniformly distributed numbers from minval to below maxval.

    As in OpenVINO's CPU plugin, tensorflow continues from run to run, advanced by 256 blocks of four for every element
    drawn before, until `reset_state`; pytorch gives the same values in every run. The plugin draws f16, f64 and i64 as
    f32 and i32; the specification, OpenVINO's reference kernel and this class do not. In a model that is computed in
    f32, however, f16 and bf16 are drawn as f32. Elsewhere bf16 is as in the plugin: computed in f32 and rounded once,
    and for pytorch one half or more is rounded up if the last bit kept is odd, and down if it is even.

    The specification does not define which of two 32-bit numbers is the higher half of an i64: in OpenVINO the first
    for pytorch, the second for tensorflow.

    Specification: generation/random-uniform-8.

    Inputs:
        shape: A vector of i32 or i64, the shape of the output.
        minval: One element, of the type `output_type`.
        maxval: Like `minval`.

    Attributes:
        alignment: `tensorflow`, the default, draws from Philox-4x32-10 with global_seed as key and op_seed as upper
            half of the counter; `pytorch` draws from the Mersenne twister of global_seed. If both seeds are 0, the
            default, every run gives different values.

    Outputs:
        output: The type `output_type`: f16, bf16, f32, f64, i32 or i64.

    Raises:
        IRError: IR402 for limits of another type, IR505 and IR704 for a minval that is not less than maxval and for a
            negative size.
    """

    inputs = (
        In("shape", types=INDEX, domain=ValueRange(2, 4, "sizes")),
        In("minval", types=DRAWN, domain=Usual(0, "the least value")),
        In("maxval", types=DRAWN, like="minval", domain=Usual(1, "the greatest value")),
    )
    deterministic = False
    sized_by = ("shape",)

    output_type: Annotated[ElementTypeName, among(DRAWN, "i32, i64, f16, bf16, f32 or f64")]
    global_seed: Seed = 0
    op_seed: Seed = 0
    alignment: Annotated[Literal["tensorflow", "pytorch"], LOWER] = "tensorflow"

    def infer(self, shape: TensorType, minval: TensorType, maxval: TensorType) -> TensorType:
        require_rank(shape, 1, "shape")
        for name, limit in (("minval", minval), ("maxval", maxval)):
            require_one_element(limit, name)
            if limit.element_type not in (self.output_type, ElementType.dynamic):
                raise ElementTypeError(
                    f"{name} is",
                    actual=limit.element_type,
                    expected=self.output_type,
                    reason=" as output_type is",
                    code=Code.element_types_differ,
                    port=name,
                )
        if minval.value is not None and maxval.value is not None:
            _check_range(minval.value, maxval.value, ShapeError)
        return TensorType(self.output_type, known_shape(shape, "shape"))

    def evaluate(self, shape: Array, minval: Array, maxval: Array, *, state: State | None = None) -> Array:
        sizes = tuple(shape.tolist())
        if min(sizes, default=0) < 0:
            raise EvaluationError("shape is", actual=list(sizes), expected="no negative size", port="shape")
        _check_range(minval, maxval, EvaluationError)
        output = np.empty(sizes, self.output_type.dtype)
        low, high = minval.reshape(-1)[0], maxval.reshape(-1)[0]
        seed = self.global_seed if self.global_seed or self.op_seed else secrets.randbits(64)
        if self.alignment == "pytorch":
            _draw_as_pytorch(output.reshape(-1), low, high, seed)
        else:
            drawn = 0 if state is None else state.draw(self, output.size)
            _draw_as_tensorflow(output.reshape(-1), low, high, (seed, self.op_seed), 256 * drawn)
        return output


def _check_range(minval: Array, maxval: Array, error: type[IRError]) -> None:
    low, high = minval.reshape(-1)[0], maxval.reshape(-1)[0]
    if not low < high:
        raise error("minval is", actual=low, expected="less than maxval", reason=f"which is {high}", port="minval")


def _draw_as_tensorflow(output: Array, low: Any, high: Any, seeds: tuple[int, int], first: int) -> None:
    """Fill the vector from Philox blocks of four numbers: one number for an element, or two for 64 bits."""
    per_block = 16 // max(output.itemsize, 4)

    def work(start: int, stop: int) -> None:
        numbers = philox(*seeds, first + start, stop - start).reshape(-1)
        if output.itemsize == 8:
            numbers = _join_halves(numbers, high_first=output.dtype.kind == "f")
        part = output[start * per_block : stop * per_block]
        part[...] = _as_tensorflow(numbers[: len(part)], low, high)

    # Half as many blocks at a time are not faster on one thread, and 1.4x slower on two.
    for_ranges(-(-len(output) // per_block), thresholds.CHUNK_ELEMENTS // 2, work)


def _as_tensorflow(numbers: Array, low: Any, high: Any) -> Array:
    """Convert the numbers to elements; the numbers are overwritten."""
    if low.dtype.kind == "i":
        return _map_to_range(numbers, low, high)
    # The number's low bits are the fraction of a float in [1, 2).
    unit = low.dtype.type(1)
    unsigned = np.dtype(f"u{low.dtype.itemsize}")
    numbers &= numbers.dtype.type(2 ** (_digits(low) - 1) - 1)
    fraction = numbers.astype(unsigned, copy=False)
    fraction |= unit.view(unsigned)
    floats: Array = fraction.view(low.dtype)
    floats -= unit
    if _is_bf16(low):
        floats, low, span = floats.astype(np.float32), np.float32(low), _bf16_span(low, high)
    else:
        span = high - low
    floats *= span
    floats += low
    return floats


def _draw_as_pytorch(output: Array, low: Any, high: Any, seed: int) -> None:
    """Fill the vector from the Mersenne twister, one number for an element, or two for 64 random bits."""
    generator = mersenne_twister(words_of_number(seed))
    single = output.itemsize <= 4 or (output.dtype.kind == "i" and max(int(low), int(high)) < 2**32)
    for start in range(0, len(output), thresholds.CHUNK_ELEMENTS):
        check_time()
        part = output[start : start + thresholds.CHUNK_ELEMENTS]
        numbers = generator.random_raw(len(part) * (1 if single else 2))
        part[...] = _as_pytorch(numbers if single else _join_halves(numbers, high_first=True), low, high)


def _as_pytorch(numbers: Array, low: Any, high: Any) -> Array:
    if low.dtype.kind == "i":
        return _map_to_range(numbers, low, high)
    wide: Any = np.float64 if low.dtype == np.float64 else np.float32
    digits = _digits(low)
    floats = (numbers & np.uint64(2**digits - 1)).astype(wide) * wide(2.0**-digits)
    if _is_bf16(low):
        return _as_bf16(floats * _bf16_span(low, high) + wide(low))
    scaled: Array = floats * wide(high - low) + wide(low)
    return scaled


def _is_bf16(number: Any) -> bool:
    return ElementType.of_dtype(number.dtype) is ElementType.bf16


def _bf16_span(low: Any, high: Any) -> Any:
    return _as_bf16(np.array([np.float32(high) - np.float32(low)])).astype(np.float32)[0]


def _as_bf16(floats: Array) -> Array:
    """f32 as bf16, rounded as in OpenVINO's C++ class: one half or more up if the last bit kept is odd, else down."""
    bits = floats.view(np.uint32)
    rounded = (bits + ((bits & np.uint32(1 << 16)) >> np.uint32(1))) >> np.uint32(16)
    return rounded.astype(np.uint16).view(ElementType.bf16.dtype)


def _digits(number: Any) -> int:
    """The number of bits of the significand of this float type, including the leading one."""
    return {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}[ElementType.of_dtype(number.dtype).name]


def _join_halves(numbers: Array, *, high_first: bool) -> Array:
    """64-bit numbers, each from two 32-bit numbers.

    Args:
        high_first: True if the first of the two numbers is the higher half.
    """
    halves = numbers.astype(np.uint64)
    first, second = halves[::2], halves[1::2]
    return first << np.uint64(32) | second if high_first else second << np.uint64(32) | first


def _map_to_range(numbers: Array, low: Any, high: Any) -> Array:
    """Integers from low to below high: low plus the remainders of the numbers, modulo the range of the type."""
    bits = 8 * low.dtype.itemsize
    span = np.uint64((int(high) - int(low)) % 2**bits)
    shifted = numbers.astype(np.uint64) % span + np.uint64(int(low) % 2**64)
    return shifted.astype(f"u{low.dtype.itemsize}").view(low.dtype)
