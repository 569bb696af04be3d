"""Lowerings of the folder matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ir_exec.onnx.export.algebra import Expr, Sheet, concat, loop
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, working, working_type
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.matrix.einsum import Einsum
from ir_exec.ops.matrix.linear_algebra import GroupedMatMul
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import ElementType


def _wide(node: ExportNode, position: int) -> str:
    """An input in the type of its sums of products."""
    element_type = working_type(node.kind(position))
    if element_type is ElementType.boolean:
        return node.cast(node.inputs[position], ElementType.f32)
    value = working(node, position)
    return node.cast(value, ElementType.i64) if element_type.is_integer else value


def _limit_to_type(node: ExportNode, value: str) -> str:
    """A product in the type of the inputs: 8-bit integers saturate, longer integers wrap."""
    element_type = node.kind()
    if element_type is ElementType.boolean:
        return node.cast(value, element_type)
    if element_type.is_integer and element_type.bits <= 8:
        low, high = (
            (-(2 ** (element_type.bits - 1)) if element_type.is_signed else 0),
            2 ** (element_type.bits - element_type.is_signed) - 1,
        )
        value = node.emit("Min", node.emit("Max", value, node.scalar_like(low, value)), node.scalar_like(high, value))
    return narrow(node, value, element_type)


def _transpose_operand(node: ExportNode, value: str, position: int, is_turned: bool) -> str:
    if not is_turned or node.rank(position) == 1:
        return value
    rank = node.known_rank(position)
    return node.transpose(value, [*range(rank - 2), rank - 1, rank - 2])


@export(MatMul, inline=True)
def matmul(node: ExportNode) -> Outputs:
    op = node.op
    a = _transpose_operand(node, _wide(node, 0), 0, op.transpose_a)
    b = _transpose_operand(node, _wide(node, 1), 1, op.transpose_b)
    return _limit_to_type(node, node.emit("MatMul", a, b))


@export(Einsum)
def einsum(node: ExportNode) -> Outputs:
    values = [_wide(node, position) for position in range(len(node.inputs))]
    equation = node.op.equation.replace(" ", "")
    explicit = _explicit(node, equation)
    if explicit is not None:
        equation, dropped = explicit
        values = [node.squeeze(value, axes) for value, axes in zip(values, dropped, strict=True)]
    product = _as_product(node, values, equation)
    return _limit_to_type(node, product or node.emit("Einsum", *values, equation=equation))


def _as_product(node: ExportNode, values: Sequence[str], equation: str) -> str | None:
    """The product of matrices for an equation of two terms with one axis of sums, and transposed terms; else None.

    Axes of one term alone, before its last, come first: the other term is broadcast along them.
    """
    terms, _, result = equation.partition("->")
    if len(values) != 2 or not result or not terms.replace(",", "").isalpha() or not result.isalpha():
        return None
    a, b = terms.split(",")
    if any(len(set(term)) < len(term) for term in (a, b, result)):
        return None
    if result[-1] not in b:
        (a, b), values = (b, a), values[::-1]
    sums = {*a, *b} - {*result}
    if len(sums) != 1 or not sums <= {*a} & {*b} or not _has_static_size(node, next(iter(sums)), equation):
        return None
    (label,) = sums
    batch = [letter for letter in result if letter in a and letter in b]
    rows, columns = ([letter for letter in result if letter in term and letter not in batch] for term in (a, b))
    if not rows or not columns or min(len(rows), len(columns)) > 1:
        return None
    left, right = [*rows[:-1], *batch, rows[-1], label], [*columns[:-1], *batch, label, columns[-1]]
    product = node.emit("MatMul", _permute(node, values[0], a, left), _permute(node, values[1], b, right))
    return _permute(node, product, [*rows[:-1], *columns[:-1], *batch, rows[-1], columns[-1]], result)


def _has_static_size(node: ExportNode, label: str, equation: str) -> bool:
    """Return True if the size of a label is static in both terms; a dynamic size may be 1, and broadcast."""
    sizes = set()
    for term, type in zip(equation.partition("->")[0].split(","), node.types, strict=True):
        dims = type.shape.dims
        if dims is None or len(dims) != len(term):
            return False
        sizes.add(dims[term.index(label)])
    return len(sizes) == 1 and sizes.pop().is_static


def _permute(node: ExportNode, value: str, labels: Sequence[str], order: Sequence[str]) -> str:
    """The value with its axes in another order."""
    axes = [list(labels).index(letter) for letter in order]
    return value if axes == sorted(axes) else node.emit("Transpose", value, perm=axes)


def _explicit(node: ExportNode, equation: str) -> tuple[str, list[list[int]]] | None:
    """The equation without ellipses and without axes of size 1 that are broadcast, and the removed axes.

    None if ONNX's rules already apply to the equation.
    """
    shapes = [type.shape for type in node.types]
    if any(shape.dims is None for shape in shapes):
        return None
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    spare = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in equation]
    widths = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)]
    hidden = [width if "..." in term else 0 for term, width in zip(terms, widths, strict=True)]
    most = max(hidden)
    labels = "".join(spare[:most])
    full = [term.replace("...", labels[most - width :]) for term, width in zip(terms, hidden, strict=True)]
    sizes: dict[str, int] = {}
    for term, shape in zip(full, shapes, strict=True):
        for letter, dim in zip(term, shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), dim.hi)
    dropped = [
        [axis for axis, letter in enumerate(term) if shape[axis] == 1 and sizes[letter] > 1 and term.count(letter) == 1]
        for term, shape in zip(full, shapes, strict=True)
    ]
    if not any(dropped) and len({width for term, width in zip(terms, hidden, strict=True) if "..." in term}) < 2:
        return None
    if not arrow:
        once = sorted(
            letter for letter in set("".join(terms)) if letter.isalpha() and "".join(terms).count(letter) == 1
        )
        right = "..." + "".join(once)
    retained_terms = [
        "".join(letter for axis, letter in enumerate(term) if axis not in axes)
        for term, axes in zip(full, dropped, strict=True)
    ]
    return f"{','.join(retained_terms)}->{right.replace('...', labels)}", dropped


@export(GroupedMatMul)
def grouped_matmul(node: ExportNode) -> Outputs:
    a, b = _wide(node, 0), node.transpose(_wide(node, 1), [0, 2, 1])
    if node.known_rank() == 3:
        return _limit_to_type(node, node.emit("MatMul", a, b))
    sheet = Sheet(node)
    rows, matrices = (Expr(sheet, name, _dtype(node, name)) for name in (a, b))
    offsets = Expr(sheet, node.i64(2), np.int64)

    def multiply(group: Expr, start: Expr, done: Expr) -> tuple[list[Expr], list[Expr]]:
        end = offsets.gather(group.reshape(1))
        product = rows.slice(0, start, end) @ matrices.gather(group)
        return [end, concat([done, product], 0)], []

    columns = matrices.dim(2)
    nothing = sheet.zeros(sheet.ints(0, columns), rows.dtype)
    end, done = loop(matrices.dim(0), [sheet.ints(0), nothing], multiply)
    remaining_rows = sheet.zeros(sheet.ints(rows.dim(0) - end, columns), rows.dtype)
    return _limit_to_type(node, concat([done, remaining_rows], 0).name)


def _dtype(node: ExportNode, name: str) -> np.dtype[Any]:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(node.code_of(name)))
