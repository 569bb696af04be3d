"""Conversions of values to another element type, and of strings to bytes and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, IRError
from ir_exec.kernels.chunks import convert_by_chunks
from ir_exec.kernels.limits import MemoryMeter
from ir_exec.kernels.strings import STRING_BYTES, encode_text, join_strings
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, ElementTypeName
from ir_exec.ops.base.shapes import merge_shapes, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import (
    BOOLEAN,
    INDEX,
    NUMERIC,
    STRING,
    Array,
    Bounds,
    Dim,
    ElementType,
    Shape,
    TensorType,
    element_types,
    saturate,
)

__all__ = ["Convert", "ConvertLike", "ConvertPromoteTypes", "StringTensorPack", "StringTensorUnpack"]

CONVERTIBLE = NUMERIC | BOOLEAN

PROMOTABLE = element_types("boolean f16 f32 f64 i4 i8 i16 i32 i64 u1 u4 u8 u16 u32 u64 f8e4m3 f8e5m2 bf16")
"""The types that ConvertPromoteTypes has rules for, as in OpenVINO."""


_ALIKE = element_types("boolean i8 i16 i32 i64 u8 u16 u32 u64")

_FLOATS = element_types("f16 f32 f64")


@op("Convert", since=1)
class Convert(Op):
    """output = data, converted to `destination_type` by the rules of `ir_exec.types.conversion`.

    The specification does not define the conversion of values that the new type cannot represent. Where OpenVINO's
    reference kernels and its CPU plugin differ, the result is as in C++: integers wrap, and an f64 is not converted to
    an integer via f32. Floats become f8e4m3 and f8e5m2 via f16, rounded twice, as in OpenVINO: 0.7813114 becomes 0.75,
    not 0.8125. A Cast of ONNX, which rounds once, is lowered with the correction.

    Specification: type/convert-1.

    Inputs:
        data: Any shape, any numeric type or boolean.

    Outputs:
        output: The shape of data; it may alias data.

    Raises:
        IRError: IR401 for a destination_type that is neither numeric nor boolean.
    """

    steps = "integers"

    inputs = (In("data", types=CONVERTIBLE),)
    is_elementwise = True
    may_alias = True
    rounds = True
    is_discontinuous = True
    is_conversion = True
    preserves_order = True

    destination_type: ElementTypeName

    def infer(self, data: TensorType) -> TensorType:
        _require_convertible(self.destination_type)
        return TensorType(self.destination_type, data.shape)

    def evaluate(self, data: Array) -> Array:
        return convert_by_chunks(data, self.destination_type)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _conversion(types[0], self.destination_type)

    def evaluate_bounds(self, data: Bounds) -> Bounds:
        """Bounds saturate, where values wrap: a bound that means "not bounded" must not become -1."""
        return saturate(data[0], self.destination_type), saturate(data[1], self.destination_type)


@op("ConvertLike", since=1)
class ConvertLike(Op):
    """output = data, converted as in Convert to the element type of `like`.

    Specification: type/convert-like-1.

    Inputs:
        data: Any shape, any numeric type or boolean.
        like: Any shape; only its type is used.

    Outputs:
        output: The shape of data; it may alias data.

    Raises:
        IRError: IR401 for a type of like that is neither numeric nor boolean.
    """

    steps = "integers"

    inputs = (In("data", types=CONVERTIBLE), In("like", only_type=True))
    is_elementwise = True
    may_alias = True
    rounds = True
    is_discontinuous = True
    preserves_order = True

    def infer(self, data: TensorType, like: TensorType) -> TensorType:
        if like.element_type.is_known:
            _require_convertible(like.element_type)
        return TensorType(like.element_type, data.shape)

    def evaluate(self, data: Array, like: Array) -> Array:
        return convert_by_chunks(data, ElementType.of(like))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, like = types
        if not like.element_type.is_known:
            return self.evaluate
        convert_data = _conversion(data, like.element_type)
        return lambda data, like: convert_data(data)


def _require_convertible(target: ElementType) -> None:
    if target not in CONVERTIBLE:
        raise ElementTypeError(f"no values can be converted to {target}", code=Code.element_type_not_taken)


def _conversion(source: TensorType, target: ElementType) -> Callable[[Array], Array]:
    """`convert` for arrays of this type: NumPy's own conversion if it is equivalent."""
    element_type, dtype = source.element_type, target.dtype
    if element_type is target:
        return lambda data: data
    into_integer = target in _ALIKE and target is not ElementType.boolean and element_type in _ALIKE
    into_float = target in (ElementType.f32, ElementType.f64) and element_type in _ALIKE | _FLOATS
    if (into_integer or into_float) and source.shape.size.lo < thresholds.SPLIT_ELEMENTS:
        return lambda data: data.astype(dtype)
    return lambda data: convert_by_chunks(data, target)


@op("ConvertPromoteTypes", since=14)
class ConvertPromoteTypes(Op):
    """Both inputs, converted to the type that their element types promote to.

    A float wins over an integer, an integer over a boolean. Of two floats or two integers the wider wins; a signed and
    an unsigned integer become a signed one that includes both, or `u64_integer_promotion_target` (f32 by default) if
    there is none. pytorch_scalar_promotion (false by default): of two floats or two integers, one of them a scalar, the
    type of the other wins.

    Specification: type/convert-promote-types-14.

    Inputs:
        input_0: Any shapes.
        input_1: Any shapes.

    Outputs:
        output_0: The shapes of the inputs; they may alias the inputs.
        output_1: As `output_0`.

    Raises:
        IRError: IR402 for a promotion that may lose values without `promote_unsafe` (false by default); as in OpenVINO,
            even if a type wider than both could represent them.
    """

    inputs = (In("input_0", types=PROMOTABLE), In("input_1", types=PROMOTABLE))
    moved_inputs = ("input_0",)
    outputs = ("output_0", "output_1")
    may_alias = True

    promote_unsafe: Bool = False
    pytorch_scalar_promotion: Bool = False
    u64_integer_promotion_target: ElementTypeName = ElementType.f32

    def infer(self, input_0: TensorType, input_1: TensorType) -> tuple[TensorType, TensorType]:
        _require_convertible(self.u64_integer_promotion_target)
        common = self._common(input_0, input_1)
        return TensorType(common, input_0.shape), TensorType(common, input_1.shape)

    def evaluate(self, input_0: Array, input_1: Array) -> tuple[Array, Array]:
        common = self._common(TensorType.of(input_0), TensorType.of(input_1))
        return convert_by_chunks(input_0, common), convert_by_chunks(input_1, common)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        common = self._common(*types)
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
            return max(kinds, key=lambda element_type: element_type.bits)
        # The remaining cases are the two floats of 8 bits and the two of 16 bits; neither includes the other.
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
        if not self.promote_unsafe and 2 * unsigned.bits > signed.bits:
            raise _unsafe(unsigned, signed)
        if unsigned is ElementType.u64:
            return self.u64_integer_promotion_target
        bits = max(2 * unsigned.bits, signed.bits)
        return {4: ElementType.i4, 8: ElementType.i8, 16: ElementType.i16, 32: ElementType.i32}.get(
            bits, ElementType.i64
        )


def _unsafe(a: ElementType, b: ElementType) -> ElementTypeError:
    return ElementTypeError(
        f"{a} and {b} have no common type that holds the values of both safely",
        code=Code.element_types_differ,
        hint="set promote_unsafe=true for a type that may lose values",
    )


@op("StringTensorPack", since=15)
class StringTensorPack(Op):
    """output[i] = the bytes symbols[begins[i]:ends[i]] as text.

    Bytes that are not UTF-8 become the surrogates of Python's `surrogateescape`; StringTensorUnpack converts them back
    to the original bytes.

    As in OpenVINO's kernel, strings may be in any order; its shape inference rejects constant begins or ends that
    decrease.

    Specification: type/string-tensor-pack-15.

    Inputs:
        begins: i32 or i64, one type and one shape.
        ends: Like `begins`.
        symbols: A vector of u8, UTF-8.

    Outputs:
        output: Strings, the shape of begins. A string that ends before it begins is empty.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR701 for a begin or an end beyond symbols.
    """

    inputs = (
        In("begins", types=INDEX),
        In("ends", types=INDEX, like="begins"),
        In("symbols", types=element_types("u8")),
    )

    def infer(self, begins: TensorType, ends: TensorType, symbols: TensorType) -> TensorType:
        require_rank(symbols, 1, "symbols")
        shape = merge_shapes(begins.shape, ends.shape, "the shapes of begins and ends", port="ends")
        return TensorType(ElementType.string, shape)

    def evaluate(self, begins: Array, ends: Array, symbols: Array) -> Array:
        for name, places in (("begins", begins), ("ends", ends)):
            _check_places(places, len(symbols), name)
        text = symbols.tobytes()
        meter = MemoryMeter()
        meter.add(STRING_BYTES * begins.size)
        output = np.empty(begins.size, object)
        for index, (begin, end) in enumerate(zip(begins.ravel().tolist(), ends.ravel().tolist(), strict=True)):
            # Strings may overlap: together they may be far longer than the characters.
            meter.add(max(end - begin, 0))
            output[index] = text[begin:end].decode("utf-8", "surrogateescape")
        return output.reshape(begins.shape)

    def check_values(self, *types: TensorType) -> list[IRError]:
        symbols = types[2].shape
        if symbols.dims is None or not symbols[0].is_static:
            return []
        faults: list[IRError] = []
        for name, places in zip(("begins", "ends"), types[:2], strict=True):
            try:
                if places.value is not None:
                    _check_places(places.value, symbols[0].size, name)
            except EvaluationError as error:
                faults.append(error)
        return faults


def _check_places(places: Array, length: int, name: str) -> None:
    outside = (places < 0) | (places > length)
    if outside.any():
        raise EvaluationError(
            f"{name} holds",
            actual=int(places[outside][0]),
            expected=f"0 to {length}",
            reason="the length of symbols",
            code=Code.index_out_of_range,
            port=name,
        )


@op("StringTensorUnpack", since=15)
class StringTensorUnpack(Op):
    """data[i] = the bytes symbols[begins[i]:ends[i]] as text: strings become bytes, the reverse of StringTensorPack.

    Specification: type/string-tensor-unpack-15.

    Inputs:
        data: Strings, any shape.

    Outputs:
        begins: i32, the shape of data.
        ends: i32, the shape of data.
        symbols: A vector of u8, the concatenated UTF-8 of all strings.
    """

    inputs = (In("data", types=STRING),)
    outputs = ("begins", "ends", "symbols")

    def infer(self, data: TensorType) -> tuple[TensorType, TensorType, TensorType]:
        places = TensorType(ElementType.i32, data.shape)
        strings = data.value
        length = Dim.of(0) if data.shape.size == 0 else Dim.any()
        if strings is not None:
            length = Dim.of(sum(map(len, _encode(strings))))
        return places, places, TensorType(ElementType.u8, Shape([length]))

    def evaluate(self, data: Array) -> tuple[Array, Array, Array]:
        return join_strings(_encode(data), data.shape)


def _encode(strings: Array) -> Iterator[bytes]:
    return map(encode_text, strings.ravel())
