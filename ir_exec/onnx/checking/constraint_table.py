"""The constraints of ONNX's operators, by name: requirements that onnxruntime or ONNX's inference enforces.

Element types, numbers of inputs and outputs, and inputs of equal types are part of ONNX's own definitions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, IRError, ShapeError
from ir_exec.onnx.checking.constraints import (
    Constraint,
    NodeFacts,
    at_least,
    between,
    each_at_least,
    elements,
    exactly_one,
    expected,
    from_opset,
    indices_within,
    least_rank,
    length,
    one_of,
    permutation,
    positive,
    rank,
    same_rank,
    same_shape,
    same_size,
    scalars,
    together,
    until_opset,
    vectors,
    when_computed,
    zero_point,
)

__all__ = ["CONSTRAINTS"]


def _mod(facts: NodeFacts) -> IRError | None:
    """Floats have only the remainder of C."""
    data = facts.tensor("A")
    if data is None or not data.element_type.is_float or facts.attributes.get("fmod", 0):
        return None
    return InvalidAttributeError(
        "fmod is", actual=0, expected=1, reason=f" for {data.element_type}", code=Code.invalid_attribute
    )


def _inner(facts: NodeFacts) -> IRError | None:
    """The columns of A match the rows of B, after the transposition by transA and transB."""
    columns, rows = (0 if facts.attributes.get("transA") else 1), (1 if facts.attributes.get("transB") else 0)
    return same_size("B", rows, "A", columns)(facts)


def _updates(facts: NodeFacts) -> IRError | None:
    """The shape of updates of ScatterND is indices.shape[:-1] followed by data.shape[indices.shape[-1]:]."""
    data, indices, width = facts.rank("data"), facts.rank("indices"), facts.size("indices", -1)
    if data is None or indices is None or width is None:
        return None
    if width > data:
        return ShapeError(
            "the last axis of indices has size",
            actual=width,
            expected=f"at most {data}",
            reason="the rank of data",
            code=Code.dims_differ,
            port="indices",
        )
    return rank("updates", data + indices - width - 1)(facts)


def _pads_within_dims(facts: NodeFacts) -> IRError | None:
    """No axis of the data becomes smaller than 0 by negative pads."""
    pads, rank = _numbers(facts, "pads"), facts.rank("data")
    if pads is None or rank is None:
        return None
    axes = _numbers(facts, "axes") if facts.inputs.get("axes") is not None else tuple(range(rank))
    if axes is None or len(pads) != 2 * len(axes):
        return None
    for axis, begin, end in zip(axes, pads, pads[len(axes) :], strict=False):
        size = facts.size("data", axis)
        if size is not None and size + begin + end < 0:
            message = f"the pads {begin} and {end} remove more than the {size} elements of axis {axis} of data"
            return ShapeError(message, code=Code.impossible_shape, port="pads" if "pads" in facts.inputs else None)
    return None


def _numbers(facts: NodeFacts, name: str) -> tuple[int, ...] | None:
    """The integers of an attribute or of a constant input; None if they are unknown."""
    if name in facts.attributes:
        values = facts.attributes[name]
        return tuple(values) if isinstance(values, list) else None
    constant = facts.constant(name)
    return None if constant is None else tuple(constant.ravel().tolist())


def _gather_nd_indices(facts: NodeFacts) -> IRError | None:
    """An index of GatherND has at most as many elements as the data has axes after the batch axes."""
    data, width, batch = facts.rank("data"), facts.size("indices", -1), facts.attributes.get("batch_dims", 0)
    if data is None or width is None or batch + width <= data:
        return None
    return ShapeError(
        "the last axis of indices has size",
        actual=width,
        expected=f"at most {data - batch}",
        reason="the axes of data",
        code=Code.dims_differ,
        port="indices",
    )


def _roi(facts: NodeFacts) -> IRError | None:
    if facts.attributes.get("coordinate_transformation_mode") != "tf_crop_and_resize" or facts.has("roi"):
        return None
    return GraphError(
        "roi is",
        actual="empty",
        expected="a begin and an end for each axis",
        reason=": coordinate_transformation_mode is tf_crop_and_resize",
        code=Code.wrong_number_of_inputs,
        port="roi",
    )


_LETTERS = re.compile(r"[A-Za-z]")


def _equation(facts: NodeFacts) -> IRError | None:
    """Each term of an Einsum has a letter for each axis of its input; an ellipsis matches any further axes."""
    equation = facts.attributes.get("equation")
    if not isinstance(equation, str):
        return None
    left, _, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(facts.inputs):
        return InvalidAttributeError(
            "equation has",
            actual=len(terms),
            detail="terms",
            expected=len(facts.inputs),
            reason="one for each input",
            code=Code.invalid_attribute,
        )
    for term, name in zip(terms, facts.inputs, strict=True):
        input_rank, letters = facts.rank(name), len(_LETTERS.findall(term))
        if input_rank is not None and (input_rank < letters if "..." in term else input_rank != letters):
            expected = f"rank {letters}" + (" or more" if "..." in term else "")
            return ShapeError(
                f"{name} has shape",
                actual=facts.shown(name),
                expected=expected,
                reason=f": its term is {term!r}",
                code=Code.wrong_rank,
                port=name,
            )
    if "..." in right and "..." not in left:
        return InvalidAttributeError(
            "the output of equation has an ellipsis",
            expected="one in the term of an input, too",
            code=Code.invalid_attribute,
        )
    return None


def _parts(facts: NodeFacts) -> IRError | None:
    count = facts.attributes.get("num_outputs")
    if count is None or count == facts.outputs:
        return None
    return InvalidAttributeError(
        "num_outputs is",
        actual=count,
        expected=facts.outputs,
        reason="the number of outputs of the node",
        code=Code.invalid_attribute,
    )


def _spectrum(facts: NodeFacts) -> IRError | None:
    """The last axis of the input has real parts only, or real and imaginary parts."""
    size, shown = facts.size("input", -1), facts.shown("input")
    if size in (None, 1, 2):
        return None
    return ShapeError(
        "the last axis of input has size",
        actual=size,
        expected="1 or 2",
        reason=f": input has shape {shown}",
        code=Code.dims_differ,
        port="input",
    )


def _square(facts: NodeFacts) -> IRError | None:
    return same_size("X", -1, "X", -2)(facts)


def _distinct(name: str) -> Constraint:
    """An attribute lists no axis twice."""

    def check(facts: NodeFacts) -> IRError | None:
        axes = facts.attributes.get(name) or ()
        if len(set(axes)) == len(axes):
            return None
        return InvalidAttributeError(
            f"{name} is", actual=list(axes), expected="no axis twice", code=Code.invalid_attribute
        )

    return check


_AUTO_PAD = one_of("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "")


def _window(data: str, *others: Constraint) -> list[Constraint]:
    """The constraints of a window over the axes of data after the first two."""
    return [
        _AUTO_PAD,
        positive("kernel_shape", "strides", "dilations", "group"),
        least_rank(data, 3),
        *(length(name, data, less=2) for name in ("kernel_shape", "strides", "dilations")),
        length("pads", data, less=2, times=2),
        at_least("pads", 0),
        *others,
    ]


def _recurrent(gates: int) -> list[Constraint]:
    return [
        one_of("direction", "forward", "reverse", "bidirectional"),
        one_of("layout", 0, 1),
        positive("hidden_size"),
        *(rank(name, 3) for name in ("X", "W", "R", "initial_h", "initial_c")),
        *(rank(name, 2) for name in ("B", "P")),
        rank("sequence_lens", 1),
        same_size("W", 2, "X", 2),
        same_size("R", 0, "W", 0),
        same_size("B", 0, "W", 0),
    ]


_RESIZE_MODES = one_of("mode", "nearest", "linear", "cubic")
_REDUCED = one_of("reduction", "none", "sum", "mean")
_OF_FLOATS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)

_REDUCTIONS = [
    f"Reduce{name}" for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
]

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = MappingProxyType(
    {
        "AffineGrid": [rank("theta", 3), rank("size", 1), one_of("align_corners", 0, 1)],
        "Attention": [
            *(rank(name, 3, 4) for name in ("Q", "K", "V")),
            same_rank("K", "Q"),
            same_rank("V", "Q"),
            rank("past_key", 4),
            rank("past_value", 4),
            together("past_key", "past_value"),
            rank("nonpad_kv_seqlen", 1),
            one_of("is_causal", 0, 1),
            one_of("qk_matmul_output_mode", 0, 1, 2, 3),
        ],
        "AveragePool": _window("X"),
        "BatchNormalization": [
            *(from_opset(9, rank(name, 1)) for name in ("scale", "B", "mean", "var", "input_mean", "input_var")),
        ],
        "BitShift": [one_of("direction", "LEFT", "RIGHT")],
        "CausalConvWithState": [
            rank("input", 3),
            rank("weight", 3),
            rank("bias", 1),
            rank("past_state", 3),
            same_size("weight", 0, "input", 1),
            same_size("bias", 0, "weight", 0),
            same_size("past_state", 1, "input", 1),
            one_of("activation", "none", "silu", "swish"),
        ],
        "CenterCropPad": [rank("shape", 1)],
        "BlackmanWindow": scalars("size"),
        "Clip": [elements("min", 1), elements("max", 1)],
        "Col2Im": [rank("image_shape", 1), rank("block_shape", 1), rank("input", 3)],
        "ConstantOfShape": [when_computed("input", rank("input", 1)), each_at_least("input", 0)],
        "Conv": _window("X", same_rank("W", "X"), rank("B", 1), same_size("B", 0, "W", 0)),
        "ConvInteger": _window("x", same_rank("w", "x")),
        "ConvTranspose": _window(
            "X",
            same_rank("W", "X"),
            rank("B", 1),
            at_least("output_padding", 0),
            length("output_padding", "X", less=2),
            length("output_shape", "X", less=2),
        ),
        "CumSum": [one_of("exclusive", 0, 1), one_of("reverse", 0, 1), elements("axis", 1)],
        "CumProd": [
            one_of("exclusive", 0, 1),
            one_of("reverse", 0, 1),
            elements("axis", 1),
            expected(rank("axis", 0, 1)),
        ],
        "DeformConv": [
            positive("kernel_shape", "strides", "dilations", "group", "offset_group"),
            at_least("pads", 0),
            same_rank("W", "X"),
            same_rank("offset", "X"),
            same_rank("mask", "X"),
            rank("B", 1),
        ],
        "DFT": [
            least_rank("input", 2),
            *(elements(name, 1) for name in ("dft_length", "axis")),
            each_at_least("dft_length", 1),
            one_of("inverse", 0, 1),
            one_of("onesided", 0, 1),
            _spectrum,
            *scalars("dft_length", "axis"),
        ],
        "DepthToSpace": [positive("blocksize"), one_of("mode", "DCR", "CRD"), rank("input", 4)],
        "DequantizeLinear": [
            zero_point("x_zero_point", "x_scale"),
            until_opset(20, rank("x_scale", 0, 1)),
            until_opset(12, elements("x_scale", 1)),
            at_least("block_size", 0),
        ],
        "Det": [least_rank("X", 2), _square],
        "Dropout": [rank("ratio", 0), rank("training_mode", 0)],
        "Einsum": [_equation],
        "Expand": [when_computed("shape", rank("shape", 1))],
        "EyeLike": [rank("input", 2)],
        "Gather": [indices_within("indices", "data", axis="axis"), least_rank("data", 1)],
        "GatherElements": [
            same_rank("indices", "data"),
            least_rank("data", 1),
            indices_within("indices", "data", axis="axis"),
        ],
        "GatherND": [
            least_rank("indices", 1),
            least_rank("data", 1),
            _gather_nd_indices,
            indices_within("indices", "data"),
        ],
        "Gelu": [one_of("approximate", "none", "tanh")],
        "Gemm": [
            rank("A", 2),
            rank("B", 2),
            rank("C", 0, 1, 2),
            _inner,
        ],
        "GlobalAveragePool": [least_rank("X", 3)],
        "GlobalLpPool": [least_rank("X", 3)],
        "GlobalMaxPool": [least_rank("X", 3)],
        "GridSample": [
            one_of("mode", "linear", "nearest", "cubic", "bilinear", "bicubic"),
            one_of("padding_mode", "zeros", "border", "reflection"),
            one_of("align_corners", 0, 1),
            same_rank("grid", "X"),
        ],
        "GroupNormalization": [positive("num_groups")],
        "GRU": _recurrent(3),
        "HammingWindow": scalars("size"),
        "HannWindow": scalars("size"),
        "If": [elements("cond", 1)],
        "InstanceNormalization": [rank("scale", 1), rank("B", 1), same_size("scale", 0, "input", 1)],
        "LRN": [positive("size")],
        "LinearAttention": [
            *(rank(name, 3) for name in ("query", "key", "value", "decay", "beta")),
            rank("past_state", 4),
            positive("q_num_heads", "kv_num_heads"),
            one_of("update_rule", "linear", "gated", "delta", "gated_delta"),
            same_size("key", 0, "query", 0),
            same_size("value", 0, "query", 0),
            same_size("key", 1, "query", 1),
            same_size("value", 1, "query", 1),
        ],
        "Loop": [elements("M", 1), elements("cond", 1)],
        "LpNormalization": [one_of("p", 1, 2)],
        "LpPool": _window("X"),
        "LSTM": _recurrent(4),
        "MatMul": [least_rank("A", 1), least_rank("B", 1)],
        "MatMulInteger": [least_rank("A", 1), least_rank("B", 1)],
        "MaxPool": [*_window("X"), one_of("storage_order", 0, 1)],
        "MaxRoiPool": [rank("X", 4), rank("rois", 2), positive("pooled_shape")],
        "MaxUnpool": [
            positive("kernel_shape", "strides"),
            at_least("pads", 0),
            same_shape("I", "X"),
            rank("output_shape", 1),
        ],
        "MelWeightMatrix": [
            elements(name, 1)
            for name in ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
        ],
        "Mod": [one_of("fmod", 0, 1), until_opset(27, _mod)],
        "Multinomial": [rank("input", 2), positive("sample_size")],
        "NegativeLogLikelihoodLoss": [_REDUCED, rank("weight", 1), least_rank("input", 2)],
        "NonMaxSuppression": [
            rank("boxes", 3),
            rank("scores", 3),
            one_of("center_point_box", 0, 1),
            *(elements(name, 1) for name in ("max_output_boxes_per_class", "iou_threshold", "score_threshold")),
            between("iou_threshold", 0, 1),
            same_size("boxes", 0, "scores", 0),
            same_size("boxes", 1, "scores", 2),
        ],
        "OneHot": [least_rank("indices", 1), elements("depth", 1), elements("values", 2), rank("values", 1)],
        "Pad": [
            one_of("mode", "constant", "reflect", "edge", "wrap"),
            rank("pads", 1, 2),
            _pads_within_dims,
            *vectors("axes"),
        ],
        "QLinearConv": _window(
            "x",
            same_rank("w", "x"),
            rank("B", 1),
            *(elements(name, 1) for name in ("y_scale", "y_zero_point")),
            *(expected(elements(name, 1)) for name in ("x_scale", "x_zero_point")),
        ),
        "QLinearMatMul": [elements("y_scale", 1), elements("y_zero_point", 1)],
        "QuantizeLinear": [
            zero_point("y_zero_point", "y_scale"),
            until_opset(20, rank("y_scale", 0, 1)),
            until_opset(12, elements("y_scale", 1)),
            at_least("block_size", 0),
        ],
        "Range": [
            *(elements(name, 1) for name in ("start", "limit", "delta")),
            *scalars("start", "limit", "delta"),
        ],
        **dict.fromkeys(_REDUCTIONS, vectors("axes")),
        "Reshape": [from_opset(5, rank("shape", 1)), each_at_least("shape", -1)],
        "Resize": [
            _RESIZE_MODES,
            one_of("coordinate_transformation_mode", *_OF_FLOATS),
            one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            one_of("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller"),
            from_opset(11, exactly_one("scales", "sizes"), _roi),
            when_computed("sizes", rank("sizes", 1)),
        ],
        "ReverseSequence": [
            one_of("batch_axis", 0, 1),
            one_of("time_axis", 0, 1),
            least_rank("input", 2),
            rank("sequence_lens", 1),
        ],
        "RNN": _recurrent(1),
        "RoiAlign": [
            one_of("mode", "avg", "max"),
            one_of("coordinate_transformation_mode", "half_pixel", "output_half_pixel"),
            rank("X", 4),
            rank("rois", 2),
            rank("batch_indices", 1),
            same_size("batch_indices", 0, "rois", 0),
            positive("output_height", "output_width"),
            at_least("sampling_ratio", 0),
        ],
        "RotaryEmbedding": [
            rank("X", 3, 4),
            rank("cos_cache", 2, 3),
            same_shape("sin_cache", "cos_cache"),
            rank("position_ids", 2),
            one_of("interleaved", 0, 1),
            at_least("rotary_embedding_dim", 0),
        ],
        "Scan": [
            *(one_of(name, 0, 1) for name in ("directions", "scan_input_directions", "scan_output_directions")),
            positive("num_scan_inputs"),
        ],
        "ScatterElements": [
            same_rank("indices", "data"),
            same_shape("updates", "indices"),
            indices_within("indices", "data", axis="axis"),
        ],
        "Scatter": [
            same_rank("indices", "data"),
            same_shape("updates", "indices"),
            indices_within("indices", "data", axis="axis"),
        ],
        "ScatterND": [
            least_rank("data", 1),
            least_rank("indices", 1),
            _updates,
            indices_within("indices", "data"),
        ],
        "SoftmaxCrossEntropyLoss": [_REDUCED, rank("weights", 1)],
        "SpaceToDepth": [positive("blocksize"), rank("input", 4)],
        "Split": [from_opset(18, exactly_one("split", "num_outputs"), positive("num_outputs"), _parts)],
        "Squeeze": vectors("axes"),
        "STFT": [
            rank("signal", 2, 3),
            *(elements(name, 1) for name in ("frame_step", "frame_length")),
            *(each_at_least(name, 1) for name in ("frame_step", "frame_length")),
            one_of("onesided", 0, 1),
        ],
        "TensorScatter": [one_of("mode", "linear", "circular"), rank("write_indices", 1)],
        "Tile": [from_opset(6, rank("repeats", 1), length("repeats", "input"))],
        "TopK": [
            one_of("largest", 0, 1),
            one_of("sorted", 0, 1),
            positive("k"),
            elements("K", 1),
            each_at_least("K", 0),
            *vectors("K"),
        ],
        "Transpose": [permutation("perm", "data")],
        "Trilu": [least_rank("input", 2), elements("k", 1), expected(rank("k", 0, 1))],
        "Unsqueeze": [_distinct("axes")],
        "Upsample": [
            one_of("mode", "nearest", "linear", "bilinear"),
            each_at_least("scales", 1),
            at_least("scales", 1),
        ],
    }
)
"""Ordered by priority: the first violated constraint is reported."""
