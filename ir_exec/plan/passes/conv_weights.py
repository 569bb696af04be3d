"""Convolutions that hold their constant filters.

Filters are transformed once, see `kernels.conv.winograd`, or merged from all convolutions, scales and normalizations of
one input that a model sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.kernels.conv.variants import convolver
from ir_exec.kernels.conv.winograd import TransformedFilters, WinogradConvolver, is_worth_transforming
from ir_exec.kernels.elementwise import apply_elementwise
from ir_exec.ops import In, Op
from ir_exec.ops.convolution.convolution import Convolution, Convolving, GroupConvolution
from ir_exec.plan.graph import Fusion
from ir_exec.plan.passes.fuse_batch_norm import BATCH_NORM, known_vectors
from ir_exec.plan.passes.prepack import (
    HoldsInput,
    PackedWeights,
    WeightMemoryBudget,
    is_of_floats,
    memory_of,
    readers_of,
)
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["ChannelSum", "PackedFilters", "channel_sums", "filter_form"]

_MOST_SUMMANDS = 64
"""Maximum number of layers and summands of a sum, to bound the time of the search."""

_LARGE = 1e30
"""Magnitude at which sums of filters, and of their products, may become infinite."""


def _is_convolution(node: Node) -> bool:
    """Return True for a convolution whose filters may be packed or summed."""
    return isinstance(node.op, Convolution | GroupConvolution)


class PackedLayout(NamedTuple):
    """The storage of a constant.

    Attributes:
        size: Its elements of f32 once packed.
        keeps_original: The original is kept too.
        hold: Takes the constant, and returns a function that converts the operator of a reader.
    """

    size: int
    keeps_original: bool
    hold: Callable[[Array], _Holder]


class _Holder(NamedTuple):
    """A node that holds filters.

    Attributes:
        makes: The operator of a node with the constant.
        transformed: The filters, which may be packed later.
    """

    makes: Callable[[Op], Op]
    transformed: TransformedFilters | None


class PackedFilters(PackedWeights):
    """The filters of one graph that only convolutions read, transformed, or summed to the filters of one convolution.

    Args:
        constants: The constants by number; constants held by nodes are removed.
        types: The types of all values, for the declared shapes.
        operator: The operator that runs for a node.
    """

    made_by = "transform_filters"
    form = "transformed filters"

    def __init__(
        self,
        graph: Graph,
        constants: list[Array | None],
        types: Types,
        operator: Callable[[Node], Op],
        weight_memory: WeightMemoryBudget,
    ) -> None:
        super().__init__(weight_memory)
        self.transformed: list[TransformedFilters] = []
        for value, (form, nodes, total, _) in _choose_filters(graph, constants, types, operator).items():
            array = constants[value.number]
            assert array is not None, "the filters are constants"
            if not weight_memory.takes_packed(array, form.size * array.itemsize, keeps_original=form.keeps_original):
                self.left_out.update(nodes)
                continue
            holder = form.hold(array if total is None else total.scale_filters(constants))
            if holder.transformed is not None:
                self.transformed.append(holder.transformed)
            for constant in [value] if total is None else total.values:
                array, constants[constant.number] = constants[constant.number], None
                if array is not None and total is not None and not form.keeps_original:
                    weight_memory.leave_file(array)
                self.values.append(constant)
            # It is freed before the next ones are summed.
            del array
            for node in nodes:
                op = holder.makes(operator(node))
                members: Sequence[Node] = [node]
                if total is not None:
                    op, members = total.make_shifted(op), total.nodes
                self.hold(Fusion(members, op, node.values_in[:1]))

    def pack(self) -> None:
        """Store all filters transformed, each instead of its original."""
        waiting = [unpacked for unpacked in self.transformed if not unpacked.is_packed]
        for transformed, memory in zip(waiting, memory_of([unpacked.shape for unpacked in waiting]), strict=True):
            filters = transformed.filters
            transformed.pack(memory)
            if filters is not None:
                self.weight_memory.leave_file(filters)


class _WantedFilters(NamedTuple):
    """The packing of filters, their readers, the sum that replaces a reader, and the number of windows."""

    form: PackedLayout
    nodes: list[Node]
    total: ChannelSum | None
    windows: float


def _choose_filters(
    graph: Graph, constants: Sequence[Array | None], types: Types, operator: Callable[[Node], Op]
) -> dict[Value, _WantedFilters]:
    """The filters to pack; the largest savings for the memory, by the number of windows, come first."""
    chosen = {}
    readers = readers_of(graph)
    sums = channel_sums(graph.nodes, readers, constants, types, operator)
    for value, nodes in readers.items():
        array, total = constants[value.number], sums.get(nodes[0])
        if array is None or (total is not None and value is not total.widest.values_in[1]):
            continue
        form = filter_form(value, nodes, array, types, operator) if _may_be_transformed(array) else None
        if total is not None and form is None:
            form = total.form(array)
        if form is not None:
            chosen[value] = _WantedFilters(form, nodes, total, _windows_of(nodes, types))
    return dict(sorted(chosen.items(), key=lambda item: -item[1].windows))


def _windows_of(nodes: Sequence[Node], types: Types) -> float:
    return sum([prod([dim.hi for dim in (types[node.outputs[0].number].shape.dims or ())[2:]]) for node in nodes])


def _may_be_transformed(array: Array) -> bool:
    """Return True for filters of f32 that are large enough."""
    if array.dtype != np.float32 or array.shape[-2:] != (3, 3):
        return False
    return array.size >= 9 * thresholds.WINOGRAD_CHANNELS * thresholds.MANY_CHANNELS


class ChannelSum(NamedTuple):
    """The sum of one input, convolved or unchanged, times numbers for each output channel; + shift.

    Attributes:
        nodes: All, in order.
        widest: The convolution whose windows contain the windows of all others.
        filters: The constant filters of each summand; None for the unchanged input.
        corners: The place of their windows in those of `widest`.
        factors: [outputs] or [1]; f64.
        shift: [outputs or 1, 1, ...]; f32.
    """

    nodes: Sequence[Node]
    widest: Node
    filters: Sequence[Value | None]
    corners: Sequence[Sequence[int]]
    factors: Sequence[Array]
    shift: Array

    @property
    def values(self) -> list[Value]:
        """The filters in the graph."""
        return [node.values_in[1] for node in self.nodes if _is_convolution(node)]

    def scale_filters(self, constants: Sequence[Array | None]) -> Array:
        """The filters with which `widest` computes everything except the shift."""
        arrays = [None if value is None else constants[value.number] for value in self.filters]
        filters = constants[self.widest.values_in[1].number]
        assert filters is not None, "the filters are constants"
        axes = self.shift.ndim - 1
        inner, *kernel = filters.shape[-1 - axes :]
        total = np.zeros((filters.size // prod([inner, *kernel]), inner, *kernel))
        for own, corner, factor in zip(arrays, self.corners, self.factors, strict=True):
            if own is None:
                own = np.eye(inner)[np.arange(len(total)) % inner].reshape(*total.shape[:2], *[1] * axes)
            own = own.reshape(*total.shape[:2], *own.shape[own.ndim - axes :])
            window = [slice(first, first + size) for first, size in zip(corner, own.shape[2:], strict=True)]
            total[:, :, *window] += own * factor.reshape(-1, *[1] * (axes + 1))
        return total.astype(np.float32).reshape(filters.shape)

    def form(self, filters: Array) -> PackedLayout:
        """Scaled filters that are not transformed."""

        def hold(array: Array) -> _Holder:
            return _Holder(lambda op: PackedConvolution(op, Shape(array.shape), array), None)

        return PackedLayout(filters.size, False, hold)

    def make_shifted(self, op: Op) -> Op:
        """A PackedConvolution with scaled filters, after which the shift is added."""
        if self.shift.any():
            vars(op)["_shift"] = self.shift
        return op


def channel_sums(
    nodes: Sequence[Node],
    readers: Mapping[Value, Sequence[Node]],
    constants: Sequence[Array | None],
    types: Types,
    operator: Callable[[Node], Op],
) -> dict[Node, ChannelSum]:
    """The largest sum for each node in one, from a convolution and its only readers.

    Args:
        readers: The readers of every value. A single convolution with a shift is not a sum, nor is one that might
            become infinite.
    """
    sums: dict[Node, ChannelSum] = {}
    for node in nodes:
        filters = constants[node.values_in[1].number] if _is_convolution(node) and node not in sums else None
        channel_sum, last = None, None if filters is None else _only_reader(node, readers)
        while filters is not None and last is not None and last.outputs:
            summands = _Summands(node, filters, readers, constants, types, operator)
            if not summands.take(last.outputs[0], np.ones(1)):
                break
            channel_sum = summands.up_to(last) or channel_sum
            last = _only_reader(last, readers)
        if channel_sum is not None:
            sums.update(dict.fromkeys(channel_sum.nodes, channel_sum))
    return sums


class _Summands:
    """The summands of a value that depends by channels on the data of a convolution."""

    def __init__(
        self,
        node: Node,
        filters: Array,
        readers: Mapping[Value, Sequence[Node]],
        constants: Sequence[Array | None],
        types: Types,
        operator: Callable[[Node], Op],
    ) -> None:
        self._data = node.values_in[0]
        self._layout = filters.shape[: _filter_axes(node)]
        self._axes = filters.ndim - len(self._layout)
        self._readers = readers
        self._constants = constants
        self._types = types
        self._operator = operator
        self._nodes: dict[Node, None] = {}
        self._terms: list[tuple[Node | None, Array]] = []
        self._shift = np.zeros(1)

    def take(self, value: Value, factor: Array) -> bool:
        """Add the summands of the value, times a factor.

        Returns:
            False for other or too many ones.
        """
        if value is self._data:
            self._terms.append((None, factor))
            return True
        node = value.node
        self._nodes[node] = None
        is_much = len(self._nodes) + len(self._terms) > _MOST_SUMMANDS
        if is_much or not is_of_floats(node, self._operator(node), self._types):
            return False
        if _is_convolution(node):
            data, filters = node.values_in
            array = self._find_constant(filters)
            self._terms.append((node, factor))
            is_like = array is not None and array.shape[: -self._axes] == self._layout
            return data is self._data and is_like and len(self._readers[filters]) == 1
        if node.type == BATCH_NORM:
            norm = known_vectors(self._operator(node), node, self._find_constant)
            if norm is None or {vector.size for vector in norm[1:]} != {self._outputs}:
                return False
            value, mean, scale, beta = norm
            self._shift = self._shift + factor * (beta - mean * scale.astype(np.float64))
            return self.take(value, factor * scale)
        # Names, since importing the classes would load modules of operators that the model does not have.
        if node.type not in ("Add", "Subtract", "Multiply"):
            return False
        first, second = node.values_in
        vectors = self._vector(first), self._vector(second)
        if node.type == "Multiply":
            if vectors[0] is not None:
                return self.take(second, factor * vectors[0])
            return vectors[1] is not None and self.take(first, factor * vectors[1])
        signs = factor, -factor if node.type == "Subtract" else factor
        for operand, vector, sign in zip((first, second), vectors, signs, strict=True):
            if vector is not None:
                self._shift = self._shift + sign * vector
            elif not self.take(operand, sign):
                return False
        return True

    def up_to(self, last: Node) -> ChannelSum | None:
        """The sum; None if it is not a convolution, not a sum, or has other readers."""
        inner = [node for node in self._nodes if node is not last]
        is_read = any(reader not in self._nodes for node in inner for reader in self._readers[node.outputs[0]])
        is_sum = len(self._terms) > 1 or any(node.type == BATCH_NORM for node in self._nodes)
        filters = [None if node is None else node.values_in[1] for node, _ in self._terms]
        arrays = [None if value is None else self._find_constant(value) for value in filters]
        sizes = [0 if own is None else own.size for own in arrays]
        widest = self._terms[sizes.index(max(sizes))][0]
        if is_read or not is_sum or widest is None:
            return None
        corners = [corner for node, _ in self._terms if (corner := self._corner(node, widest)) is not None]
        factors = [factor for _, factor in self._terms]
        most = [
            np.abs(factor).max() * (1.0 if own is None else np.abs(own).max(initial=0))
            for own, factor in zip(arrays, factors, strict=True)
        ]
        # No comparison with NaN holds.
        if len(corners) < len(factors) or not sum(most) < _LARGE or not np.abs(self._shift).max() < _LARGE:
            return None
        shift = self._shift.astype(np.float32).reshape(-1, *[1] * self._axes)
        return ChannelSum([*inner, last], widest, filters, corners, factors, shift)

    def _find_constant(self, value: Value) -> Array | None:
        return self._constants[value.number]

    @property
    def _outputs(self) -> int:
        return prod(self._layout[:-1])

    def _vector(self, value: Value) -> Array | None:
        """A constant with one element for each channel, or one for all, as a vector."""
        array = self._find_constant(value)
        vector = None if array is None else _by_channel(array, self._axes + 2)
        return vector if vector is not None and vector.size in (1, self._outputs) else None

    def _corner(self, node: Node | None, widest: Node) -> list[int] | None:
        """The place of another convolution's windows in the windows of one; None if they are not contained."""
        if node is widest:
            return [0] * self._axes
        outer, own = self._windows(widest), self._windows(node)
        is_other = node is None and self._layout[-1] != self._layout[-2]
        if is_other or outer is None or own is None:
            return None
        corner = []
        for (step, gap, size, begin, end), (own_step, own_gap, own_size, own_begin, own_end) in zip(
            outer, own, strict=True
        ):
            fits = begin >= own_begin and end >= own_end and size - begin - end == own_size - own_begin - own_end
            if not fits or step != own_step or max(gap, own_gap) > 1:
                return None
            corner.append(begin - own_begin)
        return corner

    def _windows(self, node: Node | None) -> list[tuple[int, ...]] | None:
        """Stride, dilation, size, and padding at both ends along each axis; None if it depends on the image."""
        ones, zeros = [1] * self._axes, [0] * self._axes
        if node is None:
            return list(zip(ones, ones, ones, zeros, zeros, strict=True))
        op: Any = self._operator(node)
        filters = self._find_constant(node.values_in[1])
        if op.auto_pad != "explicit" or filters is None:
            return None
        sizes, pads = filters.shape[-self._axes :], (op.pads_begin or zeros, op.pads_end or zeros)
        return list(zip(op.strides or ones, op.dilations or ones, sizes, *pads, strict=True))


def filter_form(
    value: Value, nodes: Sequence[Node], array: Array, types: Types, operator: Callable[[Node], Op]
) -> PackedLayout | None:
    """The packing of filters; None if a convolution is not faster with transformed ones.

    Args:
        nodes: The readers.
    """
    if len({node.type for node in nodes}) > 1 or not _is_convolution(nodes[0]):
        return None
    grouped = array.shape if _filter_axes(nodes[0]) == GroupConvolution.filter_axes else (1, *array.shape)
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
    # Others cannot be recovered from the sums that they are transformed to.
    if not _are_usual(array):
        return None

    def hold(array: Array) -> _Holder:
        transformed = TransformedFilters(array.reshape(grouped))
        plain = None if are_known else np.require(array, None, "A")
        shape = Shape(array.shape)
        return _Holder(lambda op: PackedConvolution(op, shape, plain, transformed=transformed), transformed)

    return PackedLayout(array.size // 3**axes * 4**axes, not are_known, hold)


def _filter_axes(node: Node) -> int:
    """The number of filter axes before the spatial ones."""
    assert isinstance(node.op, Convolving), "the node is a convolution"
    return node.op.filter_axes


def _are_usual(filters: Array) -> bool:
    # No comparison with NaN holds.
    return max(float(filters.max(initial=0)), -float(filters.min(initial=0))) < _LARGE


def _only_reader(node: Node, readers: Mapping[Value, Sequence[Node]]) -> Node | None:
    nodes = readers.get(node.outputs[0], ())
    return nodes[0] if len(nodes) == 1 else None


def _by_channel(array: Array, rank: int) -> Array | None:
    """A constant with one element for each channel of images, or one for all, as a vector; None for others."""
    channels = array.ndim - rank + 1 if array.ndim <= rank else rank
    is_one = channels < rank and array.size == (array.shape[channels] if channels >= 0 else 1)
    return array.reshape(-1).astype(np.float64) if is_one else None


class PackedConvolution(HoldsInput):
    """Convolution or GroupConvolution with constant filters; it is not an operator of files.

    The filters may be transformed, and a number may be added to each output.
    """

    type_name = "Convolution"
    inputs = (In("data"),)

    _op: Convolving
    _shape: Shape
    _filters: Array | None
    _transformed: TransformedFilters | None
    _shift: Array | None

    def __init__(
        self,
        op: Op,
        shape: Shape,
        filters: Array | None,
        *,
        transformed: TransformedFilters | None = None,
    ) -> None:
        """A convolution that holds its filters.

        Args:
            op: The convolution.
            shape: The shape of the filters.
            filters: The original ones, None if they are never needed.
        """
        vars(self).update(_op=op, _shape=shape, _filters=filters, _transformed=transformed, _shift=None)

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        return self._op.multiply_adds([*inputs, self._shape.static], outputs)

    def _complete_types(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [*types, TensorType(ElementType.f32, self._shape)]

    def evaluate(self, data: Array) -> Array:
        """The convolution with the held filters.

        Args:
            data: [batch, channels, spatial...]; f32.
        """
        return self._convolver(data.shape)(data)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[[Array], Array]:
        return self._convolver(types[0].shape.static)

    def _convolver(self, data: tuple[int, ...]) -> Callable[[Array], Array]:
        convolve, shift = self._plain_convolver(data), self._shift
        if shift is None:
            return convolve

        def convolve_and_shift(data: Array) -> Array:
            sums = convolve(data)
            return apply_elementwise(np.add, sums, shift, out=sums)

        return convolve_and_shift

    def _plain_convolver(self, data: tuple[int, ...]) -> Callable[[Array], Array]:
        kernel = self._shape.static[self._op.filter_axes :]
        axes = self._op.sliding(data[2:], kernel)
        filters = self._shape.static if self._op.filter_axes == 3 else (1, *self._shape.static)
        windows = prod([axis.count for axis in axes])
        if self._transformed is not None and (self._filters is None or is_worth_transforming(filters, windows)):
            return WinogradConvolver(axes, data, self._transformed)
        assert self._filters is not None, "the filters are not transformed"
        return partial(convolver(axes, data, filters, self._filters.dtype), filters=self._filters)
