"""Constants in the memory order in which they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.plan.memory import store
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants

__all__ = ["is_scattered", "relayout_constants"]


def relayout_constants(constants: ModelConstants) -> ModelConstants:
    """Copy non-contiguous constants, and unaligned constants of ONNX files."""
    arrays, weight_memory = constants.arrays, constants.weight_memory
    for number, array in enumerate(arrays):
        if array is None:
            continue
        is_aligned = array.flags.aligned or not constants.setting.expand
        if not is_aligned or (is_scattered(array) and weight_memory.is_own(array)):
            # One at a time: the previous array is freed.
            arrays[number] = store(array.copy())
            if not is_aligned:
                weight_memory.leave_file(array)
    return constants


def is_scattered(array: Array) -> bool:
    """Return True if neither rows nor columns are contiguous, and no elements share memory."""
    if array.flags.c_contiguous:
        return False
    strides = array.squeeze().strides
    return 0 not in strides and array.itemsize not in strides[-2:]
