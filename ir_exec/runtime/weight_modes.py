"""Weights in runs, expanded or kept in their file: the argument `weight_mode` of `compile_model`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.model import WeightsSource, count_constant_bytes
from ir_exec.plan.constant_values import foldable
from ir_exec.plan.memory import byte_size, default_budget
from ir_exec.runtime.arguments import whole_number
from ir_exec.runtime.precision import Precision, file_types, widened_type

if TYPE_CHECKING:
    from ir_exec.graph import Graph
    from ir_exec.model import Model
    from ir_exec.types import TensorType

__all__ = [
    "WeightMode",
    "checked_weight_mode",
    "choose_weight_mode",
    "count_expanded_bytes",
    "split_weights",
    "weight_mode_of_many_runs",
    "weight_mode_of_one_run",
]

WeightMode: TypeAlias = Literal["auto", "expand", "keep"]
"""`expand`: values that depend on weights alone are computed once; `keep`: weights stay in their file."""

EXPANDED_SHARE = 16
"""The divisor of the machine's memory that limits what expanded weights add to it by default.

A decoder of f16 needs about 40 runs until faster products outweigh the time of the expansion; one of u4 gains nothing.
"""

BUDGET_SHARE = 3
"""The divisor of `max_memory` that limits what expanded weights add to it by default: expansion takes twice as much."""

EXPANDED_IN_ONE_RUN = 2**26
"""Bytes that expanded weights add by default to a model that runs once or a few times."""

MOST_GROWTH = 32
"""Bytes of f32 from one byte of weights, at most: from u1."""


def split_weights(weights: WeightsSource | None, mode: WeightMode = "auto") -> tuple[WeightsSource | None, WeightMode]:
    """Return another .bin and the mode; the former values "expand" and "keep" of `weights` are read as the mode.

    Raises:
        EvaluationError: IR704 for another mode.
    """
    if isinstance(weights, str) and weights in ("expand", "keep"):
        message = f"weights={weights!r} is called weight_mode={weights!r} now"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        return None, cast("WeightMode", weights) if mode == "auto" else mode
    return weights, checked_weight_mode(mode)


def checked_weight_mode(mode: WeightMode) -> WeightMode:
    """Return the mode; EvaluationError IR704 for another one."""
    if mode not in get_args(WeightMode):
        choices = "'auto', 'expand' or 'keep'"
        raise EvaluationError("weight_mode is", actual=repr(mode), expected=choices, code=Code.bad_value)
    return mode


def choose_weight_mode(
    model: Model, mode: WeightMode, precision: Precision, most_bytes: int
) -> Literal["expand", "keep"]:
    """Return the mode of all runs of a model: with "auto", "keep" if expanded weights add more than `most_bytes`."""
    if mode != "auto":
        return mode
    # Most models are too small for the question.
    if model.is_partial or count_constant_bytes(model.graph) * MOST_GROWTH <= most_bytes:
        return "expand"
    return "keep" if count_expanded_bytes(model, precision) > most_bytes else "expand"


def weight_mode_of_one_run(
    model: Model, mode: WeightMode = "auto", precision: Precision = "f32"
) -> Literal["expand", "keep"]:
    """Return the mode for a model that runs once or a few times."""
    return choose_weight_mode(model, mode, precision, EXPANDED_IN_ONE_RUN)


def weight_mode_of_many_runs(
    model: Model,
    mode: WeightMode,
    precision: Precision,
    max_memory: int | None = None,
    *,
    engine: str | None = None,
    workers: int = 1,
) -> Literal["expand", "keep"]:
    """Return the mode for a model that runs many times.

    An engine has its own kernels for compressed weights, and "keep" makes it slower.

    Args:
        max_memory: The budget of a run, None for the memory of the machine.
        workers: The number of processes that share this memory.
    """
    if mode == "auto" and engine is not None:
        return "expand"
    most_bytes = default_budget() // EXPANDED_SHARE // workers
    if max_memory is not None:
        most_bytes = min(most_bytes, whole_number(max_memory, "max_memory", 0) // BUDGET_SHARE)
    return choose_weight_mode(model, mode, precision, most_bytes)


def count_expanded_bytes(model: Model, precision: Precision = "f32") -> int:
    """Return the bytes of the values that "expand" stores and "keep" does not."""
    types = file_types(model)

    def type_of(graph: Graph) -> list[TensorType]:
        declared = [types.get(value, value.declared) for value in graph.values]
        return declared if precision == "file" else [widened_type(type) for type in declared]

    graphs = [model.graph]
    graphs += [body.graph for node in model.graph.all_nodes() for body in node.bodies]
    return sum(_count_in(graph, type_of(graph)) for graph in graphs)


def _count_in(graph: Graph, types: list[TensorType]) -> int:
    expanded = foldable(graph, types, expand_weights=True)
    added = expanded - foldable(graph, types, expand_weights=False)
    stored = {
        value
        for node in graph.nodes
        if not (node.outputs and node.outputs[0] in expanded)
        for value in node.values_in
        if value in added
    }
    return sum(byte_size(types[value.number]) for value in stored)
