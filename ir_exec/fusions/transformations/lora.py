"""LoraSubgraphFusion: an adapter in variables, added to a matrix product or a convolution.

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/lora_subgraph_fusion.cpp. OpenVINO
GenAI adds the adapters to a model that it loads; they are in a file only if the file was saved afterwards.
"""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source, search
from ir_exec.fusions.transformations.states import has_one_reader, list_readers
from ir_exec.plan.patterns import NodePattern, anything, constant, one_of, op

__all__ = ["LORA"]


def _read_once(value: NodePattern) -> NodePattern:
    return value.where("no other reader", has_one_reader, list_readers)


def _turn(value: NodePattern) -> NodePattern:
    return one_of(_read_once(op("Transpose", value, constant("order"))), value)


def _adapter() -> NodePattern:
    """(x · state₁ᵀ · scale) · state₃, as the second summand of a product with weights."""
    x = anything("x")
    first = _read_once(op("MatMul", _turn(x), op("ReadValue")))
    alpha = one_of(op("Multiply", op("ReadValue"), op("Power", anything("rank"), constant("power"))), op("ReadValue"))
    scaled = _read_once(op("Multiply", first, alpha))
    second = _read_once(op("MatMul", scaled, op("ReadValue")))
    return op("Add", _turn(second), op("MatMul|Convolution", x, anything("weights")))


_PATTERN = _adapter()
_ANCHOR = op("MatMul", op("Multiply", op("MatMul", anything(), op("ReadValue")), anything()), op("ReadValue"))


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    return search(graph, _PATTERN, _ANCHOR, least=0)


LORA = Transformation(
    name="LoRA",
    targets=frozenset({"cpu", "genai", "gpu"}),
    source=openvino_source(
        "LoraSubgraphFusion",
        "src/common/transformations/src/transformations/common_optimizations/lora_subgraph_fusion.cpp",
    ),
    find=_find,
    is_step=lambda step: step["type"] == "LoRA",
)
