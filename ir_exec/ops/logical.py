"""Logical operators of booleans."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, op
from ir_exec.ops.base.elementwise import Unary, binary, is_small
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.types import BOOLEAN, Array

__all__ = ["LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "Xor"]

LogicalAnd = binary(
    "LogicalAnd",
    np.logical_and,
    "output = a and b.",
    page="logical/logical-and-1",
    types=BOOLEAN,
    is_increasing=True,
    neutral=1,
    absorbing=0,
    is_idempotent=True,
)

LogicalOr = binary(
    "LogicalOr",
    np.logical_or,
    "output = a or b.",
    page="logical/logical-or-1",
    types=BOOLEAN,
    is_increasing=True,
    neutral=0,
    absorbing=1,
    is_idempotent=True,
)

LogicalXor = binary(
    "LogicalXor",
    np.logical_xor,
    "output = a differs from b.",
    page="logical/logical-xor-1",
    types=BOOLEAN,
    is_monotone=True,
    neutral=0,
)

Xor = binary(
    "Xor",
    np.logical_xor,
    "output = a differs from b: the other name of LogicalXor in opset1.",
    page="logical/logical-xor-1",
    types=BOOLEAN,
    is_monotone=True,
    neutral=0,
)


@op("LogicalNot", since=1)
class LogicalNot(Unary):
    """output = not data; for numbers, 1 for 0 and 0 for all others.

    Specification: logical/logical-not-1.

    Inputs:
        data: Any shape; boolean, or a numeric type, an extension of OpenVINO to the specification.

    Outputs:
        output: Like data.
    """

    inputs = (In("data", types=BOOLEAN | CALCULABLE),)

    def evaluate(self, data: Array) -> Array:
        return np.asarray(data == 0).astype(data.dtype)


def _is_boolean(op: LogicalNot, request: KernelRequest) -> bool:
    data = request.types[0]
    return data.element_type in BOOLEAN and is_small(data)


@variant(
    "LogicalNot", name="ufunc", applies=_is_boolean, cost=0.2, why="A single NumPy call suffices for few booleans."
)
def _ufunc(op: LogicalNot, request: KernelRequest) -> Kernel:
    return np.logical_not
