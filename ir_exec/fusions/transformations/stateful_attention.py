"""StatefulSDPAFusion: attention that holds its keys and values, in the CPU plugin.

OpenVINO 2026.4, src/plugins/intel_cpu/src/transformations/cpu_opset/common/pass/stateful_sdpa_fusion.cpp.
"""

from __future__ import annotations

import numpy as np

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source, search
from ir_exec.fusions.transformations.states import graph_of, has_cached_keys, has_one_reader, list_readers
from ir_exec.graph import Value
from ir_exec.plan.patterns import Condition, Match, NodePattern, anything, constant, one_of, op
from ir_exec.types import ElementType

__all__ = ["STATEFUL_ATTENTION", "find_stateful_attention"]

_READERS_OF_STATE = frozenset({"ScaledDotProductAttention", "ShapeOf", "Convert", "Gather"})


def _is_beam(match: Match, value: Value) -> bool:
    type = match.graph.type(value)
    return type.element_type is ElementType.i32 and type.rank == 1


def _has_readers_of_state(match: Match, value: Value) -> bool:
    graph = graph_of(match)
    return all(graph.kind(reader) in _READERS_OF_STATE for reader in graph.readers(value))


def _assigned_variable(graph: FusionGraph, value: Value) -> str | None:
    """The variable that a value is assigned to."""
    for reader in graph.readers(value):
        if graph.kind(reader) == "Assign":
            return str(vars(graph.operator(reader))["variable_id"])
    return None


def _is_assigned(name: str) -> Condition:
    def test(match: Match, value: Value) -> bool:
        state = match.operator(match.values[f"past_{name}"])
        return _assigned_variable(graph_of(match), value) == str(state.variable_id)

    return test


def _has_two_readers(match: Match, value: Value) -> bool:
    """Return True if attention and Assign are the only readers of elements."""
    graph = graph_of(match)
    return len([reader for reader in graph.readers(value) if graph.kind(reader) != "ShapeOf"]) == 2


def _are_ones(match: Match, value: Value) -> bool:
    return bool(np.all(match.graph.known(value) == 1))


def _present(name: str) -> NodePattern:
    """The keys or values of all positions: those of the state, in the order of the beams, and the new ones."""
    past = (
        op("ReadValue")
        .where("no reader but Gather and ShapeOf", _has_readers_of_state, list_readers)
        .named(f"past_{name}")
    )
    beam = anything("beam").where("i32 of one axis", _is_beam)
    selected = op("Gather", past, beam, constant(f"axis_{name}")).where("no other reader", has_one_reader, list_readers)
    return (
        op("Concat", selected, anything(f"current_{name}"))
        .where("only attention and Assign as readers", _has_two_readers, list_readers)
        .where("an Assign to its own variable", _is_assigned(name))
        .named(f"present_{name}")
    )


def _repeat_heads(value: NodePattern) -> NodePattern:
    """The heads of grouped queries: each repeated for all queries of its group."""
    ones = constant("ones").where("ones", _are_ones)
    wide = op("Reshape|Unsqueeze", value, anything()).where("no other reader", has_one_reader, list_readers)
    expanded = one_of(
        op("Broadcast", wide, anything()).where("the mode bidirectional", _is_bidirectional),
        op("Multiply", wide, one_of(ones, op("Broadcast", ones, anything(), more_inputs=True))),
    ).where("no other reader", has_one_reader, list_readers)
    return op("Reshape", expanded, anything()).where("no other reader", has_one_reader, list_readers)


def _is_bidirectional(match: Match, value: Value) -> bool:
    return str(match.operator(value).mode).casefold() == "bidirectional"


def _have_same_axis(match: Match, value: Value) -> bool:
    axes = {match.operator(match.values[f"present_{name}"]).axis for name in ("key", "value")}
    return len(axes) == 1


def _pattern() -> NodePattern:
    key, value = (one_of(_repeat_heads(_present(name)), _present(name)) for name in ("key", "value"))
    order = constant("order")
    turned = [
        op("Transpose", part, order).where("no other reader", has_one_reader, list_readers) for part in (key, value)
    ]
    queries = op("Transpose", anything("query"), order).where("no other reader", has_one_reader, list_readers)
    plain = op("ScaledDotProductAttention", anything("query"), key, value, more_inputs=True)
    return one_of(
        plain.where("keys and values along one axis", _have_same_axis),
        op("ScaledDotProductAttention", queries, *turned, more_inputs=True).where(
            "keys and values along one axis", _have_same_axis
        ),
    )


_PATTERN = _pattern()
_ANCHOR = op("ScaledDotProductAttention")


def find_stateful_attention(graph: FusionGraph) -> Matches:
    """Attention with a cache, and near misses of attention that reads a variable."""
    return search(graph, _PATTERN, _ANCHOR, least=0, is_other=lambda part: not has_cached_keys(graph, part.nodes[0]))


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    return find_stateful_attention(graph)


STATEFUL_ATTENTION = Transformation(
    name="StatefulAttention",
    targets=frozenset({"cpu"}),
    source=openvino_source(
        "StatefulSDPAFusion",
        "src/plugins/intel_cpu/src/transformations/cpu_opset/common/pass/stateful_sdpa_fusion.cpp",
    ),
    find=_find,
    is_step=lambda step: step["type"] == "ScaledDotProductAttention" and step["outputs"] == 3,
    loss="keys and values are copied in every step",
)
