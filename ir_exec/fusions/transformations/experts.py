"""Mixture of experts: products with the weights of all experts.

OpenVINO 2026.4 has FuseMOE, FuseVectorizedMOE2GEMM, FuseVectorizedMOE3GEMM and ConvertTiledMoeBlockToGatherMatmuls
(src/common/transformations/src/transformations/common_optimizations). Which of them a plugin of the release runs is not
known from its sources, and the CPU plugin fuses none of the exported models that were tried:
the number of matches is unknown for models with such products.
"""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source
from ir_exec.graph import Node

__all__ = ["EXPERTS", "reads_expert_weights"]


def reads_expert_weights(graph: FusionGraph, node: Node) -> bool:
    """Return True for a product with constant weights [experts, outputs, inputs]."""
    if graph.kind(node) != "MatMul" or len(node.values_in) < 2 or not graph.is_constant(node.values_in[1]):
        return False
    shape = graph.type(node.values_in[1]).shape
    return shape.is_static and sum(size > 1 for size in shape.static) > 2


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    has_experts = any(reads_expert_weights(graph, node) for node in graph.nodes)
    reason = "products with the weights of several matrices; which of them are fused is not known"
    return Matches(unknown=reason if has_experts else None)


EXPERTS = Transformation(
    name="MoE",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "FuseMOE", "src/common/transformations/src/transformations/common_optimizations/fuse_moe_experts.cpp"
    ),
    find=_find,
)
