"""Low precision: convolutions with quantized data and weights, which run in int8.

OpenVINO 2026.4, src/common/low_precision_transformations/src/convolution.cpp. The CPU plugin runs a convolution in int8
if a FakeQuantize of at most 256 levels is its data, and its weights are codes of 8 bits with a scale or a FakeQuantize
of a constant. Pooling and concatenation between both depend on the scales of all their inputs: whether int8 passes
them is not known.
"""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget, MissedFusion
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source
from ir_exec.graph import Node, Value
from ir_exec.graph.compressed import CompressedWeight, describe_weight
from ir_exec.types import element_types

__all__ = ["INT8_CONVOLUTION"]

_TYPES = frozenset({"Convolution", "GroupConvolution"})
_CODES = element_types("i8 u8")
_MOST_LEVELS = 256
_PASSING = frozenset({"MaxPool", "AvgPool", "Concat", "ReLU", "Clamp", "Pad", "Interpolate", "Split", "VariadicSplit"})
_HINT = "quantize data and weights with nncf.quantize; without a FakeQuantize of its data a layer runs in floats"


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    roots, missed, is_unknown = [], [], False
    for node in graph.nodes:
        if graph.kind(node) not in _TYPES or not _has_quantized_weights(graph, node):
            continue
        source = graph.producer(node.values_in[0])
        if source is not None and graph.kind(source) == "FakeQuantize":
            levels = int(vars(source.op)["levels"])
            if levels <= _MOST_LEVELS:
                roots.append(node.outputs[0])
            else:
                missed.append(_miss(node, f"at most {_MOST_LEVELS} levels", f"{levels} levels"))
        elif source is not None and graph.kind(source) in _PASSING:
            is_unknown = True
        else:
            missed.append(_miss(node, "data of a FakeQuantize", graph.described(node.values_in[0])))
    reason = "pooling or concatenation between FakeQuantize and convolutions" if is_unknown else None
    return Matches(tuple(roots), missed=tuple(missed), unknown=reason)


def _miss(node: Node, expected: str, actual: str) -> MissedFusion:
    return MissedFusion(layer=node.name, expected=expected, actual=actual, hint=_HINT)


def _has_quantized_weights(graph: FusionGraph, node: Node) -> bool:
    """Return True for weights of 8 bits with a scale, or with a FakeQuantize."""
    value: Value = node.values_in[1]
    if not graph.is_constant(value):
        return False
    weight = describe_weight(value)
    if not isinstance(weight, CompressedWeight):
        return False
    return weight.limits is not None or (weight.is_compressed and weight.element_type in _CODES)


INT8_CONVOLUTION = Transformation(
    name="Int8Convolution",
    targets=frozenset({"cpu"}),
    source=openvino_source("ConvolutionTransformation", "src/common/low_precision_transformations/src/convolution.cpp"),
    find=_find,
    is_step=lambda step: step["type"] == "Convolution" and str(step["kernel"]).endswith("_I8"),
)
