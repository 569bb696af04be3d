"""Magnitudes of the terms of a layer's sums, for terms that may cancel.

The rounding error of a sum is relative to its largest terms: if 1 and -1 cancel, the error is relative to 1, however
small the result is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.debug.values.facts import as_numbers
from ir_exec.errors import IRError
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType

__all__ = ["cancelling_terms"]


def cancelling_terms(node: Node, inputs: Sequence[Array]) -> Array | None:
    """Return the sum of the magnitudes of the terms of each element of the first output, in f64.

    Sums that are not finite are returned as 0.

    Returns:
        None for layers without sums that may cancel.
    """
    if node.op is None or not inputs or not ElementType.of(inputs[0]).is_float:
        return None
    wide = [as_numbers(array) if ElementType.of(array).is_float else array for array in inputs]
    try:
        with np.errstate(all="ignore"):
            magnitudes = node.op.sum_magnitudes(wide)
    except (IRError, ValueError):
        return None  # kernels for specific types reject f64
    return None if magnitudes is None else np.where(np.isfinite(magnitudes), magnitudes, 0.0)
