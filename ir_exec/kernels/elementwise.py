"""Element-wise functions: the types they are computed in, and their chunks for threads.

- f32, f64 and integers of 8 bits and more: in their own type; integers wrap.
- f16, bf16, 8-bit and 4-bit floats: in f32, rounded once. i4, u4 and u2: in 8 bits, wrapped.
- Functions of real numbers (exp, sin) of integers: in f64, rounded to the nearest integer, ties to even; values out of
  range are clipped, but a negative number wraps into an unsigned type of more than 8 bits.

OpenVINO's CPU plugin computes i64 in 32 bits and f64 in f32, and saturates 8-bit arithmetic where its reference kernels
wrap; here all are computed in the type itself, and wrapped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib import introspect

from ir_exec.kernels.chunks import by_chunks, by_rows, empty_in_layout_of
from ir_exec.kernels.parallel import for_ranges
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, convert, saturate

__all__ = [
    "EXPONENT",
    "Function",
    "apply_elementwise",
    "apply_real",
    "at_least",
    "at_most",
    "clip",
    "clip_elements",
    "floor_remainder",
    "in_parts",
    "numbers",
    "of_copy",
    "power",
    "select",
    "sigmoid",
    "sigmoid_of",
    "truncated_remainder",
    "working_dtype",
]


def has_vectors_of_base_2() -> bool:
    """Return True if exp2 of f32 is vectorized; it is a scalar loop on x86 without AVX-512."""
    loops = introspect.opt_func_info(func_name="^exp2$").get("exp2", {})
    return "ff" in loops and not loops["ff"]["current"].startswith("baseline")


# An element of f32 takes 0.21 ns with exp2 and 0.45 with exp. The rounding error of the product is 1e-7 of the
# exponent.
power, EXPONENT = (np.exp2, math.log2(math.e)) if has_vectors_of_base_2() else (np.exp, 1.0)
"""power(EXPONENT * x) is e^x, for f32 and f64; power is a ufunc. The factor is free if x is scaled anyway."""

Function: TypeAlias = Callable[..., Any]
"""An element-wise function of arrays: a ufunc, or an expression of ufuncs."""


def _to_nearest(numbers: Array, element_type: ElementType) -> Array:
    """Real numbers as integers; see the module for values out of range."""
    integers = np.rint(numbers)
    result = saturate(integers, element_type)
    if not element_type.is_signed and element_type.bits > 8:
        result = np.where(integers < 0, integers.astype(np.int64).astype(element_type.dtype), result)
    return result


@cache
def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which elements of this dtype are computed."""
    element_type = ElementType.of_dtype(dtype)
    if element_type.is_float:
        return dtype if element_type.bits >= 32 else np.dtype(np.float32)
    if element_type.is_integer and element_type.bits < 8:
        return np.dtype(np.int8 if element_type.is_signed else np.uint8)
    return dtype


def apply_elementwise(function: Function, *arrays: Array, out: Array | None = None) -> Array:
    """Apply `function` to arrays of one dtype, which are broadcast together; the result has their dtype.

    Args:
        out: Receives the result: an array of its shape and dtype, possibly one of the arguments.
    """
    dtype = arrays[0].dtype
    if working_dtype(dtype) is dtype or _has_half_loop(function, dtype):
        if isinstance(function, np.ufunc) and max(array.size for array in arrays) >= thresholds.SPLIT_ELEMENTS:
            shape = np.broadcast_shapes(*[array.shape for array in arrays])
            return in_parts(function, arrays, np.empty(shape, dtype) if out is None else out)
        if out is not None and isinstance(function, np.ufunc):
            return np.asarray(function(*arrays, out=out))
        return _store_result(np.asarray(function(*arrays), dtype), out)
    working = working_dtype(dtype)
    result = np.asarray(function(*[array.astype(working) for array in arrays]))
    return _store_result(convert(result, ElementType.of_dtype(dtype)), out)


def in_parts(function: Function, arrays: tuple[Array, ...], out: Array) -> Array:
    """Run a function that writes into `out` in chunks along the first axis of more than one element.

    Returns:
        out.
    """
    if not out.size:
        return out
    axis = next(axis for axis, size in enumerate(out.shape) if size > 1)
    leading = (slice(None),) * axis

    def cut(array: Array, start: int, stop: int) -> Array:
        dim = axis - out.ndim + array.ndim
        return array if dim < 0 or array.shape[dim] == 1 else array[(*leading[:dim], slice(start, stop))]

    def work(start: int, stop: int) -> None:
        function(*[cut(array, start, stop) for array in arrays], out=cut(out, start, stop))

    for_ranges(out.shape[axis], max(1, thresholds.SPLIT_ELEMENTS // 4 * out.shape[axis] // out.size), work)
    return out


def _store_result(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    out[...] = result
    return out


def apply_real(function: Function, data: Array, out: Array | None = None) -> Array:
    """Apply a function of real numbers to every element; the result has the shape and the dtype of data.

    Args:
        function: Takes a private vector of f32 or f64, which it may overwrite.
        out: As for `apply_elementwise`.
    """
    dtype = data.dtype
    element_type = ElementType.of_dtype(dtype)
    working = working_dtype(dtype) if element_type.is_float else np.dtype(np.float64)
    if isinstance(function, np.ufunc) and (working is dtype or _has_half_loop(function, dtype)):
        return apply_elementwise(function, data, out=out)

    def of_part(part: Array) -> Array:
        result = function(part.astype(working))
        return convert(result, element_type) if element_type.is_float else _to_nearest(result, element_type)

    if data.size <= thresholds.CHUNK_ELEMENTS and out is None:
        return of_part(data.reshape(-1)).reshape(data.shape)

    def write(part: Array, target: Array) -> None:
        if working is dtype:
            of_copy(function, target if out is data else part, out=target)
        else:
            target[...] = of_part(part)

    return by_chunks(write, data, empty_in_layout_of(data) if out is None else out)


def of_copy(function: Function, data: Array, *, out: Array | None = None) -> Array:
    """Apply `function` to a copy of data as a vector, which it may overwrite; in `out` if given."""
    if out is None and data.flags.c_contiguous:
        result: Array = function(data.flatten()).reshape(data.shape)
        return result
    if out is None:
        out = data.copy("K")
    elif out is not data:
        out[...] = by_rows(data)
    vector = out.ravel("K")
    values = function(vector)
    if values is not vector:
        vector[...] = values
    return out


def clip(data: Array, lowest: float, highest: float, out: Array | None = None) -> Array:
    """Clip every element to the limits, which are within the range of the type; NaN is kept.

    Args:
        out: The array for the result, as for `apply_elementwise`.
    """
    dtype = data.dtype
    if working_dtype(dtype) is not dtype:
        return apply_elementwise(lambda x: np.clip(x, lowest, highest), data, out=out)
    clipped = partial(clip_elements, lowest=dtype.type(lowest), highest=dtype.type(highest))
    if data.size >= thresholds.SPLIT_ELEMENTS:
        return in_parts(clipped, (data,), np.empty(data.shape, dtype) if out is None else out)
    return np.asarray(clipped(data, out=out))


try:
    # np.clip is a Python wrapper of it, whose overhead is twice the time of 1,000 elements.
    from numpy._core.umath import clip as _clip  # type: ignore[attr-defined]  # missing in NumPy's annotations
except ImportError:
    _clip = np.clip


def clip_elements(data: Array, *, lowest: Any, highest: Any, out: Array | None = None) -> Any:
    return _clip(data, lowest, highest, out=out)


def select(cond: Array, then: Array, else_: Array, out: Array | None = None) -> Array:
    """np.where of arrays of one dtype; for many elements by masked bits, since NumPy branches at each element.

    Args:
        out: Receives the result; it may be `then`.
    """
    shape = np.broadcast_shapes(cond.shape, then.shape, else_.shape)
    if then.dtype.hasobject or prod(shape) <= thresholds.CALL_ELEMENTS:
        return _store_result(np.where(cond, then, else_), out)
    integer_dtype = f"i{then.itemsize}"

    def of_part(cond: Array, then: Array, else_: Array, out: Array) -> None:
        # All bits where cond is true, for any byte that means true.
        masks = np.equal(cond.view(np.int8), 0).view(np.int8) - np.int8(1)
        np.bitwise_xor(then, else_, out=out)
        np.bitwise_and(out, masks.astype(integer_dtype), out=out)
        np.bitwise_xor(out, else_, out=out)

    result = np.empty(shape, then.dtype) if out is None else out
    parts = (cond, then.view(integer_dtype), else_.view(integer_dtype))
    if result.size < thresholds.SPLIT_ELEMENTS:
        of_part(*parts, result.view(integer_dtype))
    else:
        in_parts(of_part, parts, result.view(integer_dtype))
    return result


def at_least(data: Array, least: float, out: Array | None = None) -> Array:
    """np.maximum of floats and a number, but four times faster."""
    return np.asarray(_clip(data, least, math.inf, out=out))


def at_most(data: Array, most: float, out: Array | None = None) -> Array:
    return np.asarray(_clip(data, -math.inf, most, out=out))


def _has_half_loop(function: Function, dtype: np.dtype[Any]) -> bool:
    """Return True for NumPy's own functions of f16, which compute in f32 and round once, as required here."""
    return dtype == np.float16 and isinstance(function, np.ufunc)


def numbers(*values: float) -> dict[str, tuple[Array, ...]]:
    """The numbers as scalar arrays of f32 and f64, by NumPy's letters.

    NumPy converts a Python number in every call, which takes as long as a short call itself.
    """
    return {code: tuple([np.array(value, code) for value in values]) for code in "fd"}


_OF_SIGMOID = numbers(-EXPONENT, 1)


def sigmoid(x: Array, out: Array | None = None) -> Array:
    """1 / (1 + exp(-x)), in place of x, an array of f32 or f64, or in `out`."""
    out = x if out is None else out
    opposite, unit = _OF_SIGMOID[out.dtype.char]
    np.multiply(x, opposite, out=out)
    # An exponential that overflows is infinite, and the quotient is correctly 0.
    power(out, out=out)
    np.add(out, unit, out=out)
    # np.reciprocal is two times slower.
    return np.asarray(np.divide(unit, out, out=out))


def sigmoid_of(x: Array, *, out: Array | None = None) -> Array:
    """1 / (1 + exp(-x)) of an array of f32 or f64, which is not changed; in `out` if given."""
    return sigmoid(x, np.empty_like(x) if out is None else out)


_EXACT_QUOTIENT = 2.0**28
"""Upper limit of exact quotients.

Below it, the quotient of two f32 as f64 is never rounded to or across an integer, and its integer part times the
divisor, of 28 and 24 bits, is exact. So are the differences, except for those that f32 rounds as well.
"""


def floor_remainder(a: Array, b: Array, out: Array | None = None) -> Array:
    """np.remainder of arrays that broadcast together, bit for bit.

    Args:
        out: The array for the result.
    """
    return _remainder(np.remainder, np.floor, 1, a, b, out)


def truncated_remainder(a: Array, b: Array, out: Array | None = None) -> Array:
    """np.fmod of arrays that broadcast together, bit for bit.

    Args:
        out: The array for the result.
    """
    return _remainder(np.fmod, np.trunc, 0, a, b, out)


def _remainder(
    function: np.ufunc, rounding: Callable[..., Any], signed: int, a: Array, b: Array, out: Array | None
) -> Array:
    """The remainder of a division.

    Args:
        rounding: Rounds quotients to integers.
        signed: The one of a and b with the sign of the remainder.
    """

    def of_part(a: Array, b: Array, out: Array) -> None:
        quotients = np.divide(a, b, dtype=np.float64)
        # Also False where one is NaN.
        if not -_EXACT_QUOTIENT < quotients.min() <= quotients.max() < _EXACT_QUOTIENT:
            function(a, b, out=out)
            return
        rounding(quotients, out=quotients)
        quotients *= b
        np.subtract(a, quotients, out=quotients)
        if np.isnan(quotients.sum()):
            # An infinite divisor.
            function(a, b, out=out)
            return
        np.copysign(quotients, (a, b)[signed], out=out, casting="same_kind")

    result = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype) if out is None else out
    if result.size <= thresholds.CALL_ELEMENTS:
        function(a, b, out=result)
        return result
    return in_parts(of_part, (a, b), result)
