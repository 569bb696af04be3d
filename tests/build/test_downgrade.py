"""Layers in older versions of their operators."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build.downgrade import downgrade_operators
from ir_exec.errors import GraphError
from ir_exec.ops.base.registry import opset_number
from tests.helpers.facts import naming


def up_to(last: int) -> Callable[[str, str], bool]:
    return lambda type_name, version: (opset_number(type_name, version) or 0) <= last


def data(shape: tuple[int, ...] = (1, 2, 6, 6)) -> build.Value:
    return build.parameter(list(shape), name="data")


def pool(function: Callable[..., Any], **options: Any) -> Any:
    sizes = {"strides": [2, 2], "pads_begin": [0, 0], "pads_end": [1, 1], "kernel": [2, 2]}
    return function(data(), **{**sizes, **options})


INDICES = np.array([[[[0, 5, 2, 1, 3, 4]]]])

BOXES = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 2, 1, 3], [2, 2, 3, 3]]], np.float32)


def interpolate(target: list[float], way: str, **options: Any) -> build.Value:
    element_type = "i64" if way == "sizes" else "f32"
    return build.interpolate(
        data(), build.constant(target, element_type), [2, 3], shape_calculation_mode=way, **options
    )


CASES: dict[str, tuple[Callable[[], build.Value], int, str]] = {
    "AvgPool without dilations": (lambda: pool(build.avg_pool, exclude_pad=True), 12, "opset1"),
    "AvgPool-14": (lambda: pool(build.avg_pool, exclude_pad=True), 15, "opset14"),
    "MaxPool": (lambda: pool(build.max_pool, rounding_type="ceil")[0], 12, "opset8"),
    "Pad": (lambda: build.pad(data(), [0, 0, 1, 2], [0, 0, 0, 3], 1.5, pad_mode="constant"), 11, "opset1"),
    "Squeeze": (lambda: build.squeeze(data(), 0), 14, "opset1"),
    "TopK": (lambda: build.topk(data(), 3, axis=2, mode="max", sort="value")[0], 10, "opset3"),
    "ScatterElementsUpdate": (
        lambda: build.scatter_elements_update(data(), INDICES, np.ones((1, 1, 1, 6), np.float32), 3),
        11,
        "opset3",
    ),
    "ScatterNDUpdate": (
        lambda: build.scatter_nd_update(data(), np.array([[0, 1]]), np.ones((1, 6, 6), np.float32)),
        14,
        "opset4",
    ),
    "Interpolate by sizes": (lambda: interpolate([9, 4], "sizes", mode="linear_onnx"), 10, "opset4"),
    "Interpolate by scales": (lambda: interpolate([1.5, 0.7], "scales", mode="cubic"), 10, "opset4"),
    "Interpolate of all axes": (
        lambda: build.interpolate(data(), np.array([1, 2, 3, 9]), mode="nearest", shape_calculation_mode="sizes"),
        8,
        "opset4",
    ),
    "NonMaxSuppression": (lambda: build.non_max_suppression(BOXES, data((1, 2, 4)), 3, 0.5, 0.0)[0], 8, "opset5"),
    "MulticlassNms": (lambda: build.multiclass_nms(BOXES, data((1, 2, 4)), iou_threshold=0.5)[0], 8, "opset8"),
    "OneHot": (lambda: build.one_hot(build.parameter([3], "i64", name="data"), 4, 1.0, 0.0, axis=1), 15, "opset1"),
}

REFUSED: dict[str, tuple[Callable[[], build.Value], int, str]] = {
    "dilations": (lambda: pool(build.avg_pool, exclude_pad=True, dilations=[2, 2]), 15, "version 14 has no dilations"),
    "ceil_torch": (lambda: pool(build.max_pool, rounding_type="ceil_torch")[0], 13, "no rounding_type 'ceil_torch'"),
    "negative pads": (
        lambda: build.pad(data(), [0, 0, -1, 0], [0, 0, 0, 0], 0.0, pad_mode="constant"),
        11,
        "pads_begin",
    ),
    "open indices": (
        lambda: build.scatter_nd_update(
            data(), build.parameter([1, 2], "i64", name="i"), np.ones((1, 6, 6), np.float32)
        ),
        14,
        "indices",
    ),
    "a reduction": (
        lambda: build.scatter_elements_update(data(), INDICES, np.ones((1, 1, 1, 6), np.float32), 3, reduction="sum"),
        11,
        "version 3 has no reduction",
    ),
    "pillow": (
        lambda: interpolate([9, 4], "sizes", mode="bilinear_pillow"),
        10,
        "version 4 has no mode 'bilinear_pillow'",
    ),
    "roisnum": (
        lambda: build.multiclass_nms(data((2, 4, 4)), np.ones((2, 4), np.float32), [4])[0],
        8,
        "version 8 has no roisnum",
    ),
    "stable": (lambda: build.topk(data(), 3, axis=2, mode="max", sort="value", stable=True)[0], 10, "has no stable"),
    "no older version": (lambda: build.is_finite(data()), 9, "version 10"),
}


@pytest.mark.parametrize("name", CASES)
def test_values_stay_the_same(name: str, tmp_path: Path) -> None:
    make, last, version = CASES[name]
    model = build.model(build.result(make(), name="y"))
    downgraded = downgrade_operators(model, up_to(last), f"opset{last}")
    type_name = name.partition(" ")[0].partition("-")[0]
    (layer,) = [layer for layer in downgraded.document.layers if layer.type == type_name]
    assert layer.version == version
    assert all(up_to(last)(layer.type, layer.version or "") for layer in downgraded.document.layers)
    port = model.inputs[0]
    values = np.random.default_rng(0).integers(-3, 4, port.shape.static).astype(port.element_type.dtype)
    expected = ir_exec.compile_model(model)([values])["y"]
    np.testing.assert_array_equal(ir_exec.compile_model(downgraded)([values])["y"], expected)
    downgraded.save(tmp_path / "model.xml")
    assert ir_exec.check_model(tmp_path / "model.xml").ok
    np.save(tmp_path / "in.npy", values)
    program = (
        "import sys, numpy, openvino; folder = sys.argv[1]\n"
        "compiled = openvino.Core().compile_model(folder + '/model.xml', 'CPU', {'INFERENCE_PRECISION_HINT': 'f32'})\n"
        "numpy.save(folder + '/out.npy', compiled([numpy.load(folder + '/in.npy')])[0])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=120)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_values_without_older_version_are_named(name: str) -> None:
    make, last, why = REFUSED[name]
    value = make()
    value.layer.name = "here"
    model = build.model(build.result(value, name="y"))
    with pytest.raises(GraphError, match=naming(f"opset{last}")) as caught:
        downgrade_operators(model, up_to(last), f"opset{last}")
    assert caught.value.code == "IR119"
    assert '"here"' in caught.value.message
    assert why in caught.value.message


def test_bodies_too() -> None:
    condition = build.parameter([], "boolean", name="condition")
    x = build.parameter([2], name="x")
    output = build.if_(condition, lambda: build.squeeze(build.unsqueeze(x, 0), 0), lambda: build.relu(x))
    model = build.model(build.result(output, name="y"))
    downgraded = downgrade_operators(model, up_to(14), "opset14")
    versions = {layer.version for layer in downgraded.document.all_layers() if layer.type == "Squeeze"}
    assert versions == {"opset1"}
    inputs = {"condition": np.array(True), "x": np.ones(2, np.float32)}
    np.testing.assert_array_equal(ir_exec.compile_model(downgraded)(inputs)["y"], inputs["x"])
