"""Nodes that hold one of their inputs themselves, in place of those of the file that read it: matrices of MatMul in
panels, filters of convolutions transformed.

A constant that only such nodes read is kept by them, and no longer as an array of the graph: where a run is observed,
which then runs the layers of the file, it is computed anew in every run.

From the first run on matrices are multiplied in panels and filters transformed, which every run makes anew as it needs
them; they are kept once there were enough runs, which changes no bit. Sums of filters are kept at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeGuard
from weakref import WeakValueDictionary

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.ir import Weights
from ir_exec.kernels.choice import KernelChoice
from ir_exec.kernels.gemm.panels import PackedMatrix
from ir_exec.kernels.limits import Budget, owner_of
from ir_exec.ops import In, Op
from ir_exec.plan.graph import Fusion, is_known
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = [
    "HoldsInput",
    "PackedMatrices",
    "PackedWeights",
    "WeightMemoryBudget",
    "is_of_floats",
    "may_be_panelled",
    "may_have_sums",
    "readers_of",
    "replaced",
]


COPIED_SHARE = 4
"""The part of the constants, one of so many, by which packing and copies in a second memory layout add to them."""

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
    left: bytes by which the constants may still grow. packed_bytes: of all that is packed, or will be.
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
        """Make room for a constant that is packed into so many bytes; False where there is none.

        It takes the place of an array of the process's own, and of pages of a file, which are let go; only what it
        takes more than these counts as growth. beside: whether the constant stays.
        """
        is_mapped, is_own = self._is_mapped(array), self.is_own(array)
        growth = max(size - array.nbytes, 0) if (is_mapped or is_own) and not beside else size
        if growth > self.left or (is_mapped and size > self._left_of_file):
            return False
        self.left -= growth
        if is_mapped:
            self._left_of_file -= size
        self.packed_bytes += size + (array.nbytes if is_own and beside else 0)
        return True

    def leave_file(self, array: Array) -> None:
        """Let the pages of a constant go that is packed now."""
        if self._weights is not None and self._is_mapped(array):
            self._weights.forget(array)

    def _is_mapped(self, array: Array) -> bool:
        return self._may_leave_file and self._weights is not None and self._weights.maps(array)


class PackedWeights:
    """What constants of one graph become: the nodes that hold them, in place of those that read them.

    values: the constants that these nodes hold. left_out: nodes whose constant had no room. room: where they count.
    """

    def __init__(self, room: WeightMemoryBudget) -> None:
        self.room = room
        self.values: list[Value] = []
        self.left_out: set[Node] = set()
        self._found: dict[Node, Node] = {}

    def pack(self) -> None:
        """Keep what every run makes anew."""
        raise NotImplementedError

    def hold(self, fusion: Fusion, made_by: str) -> None:
        """Put one node in the place of the last of these."""
        self._found[fusion.nodes[-1]] = fusion.fused(made_by)

    def replaced(self, nodes: Sequence[Node], results: Collection[Value]) -> list[Node]:
        """`replaced`, with the nodes that multiply by what is packed."""
        return replaced(nodes, self._found, results) if self._found else list(nodes)


def memory_of(shapes: Sequence[Sequence[int]]) -> Iterator[Array]:
    """Flat f32 memory for each shape, all of it one array.

    The system gives large arrays in large pages, which takes a fifth of the time.
    """
    sizes = [prod(shape) for shape in shapes]
    memory = np.empty(sum(sizes), np.float32)
    end = 0
    for size in sizes:
        start, end = end, end + size
        yield memory[start:end]


class PackedMatrices(PackedWeights):
    """The matrices of one graph by which only MatMul multiplies, where it is fastest with panels.

    constants: the constants by number; what the nodes hold leaves it. types: of every value, for the declared shapes.
    operator: what runs for a node.
    """

    def __init__(
        self,
        graph: Graph,
        constants: list[Array | None],
        types: Types,
        operator: Callable[[Node], Op],
        room: WeightMemoryBudget,
    ) -> None:
        super().__init__(room)
        self.packed_matrices: list[PackedMatrix] = []
        wanted = [one for one in readers_of(graph).items() if may_be_panelled(constants[one[0].number])]
        # Each element saves as much in every run, so that the order counts for memory alone.
        for value, nodes in sorted(wanted, key=lambda one: -types[one[0].number].shape.size.hi):
            array = constants[value.number]
            assert array is not None, "it is a constant"
            order = _order_of(value, nodes, array, types, operator)
            if order is None:
                continue
            if not room.takes_packed(array, array.nbytes, beside=False):
                self.left_out.update(nodes)
                continue
            matrix = PackedMatrix(array.T if order.is_transposed else array)
            self.packed_matrices.append(matrix)
            self.values.append(value)
            constants[value.number] = None
            for node in nodes:
                op = PackedMatMul(operator(node), Shape(array.shape), matrix)
                self.hold(Fusion([node], op, node.values_in[:1]), "prepack_weights")

    def pack(self) -> None:
        """Keep the panels of all matrices, each in the place of the matrix."""
        stored = [one for one in self.packed_matrices if one.matrix is not None and self.room.is_stored(one.matrix)]
        for packed, memory in zip(stored, memory_of([one.shape for one in stored]), strict=True):
            array = packed.matrix
            packed.pack(memory)
            if array is not None:
                self.room.leave_file(array if array.flags.c_contiguous else array.T)
        for packed in self.packed_matrices:
            if not packed.is_packed:
                # Each takes the memory of the one before.
                packed.pack(np.empty(prod(packed.shape), np.float32))


def may_have_sums(graph: Graph) -> bool:
    """Whether there are convolutions that may be one with other layers."""
    return any(node.type in ("Convolution", "GroupConvolution") for node in graph.nodes)


def readers_of(graph: Graph) -> dict[Value, list[Node]]:
    """The nodes that read each value."""
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.values_in:
            readers.setdefault(value, []).append(node)
    return readers


def may_be_panelled(array: Array | None) -> TypeGuard[Array]:
    """Return True for a large matrix of f32."""
    return (
        array is not None
        and array.dtype == np.float32
        and array.ndim == 2
        and array.size >= thresholds.PANELLED_ELEMENTS
    )


def is_of_floats(node: Node, op: Op, types: Types) -> bool:
    """Whether an operator of this library calculates with f32 alone."""
    kinds = {types[one.number].element_type for one in (*node.values_in, *node.outputs)}
    return is_known(op) and kinds == {ElementType.f32}


class _Order(NamedTuple):
    is_transposed: bool


def _order_of(
    value: Value, nodes: Sequence[Node], array: Array, types: Types, operator: Callable[[Node], Op]
) -> _Order | None:
    """How all nodes multiply by a constant; None where one of them does not, or is not better off with panels."""
    if not machine().has_small_kernels:
        return None
    orders = {_order(node, value, array.shape, types, operator) for node in nodes}
    order = orders.pop()
    return None if orders or order is None else _Order(order)


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

    type_name = "MatMul"
    inputs = (In("a"),)

    _shape: Shape
    _matrix: PackedMatrix

    def __init__(self, op: Op, shape: Shape, matrix: PackedMatrix) -> None:
        """op: the MatMul. shape: of its b. matrix: b as it is multiplied, in panels."""
        vars(self).update(_op=op, _shape=shape, _matrix=matrix)

    @property
    def choice(self) -> KernelChoice:
        """Why panels are taken, and whether they are kept already."""
        kept = "kept" if self._matrix.is_packed else "copied in every run until there were enough runs"
        return KernelChoice(
            f"BLAS multiplies panels as they lie; they are {kept}.", ("product: slower from memory",), "panels"
        )

    def _whole(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [*types, TensorType(ElementType.f32, self._shape)]

    def evaluate(self, a: Array) -> Array:
        """a: rank 1 or more; f32."""
        if a.ndim > 1 and self._op.transpose_a:  # type: ignore[attr-defined]  # it is a MatMul
            a = a.swapaxes(-1, -2)
        result = self._matrix.product(a.reshape(-1, a.shape[-1]))
        return result.reshape(*a.shape[:-1], result.shape[1])
