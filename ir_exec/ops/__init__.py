"""One class per operator version. `families.py` says where they are; importing the package imports none of them."""

from ir_exec.ops.base import CONTEXT, In, Op, op
from ir_exec.ops.opsets import LAST_OPSET, opset_number, registered, resolve

__all__ = ["CONTEXT", "LAST_OPSET", "In", "Op", "op", "opset_number", "registered", "resolve"]
