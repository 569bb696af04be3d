"""Symbolic dims of the values of a graph, and vectors of integers that contain dims.

A size is an int if it is known, else a Symbol: equal symbols are equal sizes in every run. A size outside the rules is
a new symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from ir_exec.graph import Node, Value
from ir_exec.ops.base.elementwise import Binary, Unary
from ir_exec.ops.base.registry import type_key
from ir_exec.rewrite.network import EditedNetwork
from ir_exec.types import ElementType

__all__ = ["Size", "Sizes", "Symbol"]

_MOST_ELEMENTS = 2**6
"""Maximum elements of a vector of sizes."""

_SIZES = frozenset({ElementType.i32, ElementType.i64})
"""Element types that can represent every size."""


class Symbol(NamedTuple):
    """A size known only during a run: a dim (`is_dim`), or an element that may be any integer."""

    value: int
    position: int
    is_dim: bool


Size: TypeAlias = "int | Symbol"
Dims: TypeAlias = "tuple[Size, ...] | None"


class Sizes:
    """The dims of every value of a graph, and the elements of short vectors of integers, in symbols."""

    def __init__(self, network: EditedNetwork) -> None:
        self._network = network
        self._dims: dict[Value, Dims] = {}
        self._elements: dict[Value, tuple[Size, ...]] = {}
        for node in network.graph.nodes:
            self._add(node)

    def dims(self, value: Value) -> Dims:
        """Return the dims of a value, None for an unknown rank."""
        return self._dims.get(value)

    def elements(self, value: Value) -> tuple[Size, ...] | None:
        """Return the elements of a scalar or vector of integers, None if it has too many or is not of integers."""
        return self._elements.get(value)

    def constant_integers(self, value: Value) -> list[int] | None:
        """Return the elements of integers if all are known."""
        array = self._network.constant_value(value)
        is_integer = self._network.type(value).element_type.is_integer
        return None if array is None or not is_integer else [int(element) for element in array.reshape(-1)]

    def rank(self, value: Value) -> int | None:
        return self._network.type(value).rank

    def _add(self, node: Node) -> None:
        operator_type = type_key(node.type)
        for position, value in enumerate(node.outputs):
            dims = self._network.type(value).shape.dims
            if dims is None:
                continue
            fresh = tuple([dim.lo if dim.is_static else Symbol(value.number, at, True) for at, dim in enumerate(dims)])
            computed = _dims_of(self, node, operator_type) if position == 0 and node.is_whole else None
            if computed is None or len(computed) != len(fresh):
                computed = fresh
            self._dims[value] = tuple(
                [mine if isinstance(mine, int) else theirs for mine, theirs in zip(fresh, computed, strict=True)]
            )
            self._add_elements(node, operator_type, value)

    def _add_elements(self, node: Node, operator_type: str, value: Value) -> None:
        type = self._network.type(value)
        if not type.element_type.is_integer or not type.shape.is_static or len(type.shape.static) > 1:
            return
        count = type.shape.static[0] if type.shape.static else 1
        if count > _MOST_ELEMENTS:
            return
        constants = self.constant_integers(value)
        if constants is not None:
            self._elements[value] = tuple(constants)
            return
        rule = (
            _ELEMENTS.get(operator_type)
            if value.position == 0 and node.is_whole and type.element_type in _SIZES
            else None
        )
        elements = rule(self, node) if rule is not None else None
        if elements is None or len(elements) != count:
            elements = tuple([Symbol(value.number, at, False) for at in range(count)])
        self._elements[value] = elements


def _dims_of(sizes: Sizes, node: Node, operator_type: str) -> Dims:
    if isinstance(node.op, Unary) or operator_type in _AS_INPUT:
        return sizes.dims(node.values_in[0])
    if isinstance(node.op, Binary) and node.op.auto_broadcast == "numpy":
        return _broadcast([sizes.dims(value) for value in node.values_in])
    rule = _DIMS.get(operator_type)
    return None if rule is None else rule(sizes, node)


_AS_INPUT = frozenset(
    {"convert", "cumsum", "gelu", "logsoftmax", "mvn", "normalizel2", "prelu", "roll", "softmax", "swish"}
)
"""Types whose first output has the dims of the first input."""


def _broadcast(shapes: Sequence[Dims]) -> Dims:
    if any(shape is None for shape in shapes):
        return None
    rank = max(len(shape or ()) for shape in shapes)
    aligned = [(1,) * (rank - len(shape or ())) + (shape or ()) for shape in shapes]
    result = []
    for column in zip(*aligned, strict=True):
        others = {candidate for candidate in column if candidate != 1}
        numbers = [candidate for candidate in others if isinstance(candidate, int)]
        # A symbol next to a number may be 1; of two symbols either may be 1.
        if len(others) > 1 and len(numbers) != 1:
            return None
        result.append(numbers[0] if numbers else next(iter(others), 1))
    return tuple(result)


def _select(sizes: Sizes, node: Node) -> Dims:
    if getattr(node.op, "auto_broadcast", "") != "numpy":
        return None
    return _broadcast([sizes.dims(value) for value in node.values_in])


def _matmul(sizes: Sizes, node: Node) -> Dims:
    a, b = (sizes.dims(value) for value in node.values_in)
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        return None
    batch = _broadcast([a[:-2], b[:-2]])
    transposed_a, transposed_b = vars(node.op)["transpose_a"], vars(node.op)["transpose_b"]
    return None if batch is None else (*batch, a[-1 if transposed_a else -2], b[-2 if transposed_b else -1])


def _transpose(sizes: Sizes, node: Node) -> Dims:
    dims, order = sizes.dims(node.values_in[0]), sizes.constant_integers(node.values_in[1])
    if dims is None or order is None:
        return None
    return tuple([dims[axis] for axis in order]) if order else dims[::-1]


def _reshape(sizes: Sizes, node: Node) -> Dims:
    dims, target = sizes.dims(node.values_in[0]), sizes.elements(node.values_in[1])
    if dims is None or target is None:
        return None
    copies = bool(vars(node.op)["special_zero"])
    result = list(target)
    for at, size in enumerate(result):
        if size == 0 and copies:
            if at >= len(dims):
                return None
            result[at] = dims[at]
        elif isinstance(size, Symbol) and not size.is_dim:
            # It may be -1, or 0.
            return None
    if -1 in result:
        result[result.index(-1)] = _remaining_factor(dims, [size for size in result if size != -1]) or Symbol(
            node.outputs[0].number, result.index(-1), True
        )
    return tuple(result)


def _remaining_factor(dims: Sequence[Size], others: Sequence[Size]) -> Size | None:
    """Return the remaining factor of a product of sizes if it is one symbol; a size of 0 allows any factor."""
    symbols = [size for size in dims if isinstance(size, Symbol)]
    product = prod([size for size in dims if isinstance(size, int)])
    numbers = [size for size in others if isinstance(size, int)]
    if len(symbols) != 1 or len(numbers) != len(others) or not product or product != prod(numbers):
        return None
    return symbols[0]


def _axes(sizes: Sizes, node: Node, rank: int) -> set[int] | None:
    axes = sizes.constant_integers(node.values_in[1]) if len(node.values_in) > 1 else None
    return None if axes is None else {axis % rank if rank else axis for axis in axes}


def _squeeze(sizes: Sizes, node: Node) -> Dims:
    dims = sizes.dims(node.values_in[0])
    axes = None if dims is None else _axes(sizes, node, len(dims))
    if not dims or axes is None or any(dims[axis] != 1 for axis in axes):
        return None
    return tuple([size for axis, size in enumerate(dims) if axis not in axes])


def _unsqueeze(sizes: Sizes, node: Node) -> Dims:
    dims, rank = sizes.dims(node.values_in[0]), sizes.rank(node.outputs[0])
    axes = None if rank is None else _axes(sizes, node, rank)
    if dims is None or rank is None or axes is None or len(dims) + len(axes) != rank:
        return None
    remaining = iter(dims)
    return tuple([1 if axis in axes else next(remaining) for axis in range(rank)])


def _concat(sizes: Sizes, node: Node) -> Dims:
    """Return the dims of a Concat: equal to those of an input, except on the axis."""
    shapes = [sizes.dims(value) for value in node.values_in]
    first = shapes[0]
    if first is None:
        return None
    axis = int(vars(node.op)["axis"]) % len(first)
    return tuple([Symbol(node.outputs[0].number, at, True) if at == axis else size for at, size in enumerate(first)])


def _gather(sizes: Sizes, node: Node) -> Dims:
    dims, places, axis = (
        sizes.dims(node.values_in[0]),
        sizes.dims(node.values_in[1]),
        sizes.constant_integers(node.values_in[2]),
    )
    if dims is None or places is None or axis is None or vars(node.op).get("batch_dims"):
        return None
    at = axis[0] % len(dims)
    return (*dims[:at], *places, *dims[at + 1 :])


def _slice(sizes: Sizes, node: Node) -> Dims:
    dims, values = sizes.dims(node.values_in[0]), node.values_in
    starts, stops, steps = (sizes.constant_integers(value) for value in values[1:4])
    axes = sizes.constant_integers(values[4]) if len(values) > 4 else list(range(len(starts or ())))
    if dims is None or starts is None or axes is None:
        return None
    result = list(dims)
    for at, axis in enumerate(axes):
        is_complete = (
            stops is not None and steps is not None and starts[at] == 0 and stops[at] >= 2**31 - 1 and steps[at] == 1
        )
        if not is_complete:
            result[axis % len(dims)] = Symbol(node.outputs[0].number, axis % len(dims), True)
    return tuple(result)


def _reduction(sizes: Sizes, node: Node) -> Dims:
    dims = sizes.dims(node.values_in[0])
    axes = None if dims is None else _axes(sizes, node, len(dims))
    if dims is None or axes is None:
        return None
    if vars(node.op)["keep_dims"]:
        return tuple([1 if axis in axes else size for axis, size in enumerate(dims)])
    return tuple([size for axis, size in enumerate(dims) if axis not in axes])


def _target(sizes: Sizes, node: Node) -> Dims:
    """Return the target dims of a Broadcast."""
    target, mode = sizes.elements(node.values_in[1]), getattr(node.op, "mode", None)
    if target is None or any(isinstance(size, Symbol) and not size.is_dim for size in target):
        return None
    if mode == "bidirectional":
        return _broadcast([sizes.dims(node.values_in[0]), target])
    return target if mode in ("numpy", "explicit") else None


def _batch(sizes: Sizes, node: Node) -> Dims:
    """Return dims of which the first is the input's, and the others are new."""
    dims, rank = sizes.dims(node.values_in[0]), sizes.rank(node.outputs[0])
    if dims is None or rank is None or not dims:
        return None
    return (dims[0], *[Symbol(node.outputs[0].number, at, True) for at in range(1, rank)])


_DIMS: Mapping[str, Callable[[Sizes, Node], Dims]] = {
    "avgpool": _batch,
    "broadcast": _target,
    "concat": _concat,
    "convolution": _batch,
    "convolutionbackpropdata": _batch,
    "gather": _gather,
    "groupconvolution": _batch,
    "groupconvolutionbackpropdata": _batch,
    "matmul": _matmul,
    "maxpool": _batch,
    "reducemax": _reduction,
    "reducemean": _reduction,
    "reducemin": _reduction,
    "reduceprod": _reduction,
    "reducesum": _reduction,
    "reshape": _reshape,
    "select": _select,
    "slice": _slice,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "unsqueeze": _unsqueeze,
}


def _same_elements(sizes: Sizes, node: Node) -> tuple[Size, ...] | None:
    return sizes.elements(node.values_in[0])


def _shape(sizes: Sizes, node: Node) -> tuple[Size, ...] | None:
    return sizes.dims(node.values_in[0])


def _gather_elements(sizes: Sizes, node: Node) -> tuple[Size, ...] | None:
    elements, places = sizes.elements(node.values_in[0]), sizes.constant_integers(node.values_in[1])
    if elements is None or places is None or sizes.rank(node.values_in[0]) != 1:
        return None
    return (
        tuple([elements[index] for index in places])
        if all(-len(elements) <= at < len(elements) for at in places)
        else None
    )


def _concatenate(sizes: Sizes, node: Node) -> tuple[Size, ...] | None:
    elements: list[Size] = []
    for value in node.values_in:
        part = sizes.elements(value)
        if part is None:
            return None
        elements += part
    return tuple(elements)


def _slice_elements(sizes: Sizes, node: Node) -> tuple[Size, ...] | None:
    elements = sizes.elements(node.values_in[0])
    bounds = [sizes.constant_integers(value) for value in node.values_in[1:4]]
    if elements is None or any(bound is None or len(bound) != 1 for bound in bounds):
        return None
    start, stop, step = (bound[0] for bound in bounds if bound)
    return elements[start:stop:step] if step > 0 else None


def _product(sizes: Sizes, node: Node) -> tuple[Size, ...] | None:
    """Return a product of one size with ones, like the first dims of a Flatten."""
    elements = sizes.elements(node.values_in[0])
    left = [size for size in elements or () if size != 1]
    axes = sizes.constant_integers(node.values_in[1])
    is_whole = axes in ([0], [-1]) and sizes.rank(node.values_in[0]) == 1
    return (left[0] if left else 1,) if elements is not None and is_whole and len(left) < 2 else None


_ELEMENTS: Mapping[str, Callable[[Sizes, Node], tuple[Size, ...] | None]] = {
    "concat": _concatenate,
    "convert": _same_elements,
    "gather": _gather_elements,
    "reduceprod": _product,
    "reshape": _same_elements,
    "shapeof": _shape,
    "slice": _slice_elements,
    "squeeze": _same_elements,
    "unsqueeze": _same_elements,
}
