"""Convolutions with constant filters that are transformed once, see `kernels.winograd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, prod

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.kernels.convolve import Convolver
from ir_exec.kernels.winograd import WinogradConvolver, is_worth_transforming, transformed_filters
from ir_exec.ops import In, Op
from ir_exec.ops.convolution.convolution import Convolving
from ir_exec.runtime.packed import Form, HoldsInput, is_of_floats
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["filter_form"]

_LARGE = 1e30
"""From here on sums of filters, and of their products, may be infinite."""


def filter_form(
    value: Value, nodes: Sequence[Node], array: Array, types: Types, operator: Callable[[Node], Op]
) -> Form | None:
    """How filters of these nodes are packed; None where a convolution is not faster with transformed ones."""
    kinds = {node.type for node in nodes}
    if kinds not in ({"Convolution"}, {"GroupConvolution"}):
        return None
    grouped = array if kinds == {"GroupConvolution"} else array[np.newaxis]
    axes = grouped.ndim - 3
    are_known = True
    for node in nodes:
        op = operator(node)
        if node.inputs[0] is value or not is_of_floats(node, op, types):
            return None
        steps = {*vars(op).get("strides", ()), *vars(op).get("dilations", ())}
        counts = (types[node.outputs[0].number].shape.dims or ())[2:]
        are_known = are_known and all(dim.is_static for dim in counts)
        windows = prod([dim.hi if dim.is_static else inf for dim in counts])
        if steps - {1} or not is_worth_transforming(grouped.shape, windows):
            return None
    # Others cannot be had again from the sums into which they are transformed. No comparison with NaN holds.
    if not max(float(array.max()), -float(array.min())) < _LARGE:
        return None

    def pack(array: Array, memory: Array) -> Callable[[Op], Op]:
        filters = transformed_filters(array.reshape(grouped.shape), memory)
        return lambda op: PackedConvolution(op, Shape(array.shape), filters, None if are_known else array)

    return Form(array.size // 3**axes * 4**axes, not are_known, pack)


class PackedConvolution(HoldsInput):
    """Convolution or GroupConvolution with transformed constant filters; it is no operator of any file."""

    inputs = (In("data"),)

    _op: Convolving
    _shape: Shape
    _transformed: Array
    _filters: Array | None

    def __init__(self, op: Op, shape: Shape, transformed: Array, filters: Array | None) -> None:
        """op: the convolution. shape: of its filters. filters: themselves, where some images may be too small."""
        vars(self).update(_op=op, _shape=shape, _transformed=transformed, _filters=filters)

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        return self._op.multiply_adds([*inputs, self._shape.static], outputs)

    def _whole(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [*types, TensorType(ElementType.f32, self._shape)]

    def evaluate(self, data: Array) -> Array:
        """data: [batch, channels, spatial...]; f32."""
        return self._convolver(data.shape)(data)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[[Array], Array]:
        return self._convolver(types[0].shape.static)

    def _convolver(self, data: tuple[int, ...]) -> Callable[[Array], Array]:
        kernel = self._shape.static[self._op.filter_axes :]
        axes = self._op.sliding(data[2:], kernel)
        grouped = (*self._transformed.shape[1:], *kernel)
        if self._filters is None or is_worth_transforming(grouped, prod([axis.count for axis in axes])):
            return WinogradConvolver(axes, data, self._transformed)
        return partial(Convolver(axes, data, grouped, self._filters.dtype), filters=self._filters)
