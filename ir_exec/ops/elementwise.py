"""What element-wise operators share: the type they calculate in, broadcasting, and classes that are one line each.

How an operator calculates follows from the element type, and is the same for all of them:
- f32, f64 and integers of 8 bits and more: as they are; integers wrap.
- f16, bf16, 8-bit and 4-bit floats: in f32, rounded once. i4, u4 and u2: in 8 bits, wrapped.
- Functions of real numbers (exp, sin) of integers: in f64, rounded to the nearest integer, ties to even; what is beyond
  the type ends at the end of its range, but a negative number wraps into an unsigned type of more than 8 bits.

OpenVINO's CPU plugin calculates i64 in 32 bits and f64 in f32, and lets 8-bit arithmetic saturate where its reference
kernels wrap; we calculate in the type itself and wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np

from ir_exec.ops.attributes import LOWER, Int, Named
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.parallel import for_ranges
from ir_exec.ops.precision import CALCULABLE
from ir_exec.ops.rules import Broadcasting, align_pdpd, broadcast_shapes
from ir_exec.ops.slices import PIECE, by_pieces
from ir_exec.types import Array, ElementType, TensorType, convert, saturated

__all__ = [
    "AutoBroadcast",
    "Binary",
    "Function",
    "Unary",
    "binary",
    "calculated",
    "calculated_real",
    "clip_kernel",
    "held_between",
    "is_own_type",
    "is_small",
    "real_kernel",
    "unary",
]

Function: TypeAlias = Callable[..., Any]
"""Computes arrays from arrays, element by element: a ufunc, or an expression of them."""

LARGE = 2**19
"""How many elements make it worth while to split a function that NumPy has itself."""

FEW = 2**10
"""Fewer elements than these are done sooner by two of NumPy's functions than by one that takes longer to call."""


def _to_nearest(numbers: Array, kind: ElementType) -> Array:
    """Real numbers as integers; see the module for those that the type cannot hold."""
    whole = np.rint(numbers)
    result = saturated(whole, kind)
    if not kind.is_signed and kind.bits > 8:
        result = np.where(whole < 0, whole.astype(np.int64).astype(kind.dtype), result)
    return result


@cache
def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which elements of this dtype are calculated with."""
    kind = ElementType.of_dtype(dtype)
    if kind.is_float:
        return dtype if kind.bits >= 32 else np.dtype(np.float32)
    if kind.is_integer and kind.bits < 8:
        return np.dtype(np.int8 if kind.is_signed else np.uint8)
    return dtype


def calculated(function: Function, *arrays: Array, out: Array | None = None) -> Array:
    """`function` of arrays of one dtype that NumPy broadcasts together; the result has their dtype, and is `out` if
    that is given: an array of the result's shape and dtype, which may be one of them."""
    dtype = arrays[0].dtype
    if _working_dtype(dtype) is dtype or _has_half_loop(function, dtype):
        if isinstance(function, np.ufunc) and max(array.size for array in arrays) >= LARGE:
            shape = np.broadcast_shapes(*[array.shape for array in arrays])
            return _in_parts(function, arrays, np.empty(shape, dtype) if out is None else out)
        if out is not None and isinstance(function, np.ufunc):
            return np.asarray(function(*arrays, out=out))
        return _written(np.asarray(function(*arrays), dtype), out)
    working = _working_dtype(dtype)
    result = np.asarray(function(*[array.astype(working) for array in arrays]))
    return _written(convert(result, ElementType.of_dtype(dtype)), out)


def _in_parts(function: Function, arrays: tuple[Array, ...], out: Array) -> Array:
    """The same, split along the first axis that can be."""
    if not out.size:
        return out
    axis = next(axis for axis, size in enumerate(out.shape) if size > 1)
    whole = (slice(None),) * axis

    def cut(array: Array, start: int, stop: int) -> Array:
        place = axis - out.ndim + array.ndim
        return array if place < 0 or array.shape[place] == 1 else array[(*whole[:place], slice(start, stop))]

    def work(start: int, stop: int) -> None:
        function(*[cut(array, start, stop) for array in arrays], out=cut(out, start, stop))

    for_ranges(out.shape[axis], max(1, LARGE // 4 * out.shape[axis] // out.size), work)
    return out


def _written(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    out[...] = result
    return out


def calculated_real(function: Function, data: Array, out: Array | None = None) -> Array:
    """A function of real numbers of every element; the result has the shape and the dtype of data.

    function: takes a vector of f32 or f64 of its own, in which it may write. out: as for `calculated`.
    """
    dtype = data.dtype
    kind = ElementType.of_dtype(dtype)
    working = _working_dtype(dtype) if kind.is_float else np.dtype(np.float64)
    if isinstance(function, np.ufunc) and (working is dtype or _has_half_loop(function, dtype)):
        return calculated(function, data, out=out)

    def of_part(part: Array) -> Array:
        result = function(part.astype(working))
        return convert(result, kind) if kind.is_float else _to_nearest(result, kind)

    if data.size <= PIECE and out is None:
        return of_part(data.reshape(-1)).reshape(data.shape)
    return by_pieces(of_part, data, np.empty(data.shape, dtype) if out is None else out)


def is_own_type(data: TensorType) -> bool:
    """Whether elements of this type are calculated with as they are."""
    return data.element_type.is_known and _working_dtype(data.element_type.dtype) is data.element_type.dtype


def is_small(*types: TensorType) -> bool:
    """Whether NumPy's functions may be called as they are: for fewer elements than are split, and for no scalars, of
    which they would not give an array."""
    return max(type.shape.size.lo for type in types) < LARGE and max(type.rank or 0 for type in types) > 0


def real_kernel(function: Function, data: TensorType, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """`calculated_real` for data of this static type, without what it looks up in every call; `otherwise` where there
    is more to do than to call the function."""
    if not (data.element_type.is_float and is_own_type(data) and is_small(data)):
        return otherwise
    if isinstance(function, np.ufunc):
        return function
    return partial(_of_copy, function) if data.shape.size.lo <= PIECE else otherwise


def _of_copy(function: Function, data: Array, *, out: Array | None = None) -> Array:
    if out is None:
        result: Array = function(data.flatten()).reshape(data.shape)
        return result
    if out is not data:
        out[...] = data
    vector = out.reshape(-1)
    found = function(vector)
    if found is not vector:
        vector[...] = found
    return out


def held_between(data: Array, lowest: float, highest: float, out: Array | None = None) -> Array:
    """Every element, or the limit that it is beyond; NaN stays. The limits are within the range of the type.

    `out`: as for `calculated`.
    """
    dtype = data.dtype
    if _working_dtype(dtype) is not dtype:
        return calculated(lambda x: np.clip(x, lowest, highest), data, out=out)
    clip = partial(_clip, lowest=dtype.type(lowest), highest=dtype.type(highest))
    if data.size >= LARGE:
        return _in_parts(clip, (data,), np.empty(data.shape, dtype) if out is None else out)
    return np.asarray(clip(data, out=out))


def clip_kernel(data: TensorType, lowest: float, highest: float, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The same for data of this static type as `real_kernel` does."""
    if not (is_own_type(data) and is_small(data)):
        return otherwise
    dtype = data.element_type.dtype.type
    return partial(_clip, lowest=dtype(lowest), highest=dtype(highest))


def _clip(data: Array, *, lowest: Any, highest: Any, out: Array | None = None) -> Any:
    # One pass is faster than two, and even than one of np.maximum, which is the shorter call.
    if data.size < FEW:
        return np.minimum(np.maximum(data, lowest, out=out), highest, out=out)
    return np.clip(data, lowest, highest, out=out)


def _has_half_loop(function: Function, dtype: np.dtype[Any]) -> bool:
    """Whether this is one of NumPy's own functions of f16, which calculate in f32 and round once, as we would."""
    return dtype == np.float16 and isinstance(function, np.ufunc)


class Unary(Op):
    """An operator of one input, whose output has its shape and element type."""

    inputs = (In("data", types=CALCULABLE),)

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()


def unary(
    type_name: str,
    function: Function,
    doc: str,
    *,
    page: str,
    since: int = 1,
    types: frozenset[ElementType] = CALCULABLE,
    of_integers: Function | None = None,
    is_rising: bool = False,
    is_monotone: bool = False,
) -> type[Op]:
    """Register the operator that is `function` of every element of its input.

    doc: the formula. page: where the specification has it. of_integers: a function that integers need not leave their
    type for. is_rising, is_monotone: as in Op, of the one input.
    """

    class Operator(Unary):
        __doc__ = (
            f"{doc}\n\ndata: any shape and any type that the operator takes. output: the same.\nSpecification: {page}."
        )

        inputs = (In("data", types=types),)
        rising = ("data",) if is_rising else ()
        monotone = ("data",) if is_monotone else ()
        saturates = is_monotone
        overwrites = ("data",)

        def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
            if of_integers is not None and ElementType.of(data).is_integer:
                return calculated(of_integers, data, out=out)
            return calculated_real(function, data, out)

        def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
            return real_kernel(function, types[0], self.evaluate)

    return _registered(Operator, type_name, since)


def _registered(cls: type[Op], type_name: str, since: int) -> type[Op]:
    cls.__name__ = cls.__qualname__ = type_name
    return op(type_name, since=since)(cls)


def _one_word_for_none(text: str) -> str:
    return "none" if text == "explicit" else text


AutoBroadcast = Annotated[Broadcasting, LOWER, _one_word_for_none]
"""How the inputs are broadcast; OpenVINO knows "explicit" as another word for "none"."""


class Binary(Op):
    """An operator of two inputs of one type that are broadcast together; the output has their type.

    `auto_broadcast`: "numpy", "none" (the shapes are equal), or "pdpd": b is laid on the dims of a from `axis` on, or
    on its last dims for -1. A file that names no axis means 0, as OpenVINO reads it; the specification says -1.

    Errors: IR502 and IR504 for shapes that do not fit together, IR503 for an axis beyond the rank of a.
    Source: broadcast-rules of the specification.
    """

    inputs = (In("a", types=CALCULABLE), In("b", types=CALCULABLE, like="a"))

    auto_broadcast: AutoBroadcast = "numpy"
    axis: Annotated[Int, Named("auto_broadcast.auto_broadcast_axis")] = 0

    overwrites: ClassVar[tuple[str, ...]] = ("a", "b")

    function: ClassVar[Function]

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        shape = broadcast_shapes(a.shape, b.shape, self.auto_broadcast, self.axis)
        return TensorType(a.element_type if a.element_type.is_known else b.element_type, shape)

    def evaluate(self, a: Array, b: Array, *, out: Array | None = None) -> Array:
        return calculated(type(self).function, a, self.aligned(a, b), out=out)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        """NumPy's function itself where there is nothing to do around it."""
        a, b = types
        is_plain = type(self).evaluate is Binary.evaluate and isinstance(type(self).function, np.ufunc)
        if is_plain and is_own_type(a) and is_small(a, b) and self.auto_broadcast != "pdpd":
            return type(self).function
        return self.evaluate

    def aligned(self, a: Array, b: Array) -> Array:
        """b in a shape that NumPy broadcasts with a as `auto_broadcast` says."""
        return align_pdpd(b, a.ndim, self.axis) if self.auto_broadcast == "pdpd" else b


def binary(
    type_name: str,
    of_elements: Function,
    doc: str,
    *,
    page: str,
    since: int = 1,
    base: type[Binary] = Binary,
    types: frozenset[ElementType] = CALCULABLE,
    is_rising: bool = False,
    is_monotone: bool = False,
    is_arithmetic: bool = False,
) -> type[Op]:
    """Register the operator that is `of_elements` of every pair of elements.

    doc: the formula. page: where the specification has it. is_rising, is_monotone: as in Op, of both inputs;
    is_arithmetic: as `saturates` there.
    """

    class Operator(base):  # type: ignore[valid-type, misc]  # mypy takes no variable for a base class
        __doc__ = f"{doc}\n\na, b: any shapes that are broadcast together, as Binary tells. Specification: {page}."

        inputs = (In("a", types=types), In("b", types=types, like="a"))
        rising = ("a", "b") if is_rising else ()
        monotone = ("a", "b") if is_monotone else ()
        saturates = is_arithmetic
        function = of_elements

    return _registered(Operator, type_name, since)
