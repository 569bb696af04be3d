"""What layers show about an input that they read: which values it may have, and what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, prod
from typing import Any, Literal

import numpy as np

from ir_exec.debug.draw.flow import SAMPLES, Flow, Trail
from ir_exec.graph import Node, Value
from ir_exec.ops.base.registry import canonical
from ir_exec.types import Dim, ElementType

__all__ = ["Kind", "Use", "Uses"]

Kind = Literal[
    "plain",
    "mask",
    "weak mask",
    "index",
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
"""mask: `low` everywhere. index: integers from low to high. counting: 0, 1, 2, ... along the last axis, up to high.
lengths: from high downwards. offsets: rising from 0. sorted: rising along the last axis. probabilities: positive,
with a sum of 1. corners: of boxes, the second above the first. within: between low and high. exact: a given value."""


@dataclass(frozen=True)
class Use:
    """What a layer shows about an input; the fields are those of a role."""

    kind: Kind
    text: str
    low: float = 0.0
    high: float = 0.0
    exact: tuple[float, ...] = ()
    layer: str = ""


_EXTREME = -1e3
"""What is as low as this is added to hide an element from a softmax."""

_COMPARING = frozenset(["Less", "LessEqual", "Greater", "GreaterEqual"])

_CONVOLUTIONS = frozenset({"Convolution", "DeformableConvolution"})

_CHANNELS = (1, 3)
"""Of images."""

_DOMAINS: dict[tuple[str, str], tuple[float, float, str]] = {
    ("Log", "data"): (0.1, 1, "the logarithm is taken"),
    ("Sqrt", "data"): (0.1, 2, "the square root is taken"),
    ("Divide", "b"): (0.5, 2, "a divisor"),
    ("Mod", "b"): (0.5, 2, "a divisor"),
    ("FloorMod", "b"): (0.5, 2, "a divisor"),
    ("Acosh", "data"): (1.1, 3, "the area cosine is taken"),
    ("Acos", "data"): (-0.9, 0.9, "the arc cosine is taken"),
    ("Asin", "data"): (-0.9, 0.9, "the arc sine is taken"),
    ("Atanh", "data"): (-0.9, 0.9, "the area tangent is taken"),
    ("GridSample", "grid"): (-1, 1, "places in an image"),
    ("BatchNormInference", "variance"): (0.5, 2, "a variance"),
    ("Multinomial", "probs"): (0.1, 1, "probabilities"),
    ("NonMaxSuppression", "scores"): (0, 1, "scores"),
    ("NMSRotated", "scores"): (0, 1, "scores"),
    ("MatrixNms", "scores"): (0, 1, "scores"),
    ("MulticlassNms", "scores"): (0, 1, "scores"),
    ("Proposal", "class_probs"): (0, 1, "scores"),
    ("TopK", "k"): (1, 1, "how many are taken"),
    ("Loop", "trip_count"): (2, 3, "the number of iterations"),
    ("Range", "stop"): (4, 8, "the end of a range"),
    ("Interpolate", "scales"): (1, 2, "scales"),
    ("Interpolate", "scales_or_sizes"): (1, 2, "scales"),
    ("Interpolate", "sizes"): (8, 8, "sizes"),
    ("Tile", "repeats"): (1, 2, "repeats"),
    ("Pad", "pads_begin"): (0, 1, "pads"),
    ("Pad", "pads_end"): (0, 1, "pads"),
    ("RandomUniform", "shape"): (2, 4, "sizes"),
    ("Multinomial", "num_samples"): (2, 4, "how many are drawn"),
    ("Eye", "num_rows"): (3, 5, "sizes"),
    ("Eye", "num_columns"): (3, 5, "sizes"),
    ("OneHot", "depth"): (10, 10, "the number of classes"),
    ("AdaptiveAvgPool", "output_shape"): (2, 3, "sizes"),
    ("AdaptiveMaxPool", "output_shape"): (2, 3, "sizes"),
    ("EmbeddingSegmentsSum", "num_segments"): (4, 4, "the number of segments"),
    ("SegmentMax", "num_segments"): (4, 4, "the number of segments"),
}
"""The least and the greatest value at a port, and what it is."""

_ALWAYS = frozenset(
    ["Multinomial", "NonMaxSuppression", "NMSRotated", "MatrixNms", "MulticlassNms", "Proposal", "GridSample"]
)
"""Where a domain holds for floats that come from an input by any monotone function."""

_EXACT: dict[tuple[str, str], tuple[float, str]] = {
    ("Loop", "execution_condition"): (1, "goes on"),
    ("Range", "start"): (0, "the start of a range"),
    ("Range", "step"): (1, "the step of a range"),
    ("FakeQuantize", "input_low"): (-1, "the least level"),
    ("FakeQuantize", "input_high"): (1, "the greatest level"),
    ("FakeQuantize", "output_low"): (-1, "the least level"),
    ("FakeQuantize", "output_high"): (1, "the greatest level"),
    ("NonMaxSuppression", "max_output_boxes_per_class"): (5, "how many boxes are kept"),
    ("NonMaxSuppression", "iou_threshold"): (0.5, "a threshold"),
    ("NonMaxSuppression", "score_threshold"): (0.1, "a threshold"),
    ("NonMaxSuppression", "soft_nms_sigma"): (0, "the width of soft suppression"),
    ("NMSRotated", "max_output_boxes_per_class"): (5, "how many boxes are kept"),
    ("NMSRotated", "iou_threshold"): (0.5, "a threshold"),
    ("NMSRotated", "score_threshold"): (0.1, "a threshold"),
    ("RandomUniform", "minval"): (0, "the least value"),
    ("RandomUniform", "maxval"): (1, "the greatest value"),
    ("CumSum", "axis"): (0, "an axis"),
    ("Gather", "axis"): (0, "an axis"),
    ("Split", "axis"): (0, "an axis"),
    ("VariadicSplit", "axis"): (0, "an axis"),
    ("ScatterUpdate", "axis"): (0, "an axis"),
    ("ScatterElementsUpdate", "axis"): (0, "an axis"),
    ("Slice", "start"): (0, "the start of a slice"),
    ("Slice", "stop"): (2**30, "the end of a slice"),
    ("Slice", "step"): (1, "the step of a slice"),
    ("StridedSlice", "begin"): (0, "the start of a slice"),
    ("StridedSlice", "end"): (2**30, "the end of a slice"),
    ("StridedSlice", "stride"): (1, "the step of a slice"),
}

_LENGTHS: dict[tuple[str, str], tuple[int, int]] = {
    ("GRUSequence", "sequence_lengths"): (0, 1),
    ("LSTMSequence", "sequence_lengths"): (0, 1),
    ("RNNSequence", "sequence_lengths"): (0, 1),
    ("CTCGreedyDecoderSeqLen", "sequence_length"): (0, 1),
    ("CTCLoss", "logit_length"): (0, 1),
    ("CTCLoss", "label_length"): (2, 1),
    ("GatherTree", "max_seq_len"): (0, 0),
}
"""The input, by its position, and its axis that lengths are of."""

_SORTED = frozenset({("Bucketize", "buckets"), ("SearchSorted", "sorted_sequence")})

_SEGMENTS = frozenset({("EmbeddingSegmentsSum", "segment_ids"), ("SegmentMax", "segment_ids")})

_CORNERS = frozenset(
    {
        ("NonMaxSuppression", "boxes"),
        ("MatrixNms", "boxes"),
        ("MulticlassNms", "boxes"),
        ("ROIAlign", "rois"),
        ("ExperimentalDetectronROIFeatureExtractor", "rois"),
    }
)


class Uses:
    """What the layers of a network show about its inputs, found while a flow visits them."""

    def __init__(self, count: int) -> None:
        self._found: list[list[Use]] = [[] for _ in range(count)]
        self._hidden: set[int] = set()

    def of(self, number: int) -> Sequence[Use]:
        return self._found[number]

    def is_hidden_index(self, number: int) -> bool:
        """Return True where an input may become an index or a size in a way that was not followed."""
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
        """Indices into an axis, as far as they follow from an input by a line; others are remembered."""
        value = node.inputs[position]
        is_size = type_name in ("Reshape", "Broadcast", "Range", "Tile", "Slice", "StridedSlice") and position
        limit = _limit(flow, node, type_name, port)
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
            if low <= high:
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


def _limit(flow: Flow, node: Node, type_name: str, port: str) -> int | None:
    """The number of elements that the indices at a port may number; None where it has no indices."""
    find = _LIMITS.get((type_name, port))
    if find is None or node.inputs[0] is None:
        return None
    return find(flow, node)


def _sizes(flow: Flow, value: Value | None) -> list[int]:
    dims = flow.type(value).shape.dims if value is not None else None
    return [_size(dim) for dim in dims or ()]


def _size(dim: Dim) -> int:
    return max(dim.lo, 1)


def _axis(flow: Flow, node: Node, axis: int) -> int | None:
    sizes = _sizes(flow, node.inputs[0])
    return sizes[axis] if -len(sizes) <= axis < len(sizes) else None


def _axis_at(position: int) -> Callable[[Flow, Node], int | None]:
    def find(flow: Flow, node: Node) -> int | None:
        known = flow.known(node.inputs[position]) if position < len(node.inputs) else None
        return _axis(flow, node, int(known.reshape(-1)[0]) if known is not None and known.size else 0)

    return find


def _axis_of_attribute(flow: Flow, node: Node) -> int | None:
    return _axis(flow, node, int(getattr(node.op, "axis", 0)))


def _rows(flow: Flow, node: Node) -> int | None:
    return _axis(flow, node, 0)


def _leading(flow: Flow, node: Node) -> int | None:
    """The least of the axes that indices of several elements number."""
    sizes, indices = _sizes(flow, node.inputs[0]), _sizes(flow, node.inputs[1])
    first = int(getattr(node.op, "batch_dims", 0))
    return min(sizes[first : first + indices[-1]], default=None) if indices else None


def _classes(flow: Flow, node: Node) -> int | None:
    size = _axis(flow, node, 2)
    return None if size is None else max(size - 1, 1)


def _depth(flow: Flow, node: Node) -> int | None:
    known = flow.known(node.inputs[1])
    return int(known.reshape(-1)[0]) if known is not None and known.size else 10


_LIMITS: dict[tuple[str, str], Callable[[Flow, Node], int | None]] = {
    ("Gather", "indices"): _axis_at(2),
    ("GatherElements", "indices"): _axis_of_attribute,
    ("GatherND", "indices"): _leading,
    ("GatherTree", "parent_ids"): lambda flow, node: _axis(flow, node, 2),
    ("ScatterUpdate", "indices"): _axis_at(3),
    ("ScatterElementsUpdate", "indices"): _axis_at(3),
    ("ScatterNDUpdate", "indices"): _leading,
    ("EmbeddingBagOffsets", "indices"): _rows,
    ("EmbeddingBagOffsets", "default_index"): _rows,
    ("EmbeddingBagOffsetsSum", "indices"): _rows,
    ("EmbeddingBagOffsetsSum", "default_index"): _rows,
    ("EmbeddingBagPacked", "indices"): _rows,
    ("EmbeddingBagPackedSum", "indices"): _rows,
    ("EmbeddingSegmentsSum", "indices"): _rows,
    ("EmbeddingSegmentsSum", "default_index"): _rows,
    ("ROIAlign", "batch_indices"): _rows,
    ("ROIAlignRotated", "batch_indices"): _rows,
    ("CTCLoss", "labels"): _classes,
    ("OneHot", "indices"): _depth,
}
"""The ports with indices."""


_NOT_NEGATIVE = 3
"""The number of samples that are not below 0: an index that is counts from the end."""


def _preimage(trail: Trail, low: float, high: float, samples: int = len(SAMPLES)) -> tuple[float, float] | None:
    """The interval of elements of the input whose images are within low and high; None where they are no line."""
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
    """What a port shows of the input whose trail ends there."""
    key = (type_name, port)
    if key in _LENGTHS:
        position, axis = _LENGTHS[key]
        sizes = _sizes(flow, node.inputs[position])
        if axis < len(sizes):
            yield from _lengths(trail, sizes[axis])
    elif type_name == "ReverseSequence" and port == "seq_lengths":
        size = _axis(flow, node, int(getattr(node.op, "seq_axis", 0)))
        yield from _lengths(trail, size or 1)
    elif key in _EXACT:
        constant, text = _EXACT[key]
        yield from _exact(trail, (constant,), text)
    elif port == "offsets" and type_name.startswith("EmbeddingBagOffsets"):
        yield Use("offsets", "offsets of bags", 0, prod(_sizes(flow, node.inputs[1])))
    elif key in _SEGMENTS:
        known = (
            flow.known(node.inputs[3 if type_name == "EmbeddingSegmentsSum" else 2]) if len(node.inputs) > 2 else None
        )
        last = int(known.reshape(-1)[0]) - 1 if known is not None and known.size else 3
        yield Use("sorted", "numbers of segments", 0, max(last, 0))
    elif key in _SORTED:
        yield Use("sorted", "in rising order", -2, 2)
    elif key in _CORNERS:
        yield Use("corners", "corners of boxes", 0, _extent_of_boxes(flow, node, type_name))
    elif type_name in _CONVOLUTIONS and port == "data":
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
    """The size of the image that boxes are in."""
    if type_name != "ROIAlign":
        return 1.0
    sizes = _sizes(flow, node.inputs[0])
    scale = float(getattr(node.op, "spatial_scale", 1.0)) or 1.0
    return min(sizes[2:], default=1) / scale


def _image(flow: Flow, node: Node, trail: Trail) -> Iterator[Use]:
    """An image of few channels, whose values the network may divide by 255."""
    sizes = _sizes(flow, node.inputs[0])
    lines = trail.lines()
    if len(sizes) == 4 and sizes[1] in _CHANNELS and lines is not None and min(sizes[2:]) > 1:
        is_scaled = max(abs(slope) for _, slope in lines) < 1 / 16
        yield Use("image", "image", 0, 255 if is_scaled else 1)


def _pattern(flow: Flow, node: Node, type_name: str, trail: Trail) -> Iterator[Use]:
    """A shape, or an order of axes, that the data can have."""
    sizes = _sizes(flow, node.inputs[0])
    count = prod(_sizes(flow, node.inputs[1]))
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
    """Values for which a layer is defined, such as positive ones where the logarithm is taken."""
    domain = _DOMAINS.get((type_name, port))
    if type_name == "Power" and port == "a":
        exponent = flow.extent(node.inputs[1])
        if exponent is None or (exponent != np.round(exponent)).any() or (exponent < 0).any():
            domain = (0.5, 2, "the base of a power")
    if domain is None:
        return
    low, high, text = domain
    value = (
        node.inputs[[node.op.input_name(i).partition("[")[0] for i in range(len(node.inputs))].index(port)]
        if node.op
        else None
    )
    is_whole = value is not None and not flow.type(value).element_type.is_float
    if trail.is_sum and type_name == "Divide":
        yield from _divided_by_sum(trail)
        return
    if is_whole:
        low, high = (low, high) if low == int(low) and high == int(high) else (1, 9)
    inside = _preimage(trail, low, high)
    if inside is None or (len(trail.points) > 3 and type_name not in _ALWAYS and _is_positive(trail, type_name)):
        return
    yield Use("within", f"{text}", *(inside if not is_whole else (ceil(inside[0]), floor(inside[1]))))


def _is_positive(trail: Trail, type_name: str) -> bool:
    """Return True where the function takes every sample already."""
    return type_name in ("Log", "Sqrt", "Divide", "Power") and bool((trail.points > 0).all())


def _divided_by_sum(trail: Trail) -> Iterator[Use]:
    """Elements that are divided by their sum: of a mask, or probabilities."""
    if len(trail.points) < 4:
        yield Use("mask", "mask whose elements are counted", 1, 1)
    elif (trail.points[3] < 0).any() and (trail.points[1] > 0).all():
        yield Use("probabilities", "divided by their sum", 0, 1)


def _masks(flow: Flow, node: Node, type_name: str) -> Iterator[tuple[int, Use]]:
    """Inputs that become, at an element of 0 or of 1, so low a number that a softmax hides the element."""
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
                yield number, Use("mask", "mask of attention", *[float(trail.points[1, 0])] * 2)
            else:
                yield from [(number, use) for use in _hiding(trail.points, type_name)]


def _hiding(points: np.ndarray[Any, Any], type_name: str) -> Iterator[Use]:
    lows = [float(np.nanmin(row)) if not np.isnan(row).all() else 0.0 for row in points[:2]]
    hidden = [low <= _EXTREME for low in lows]
    if hidden in ([True, False], [False, True]):
        keep = float(hidden.index(False))
        yield Use("mask", "additive mask" if type_name != "Select" else "mask", keep, keep)


def _factors(flow: Flow, node: Node) -> Iterator[tuple[int, Use]]:
    """Integers and booleans that data are multiplied by, as far as they are 0 or 1 there."""
    for value, other in (node.values_in, node.values_in[::-1]) if len(node.values_in) == 2 else ():
        if flow.extent(other) is not None or not flow.reached(other):
            continue
        for number, trail in flow.trails(value).items():
            ends = trail.points[:2, :1].reshape(-1).tolist()
            if number not in flow.trails(other) and ends in ([0.0, 1.0], [1.0, 0.0]) and not trail.is_sum:
                yield number, Use("weak mask", "mask that data are multiplied by", *[float(ends[1])] * 2)


def _compared(flow: Flow, node: Node, type_name: str) -> Iterator[tuple[int, Use]]:
    """Lengths: numbers, one for each row, that what counts up is compared with."""
    if type_name not in _COMPARING:
        return
    for value, other in (node.values_in, node.values_in[::-1]):
        if not flow.counts(other):
            continue
        sizes, count = _sizes(flow, value), max(_sizes(flow, other), default=1)
        if sum(size > 1 for size in sizes) > 1 or count < 2 or (sizes and sizes[-1] > 1 and len(sizes) > 1):
            continue
        for number, trail in flow.trails(value).items():
            yield from [(number, use) for use in _lengths(trail, count)]
