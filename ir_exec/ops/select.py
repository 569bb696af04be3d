"""Elements chosen from two tensors by a third."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ir_exec.ops.attributes import LOWER, Int, Named
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.rules import Broadcasting, align_pdpd, broadcast_shapes
from ir_exec.types import BOOLEAN, Array, TensorType

__all__ = ["Select"]


@op("Select", since=1)
class Select(Op):
    """output = then where cond is true, else_ where it is false, all three broadcast together.

    With numpy broadcasting `cond` may also have the largest shape, as in OpenVINO. With pdpd `else_` and `cond` are
    laid on axis `axis` of `then`, on the first one where the file does not say.

    Errors: IR504 where the shapes do not broadcast, IR501 and IR502 where they differ without broadcasting.
    Specification: condition/select-1.
    """

    inputs = (In("cond", types=BOOLEAN), In("then"), In("else_", like="then"))
    rising = ("then", "else_")

    auto_broadcast: Annotated[Broadcasting, LOWER] = "numpy"
    axis: Annotated[Int, Named("auto_broadcast.auto_broadcast_axis")] = 0

    def infer(self, cond: TensorType, then: TensorType, else_: TensorType) -> TensorType:
        kind = then if then.element_type.is_known else else_
        both = broadcast_shapes(then.shape, else_.shape, self.auto_broadcast, self.axis)
        return kind.with_shape(broadcast_shapes(both, cond.shape, self.auto_broadcast, self.axis))

    def evaluate(self, cond: Array, then: Array, else_: Array) -> Array:
        if self.auto_broadcast == "pdpd":
            cond = align_pdpd(cond, then.ndim, self.axis)
            else_ = align_pdpd(else_, then.ndim, self.axis)
        return np.where(cond, then, else_)
