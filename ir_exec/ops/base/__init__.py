"""What operators are made of: the class, its attributes, the registry, and the shape rules that families share."""

from ir_exec.ops.base.operator import CONTEXT, Family, In, Op, op

__all__ = ["CONTEXT", "Family", "In", "Op", "op"]
