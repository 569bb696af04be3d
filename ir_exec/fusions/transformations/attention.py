"""ScaledDotProductAttention: the operators of the file, and attention that is left in parts.

OpenVINO 2026.4. `openvino.convert_model` fuses MatMul, Softmax and MatMul by its MOC transformations (SDPAFusion). For
a file, the CPU plugin and the conversion to PagedAttention do not: the file has to contain the operator. The CPU plugin
keeps it if StatefulSDPAFusion gives it a cache, and expands it otherwise; the expanded attention of an encoder costs
nothing.
"""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget, MissedFusion
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source
from ir_exec.fusions.transformations.attention_parts import find_attention_parts
from ir_exec.fusions.transformations.stateful_attention import find_stateful_attention

__all__ = ["ATTENTION"]

_HINT = (
    "export with the attention implementation sdpa, and before quantization: openvino.convert_model fuses the parts,"
    " a plugin does not"
)


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    parts = find_attention_parts(graph, only_with_state=target in ("cpu", "genai"))
    if target == "cpu":
        roots = find_stateful_attention(graph).roots
    else:
        roots = tuple(node.outputs[0] for node in graph.nodes if graph.kind(node) == "ScaledDotProductAttention")
    if target in ("gpu", "npu"):
        reason = "no document states if the plugin fuses MatMul, Softmax and MatMul of a file"
        return Matches(roots, missed=parts.missed, unknown=reason if parts.roots else None)
    in_parts = tuple(
        MissedFusion(
            layer=value.node.name,
            expected="ScaledDotProductAttention",
            actual="MatMul, Softmax and MatMul",
            hint=_HINT,
        )
        for value in parts.roots
    )
    return Matches(roots, missed=(*in_parts, *parts.missed))


ATTENTION = Transformation(
    name="ScaledDotProductAttention",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "SDPAFusion", "src/common/transformations/src/transformations/common_optimizations/sdpa_fusion.cpp"
    ),
    find=_find,
    is_step=lambda step: step["type"] == "ScaledDotProductAttention",
    loss="attention without a cache in the operator: no PagedAttention, and with it no prefix caching or batching",
)
