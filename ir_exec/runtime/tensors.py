"""Arguments of calls as NumPy arrays: tensors of other packages on any device, and sequences of numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType

__all__ = ["is_tensor", "to_numpy"]

_TORCH_TYPES = {
    "torch.bfloat16": (ElementType.bf16, "int16"),
    "torch.float8_e4m3fn": (ElementType.f8e4m3, "uint8"),
    "torch.float8_e5m2": (ElementType.f8e5m2, "uint8"),
    "torch.float8_e8m0fnu": (ElementType.f8e8m0, "uint8"),
}
"""The element types that NumPy lacks, with integers of the same size."""


def is_tensor(value: Any) -> bool:
    """Return True for an array of NumPy or of another package."""
    return isinstance(value, np.ndarray) or hasattr(type(value), "__dlpack__") or hasattr(type(value), "__array__")


def to_numpy(value: Any) -> Array:
    """Return a value as an array, without a copy where its memory is the machine's own.

    Raises:
        Exception: The errors of the package of the value.
    """
    package = type(value).__module__.partition(".")[0]
    if isinstance(value, (list, tuple)) and any(is_tensor(element) and not _is_numpy(element) for element in value):
        return np.stack([to_numpy(element) for element in value])
    if package == "torch" and hasattr(value, "detach"):
        return _from_torch(value)
    if package == "cupy":
        return np.asarray(value.get())
    if hasattr(type(value), "__dlpack__") and not hasattr(type(value), "__array__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def _is_numpy(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def _from_torch(tensor: Any) -> Array:
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if str(tensor.dtype) not in _TORCH_TYPES:
        array: Array = tensor.numpy()
        return array
    element_type, integer = _TORCH_TYPES[str(tensor.dtype)]
    integers: Array = tensor.contiguous().view(getattr(sys.modules["torch"], integer)).numpy()
    return integers.view(element_type.dtype)
