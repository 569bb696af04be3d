"""Operators of strings: packing, comparing, numbers as text, hashes, UTF-8, joining and splitting."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.kernels.limits import MemoryMeter, current_limits
from ir_exec.kernels.strings import STRING_BYTES, join_strings
from ir_exec.ops import type as types_of_openvino
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import Positive
from ir_exec.ops.base.shapes import known_int, merge_shapes, normalize_axis, require_one_element, require_rank
from ir_exec.text.ops.base import (
    STRINGS,
    U8,
    TextOp,
    bytes_of,
    require_vector,
    strings_of,
    strings_type,
    text_op,
)
from ir_exec.text.tokenizers.hashing import fingerprint
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = [
    "ContribStringJoin",
    "ContribStringSplit",
    "EqualStr",
    "NumericToString",
    "OldStringTensorPack",
    "OldStringTensorUnpack",
    "StringToHashBucket",
    "UTF8Validate",
]

Mode = Literal["begins_ends"]


@text_op("StringTensorPack")
class OldStringTensorPack(types_of_openvino.StringTensorPack):
    """StringTensorPack of opset15, as written by openvino_tokenizers before OpenVINO supported it."""

    mode: Mode = "begins_ends"


@text_op("StringTensorUnpack")
class OldStringTensorUnpack(Op):
    """The begins, ends and characters of strings.

    Source: openvino_tokenizers, string_tensor_unpack.cpp.

    Inputs:
        data: Strings; or u8, a vector of packed strings, used before OpenVINO supported strings: i32 number of strings,
            i32 0, i32 end of each string, then the characters.

    Raises:
        IRError: IR704 for packed strings that are longer than data.
    """

    inputs = (In("data", types=element_types("string u8")),)
    outputs = STRINGS

    mode: Mode = "begins_ends"

    def infer(self, data: TensorType) -> Any:
        if data.element_type is U8:
            require_rank(data, 1, "data")
            return strings_type(Shape([Dim.any()]))
        return strings_type(data.shape)

    def evaluate(self, data: Array) -> Any:
        if data.dtype != np.uint8:
            return types_of_openvino.StringTensorUnpack().evaluate(data)
        packed = bytes_of(data)
        words = np.frombuffer(packed[: len(packed) // 4 * 4], "<i4")
        count = int(words[0]) if words.size else -1
        if not 0 <= count <= words.size - 2:
            raise EvaluationError(
                "data does not contain packed strings",
                expected="the number of strings and their ends first",
                code=Code.bad_value,
            )
        places = words[1 : count + 2]
        chars = np.frombuffer(bytearray(packed[4 * (count + 2) :]), np.uint8)
        strings = strings_of(places[:-1], places[1:], chars)
        return join_strings(strings, (count,))


@text_op("EqualStr")
class EqualStr(TextOp):
    """1 for equal strings, else 0; a single string is compared with each of the others.

    Source: openvino_tokenizers, equal_str.cpp.

    Inputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.
        other_begins: Strings.
        other_ends: Strings.
        other_chars: Strings.

    Outputs:
        output: i32, a vector.
    """

    generations = ((*STRINGS, "other_begins", "other_ends", "other_chars"),)

    def infer_inputs(self, **inputs: TensorType) -> TensorType:
        for name in ("chars", "other_chars"):
            require_vector(inputs[name], name)
        return TensorType(ElementType.i32, Shape([Dim.any()]))

    def evaluate_inputs(
        self, *, begins: Array, ends: Array, chars: Array, other_begins: Array, other_ends: Array, other_chars: Array
    ) -> Array:
        first = strings_of(begins, ends, chars)
        second = strings_of(other_begins, other_ends, other_chars, "other_begins")
        count = max(len(first), len(second)) if first and second else 0
        current_limits().require(16 * count)
        # As in OpenVINO, the shorter list is extended with its first string.
        equal = [first[i if i < len(first) else 0] == second[i if i < len(second) else 0] for i in range(count)]
        return np.array(equal, np.int32)


@text_op("NumericToString", version="openvino_tokenizers")
@text_op("NumericToString")
class NumericToString(Op):
    """Conversion of numbers to text: decimal integers, floats with at most six significant digits, `true` and `false`.

    Source: openvino_tokenizers, numeric_to_string.cpp; floats have the format of C++ streams.
    """

    inputs = (In("data", types=element_types("i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 boolean")),)

    def infer(self, data: TensorType) -> TensorType:
        return TensorType(ElementType.string, data.shape)

    def evaluate(self, data: Array) -> Array:
        current_limits().require(STRING_BYTES * data.size)
        output = np.empty(data.size, object)
        output[:] = [_as_text(value) for value in data.ravel().tolist()]
        return output.reshape(data.shape)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


@text_op("StringToHashBucket")
class StringToHashBucket(TextOp):
    """The FarmHash fingerprint of every string, modulo `num_buckets`.

    Source: openvino_tokenizers, string_to_hash_bucket.cpp; FarmHash, Fingerprint64, as in TensorFlow's
    StringToHashBucketFast.

    Inputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.

    Outputs:
        output: i64, the shape of begins.
    """

    generations = (STRINGS,)

    num_buckets: Positive

    def infer_inputs(self, *, begins: TensorType, ends: TensorType, chars: TensorType) -> TensorType:
        require_vector(chars, "chars")
        return TensorType(ElementType.i64, merge_shapes(begins.shape, ends.shape, "begins and ends", port="ends"))

    def evaluate_inputs(self, *, begins: Array, ends: Array, chars: Array) -> Array:
        hashes = (fingerprint(text) % self.num_buckets for text in strings_of(begins, ends, chars))
        return np.fromiter(hashes, np.int64, begins.size).reshape(begins.shape)


@text_op("UTF8Validate")
class UTF8Validate(TextOp):
    """Removal of invalid UTF-8 from strings, or its replacement by U+FFFD with `replace_mode`.

    Source: openvino_tokenizers, utf8_validate.cpp.

    Outputs:
        begins: Strings. A truncated sequence is one fault; an overlong sequence is one fault for each of its bytes.
        ends: Like `begins`.
        chars: Like `begins`.
    """

    generations = (STRINGS,)
    outputs = STRINGS

    replace_mode: bool = False

    def infer_inputs(self, *, begins: TensorType, ends: TensorType, chars: TensorType) -> Any:
        require_vector(chars, "chars")
        return strings_type(begins.shape)

    def evaluate_inputs(self, *, begins: Array, ends: Array, chars: Array) -> Any:
        mark = "\ufffd".encode() if self.replace_mode else b""
        return join_strings((_valid(text, mark) for text in strings_of(begins, ends, chars)), begins.shape)


_STARTS = ((0b110, 5, 2, 0x80), (0b1110, 4, 3, 0x800), (0b11110, 3, 4, 0x10000))
"""First bytes of sequences: the upper bits, the shift to these, the number of bytes, the lowest character."""


def _valid(text: bytes, mark: bytes) -> bytes:
    # As text, and with a mark in place of every byte, twice.
    current_limits().require((4 + 2 * max(len(mark), 1)) * len(text))
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        return text
    out = bytearray()
    at = 0
    while at < len(text):
        byte = text[at]
        if byte < 0x80:
            out.append(byte)
            at += 1
            continue
        start = next((start for start in _STARTS if byte >> start[1] == start[0]), None)
        if start is None:
            out += mark
            at += 1
            continue
        _, shift, length, least = start
        end = at + 1
        while end < min(at + length, len(text)) and text[end] >> 6 == 0b10:
            end += 1
        if end - at < length:
            out += mark
        else:
            code = byte & ((1 << shift) - 1)
            for byte_after in text[at + 1 : end]:
                code = code << 6 | byte_after & 0b111111
            out += mark * length if code < least else text[at:end]
        at = end
    return bytes(out)


@text_op("ContribStringJoin")
class ContribStringJoin(TextOp):
    """Concatenation of the strings along `axis`, with a separator.

    Source: openvino_tokenizers, contrib_string_ops.cpp; onnxruntime-extensions, StringJoin.

    Inputs:
        separator_chars: u8.
        axis: One integer, counted from the end if negative.

    Outputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.
        outputs: Strings, without this axis.

    Raises:
        IRError: IR503 for an axis out of range.
    """

    generations = ((*STRINGS, "separator_chars", "axis"),)
    any_kind = frozenset({"axis"})
    outputs = STRINGS

    def infer_inputs(
        self, *, begins: TensorType, ends: TensorType, chars: TensorType, separator_chars: TensorType, axis: TensorType
    ) -> Any:
        require_vector(separator_chars, "separator_chars")
        require_one_element(axis, "axis")
        if begins.rank is None:
            return strings_type(Shape.unknown())
        if begins.rank <= 1:
            return strings_type(Shape([]))
        axis_number = known_int(axis)
        if axis_number is None:
            return strings_type(Shape([Dim.any()] * (begins.rank - 1)))
        left_out = normalize_axis(axis_number, begins.rank)
        return strings_type(Shape([dim for position, dim in enumerate(begins.shape) if position != left_out]))

    def evaluate_inputs(self, *, begins: Array, ends: Array, chars: Array, separator_chars: Array, axis: Array) -> Any:
        strings = np.empty(begins.size, object)
        strings[:] = strings_of(begins, ends, chars)
        if begins.ndim == 0:
            return join_strings(strings, ())
        along = normalize_axis(int(axis.ravel()[0]), begins.ndim)
        rows = np.moveaxis(strings.reshape(begins.shape), along, -1)
        shape = rows.shape[:-1]
        separator = bytes_of(separator_chars)
        count = int(np.prod(shape))
        return join_strings((_join_row(separator, row.tolist()) for row in rows.reshape(count, rows.shape[-1])), shape)


def _join_row(separator: bytes, row: Sequence[bytes]) -> bytes:
    current_limits().require(sum(map(len, row)) + len(separator) * max(len(row) - 1, 0))
    return separator.join(row)


@text_op("ContribStringSplit")
class ContribStringSplit(TextOp):
    """Splitting of strings at a separator, as a sparse tensor.

    Source: openvino_tokenizers, contrib_string_ops.cpp; onnxruntime-extensions, StringSplit.

    Inputs:
        separator_chars: u8; an empty separator splits between bytes.
        skip_empty: One boolean: empty substrings are omitted, and the others keep their positions.

    Outputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.
        outputs: i64 indices [substrings, rank + 1], the substrings, i64 shape.
    """

    generations = ((*STRINGS, "separator_chars", "skip_empty"),)
    any_kind = frozenset({"skip_empty"})
    outputs = ("indices", *STRINGS, "shape")

    def infer_inputs(self, *, begins: TensorType, separator_chars: TensorType, **others: TensorType) -> Any:
        require_vector(separator_chars, "separator_chars")
        require_one_element(others["skip_empty"], "skip_empty")
        rank = Dim.any() if begins.rank is None else Dim.of(begins.rank + 1)
        indices = TensorType(ElementType.i64, Shape([Dim.any(), rank]))
        return indices, *strings_type(Shape([Dim.any()])), TensorType(ElementType.i64, Shape([rank]))

    def evaluate_inputs(
        self, *, begins: Array, ends: Array, chars: Array, separator_chars: Array, skip_empty: Array
    ) -> Any:
        separator, skip = bytes_of(separator_chars), bool(skip_empty.ravel()[0])
        strings = strings_of(begins, ends, chars)
        meter = MemoryMeter()
        index_bytes = 8 * (2 * begins.ndim + 3)
        most = 0
        counts, positions = array("q"), array("q")

        def pieces() -> Iterator[bytes]:
            nonlocal most
            for text in strings:
                before, position = len(positions), -1
                for position, piece in enumerate(_split(text, separator)):
                    if piece or not skip:
                        meter.add(index_bytes)
                        positions.append(position)
                        yield piece
                most = max(most, position + 1)
                counts.append(len(positions) - before)

        joined = join_strings(pieces(), (-1,))
        texts = np.repeat(np.arange(len(strings)), np.frombuffer(counts, np.int64))
        places = np.unravel_index(texts, begins.shape) if texts.size and begins.ndim else [texts] * begins.ndim
        indices = np.stack([*places, np.frombuffer(positions, np.int64)], axis=-1)
        return indices, *joined, np.array([*begins.shape, most], np.int64)


def _split(text: bytes, separator: bytes) -> Iterator[bytes]:
    """The substrings of a text, one by one; without a separator its bytes."""
    if not separator:
        yield from (text[at : at + 1] for at in range(len(text)))
        return
    start = 0
    while (end := text.find(separator, start)) >= 0:
        yield text[start:end]
        start = end + len(separator)
    yield text[start:]
