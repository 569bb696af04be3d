"""Records of plans: their settings, their steps, and fusions that matched in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ir_exec.errors import ResourceError
from ir_exec.graph import Graph, Node
from ir_exec.infer import Types
from ir_exec.kernels.limits import Budget, Limits
from ir_exec.ops import Op
from ir_exec.ops.base.variants import KernelRequest
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.ir import Weights
    from ir_exec.plan.run_sizes import SizedSlots

__all__ = [
    "Context",
    "DynamicStepMemory",
    "Instrument",
    "Kernel",
    "Plan",
    "Setting",
    "Skipped",
    "Step",
    "require_at_layer",
]

Context: TypeAlias = Mapping[str, Any]
"""The context of operators in addition to their inputs: `weights`, `state`."""

Kernel: TypeAlias = Callable[..., Any]
"""A function that computes the outputs of a node from the arrays of its inputs."""


class DynamicStepMemory(NamedTuple):
    """The memory during a step whose own memory is known only in the run.

    Attributes:
        other_bytes: Bytes of the tensors of known size in addition to its outputs.
        outputs: The known bytes of each output.
    """

    other_bytes: int
    outputs: tuple[int, ...]


@dataclass(slots=True)
class Step:
    """One node in the loop.

    Attributes:
        inputs: Slots, which are the numbers of the values.
        outputs: Slots, which are the numbers of the values.
        dying: Slots that are empty after this step.
        dynamic_memory: None if planning has counted all memory of the step.
        op: The operator that computes them.
        members: The nodes that it computes, `node` last, if a rewrite has fused several.
        made_by: The pass that fused the nodes, "" for a layer of the file.
        request: The request for which the kernel was selected; None if there are no variants.
        fetch: Returns the arrays of the inputs from the slots.
    """

    node: Node
    evaluate: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dying: tuple[int, ...]
    dynamic_memory: DynamicStepMemory | None
    op: Op
    members: tuple[Node, ...] = ()
    made_by: str = ""
    request: KernelRequest | None = None
    fetch: Callable[[list[Array | None]], Sequence[Any]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Four times faster than a loop over the slots, which matters for small layers. A single key gives no sequence.
        first = self.inputs[0] if self.inputs else 0
        self.fetch = (
            itemgetter(*self.inputs) if len(self.inputs) > 1 else itemgetter(slice(first, first + len(self.inputs)))
        )


Instrument: TypeAlias = Callable[[Step], Step]
"""A function that returns a replacement for each step of a plan, for instance one that measures its time."""


class Skipped(NamedTuple):
    """A fusion whose pattern matched in part.

    Attributes:
        pass_name: The pass.
        node: One that matched, or that reads a mismatch.
        expected: The expected value.
        found: The actual value.
    """

    pass_name: str
    node: Node
    expected: str
    found: str


@dataclass(slots=True)
class Plan:
    """The steps for one set of input shapes.

    Attributes:
        slots: The contents of every slot at the start of a run: constants, and values that follow from the input
            shapes.
        results: The slots of the outputs at the end.
        live: For each step the bytes of all tensors of known size that exist after it has computed its outputs, without
            the inputs of the model and the constants.
        peak: The maximum of it. Both include the bytes that the plan stores.
        prologue: Runs only in the first iteration of a loop, before the steps, which read its results.
        skipped: Fusions whose patterns matched in part.
        result_types: The types of the outputs.
        input_types: The types of the inputs.
        is_dynamic: Some steps infer types in the run.
        sized: The values that follow from the sizes of a run, for a plan of runs with certain sizes.
    """

    steps: list[Step]
    slots: list[Array | None]
    results: list[int]
    live: list[int] = field(default_factory=list)
    peak: int = 0
    prologue: Plan | None = None
    skipped: Sequence[Skipped] = ()
    result_types: Sequence[TensorType] = ()
    input_types: Sequence[TensorType] = ()
    is_dynamic: bool = False
    sized: SizedSlots | None = None

    def require_memory(self, limits: Limits) -> None:
        """Raise ResourceError at the first layer at which a run of this plan exceeds the budget."""
        try:
            limits.require(self.peak)
        except ResourceError:
            for live, step in zip(self.live, self.steps, strict=True):
                require_at_layer(step.node, limits.require, live)


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings shared by all plans of a graph.

    Attributes:
        nodes: The nodes of the graph that compute something.
        bodies: The executors of the bodies of each node.
        ops: Operators that replace the operators of nodes.
        run: Runs a plan on its slots.
        types: The types of all values for the declared input types, if known.
        expand: Constants that take more memory than the weights they are computed from are stored.
        packs_at_once: Packed weights are stored with the first plan, not after enough runs.
        fixed: The numbers of inputs that are equal in many runs.
        back_edges: The positions of results that are read as inputs of the next run only, with the numbers of these.
        instrument: A function applied to every step, including those of bodies.
    """

    graph: Graph
    nodes: Sequence[Node]
    context: Context
    bodies: Mapping[Node, tuple[Any, ...]]
    budget: Budget
    ops: Mapping[Node, Op]
    run: Callable[[Plan, list[Array | None]], None]
    types: Types | None = None
    expand: bool = True
    packs_at_once: bool = False
    fixed: Sequence[int] = ()
    back_edges: Sequence[tuple[int, int]] = ()
    instrument: Instrument | None = None

    @property
    def weights(self) -> Weights | None:
        weights: Weights | None = self.context["weights"]
        return weights

    def operator(self, node: Node) -> Op:
        op = self.ops.get(node, node.op)
        assert op is not None, "the compiler rejects models with unsupported operators"
        return op


def require_at_layer(node: Node, require: Callable[[int], None], size: int) -> None:
    try:
        require(size)
    except ResourceError as error:
        raise error.located(node.location) from None
