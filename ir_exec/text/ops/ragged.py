"""Operators that combine and truncate ragged tensors, and convert them to dense and sparse tensors."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ResourceError, ShapeError
from ir_exec.kernels.limits import current_limits
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.shapes import known_int, merge_shapes, require_one_element, require_rank
from ir_exec.text.ops.base import I32, TextOp, bytes_of, ragged_type, require_vector, rows_of, text_op, vector
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "CombineSegments",
    "FuzeRagged",
    "RaggedTensorPack",
    "RaggedToDense",
    "RaggedToRagged",
    "RaggedToSparse",
    "Truncate",
]

PLACES = frozenset({I32})
RAGGED = ("begins", "ends", "data")


@text_op("RaggedTensorPack")
class RaggedTensorPack(Op):
    """The elements of a ragged tensor, without its rows; the operator marks ragged tensors for converters.

    Source: openvino_tokenizers, ragged_tensor_pack.cpp.
    """

    inputs = (In("begins", types=PLACES), In("ends", types=PLACES), In("data"))
    may_alias = True

    def infer(self, begins: TensorType, ends: TensorType, data: TensorType) -> TensorType:
        return data

    def evaluate(self, begins: Array, ends: Array, data: Array) -> Array:
        return data


@text_op("CombineSegments")
class CombineSegments(Op):
    """Concatenation of the rows i of all ragged inputs to row i of the output; scalar inputs are added to every row.

    Source: openvino_tokenizers, combine_segments.cpp.

    Inputs:
        inputs: begins, ends and data of any number of ragged tensors, then `ids`, one number for each tensor.

    Outputs:
        outputs: The ragged tensor, and a ragged tensor with the number of the input of each element.

    Raises:
        IRError: IR502 for inputs with different numbers of rows.
    """

    inputs = (In("inputs", variadic=True, mixed=True),)
    outputs = (*RAGGED, "id_begins", "id_ends", "ids")

    def infer(self, *inputs: TensorType) -> Any:
        if len(inputs) % 3 != 1:
            raise ShapeError(
                "the layer has", actual=len(inputs), detail="inputs", expected="three for each segment and one more"
            )
        rows = Shape([])
        for first in range(0, len(inputs) - 1, 3):
            begins = inputs[first]
            if begins.rank is None:
                rows = Shape.unknown() if rows.rank == 0 else rows
            elif begins.rank > 0:
                shape = begins.shape
                rows = shape if not rows.rank else merge_shapes(rows, shape, "the rows", port=self.input_name(first))
        data = [input.element_type for input in inputs[2:-1:3] if input.element_type.is_known]
        return (
            *ragged_type(rows, data[0] if data else ElementType.dynamic),
            *ragged_type(rows, inputs[-1].element_type),
        )

    def evaluate(self, *inputs: Array) -> Any:
        segments = [inputs[first : first + 3] for first in range(0, len(inputs) - 1, 3)]
        ids = inputs[-1].ravel()
        if ids.size != len(segments):
            raise EvaluationError(
                "ids has",
                actual=ids.size,
                detail="elements",
                expected=len(segments),
                reason="one for each segment",
                code=Code.bad_value,
                port=self.input_name(len(inputs) - 1),
            )
        shape = max((begins.shape for begins, _, _ in segments), key=lambda dims: (len(dims), prod(dims)))
        count = prod(shape)
        rows = []
        for begins, ends, data in segments:
            own = rows_of(begins, ends, data.size)
            if len(own) not in (1, count):
                raise ShapeError(
                    "a segment has",
                    actual=len(own),
                    detail="rows",
                    expected=f"1, or {count}",
                    reason=" as in another segment",
                )
            rows.append(own * count if len(own) == 1 and count != 1 else own)
        # [rows, segments]: the number of elements of each segment in each row of the output.
        counts = np.maximum(np.diff(np.array(rows, np.int64).reshape(len(rows), count, 2))[..., 0], 0).T
        total = int(counts.sum())
        element_bytes = 2 * (max([data.itemsize for _, _, data in segments]) + ids.itemsize + 8)
        current_limits().require(total * element_bytes + counts.size * _PART_BYTES)
        require_places(total)
        lengths = counts.sum(1)
        ends = np.cumsum(lengths).astype(np.int32).reshape(shape)
        begins = ends - lengths.astype(np.int32).reshape(shape)
        parts = [
            data[begin:end]
            for row in zip(*rows, strict=True)
            for (begin, end), (_, _, data) in zip(row, segments, strict=True)
        ]
        data = np.concatenate([segments[0][2][:0], *parts])
        numbers = np.repeat(np.tile(ids, count), counts.ravel())
        return begins, ends, data, begins.copy(), ends.copy(), numbers


_PART_BYTES = 256
"""Bytes of the segment of a row: a view, its begin, its end, and their entries in lists."""


def require_places(count: int) -> None:
    """Raise ResourceError for more elements than begins and ends of i32 can count."""
    if count >= 2**31:
        raise ResourceError("the rows have", actual=f"{count:,}", detail="elements", expected=f"at most {2**31 - 1:,}")


@text_op("Truncate")
class Truncate(TextOp):
    """Truncation of the rows of a ragged tensor, or of a pair, to a total of `max_length` elements.

    The data is unchanged; only begins and ends change.

    Source: openvino_tokenizers, truncate.cpp.

    Inputs:
        max_length: A scalar.
        side_chars: u8, `left` or `right`: the side on which elements are removed.
        mode_chars: u8, `only_first`, `only_second` or `longest_first`: the tensor of a pair from which elements are
            removed.

    Outputs:
        begins: The tensor.
        ends: The tensor.
        data: The tensor.
        second_begins: The second tensor of a pair.
        second_ends: The second tensor of a pair.
        second_data: The second tensor of a pair.

    Raises:
        IRError: IR704 for another side or mode.
    """

    generations = (
        (*RAGGED, "max_length", "side_chars", "mode_chars"),
        (*RAGGED, "second_begins", "second_ends", "second_data", "max_length", "side_chars", "mode_chars"),
    )
    any_kind = frozenset({"data", "second_data"})
    outputs = (*RAGGED, "second_begins", "second_ends", "second_data")
    varies_outputs = True

    m_num_inputs: int = 0

    def infer_inputs(self, *, begins: TensorType, data: TensorType, **others: TensorType | None) -> Any:
        for name in ("side_chars", "mode_chars"):
            require_vector(others[name], name)
        length = others["max_length"]
        assert length is not None, "every generation has this input"
        require_one_element(length, "max_length")
        first = (TensorType(I32, begins.shape), TensorType(I32, begins.shape), data.without_values())
        second, elements = others["second_begins"], others["second_data"]
        if second is None or elements is None:
            return first
        rows = TensorType(I32, merge_shapes(begins.shape, second.shape, "the rows of a pair", port="second_begins"))
        return *first, rows, rows, elements.without_values()

    def evaluate_inputs(
        self, *, begins: Array, ends: Array, data: Array, max_length: Array, side_chars: Array, **others: Any
    ) -> Any:
        side = bytes_of(side_chars).decode("utf-8", "replace")
        if side not in ("left", "right"):
            raise EvaluationError(
                "the side is", actual=repr(side), expected="left or right", code=Code.bad_value, port="side_chars"
            )
        most = int(max_length.ravel()[0])
        lengths = ends.astype(np.int64) - begins
        if others["second_begins"] is None:
            return (*_truncate_rows(begins, ends, np.minimum(lengths, most), side), data)
        second_begins, second_ends = others["second_begins"], others["second_ends"]
        second = second_ends.astype(np.int64) - second_begins
        first, second = _limit_lengths(lengths, second, most, bytes_of(others["mode_chars"]).decode("utf-8", "replace"))
        return (
            *_truncate_rows(begins, ends, first, side),
            data,
            *_truncate_rows(second_begins, second_ends, second, side),
            others["second_data"],
        )


def _truncate_rows(begins: Array, ends: Array, lengths: Array, side: str) -> tuple[Array, Array]:
    """Truncate the rows to these lengths."""
    if side == "right":
        return begins, (begins + lengths).astype(np.int32)
    return (ends - lengths).astype(np.int32), ends


def _limit_lengths(first: Array, second: Array, most: int, mode: str) -> tuple[Array, Array]:
    """The lengths of both rows of a pair, with a total of at most `most`."""
    over = first + second > most
    if mode == "only_first":
        return np.where(over, np.minimum(first, most), first), second
    if mode == "only_second":
        return first, np.where(over, np.minimum(second, most), second)
    if mode != "longest_first":
        raise EvaluationError(
            "the mode is",
            actual=repr(mode),
            expected="only_first, only_second or longest_first",
            code=Code.bad_value,
            port="mode_chars",
        )
    half, odd = most // 2, most % 2
    first_alone = (first >= half + odd) & (second <= half)
    second_alone = ~first_alone & (first < half + odd) & (second > half)
    both = ~first_alone & ~second_alone
    longer = first >= second
    new_first = np.where(first_alone, most - second, np.where(both, half + odd * longer, first))
    new_second = np.where(second_alone, most - first, np.where(both, half + odd * ~longer, second))
    return np.where(over, new_first, first), np.where(over, new_second, second)


@text_op("RaggedToDense")
class RaggedToDense(TextOp):
    """A dense tensor of the rows with `size` elements each, padded with `value`.

    Source: openvino_tokenizers, ragged_to_dense.cpp.

    Inputs:
        begins: A ragged tensor, whose elements may be blocks (data of rank 2 and more).
        ends: Like `begins`.
        data: Like `begins`.
        size: A scalar.
        value: A scalar with the type of data.

    Attributes:
        pad_right: A scalar; the attribute is used if the input is missing. Pad after the elements if true, else before.
        m_pad_max_length: Read `size` elements for every row.

    Outputs:
        outputs: The rows, and a mask that is true for elements of data.

    Raises:
        IRError: IR701 for a row beyond data.
    """

    generations = ((*RAGGED, "size", "value"), (*RAGGED, "size", "value", "pad_right_input"))
    any_kind = frozenset({"data", "size", "value", "pad_right_input"})
    outputs = ("dense", "mask")

    pad_right: bool = True
    m_pad_max_length: bool = False

    def infer_inputs(
        self,
        *,
        begins: TensorType,
        ends: TensorType,
        data: TensorType,
        size: TensorType,
        value: TensorType,
        pad_right_input: TensorType | None,
    ) -> Any:
        require_one_element(size, "size")
        merge_shapes(begins.shape, ends.shape, "the shapes of begins and ends", port="ends")
        if begins.rank is None or data.rank is None:
            shape = Shape.unknown()
        else:
            length = known_int(size)
            shape = Shape([*begins.shape, Dim.any() if length is None else Dim.of(max(length, 0)), *data.shape[1:]])
        return TensorType(data.element_type, shape), TensorType(ElementType.boolean, shape)

    def evaluate_inputs(
        self, *, begins: Array, ends: Array, data: Array, size: Array, value: Array, pad_right_input: Array | None
    ) -> Any:
        length = int(size.ravel()[0])
        if length < 0:
            raise EvaluationError("size is", actual=length, expected="0 or more", code=Code.bad_value, port="size")
        right = self.pad_right if pad_right_input is None else bool(pad_right_input.ravel()[0])
        rows = rows_of(begins, ends, len(data))
        # The elements and the mask.
        current_limits().require(len(rows) * length * prod(data.shape[1:]) * (data.itemsize + 1))
        dense = np.full((len(rows), length, *data.shape[1:]), value.ravel()[0], data.dtype)
        mask = np.zeros(dense.shape, bool)
        for row, (begin, end) in enumerate(rows):
            count = length if self.m_pad_max_length else min(end - begin, length)
            if begin + count > len(data):
                raise EvaluationError(
                    f"row {row} ends at",
                    actual=begin + count,
                    expected=f"at most {len(data)}",
                    reason="the number of elements",
                    code=Code.index_out_of_range,
                    port="begins",
                )
            at = 0 if right else length - count
            dense[row, at : at + count] = data[begin : begin + count]
            mask[row, at : at + count] = True
        shape = (*begins.shape, length, *data.shape[1:])
        return dense.reshape(shape), mask.reshape(shape)


_SPARSE_BYTES = 64
"""Bytes of an element while its row and its column are computed."""


@text_op("RaggedToSparse")
class RaggedToSparse(Op):
    """The row, and the position in the row, of each element.

    Source: openvino_tokenizers, ragged_to_sparse.cpp.

    Inputs:
        begins: i32, vectors.
        ends: i32, vectors.

    Outputs:
        output: i32, [elements, 2].
    """

    inputs = (In("begins", types=PLACES), In("ends", types=PLACES))

    def infer(self, begins: TensorType, ends: TensorType) -> TensorType:
        merge_shapes(begins.shape, ends.shape, "the shapes of begins and ends", port="ends")
        return TensorType(I32, Shape([Dim.any(), 2]))

    def evaluate(self, begins: Array, ends: Array) -> Array:
        counts = np.maximum(ends.ravel().astype(np.int64) - begins.ravel(), 0)
        total = int(counts.sum())
        current_limits().require(total * _SPARSE_BYTES)
        rows = np.repeat(np.arange(counts.size), counts)
        columns = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.stack([rows, columns], axis=-1).astype(np.int32)


@text_op("RaggedToRagged")
class RaggedToRagged(Op):
    """The begins and ends of rows, computed from the row of each element.

    The first element with a row that does not exist, and all elements after it, are omitted.

    Source: openvino_tokenizers, ragged_to_ragged.cpp.

    Inputs:
        row_ids: i32, a sorted vector.
        row_count: i32, one element.

    Outputs:
        begins: i32, [row_count].
        ends: i32, [row_count].

    Raises:
        IRError: IR704 for a negative row.
    """

    inputs = (In("row_ids", types=PLACES), In("row_count", types=PLACES))
    outputs = ("begins", "ends")

    def infer(self, row_ids: TensorType, row_count: TensorType) -> Any:
        count = known_int(row_count)
        rows = TensorType(I32, Shape([Dim.any() if count is None else Dim.of(max(count, 0))]))
        return rows, rows

    def evaluate(self, row_ids: Array, row_count: Array) -> Any:
        count = int(row_count.ravel()[0])
        ids = row_ids.ravel().astype(np.int64)
        if ids.size and int(ids.min()) < 0:
            raise EvaluationError(
                "row_ids contains", actual=int(ids.min()), expected="0 or more", code=Code.bad_value, port="row_ids"
            )
        beyond = np.flatnonzero(ids >= count)
        ids = ids[: beyond[0]] if beyond.size else ids
        current_limits().require(max(count, 0) * 24)
        rows = np.arange(max(count, 0))
        ends = np.searchsorted(ids, rows, "right").astype(np.int32)
        return np.searchsorted(ids, rows, "left").astype(np.int32), ends


@text_op("FuzeRagged")
class FuzeRagged(Op):
    """Concatenation of the consecutive strings of each row to one string.

    Source: openvino_tokenizers, fuze.cpp.

    Inputs:
        ragged_begins: i32, the rows.
        ragged_ends: i32, the rows.
        begins: i32, the strings.
        ends: i32, the strings.

    Outputs:
        outputs: The start of the first string and the end of the last string of each row; an empty row is an empty
            string.
    """

    inputs = (
        In("ragged_begins", types=PLACES),
        In("ragged_ends", types=PLACES),
        In("begins", types=PLACES),
        In("ends", types=PLACES),
    )
    outputs = ("begins", "ends")

    def infer(self, ragged_begins: TensorType, ragged_ends: TensorType, begins: TensorType, ends: TensorType) -> Any:
        require_rank(begins, 1, "begins")
        rows = TensorType(I32, merge_shapes(ragged_begins.shape, ragged_ends.shape, "the rows", port="ragged_ends"))
        return rows, rows

    def evaluate(self, ragged_begins: Array, ragged_ends: Array, begins: Array, ends: Array) -> Any:
        first, last = [], []
        for begin, end in rows_of(ragged_begins, ragged_ends, begins.size):
            at = int(begins[begin]) if begin < begins.size else int(ends[-1]) if ends.size else 0
            first.append(at)
            last.append(int(ends[end - 1]) if end > begin else at)
        return vector(first).reshape(ragged_begins.shape), vector(last).reshape(ragged_begins.shape)
