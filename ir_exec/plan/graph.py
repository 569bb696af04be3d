"""The nodes of a plan under construction, their queries for passes, and the node that replaces several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.ops import Op
from ir_exec.plan.records import Plan, Skipped
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.run_sizes import RunSizes, SizedSlots, TracedTypes

__all__ = [
    "FusedNode",
    "Fusion",
    "PlanGraph",
    "convert_op",
    "is_known",
    "is_users",
    "is_vector",
]


def is_known(op: Op) -> bool:
    """Return True for an operator of this library, with a known formula."""
    return type(op).__module__.startswith("ir_exec.ops.")


def is_users(op: Op) -> bool:
    """Return True for an operator that is neither of this library nor one of its rewrites."""
    return not type(op).__module__.startswith("ir_exec.")


def convert_op(op: Op, cls: type[Op], values: Mapping[str, Any]) -> Op:
    """An operator of this class with the attributes of another one, except for these."""
    result = cls.__new__(cls)
    vars(result).update({**vars(op), **values})
    return result


class _Index(NamedTuple):
    """The node that computes each value, and the nodes that read it, by its number."""

    producers: dict[int, Node]
    readers: dict[int, list[Node]]


class PlanGraph:
    """The nodes of a plan before the steps are made; passes change it.

    Attributes:
        operator: The operator that runs for a node.
        types: The types of all values of the graph.
        slots: The values known before a run.
        results: The numbers of the values kept at its end.
        skipped: Near matches of passes, with the reasons.
        prologue: The nodes of a loop that run before its first iteration.
        precomputed_bytes: Bytes in `slots` that belong to this plan only.
        plan: The steps, once they are made.
        sizes: The sizes of a run, for a plan of runs with sizes like these.
        traced: The types that follow from the sizes of a run.
        sized: The values that follow from them, computed before the steps.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        types: Types,
        slots: list[Array | None],
        results: Sequence[int],
        operator: Callable[[Node], Op],
    ) -> None:
        self.nodes = list(nodes)
        self.operator = operator
        self.types = types
        self.slots = slots
        self.results = list(results)
        self.keep = frozenset(results)
        self.skipped: list[Skipped] = []
        self.prologue: PlanGraph | None = None
        self.precomputed_bytes = 0
        self.plan: Plan | None = None
        self.sizes: RunSizes | None = None
        self.traced: TracedTypes | None = None
        self.sized: SizedSlots | None = None
        self._replaced: dict[Node, FusedNode | None] = {}
        self._kinds: dict[Node, str] = {}
        self._index: _Index | None = None

    def _current_index(self) -> _Index:
        if self._index is None:
            self._index = _Index({}, {})
            for node in self.nodes:
                for output in node.outputs:
                    self._index.producers[output.number] = node
                for value in dict.fromkeys(node.values_in):
                    self._index.readers.setdefault(value.number, []).append(node)
        return self._index

    def holds(self, node: Node) -> bool:
        """Return True if the node has not been replaced."""
        return node not in self._replaced

    def replace(self, fusion: Fusion, made_by: str = "") -> None:
        """Replace the last of the nodes by one node, and remove the others.

        Args:
            made_by: The pass that does so.
        """
        self._replaced |= dict.fromkeys(fusion.nodes)
        self._replaced[fusion.nodes[-1]] = fusion.make_node(made_by)

    def set_nodes(self, nodes: Sequence[Node]) -> None:
        """Replace all nodes."""
        self.nodes = list(nodes)
        self._index = None

    def require_order(self, parameters: Collection[Node]) -> None:
        """Raise AssertionError if a node reads a value before it exists, or if a result is missing.

        Args:
            parameters: The inputs of the graph.
        """
        available = {number for number, array in enumerate(self.slots) if array is not None}
        available.update(node.outputs[0].number for node in parameters)
        available.update(self.prologue.results if self.prologue is not None else ())
        available.update(self.sized.numbers if self.sized is not None else ())
        for node in self.nodes:
            missing = {value.number for value in node.values_in} - available
            assert not missing, f"{node.name} reads values that no earlier node computes: {missing}"
            available.update(value.number for value in node.outputs)
        assert available.issuperset(self.results), "a result is missing"

    def apply_replacements(self) -> None:
        """Rebuild the list of nodes after replacements."""
        if self._replaced:
            placed = [self._replaced.get(node, node) for node in self.nodes]
            self.nodes = [node for node in placed if node is not None]
            self._replaced = {}
            self._index = None

    def kind(self, node: Node) -> str:
        """The type that patterns match the node by; "" for custom operators and for changed ones.

        It is a name, since importing the class would load modules of operators that the model does not have. Operators
        made by passes have the name of their class.
        """
        type_name = self._kinds.get(node)
        if type_name is None:
            op = self.operator(node)
            type_name = op.type_name if is_known(op) else self.plan_kind(type(op))
            self._kinds[node] = type_name
        return type_name

    @staticmethod
    def plan_kind(cls: type[Op]) -> str:
        """The kind of nodes with an operator made by a pass, "" for other classes."""
        return f"plan.{cls.__name__}" if cls.__module__.startswith("ir_exec.plan.") else ""

    def producer(self, value: Value) -> Node | None:
        """The node of the plan that computes the value; None if it was replaced, or is not in the plan."""
        node = self._current_index().producers.get(value.number)
        return None if node in self._replaced else node

    def reader_besides(self, value: Value, nodes: Collection[Node]) -> str | None:
        """A description of another reader of a value than these nodes; None if there is none."""
        if value.number in self.keep:
            return "an output of the plan"
        others = [node for node in self._current_index().readers.get(value.number, ()) if node not in nodes]
        return f'{others[0].type} "{others[0].name}"' if others else None

    def described(self, value: Value) -> str:
        """A description of a value, for reasons."""
        array = self.known(value)
        if array is not None:
            return f"the number {array.item():g}" if array.size == 1 else f"a constant, {TensorType.of(array)}"
        return f'{value.node.type} "{value.name}", {self.type(value)}'

    def type(self, value: Value) -> TensorType:
        return self.types[value.number]

    def known(self, value: Value) -> Array | None:
        """The value, if it is known before a run."""
        return self.slots[value.number]

    def number(self, value: Value) -> float | None:
        """The only element of a value that is known before a run."""
        array = self.known(value)
        return None if array is None or array.size != 1 else float(array.reshape(()))

    def only_reader(self, value: Value) -> Node | None:
        """The only node that reads the value, if there is just one reader."""
        readers = self._current_index().readers.get(value.number, [])
        return readers[0] if len(readers) == 1 and value.number not in self.keep else None


def is_vector(vector: TensorType, data: TensorType) -> bool:
    """Return True if the first has an element for each place along the last axis of the data, and its element type."""
    if vector.shape.dims is None or data.shape.dims is None or not 0 < len(vector.shape) <= len(data.shape):
        return False
    *others, last = vector.shape
    fits = last.is_static and last == data.shape[-1] and all(dim == 1 for dim in others)
    return fits and vector.element_type is data.element_type


@dataclass(eq=False, slots=True, repr=False)
class FusedNode(Node):
    """A node of a plan that is not in the graph.

    Attributes:
        members: The nodes of the graph that it computes, in the order of the plan.
        made_by: The pass that made it.
    """

    members: tuple[Node, ...] = ()
    made_by: str = ""


class Fusion(NamedTuple):
    """The replacement of several nodes of a plan.

    Attributes:
        nodes: The last one follows all others; only its outputs are read by other nodes.
        op: Computes its outputs from `inputs`.
    """

    nodes: Sequence[Node]
    op: Op
    inputs: Sequence[Value]

    def make_node(self, made_by: str = "") -> FusedNode:
        """The fused node, with the location of the last one.

        Args:
            made_by: The pass that makes it.
        """
        last = self.nodes[-1]
        members = [
            member for node in self.nodes for member in (node.members if isinstance(node, FusedNode) else (node,))
        ]
        return FusedNode(
            layer=last.layer,
            op=self.op,
            path=last.path,
            op_class=type(self.op),
            inputs=list(self.inputs),
            outputs=last.outputs,
            members=tuple(members),
            made_by=made_by,
        )
