"""Evidence from the layers that read an input: its valid values, and its meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, prod
from typing import Any, Literal

import numpy as np

from ir_exec.debug.inputs.flow import SAMPLES, Flow, Trail
from ir_exec.graph import Node, Value
from ir_exec.ops import Op
from ir_exec.ops.base.inputs import (
    Angles,
    Ascending,
    AttentionMask,
    AxisIndices,
    AxisOrder,
    BagOffsets,
    BoxCorners,
    Divisor,
    Domain,
    ImagePixels,
    InputTypes,
    Lengths,
    PowerBase,
    SegmentIds,
    TargetShape,
    Usual,
    ValueRange,
)
from ir_exec.types import BOOLEAN, ElementType

__all__ = ["Kind", "Use", "Uses"]

Kind = Literal[
    "plain",
    "mask",
    "weak mask",
    "index",
    "open index",
    "counting",
    "lengths",
    "offsets",
    "sorted",
    "probabilities",
    "corners",
    "within",
    "image",
    "angle",
    "timestep",
    "exact",
]
"""mask: `low` everywhere. index: integers from low to high. open index: into an axis of unknown size. counting: 0, 1,
2, ... along the last axis, up to high. lengths: descending from high. offsets: ascending from 0. sorted: ascending
along the last axis. probabilities: positive, with a sum of 1. corners: of boxes, the second above the first. within:
between low and high. exact: a given value."""


@dataclass(frozen=True)
class Use:
    """The evidence of one layer about an input; the fields are those of a role."""

    kind: Kind
    text: str
    low: float = 0.0
    high: float = 0.0
    exact: tuple[float, ...] = ()
    layer: str = ""


_CHANNELS = (1, 3)
"""Numbers of channels of images."""

_EXTREME = -1e3
"""Greatest value that counts as an additive mask, which hides an element from a softmax."""


class Uses:
    """The evidence of all layers about the inputs, collected during a `Flow`."""

    def __init__(self, count: int) -> None:
        self._found: list[list[Use]] = [[] for _ in range(count)]
        self._hidden: set[int] = set()

    def of(self, number: int) -> Sequence[Use]:
        return self._found[number]

    def is_hidden_index(self, number: int) -> bool:
        """Return True if an input may become an index or a size on a path that is not tracked."""
        return number in self._hidden

    def visit(self, flow: Flow, node: Node) -> None:
        op = node.op
        if op is None:
            return
        types = [None if value is None else flow.type(value) for value in node.inputs]
        for position, value in enumerate(node.inputs):
            if value is None or not flow.inputs_of(value):
                continue
            declared = op.declared_input(position)
            if isinstance(declared.domain, AxisIndices):
                self._indices(flow, node, value, declared.domain, types)
                continue
            if declared.name in (*op.sized_by, *op.arranging_inputs):
                self._hidden.update(flow.inputs_of(value))
            if declared.domain is not None:
                reader = _Reader(flow, node, op, types, value)
                for number, trail in flow.trails(value).items():
                    for use in _evidence(reader, declared.domain, trail):
                        self._add(number, use, node)
        for number, use in (*_masks(flow, node, op), *_compare_lengths(flow, node, op)):
            self._add(number, use, node)

    def _add(self, number: int, use: Use, node: Node) -> None:
        self._found[number].append(Use(use.kind, use.text, use.low, use.high, use.exact, node.name))

    def _indices(self, flow: Flow, node: Node, value: Value, domain: AxisIndices, types: InputTypes) -> None:
        """Collect indices into an axis that are linear in an input, and record the inputs of all others."""
        size = domain.limit(node.op, types)
        if size is None:
            return
        limit = max(size.lo, 1) if size.is_static else size.lo
        followed = flow.trails(value)
        self._hidden.update(number for number in flow.inputs_of(value) if number not in followed)
        for number, trail in followed.items():
            inside = None if trail.is_sum else _preimage(trail, 0, limit - 1, _NOT_NEGATIVE)
            if inside is None:
                self._hidden.add(number)
                continue
            low, high = ceil(inside[0]), floor(inside[1])
            if not limit:
                self._add(number, Use("open index", "an axis whose size is not known"), node)
            elif low <= high:
                self._add(
                    number, Use("index", _name_indices(flow, node, domain, high), max(low, 0), max(high, 0)), node
                )


def _name_indices(flow: Flow, node: Node, domain: AxisIndices, high: int) -> str:
    data = node.inputs[0]
    is_table = domain.selects_slices and data is not None and not flow.inputs_of(data)
    return f"{'ids' if is_table else 'indices'} below {high + 1}"


_NOT_NEGATIVE = 3
"""The number of samples that are not negative: a negative index counts from the end."""


def _preimage(trail: Trail, low: float, high: float, samples: int = len(SAMPLES)) -> tuple[float, float] | None:
    """The interval of input elements with images between low and high; None if the images are not linear."""
    lines = trail.lines(samples)
    if lines is None:
        return None
    least, most = -inf, inf
    for offset, slope in lines:
        if slope:
            first, last = sorted(((low - offset) / slope, (high - offset) / slope))
            least, most = max(least, first), min(most, last)
    return (least, most) if np.isfinite(least) and np.isfinite(most) else None


@dataclass(frozen=True)
class _Reader:
    """A layer that reads a value.

    Attributes:
        types: The types of its inputs.
    """

    flow: Flow
    node: Node
    op: Op
    types: InputTypes
    value: Value

    def sizes_of_input(self, position: int) -> list[int]:
        """The least size of each axis of an input, at least 1; none for an unknown rank."""
        input_type = self.types[position]
        return [max(dim.lo, 1) for dim in (None if input_type is None else input_type.shape.dims) or ()]


def _evidence(reader: _Reader, domain: Domain, trail: Trail) -> Iterator[Use]:
    """The evidence of an input with this domain about the input of the model whose trail ends there."""
    op, types = reader.op, reader.types
    match domain:
        case Lengths():
            yield from _lengths(trail, domain.limit(op, types))
        case Usual():
            if trail.is_identity:
                yield Use("exact", domain.text, exact=(domain.value,))
        case BagOffsets() | SegmentIds() | Ascending() | BoxCorners():
            if trail.lines() is not None and not trail.is_sum:
                yield _describe_order(reader, domain)
        case ImagePixels():
            yield from _image(reader, trail)
        case Angles():
            if trail.is_scaled or trail.lines() is not None:
                yield Use("angle", "angles")
        case AttentionMask():
            yield from _attention_mask(reader, trail)
        case TargetShape() | AxisOrder():
            yield from _pattern(reader, domain, trail)
        case ValueRange():
            yield from _within(reader, domain, trail)


def _lengths(trail: Trail, size: int) -> Iterator[Use]:
    inside = _preimage(trail, 1, size)
    if inside is not None and inside[0] <= inside[1]:
        yield Use("lengths", f"lengths from 1 to {floor(inside[1])}", ceil(inside[0]), floor(inside[1]))


def _describe_order(reader: _Reader, domain: BagOffsets | SegmentIds | Ascending | BoxCorners) -> Use:
    """Elements that are in an order with their neighbors."""
    match domain:
        case BagOffsets():
            return Use("offsets", "offsets of bags", 0, domain.limit(reader.op, reader.types))
        case SegmentIds():
            return Use("sorted", "segment ids", 0, domain.limit(reader.op, reader.types) - 1)
        case Ascending():
            return Use("sorted", "in ascending order", -2, 2)
        case BoxCorners():
            return Use("corners", "corners of boxes", 0, domain.extent(reader.op, reader.types))


def _image(reader: _Reader, trail: Trail) -> Iterator[Use]:
    """An image of few channels, with values up to 255 if the model scales them down."""
    sizes, lines = reader.sizes_of_input(0), trail.lines()
    if len(sizes) == 4 and sizes[1] in _CHANNELS and lines is not None and min(sizes[2:]) > 1:
        is_scaled = max(abs(slope) for _, slope in lines) < 1 / 16
        yield Use("image", "image", 0, 255 if is_scaled else 1)


def _attention_mask(reader: _Reader, trail: Trail) -> Iterator[Use]:
    is_truth = reader.flow.type(reader.value).element_type is ElementType.boolean
    if is_truth and trail.points[:2].tolist() in ([[0.0], [1.0]], [[1.0], [0.0]]):
        keep = float(trail.points[1, 0])
        yield Use("mask", "mask of attention", keep, keep)
    else:
        yield from _hiding(trail.points, "additive mask")


def _pattern(reader: _Reader, domain: TargetShape | AxisOrder, trail: Trail) -> Iterator[Use]:
    """A valid shape for the data, or a valid order of its axes."""
    sizes, count = reader.sizes_of_input(0), prod(reader.sizes_of_input(1))
    if not trail.is_identity or not sizes:
        return
    if isinstance(domain, AxisOrder):
        text, values = "an order of axes", list(range(len(sizes)))[::-1]
    elif count < len(sizes):
        text, values = "a shape", [prod(sizes[: len(sizes) - count + 1]), *sizes[len(sizes) - count + 1 :]]
    else:
        text, values = "a shape", [*[domain.leading] * (count - len(sizes)), *sizes]
    if len(values) == count:
        yield Use("exact", text, exact=tuple(values))


def _within(reader: _Reader, domain: ValueRange, trail: Trail) -> Iterator[Use]:
    """The domain of a function, such as positive values for a logarithm."""
    if isinstance(domain, PowerBase) and _are_whole_powers(reader, domain):
        return
    if isinstance(domain, Divisor) and trail.is_sum:
        yield from _divided_by_sum(trail)
        return
    low, high = domain.low, domain.high
    is_whole = not reader.flow.type(reader.value).element_type.is_float
    if is_whole:
        low, high = (low, high) if low == int(low) and high == int(high) else (1, 9)
    inside = _preimage(trail, low, high)
    least = domain.defined_above
    is_defined = len(trail.points) > 3 and least is not None and bool((trail.points > least).all())
    if inside is not None and not is_defined:
        yield Use("within", domain.text, *(inside if not is_whole else (ceil(inside[0]), floor(inside[1]))))


def _are_whole_powers(reader: _Reader, domain: PowerBase) -> bool:
    """Return True if all exponents are constants and integers of at least 0."""
    position = next(i for i, declared in enumerate(reader.op.inputs) if declared.name == domain.exponent)
    exponents = reader.flow.extent(reader.node.inputs[position])
    return exponents is not None and bool((exponents == np.round(exponents)).all() and (exponents >= 0).all())


def _divided_by_sum(trail: Trail) -> Iterator[Use]:
    """Elements that are divided by their sum: a mask, or probabilities."""
    if len(trail.points) < 4:
        yield Use("mask", "mask whose elements are counted", 1, 1)
    elif (trail.points[3] < 0).any() and (trail.points[1] > 0).all():
        yield Use("probabilities", "divided by their sum", 0, 1)


def _masks(flow: Flow, node: Node, op: Op) -> Iterator[tuple[int, Use]]:
    """Inputs whose elements 0 or 1 become a number so low that a softmax hides the element."""
    if op.is_elementwise and (op.neutral == 0 or op.is_data_movement):
        text = "mask" if op.is_data_movement else "additive mask"
        for number in {number for value in node.values_in for number in flow.trails(value)}:
            points, is_pure = flow.image(node, number)
            if points is not None and not is_pure:
                yield from [(number, use) for use in _hiding(points, text)]
    elif op.neutral == 1 and op.absorbing == 0 and flow.type(node.outputs[0]).element_type not in BOOLEAN:
        yield from _factors(flow, node)
    elif op.is_cumulative:
        for number, trail in flow.trails(node.inputs[0]).items():
            if len(trail.points) == 2 or trail.points[:3].reshape(-1).tolist() == [0.0, 1.0, 1.0]:
                yield number, Use("weak mask", "mask whose elements are counted", 1, 1)


def _hiding(points: np.ndarray[Any, Any], text: str) -> Iterator[Use]:
    lows = [float(np.nanmin(row)) if not np.isnan(row).all() else 0.0 for row in points[:2]]
    hidden = [low <= _EXTREME for low in lows]
    if hidden in ([True, False], [False, True]):
        keep = float(hidden.index(False))
        yield Use("mask", text, keep, keep)


def _factors(flow: Flow, node: Node) -> Iterator[tuple[int, Use]]:
    """Integers and booleans that are 0 or 1 when data are multiplied by them."""
    for value, other in (node.values_in, node.values_in[::-1]) if len(node.values_in) == 2 else ():
        if flow.extent(other) is not None or not flow.inputs_of(other):
            continue
        for number, trail in flow.trails(value).items():
            ends = trail.points[:2, :1].reshape(-1).tolist()
            if number not in flow.trails(other) and ends in ([0.0, 1.0], [1.0, 0.0]) and not trail.is_sum:
                yield number, Use("weak mask", "mask that data are multiplied by", ends[1], ends[1])


def _compare_lengths(flow: Flow, node: Node, op: Op) -> Iterator[tuple[int, Use]]:
    """Lengths: one number for each row, compared with a counting sequence."""
    if op.steps != "operands" or not op.monotone:
        return
    for value, other in (node.values_in, node.values_in[::-1]):
        if not flow.counts(other):
            continue
        sizes, count = _sizes_of(flow, value), max(_sizes_of(flow, other), default=1)
        if sum(size > 1 for size in sizes) > 1 or count < 2 or (sizes and sizes[-1] > 1 and len(sizes) > 1):
            continue
        for number, trail in flow.trails(value).items():
            yield from [(number, use) for use in _lengths(trail, count)]


def _sizes_of(flow: Flow, value: Value) -> list[int]:
    return [max(dim.lo, 1) for dim in flow.type(value).shape.dims or ()]
