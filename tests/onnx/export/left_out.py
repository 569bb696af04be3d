"""Rows of the operator tables that do not come out in ONNX, by the operator's class, with the reason.

REFUSED: what the reason of a refusal holds. WRONG: what the id of a row holds that ONNX's engines compute otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NOT_READ_BY_OPENVINO", "NOT_WRITTEN_AGAIN", "REFUSED", "WRONG"]

_UNKNOWN_AXES = ("is not known before a run", "are not known before a run")

_NO_TYPE = ("of ONNX has no element type",)

REFUSED: Mapping[str, tuple[str, ...]] = {
    # Values that decide what is computed along which axis, and that only the run gives.
    "Broadcast": (*_UNKNOWN_AXES, "rank of target_shape"),
    "Broadcast1": (*_UNKNOWN_AXES, "rank of target_shape"),
    "Gather1": _UNKNOWN_AXES,
    "Gather7": _UNKNOWN_AXES,
    "Gather8": _UNKNOWN_AXES,
    "Multinomial": _UNKNOWN_AXES,
    "Roll": _UNKNOWN_AXES,
    "ScatterElementsUpdate12": _UNKNOWN_AXES,
    "ScatterUpdate": _UNKNOWN_AXES,
    "Split": _UNKNOWN_AXES,
    "StridedSlice": _UNKNOWN_AXES,
    "Tile": _UNKNOWN_AXES,
    "Transpose": _UNKNOWN_AXES,
    "VariadicSplit": _UNKNOWN_AXES,
    # Opset 21 has no f4e2m1 and no f8e8m0 that numbers could be converted to.
    "Convert": _NO_TYPE,
    "Eye": _NO_TYPE,
    # ReduceMax and ReduceMin of onnxruntime take no u64.
    "ReduceMax": ("u64",),
    "ReduceMin": ("u64",),
    # ONNX has no operators between strings and bytes.
    "StringTensorPack": ("strings of bytes",),
    "StringTensorUnpack": ("strings of bytes",),
}

WRONG: Mapping[str, tuple[str, ...]] = {
    # onnxruntime reads places that are not numbers as outside of the image: zeros, not NaN.
    "GridSample": ("nan",),
    # Other random numbers of the same distribution.
    "Multinomial": ("Multinomial",),
    "RandomUniform": ("RandomUniform",),
    # An index out of range that only the run knows is an error in onnxruntime, and zeros in Gather-8.
    "Gather8": (
        "bf16[2] i64[2] i64[]",
        "boolean[2] i64[2] i64[]",
        "f32[0,3] i64[2]",
        "f32[2,0] i64[]",
        "f32[2,2,3,2] i64[2,2]",
        "f32[2,3,2] i64[2,2]",
        "f32[3,4] i32[5]",
        "f32[3,4] i64[2,3]",
        "f32[3,4] i64[6]",
        "f32[3,4] i64[] i64[]",
        "f32[5] i64[3]",
        "i8[3,4] i32[2,2]",
        "string[3] i64[3]",
    ),
    # onnxruntime: a NaN among updates or elements counts, or does not, other than here.
    "ReduceMax": ("where the NaN stands", "f8e5m2[2,0,1]"),
    "ReduceMin": ("where the NaN stands", "f8e5m2[2,0,1]"),
    "ScatterElementsUpdate12": ("f32[3] i64[3] f32[3] i64[] reduction=m", "u64[3,3] i64[4,3]"),
    "ScatterNDUpdate15": ("f32[3] i64[3,1] f32[3] reduction=m", "updates is one element"),
    "ScatterNDUpdate4": ("updates is one element",),
    "Unique": ("NaN",),
    # Sums and products beyond 64 bits saturate.
    "ReduceProd": ("32[2,3] i64[1]", "64[2,3] i64[1]"),
    "ReduceSum": ("64[2,3] i64[1]",),
    # Infinities of f8e5m2 and what is too large for 8-bit floats; two casts in a row become one.
    "Convert": ("f8e5m2", "f32[9] destination_type=f8e4m3", "f64[43] destination_type=u32", "u1[]"),
    # Dims that may be those of the channels or not.
    "PReLU": ("f32[2,3,4] f32[4]",),
    # Nothing is reshaped by onnxruntime to a shape with -1, nor padded below nothing; no kernel pads strings.
    "Pad": ("beyond the axis", "strings"),
    "Reshape": ("f32[0,5]", "f32[0] i64[2]"),
    "SegmentMax": ("no elements",),
    "SpaceToBatch": ("string",),
    "Squeeze": ("allow_axis_skip",),
}

NOT_WRITTEN_AGAIN: frozenset[str] = frozenset()
"""Cases of the official suite that onnxruntime runs, and that are not written again."""

NOT_READ_BY_OPENVINO: Mapping[str, str] = {}
"""Networks whose ONNX file OpenVINO does not run, with the reason."""
