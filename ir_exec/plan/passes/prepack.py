"""Nodes that hold one of their inputs: matrices of MatMul in panels, transformed filters of convolutions.

A constant that only such nodes read is stored by them, and no longer as an array of the graph: an observed run, which
runs the layers of the file, computes it again.

Starting with the first run, matrices are multiplied in panels and filters transformed. Every run first does so on
demand; the results are stored after enough runs, without changing a bit. Sums of filters are stored immediately.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import ClassVar, NamedTuple, TypeGuard
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
    "replace_nodes",
]


COPIED_SHARE = 4
"""The divisor of the size of the constants that limits the memory added by packing and copies in a second layout."""

COPIED_ALWAYS = 2**22
"""Bytes that may always be stored in a second memory layout: a tenth of the memory of a process without a model."""

PRECOMPUTED_SHARE = 4
"""The divisor of the size of the constants that limits values that follow from the input shapes of all plans."""

PRECOMPUTED_ALWAYS = 2**23
"""Bytes that precomputed values may always take: masks and position tables take 4 KB to 6 MB in transformers."""

PRECOMPUTED_OF_BUDGET = 32
"""The divisor of the memory that always limits precomputed values; a run counts only those of its own plan."""

PACKED_SHARE = 4
"""The divisor of the memory that limits packed matrices of a mapped file."""


def replace_nodes(nodes: Sequence[Node], replacements: Mapping[Node, Node], results: Collection[Value]) -> list[Node]:
    """The nodes of a plan with nodes that hold an input, without layers that are then unused.

    Args:
        replacements: The replacement of a node.
        results: The values read at the end.
    """
    spared = {value for node in replacements for value in node.values_in if value not in replacements[node].inputs}
    retained: list[Node] = []
    read = set(results)
    for node in reversed([replacements.get(node, node) for node in nodes]):
        if node.outputs and spared.issuperset(node.outputs) and read.isdisjoint(node.outputs):
            spared.update(node.values_in)
        else:
            read.update(node.values_in)
            retained.append(node)
    return retained[::-1]


class HoldsInput(Op):
    """The base of replacements for an operator `_op` of the file that hold one input."""

    _op: Op

    def check_inputs(self, types: list[TensorType], report: Callable[[IRError], None]) -> bool:
        return self._op.check_inputs(self._complete_types(types), report)

    def infer(self, *types: TensorType) -> TensorType:
        output_type: TensorType = self._op.infer(*self._complete_types(types))
        return output_type

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        return self._op.multiply_adds(inputs, outputs)

    def _complete_types(self, types: Sequence[TensorType]) -> list[TensorType]:
        """The types of all inputs of the operator from the remaining ones."""
        raise NotImplementedError


class WeightMemoryBudget:
    """The memory for constants of one graph in another order than in the file.

    Args:
        weights: The source of constants.
        may_leave_file: Matrices of a mapped file may be copied to private memory.

    Attributes:
        left: Bytes by which the constants may still grow.
        packed_bytes: The size of all constants that are or will be packed.
    """

    def __init__(self, weights: Weights | None, budget: Budget, *, may_leave_file: bool) -> None:
        self._weights = weights
        self._may_leave_file = may_leave_file
        self._max_memory = budget.max_memory
        self._most_precomputed = budget.max_memory // PRECOMPUTED_OF_BUDGET
        self._precomputed: WeakValueDictionary[int, Array] = WeakValueDictionary()
        self.restart()

    def restart(self) -> None:
        """Forget all constants, but not the values that plans store."""
        self.left = 0
        self.packed_bytes = 0
        self._left_of_file = self._max_memory // PACKED_SHARE

    def enter(self, constants: Iterable[Array | None]) -> None:
        """Reserve memory for copies of some of these, in addition to the originals."""
        size = sum(array.nbytes for array in constants if array is not None)
        self.left = max(size // COPIED_SHARE, COPIED_ALWAYS)
        self._most_precomputed = min(max(size // PRECOMPUTED_SHARE, PRECOMPUTED_ALWAYS), self._most_precomputed)

    @property
    def left_for_precomputed(self) -> int:
        """Bytes that a new plan may store of values that follow from its input shapes; deleted plans take none."""
        return self._most_precomputed - sum(array.nbytes for array in self._precomputed.values())

    def count_precomputed(self, owner: Array) -> None:
        """Count the memory of values that a plan stores, for its lifetime."""
        self._precomputed[id(owner)] = owner

    def is_own(self, array: Array) -> bool:
        """Return True if an array's memory belongs neither to the weights nor to another array."""
        owner = owner_of(array)
        is_whole = owner.base is None and owner.nbytes == array.nbytes
        return is_whole and not self.is_stored(array)

    def is_stored(self, array: Array) -> bool:
        """Return True if an array's memory belongs to the weights."""
        return self._weights is not None and self._weights.holds(array)

    def takes_packed(self, array: Array, size: int, *, keeps_original: bool) -> bool:
        """Reserve memory for a constant packed into this many bytes.

        It replaces a private array, or pages of a file, which are released; only the additional memory counts as
        growth.

        Args:
            keeps_original: The constant is kept.

        Returns:
            False if there is not enough.
        """
        is_mapped, is_own = self._is_mapped(array), self.is_own(array)
        growth = max(size - array.nbytes, 0) if (is_mapped or is_own) and not keeps_original else size
        if growth > self.left or (is_mapped and size > self._left_of_file):
            return False
        self.left -= growth
        if is_mapped:
            self._left_of_file -= size
        self.packed_bytes += size + (array.nbytes if is_own and keeps_original else 0)
        return True

    def leave_file(self, array: Array) -> None:
        """Release the pages of a constant that is now packed."""
        if self._weights is not None and self._is_mapped(array):
            self._weights.forget(array)

    def _is_mapped(self, array: Array) -> bool:
        return self._may_leave_file and self._weights is not None and self._weights.maps(array)


class PackedWeights:
    """The packed constants of one graph: the nodes that hold them, instead of the nodes that read them.

    Attributes:
        made_by: The pass that makes them.
        form: The form of the constants, for messages.
        weight_memory: The budget.
        values: The constants held by these nodes.
        left_out: Nodes whose constant exceeded the memory.
    """

    made_by: ClassVar[str]
    form: ClassVar[str]

    def __init__(self, weight_memory: WeightMemoryBudget) -> None:
        self.weight_memory = weight_memory
        self.values: list[Value] = []
        self.left_out: set[Node] = set()
        self._found: dict[Node, Node] = {}

    def pack(self) -> None:
        """Store the packed constants that every run would make again."""
        raise NotImplementedError

    def hold(self, fusion: Fusion) -> None:
        """Replace the last of these by one node."""
        self._found[fusion.nodes[-1]] = fusion.make_node(self.made_by)

    def replace_nodes(self, nodes: Sequence[Node], results: Collection[Value]) -> list[Node]:
        """`replace_nodes`, with the nodes that multiply by packed constants."""
        return replace_nodes(nodes, self._found, results) if self._found else list(nodes)


def memory_of(shapes: Sequence[Sequence[int]]) -> Iterator[Array]:
    """Flat f32 memory for each shape, as views of one array.

    The system allocates large arrays in large pages, which is 5x faster.
    """
    sizes = [prod(shape) for shape in shapes]
    memory = np.empty(sum(sizes), np.float32)
    end = 0
    for size in sizes:
        start, end = end, end + size
        yield memory[start:end]


class PackedMatrices(PackedWeights):
    """The matrices of one graph that only MatMul reads, if panels are fastest.

    Args:
        constants: The constants by number; constants held by nodes are removed.
        types: The types of all values, for the declared shapes.
        operator: The operator that runs for a node.
    """

    made_by = "prepack_weights"
    form = "panels"

    def __init__(
        self,
        graph: Graph,
        constants: list[Array | None],
        types: Types,
        operator: Callable[[Node], Op],
        weight_memory: WeightMemoryBudget,
    ) -> None:
        super().__init__(weight_memory)
        self.packed_matrices: list[PackedMatrix] = []
        candidates = [item for item in readers_of(graph).items() if may_be_panelled(constants[item[0].number])]
        # Each element saves the same time in every run, so the order matters only for memory.
        for value, nodes in sorted(candidates, key=lambda item: -types[item[0].number].shape.size.hi):
            array = constants[value.number]
            assert array is not None, "the matrix is a constant"
            order = _order_of(value, nodes, array, types, operator)
            if order is None:
                continue
            if not weight_memory.takes_packed(array, array.nbytes, keeps_original=False):
                self.left_out.update(nodes)
                continue
            matrix = PackedMatrix(array.T if order.is_transposed else array)
            self.packed_matrices.append(matrix)
            self.values.append(value)
            constants[value.number] = None
            for node in nodes:
                op = PackedMatMul(operator(node), Shape(array.shape), matrix)
                self.hold(Fusion([node], op, node.values_in[:1]))

    def pack(self) -> None:
        """Store the panels of all matrices, each instead of the matrix."""
        stored = [
            matrix
            for matrix in self.packed_matrices
            if matrix.matrix is not None and self.weight_memory.is_stored(matrix.matrix)
        ]
        for packed, memory in zip(stored, memory_of([entry.shape for entry in stored]), strict=True):
            array = packed.matrix
            packed.pack(memory)
            if array is not None:
                self.weight_memory.leave_file(array if array.flags.c_contiguous else array.T)
        for packed in self.packed_matrices:
            if not packed.is_packed:
                # Each reuses the memory of the previous one.
                packed.pack(np.empty(prod(packed.shape), np.float32))


def may_have_sums(graph: Graph) -> bool:
    """Return True if there are convolutions that may be merged with other layers."""
    # Names, since importing the classes would load modules of operators that the model does not have.
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
    """Return True if an operator of this library computes in f32 only."""
    kinds = {types[value.number].element_type for value in (*node.values_in, *node.outputs)}
    return is_known(op) and kinds == {ElementType.f32}


class _Order(NamedTuple):
    is_transposed: bool


def _order_of(
    value: Value, nodes: Sequence[Node], array: Array, types: Types, operator: Callable[[Node], Op]
) -> _Order | None:
    """The orientation in which all nodes multiply by a constant; None if one does not, or panels are slower."""
    if not machine().has_small_kernels:
        return None
    orders = {_order(node, value, array.shape, types, operator) for node in nodes}
    order = orders.pop()
    return None if orders or order is None else _Order(order)


def _order(
    node: Node, value: Value, shape: tuple[int, ...], types: Types, operator: Callable[[Node], Op]
) -> bool | None:
    """Return True if a MatMul multiplies by the transposed value; None for other uses, or if panels are slower."""
    op = operator(node)
    if node.type != "MatMul" or node.inputs[0] is value or not is_of_floats(node, op, types):
        return None
    is_transposed = bool(vars(op)["transpose_b"])
    inner, columns = shape[:: -1 if is_transposed else 1]
    product = types[node.outputs[0].number].shape.size
    if not product.is_static and inner * columns < 8 * thresholds.PANELLED_ELEMENTS:
        return None
    # For a single row, and for products that are not long, BLAS copies nothing.
    is_copied = product.hi > columns and product.hi * inner > thresholds.TILE_MULTIPLICATIONS
    return is_transposed if is_copied and columns >= thresholds.TILE_COLUMNS else None


class PackedMatMul(HoldsInput):
    """MatMul of `a` by a constant matrix in the order in which BLAS reads it; it is not an operator of files."""

    type_name = "MatMul"
    inputs = (In("a"),)

    _shape: Shape
    _matrix: PackedMatrix

    def __init__(self, op: Op, shape: Shape, matrix: PackedMatrix) -> None:
        """A MatMul that holds its matrix in panels.

        Args:
            op: The MatMul.
            shape: The shape of b.
            matrix: b in panels.
        """
        vars(self).update(_op=op, _shape=shape, _matrix=matrix)

    @property
    def choice(self) -> KernelChoice:
        """The reason for panels, and their state."""
        state = "kept" if self._matrix.is_packed else "copied in every run until enough runs are counted"
        return KernelChoice(
            f"BLAS multiplies panels without a copy; they are {state}.", ("product: slower from memory",), "panels"
        )

    def _complete_types(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [*types, TensorType(ElementType.f32, self._shape)]

    def evaluate(self, a: Array) -> Array:
        """The product with the held matrix.

        Args:
            a: Rank 1 or more; f32.
        """
        if a.ndim > 1 and self._op.transpose_a:  # type: ignore[attr-defined]  # it is a MatMul
            a = a.swapaxes(-1, -2)
        result = self._matrix.product(a.reshape(-1, a.shape[-1]))
        return result.reshape(*a.shape[:-1], result.shape[1])
