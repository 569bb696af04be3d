"""Tables from keys to values in operators of IR."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError
from ir_exec.onnx.lowering.values import as_i64, ints
from ir_exec.types import Array

__all__ = ["look_up"]


def look_up(data: Value, keys: Array, values: Array, default: Array) -> Value:
    """The value for the last key equal to an element; NaN equals NaN."""
    if len(keys) != len(values):
        raise InvalidAttributeError(
            "the keys and the values have",
            actual=f"{len(keys)} and {len(values)}",
            detail="elements",
            expected="equal numbers",
        )
    apart, key_row = build.unsqueeze(data, ints(-1)), build.constant(keys)
    equal = build.equal(apart, key_row)
    if keys.dtype.kind == "f":
        equal = build.logical_or(equal, build.logical_and(build.is_nan(apart), build.is_nan(key_row)))
    positions = build.constant(np.arange(1, len(keys) + 1))
    position = build.reduce_max(build.select(equal, positions, build.constant(np.int64(0))), ints(-1), keep_dims=False)
    return build.gather(build.constant(np.concatenate([default, values])), as_i64(position), 0)
