"""Resize: ties of nearest elements by exact fractions, and what scales mean."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ir_exec import compile_model, read_model
from ir_exec.onnx.ops.coordinates import KnownAxis, exact_nearest
from tests.onnx.runtime import assert_as_onnxruntime, model_of_node, node

HALF = Fraction(1, 2)

COORDINATES = {
    "half_pixel": lambda i, n, m: (i + HALF) / Fraction(m, n) - HALF,
    "half_pixel_symmetric": lambda i, n, m: (i + HALF) / Fraction(m, n) - HALF,
    "pytorch_half_pixel": lambda i, n, m: (i + HALF) / Fraction(m, n) - HALF if m > 1 else Fraction(0),
    "align_corners": lambda i, n, m: Fraction(i * (n - 1), m - 1) if m > 1 else Fraction(0),
    "asymmetric": lambda i, n, m: i / Fraction(m, n),
    "tf_half_pixel_for_nn": lambda i, n, m: (i + HALF) / Fraction(m, n),
}
"""The equations of ONNX's text, for place i of an axis resized from n to m elements."""

NEAREST = {
    "round_prefer_floor": lambda x: ceil(x - HALF),
    "round_prefer_ceil": lambda x: floor(x + HALF),
    "floor": floor,
    "ceil": ceil,
}

EVERY = [(coordinates, nearest) for coordinates in COORDINATES for nearest in NEAREST]

PAIRS = [
    (20, 6),
    (9, 31),
    (29, 25),
    (7, 1),
    (1, 5),
    (13, 26),
    (26, 13),
    (31, 29),
    (15, 10),
    (10, 15),
    (28, 20),
    (3, 32),
]


def expected(coordinates: str, nearest: str, size: int, count: int) -> list[int]:
    places = [NEAREST[nearest](COORDINATES[coordinates](i, size, count)) for i in range(count)]
    return [min(max(index, 0), size - 1) for index in places]


def resize(coordinates: str, nearest: str, size: int | None, count: int | None) -> onnx.ModelProto:
    """Of one axis; the sizes that are not given are open, and the count an input."""
    attributes = {"coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
    operator = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest", **attributes)
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n" if size is None else size])]
    stored = []
    if count is None:
        inputs.append(helper.make_tensor_value_info("sizes", onnx.TensorProto.INT64, [1]))
    else:
        stored.append(numpy_helper.from_array(np.array([count]), "sizes"))
    graph = helper.make_graph([operator], "g", inputs, [helper.make_empty_tensor_value_info("y")], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize(("coordinates", "nearest"), EVERY)
def test_ties_of_all_sizes(coordinates: str, nearest: str) -> None:
    for size in range(1, 21):
        for count in range(1, 21):
            axis = KnownAxis(size, count, Fraction(count, size))
            assert exact_nearest(coordinates, nearest, axis).tolist() == expected(coordinates, nearest, size, count)


@pytest.mark.parametrize(("coordinates", "nearest"), EVERY)
def test_ties_of_known_sizes(coordinates: str, nearest: str) -> None:
    for size, count in PAIRS:
        model = resize(coordinates, nearest, size, count)
        output = compile_model(model.SerializeToString())([np.arange(size, dtype=np.float32)])[0]
        assert output.tolist() == expected(coordinates, nearest, size, count), (size, count)


@pytest.mark.parametrize(("coordinates", "nearest"), EVERY)
def test_ties_of_runtime_sizes(coordinates: str, nearest: str) -> None:
    compiled = compile_model(resize(coordinates, nearest, None, None).SerializeToString())
    for size, count in PAIRS:
        output = compiled([np.arange(size, dtype=np.float32), np.array([count])])[0]
        assert output.tolist() == expected(coordinates, nearest, size, count), (size, count)


def test_ties_along_several_axes() -> None:
    image = np.arange(20 * 9, dtype=np.float32).reshape(1, 1, 20, 9)
    sizes = np.array([1, 1, 6, 31])
    case = node("Resize", image, None, None, sizes, opset=13, constants=(3,), nearest_mode="round_prefer_ceil")
    assert_as_onnxruntime(case)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_ties_of_a_kept_aspect_ratio(policy: str) -> None:
    image = np.arange(20 * 7, dtype=np.float32).reshape(1, 1, 20, 7)
    ratio = {"not_larger": Fraction(6, 20), "not_smaller": Fraction(3, 7)}[policy]
    rows, columns = (floor(ratio * size + HALF) for size in (20, 7))
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node(
                    "Resize",
                    ["x", "", "", "sizes"],
                    ["y"],
                    axes=[2, 3],
                    keep_aspect_ratio_policy=policy,
                    nearest_mode="round_prefer_ceil",
                )
            ],
            "g",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, image.shape)],
            [helper.make_empty_tensor_value_info("y")],
            [numpy_helper.from_array(np.array([6, 3]), "sizes")],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    output = compile_model(model.SerializeToString())([image])[0]
    chosen = [
        [min(max(floor((i + HALF) / ratio - HALF + HALF), 0), size - 1) for i in range(count)]
        for size, count in ((20, rows), (7, columns))
    ]
    assert np.array_equal(output, image[:, :, chosen[0]][:, :, :, chosen[1]])


IMAGE = np.random.default_rng(2).normal(size=(1, 1, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"])
def test_axis_of_unchanged_size_is_interpolated_by_scale(mode: str, coordinates: str) -> None:
    scales = np.array([1, 1, 1.2, 2], np.float32)
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    case = node("Resize", IMAGE, None, scales, opset=13, constants=(2,), **attributes)
    assert_as_onnxruntime(case, dynamic=True)


@pytest.mark.parametrize("coordinates", ["align_corners", "tf_crop_and_resize"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scale", [0.6, 1.3, 1.7, 2.0])
def test_resized_length_is_output_length(mode: str, coordinates: str, scale: float) -> None:
    scales = np.array([1, 1, scale, 2.3], np.float32)
    roi: Any = np.array([0, 0, 0.1, 0.2, 1, 1, 0.9, 0.7], np.float32) if coordinates == "tf_crop_and_resize" else None
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    constants = (2,) if roi is None else (1, 2)
    assert_as_onnxruntime(node("Resize", IMAGE, roi, scales, opset=13, constants=constants, **attributes), dynamic=True)


def test_forms_equal_to_interpolate_stay_one_layer() -> None:
    scales = np.array([1, 1, 2, 2], np.float32)
    for inputs, constants in (((IMAGE, None, scales), (2,)), ((IMAGE, None, None, np.array([1, 1, 8, 12])), (3,))):
        proto = model_of_node(node("Resize", *inputs, opset=13, constants=constants), dynamic=False)
        network = read_model(proto.SerializeToString())
        assert "Interpolate" in {layer.type for layer in network.document.layers}
