"""The passes in their order.

A pass is a record with a function. Passes of scope `model` take and return the constants of a model, once; passes of
scope `shapes` take and return the nodes of a plan, for each set of input shapes. A pass has no state of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, TypeAlias

from ir_exec.plan.constants import ModelConstants
from ir_exec.plan.fusing import FusionRule, fuse
from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.passes.deferred import (
    fuse_grouped_attention,
    grow_variables,
    precompute_sizes,
    trace_sizes,
)
from ir_exec.plan.passes.eliminate_known_values import eliminate_known_values
from ir_exec.plan.passes.fold import fold_constants
from ir_exec.plan.passes.fold_shapes import fold_shapes
from ir_exec.plan.passes.fuse_activation import ACTIVATIONS
from ir_exec.plan.passes.fuse_attention import ATTENTION
from ir_exec.plan.passes.fuse_batch_norm import KNOWN_BATCH_NORM
from ir_exec.plan.passes.fuse_layer_norm import LAYER_NORM, RMS_NORM
from ir_exec.plan.passes.fuse_padding import PADDING
from ir_exec.plan.passes.fuse_quantization import QUANTIZATION
from ir_exec.plan.passes.hoist_gather_past_matmul import hoist_gather_past_matmul
from ir_exec.plan.passes.hoist_loop_invariants import hoist_loop_invariants
from ir_exec.plan.passes.pack_weights import (
    find_compressed_weights,
    prepack_weights,
    transform_filters,
    use_compressed_weights,
    use_packed_weights,
)
from ir_exec.plan.passes.relayout_constants import relayout_constants
from ir_exec.plan.passes.select_kernels import select_kernels
from ir_exec.plan.passes.sink_large_constants import sink_large_constants
from ir_exec.plan.selection import PassSelection

__all__ = ["ALL_PASSES", "PASSES", "Exactness", "ModelPass", "Pass", "ShapesPass", "fusion_pass", "selection_of"]

Exactness: TypeAlias = Literal["bit-exact", "rounding"]
"""Results are bit-identical, or may be rounded in another order."""


@dataclass(frozen=True)
class Pass:
    """A change of plans.

    Attributes:
        scope: Once for a graph, or for each set of input shapes.
        effect: A description of one line.
        needs: Passes that must run before.
        is_required: It runs without `optimize` too, and cannot be disabled.
        is_plain: It runs without `optimize` too.
        computes: It runs layers of the model, whose errors are errors of a run.
        selected_with: The pass that users disable it with; "" for itself.
    """

    name: str
    exactness: Exactness
    effect: str
    _: KW_ONLY
    needs: tuple[str, ...] = ()
    is_required: bool = False
    is_plain: bool = False
    computes: bool = False
    selected_with: str = ""
    scope: ClassVar[Literal["model", "shapes"]]

    @property
    def is_selectable(self) -> bool:
        """True if users can disable it by name."""
        return not (self.is_required or self.selected_with)


@dataclass(frozen=True)
class ModelPass(Pass):
    """A pass of the constants of a model. It may change the arrays that it receives in place."""

    run: Callable[[ModelConstants], ModelConstants]
    scope = "model"


@dataclass(frozen=True)
class ShapesPass(Pass):
    """A pass of the nodes of a plan. It may change the graph that it receives in place."""

    run: Callable[[PlanGraph, ModelConstants], PlanGraph]
    scope = "shapes"


def fusion_pass(name: str, exactness: Exactness, effect: str, *rules: FusionRule) -> ShapesPass:
    """A pass that replaces several nodes by one, wherever one of its rules matches."""

    def run(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
        for part in (graph, graph.prologue):
            if part is not None:
                fuse(part, name, rules)
        return graph

    return ShapesPass(name, exactness, effect, run, needs=("eliminate_known_values",))


PASSES: Sequence[ModelPass | ShapesPass] = (
    ModelPass(
        "fold_constants",
        "bit-exact",
        "compute values that depend on weights only",
        fold_constants,
        is_required=True,
    ),
    ModelPass(
        "prepack_weights",
        "rounding",
        "multiply by constant matrices prepacked in panels for BLAS",
        prepack_weights,
        needs=("fold_constants",),
    ),
    ModelPass(
        "transform_filters",
        "rounding",
        "transform filters for Winograd's algorithm, and merge several convolutions",
        transform_filters,
        needs=("fold_constants",),
    ),
    ModelPass(
        "relayout_constants",
        "bit-exact",
        "copy constants that are not contiguous or not aligned",
        relayout_constants,
        needs=("fold_constants",),
        is_required=True,
    ),
    ModelPass(
        "find_compressed_weights",
        "bit-exact",
        'find products with compressed weights, with weight_mode="keep"',
        find_compressed_weights,
        needs=("fold_constants", "prepack_weights", "transform_filters"),
        is_plain=True,
        selected_with="use_compressed_weights",
    ),
    ShapesPass(
        "sink_large_constants",
        "bit-exact",
        "read a constant that is not stored right before its first reader",
        sink_large_constants,
        needs=("fold_constants",),
        is_required=True,
    ),
    ShapesPass(
        "use_packed_weights",
        "rounding",
        "multiply by weights prepacked by prepack_weights and transform_filters",
        use_packed_weights,
        needs=("prepack_weights", "transform_filters", "sink_large_constants"),
        is_plain=True,
    ),
    ShapesPass(
        "use_compressed_weights",
        "rounding",
        'multiply by compressed weights chunk by chunk, with weight_mode="keep"',
        use_compressed_weights,
        needs=("find_compressed_weights", "sink_large_constants"),
        is_plain=True,
    ),
    ShapesPass(
        "eliminate_known_values",
        "bit-exact",
        "remove values that are known from inference, and unused values",
        eliminate_known_values,
        needs=("sink_large_constants",),
        is_plain=True,
    ),
    ShapesPass(
        "fold_shapes",
        "bit-exact",
        "compute values that follow from the input shapes",
        fold_shapes,
        needs=("eliminate_known_values",),
        computes=True,
    ),
    ShapesPass(
        "hoist_gather_past_matmul",
        "rounding",
        "in loops: multiply a whole value before gathering from it",
        hoist_gather_past_matmul,
        needs=("fold_shapes",),
    ),
    ShapesPass(
        "hoist_loop_invariants",
        "bit-exact",
        "in loops: compute once the values that are equal in every iteration",
        hoist_loop_invariants,
        needs=("fold_shapes",),
    ),
    ShapesPass(
        "grow_variables",
        "bit-exact",
        "append to variables in place, in memory with room for more",
        grow_variables,
        needs=("eliminate_known_values",),
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
    ShapesPass(
        "trace_sizes",
        "bit-exact",
        "infer sizes that change from run to run once, as expressions of the sizes of inputs and variables",
        trace_sizes,
        needs=("eliminate_known_values", "fold_shapes"),
    ),
    ShapesPass(
        "fuse_grouped_attention",
        "rounding",
        "attention with fewer heads of keys than of queries, without repeating the keys",
        fuse_grouped_attention,
        needs=("trace_sizes",),
    ),
    ShapesPass(
        "precompute_sizes",
        "bit-exact",
        "compute values that follow from the sizes of a run before its steps",
        precompute_sizes,
        needs=("trace_sizes",),
        selected_with="trace_sizes",
    ),
    ShapesPass(
        "select_kernels",
        "bit-exact",
        "choose kernels and buffers, and make the steps",
        select_kernels,
        needs=("sink_large_constants",),
        is_required=True,
    ),
)
"""Every pass, in the order of execution: those of scope `model` first."""

ALL_PASSES = PassSelection()
"""The default passes of a compiled model."""


def selection_of(passes: str | None) -> PassSelection:
    """Parse a selection such as `-fuse_attention,-prepack_weights`.

    Raises:
        EvaluationError: IR704 for unknown names.
    """
    return PassSelection.parse(passes, [entry.name for entry in PASSES if entry.is_selectable])
