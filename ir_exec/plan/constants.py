"""The constants of a model: what passes of scope `model` take and return, and what every plan of the model reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.kernels.limits import owner_of
from ir_exec.plan.records import Kernel, Setting
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.passes.compressed_weights import CompressedWeights
    from ir_exec.plan.passes.prepack import PackedWeights, WeightMemoryBudget

__all__ = ["ModelConstants"]


@dataclass(frozen=True)
class ModelConstants:
    """The constants of one graph.

    A pass returns another record. It may change `arrays` in place, which frees the memory of an array before the next
    one is made: the compiler discards all constants if a pass fails.

    Attributes:
        types: The types of all values, for the input shapes of the first plan.
        weight_memory: The memory for constants in another order than in the file.
        arrays: The constants by number; None for other values, and for constants held by nodes.
        folded: The values that no plan computes.
        unstored: Constants held by nodes, and the values that they are computed from; a plan without the nodes computes
            them.
        packed: The nodes that hold constants in another form, by the passes that have made them.
        compressed: The nodes that hold constants as they are in the file.
        kernels: The results of `Op.with_constants` so far.
    """

    setting: Setting
    types: Types
    weight_memory: WeightMemoryBudget
    arrays: list[Array | None] = field(default_factory=list)
    folded: frozenset[Value] = frozenset()
    unstored: frozenset[Value] = frozenset()
    packed: tuple[PackedWeights, ...] = ()
    compressed: CompressedWeights | None = None
    kernels: dict[Node, Kernel | None] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The bytes of all constants; views of the mapped file take none."""
        owners = {id(owner): owner for array in self.arrays if array is not None for owner in [owner_of(array)]}
        return self.weight_memory.packed_bytes + sum(owner.nbytes for owner in owners.values() if owner.base is None)

    def computed_nodes(self) -> list[Node]:
        """The nodes that a plan computes."""
        return [node for node in self.setting.nodes if not (node.outputs and node.outputs[0] in self.folded)]

    def require_complete(self) -> None:
        """Raise AssertionError if a computed node or a result reads a folded value without an array."""
        for node in (*self.computed_nodes(), *self.setting.graph.results):
            for value in node.values_in:
                is_stored = self.arrays[value.number] is not None
                assert is_stored or value not in self.folded, f"{node.name} reads {value.name}, which is not stored"

    def select_kernel(self, node: Node) -> Kernel | None:
        """`Op.with_constants` of a node, called once: constants are equal in all plans."""
        if node not in self.kernels:
            arrays = [self.arrays[value.number] for value in node.values_in]
            stored = {position: array for position, array in enumerate(arrays) if array is not None}
            # An array that is not contiguous already has another memory order.
            size = sum(array.nbytes for array in stored.values() if array.flags.c_contiguous)
            fits = size <= self.weight_memory.left
            kernel = self.setting.operator(node).with_constants(stored) if fits else None
            if kernel is not None:
                self.weight_memory.left -= size
            self.kernels[node] = kernel
        return self.kernels[node]

    def hold(self, packed: PackedWeights) -> ModelConstants:
        """Return the constants without those held by these nodes; a plan without such a node computes them again."""
        if self.setting.packs_at_once:
            packed.pack()
        unstored = set(packed.values)
        for node in reversed(self.setting.graph.nodes):
            if not unstored.isdisjoint(node.outputs):
                unstored.update(value for value in node.values_in if self.arrays[value.number] is None)
        return replace(
            self, folded=self.folded - unstored, unstored=self.unstored | unstored, packed=(*self.packed, packed)
        )

    def declared_types(self) -> Types:
        """The types for the declared input shapes; those of the first plan if declarations of a body do not match."""
        if self.setting.types is not None:
            return self.setting.types
        faults: list[IRError] = []

        def settle(node: Node, inferred: list[TensorType] | None, errors: list[IRError]) -> list[TensorType]:
            faults.extend(errors)
            return inferred_or_declared(node, inferred, errors)

        setting = self.setting
        types = infer_types(setting.graph, weights=setting.weights, overrides={}, ops=setting.ops, settle=settle)
        return self.types if faults else types
