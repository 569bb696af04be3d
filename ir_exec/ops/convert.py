"""Element types: the same values with elements of another type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ir_exec.errors import ElementTypeError
from ir_exec.ops.attributes import Bool, ElementTypeName
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.slices import by_pieces
from ir_exec.types import BOOLEAN, NUMERIC, Array, Bounds, ElementType, TensorType, convert, element_types, saturated

__all__ = ["Convert", "ConvertLike", "ConvertPromoteTypes", "Identity"]

CONVERTIBLE = NUMERIC | BOOLEAN

LARGE = 2**19
"""How many elements make it worth while to convert them in pieces."""

PROMOTABLE = element_types("boolean f16 f32 f64 i4 i8 i16 i32 i64 u1 u4 u8 u16 u32 u64 f8e4m3 f8e5m2 bf16")
"""What the rules of ConvertPromoteTypes were made for; OpenVINO takes no other types either."""


@op("Identity", since=16)
class Identity(Op):
    """output = data.

    Specification: activation/identity-16.
    """

    inputs = (In("data"),)
    rising = ("data",)
    views = True

    def infer(self, data: TensorType) -> TensorType:
        return data

    def evaluate(self, data: Array) -> Array:
        return data


@op("Convert", since=1)
class Convert(Op):
    """output = data with elements of `destination_type`; `ir_exec.types.conversion` says how each value is converted.

    The specification leaves conversions that lose range undefined; where OpenVINO's reference kernels and its CPU
    plugin differ there, we do as C++ does: integers wrap, an f64 is not made an f32 on its way to an integer.

    Specification: type/convert-1.
    """

    inputs = (In("data", types=CONVERTIBLE),)
    views = True

    destination_type: ElementTypeName

    def infer(self, data: TensorType) -> TensorType:
        _require_convertible(self.destination_type)
        return TensorType(self.destination_type, data.shape)

    def evaluate(self, data: Array) -> Array:
        return _converted(data, self.destination_type)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _conversion(types[0], self.destination_type)

    def evaluate_bounds(self, data: Bounds) -> Bounds:
        """Bounds end at the ends of the new type: one that means "not bounded" must not become -1 by wrapping."""
        return saturated(data[0], self.destination_type), saturated(data[1], self.destination_type)


@op("ConvertLike", since=1)
class ConvertLike(Op):
    """output = data with elements of the type that `like` has; the values and the shape of `like` do not matter.

    Specification: type/convert-like-1.
    """

    inputs = (In("data", types=CONVERTIBLE), In("like"))
    views = True

    def infer(self, data: TensorType, like: TensorType) -> TensorType:
        if like.element_type.is_known:
            _require_convertible(like.element_type)
        return TensorType(like.element_type, data.shape)

    def evaluate(self, data: Array, like: Array) -> Array:
        return _converted(data, ElementType.of(like))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, like = types
        if not like.element_type.is_known:
            return self.evaluate
        convert_data = _conversion(data, like.element_type)
        return lambda data, like: convert_data(data)


@op("ConvertPromoteTypes", since=14)
class ConvertPromoteTypes(Op):
    """Both inputs with elements of the one type that their types promote to.

    A float wins over an integer, an integer over a boolean; of two floats or two integers the wider wins, and a signed
    integer that holds both where only one is signed. `pytorch_scalar_promotion`: of two floats or two integers, one of
    them a scalar, the other one's type wins. Without `promote_unsafe` every promotion that may lose values is an error
    (ElementTypeError IR402), also where a type wider than both would have held them, as in OpenVINO.

    Specification: type/convert-promote-types-14.
    """

    inputs = (In("input_0", types=PROMOTABLE), In("input_1", types=PROMOTABLE))
    outputs = ("output_0", "output_1")
    views = True

    promote_unsafe: Bool = False
    pytorch_scalar_promotion: Bool = False
    u64_integer_promotion_target: ElementTypeName = ElementType.f32

    def infer(self, input_0: TensorType, input_1: TensorType) -> tuple[TensorType, TensorType]:
        _require_convertible(self.u64_integer_promotion_target)
        common = self._common(input_0, input_1)
        return TensorType(common, input_0.shape), TensorType(common, input_1.shape)

    def evaluate(self, input_0: Array, input_1: Array) -> tuple[Array, Array]:
        common = self._common(TensorType.of(input_0), TensorType.of(input_1))
        return _converted(input_0, common), _converted(input_1, common)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        common = self._common(*types)
        if common is ElementType.dynamic:
            return self.evaluate
        first, second = (_conversion(type, common) for type in types)
        return lambda input_0, input_1: (first(input_0), second(input_1))

    def _common(self, a: TensorType, b: TensorType) -> ElementType:
        kinds = a.element_type, b.element_type
        if ElementType.dynamic in kinds:
            return ElementType.dynamic
        if kinds[0] is kinds[1]:
            return kinds[0]
        if ElementType.boolean in kinds:
            return kinds[1] if kinds[0] is ElementType.boolean else kinds[0]
        if kinds[0].is_float is not kinds[1].is_float:
            return self._float_and_integer(*(kinds if kinds[0].is_float else kinds[::-1]))
        if self.pytorch_scalar_promotion:
            if a.rank is None or b.rank is None:
                return ElementType.dynamic
            if (a.rank == 0) is not (b.rank == 0):
                return self._scalar_and_tensor(*(kinds if a.rank == 0 else kinds[::-1]))
        if kinds[0].is_signed is not kinds[1].is_signed:
            return self._signed_and_unsigned(*(kinds if kinds[0].is_signed else kinds[::-1]))
        if kinds[0].bits != kinds[1].bits:
            return max(kinds, key=lambda kind: kind.bits)
        # What is left are the two 8-bit floats and the two 16-bit floats, none of which holds the other.
        if not self.promote_unsafe:
            raise _unsafe(*kinds)
        return ElementType.f16 if kinds[0].bits == 8 else ElementType.f32

    def _float_and_integer(self, real: ElementType, integer: ElementType) -> ElementType:
        if not self.promote_unsafe and real.bits < 2 * integer.bits:
            raise _unsafe(integer, real)
        return real

    def _scalar_and_tensor(self, scalar: ElementType, tensor: ElementType) -> ElementType:
        same_sign = tensor.is_signed is scalar.is_signed and tensor.bits >= scalar.bits
        into_signed = tensor.is_signed and not scalar.is_signed and 2 * tensor.bits >= scalar.bits
        if not self.promote_unsafe and not same_sign and not into_signed:
            raise _unsafe(scalar, tensor)
        return tensor

    def _signed_and_unsigned(self, signed: ElementType, unsigned: ElementType) -> ElementType:
        if not self.promote_unsafe and (unsigned.bits > 32 or 2 * unsigned.bits > signed.bits):
            raise _unsafe(unsigned, signed)
        if unsigned.bits > 32:
            return self.u64_integer_promotion_target
        bits = max(2 * unsigned.bits, signed.bits)
        return {4: ElementType.i4, 8: ElementType.i8, 16: ElementType.i16, 32: ElementType.i32}.get(
            bits, ElementType.i64
        )


_ALIKE = element_types("boolean i8 i16 i32 i64 u8 u16 u32 u64")
_FLOATS = element_types("f16 f32 f64")


def _converted(data: Array, target: ElementType) -> Array:
    """`convert`; of many elements in pieces, on as many threads as the context allows."""
    if data.size < LARGE or not data.flags.c_contiguous or data.dtype == target.dtype:
        return convert(data, target)
    return by_pieces(partial(convert, target=target), data, np.empty(data.shape, target.dtype))


def _conversion(source: TensorType, target: ElementType) -> Callable[[Array], Array]:
    """`convert` for arrays of this type; where NumPy's own conversion does the same, that."""
    kind, dtype = source.element_type, target.dtype
    if kind is target:
        return lambda data: data
    into_integer = target in _ALIKE and target is not ElementType.boolean and kind in _ALIKE
    into_float = target in (ElementType.f32, ElementType.f64) and kind in _ALIKE | _FLOATS
    if (into_integer or into_float) and source.shape.size.lo < LARGE:
        return lambda data: data.astype(dtype)
    return lambda data: _converted(data, target)


def _require_convertible(target: ElementType) -> None:
    if target not in CONVERTIBLE:
        raise ElementTypeError(f"nothing can be converted to {target}", code="IR401")


def _unsafe(a: ElementType, b: ElementType) -> ElementTypeError:
    return ElementTypeError(
        f"{a} and {b} have no common type that holds the values of both safely",
        code="IR402",
        hint="promote_unsafe=true takes a type that may lose values",
    )
