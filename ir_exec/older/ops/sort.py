"""The largest elements: ArgMax, TopK, and Bucketize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, axis_of, cast, dims_of, known_integers, of_one_type, reshape_to
from ir_exec.types import ElementType

__all__: list[str] = []


def _largest(data: Value, count: int, axis: int, mode: str, sort: str) -> Sequence[Value]:
    if not 1 <= count <= dims_of(data)[axis]:
        raise ShapeError(
            "k is",
            actual=count,
            expected=f"1 to {dims_of(data)[axis]}",
            reason=f"the size of axis {axis}",
            code=Code.dims_differ,
        )
    k = build.constant(np.int64(count))
    attributes: dict[str, Any] = {"axis": axis, "mode": mode, "sort": sort, "index_element_type": "i32", "opset": 3}
    outputs: Sequence[Value] = build.topk(data, k, **attributes)
    return outputs


@older_layer("ArgMax")
def arg_max(layer: LayerCall, data: Value) -> Value:
    """The indices, as floats, of the `top_k` largest elements along `axis`, or their values with `out_max_val`.

    Without `axis` the elements of an item are flattened, [N, 1, top_k]; with `out_max_val` the output has indices and
    values, [N, 2, top_k]. Source: argmax.cpp.
    """
    data = as_floats(data)
    count, wants_values = layer.integer("top_k", 1), layer.flag("out_max_val", False)
    if layer.has("axis"):
        values, indices = _largest(data, count, axis_of(layer.integer("axis"), data), "max", "value")
        return values if wants_values else cast(indices, ElementType.f32)
    batch = dims_of(data)[0]
    flat = reshape_to(data, batch, 1, -1)
    values, indices = _largest(flat, count, 2, "max", "value")
    output = cast(indices, ElementType.f32)
    output = build.concat([output, values], 1) if wants_values else output
    declared = layer.declared_dims()
    size = batch * count * (1 + wants_values)
    if declared is not None and len(declared) != 3 and int(np.prod(declared, dtype=np.float64)) == size:
        return reshape_to(output, *declared)
    return output


_MODES = {"max": "max", "min": "min"}
_SORTS = {"index": "index", "value": "value", "none": "none"}


@older_layer("TopK")
def topk(layer: LayerCall, data: Value, k: Value) -> Sequence[Value]:
    """Values and indices; a single output of an integer type has the indices.

    Source: topk.cpp.
    """
    axis = axis_of(layer.integer("axis", -1), data)
    mode, sort = layer.choice("mode", _MODES, "max"), layer.choice("sort", _SORTS, "index")
    values, indices = _largest(data, known_integers(k, "k")[0], axis, mode, sort)
    index_precision = layer.precision_of(1)
    if (
        index_precision is not None
        and index_precision.is_float
        and layer.layer.outputs[1:]
        and layer.layer.outputs[1].precision
    ):
        indices = cast(indices, ElementType.f32)
    if len(layer.layer.outputs) != 1:
        return values, indices
    output_precision = layer.precision_of(0)
    return [
        indices
        if output_precision is not None and output_precision.is_integer and data.element_type.is_float
        else values
    ]


@older_layer("Bucketize")
def bucketize(layer: LayerCall, data: Value, bounds: Value) -> Value:
    """The index of the interval of each element."""
    data, bounds = of_one_type([data, bounds])
    right = layer.flag("with_right_bound", True)
    return build.bucketize(data, bounds, with_right_bound=right, output_type="i32")
