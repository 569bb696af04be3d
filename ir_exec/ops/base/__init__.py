"""The base of operators: the class, its attributes, the registry, and shape rules shared by families."""

from ir_exec.ops.base.operator import CONTEXT, Family, In, Op
from ir_exec.ops.base.registry import op

__all__ = ["CONTEXT", "Family", "In", "Op", "op"]
