"""Evidence from the layers that read an input: its valid values, and its meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, prod
from typing import Any, Literal

import numpy as np

from ir_exec.debug.inputs.flow import SAMPLES, Flow, Trail
from ir_exec.debug.inputs.ports import (
    ALWAYS,
    CHANNELS,
    COMPARING,
    CONVOLUTIONS,
    CORNERS,
    DOMAINS,
    EXACT,
    LENGTHS,
    SEGMENTS,
    SORTED,
    UNKNOWN,
    axis_size,
    index_limit,
    sizes_of,
)
from ir_exec.graph import Node, Value
from ir_exec.ops.base.registry import canonical
from ir_exec.types import ElementType

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
        if node.op is None:
            return
        type_name = canonical(node.type)
        for position, value in enumerate(node.inputs):
            if value is None or not flow.reached(value):
                continue
            port = node.op.input_name(position).partition("[")[0]
            self._indices(flow, node, type_name, position, port)
            for number, trail in flow.trails(value).items():
                for use in _shown(flow, node, value, type_name, port, trail):
                    self._add(number, use, node)
        for number, use in _masks(flow, node, type_name):
            self._add(number, use, node)
        for number, use in _compared(flow, node, type_name):
            self._add(number, use, node)

    def _add(self, number: int, use: Use, node: Node) -> None:
        self._found[number].append(Use(use.kind, use.text, use.low, use.high, use.exact, node.name))

    def _indices(self, flow: Flow, node: Node, type_name: str, position: int, port: str) -> None:
        """Collect indices into an axis that are linear in an input, and record the inputs of all others."""
        value = node.inputs[position]
        is_size = type_name in ("Reshape", "Broadcast", "Range", "Tile", "Slice", "StridedSlice") and position
        limit = index_limit(flow, node, type_name, port)
        if limit is None:
            if is_size:
                self._hidden.update(flow.reached(value))
            return
        followed = flow.trails(value)
        self._hidden.update(number for number in flow.reached(value) if number not in followed)
        for number, trail in followed.items():
            inside = None if trail.is_sum else _preimage(trail, 0, limit - 1, _NOT_NEGATIVE)
            if inside is None:
                self._hidden.add(number)
                continue
            low, high = ceil(inside[0]), floor(inside[1])
            if limit == UNKNOWN:
                self._add(number, Use("open index", "an axis whose size is not known"), node)
            elif low <= high:
                self._add(number, Use("index", _what_index(flow, node, high), max(low, 0), max(high, 0)), node)


_LOOK_UPS = frozenset(
    {
        "Gather",
        "EmbeddingBagOffsets",
        "EmbeddingBagOffsetsSum",
        "EmbeddingBagPacked",
        "EmbeddingBagPackedSum",
        "EmbeddingSegmentsSum",
    }
)


def _what_index(flow: Flow, node: Node, high: int) -> str:
    data = node.inputs[0]
    is_table = canonical(node.type) in _LOOK_UPS and data is not None and not flow.reached(data)
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


def _shown(flow: Flow, node: Node, value: Value, type_name: str, port: str, trail: Trail) -> Iterator[Use]:
    """The evidence of a port about the input whose trail ends there."""
    key = (type_name, port)
    if key in LENGTHS:
        position, axis = LENGTHS[key]
        sizes = sizes_of(flow, node.inputs[position])
        if axis < len(sizes):
            yield from _lengths(trail, sizes[axis])
    elif type_name == "ReverseSequence" and port == "seq_lengths":
        size = axis_size(flow, node, int(getattr(node.op, "seq_axis", 0)))
        yield from _lengths(trail, size or 1)
    elif key in EXACT:
        constant, text = EXACT[key]
        yield from _exact(trail, (constant,), text)
    elif port == "offsets" and type_name.startswith("EmbeddingBagOffsets"):
        yield Use("offsets", "offsets of bags", 0, prod(sizes_of(flow, node.inputs[1])))
    elif key in SEGMENTS:
        known = (
            flow.known(node.inputs[3 if type_name == "EmbeddingSegmentsSum" else 2]) if len(node.inputs) > 2 else None
        )
        last = int(known.reshape(-1)[0]) - 1 if known is not None and known.size else 3
        yield Use("sorted", "segment ids", 0, max(last, 0))
    elif key in SORTED:
        yield Use("sorted", "in ascending order", -2, 2)
    elif key in CORNERS:
        yield Use("corners", "corners of boxes", 0, _extent_of_boxes(flow, node, type_name))
    elif type_name in CONVOLUTIONS and port == "data":
        yield from _image(flow, node, trail)
    elif type_name in ("Sin", "Cos") and (trail.is_scaled or trail.lines() is not None):
        yield Use("angle", "angles")
    elif type_name in ("Reshape", "Broadcast", "Transpose") and port in ("shape", "target_shape", "input_order"):
        yield from _pattern(flow, node, type_name, trail)
    else:
        yield from _domain(flow, node, value, type_name, port, trail)


def _lengths(trail: Trail, size: int) -> Iterator[Use]:
    inside = _preimage(trail, 1, size)
    if inside is not None and inside[0] <= inside[1]:
        yield Use("lengths", f"lengths from 1 to {floor(inside[1])}", ceil(inside[0]), floor(inside[1]))


def _exact(trail: Trail, values: tuple[float, ...], text: str) -> Iterator[Use]:
    if trail.is_identity:
        yield Use("exact", text, exact=values)


def _extent_of_boxes(flow: Flow, node: Node, type_name: str) -> float:
    """The size of the image that contains the boxes."""
    if type_name != "ROIAlign":
        return 1.0
    sizes = sizes_of(flow, node.inputs[0])
    scale = float(getattr(node.op, "spatial_scale", 1.0)) or 1.0
    return min(sizes[2:], default=1) / scale


def _image(flow: Flow, node: Node, trail: Trail) -> Iterator[Use]:
    """An image of few channels, with values up to 255 if the model scales them down."""
    sizes = sizes_of(flow, node.inputs[0])
    lines = trail.lines()
    if len(sizes) == 4 and sizes[1] in CHANNELS and lines is not None and min(sizes[2:]) > 1:
        is_scaled = max(abs(slope) for _, slope in lines) < 1 / 16
        yield Use("image", "image", 0, 255 if is_scaled else 1)


def _pattern(flow: Flow, node: Node, type_name: str, trail: Trail) -> Iterator[Use]:
    """A valid shape for the data, or a valid order of its axes."""
    sizes = sizes_of(flow, node.inputs[0])
    count = prod(sizes_of(flow, node.inputs[1]))
    if not trail.is_identity or not sizes:
        return
    if type_name == "Transpose":
        values: Sequence[int] = range(len(sizes))[::-1]
    elif count < len(sizes):
        values = [prod(sizes[: len(sizes) - count + 1]), *sizes[len(sizes) - count + 1 :]]
    else:
        values = [*[1 if type_name == "Reshape" else 2] * (count - len(sizes)), *sizes]
    if len(values) == count:
        yield Use("exact", "a shape" if type_name != "Transpose" else "an order of axes", exact=tuple(values))


def _domain(flow: Flow, node: Node, value: Value, type_name: str, port: str, trail: Trail) -> Iterator[Use]:
    """The domain of a layer, such as positive values for a logarithm."""
    domain = DOMAINS.get((type_name, port))
    if type_name == "Power" and port == "a":
        exponent = flow.extent(node.inputs[1])
        if exponent is None or (exponent != np.round(exponent)).any() or (exponent < 0).any():
            domain = (0.5, 2, "the base of a power")
    if domain is None:
        return
    low, high, text = domain
    is_whole = not flow.type(value).element_type.is_float
    if trail.is_sum and type_name == "Divide":
        yield from _divided_by_sum(trail)
        return
    if is_whole:
        low, high = (low, high) if low == int(low) and high == int(high) else (1, 9)
    inside = _preimage(trail, low, high)
    if inside is None or (len(trail.points) > 3 and type_name not in ALWAYS and _is_positive(trail, type_name)):
        return
    yield Use("within", f"{text}", *(inside if not is_whole else (ceil(inside[0]), floor(inside[1]))))


def _is_positive(trail: Trail, type_name: str) -> bool:
    """Return True if the function is defined for all samples."""
    return type_name in ("Log", "Sqrt", "Divide", "Power") and bool((trail.points > 0).all())


def _divided_by_sum(trail: Trail) -> Iterator[Use]:
    """Elements that are divided by their sum: a mask, or probabilities."""
    if len(trail.points) < 4:
        yield Use("mask", "mask whose elements are counted", 1, 1)
    elif (trail.points[3] < 0).any() and (trail.points[1] > 0).all():
        yield Use("probabilities", "divided by their sum", 0, 1)


def _masks(flow: Flow, node: Node, type_name: str) -> Iterator[tuple[int, Use]]:
    """Inputs whose elements 0 or 1 become a number so low that a softmax hides the element."""
    if type_name in ("Add", "Subtract", "Select"):
        for number in {number for value in node.values_in for number in flow.trails(value)}:
            points, is_pure = flow.image(node, number)
            if points is not None and not is_pure:
                yield from [(number, use) for use in _hiding(points, type_name)]
    elif type_name == "Multiply":
        yield from _factors(flow, node)
    elif type_name == "CumSum":
        for number, trail in flow.trails(node.inputs[0]).items():
            if len(trail.points) == 2 or trail.points[:3].reshape(-1).tolist() == [0.0, 1.0, 1.0]:
                yield number, Use("weak mask", "mask whose elements are counted", 1, 1)
    elif type_name == "ScaledDotProductAttention" and len(node.inputs) > 3:
        for number, trail in flow.trails(node.inputs[3]).items():
            is_truth = flow.type(node.values_in[3]).element_type is ElementType.boolean
            if is_truth and trail.points[:2].tolist() in ([[0.0], [1.0]], [[1.0], [0.0]]):
                keep = float(trail.points[1, 0])
                yield number, Use("mask", "mask of attention", keep, keep)
            else:
                yield from [(number, use) for use in _hiding(trail.points, type_name)]


def _hiding(points: np.ndarray[Any, Any], type_name: str) -> Iterator[Use]:
    lows = [float(np.nanmin(row)) if not np.isnan(row).all() else 0.0 for row in points[:2]]
    hidden = [low <= _EXTREME for low in lows]
    if hidden in ([True, False], [False, True]):
        keep = float(hidden.index(False))
        yield Use("mask", "additive mask" if type_name != "Select" else "mask", keep, keep)


def _factors(flow: Flow, node: Node) -> Iterator[tuple[int, Use]]:
    """Integers and booleans that are 0 or 1 when data are multiplied by them."""
    for value, other in (node.values_in, node.values_in[::-1]) if len(node.values_in) == 2 else ():
        if flow.extent(other) is not None or not flow.reached(other):
            continue
        for number, trail in flow.trails(value).items():
            ends = trail.points[:2, :1].reshape(-1).tolist()
            if number not in flow.trails(other) and ends in ([0.0, 1.0], [1.0, 0.0]) and not trail.is_sum:
                yield number, Use("weak mask", "mask that data are multiplied by", ends[1], ends[1])


def _compared(flow: Flow, node: Node, type_name: str) -> Iterator[tuple[int, Use]]:
    """Lengths: one number for each row, compared with a counting sequence."""
    if type_name not in COMPARING:
        return
    for value, other in (node.values_in, node.values_in[::-1]):
        if not flow.counts(other):
            continue
        sizes, count = sizes_of(flow, value), max(sizes_of(flow, other), default=1)
        if sum(size > 1 for size in sizes) > 1 or count < 2 or (sizes and sizes[-1] > 1 and len(sizes) > 1):
            continue
        for number, trail in flow.trails(value).items():
            yield from [(number, use) for use in _lengths(trail, count)]
