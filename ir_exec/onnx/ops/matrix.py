"""Products of matrices."""

from __future__ import annotations

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, UnsupportedError
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import cast, ints, known_size, number, shape_of
from ir_exec.types import ElementType

__all__: list[str] = []

_MOST_UNROLLED = 2**7
"""Maximum rows of matrices whose elimination is unrolled."""


@onnx_op("MatMul", since=1)
def matmul(a: Value, b: Value) -> Value:
    return build.matmul(a, b)


@onnx_op("Gemm", since=(1, 7), unused=("broadcast",))
def gemm(
    a: Value, b: Value, c: Value | None, *, alpha: float, beta: float, transA: bool, transB: bool, since: int = 7
) -> Value:
    """alpha a b + beta c. With factors other than 1 integers are scaled and added as f64, and truncated."""
    if since < 7 and c is None:
        # Later versions require it up to 10, but files omit it.
        raise GraphError("the input C is missing", code=Code.wrong_number_of_inputs, port="c")
    product = build.matmul(a, b, transpose_a=transA, transpose_b=transB)
    element_type = product.element_type
    if element_type.is_integer and not alpha == beta == 1:
        product, c = cast(product, ElementType.f64), None if c is None else cast(c, ElementType.f64)
    if alpha != 1:
        product = build.multiply(product, number(alpha, product))
    if c is not None and beta != 0:
        product = build.add(product, c if beta == 1 else build.multiply(c, number(beta, c)))
    return cast(product, element_type)


@onnx_op("Einsum", since=12)
def einsum(*inputs: Value, equation: str) -> Value:
    return build.einsum(inputs, equation)


@onnx_op("Det", since=11)
def det(data: Value) -> Value:
    """Gaussian elimination, column by column: the product of the pivots, with the sign of the row exchanges."""
    side = known_size(data, -1, "the size of the matrices")
    if side > _MOST_UNROLLED:
        raise UnsupportedError(f"the matrices have more than {_MOST_UNROLLED} rows")
    sizes = shape_of(data)
    front = build.slice(sizes, ints(0), ints(-2), ints(1))
    left = build.reshape(data, ints(-1, side, side), special_zero=False)
    one, zero = number(1, data), number(0, data)
    determinant = build.broadcast(one, build.slice(shape_of(left), ints(0), ints(1), ints(1)))
    for rows in range(side, 0, -1):
        column = build.gather(left, 0, 2)
        _, pivot_row = build.topk(build.abs(column), 1, 1, "max", "value", index_element_type="i64")
        best = build.gather(left, pivot_row, 1, batch_dims=1)
        pivot = build.squeeze(build.gather(best, 0, 2), ints(1))
        pivot_row = build.squeeze(pivot_row, ints(1))
        is_first = build.equal(pivot_row, build.constant(0))
        determinant = build.multiply(determinant, build.select(is_first, pivot, build.negative(pivot)))
        if rows == 1:
            break
        top = build.slice(left, ints(0), ints(1), ints(1), ints(1))
        lower_rows = build.slice(left, ints(1), ints(rows), ints(1), ints(1))
        was_here = build.equal(build.unsqueeze(pivot_row, 1), build.constant(list(range(1, rows))))
        lower_rows = build.select(build.unsqueeze(was_here, 2), top, lower_rows)
        divisor = build.select(build.equal(pivot, zero), one, pivot)
        factor = build.divide(
            build.slice(lower_rows, ints(0), ints(1), ints(1), ints(2)), build.unsqueeze(divisor, ints(1, 2))
        )
        left = build.slice(
            build.subtract(lower_rows, build.multiply(factor, best)), ints(1), ints(rows), ints(1), ints(2)
        )
    return build.reshape(determinant, front, special_zero=False)
