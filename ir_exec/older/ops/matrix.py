"""Matrix products: FullyConnected and Gemm."""

from __future__ import annotations

from math import prod
from typing import Any

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError, WeightsError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, dims_of, number, reshape_to

__all__: list[str] = []


@older_layer("FullyConnected", "InnerProduct")
def fully_connected(layer: LayerCall, data: Value, weights: Value | None = None, biases: Value | None = None) -> Value:
    """x * weights^T + biases; weights are [out-size, inputs], where an input is all axes after the first.

    If the rows of the weights match the last axis alone, and the declared output has the rank of the input, the other
    axes are kept.
    """
    data = as_floats(data)
    dims = dims_of(data)
    size = layer.integer("out-size")
    if size < 1 or not dims:
        raise ShapeError(
            "out-size and the rank of the input are",
            actual=f"{size} and {len(dims)}",
            expected="1 or more",
            code=Code.impossible_shape,
        )
    count = prod(dims_of(weights)) if weights is not None else layer.blob_count("weights")
    declared = layer.declared_dims()
    keeps_axes = len(dims) > 2 and count == size * dims[-1] and declared is not None and len(declared) == len(dims)
    width = dims[-1] if keeps_axes else prod(dims[1:])
    if not keeps_axes and len(dims) != 2:
        data = reshape_to(data, dims[0], width)
    if weights is not None and count != size * width:
        raise WeightsError(
            "the weights have",
            actual=count,
            detail="elements",
            expected=size * width,
            reason=f": {size} outputs of {width} elements",
            code=Code.constant_size,
        )
    matrix = layer.blob("weights", size, width) if weights is None else reshape_to(as_floats(weights), size, width)
    product = build.matmul(data, matrix, transpose_b=True)
    if biases is None and layer.has_blob("biases"):
        biases = layer.blob("biases", size)
    product = product if biases is None else build.add(product, reshape_to(as_floats(biases), size))
    if declared is not None and len(declared) > 2 and not keeps_axes and prod(declared) == dims[0] * size:
        return reshape_to(product, *declared)
    return product


@older_layer("Gemm", "MatMul")
def gemm(layer: LayerCall, a: Value, b: Value, c: Value | None = None) -> Value:
    """alpha * a * b + beta * c, with optionally transposed matrices.

    Source: GemmValidator.
    """
    a, b = as_floats(a), as_floats(b)
    turned: dict[str, Any] = {f"transpose_{name}": layer.flag(f"transpose_{name}", False) for name in ("a", "b")}
    product = build.matmul(a, b, **turned)
    alpha, beta = layer.number("alpha", 1.0), layer.number("beta", 1.0)
    if alpha != 1:
        product = build.multiply(product, number(alpha, product))
    if c is None:
        return product
    c = as_floats(c)
    return build.add(product, c if beta == 1 else build.multiply(c, number(beta, c)))
