"""GeluFusion: the Gaussian error linear unit from Erf or from Tanh.

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/gelu_fusion.cpp. The numbers 1/√2,
√2 and 0.044715 may differ by 0.001, √(2/π) by 0.01. Plugins fuse the operator into the layer before it, so the runtime
model does not show it.
"""

from __future__ import annotations

from math import pi, sqrt

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source, search
from ir_exec.plan.patterns import NodePattern, anything, number, one_of, op

__all__ = ["GELU"]


def _about(expected: float, tolerance: float = 0.001) -> NodePattern:
    return number(f"about {expected:.6g}").where(
        f"the number {expected:.6g}", lambda match, value: _is_near(match.graph.number(value), expected, tolerance)
    )


def _is_near(actual: float | None, expected: float, tolerance: float) -> bool:
    return actual is not None and abs(actual - expected) <= tolerance


def _with_erf() -> NodePattern:
    """x · 0.5 · (1 + erf(x / √2)), the factors in any order, and x · (0.5 + 0.5 · erf(x / √2))."""
    x = anything("x")
    error = op("Erf", one_of(op("Divide", x, _about(sqrt(2))), op("Multiply", x, _about(sqrt(0.5)))))
    sum = error + 1
    return one_of(
        op("Multiply", sum, x * 0.5),
        op("Multiply", op("Multiply", sum, x), _half()),
        op("Multiply", sum * 0.5, x),
        op("Multiply", op("Multiply", error, _half()) + 0.5, x),
    )


def _half() -> NodePattern:
    return _about(0.5, 0.0)


def _with_tanh() -> NodePattern:
    """x · 0.5 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), the factors in any order."""
    x = anything("x")
    cube = one_of(x**3, op("Multiply", x, x * x), op("Multiply", op("Multiply", x, x), x))
    inner = op("Multiply", x + op("Multiply", cube, _about(0.044715)), _about(sqrt(2 / pi), 0.01))
    nested = op(
        "Multiply",
        op("Multiply", op("Multiply", x, _about(0.044715)), x) + 1,
        op("Multiply", x, _about(sqrt(2 / pi), 0.01)),
    )
    sum = op("Tanh", one_of(inner, nested)) + 1
    return one_of(
        op("Multiply", sum, x * 0.5),
        op("Multiply", op("Multiply", sum, x), _half()),
        op("Multiply", sum * 0.5, x),
    )


_PATTERN = one_of(_with_erf(), _with_tanh())
_ANCHOR = op("Erf")


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    parts = search(graph, _PATTERN, _ANCHOR, least=1)
    operators = [node.outputs[0] for node in graph.nodes if graph.kind(node) == "Gelu"]
    return Matches((*operators, *parts.roots), parts.details, parts.missed)


GELU = Transformation(
    name="Gelu",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "GeluFusion", "src/common/transformations/src/transformations/common_optimizations/gelu_fusion.cpp"
    ),
    find=_find,
)
