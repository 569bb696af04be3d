"""What operators that read images [batch, channels, rows, columns] share: dims, and indices of images."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.types import Array, Dim, TensorType

__all__ = ["dims_of", "images_of"]


def images_of(numbers: Array, batches: int, port: str) -> list[int]:
    """The indices of images as ints; raises EvaluationError IR701 for one that is out of range."""
    # In this form NaN is wrong too.
    wrong = ~((numbers >= 0) & (numbers < batches))
    if wrong.any():
        first = int(np.argmax(wrong))
        allowed = f"allowed are 0 to {batches - 1}" if batches else "none is allowed"
        message = f"{port}[{first}] is {numbers[first]}, {allowed}: data has {batches} images"
        raise EvaluationError(message, code=Code.index_out_of_range, port=port)
    images: list[int] = numbers.astype(np.int64).tolist()
    return images


def dims_of(tensor: TensorType, rank: int) -> tuple[Dim, ...]:
    """The dims of a tensor that has this rank if its rank is known; any dims if it is not."""
    return (Dim.any(),) * rank if tensor.shape.dims is None else tensor.shape.dims
