"""Constraints of onnxruntime's own operators on their inputs, from its documentation."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

from ir_exec import check_model
from tests.onnx.files import model

X = "float[1,2,8] x"
ATTENTION = f"{X}, float[8,24] w, float[24] b, float[2,1,2,3,4] p"
EMBEDDED = "int32[1,2] i, float[9,8] w, float[4,8] p, float[8] g"

ROWS: list[tuple[str, str, str, str, str | None]] = [
    (ATTENTION, "y = Attention<num_heads = 2>(x, w, b, , p)", "IR106", "Attention", "past"),
    (ATTENTION, "y = Attention<num_heads = 0>(x, w, b)", "IR302", "Attention", None),
    (f"{X}, float[7,24] w, float[24] b", "y = Attention<num_heads = 2>(x, w, b)", "IR502", "Attention", "weights"),
    (f"{X}, float16[24] b, float[8,24] w", "y = Attention<num_heads = 2>(x, w, b)", "IR402", "Attention", "bias"),
    (
        f"{X}, float[1,2,2,4] k",
        "y = MultiHeadAttention<num_heads = 2>(x, x, x, , , , k)",
        "IR106",
        "MultiHeadAttention",
        "past_value",
    ),
    (
        f"{X}, int32[2,2,2,2] m",
        "y = MultiHeadAttention<num_heads = 2>(x, x, x, , m)",
        "IR501",
        "MultiHeadAttention",
        "key_padding_mask",
    ),
    (f"{X}, float[8,1] g", "y = SkipLayerNormalization(x, x, g)", "IR501", "SkipLayerNormalization", "gamma"),
    (f"{X}, float[7] g", "y = SkipLayerNormalization(x, x, g)", "IR502", "SkipLayerNormalization", "gamma"),
    ("float[1,2,2,8] x, float[8] g", "y = SkipLayerNormalization(x, x, g)", "IR501", "SkipLayerNormalization", "input"),
    (f"{X}, float[1] b", "y = BiasGelu(x, b)", "IR502", "BiasGelu", "B"),
    (f"{X}, float[2,8] b", "y = FastGelu(x, b)", "IR501", "FastGelu", "bias"),
    (
        EMBEDDED,
        "y, z = EmbedLayerNormalization(i, i, w, p, , g, g)",
        "IR106",
        "EmbedLayerNormalization",
        "segment_embedding",
    ),
    ("float[2,3] a, float[2,4] b", "y = CDist(a, b)", "IR502", "CDist", "B"),
    (
        "float[1,3,5] x, float[3,1,2] w",
        'y, z = CausalConvWithState<activation = "relu">(x, w)',
        "IR302",
        "CausalConvWithState",
        None,
    ),
    (
        "float[1,4,4,2] x, float[2,1] g",
        "y = GroupNorm<activation = 0, groups = 1>(x, g, g)",
        "IR501",
        "GroupNorm",
        "gamma",
    ),
    ("float[3,4] x, float[3,2] r, float[2,4,4] w, float[3,4,4] v", "y = MoE(x, r, w, , v)", "IR502", "MoE", None),
    ("float[2,3,4] x", "y = Inverse(x)", "IR502", "Inverse", "X"),
    (f"{X}, float[8,3] w", "y, z = FusedMatMul(x, w)", "IR114", "FusedMatMul", None),
]


def text(row: tuple[str, ...]) -> str:
    inputs, node = row[:2]
    return f"g ({inputs}) => (y) {{ {node.replace('= ', '= com.microsoft.', 1)} }}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[3]}-{row[2]}-{row[4]}")
def test_a_violation_is_one_error_at_the_node(row: tuple[Any, ...]) -> None:
    _, _, code, operator, port = row
    proto = model(text(row), further='"com.microsoft" : 1')
    diagnostics = [
        diagnostic for diagnostic in check_model(proto.SerializeToString()).diagnostics if diagnostic.severity != "info"
    ]
    assert [(diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) for diagnostic in diagnostics] == [
        (code, "error", operator)
    ]
    assert port is None or diagnostics[0].location.port == port


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[3]}-{row[2]}-{row[4]}")
def test_onnxruntime_refuses_the_same(row: tuple[Any, ...]) -> None:
    proto = model(text(row), further='"com.microsoft" : 1')
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    kinds = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int32)": np.int32}
    with pytest.raises(Exception):  # noqa: B017  # of many kinds
        _run(proto.SerializeToString(), options, kinds)


def _run(stored: bytes, options: Any, kinds: dict[str, Any]) -> None:
    session = onnxruntime.InferenceSession(stored, options, providers=["CPUExecutionProvider"])
    session.run(None, {input.name: np.zeros(input.shape, kinds[input.type]) for input in session.get_inputs()})


def test_element_type_unsupported_by_operator_is_a_warning() -> None:
    body = "g (float[1,2,8] x) => (y) { h = Cast<to = 11>(x) y = com.microsoft.SkipLayerNormalization(h, h, g) }"
    proto = model(body.replace("x) =>", "x, double[8] g) =>"), further='"com.microsoft" : 1')
    diagnostics = [
        diagnostic for diagnostic in check_model(proto.SerializeToString()).diagnostics if diagnostic.severity != "info"
    ]
    assert [(diagnostic.code, diagnostic.severity, diagnostic.location.port) for diagnostic in diagnostics] == [
        ("IR401", "warning", "input")
    ]
