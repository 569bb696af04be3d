"""OneHot: an index becomes a vector that is `on_value` there and `off_value` elsewhere."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Int
from ir_exec.ops.base.dims import BEYOND, index_bounds
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import AxisIndices, ValueRange
from ir_exec.ops.base.shapes import normalize_axis, require_rank
from ir_exec.types import INTEGER, UNBOUNDED, Array, Dim, Shape, TensorType

__all__ = ["OneHot", "OneHot1"]


class _OneHot(Op):
    """The base of both versions of OneHot.

    Inputs:
        indices: Integers, any shape.
        depth: A scalar, the size of the new axis `axis` of the output.
        on_value: A scalar of one element type, which is the output's. A negative depth is an error.
        off_value: Like `on_value`.
    """

    inputs = (
        In("indices", types=INTEGER, domain=AxisIndices(below="depth")),
        In("depth", types=INTEGER, domain=ValueRange(10, 10, "the number of classes")),
        In("on_value"),
        In("off_value", like="on_value"),
    )
    is_data_movement = True
    sized_by = ("depth",)

    axis: Int

    negative_indices_mode = "ignore_negative"

    def infer(self, indices: TensorType, depth: TensorType, on_value: TensorType, off_value: TensorType) -> TensorType:
        for name, scalar in (("depth", depth), ("on_value", on_value), ("off_value", off_value)):
            require_rank(scalar, 0, name)
        value = on_value if on_value.element_type.is_known else off_value
        size = _depth_dim(depth)
        if indices.shape.dims is None:
            return value.with_shape(Shape.unknown())
        dims = list(indices.shape)
        dims.insert(normalize_axis(self.axis, len(dims) + 1), size)
        return value.with_shape(Shape(dims))

    def evaluate(self, indices: Array, depth: Array, on_value: Array, off_value: Array) -> Array:
        size = int(as_integers(depth).reshape(-1)[0])
        if size < 0:
            raise EvaluationError("depth is", actual=size, expected="0 or more", port="depth")
        axis = normalize_axis(self.axis, indices.ndim + 1)
        output = np.empty((*indices.shape[:axis], size, *indices.shape[axis:]), on_value.dtype)
        output[...] = off_value
        hot = as_integers(indices)
        if self.negative_indices_mode == "normalize":
            hot = np.where(hot < 0, hot + size, hot)
        after = math.prod(indices.shape[axis:])
        flat = hot.ravel()
        places = np.flatnonzero((flat >= 0) & (flat < size))
        before = places // max(after, 1)
        offsets = (before * size + flat[places].astype(np.int64)) * after + places % max(after, 1)
        output.reshape(-1)[offsets] = on_value
        return output


def _depth_dim(depth: TensorType) -> Dim:
    bounds = index_bounds(depth)
    if not bounds:
        return Dim.any()
    low, high = bounds[0]
    if high < 0:
        raise ShapeError("depth is", actual=high, expected="0 or more", code=Code.impossible_shape, port="depth")
    return Dim(max(low, 0), UNBOUNDED if high == BEYOND else high)


@op("OneHot", since=1)
class OneHot1(_OneHot):
    """output[i, .., c, j, ..] = on_value where indices[i, .., j, ..] is c, else off_value.

    Negative indices give off_value as in OpenVINO; the specification does not define them.

    Specification: sequence/one-hot-1.
    """


def _use_underscores(text: str) -> str:
    # The specification writes `ignore-negative`, OpenVINO's files `ignore_negative`.
    return text.replace("-", "_")


@op("OneHot", since=16)
class OneHot(_OneHot):
    """output[i, .., c, j, ..] = on_value where indices[i, .., j, ..] is c, else off_value.

    Specification: sequence/one-hot-16.

    Attributes:
        negative_indices_mode: `normalize` counts negative indices from the end of the new axis, `ignore_negative` gives
            off_value for them, as for all indices out of range.
    """

    older = OlderVersion(1, without=(("negative_indices_mode", ("ignore_negative",)),))

    negative_indices_mode: Annotated[Literal["ignore_negative", "normalize"], LOWER, _use_underscores] = (
        "ignore_negative"
    )
