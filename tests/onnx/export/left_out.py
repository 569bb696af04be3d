"""Rows of the operator tables that fail in ONNX, by the operator's class, with the reason.

REFUSED: what the reason of a refusal holds. WRONG: what the answer of an engine holds where it computes something
else, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "NOT_READ_AGAIN",
    "NOT_READ_BY_OPENVINO",
    "NOT_WRITTEN_AGAIN",
    "REFUSED",
    "ROWS_NOT_READ_BY_OPENVINO",
    "WRONG",
]

_UNKNOWN = ("not known", "is unknown", "only at run time")
_NO_TYPE = ("has no element type",)
_NO_BYTES = ("between strings and bytes",)
_OUT_OF_RANGE = ("out of data bounds", "invalid index found")

REFUSED: Mapping[str, tuple[str, ...]] = {
    # Axes, orders and numbers of axes known only at run time: ONNX has them as attributes, or as the rank of a tensor.
    **dict.fromkeys(
        [
            *("Roll", "Transpose", "Split", "VariadicSplit", "StridedSlice", "Tile"),
            *("Gather1", "Gather7", "Gather8", "ScatterUpdate", "ScatterElementsUpdate3", "ScatterElementsUpdate12"),
            *("Interpolate4", "Interpolate11", "Broadcast", "Broadcast1", "Multinomial"),
            *("DFT", "IDFT", "RDFT", "IRDFT"),
        ],
        _UNKNOWN,
    ),
    "GroupConvolution": _UNKNOWN,
    "GroupConvolutionBackpropData": _UNKNOWN,
    # The opset that is written by default is older than some element types.
    "Eye": _NO_TYPE,
    "Convert": _NO_TYPE,
    # No kernel of onnxruntime, and no definition of ONNX, reduces all of u64.
    "ReduceMax": ("u64",),
    "ReduceMin": ("u64",),
    "StringTensorPack": _NO_BYTES,
    "StringTensorUnpack": _NO_BYTES,
}

WRONG: Mapping[str, tuple[str, ...]] = {
    # An index out of range is an error in ONNX, where the specification of Gather-8 has zeros.
    "Gather8": _OUT_OF_RANGE,
    # onnxruntime reads places that are not numbers as outside of the image.
    "GridSample": ("expected nan",),
    # Rows of one sample, or none; onnxruntime refuses both.
    "Multinomial": ("num_samples is < 1", "batch_size is < 1"),
    # onnxruntime wraps other than IR, or keeps NaN where IR drops it, in reductions of integers and of NaN.
    **dict.fromkeys(["ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"], ("output 0:",)),
    **dict.fromkeys(["ScatterElementsUpdate12", "ScatterNDUpdate15"], ("output 0:", "invalid index", "updates")),
    "ScatterNDUpdate4": ("ScatterND",),
    "Unique": ("output 0: shape",),
    # Empty tensors, of which onnx's shape inference thinks otherwise.
    "SegmentMax": ("Inferred shape and existing shape differ", "output 0: shape"),
    "RDFT": ("output 0: shape [0,",),
    "Reshape": ("Reshape",),
    "Squeeze": ("Squeeze",),
    # onnxruntime has no Pad of strings.
    "Pad": ("Could not find an implementation for Pad", "Inferred shape and", "while running Pad"),
    "SpaceToBatch": ("output 0:",),
    # Casts of what the target cannot hold.
    "Convert": ("output 0:",),
    # Broadcasting that ONNX's PRelu has only where ranks and sizes are known.
    "PReLU": ("PRelu",),
}

NOT_WRITTEN_AGAIN: frozenset[str] = frozenset()
"""Cases of the official suite that onnxruntime runs, and that are not written again."""

NOT_READ_AGAIN: tuple[str, ...] = (
    # ONNX has inputs where IR has attributes or ranks.
    "must be known at conversion",
    # Means of no integers, and axes that are named twice: errors in the operators of which the composition consists.
    "an integer is divided by zero",
    "expected distinct axes",
    # The reader supports no dots in the output of an equation whose inputs have none.
    "Einsum",
)
"""Reasons for which ir_exec does not read, or run, what it wrote."""

NOT_READ_BY_OPENVINO: Mapping[str, str] = {}
"""Networks whose ONNX file OpenVINO does not run, with the reason."""

ROWS_NOT_READ_BY_OPENVINO: Mapping[str, str] = {
    **dict.fromkeys(["DetectionOutput", "MatrixNms", "MulticlassNms"], "its TopK is not stable"),
    "BitwiseLeftShift": "it shifts by more bits than the type has",
    "RandomUniform": "it has another generator",
    **dict.fromkeys(["GatherElements", "GatherND", "IsFinite", "IsNaN", "Reverse"], "inputs that are not contiguous"),
}
"""Operators with rows whose ONNX file OpenVINO runs with other values, or not at all, with the reason."""
