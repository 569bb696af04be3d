"""Nodes that hold one of their inputs themselves, in place of those of the file that read it: matrices of MatMul in
panels, filters of convolutions transformed.

A constant that only such nodes read is kept in the form that they read, and no longer as an array: where a run is
observed, which then runs the layers of the file, it is computed anew in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard
from weakref import WeakValueDictionary

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.ir import Weights
from ir_exec.kernels.gemm.panels import PackedMatrix
from ir_exec.kernels.limits import Budget, owner_of
from ir_exec.ops import In, Op
from ir_exec.plan.graph import Fusion, is_known
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.passes.conv_weights import ChannelSum

__all__ = [
    "HoldsInput",
    "PackedLayout",
    "PackedWeights",
    "WeightMemoryBudget",
    "is_of_floats",
    "may_be_packed",
    "may_have_sums",
    "replaced",
]


COPIED_SHARE = 10
"""The part of the constants, one of so many, that is kept in a second memory layout at most."""

COPIED_ALWAYS = 2**22
"""Bytes that may always be kept in a second memory layout: a tenth of what the process takes without a network."""

SETTLED_SHARE = 4
"""The part of the constants, one of so many, that values may take which follow from the input shapes of all plans."""

SETTLED_ALWAYS = 2**23
"""Bytes that they may always take: masks and tables of positions take 4 KB to 6 MB in transformers."""

SETTLED_OF_BUDGET = 32
"""The part of the memory, one of so many, that they never exceed: a run counts only those of its own plan."""

PACKED_SHARE = 4
"""The part of the memory, one of so many, that matrices of a mapped file may take which are packed."""


def replaced(nodes: Sequence[Node], found: Mapping[Node, Node], results: Collection[Value]) -> list[Node]:
    """The nodes of a plan with those that hold an input themselves, without the layers that nobody reads then.

    found: for a node what takes its place. results: what is read at the end.
    """
    spared = {value for node in found for value in node.values_in if value not in found[node].inputs}
    kept: list[Node] = []
    read = set(results)
    for node in reversed([found.get(node, node) for node in nodes]):
        if node.outputs and spared.issuperset(node.outputs) and read.isdisjoint(node.outputs):
            spared.update(node.values_in)
        else:
            read.update(node.values_in)
            kept.append(node)
    return kept[::-1]


class HoldsInput(Op):
    """Does what an operator `_op` of the file does, with one input that it has itself."""

    _op: Op

    def check_inputs(self, types: list[TensorType], report: Callable[[IRError], None]) -> bool:
        return self._op.check_inputs(self._whole(types), report)

    def infer(self, *types: TensorType) -> TensorType:
        found: TensorType = self._op.infer(*self._whole(types))
        return found

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        return self._op.multiply_adds(inputs, outputs)

    def _whole(self, types: Sequence[TensorType]) -> list[TensorType]:
        """The types of all inputs of the operator from those that are left."""
        raise NotImplementedError


class WeightMemoryBudget:
    """The memory that constants of one graph may take in another order than that of the file.

    weights: where constants come from. may_leave_file: whether matrices of a mapped file may become the process's own.
    left: bytes that may be kept in two orders. packed_bytes: of what is packed and was the process's own before.
    """

    def __init__(self, weights: Weights | None, budget: Budget, *, may_leave_file: bool) -> None:
        self.left = 0
        self.packed_bytes = 0
        self._weights = weights
        self._may_leave_file = may_leave_file
        self._left_of_file = budget.max_memory // PACKED_SHARE
        self._most_settled = budget.max_memory // SETTLED_OF_BUDGET
        self._settled: WeakValueDictionary[int, Array] = WeakValueDictionary()

    def enter(self, constants: Iterable[Array | None]) -> None:
        """Make room for copies of some of these, and beside them."""
        size = sum(array.nbytes for array in constants if array is not None)
        self.left = max(size // COPIED_SHARE, COPIED_ALWAYS)
        self._most_settled = min(max(size // SETTLED_SHARE, SETTLED_ALWAYS), self._most_settled)

    @property
    def left_for_settled(self) -> int:
        """Bytes that a new plan may keep of what follows from its input shapes; plans that are gone take none."""
        return self._most_settled - sum(array.nbytes for array in self._settled.values())

    def settle(self, owner: Array) -> None:
        """Count the memory of values that a plan keeps, for as long as it lives."""
        self._settled[id(owner)] = owner

    def is_own(self, array: Array) -> bool:
        """Whether an array has memory that is neither that of the weights nor another array's."""
        owner = owner_of(array)
        is_whole = owner.base is None and owner.nbytes == array.nbytes
        return is_whole and not self.is_stored(array)

    def is_stored(self, array: Array) -> bool:
        """Whether an array has the memory of the weights."""
        return self._weights is not None and self._weights.holds(array)

    def takes_packed(self, array: Array, size: int, *, beside: bool) -> bool:
        """Whether a constant may be packed into so many bytes: in its place, or because there is room for both.

        Pages of a file that are packed are let go; what is packed counts as little as they did.
        beside: whether the constant stays.
        """
        if self._is_mapped(array) and size <= self._left_of_file:
            self._left_of_file -= size
        elif self.is_own(array):
            self.packed_bytes += size + (array.nbytes if beside else 0)
        elif size <= self.left:
            self.left -= size
        else:
            return False
        return True

    def leave_file(self, array: Array) -> None:
        """Let the pages of a constant go that is packed now."""
        if self._weights is not None and self._is_mapped(array):
            self._weights.forget(array)

    def _is_mapped(self, array: Array) -> bool:
        return self._may_leave_file and self._weights is not None and self._weights.maps(array)


class PackedLayout(NamedTuple):
    """How a constant is packed.

    size: the elements of f32 that it takes. beside: whether it is kept as it is too. pack: puts a constant into the
    memory for it, and says what the operator of a node that reads it becomes.
    """

    size: int
    beside: bool
    pack: Callable[[Array, Array], Callable[[Op], Op]]


class PackedWeights:
    """The constants of one graph that only MatMul, or only convolutions, multiply by, as these are fastest with them.

    constants: the constants by number; what is packed leaves it. types: of every value, for the declared shapes.
    operator: what runs for a node. values: what is packed.
    """

    def __init__(
        self,
        graph: Graph,
        constants: list[Array | None],
        types: Types,
        operator: Callable[[Node], Op],
        room: WeightMemoryBudget,
    ) -> None:
        self._found: dict[Node, Node] = {}
        wanted = _wanted(graph, constants, types, operator, room)
        self.values: list[Value] = []
        # One array for all: the system gives large ones in large pages, which takes a fifth of the time.
        memory = np.empty(sum(form.size for form, *_ in wanted.values()), np.float32)
        end = 0
        for value, (form, nodes, total) in wanted.items():
            array = constants[value.number]
            assert array is not None, "it is a constant"
            start, end = end, end + form.size
            changed = form.pack(array if total is None else total.scaled(constants), memory[start:end])
            for packed in [value] if total is None else total.values:
                array, constants[packed.number] = constants[packed.number], None
                if array is not None and not form.beside:
                    room.leave_file(array)
                self.values.append(packed)
            # It is freed before the next one is packed.
            del array
            for node in nodes:
                op = changed(operator(node))
                members: Sequence[Node] = [node]
                if total is not None:
                    op, members = total.shifted(op), total.nodes
                self._found[members[-1]] = Fusion(members, op, node.values_in[:1]).fused("prepack_weights")

    def replaced(self, nodes: Sequence[Node], results: Collection[Value]) -> list[Node]:
        """`replaced`, with the nodes that multiply by what is packed."""
        return replaced(nodes, self._found, results) if self._found else list(nodes)


def _wanted(
    graph: Graph,
    constants: Sequence[Array | None],
    types: Types,
    operator: Callable[[Node], Op],
    room: WeightMemoryBudget,
) -> dict[Value, tuple[PackedLayout, list[Node], ChannelSum | None]]:
    """What is packed, and how; who reads it, and the sum that its reader is then."""
    wanted = {}
    readers = _readers(graph)
    sums: dict[Node, ChannelSum] = {}
    has_filters = may_have_sums(graph)
    if has_filters:
        from ir_exec.plan.passes.conv_weights import (  # networks without convolutions do without
            channel_sums,
            filter_form,
        )

        sums = channel_sums(graph.nodes, readers, constants, types, operator)
    for value, nodes in readers.items():
        array, total = constants[value.number], sums.get(nodes[0])
        if array is None or (total is not None and value is not total.widest.values_in[1]):
            continue
        form: PackedLayout | None = None
        if may_be_packed(array):
            if array.ndim == 2:
                form = _matrix_form(value, nodes, array, types, operator)
            elif has_filters:
                form = filter_form(value, nodes, array, types, operator)
        if total is not None and form is None:
            form = total.form(array)
        if form is not None and room.takes_packed(array, form.size * array.itemsize, beside=form.beside):
            wanted[value] = form, nodes, total
    return wanted


def may_have_sums(graph: Graph) -> bool:
    """Whether there are convolutions that may be one with other layers."""
    return any(node.type in ("Convolution", "GroupConvolution") for node in graph.nodes)


def _readers(graph: Graph) -> dict[Value, list[Node]]:
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.values_in:
            readers.setdefault(value, []).append(node)
    return readers


def may_be_packed(array: Array | None) -> TypeGuard[Array]:
    """Whether a constant is of f32 and a large matrix, or filters that may be transformed."""
    if array is None or array.dtype != np.float32:
        return False
    if array.ndim == 2:
        return array.size >= thresholds.PANELLED_ELEMENTS
    return array.shape[-2:] == (3, 3) and array.size >= 9 * thresholds.WINOGRAD_CHANNELS * thresholds.MANY_CHANNELS


def is_of_floats(node: Node, op: Op, types: Types) -> bool:
    """Whether an operator of this library calculates with f32 alone."""
    kinds = {types[one.number].element_type for one in (*node.values_in, *node.outputs)}
    return is_known(op) and kinds == {ElementType.f32}


def _matrix_form(
    value: Value, nodes: Sequence[Node], array: Array, types: Types, operator: Callable[[Node], Op]
) -> PackedLayout | None:
    if not machine().has_small_kernels:
        return None
    orders = {_order(node, value, array.shape, types, operator) for node in nodes}
    if len(orders) > 1 or None in orders:
        return None
    is_transposed = orders.pop()

    def pack(array: Array, memory: Array) -> Callable[[Op], Op]:
        product = PackedMatrix.of(array.T if is_transposed else array, memory).product
        return lambda op: PackedMatMul(op, Shape(array.shape), product)

    return PackedLayout(array.size, False, pack)


def _order(
    node: Node, value: Value, shape: tuple[int, ...], types: Types, operator: Callable[[Node], Op]
) -> bool | None:
    """Whether a MatMul multiplies by the transposed value; None where it does anything else, or is not better off with
    panels."""
    op = operator(node)
    if node.type != "MatMul" or node.inputs[0] is value or not is_of_floats(node, op, types):
        return None
    is_transposed = bool(vars(op)["transpose_b"])
    inner, columns = shape[:: -1 if is_transposed else 1]
    product = types[node.outputs[0].number].shape.size
    if not product.is_static and inner * columns < 8 * thresholds.PANELLED_ELEMENTS:
        return None
    # Of a single row, and of products that are not long, BLAS copies nothing.
    is_copied = product.hi > columns and product.hi * inner > thresholds.STRIP_MULTIPLICATIONS
    return is_transposed if is_copied and columns >= thresholds.STRIP_COLUMNS else None


class PackedMatMul(HoldsInput):
    """MatMul of `a` by a constant matrix in the order in which BLAS reads it; it is no operator of any file."""

    inputs = (In("a"),)

    _shape: Shape
    _product: Callable[[Array], Array]

    def __init__(self, op: Op, shape: Shape, product: Callable[[Array], Array]) -> None:
        """op: the MatMul. shape: of its b. product: of a matrix and the constant one."""
        vars(self).update(_op=op, _shape=shape, _product=product)

    def _whole(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [*types, TensorType(ElementType.f32, self._shape)]

    def evaluate(self, a: Array) -> Array:
        """a: rank 1 or more; f32."""
        if a.ndim > 1 and self._op.transpose_a:  # type: ignore[attr-defined]  # it is a MatMul
            a = a.swapaxes(-1, -2)
        result = self._product(a.reshape(-1, a.shape[-1]))
        return result.reshape(*a.shape[:-1], result.shape[1])
