"""Eye: a matrix with ones on one diagonal."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import ElementTypeName, among
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import known_shape, known_size, require_one_element, require_rank
from ir_exec.types import BOOLEAN, INDEX, NUMERIC, Array, Shape, TensorType, convert

__all__ = ["Eye"]


@op("Eye", since=9)
class Eye(Op):
    """output[..., i, i + diagonal_index] = 1, all other elements 0.

    Specification: generation/eye-9.

    Inputs:
        num_rows: i32 or i64, a scalar or one element.
        num_columns: Like `num_rows`.
        diagonal_index: i32 or i64, a scalar or one element. A negative diagonal is below the main one; a matrix without
            the diagonal is all zeros.
        batch_shape: Optional, a vector of i32 or i64, the dims before the matrix.

    Outputs:
        output: Shape batch_shape + [num_rows, num_columns], the type `output_type`: numeric, or boolean, an extension
            of OpenVINO to the specification.

    Raises:
        IRError: IR501 and IR502 for inputs of other shapes, IR505 and IR704 for a negative size.
    """

    inputs = (
        In("num_rows", types=INDEX, domain=ValueRange(3, 5, "sizes")),
        In("num_columns", types=INDEX, domain=ValueRange(3, 5, "sizes")),
        In("diagonal_index", types=INDEX),
        In("batch_shape", types=INDEX, optional=True),
    )
    sized_by = ("num_rows", "num_columns", "batch_shape")

    output_type: Annotated[ElementTypeName, among(NUMERIC | BOOLEAN, "a numeric element type or boolean")]

    def infer(
        self,
        num_rows: TensorType,
        num_columns: TensorType,
        diagonal_index: TensorType,
        batch_shape: TensorType | None = None,
    ) -> TensorType:
        require_one_element(diagonal_index, "diagonal_index")
        matrix = (known_size(num_rows, "num_rows"), known_size(num_columns, "num_columns"))
        if batch_shape is None:
            return TensorType(self.output_type, Shape(matrix))
        require_rank(batch_shape, 1, "batch_shape")
        batch = known_shape(batch_shape, "batch_shape")
        return TensorType(self.output_type, batch if batch.dims is None else Shape([*batch, *matrix]))

    def evaluate(
        self, num_rows: Array, num_columns: Array, diagonal_index: Array, batch_shape: Array | None = None
    ) -> Array:
        rows, columns, diagonal = (int(number.reshape(-1)[0]) for number in (num_rows, num_columns, diagonal_index))
        batch = () if batch_shape is None else tuple(batch_shape.tolist())
        for name, size in (("num_rows", rows), ("num_columns", columns), *(("batch_shape", size) for size in batch)):
            if size < 0:
                raise EvaluationError(f"{name} is", actual=size, expected="0 or more", port=name)
        # The diagonal is clipped to the range of indices that NumPy accepts.
        matrix = np.eye(rows, columns, min(max(diagonal, -rows), columns), np.int8)
        return np.broadcast_to(convert(matrix, self.output_type), (*batch, rows, columns)).copy()
