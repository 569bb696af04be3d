"""Ports of operators that have indices, lengths or shapes, and the domains of operators."""

from __future__ import annotations

from collections.abc import Callable

from ir_exec.debug.inputs.flow import Flow
from ir_exec.graph import Node, Value
from ir_exec.types import Dim

__all__ = [
    "ALWAYS",
    "CHANNELS",
    "COMPARING",
    "CONVOLUTIONS",
    "CORNERS",
    "DOMAINS",
    "EXACT",
    "LENGTHS",
    "SEGMENTS",
    "SORTED",
    "UNKNOWN",
    "axis_size",
    "index_limit",
    "sizes_of",
]

COMPARING = frozenset(["Less", "LessEqual", "Greater", "GreaterEqual"])

CONVOLUTIONS = frozenset({"Convolution", "DeformableConvolution"})

CHANNELS = (1, 3)
"""Numbers of channels of images."""

DOMAINS: dict[tuple[str, str], tuple[float, float, str]] = {
    ("Log", "data"): (0.1, 1, "the logarithm is taken"),
    ("Sqrt", "data"): (0.1, 2, "the square root is taken"),
    ("Divide", "b"): (0.5, 2, "a divisor"),
    ("Mod", "b"): (0.5, 2, "a divisor"),
    ("FloorMod", "b"): (0.5, 2, "a divisor"),
    ("Acosh", "data"): (1.1, 3, "the inverse hyperbolic cosine is taken"),
    ("Acos", "data"): (-0.9, 0.9, "the arc cosine is taken"),
    ("Asin", "data"): (-0.9, 0.9, "the arc sine is taken"),
    ("Atanh", "data"): (-0.9, 0.9, "the inverse hyperbolic tangent is taken"),
    ("GridSample", "grid"): (-1, 1, "coordinates in an image"),
    ("BatchNormInference", "variance"): (0.5, 2, "a variance"),
    ("Multinomial", "probs"): (0.1, 1, "probabilities"),
    ("NonMaxSuppression", "scores"): (0, 1, "scores"),
    ("NMSRotated", "scores"): (0, 1, "scores"),
    ("MatrixNms", "scores"): (0, 1, "scores"),
    ("MulticlassNms", "scores"): (0, 1, "scores"),
    ("Proposal", "class_probs"): (0, 1, "scores"),
    ("TopK", "k"): (1, 1, "the number of elements"),
    ("Loop", "trip_count"): (2, 3, "the number of iterations"),
    ("Range", "stop"): (4, 8, "the end of a range"),
    ("Interpolate", "scales"): (1, 2, "scales"),
    ("Interpolate", "scales_or_sizes"): (1, 2, "scales"),
    ("Interpolate", "sizes"): (8, 8, "sizes"),
    ("Tile", "repeats"): (1, 2, "repeats"),
    ("Pad", "pads_begin"): (0, 1, "pads"),
    ("Pad", "pads_end"): (0, 1, "pads"),
    ("RandomUniform", "shape"): (2, 4, "sizes"),
    ("Multinomial", "num_samples"): (2, 4, "the number of samples"),
    ("Eye", "num_rows"): (3, 5, "sizes"),
    ("Eye", "num_columns"): (3, 5, "sizes"),
    ("OneHot", "depth"): (10, 10, "the number of classes"),
    ("AdaptiveAvgPool", "output_shape"): (2, 3, "sizes"),
    ("AdaptiveMaxPool", "output_shape"): (2, 3, "sizes"),
    ("EmbeddingSegmentsSum", "num_segments"): (4, 4, "the number of segments"),
    ("SegmentMax", "num_segments"): (4, 4, "the number of segments"),
}
"""The least and the greatest value at a port, and a description."""

ALWAYS = frozenset(
    ["Multinomial", "NonMaxSuppression", "NMSRotated", "MatrixNms", "MulticlassNms", "Proposal", "GridSample"]
)
"""Operators whose domain applies to floats that any monotone function computes from an input."""

EXACT: dict[tuple[str, str], tuple[float, str]] = {
    ("Loop", "execution_condition"): (1, "the condition of a loop"),
    ("Range", "start"): (0, "the start of a range"),
    ("Range", "step"): (1, "the step of a range"),
    ("FakeQuantize", "input_low"): (-1, "the least level"),
    ("FakeQuantize", "input_high"): (1, "the greatest level"),
    ("FakeQuantize", "output_low"): (-1, "the least level"),
    ("FakeQuantize", "output_high"): (1, "the greatest level"),
    ("NonMaxSuppression", "max_output_boxes_per_class"): (5, "the number of boxes"),
    ("NonMaxSuppression", "iou_threshold"): (0.5, "a threshold"),
    ("NonMaxSuppression", "score_threshold"): (0.1, "a threshold"),
    ("NonMaxSuppression", "soft_nms_sigma"): (0, "the width of soft suppression"),
    ("NMSRotated", "max_output_boxes_per_class"): (5, "the number of boxes"),
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

LENGTHS: dict[tuple[str, str], tuple[int, int]] = {
    ("GRUSequence", "sequence_lengths"): (0, 1),
    ("LSTMSequence", "sequence_lengths"): (0, 1),
    ("RNNSequence", "sequence_lengths"): (0, 1),
    ("CTCGreedyDecoderSeqLen", "sequence_length"): (0, 1),
    ("CTCLoss", "logit_length"): (0, 1),
    ("CTCLoss", "label_length"): (2, 1),
    ("GatherTree", "max_seq_len"): (0, 0),
}
"""The input, by position, and its axis that the lengths refer to."""

SORTED = frozenset({("Bucketize", "buckets"), ("SearchSorted", "sorted_sequence")})

SEGMENTS = frozenset({("EmbeddingSegmentsSum", "segment_ids"), ("SegmentMax", "segment_ids")})

CORNERS = frozenset(
    {
        ("NonMaxSuppression", "boxes"),
        ("MatrixNms", "boxes"),
        ("MulticlassNms", "boxes"),
        ("ROIAlign", "rois"),
        ("ExperimentalDetectronROIFeatureExtractor", "rois"),
    }
)


UNKNOWN = 0
"""The number of elements along a dynamic axis."""


def index_limit(flow: Flow, node: Node, type_name: str, port: str) -> int | None:
    """The exclusive upper limit of the indices at a port; None if the port has no indices."""
    find = _LIMITS.get((type_name, port))
    if find is None or node.inputs[0] is None:
        return None
    return find(flow, node)


def sizes_of(flow: Flow, value: Value | None) -> list[int]:
    dims = flow.type(value).shape.dims if value is not None else None
    return [_size(dim) for dim in dims or ()]


def _size(dim: Dim) -> int:
    return max(dim.lo, 1)


def axis_size(flow: Flow, node: Node, axis: int) -> int | None:
    """The size of an axis of the first input, `UNKNOWN` if dynamic; None if the input has no such axis."""
    dims = flow.type(node.inputs[0]).shape.dims if node.inputs[0] is not None else None
    if dims is None or not -len(dims) <= axis < len(dims):
        return None
    return _size(dims[axis]) if dims[axis].is_static else max(dims[axis].lo, UNKNOWN)


def _axis_at(position: int) -> Callable[[Flow, Node], int | None]:
    def find(flow: Flow, node: Node) -> int | None:
        known = flow.known(node.inputs[position]) if position < len(node.inputs) else None
        return axis_size(flow, node, int(known.reshape(-1)[0]) if known is not None and known.size else 0)

    return find


def _axis_of_attribute(flow: Flow, node: Node) -> int | None:
    return axis_size(flow, node, int(getattr(node.op, "axis", 0)))


def _rows(flow: Flow, node: Node) -> int | None:
    return axis_size(flow, node, 0)


def _leading(flow: Flow, node: Node) -> int | None:
    """The least size of the axes that index tuples refer to."""
    sizes, indices = sizes_of(flow, node.inputs[0]), sizes_of(flow, node.inputs[1])
    first = int(getattr(node.op, "batch_dims", 0))
    return min(sizes[first : first + indices[-1]], default=None) if indices else None


def _classes(flow: Flow, node: Node) -> int | None:
    size = axis_size(flow, node, 2)
    return None if size is None else max(size - 1, 1)


def _depth(flow: Flow, node: Node) -> int | None:
    known = flow.known(node.inputs[1])
    return int(known.reshape(-1)[0]) if known is not None and known.size else 10


_LIMITS: dict[tuple[str, str], Callable[[Flow, Node], int | None]] = {
    ("Gather", "indices"): _axis_at(2),
    ("GatherElements", "indices"): _axis_of_attribute,
    ("GatherND", "indices"): _leading,
    ("GatherTree", "parent_ids"): lambda flow, node: axis_size(flow, node, 2),
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
"""The ports with indices, and functions that find their limits."""
