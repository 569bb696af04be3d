"""What a check finds in constant indices before a run: those out of range, negative ones, duplicates."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.indices import Negative, as_integers, find_indices
from ir_exec.types import Array

__all__ = ["check_duplicates", "check_indices"]


def check_indices(
    indices: Array, size: int, axis: int, negative: Negative, component: int | None = None
) -> list[IRError]:
    """What is wrong with the values of constant indices: IR701, or the warning IR702 for a tolerated negative one."""
    try:
        find_indices(indices, size, axis, negative, component)
    except EvaluationError as error:
        return [error]
    values = as_integers(indices)
    below = int(np.count_nonzero(values < 0))
    if negative != "tolerated" or not below:
        return []
    message = (
        f"{below} of {values.size} indices are negative, which the specification does not provide for; "
        "they count from the end of the axis"
    )
    return [EvaluationError(message, code=Code.negative_index, port="indices", severity="warning")]


def check_duplicates(offsets: Array) -> list[IRError]:
    """The information IR703 where several constant indices choose the same element or slice to be overwritten."""
    duplicates = offsets.size - np.unique(offsets).size
    if not duplicates:
        return []
    message = f"{duplicates} of {offsets.size} indices choose what another one chooses too; the last one wins"
    return [EvaluationError(message, code=Code.duplicate_index, port="indices", severity="info")]
