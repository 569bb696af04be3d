"""Explanation of a plan: for each step the kernel that computes it, and the pass that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from ir_exec.graph import Graph, Node
from ir_exec.kernels.choice import KernelChoice
from ir_exec.ops.base.variants import choice_of
from ir_exec.ops.infrastructure.values import Parameter, Result
from ir_exec.plan.compiler import Compiler
from ir_exec.plan.dynamic_kernel import DynamicKernel
from ir_exec.plan.graph import FusedNode
from ir_exec.plan.passes.prepack import PackedWeights
from ir_exec.plan.pipeline import PASSES
from ir_exec.plan.records import Plan, Skipped, Step
from ir_exec.report.records import Record
from ir_exec.report.text import join_counts

__all__ = [
    "LayerPlan",
    "NearMatch",
    "PassPlan",
    "PlanReport",
    "kernel_name",
    "layer_names",
    "reported_plan",
    "shown_kernel",
    "shown_variant",
]

Fate = Literal["step", "fused", "constant", "folded", "known from shapes", "left out"]


class LayerPlan(Record):
    """The plan of a layer.

    Attributes:
        fate: `step` for a layer that runs, alone or as the last of several; `fused` for a layer computed by another
            step; `constant`, `folded` for layers computed once; `known from shapes` for layers that follow from the
            input shapes; `left out` for layers without readers.
        into: The layer whose step computes it.
        variant: The kernel.
        made_by: The pass that determined it.
        reason: The effect of that pass, or the reason for the kernel.
        alternatives: Other variants, with the reason for those that do not apply.
        in_place_of: The input whose memory the output reuses.
    """

    name: str
    type: str
    fate: Fate
    into: str | None = None
    variant: str | None = None
    made_by: str | None = None
    reason: str | None = None
    alternatives: tuple[str, ...] = ()
    in_place_of: int | None = None


class NearMatch(Record):
    """A fusion whose pattern matched in part, and was skipped.

    Attributes:
        layer: One that matched, or that reads a mismatch.
        expected: The expected value.
        found: The actual value.
    """

    layer: str
    expected: str
    found: str


class PassPlan(Record):
    """The effect of a pass on the plan.

    Attributes:
        layers: The number of affected layers.
        skipped: Its near matches.
        error: The reason for its failure; the plan is then made without it.
    """

    name: str
    exactness: Literal["bit-exact", "rounding"]
    layers: int
    skipped: tuple[NearMatch, ...] = ()
    error: str | None = None


class PlanReport(Record):
    """The plan for a set of input shapes.

    Attributes:
        steps: The number of steps.
        layers: Every layer of the model, in its order; bodies are planned separately.
        passes: The passes that affected a layer, skipped a fusion or failed, in their order.
        note: The reason if values that follow from the input shapes were not precomputed.
    """

    format: Literal[1] = 1
    steps: int
    layers: tuple[LayerPlan, ...]
    passes: tuple[PassPlan, ...] = ()
    note: str | None = None

    def __str__(self) -> str:
        fates = Counter(layer.fate for layer in self.layers)
        return f"{self.steps} steps for {len(self.layers)} layers: {join_counts(fates)}"


def reported_plan(compiler: Compiler, plan: Plan) -> PlanReport:
    """The plan with a line for each layer."""
    names = dict(layer_names(compiler.setting.graph))
    every = [(step, stage is not plan) for stage in (plan, plan.prologue) if stage is not None for step in stage.steps]
    reports = {node: layer for step, is_once in every for node, layer in _of_step(step, names, is_once=is_once)}
    for packed in _packed_weights(compiler):
        for node in reports.keys() & packed.left_out:
            others = (*reports[node].alternatives, f"{packed.form}: not enough memory for packed weights")
            reports[node] = reports[node].model_copy(update={"alternatives": others})
    layers = [reports.get(node) or _not_run(compiler, plan, node, names) for node in names]
    passes = tuple(_passes(compiler, plan, layers, names))
    return PlanReport(steps=len(plan.steps), layers=tuple(layers), passes=passes, note=compiler.failed)


def _packed_weights(compiler: Compiler) -> Sequence[PackedWeights]:
    return () if compiler.constants is None else compiler.constants.packed


def _passes(
    compiler: Compiler, plan: Plan, layers: Sequence[LayerPlan], names: Mapping[Node, str]
) -> Iterator[PassPlan]:
    counts = Counter(layer.made_by for layer in layers)
    for plan_pass in PASSES:
        skipped = tuple(_near_match(skip, names) for skip in plan.skipped if skip.pass_name == plan_pass.name)
        error = compiler.broken.get(plan_pass.name)
        if counts[plan_pass.name] or skipped or error is not None:
            yield PassPlan(
                name=plan_pass.name,
                exactness=plan_pass.exactness,
                layers=counts[plan_pass.name],
                skipped=skipped,
                error=error,
            )


def _near_match(skip: Skipped, names: Mapping[Node, str]) -> NearMatch:
    node = skip.node.members[-1] if isinstance(skip.node, FusedNode) else skip.node
    return NearMatch(layer=names.get(node, node.name), expected=skip.expected, found=skip.found)


def layer_names(graph: Graph) -> Iterator[tuple[Node, str]]:
    """The layers that compute something by their names, with the id if several have one name."""
    seen: set[str] = set()
    for node in graph.nodes:
        if not isinstance(node.op, (Parameter, Result)):
            name = node.name if node.name not in seen else f"{node.name}#{node.id}"
            seen.add(node.name)
            yield node, name


_EFFECTS = {entry.name: entry.effect for entry in PASSES}


def _of_step(step: Step, names: Mapping[Node, str], *, is_once: bool) -> Iterator[tuple[Node, LayerPlan]]:
    _, original = shown_kernel(step.evaluate)
    kernel = shown_variant(step)
    made_by = step.made_by or ("hoist_loop_invariants" if is_once else None)
    chosen = _choice(step)
    last = step.node
    for member in step.members or (step.node,):
        if member not in names:
            continue
        if member is not last:
            yield (
                member,
                LayerPlan(
                    name=names[member],
                    type=member.type,
                    fate="fused",
                    into=names.get(last),
                    made_by=made_by,
                    reason=_EFFECTS.get(made_by or ""),
                ),
            )
            continue
        yield (
            member,
            LayerPlan(
                name=names[member],
                type=member.type,
                fate="step",
                variant=kernel,
                made_by=made_by,
                reason=chosen.reason if chosen else _EFFECTS.get(made_by or ""),
                alternatives=chosen.alternatives if chosen else (),
                in_place_of=original,
            ),
        )


def _choice(step: Step) -> KernelChoice | None:
    """The reason for a kernel, and the alternatives; None for kernels without variants."""
    kernel: Any = step.evaluate
    while isinstance(kernel, partial) and not hasattr(kernel, "choice"):
        kernel = kernel.args[0] if getattr(kernel.func, "__name__", "") == "overwrite_input" else kernel.func
    owner = getattr(kernel, "__self__", None)
    chosen: KernelChoice | None = getattr(kernel, "choice", None) or getattr(owner, "choice", None)
    return chosen if chosen is not None or step.request is None else choice_of(step.op, step.request)


def _not_run(compiler: Compiler, plan: Plan, node: Node, names: Mapping[Node, str]) -> LayerPlan:
    numbers = [value.number for value in node.outputs]
    constants = compiler.constants
    assert constants is not None, "a plan reads them"
    fate: Fate = "left out"
    made_by = "eliminate_known_values"
    if any(value in constants.folded for value in node.outputs):
        is_kept = any(constants.arrays[number] is not None for number in numbers)
        fate, made_by = ("constant" if is_kept else "folded"), "fold_constants"
    elif any(plan.slots[number] is not None for number in numbers):
        fate, made_by = "known from shapes", "fold_shapes"
    for packed in _packed_weights(compiler):
        if any(value in packed.values for value in node.outputs):
            fate, made_by = "folded", packed.made_by
    return LayerPlan(name=names[node], type=node.type, fate=fate, made_by=made_by, reason=_EFFECTS[made_by])


def shown_variant(step: Step) -> str:
    """The type of the operator with the name of its variant, or the function that is called."""
    chosen = _choice(step)
    return f"{step.op.type_name}.{chosen.variant}" if chosen and chosen.variant else shown_kernel(step.evaluate)[0]


def shown_kernel(kernel: Any) -> tuple[str, int | None]:
    """The name of a kernel, and the input whose memory its output reuses."""
    original = None
    if isinstance(kernel, partial) and getattr(kernel.func, "__name__", "") == "overwrite_input":
        kernel, original = kernel.args[0], kernel.args[1]
    return kernel_name(kernel), original


def kernel_name(kernel: Any) -> str:
    """The function that is called, with the class of its operator."""
    if isinstance(kernel, DynamicKernel):
        return f"{kernel_name(kernel._kernel)} after inference{', or better' * kernel._better}"
    if isinstance(kernel, partial):
        return kernel_name(kernel.func)
    if hasattr(kernel, "__wrapped__"):
        return kernel_name(kernel.__wrapped__)
    name = getattr(kernel, "__qualname__", None)
    if name is None:
        return str(getattr(kernel, "__name__", type(kernel).__name__))
    owner = type(kernel.__self__).__qualname__ if getattr(kernel, "__self__", None) is not None else ""
    if owner and not owner.startswith("module"):
        # The class of the operator, not the one that it inherits from.
        name = f"{owner}.{name.rpartition('.')[2]}"
    return str(name.replace(".<locals>", "").replace(".<lambda>", ""))
