"""Normalizations and Gelu that are written as several layers, as single operators of onnxruntime.

Its optimizer recognizes fewer forms than exporters write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.attention import emit_multi_head
from ir_exec.onnx.export.registry import find_lowering
from ir_exec.ops import Op
from ir_exec.plan.fusing import fuse
from ir_exec.plan.graph import FusedNode, PlanGraph
from ir_exec.plan.passes.fuse_activation import TANH_GELU
from ir_exec.plan.passes.fuse_attention import ATTENTION, Attending
from ir_exec.plan.passes.fuse_layer_norm import LAYER_NORM, RMS_NORM, LayerNorm, RMSNorm
from ir_exec.types import ElementType, TensorType

__all__ = ["emit_fused", "find_fused_layers"]


_RULES = (RMS_NORM, LAYER_NORM, TANH_GELU, ATTENTION)
"""The fusions in their order: the second one uses results of the first."""


def find_fused_layers(
    graph: Graph, types: Mapping[Value, TensorType], excluded: Collection[Node]
) -> dict[Node, FusedNode]:
    """Return the computations of several layers that onnxruntime has operators for, by the last layer of each.

    Args:
        types: The types of the values of the graph.
        excluded: Layers that are not part of any of them.
    """
    nodes = [node for node in graph.nodes if node.op is not None and node not in excluded]
    if all(rule.anchors.isdisjoint([node.type for node in nodes]) for rule in _RULES):
        return {}
    slots = [types[value].value if types[value].element_type.is_known else None for value in graph.values]
    results = {value.number for value in _read_outside(graph, excluded)}
    plan = PlanGraph(nodes, [types[value] for value in graph.values], slots, sorted(results), _operator_of)
    for rule in _RULES:
        fuse(plan, "", [rule])
    return {
        node.members[-1]: node
        for node in plan.nodes
        if isinstance(node, FusedNode) and types[node.outputs[0]].element_type is ElementType.f32 and _fits(node, types)
    }


def _fits(node: FusedNode, types: Mapping[Value, TensorType]) -> bool:
    """Return True except for an attention with a mask, with broadcast heads, or of another rank than 4."""
    if not isinstance(node.op, Attending):
        return True
    shapes = [types[value].shape.static for value in node.values_in]
    if [len(shape) for shape in shapes] != [4, 4, 4]:
        return False
    (query, key, value), (is_key_by_columns, is_value_by_columns) = shapes, node.op.by_columns
    sizes = {query[3], key[2 if is_key_by_columns else 3], value[2 if is_value_by_columns else 3]}
    return len({shape[:2] for shape in shapes}) == len(sizes) == 1


def _operator_of(node: Node) -> Op:
    assert node.op is not None, "nodes without operators are excluded"
    return node.op


def _read_outside(graph: Graph, excluded: Collection[Node]) -> Iterable[Value]:
    for node in (*graph.results, *(node for node in graph.nodes if node in excluded or node.op is None)):
        yield from node.values_in


def emit_fused(export: ExportNode) -> str:
    """Emit the operator for several layers, and return its output."""
    normalization = export.op
    if isinstance(normalization, Attending):
        key, value = (
            export.emit("Transpose", name, perm=[0, 1, 3, 2]) if is_by_columns else name
            for name, is_by_columns in zip(export.inputs[1:], normalization.by_columns, strict=True)
        )
        return emit_multi_head(export, normalization.scale, key=key, value=value)
    if not isinstance(normalization, RMSNorm | LayerNorm):
        lowering = find_lowering(type(normalization))
        assert lowering is not None, "a fused operator of IR has a lowering"
        output = lowering.function(export)
        assert isinstance(output, str), "it has one output"
        return output
    data, *vectors = export.inputs
    size = export.dims()[-1].lo
    vectors = [
        vector if export.rank(position) == 1 else export.reshape(vector, [size])
        for position, vector in enumerate(vectors, 1)
    ]
    if not vectors:
        vectors = [export.constant(np.ones(size, np.float32))]
    operator = "SimplifiedLayerNormalization" if isinstance(normalization, RMSNorm) else "LayerNormalization"
    return export.emit(operator, data, *vectors, axis=-1, epsilon=normalization.epsilon)
