"""The plans of a network as text: one line for each step, and what is computed before a run.

    conv1: Convolution by convolve.im2col, in place of input 0, of conv1, bn1, relu1

means that one step, named after the last layer in it, computes three layers by the kernel `convolve.im2col` and writes
its output over its first input. Kernels are named by the functions that are called, without their modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ir_exec.graph import Graph, Node
from ir_exec.plan.explain import layer_names, shown_kernel
from ir_exec.plan.records import Plan, Step
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.runtime.executor import Executor
from ir_exec.tuning.machine import pretend

__all__ = ["fixed_machine", "plans_of"]

_WIDTH = 116
"""Columns of a line that lists names."""


@contextmanager
def fixed_machine() -> Iterator[None]:
    """Plans are chosen as for a CPU with AVX-512, on any machine."""
    with pretend(has_small_kernels=True):
        yield


def plans_of(compiled: CompiledModel) -> str:
    """All plans by which a network and its bodies have run."""
    return "\n".join(_lines(compiled.executor, compiled.executor.compiler.setting.graph, ""))


def _lines(executor: Executor, graph: Graph, scope: str) -> Iterator[str]:
    plans = executor.plans
    names = dict(layer_names(graph))
    for number, plan in enumerate(plans):
        yield f"## {scope or 'network'}, plan {number + 1}: {len(plan.steps)} steps for {len(names)} layers"
        yield from _plan(executor, plan, names)
        if plan.prologue is not None:
            yield "once:"
            yield from (_step(step, plan.prologue, names) for step in plan.prologue.steps)
    for node, executors in executor.bodies.items():
        for body, inner in zip(node.bodies, executors, strict=True):
            yield from _lines(inner, body.graph, f"{scope}{names[node]}/{body.name}/")


def _plan(executor: Executor, plan: Plan, names: dict[Node, str]) -> Iterator[str]:
    yield from (_step(step, plan, names) for step in plan.steps)
    ran = {
        member
        for part in (plan, plan.prologue)
        if part
        for step in part.steps
        for member in step.members or (step.node,)
    }
    groups: dict[str, list[str]] = {}
    for node, name in names.items():
        if node not in ran:
            groups.setdefault(_group(executor, plan, node), []).append(name)
    for group, members in sorted(groups.items()):
        yield f"{group}:"
        yield from _wrap_names(sorted(members))


def _group(executor: Executor, plan: Plan, node: Node) -> str:
    numbers = [value.number for value in node.outputs]
    constants = executor.compiler.constants
    if constants is not None and any(value in constants.folded for value in node.outputs):
        has_constants = any(constants.arrays[number] is not None for number in numbers)
        return "constants" if has_constants else "folded into constants"
    if any(plan.slots[number] is not None for number in numbers):
        return "known from the shapes of inputs"
    return "held by a step, or not needed"


def _step(step: Step, plan: Plan, names: dict[Node, str]) -> str:
    kernel, input_index = shown_kernel(step.evaluate)
    cls = type(step.op)
    parts = [f"{names[step.node]}: {getattr(cls, 'type_name', step.node.type)} by {kernel}"]
    if cls.__module__.startswith("ir_exec.plan."):
        parts[0] += f" of {cls.__name__}"
    if input_index is not None:
        parts.append(f"in place of input {input_index}")
    if step.dynamic_memory is not None:
        parts.append("memory shows in the run")
    if step.members:
        parts.append("of " + " + ".join(names[member] for member in step.members))
    return "  " + ", ".join(parts)


def _wrap_names(names: list[str]) -> Iterator[str]:
    line = "  "
    for name in names:
        if len(line) + len(name) + 2 > _WIDTH and line.strip():
            yield line.rstrip()
            line = "  "
        line += name + ", "
    yield line.rstrip(", ")
