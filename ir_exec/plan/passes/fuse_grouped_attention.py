"""Attention with fewer heads of keys and values than of queries: each of them is read for a group of queries.

Exporters repeat the heads by Unsqueeze, Broadcast and Reshape, which copies a whole cache in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ir_exec.graph import Node, Value
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.types import Array, Dim, TensorType, element_types

if TYPE_CHECKING:
    from ir_exec.plan.run_sizes import TracedTypes

__all__ = ["GroupedAttention", "replace_attention"]

_FLOATS = element_types("f32 f64 f16 bf16")


class GroupedAttention(Op):
    """Attention of queries [B, K * G, L, E] to keys [B, K, S, E] and values [B, K, S, Ev], each for G heads of queries.

    Inputs:
        query: [B, K * G, L, E].
        key: [B, K, S, E].
        value: [B, K, S, Ev].
        mask: Broadcasts to the scores [B, K * G, L, S]; its head axis is 1.
        scale: One element.

    Outputs:
        output: [B, K * G, L, Ev].
    """

    inputs = (
        In("query", types=_FLOATS),
        In("key", types=_FLOATS, like="query"),
        In("value", types=_FLOATS, like="query"),
        In("mask", optional=True),
        In("scale", optional=True),
    )

    _attention: Any
    _output: TensorType

    def __init__(self, attention: Op, output: TensorType) -> None:
        """An attention with the attributes of the layer."""
        vars(self).update(_attention=attention, _output=output)

    def infer(
        self,
        query: TensorType,
        key: TensorType,
        value: TensorType,
        mask: TensorType | None = None,
        scale: TensorType | None = None,
    ) -> TensorType:
        return self._output

    def evaluate(
        self, query: Array, key: Array, value: Array, mask: Array | None = None, scale: Array | None = None
    ) -> Array:
        batch, heads, length, size = query.shape
        key_heads = key.shape[1]
        grouped = query.reshape(batch, key_heads, heads // key_heads, length, size)
        if mask is not None and mask.ndim > 2:
            mask = mask[..., None, :, :]
        attended = self._attention.evaluate(grouped, key[:, :, None], value[:, :, None], mask, scale)
        output: Array = attended.reshape(batch, heads, length, -1)
        return output


check_contract(GroupedAttention, "GroupedAttention")


def replace_attention(graph: PlanGraph, traced: TracedTypes) -> None:
    """Replace attention to repeated heads.

    This is not a `FusionRule`: only traced types prove that the nodes repeat heads.
    """
    attentions = set()
    for node in graph.nodes:
        if graph.kind(node) == "ScaledDotProductAttention" and node in traced.nodes:
            fusion = _make_fusion(graph, traced, node)
            if fusion is not None:
                graph.replace(fusion, "fuse_grouped_attention")
                attentions.add(node.outputs)
    graph.apply_replacements()
    traced.nodes.update(node for node in graph.nodes if node.outputs in attentions)


def _make_fusion(graph: PlanGraph, traced: TracedTypes, node: Node) -> Fusion | None:
    """The replacement of an attention; None if its keys and values are not both repeated heads."""
    query, key, value, *others = node.values_in
    keys, values = _match_repeat(graph, traced, key), _match_repeat(graph, traced, value)
    if keys is None or values is None or len(others) > 2 or traced.types[query.number].rank != 4:
        return None
    if others and not _has_one_head(traced, graph, others[0]):
        return None
    inputs = [query, keys, values, *others]
    output = traced.types[node.outputs[0].number].without_values()
    # Other layers may read repeated heads too: their nodes are removed if none does.
    return Fusion([node], GroupedAttention(graph.operator(node), output), inputs)


def _has_one_head(traced: TracedTypes, graph: PlanGraph, mask: Value) -> bool:
    """Return True for a mask that is equal for all heads."""
    array = graph.known(mask)
    type = traced.types.get(mask.number) if array is None else TensorType.of(array)
    if type is None or type.rank is None:
        return False
    return type.rank < 3 or (type.rank == 4 and type.shape[1].lo == 1)


def _match_repeat(graph: PlanGraph, traced: TracedTypes, value: Value) -> Value | None:
    """The source [B, K, S, E] of Reshape(Broadcast(Unsqueeze(source))), if they repeat each head [S, E]."""
    repeated_heads = _input_of(graph, traced, value, "Reshape")
    own_heads = None if repeated_heads is None else _input_of(graph, traced, repeated_heads, "Broadcast")
    source = None if own_heads is None else _input_of(graph, traced, own_heads, "Unsqueeze")
    if repeated_heads is None or own_heads is None or source is None:
        return None
    types = [traced.types.get(each.number) for each in (source, own_heads, repeated_heads, value)]
    dims = [list(type.shape.dims or ()) for type in types if type is not None]
    if [len(part) for part in dims] != [4, 5, 5, 4]:
        return None
    (batch, heads, length, size), apart, repeated, joined = dims
    group = repeated[2]
    is_repeat = (
        _are_equal(apart, [batch, heads, Dim(1), length, size])
        and _are_equal(repeated, [batch, heads, group, length, size])
        and _are_equal(joined, [batch, heads * group, length, size])
    )
    return source if is_repeat else None


def _input_of(graph: PlanGraph, traced: TracedTypes, value: Value, type_name: str) -> Value | None:
    """The first input of the traced node that computes a value; None for another type of node."""
    node = graph.producer(value)
    return None if node is None or graph.kind(node) != type_name or node not in traced.nodes else node.values_in[0]


def _are_equal(dims: list[Dim], others: list[Dim]) -> bool:
    """Compare dims; the comparison is part of the plan's."""
    return all(dim.lo == other.lo for dim, other in zip(dims, others, strict=True))
