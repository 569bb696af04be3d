"""Strings as they are in memory: their UTF-8 bytes after each other, and where each begins and ends."""

from __future__ import annotations

import numpy as np

from ir_exec.errors import EvaluationError, IRError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.rules import merge_shapes, require_rank
from ir_exec.types import INDEX, STRING, Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = ["StringTensorPack", "StringTensorUnpack"]


@op("StringTensorPack", since=15)
class StringTensorPack(Op):
    """output[i] = the bytes symbols[begins[i]:ends[i]] as text.

    begins, ends: i32 or i64, one type and one shape. symbols: a vector of u8, UTF-8. output: strings, shape as begins.
    A string that ends before it begins is empty. Bytes that are not UTF-8 become the surrogates of Python's
    `surrogateescape`, of which StringTensorUnpack makes the same bytes again.

    As OpenVINO's kernel, we take strings in any order; its shape inference refuses constant begins or ends that fall.
    Errors: IR701 for a begin or an end beyond symbols. Specification: type/string-tensor-pack-15.
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
        output = np.empty(begins.size, object)
        for index, (begin, end) in enumerate(zip(begins.ravel().tolist(), ends.ravel().tolist(), strict=True)):
            output[index] = text[begin:end].decode("utf-8", "surrogateescape")
        return output.reshape(begins.shape)

    def check_values(self, *types: TensorType) -> list[IRError]:
        symbols = types[2].shape
        if symbols.dims is None or not symbols[0].is_static:
            return []
        found: list[IRError] = []
        for name, places in zip(("begins", "ends"), types[:2], strict=True):
            try:
                if places.value is not None:
                    _check_places(places.value, symbols[0].size, name)
            except EvaluationError as error:
                found.append(error)
        return found


def _check_places(places: Array, length: int, name: str) -> None:
    outside = (places < 0) | (places > length)
    if outside.any():
        message = f"{name} holds {int(places[outside][0])}, allowed are 0 to {length}, the length of symbols"
        raise EvaluationError(message, code="IR701", port=name)


@op("StringTensorUnpack", since=15)
class StringTensorUnpack(Op):
    """symbols: the UTF-8 bytes of all strings after each other; begins and ends: where each lies in them.

    data: strings, any shape. begins, ends: i32, shape as data. symbols: a vector of u8.

    Specification: type/string-tensor-unpack-15.
    """

    inputs = (In("data", types=STRING),)
    outputs = ("begins", "ends", "symbols")

    def infer(self, data: TensorType) -> tuple[TensorType, TensorType, TensorType]:
        places = TensorType(ElementType.i32, data.shape)
        strings = data.value
        length = Dim.of(0) if data.shape.size == 0 else Dim.any()
        if strings is not None:
            length = Dim.of(sum(map(len, _encoded(strings))))
        return places, places, TensorType(ElementType.u8, Shape([length]))

    def evaluate(self, data: Array) -> tuple[Array, Array, Array]:
        encoded = _encoded(data)
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        begins = ends - np.array([len(text) for text in encoded], np.int64)
        symbols = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        return begins.astype(np.int32).reshape(data.shape), ends.astype(np.int32).reshape(data.shape), symbols


def _encoded(strings: Array) -> list[bytes]:
    return [text.encode("utf-8", "surrogateescape") for text in strings.ravel()]
