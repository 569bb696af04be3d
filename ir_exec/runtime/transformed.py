"""Convolutions that have their constant filters themselves: transformed once, see `kernels.winograd`, or multiplied by
the scale of a normalization behind them, whose shift they add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, prod
from typing import NamedTuple

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.kernels.convolve import Convolver
from ir_exec.kernels.elementwise import calculated
from ir_exec.kernels.winograd import WinogradConvolver, is_worth_transforming, transformed_filters
from ir_exec.ops import In, Op
from ir_exec.ops.convolution.convolution import Convolving
from ir_exec.runtime.packed import Form, HoldsInput, is_of_floats
from ir_exec.runtime.rewrite.batch_norm import BATCH_NORM, known_vectors
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["Normalization", "filter_form", "held_form", "normalization_behind"]

_LARGE = 1e30
"""From here on sums of filters, and of their products, may be infinite."""


class Normalization(NamedTuple):
    """output = scale · data + shift by channels, of what a convolution gives, perhaps with a bias.

    scale: [outputs]; f32. shift: [outputs, 1, ...]; f32. nodes: the convolution first, the normalization last.
    """

    scale: Array
    shift: Array
    nodes: Sequence[Node]

    def scaled(self, filters: Array) -> Array:
        """Filters, in the order of the outputs of all groups, times the scale."""
        axes = 2 if self.nodes[0].type == "GroupConvolution" else 1
        scale = self.scale.reshape(*filters.shape[:axes], *[1] * (filters.ndim - axes))
        return np.asarray(filters * scale)

    def shifted(self, op: Op) -> Op:
        """A PackedConvolution with scaled filters, after which the shift is added."""
        vars(op)["_shift"] = self.shift
        return op


def normalization_behind(
    node: Node,
    filters: Array,
    readers: Mapping[Value, Sequence[Node]],
    constants: Sequence[Array | None],
    types: Types,
    operator: Callable[[Node], Op],
) -> Normalization | None:
    """The BatchNormInference that alone reads what a convolution gives, or its sum with one number for each channel.

    readers: of every value. None where there is none, or filters times its scale are no numbers.
    """
    if node.type not in ("Convolution", "GroupConvolution") or not is_of_floats(node, operator(node), types):
        return None
    spatial = filters.ndim - (3 if node.type == "GroupConvolution" else 2)
    nodes, bias = [node], np.zeros(1)
    following = _only_reader(node, readers)
    if following is not None and following.type == "Add":
        added = [constants[value.number] for value in following.values_in if value is not node.outputs[0]]
        vector = _by_channel(added[0], spatial + 2) if len(added) == 1 and added[0] is not None else None
        if vector is None or not is_of_floats(following, operator(following), types):
            return None
        nodes, bias, following = [node, following], vector, _only_reader(following, readers)
    if following is None or following.type != BATCH_NORM:
        return None
    found = known_vectors(operator(following), following, lambda value: constants[value.number])
    if found is None or found[0] is not nodes[-1].outputs[0] or not is_of_floats(following, operator(following), types):
        return None
    _, mean, scale, beta = found
    shift = beta + (bias - mean) * scale.astype(np.float64)
    # No comparison with NaN holds.
    is_small = np.abs(filters).max(initial=0) * np.abs(scale).max(initial=0) < _LARGE
    if not is_small or not np.abs(shift).max(initial=0) < _LARGE:
        return None
    return Normalization(scale, shift.astype(np.float32).reshape(-1, *[1] * spatial), [*nodes, following])


def filter_form(
    value: Value, nodes: Sequence[Node], array: Array, types: Types, operator: Callable[[Node], Op]
) -> Form | None:
    """How filters of these nodes are packed; None where a convolution is not faster with transformed ones."""
    kinds = {node.type for node in nodes}
    if kinds not in ({"Convolution"}, {"GroupConvolution"}):
        return None
    grouped = array.shape if kinds == {"GroupConvolution"} else (1, *array.shape)
    axes = len(grouped) - 3
    are_known = True
    for node in nodes:
        op = operator(node)
        if node.inputs[0] is value or not is_of_floats(node, op, types):
            return None
        steps = {*vars(op).get("strides", ()), *vars(op).get("dilations", ())}
        counts = (types[node.outputs[0].number].shape.dims or ())[2:]
        are_known = are_known and all(dim.is_static for dim in counts)
        windows = prod([dim.hi if dim.is_static else inf for dim in counts])
        if steps - {1} or not is_worth_transforming(grouped, windows):
            return None
    # Others cannot be had again from the sums into which they are transformed. No comparison with NaN holds.
    if not max(float(array.max()), -float(array.min())) < _LARGE:
        return None

    def pack(array: Array, memory: Array) -> Callable[[Op], Op]:
        filters = transformed_filters(array.reshape(grouped), memory)
        return lambda op: PackedConvolution(
            op, Shape(array.shape), None if are_known else np.require(array, None, "A"), filters
        )

    return Form(array.size // 3**axes * 4**axes, not are_known, pack)


def held_form(filters: Array) -> Form:
    """Filters as they are, scaled."""

    def pack(array: Array, memory: Array) -> Callable[[Op], Op]:
        held = memory.reshape(array.shape)
        held[...] = array
        return lambda op: PackedConvolution(op, Shape(array.shape), held)

    return Form(filters.size, False, pack)


def _only_reader(node: Node, readers: Mapping[Value, Sequence[Node]]) -> Node | None:
    found = readers.get(node.outputs[0], ())
    return found[0] if len(found) == 1 else None


def _by_channel(array: Array, rank: int) -> Array | None:
    """A constant with one element for each channel of images as a vector; None for another one."""
    channels = array.ndim - rank + 1 if array.ndim <= rank else -1
    is_one = channels >= 0 and array.size == array.shape[channels]
    return array.reshape(-1).astype(np.float64) if is_one else None


class PackedConvolution(HoldsInput):
    """Convolution or GroupConvolution with constant filters, which may be transformed, and perhaps a number for each
    output that is added; it is no operator of any file."""

    type_name = "Convolution"
    inputs = (In("data"),)

    _op: Convolving
    _shape: Shape
    _filters: Array | None
    _transformed: Array | None
    _shift: Array | None

    def __init__(self, op: Op, shape: Shape, filters: Array | None, transformed: Array | None = None) -> None:
        """op: the convolution. shape: of its filters. filters: themselves, None where all images are large enough."""
        vars(self).update(_op=op, _shape=shape, _filters=filters, _transformed=transformed, _shift=None)

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
        convolve, shift = self._unshifted(data), self._shift
        if shift is None:
            return convolve

        def shifted(data: Array) -> Array:
            found = convolve(data)
            return calculated(np.add, found, shift, out=found)

        return shifted

    def _unshifted(self, data: tuple[int, ...]) -> Callable[[Array], Array]:
        kernel = self._shape.static[self._op.filter_axes :]
        axes = self._op.sliding(data[2:], kernel)
        filters = self._shape.static if self._op.filter_axes == 3 else (1, *self._shape.static)
        windows = prod([axis.count for axis in axes])
        if self._transformed is not None and (self._filters is None or is_worth_transforming(filters, windows)):
            return WinogradConvolver(axes, data, self._transformed)
        assert self._filters is not None, "they are not transformed"
        return partial(Convolver(axes, data, filters, self._filters.dtype), filters=self._filters)
