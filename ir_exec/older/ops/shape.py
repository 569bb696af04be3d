"""Layers that change only dims: Reshape, Flatten, Squeeze, Unsqueeze, Shape."""

from __future__ import annotations

from math import prod

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_integers, axis_of, dims_of, known_integers, rank_of, reshape_to, vector
from ir_exec.types import ElementType

__all__: list[str] = []


@older_layer("Reshape")
def reshape(layer: LayerCall, data: Value, dims: Value | None = None) -> Value:
    """Reshape to the dims of `dim`, of an input, or of the output port; 0 keeps a dim, -1 is the remaining size.

    In version 2 `axis` and `num_axes` select the axes that `dim` replaces. Source: ReshapeValidator,
    ie_reshape_shape_infer.hpp.
    """
    if dims is not None:
        return build.reshape(data, as_integers(dims), special_zero=True)
    requested = layer.integers("dim", ())
    declared = layer.declared_dims()
    if not requested:
        return reshape_to(data, *(declared if declared is not None else (-1,)))
    first, count = layer.integer("axis", 0), layer.integer("num_axes", -1)
    if (first, count) != (0, -1):
        own = dims_of(data)
        start = first if first >= 0 else len(own) + 1 + first
        stop = len(own) if count == -1 else start + count
        replaced = [
            own[start + index] if dim == 0 and start + index < len(own) else dim for index, dim in enumerate(requested)
        ]
        return reshape_to(data, *own[:start], *replaced, *own[stop:])
    return build.reshape(data, vector(*requested), special_zero=True)


@older_layer("Flatten")
def flatten(layer: LayerCall, data: Value) -> Value:
    """Merge the axes from `axis` to `end_axis`."""
    dims = dims_of(data)
    if not dims:
        return reshape_to(data, 1)
    first = axis_of(layer.integer("axis", 0), data)
    last = axis_of(layer.integer("end_axis", -1), data)
    if last < first:
        raise ShapeError("end_axis is", actual=last, expected=f"at least axis {first}", code=Code.axis_out_of_range)
    return reshape_to(data, *dims[:first], prod(dims[first : last + 1]), *dims[last + 1 :])


@older_layer("Squeeze")
def squeeze(layer: LayerCall, data: Value, axes: Value | None = None) -> Value:
    """Remove the axes of size 1 that an input lists, or all of them."""
    if axes is None:
        return build.squeeze(data)
    output = build.squeeze(data, as_integers(axes))
    # The Inference Engine had no scalars.
    return reshape_to(output, 1) if output.rank == 0 and layer.declared_dims() == (1,) else output


@older_layer("Unsqueeze")
def unsqueeze(layer: LayerCall, data: Value, axes: Value) -> Value:
    """Insert new axes of size 1."""
    places = known_integers(axes, "the axes")
    if rank_of(data) == 1 and dims_of(data) == (1,) and layer.declared_dims() == (1,):
        return reshape_to(data, 1)
    return build.unsqueeze(data, vector(*places))


@older_layer("ShapeOf", "Shape")
def shape_of(layer: LayerCall, data: Value) -> Value:
    """The dims of the input."""
    return build.shape_of(data, output_type="i32")


@older_layer("ExpandDims")
def expand_dims(layer: LayerCall, data: Value) -> Value:
    """Insert a new axis of size 1 at `axis`."""
    return build.unsqueeze(data, vector(layer.integer("axis", 0)))


@older_layer("Const")
def const(layer: LayerCall) -> Value:
    """The elements of the blob `custom`, with the declared dims. A constant declared as [1] has rank 1."""
    dims = layer.declared_dims() or ()
    name = "custom" if layer.has_blob("custom") else layer.layer.blobs[0].name if layer.layer.blobs else "custom"
    value = layer.blob(name, *dims, may_be_longer=True)
    if value.layer.type == "Const" and value.element_type is not ElementType.f16:
        value.layer.name = layer.layer.name
    return value
