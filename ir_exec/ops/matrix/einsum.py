"""Einsum: sums of products of elements, described by an equation.

`ij,jk->ik` gives each axis of each input a label. Elements whose labels agree are multiplied, and the products are
summed over the labels that the output does not have. Without `->` the output has the labels that occur once, in
alphabetical order. `...` stands for any number of axes, which are broadcast together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod
from typing import Annotated, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import GraphError, ShapeError
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.limits import check_time, current_limits
from ir_exec.kernels.precision import CALCULABLE, round_to, widen
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.shapes import broadcast_shapes, merge_dims
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.types import Array, Dim, Shape, TensorType, element_types

__all__ = ["Einsum", "Equation"]

ELLIPSIS = "..."

MOST_PAIRED = 32
"""Maximum number of operands considered for the next product."""

_SUBSCRIPT = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")

_LABEL = re.compile(r"\.\.\.|[A-Za-z]")


@dataclass(frozen=True)
class Equation:
    """The labels of each input and of the output; the ellipsis is a label, `...`."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


@cache
def _parse(text: str) -> Equation:
    """Parse an equation.

    Raises:
        ValueError: With the fault in the user's terms.
    """
    left, arrow, right = "".join(text.split()).partition("->")
    inputs = tuple([_labels(subscript, "input") for subscript in left.split(",")])
    labels_of_inputs = {label for labels in inputs for label in labels}
    if not arrow:
        return Equation(inputs, _implicit_output(inputs))
    output = _labels(right, "output")
    for label, count in Counter(output).items():
        if count > 1:
            raise ValueError(f"the output has the label {label} more than once")
        if label not in labels_of_inputs and label != ELLIPSIS:
            raise ValueError(f"the output has the label {label}, which no input has")
    return Equation(inputs, output)


def _labels(subscript: str, of: str) -> tuple[str, ...]:
    if not _SUBSCRIPT.fullmatch(subscript):
        raise ValueError(f"the {of} subscript {subscript!r} is invalid, expected letters with at most one '...'")
    return tuple(_LABEL.findall(subscript))


def _implicit_output(inputs: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    counts = Counter(label for labels in inputs for label in labels)
    once = sorted(label for label, count in counts.items() if count == 1 and label != ELLIPSIS)
    return ((ELLIPSIS,) if ELLIPSIS in counts else ()) + tuple(once)


def _check_equation(text: str) -> str:
    _parse(text)
    return text


_MULTIPLIED_AS_THEY_ARE = element_types("f32 f64")


@op("Einsum", since=7)
class Einsum(Op):
    """The sum of products that `equation` describes, such as `ij,jk->ik`.

    A label that occurs twice in one input selects the diagonal of these axes. The axes of a label in several inputs are
    equal, or 1 and broadcast. Floats shorter than f32 are summed in f32. Integers are exact: 8 bits saturate, longer
    ones wrap.

    Specification: matrix/einsum-7. OpenVINO's implicit output keeps a label that repeats within one input, with which
    its runtime fails; as specified, it is omitted here (`ii` is the trace).

    Inputs:
        inputs: As many as the equation has subscripts, one numeric type.

    Outputs:
        output: The type of the inputs.

    Raises:
        IRError: IR106 for another number of inputs, IR302 for a bad equation, IR501 for a rank that does not match its
            subscript, IR502 for axes of a diagonal that differ, IR504 for axes that do not broadcast.
    """

    inputs = (In("inputs", types=CALCULABLE, variadic=True),)
    term_inputs = ("inputs",)
    may_alias = True

    equation: Annotated[str, _check_equation]

    def infer(self, *inputs: TensorType) -> TensorType:
        equation = _parse(self.equation)
        if len(equation.inputs) != len(inputs):
            raise GraphError(
                f"equation {self.equation!r} has",
                actual=len(equation.inputs),
                detail="input subscripts",
                expected=len(inputs),
                reason="one for each input",
                code=Code.wrong_number_of_inputs,
            )
        dims: dict[str, Dim] = {}
        covered: Shape | None = None
        for position, (labels, tensor) in enumerate(zip(equation.inputs, inputs, strict=True)):
            dims_of_labels, ellipsis = _label_dims(labels, tensor.shape, f"inputs[{position}]")
            for label, dim in dims_of_labels.items():
                dims[label] = _broadcast_label(label, dims[label], dim) if label in dims else dim
            if ellipsis is not None:
                covered = ellipsis if covered is None else broadcast_shapes(covered, ellipsis)
        shape = _output_shape(equation.output, dims, Shape([]) if covered is None else covered)
        return TensorType(element_type_of(inputs), shape)

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """Count the multiply-adds of one product of all inputs; there are none for a single input."""
        if len(inputs) < 2:
            return 0
        return prod(outputs[0]) * self._count_summed(inputs)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return self._count_summed([array.shape for array in inputs])

    def _count_summed(self, inputs: Sequence[tuple[int, ...]]) -> int:
        """The number of elements along all axes that the output does not have, for inputs of these sizes."""
        equation = _parse(self.equation)
        summed: dict[str, int] = {}
        for labels, sizes in zip(equation.inputs, inputs, strict=True):
            dims_of_labels, covered = _label_dims(labels, Shape(sizes), "inputs")
            of_labels = {label: dim.lo for label, dim in dims_of_labels.items()} | (
                {} if covered is None else {ELLIPSIS: covered.size.lo}
            )
            for label, size in of_labels.items():
                if label not in equation.output:
                    summed[label] = max(size, summed.get(label, 1))
        return prod(summed.values())

    def evaluate(self, *inputs: Array) -> Array:
        equation = _parse(self.equation)
        operands = [_operand(labels, widen(array)) for labels, array in zip(equation.inputs, inputs, strict=True)]
        sizes: dict[str, int] = {}
        for operand in operands:
            for label, size in zip(operand.labels, operand.array.shape, strict=True):
                sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
        covered = sorted((label for label in sizes if label.startswith(".")), reverse=True)
        output = [label for entry in equation.output for label in (covered if entry == ELLIPSIS else [entry])]
        operands = [operand.without_broadcast_axes(sizes) for operand in operands]
        while len(operands) > 1:
            first, second, retained = _cheapest_pair(operands, output, sizes)
            operands.append(_contract(operands[first], operands[second], retained))
            del operands[second], operands[first]
        result = operands[0].summed_to(set(output))
        array = result.array.transpose([result.labels.index(label) for label in output])
        return round_to(array, inputs[0].dtype)


def _is_one_product(op: Einsum, request: KernelRequest) -> bool:
    if len(request.types) != 2 or request.types[0].element_type not in _MULTIPLIED_AS_THEY_ARE:
        return False
    sizes: dict[str, int] = {}
    for labels, type in zip(_parse(op.equation).inputs, request.types, strict=True):
        if ELLIPSIS in labels or len(set(labels)) < len(labels):
            return False
        if any(sizes.setdefault(label, size) != size for label, size in zip(labels, type.shape.static, strict=False)):
            return False
    return True


@variant(
    "Einsum",
    name="one_product",
    applies=_is_one_product,
    cost=0.11,
    why="Two inputs without diagonals and broadcasting: one matrix product with precomputed transpositions.",
)
def _one_product(op: Einsum, request: KernelRequest) -> Kernel:
    equation = _parse(op.equation)
    (left, right), (shape, other_shape) = equation.inputs, [type.shape.static for type in request.types]
    contraction = _Contraction.of(left, right, shape, other_shape, set(equation.output))
    order = tuple([contraction.labels.index(label) for label in equation.output])
    return lambda a, b: contraction.compute(a, b).transpose(order)


def _label_dims(labels: tuple[str, ...], shape: Shape, name: str) -> tuple[dict[str, Dim], Shape | None]:
    """The dim of each label of one input, and the dims that its ellipsis covers; None without an ellipsis."""
    if shape.dims is None:
        dims = {label: Dim.any() for label in labels if label != ELLIPSIS}
        return dims, Shape.unknown() if ELLIPSIS in labels else None
    spare = len(shape) - len([label for label in labels if label != ELLIPSIS])
    if spare < 0 or (spare and ELLIPSIS not in labels):
        least = "at least " if ELLIPSIS in labels else ""
        raise ShapeError(
            f"{name} {shape} has rank",
            actual=len(shape),
            expected=f"{least}{len(shape) - spare}",
            reason=f" as in the subscript {''.join(labels)!r}",
            code=Code.wrong_rank,
            port=name,
        )
    named: dict[str, Dim] = {}
    ellipsis = None
    axis = 0
    for label in labels:
        if label == ELLIPSIS:
            ellipsis = Shape(shape[axis : axis + spare])
            axis += spare
            continue
        dim = shape[axis]
        named[label] = merge_dims(named.get(label, dim), dim, f"the axes of {name} with label {label}", port=name)
        axis += 1
    return named, ellipsis


def _broadcast_label(label: str, left: Dim, right: Dim) -> Dim:
    dim = left.broadcast(right)
    if dim is None:
        raise ShapeError(f"the axes with label {label} do not broadcast: {left} meets {right}", code=Code.no_broadcast)
    return dim


def _output_shape(labels: Sequence[str], dims: dict[str, Dim], covered: Shape) -> Shape:
    if ELLIPSIS in labels and covered.dims is None:
        return Shape.unknown()
    return Shape([dim for label in labels for dim in (covered if label == ELLIPSIS else [dims[label]])])


@dataclass(frozen=True)
class _Operand:
    """An array with a label for each axis, no label twice."""

    array: Array
    labels: tuple[str, ...]

    def without_broadcast_axes(self, sizes: dict[str, int]) -> _Operand:
        """The operand without the axes of size 1 whose label has a larger size elsewhere."""
        keep = [size == sizes[label] for label, size in zip(self.labels, self.array.shape, strict=True)]
        index = tuple(slice(None) if is_kept else 0 for is_kept in keep)
        return _Operand(
            np.asarray(self.array[index]),
            tuple(label for label, is_kept in zip(self.labels, keep, strict=True) if is_kept),
        )

    def summed_to(self, retained: set[str]) -> _Operand:
        """The sum over all labels that are not kept."""
        axes = tuple(axis for axis, label in enumerate(self.labels) if label not in retained)
        if not axes:
            return self
        array = np.asarray(np.add.reduce(self.array, axis=axes, dtype=self.array.dtype))
        return _Operand(array, tuple(label for label in self.labels if label in retained))


def _operand(labels: tuple[str, ...], array: Array) -> _Operand:
    """The operand of an input: axes of the ellipsis are labeled from the last one, and diagonals are taken."""
    spare = array.ndim - len([label for label in labels if label != ELLIPSIS])
    covered = [f".{distance:02}" for distance in range(spare, 0, -1)]
    names = [name for label in labels for name in (covered if label == ELLIPSIS else [label])]
    for label in [label for label, count in Counter(names).items() if count > 1]:
        while names.count(label) > 1:
            first = names.index(label)
            second = names.index(label, first + 1)
            array = np.diagonal(array, axis1=first, axis2=second)
            names = [name for axis, name in enumerate(names) if axis not in (first, second)] + [label]
    return _Operand(array, tuple(names))


def _cheapest_pair(
    operands: Sequence[_Operand], output: Sequence[str], sizes: dict[str, int]
) -> tuple[int, int, set[str]]:
    """The two operands whose product is the smallest, and the labels needed after it.

    Only the smallest of many
    operands are paired: trying all pairs would take longer than the products.
    """
    readers = Counter([*output, *[label for operand in operands for label in operand.labels]])
    smallest = sorted(range(len(operands)), key=lambda position: operands[position].array.size)[:MOST_PAIRED]
    choices = []
    for first, second in combinations(sorted(smallest), 2):
        left, right = operands[first].labels, operands[second].labels
        retained = {label for label in {*left, *right} if readers[label] > (label in left) + (label in right)}
        choices.append((prod(sizes[label] for label in retained), first, second, retained))
    _, first, second, retained = min(choices, key=lambda choice: choice[:3])
    return first, second, retained


def _contract(a: _Operand, b: _Operand, retained: set[str]) -> _Operand:
    """The product of two operands, summed over the labels that are not kept."""
    contraction = _Contraction.of(a.labels, b.labels, a.array.shape, b.array.shape, retained)
    return _Operand(contraction.compute(a.array, b.array), contraction.labels)


class _Side(NamedTuple):
    """The preparation of one operand: the summed axes, the order of the rest, the shape."""

    summed: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def arrange(self, array: Array) -> Array:
        if self.summed:
            array = np.asarray(np.add.reduce(array, axis=self.summed, dtype=array.dtype))
        return array.transpose(self.order).reshape(self.shape)


class _Contraction(NamedTuple):
    """The product of two operands with these labels and shapes, summed over the labels that are not kept.

    Attributes:
        is_outer: No label is summed, so the product is a multiplication.
        labels: The labels of the result.
        shape: The shape of the result.
    """

    left: _Side
    right: _Side
    is_outer: bool
    labels: tuple[str, ...]
    shape: tuple[int, ...]

    @staticmethod
    def of(
        first: tuple[str, ...],
        second: tuple[str, ...],
        sizes: tuple[int, ...],
        other_sizes: tuple[int, ...],
        retained: set[str],
    ) -> _Contraction:
        size = dict(zip(first, sizes, strict=True)) | dict(zip(second, other_sizes, strict=True))
        # Labels of one operand that are not needed later are summed first.
        a = [label for label in first if label in retained or label in second]
        b = [label for label in second if label in retained or label in first]
        batch = [label for label in a if label in b and label in retained]
        inner = [label for label in a if label not in retained]
        rows = [label for label in a if label not in b]
        columns = [label for label in b if label not in a]

        def side(labels: tuple[str, ...], left: list[str], order: list[str], shape: list[int]) -> _Side:
            summed = tuple([axis for axis, label in enumerate(labels) if label not in left])
            return _Side(summed, tuple([left.index(label) for label in order]), tuple(shape))

        of_batch, of_rows, of_columns = ([size[label] for label in group] for group in (batch, rows, columns))
        along = prod([size[label] for label in inner])
        if inner:
            left, right = [*of_batch, prod(of_rows), along], [*of_batch, along, prod(of_columns)]
        else:
            left, right = [*of_batch, *of_rows, *[1] * len(columns)], [*of_batch, *[1] * len(rows), *of_columns]
        return _Contraction(
            side(first, a, [*batch, *rows, *inner], left),
            side(second, b, [*batch, *inner, *columns], right),
            not inner,
            (*batch, *rows, *columns),
            (*of_batch, *of_rows, *of_columns),
        )

    def compute(self, a: Array, b: Array) -> Array:
        check_time()
        current_limits().require(prod(self.shape) * a.itemsize)
        left, right = self.left.arrange(a), self.right.arrange(b)
        if self.is_outer:
            return np.asarray(left * right)
        return matrix_product(left, right).reshape(self.shape)
