"""One class per operator version. Importing the package registers every operator."""

from ir_exec.ops import attention, control, einsum, gather, matmul, normalization, reduction, scatter, sources
from ir_exec.ops.base import CONTEXT, In, Op, op
from ir_exec.ops.opsets import LAST_OPSET, opset_number, registered, resolve

__all__ = [
    "CONTEXT",
    "LAST_OPSET",
    "In",
    "Op",
    "attention",
    "einsum",
    "gather",
    "matmul",
    "normalization",
    "op",
    "opset_number",
    "reduction",
    "registered",
    "resolve",
    "scatter",
    "sources",
]
