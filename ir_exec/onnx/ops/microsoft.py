"""Operators of the domain com.microsoft, which exporters and onnxruntime's optimizer write."""

from __future__ import annotations

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.domains import MICROSOFT
from ir_exec.onnx.ops.elementwise import gelu as standard_gelu
from ir_exec.onnx.registry import onnx_op
from ir_exec.onnx.values import number

__all__: list[str] = []


@onnx_op("Gelu", since=1, domain=MICROSOFT)
def gelu(data: Value) -> Value:
    return standard_gelu(data)


@onnx_op("FastGelu", since=1, domain=MICROSOFT)
def fast_gelu(data: Value, bias: Value | None = None) -> Value:
    return standard_gelu(data if bias is None else build.add(data, bias), approximate="tanh")


@onnx_op("BiasGelu", since=1, domain=MICROSOFT)
def bias_gelu(data: Value, bias: Value) -> Value:
    return standard_gelu(build.add(data, bias))


@onnx_op("QuickGelu", since=1, domain=MICROSOFT)
def quick_gelu(data: Value, *, alpha: float = 1.702) -> Value:
    return build.swish(data, number(alpha, data))
