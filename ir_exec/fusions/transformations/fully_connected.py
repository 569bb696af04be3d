"""ConvertFullyConnectedToFullyConnectedCompressed: matrix products that read weights of few bits.

OpenVINO 2026.4, src/common/transformations/src/transformations/op_conversions/convert_fc_to_compressed.cpp, and the
types of src/plugins/intel_cpu/src/nodes/fullyconnected.cpp. Other weights are expanded when the model is compiled,
which takes the memory and the bandwidth of f32. The kernel accepts codes with or without groups, transposed or not; of
groups with few channels it is not known. Products with quantized data run in int8 instead.
"""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget, MissedFusion
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source
from ir_exec.fusions.transformations.experts import reads_expert_weights
from ir_exec.graph import Value
from ir_exec.graph.compressed import CompressedWeight, describe_weight
from ir_exec.types import element_types

__all__ = ["COMPRESSED_PRODUCT"]

_CODES = element_types("u8 i8 u4 i4 u2 nf4 f4e2m1")
_SCALES = element_types("f16 f32")
_FLOAT_STEP = frozenset({"f32", "f16", "bf16"})
_CODE_STEPS = frozenset(str(type) for type in _CODES)
_HINT = "compress with nncf.compress_weights: int8 by channels, or int4 and nf4 in groups of input channels"


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    roots, missed = [], []
    for node in graph.nodes:
        if graph.kind(node) != "MatMul" or len(node.values_in) < 2 or reads_expert_weights(graph, node):
            continue
        weight = _weight_of(graph, node.values_in[1])
        if weight is None or _is_quantized(graph, node.values_in[0]):
            continue
        reason = _rejection(weight)
        if reason is None:
            roots.append(node.outputs[0])
        else:
            expected, actual = reason
            missed.append(MissedFusion(layer=node.name, expected=expected, actual=actual, hint=_HINT))
    if target in ("gpu", "npu") and missed:
        reason_unknown = "the element types are those of the CPU plugin"
        return Matches(tuple(roots), missed=tuple(missed), unknown=reason_unknown)
    return Matches(tuple(roots), missed=tuple(missed))


def _weight_of(graph: FusionGraph, value: Value) -> CompressedWeight | None:
    if not graph.is_constant(value):
        return None
    weight = describe_weight(value)
    return weight if isinstance(weight, CompressedWeight) and weight.is_compressed and weight.limits is None else None


def _is_quantized(graph: FusionGraph, value: Value) -> bool:
    """Return True if the data is the output of a FakeQuantize, in another order or shape."""
    node = graph.producer(value)
    while node is not None and (node.op_class.preserves_order or graph.kind(node) == "Transpose"):
        node = graph.producer(node.values_in[0])
    return node is not None and graph.kind(node) == "FakeQuantize"


def _rejection(weight: CompressedWeight) -> tuple[str, str] | None:
    """The expected and the actual property of a weight that is expanded; None if the kernel reads it."""
    if weight.element_type not in _CODES:
        return "codes of " + ", ".join(sorted(_CODE_STEPS)), str(weight.element_type)
    if weight.scale is None:
        return "a scale", "no scale"
    if weight.scale.declared.element_type not in _SCALES:
        return "a scale of f16 or f32", str(weight.scale.declared)
    return None


def _is_compressed_step(step: dict[str, object]) -> bool:
    types = step["inputs"]
    assert isinstance(types, list), "the runtime model lists the types of all inputs"
    return step["type"] == "FullyConnected" and types[0] in _FLOAT_STEP and types[1] in _CODE_STEPS


COMPRESSED_PRODUCT = Transformation(
    name="FullyConnectedCompressed",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "ConvertFullyConnectedToFullyConnectedCompressed",
        "src/common/transformations/src/transformations/op_conversions/convert_fc_to_compressed.cpp",
    ),
    find=_find,
    loss="the weights are expanded to floats when the model is compiled, with their memory and bandwidth",
    is_step=lambda step: _is_compressed_step(dict(step)),
)
