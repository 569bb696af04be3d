"""Products of matrices."""

from __future__ import annotations

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.registry import onnx_op
from ir_exec.onnx.values import cast, known_rank, number
from ir_exec.types import ElementType

__all__: list[str] = []


@onnx_op("MatMul", since=1)
def matmul(a: Value, b: Value) -> Value:
    return build.matmul(a, b)


@onnx_op("Gemm", since=1)
def gemm_1(
    a: Value,
    b: Value,
    c: Value,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: bool = False,
    transA: bool = False,  # noqa: N803  # the name in files
    transB: bool = False,  # noqa: N803
) -> Value:
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@onnx_op("Gemm", since=7)
def gemm(
    a: Value,
    b: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: bool = False,  # noqa: N803
    transB: bool = False,  # noqa: N803
) -> Value:
    """alpha a b + beta c."""
    found = build.matmul(a, b, transpose_a=transA, transpose_b=transB)
    if alpha != 1:
        found = build.multiply(found, number(alpha, found))
    if c is None:
        return found
    return build.add(found, c if beta == 1 else build.multiply(c, number(beta, c)))


@onnx_op("Einsum", since=12)
def einsum(*inputs: Value, equation: str) -> Value:
    return build.einsum(inputs, equation)


@onnx_op("Det", since=11)
def det(data: Value) -> Value:
    """A first row times the first column of the adjoint matrix."""
    row = build.gather(data, 0, -2)
    column = build.gather(build.inverse(data, adjoint=True), 0, -1)
    return build.reduce_sum(build.multiply(row, column), -1, keep_dims=False)
