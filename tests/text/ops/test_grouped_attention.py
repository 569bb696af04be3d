"""GroupQueryAttention: files that OpenVINO writes of an ONNX model, and does not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText, Output
from tests.text.openvino import OpenVINO, Refused

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

HEADS, SHARED, CHANNELS = 4, 2, 16


def inputs(
    *, batch: int = 1, tokens: int = 3, past: int = 4, rotary: bool = False, dtype: Any = np.float32, used: int = -1
) -> dict[str, Array]:
    """The inputs of the operator of ONNX; `used` of the past keys are valid."""
    draw = np.random.default_rng(batch + tokens + past)
    sizes = {"query": HEADS, "key": SHARED, "value": SHARED}
    arrays = {name: draw.normal(size=(batch, tokens, heads * CHANNELS)).astype(dtype) for name, heads in sizes.items()}
    for name in ("past_key", "past_value"):
        arrays[name] = draw.normal(size=(batch, SHARED, past, CHANNELS)).astype(dtype)
    total = (past if used < 0 else used) + tokens
    arrays["seqlens_k"] = np.full(batch, total - 1, np.int32)
    arrays["total_sequence_length"] = np.array([total], np.int32)
    if rotary:
        angles = np.outer(np.arange(32), 10.0 ** -np.linspace(0, 1, CHANNELS // 2))
        arrays |= {"cos_cache": np.cos(angles).astype(dtype), "sin_cache": np.sin(angles).astype(dtype)}
    return arrays


def write(path: Path, arrays: dict[str, Array], *, is_static: bool = False, **attributes: Any) -> Path:
    """An ONNX file of the operator alone."""
    names = ["query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length"]
    optional = ["cos_cache", "sin_cache", "position_ids", "attention_bias", "head_sink"]
    while optional and optional[-1] not in arrays:
        optional.pop()
    read = [*names, *[name if name in arrays else "" for name in optional]]
    values = []
    for name, array in arrays.items():
        shape: list[Any] = list(array.shape)
        if not is_static and name in names[:5]:
            shape[0], shape[-2] = f"{name}_batch", f"{name}_tokens"
        onnx_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        values.append(onnx.helper.make_tensor_value_info(name, onnx_type, shape))
    onnx_type = onnx.helper.np_dtype_to_tensor_dtype(arrays["query"].dtype)
    results = [onnx.helper.make_tensor_value_info(name, onnx_type, None) for name in ("output", "keys", "values")]
    node = onnx.helper.make_node(
        "GroupQueryAttention",
        read,
        ["output", "keys", "values"],
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=SHARED,
        do_rotary=int("cos_cache" in arrays),
        **attributes,
    )
    graph = onnx.helper.make_graph([node], "net", values, results)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def of_onnxruntime(path: Path, arrays: dict[str, Array]) -> list[Array]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return list(session.run(None, arrays))


SINK = np.array([0.5, -1, 2, 0], np.float32)
BIAS = np.random.default_rng(7).normal(size=(1, HEADS, 3, 7)).astype(np.float32)

ROWS: list[tuple[dict[str, Any], dict[str, Array], dict[str, Any]]] = [
    ({}, {}, {}),
    ({"rotary": True}, {}, {}),
    ({"rotary": True}, {}, {"rotary_interleaved": 1}),
    ({"rotary": True}, {"position_ids": np.array([[9, 3, 11]], np.int64)}, {}),
    ({"rotary": True, "tokens": 1}, {}, {}),
    ({"rotary": True, "past": 0, "tokens": 5}, {}, {}),
    ({"rotary": True, "past": 8, "used": 3}, {}, {"is_static": True}),
    ({"dtype": np.float16}, {}, {}),
    ({}, {}, {"local_window_size": 2}),
    ({}, {}, {"scale": 0.3}),
    ({}, {}, {"smooth_softmax": 1}),
    ({}, {}, {"causal": 0}),
    ({}, {"head_sink": SINK}, {}),
    ({}, {"attention_bias": BIAS}, {}),
]


@pytest.mark.parametrize(("sizes", "more", "attributes"), ROWS)
def test_a_file_that_openvino_writes(
    sizes: dict[str, Any], more: dict[str, Array], attributes: dict[str, Any], openvino: OpenVINO, tmp_path: Path
) -> None:
    arrays = inputs(**sizes) | more
    path = write(tmp_path / "net.onnx", arrays, **attributes)
    openvino.save(path, tmp_path / "saved.xml")
    with pytest.raises(Refused):
        openvino.run(tmp_path / "saved.xml", list(arrays.values()))
    report = ir_exec.check_model(tmp_path / "saved.xml")
    assert {(diagnostic.code, diagnostic.severity) for diagnostic in report.diagnostics} >= {
        ("IR304", "warning"),
        ("IR902", "info"),
    }
    assert report.ok
    ours = list(ir_exec.compile_model(ir_exec.read_model(tmp_path / "saved.xml"))(arrays).values())
    tolerance = 2e-3 if sizes.get("dtype") is np.float16 else 2e-6
    for actual, expected in zip(ours, openvino.run(path, list(arrays.values())), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)
    # onnxruntime leaves what it likes where the cache is not used.
    used = int(arrays["total_sequence_length"][0])
    for actual, expected in zip(ours, of_onnxruntime(path, arrays), strict=True):
        np.testing.assert_allclose(actual[:, :, :used], expected[:, :, :used], rtol=0, atol=tolerance)


def layer(net: NetworkText, arrays: dict[str, Array], *, missing: str = "0", **attributes: object) -> list[Output]:
    """The operator as `extension` has it: heads are an axis, and missing inputs are constants without a type."""
    values = []
    for name, array in arrays.items():
        shape = array.shape
        if name in ("query", "key", "value"):
            shape = (shape[0], shape[2] // CHANNELS, shape[1], CHANNELS)
        values.append(net.parameter(",".join(map(str, shape)), "f32" if array.dtype == np.float32 else "i32"))
    nothing = {"element_type": "dynamic", "shape": missing, "offset": "0", "size": "1"}
    net.weights += b"\0"
    values += [net.outputs(1, "Const", **nothing)[0] for _ in range(16 - len(arrays))]
    counts = {"num_heads": HEADS, "kv_num_heads": SHARED, "scale": 0, "do_rotary": "cos_cache" in arrays}
    outputs = net.outputs(3, "GroupQueryAttention", *values, opset="extension", **counts, **attributes)
    for output in outputs:
        net.result(output)
    return list(outputs)


def check(net: NetworkText) -> ir_exec.Report:
    file = net.file()
    return ir_exec.check_model(file.xml, weights=file.weights)


@pytest.mark.parametrize(("tokens", "past", "used"), [(1, 4, (5, 3)), (3, 0, (3, 2))])
def test_batch_matches_onnxruntime(tokens: int, past: int, used: tuple[int, int], tmp_path: Path) -> None:
    case_arrays = inputs(batch=2, rotary=True, tokens=tokens, past=past)
    case_arrays["seqlens_k"] = np.array(used, np.int32) - 1
    net = NetworkText()
    layer(net, case_arrays)
    file = net.file()
    split = {
        name: case_arrays[name].reshape(2, tokens, -1, CHANNELS).swapaxes(1, 2) for name in ("query", "key", "value")
    }
    arrays = list((case_arrays | split).values())
    ours = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))(arrays).values()
    theirs = of_onnxruntime(write(tmp_path / "net.onnx", case_arrays, is_static=True), case_arrays)
    for position, (actual, expected) in enumerate(zip(ours, theirs, strict=True)):
        for entry, count in enumerate(used):
            where = (entry, slice(None), slice(count)) if position else (entry, slice(min(tokens, count)))
            np.testing.assert_allclose(actual[where], expected[where], rtol=0, atol=2e-6)


def test_constants_without_a_type_have_no_elements() -> None:
    net = NetworkText()
    layer(net, inputs(), missing="1")
    assert {(error.code, error.severity) for error in check(net).errors} == {("IR304", "error")}


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"sliding_window_cache": "true", "local_window_size": 2}, "IR900"),
        ({"kv_cache_bit_width": 8, "k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR"}, "IR900"),
        ({"local_window_size": 0}, "IR302"),
    ],
)
def test_unsupported_forms(attributes: dict[str, object], code: str) -> None:
    net = NetworkText()
    layer(net, inputs(), **attributes)
    assert code in [diagnostic.code for diagnostic in check(net).diagnostics]


def test_sizes_that_differ() -> None:
    arrays = inputs()
    arrays["past_value"] = arrays["past_value"][:, :, :2]
    net = NetworkText()
    layer(net, arrays)
    assert [error.code for error in check(net).errors] == ["IR502"]
