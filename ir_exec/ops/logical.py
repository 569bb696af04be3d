"""Logical operators of booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, op
from ir_exec.ops.base.elementwise import Unary, binary, is_small
from ir_exec.types import BOOLEAN, Array, TensorType

__all__ = ["LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "Xor"]

LogicalAnd = binary(
    "LogicalAnd",
    np.logical_and,
    "output = a and b.",
    page="logical/logical-and-1",
    types=BOOLEAN,
    is_increasing=True,
)

LogicalOr = binary(
    "LogicalOr",
    np.logical_or,
    "output = a or b.",
    page="logical/logical-or-1",
    types=BOOLEAN,
    is_increasing=True,
)

LogicalXor = binary(
    "LogicalXor",
    np.logical_xor,
    "output = whether a and b differ.",
    page="logical/logical-xor-1",
    types=BOOLEAN,
    is_monotone=True,
)

Xor = binary(
    "Xor",
    np.logical_xor,
    "output = whether a and b differ: the other name of LogicalXor in opset1.",
    page="logical/logical-xor-1",
    types=BOOLEAN,
    is_monotone=True,
)


@op("LogicalNot", since=1)
class LogicalNot(Unary):
    """output = not data; of numbers, 1 for 0 and 0 for all others.

    data: any shape; boolean, or a numeric type, which OpenVINO takes and the specification does not name. output: as
    data.
    Specification: logical/logical-not-1.
    """

    inputs = (In("data", types=BOOLEAN | CALCULABLE),)

    def evaluate(self, data: Array) -> Array:
        return np.asarray(data == 0).astype(data.dtype)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return np.logical_not if types[0].element_type in BOOLEAN and is_small(types[0]) else self.evaluate
