"""Remainders of floats, which NumPy takes from the C library one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.elementwise import in_parts
from ir_exec.types import Array

__all__ = ["floor_remainder", "truncated_remainder"]

_EXACT_QUOTIENT = 2.0**28
"""Below, the quotient of two f32 as f64 is never rounded onto or across an integer, and its integer part times the
divisor, of 28 and 24 bits, is exact. So are the differences, but those that f32 rounds as well."""


def floor_remainder(a: Array, b: Array, out: Array | None = None) -> Array:
    """np.remainder of arrays that broadcast together, bit for bit; out: where it is written."""
    return _remainder(np.remainder, np.floor, 1, a, b, out)


def truncated_remainder(a: Array, b: Array, out: Array | None = None) -> Array:
    """np.fmod of arrays that broadcast together, bit for bit; out: where it is written."""
    return _remainder(np.fmod, np.trunc, 0, a, b, out)


def _remainder(
    function: np.ufunc, whole: Callable[..., Any], signed: int, a: Array, b: Array, out: Array | None
) -> Array:
    """whole: rounds quotients to integers. signed: which of a and b has the sign of the remainder."""

    def of_part(a: Array, b: Array, out: Array) -> None:
        quotients = np.divide(a, b, dtype=np.float64)
        # False where one is NaN too.
        if not -_EXACT_QUOTIENT < quotients.min() <= quotients.max() < _EXACT_QUOTIENT:
            function(a, b, out=out)
            return
        whole(quotients, out=quotients)
        quotients *= b
        np.subtract(a, quotients, out=quotients)
        if np.isnan(quotients.sum()):
            # An infinite divisor.
            function(a, b, out=out)
            return
        np.copysign(quotients, (a, b)[signed], out=out, casting="same_kind")

    found = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype) if out is None else out
    if found.size <= costs.FEW_REMAINDERS:
        function(a, b, out=found)
        return found
    return in_parts(of_part, (a, b), found)
