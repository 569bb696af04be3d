"""The limits of NumPy's arrays, which files may exceed."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ir_exec.errors import ResourceError

__all__ = ["MOST_AXES", "require_array_size"]

MOST_AXES = 64
"""Maximum axes of an array."""

_MOST_BYTES = 2**63 - 1
"""Maximum bytes of an array; dims of 0 count as 1, for empty arrays too."""


def require_array_size(sizes: Iterable[int], itemsize: int = 1) -> None:
    """Raise ResourceError for a shape that no array can have.

    Args:
        sizes: The static dims.
        itemsize: Bytes of an element.
    """
    dims = [int(size) for size in sizes]
    if len(dims) > MOST_AXES:
        raise ResourceError("a tensor has", actual=len(dims), detail="axes", expected=f"at most {MOST_AXES}")
    if math.prod([max(dim, 1) for dim in dims]) * max(itemsize, 1) > _MOST_BYTES:
        raise ResourceError(f"a tensor of shape {dims} is larger than the maximum, 2**63 - 1 bytes")
