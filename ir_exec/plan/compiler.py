"""The compiler of plans: the passes in their order, and the state shared by all plans of a graph.

A pass is a record with a function that changes a `PlanGraph`. `PASSES` has all of them in their order: passes of scope
`model` run once, with the first plan; those of scope `shapes` for each set of input shapes. A plan for an observer runs
the layers of the file, so only passes marked `always` run for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from ir_exec.errors import IRError, ResourceError
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types, infer_types
from ir_exec.kernels.limits import current_limits, owner_of
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import Parameter, Result
from ir_exec.plan.fusing import FusionRule, fuse
from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.passes.fuse_activation import ACTIVATIONS
from ir_exec.plan.passes.fuse_attention import ATTENTION
from ir_exec.plan.passes.fuse_batch_norm import KNOWN_BATCH_NORM
from ir_exec.plan.passes.fuse_layer_norm import LAYER_NORM, RMS_NORM
from ir_exec.plan.passes.fuse_padding import PADDING
from ir_exec.plan.passes.fuse_quantization import QUANTIZATION
from ir_exec.plan.passes.prepack import PackedMatrices, WeightMemoryBudget
from ir_exec.plan.planner import Kernel, Plan, Planner, Setting
from ir_exec.plan.precomputing import (
    eliminate_known_values,
    fold_constants,
    fold_shapes,
    hoist_gather_past_matmul,
    hoist_loop_invariants,
    prepack_weights,
    relayout_constants,
    sink_large_constants,
    transform_filters,
    use_compressed_weights,
    use_packed_weights,
)
from ir_exec.plan.selection import PassSelection
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.ir import Weights
    from ir_exec.plan.passes.compressed_weights import CompressedWeights
    from ir_exec.plan.passes.conv_weights import PackedFilters

__all__ = ["ALL_PASSES", "PASSES", "Compiler", "Pass", "PassFailedError", "Tier", "selection_of"]

Tier: TypeAlias = Literal["plain", "auto", "full"]
"""The optimization of plans: none, all passes, or all with packed weights stored immediately.

Otherwise packed weights are stored after enough runs.
"""


class Draft(PlanGraph):
    """A plan under construction.

    Attributes:
        inputs: The types of the Parameters.
        results: The numbers of the outputs.
        is_for_runs: False if an observer sees every layer; its steps then reuse no buffers.
        kept: Bytes in `slots` that belong to this plan only.
        prologue: The steps of a loop before its first iteration.
        finished: The plan.
    """

    def __init__(
        self,
        inputs: list[TensorType],
        types: Types,
        results: list[int],
        is_for_runs: bool,
        operator: Callable[[Node], Op],
    ) -> None:
        super().__init__([], types, [], results, operator)
        self.inputs = inputs
        self.results = results
        self.is_for_runs = is_for_runs
        self.kept = 0
        self.prologue: PlanGraph | None = None
        self.finished: Plan | None = None


@dataclass(frozen=True)
class Pass:
    """A change of plans.

    Attributes:
        exactness: Results are bit-identical, or may be rounded in another order.
        scope: Once for a graph, or for each set of input shapes.
        what: A description of one line.
        needs: Passes that must run before.
        always: It runs for observers too, and without `optimize`; such passes cannot be disabled.
        for_runs: It runs without `optimize` too.
        computes: It runs layers of the model, whose errors are errors of a run.
    """

    name: str
    exactness: Literal["bit-exact", "rounding"]
    scope: Literal["model", "shapes"]
    what: str
    run: Callable[[Compiler, Draft], None]
    needs: tuple[str, ...] = ()
    always: bool = False
    for_runs: bool = False
    computes: bool = False


class PassFailedError(RuntimeError):
    """An optional pass failed, which is a fault of this library; raised only in its tests."""


@dataclass
class Compiler:
    """The compiler of the plans of one graph.

    Attributes:
        setting: Shared by all plans.
        types: The types of all values for the declared input types, if known.
        expand: Constants that take more memory than the weights they are computed from are stored.
        tier: Which passes run.
        fixed: The numbers of inputs that are equal in many runs.
        back_edges: The positions of results that are read as inputs of the next run only, with the numbers of these.
        run: Runs a plan on its slots.
        folded: The values that are constants.
        constants: Their arrays by number.
        has_layout: They are in the memory order in which they are read.
        matrices: Constants held by nodes.
        filters: Constants held by nodes.
    """

    graph: Graph
    setting: Setting
    weights: Weights | None
    weight_memory: WeightMemoryBudget
    ops: Mapping[Node, Op]
    types: Types | None
    expand: bool
    tier: Tier
    fixed: Sequence[int]
    back_edges: Sequence[tuple[int, int]]
    selection: PassSelection
    run: Callable[[Plan, list[Array | None]], None]
    folded: set[Value] = field(default_factory=set)
    constants: list[Array | None] | None = None
    has_layout: bool = False
    matrices: PackedMatrices | None = None
    filters: PackedFilters | None = None
    compressed: CompressedWeights | None = None
    kernels: dict[Node, Kernel | None] = field(default_factory=dict)
    failed: str | None = None
    """The reason for a plan without values that follow from the input shapes; the run reports the fault."""
    broken: dict[str, str] = field(default_factory=dict)
    """The passes that failed, with their errors; plans are made without them."""
    is_strict: ClassVar[bool] = False
    """Raise PassFailedError if a pass fails, instead of making a plan without it."""

    def compile_plan(self, inputs: list[TensorType], is_for_runs: bool) -> Plan:
        """The plan for inputs of these types.

        Raises:
            IRError: The errors of inference.
            ResourceError: If tensors of known sizes exceed the budget.
        """
        given = {node.outputs[0]: type for node, type in zip(self.graph.parameters, inputs, strict=True)}
        types = self.inferred(given)
        try:
            return self._compiled(inputs, types, is_for_runs, left_out=frozenset())
        except IRError as error:
            if isinstance(error, ResourceError) and self._unpacked():
                return self.compile_plan(inputs, is_for_runs)
            if not (is_for_runs and self.tier != "plain") or self.constants is None:
                raise
            # A failure here recurs in the run, or in the plan below.
            self.failed = str(error)
            return self._compiled(inputs, types, is_for_runs, left_out=_FOLLOWS_SHAPES)

    def _compiled(self, inputs: list[TensorType], types: Types, is_for_runs: bool, left_out: Collection[str]) -> Plan:
        results = [node.values_in[0].number for node in self.graph.results]
        draft = Draft(inputs, types, results, is_for_runs, self.setting.operator)
        for one in PASSES:
            if one.name not in left_out and self._applies(one, draft) and not self._ran(one, draft):
                return self._compiled(inputs, types, is_for_runs, left_out)
        assert draft.finished is not None, "the last pass finishes it"
        draft.finished.skipped = [*draft.skipped, *(draft.prologue.skipped if draft.prologue is not None else ())]
        if is_for_runs and self.tier != "plain" and not left_out:
            draft.finished.require_memory(current_limits())
        return draft.finished

    def _applies(self, one: Pass, draft: Draft) -> bool:
        if one.always:
            return True
        if not draft.is_for_runs or (self.tier == "plain" and not one.for_runs):
            return False
        return self.selection.allows(one.name) and one.name not in self.broken

    def _ran(self, one: Pass, draft: Draft) -> bool:
        """Run a pass.

        Returns:
            False if it failed, and the plan must be made again without it.

        Raises:
            IRError: The errors of layers that a pass runs, and any error of a required pass.
        """
        try:
            one.run(self, draft)
        except Exception as error:
            if one.always or (one.computes and isinstance(error, IRError)):
                raise
            if self.is_strict:
                raise PassFailedError(f"pass {one.name} failed") from error
            self._leave_out(one, error)
            return False
        return True

    def _leave_out(self, one: Pass, error: Exception) -> None:
        import logging  # passes do not fail

        self.broken[one.name] = f"{type(error).__name__}: {error}"
        logging.getLogger("ir_exec.plan").warning("pass %s failed and is disabled", one.name, exc_info=error)
        if one.scope == "model":
            # It may have changed some of the constants.
            self.folded, self.constants, self.has_layout = set(), None, False
            self.matrices, self.filters, self.weight_memory.packed_bytes = None, None, 0
            self.kernels.clear()

    def pack(self) -> None:
        """Store packed weights. Results do not change; the memory for them was counted with the first plan."""
        for packed in (self.matrices, self.filters):
            if packed is not None:
                packed.pack()

    def _unpacked(self) -> bool:
        """Discard packed copies, starting with the first pass.

        Returns:
            True if there were any.
        """
        taken = self.weight_memory.packed_bytes
        self.selection = self.selection.leaving_out("prepack_weights", "transform_filters")
        if not taken or self.constants is None:
            return False
        if self.has_layout:
            self.setting.budget.constants -= self.constant_bytes
        self.constants, self.matrices, self.filters = None, None, None
        self.weight_memory.packed_bytes = 0
        self.has_layout = False
        self.kernels.clear()
        return True

    def inferred(self, given: dict[Value, TensorType]) -> Types:
        """The type of every value for these inputs."""
        if self.types is not None and all(self.types[value.number] == type for value, type in given.items()):
            return self.types
        return infer_types(self.graph, weights=self.weights, given=given, ops=self.ops)

    @property
    def constant_bytes(self) -> int:
        """The bytes of folded constants; views of the mapped file take none."""
        owners = {
            id(owner): owner for array in self.constants or () if array is not None for owner in [owner_of(array)]
        }
        return self.weight_memory.packed_bytes + sum(owner.nbytes for owner in owners.values() if owner.base is None)

    def with_constants(self, node: Node) -> Kernel | None:
        """`Op.with_constants` of a node, called once: constants are equal in all plans."""
        op = self.ops.get(node, node.op)
        if self.constants is None or op is None:
            return None
        if node not in self.kernels:
            arrays = [self.constants[value.number] for value in node.values_in]
            known = {position: array for position, array in enumerate(arrays) if array is not None}
            # An array that is not contiguous already has another memory order.
            size = sum(array.nbytes for array in known.values() if array.flags.c_contiguous)
            better = op.with_constants(known) if size <= self.weight_memory.left else None
            if better is not None:
                self.weight_memory.left -= size
            self.kernels[node] = better
        return self.kernels[node]

    def steps(self) -> list[Node]:
        """The nodes of the graph that compute something."""
        return [node for node in self.graph.nodes if not isinstance(node.op, (Parameter, Result))]

    def is_folded(self, node: Node) -> bool:
        """Return True if the outputs of a node are constants."""
        return bool(node.outputs) and node.outputs[0] in self.folded


def _fusing(name: str, rules: Sequence[FusionRule]) -> Callable[[Compiler, Draft], None]:
    """The function of a pass that replaces several nodes by one, wherever one of its rules matches."""

    def run(compiler: Compiler, draft: Draft) -> None:
        for graph in (draft, draft.prologue):
            if graph is not None:
                fuse(graph, name, rules)

    return run


def select_kernels(compiler: Compiler, draft: Draft) -> None:
    """Choose the kernel of each node and the buffer of each output, and make the steps."""
    prologue = None
    if draft.prologue is not None:
        nodes, kept = draft.prologue.nodes, sorted(draft.prologue.keep)
        prologue = Planner(compiler.setting, nodes, draft.types, draft.slots, kept, overwrite=True).plan()
    planner = Planner(
        compiler.setting,
        draft.nodes,
        draft.types,
        draft.slots,
        draft.results,
        overwrite=draft.is_for_runs,
        kept=draft.kept,
        back_edges=compiler.back_edges,
    )
    draft.finished = planner.plan()
    draft.finished.prologue = prologue
    draft.finished.result_types = [draft.types[number] for number in draft.results]


def fusion_pass(name: str, exactness: Literal["bit-exact", "rounding"], what: str, *rules: FusionRule) -> Pass:
    needs = ("eliminate_known_values",)
    return Pass(name, exactness, "shapes", what, _fusing(name, rules), needs)


PASSES: tuple[Pass, ...] = (
    Pass(
        "fold_constants",
        "bit-exact",
        "model",
        "compute values that depend on weights only",
        fold_constants,
        always=True,
    ),
    Pass(
        "prepack_weights",
        "rounding",
        "model",
        "multiply by constant matrices prepacked in panels for BLAS",
        prepack_weights,
        ("fold_constants",),
    ),
    Pass(
        "transform_filters",
        "rounding",
        "model",
        "transform filters for Winograd's algorithm, and merge several convolutions",
        transform_filters,
        ("fold_constants",),
    ),
    Pass(
        "relayout_constants",
        "bit-exact",
        "model",
        "copy constants that are not contiguous or not aligned",
        relayout_constants,
        ("fold_constants",),
        always=True,
    ),
    Pass(
        "sink_large_constants",
        "bit-exact",
        "shapes",
        "read a constant that is not stored right before its first reader",
        sink_large_constants,
        ("fold_constants",),
        always=True,
    ),
    Pass(
        "use_packed_weights",
        "rounding",
        "shapes",
        "multiply by weights prepacked by prepack_weights and transform_filters",
        use_packed_weights,
        ("prepack_weights", "transform_filters", "sink_large_constants"),
        for_runs=True,
    ),
    Pass(
        "use_compressed_weights",
        "rounding",
        "shapes",
        'multiply by compressed weights chunk by chunk, with weight_mode="keep"',
        use_compressed_weights,
        ("sink_large_constants",),
        for_runs=True,
    ),
    Pass(
        "eliminate_known_values",
        "bit-exact",
        "shapes",
        "remove values that are known from inference, and unused values",
        eliminate_known_values,
        ("sink_large_constants",),
        for_runs=True,
    ),
    Pass(
        "fold_shapes",
        "bit-exact",
        "shapes",
        "compute values that follow from the input shapes",
        fold_shapes,
        ("eliminate_known_values",),
        computes=True,
    ),
    Pass(
        "hoist_gather_past_matmul",
        "rounding",
        "shapes",
        "in loops: multiply a whole value before gathering from it",
        hoist_gather_past_matmul,
        ("fold_shapes",),
    ),
    Pass(
        "hoist_loop_invariants",
        "bit-exact",
        "shapes",
        "in loops: compute once the values that are equal in every iteration",
        hoist_loop_invariants,
        ("fold_shapes",),
    ),
    fusion_pass("fuse_rms_norm", "rounding", "RMS normalizations of several layers as one step", RMS_NORM),
    fusion_pass("fuse_layer_norm", "rounding", "layer normalizations of several layers as one step", LAYER_NORM),
    fusion_pass("fuse_batch_norm", "bit-exact", "batch normalizations with known vectors in place", KNOWN_BATCH_NORM),
    fusion_pass(
        "fuse_activation", "rounding", "Gelu, Swish, HSwish and Clamp of several layers as one step", *ACTIVATIONS
    ),
    fusion_pass("fuse_attention", "rounding", "attention chunk by chunk, without all scores in memory", ATTENTION),
    fusion_pass("fuse_quantization", "bit-exact", "FakeQuantize with known limits in place", QUANTIZATION),
    fusion_pass("fuse_padding", "bit-exact", "the zeros of a Pad as padding of its convolution", PADDING),
    Pass(
        "select_kernels",
        "bit-exact",
        "shapes",
        "choose kernels and buffers, and make the steps",
        select_kernels,
        ("sink_large_constants",),
        always=True,
    ),
)
"""Every pass, in the order of execution."""

ALL_PASSES = PassSelection()
"""The default passes of a compiled model."""


def selection_of(passes: str | None) -> PassSelection:
    """Parse a selection such as `-fuse_attention,-prepack_weights`.

    Raises:
        EvaluationError: IR704 for unknown names.
    """
    return PassSelection.parse(passes, [one.name for one in PASSES if not one.always])


_FOLLOWS_SHAPES = frozenset({"fold_shapes", "hoist_gather_past_matmul", "hoist_loop_invariants"})
"""Passes that are disabled if values that follow from the input shapes cannot be computed."""
