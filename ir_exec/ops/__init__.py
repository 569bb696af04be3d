"""One class per operator version. Importing the package registers every operator."""

from ir_exec.ops import gather, sources
from ir_exec.ops.base import CONTEXT, In, Op, op
from ir_exec.ops.opsets import LAST_OPSET, opset_number, registered, resolve

__all__ = ["CONTEXT", "LAST_OPSET", "In", "Op", "gather", "op", "opset_number", "registered", "resolve", "sources"]
