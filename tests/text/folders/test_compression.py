"""Group sizes and zero points of weights, from the layers that unpack them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import build
from ir_exec.text.folders.compression import packed_weights
from ir_exec.text.folders.folder import read_part
from tests.text.model_folders import language_model


def weights_of_nncf(
    shape: list[int],
    scale: list[int],
    *,
    element_type: str = "i4",
    zero_point: int | None = None,
    merged: list[int] | None = None,
    order: str = "weights first",
) -> build.Value:
    """Weights after the layers that NNCF writes."""
    dtype = np.uint8 if element_type.startswith("u") else np.int8
    weights = build.convert(build.constant(np.ones(shape, dtype), element_type), "f16")
    if zero_point is not None:
        points = build.convert(build.constant(np.full(scale, zero_point, dtype), element_type), "f16")
        weights = build.subtract(weights, points)
    scales = np.ones(scale, np.float16)
    weights = build.multiply(weights, scales) if order == "weights first" else build.multiply(scales, weights)
    if merged is not None:
        weights = build.reshape(weights, merged, special_zero=False)
    return build.convert(weights, "f32")


@pytest.mark.parametrize(
    ("shape", "scale", "merged", "group"),
    [
        ([16, 64], [16, 1], None, None),
        ([16, 64], [1, 64], None, None),
        ([16, 64], [1], None, None),
        ([16, 2, 32], [16, 2, 1], [16, 64], 32),
        ([16, 1, 64], [16, 1, 1], [16, 64], None),
        ([2, 32, 16], [2, 1, 16], [64, 16], 32),
        ([4, 16, 64], [4, 16, 1], None, None),
        ([4, 16, 64], [4, 16, 1], [64, 64], None),
        ([4, 16, 2, 32], [4, 16, 2, 1], [4, 16, 64], 32),
        ([16, 256], [16, 1], None, None),
        ([300, 2, 32], [300, 2, 1], [300, 64], 32),
    ],
)
@pytest.mark.parametrize("order", ["weights first", "scale first"])
def test_group_sizes(
    shape: list[int], scale: list[int], merged: list[int] | None, group: int | None, order: str, tmp_path: Path
) -> None:
    weights = weights_of_nncf(shape, scale, merged=merged, order=order)
    build.model(build.result(weights, name="y")).save(tmp_path / "net.xml")
    (packed,) = packed_weights(read_part("model", str(tmp_path / "net.xml")))
    assert (packed.type_name, packed.weight.stored_shape, packed.weight.group_size) == ("i4", tuple(shape), group)
    assert packed.is_scaled
    assert packed.zero_point == "none"


def test_a_scale_for_each_element(tmp_path: Path) -> None:
    build.model(build.result(weights_of_nncf([16, 64], [16, 64]), name="y")).save(tmp_path / "net.xml")
    (packed,) = packed_weights(read_part("model", str(tmp_path / "net.xml")))
    assert packed.weight.group_size == 1


@pytest.mark.parametrize(
    ("element_type", "value", "zero_point"),
    [
        ("u4", 8, "middle"),
        ("u4", 3, "other"),
        ("u4", None, "none"),
        ("i4", 0, "none"),
        ("i4", 1, "other"),
        ("u8", 128, "middle"),
        ("u8", 8, "other"),
    ],
)
def test_zero_points(element_type: str, value: int | None, zero_point: str, tmp_path: Path) -> None:
    weights = weights_of_nncf([16, 64], [16, 1], element_type=element_type, zero_point=value)
    build.model(build.result(weights, name="y")).save(tmp_path / "net.xml")
    (packed,) = packed_weights(read_part("model", str(tmp_path / "net.xml")))
    assert packed.zero_point == zero_point


def test_weights_without_scales(tmp_path: Path) -> None:
    language_model().save(tmp_path / "net.xml")
    weights = packed_weights(read_part("model", str(tmp_path / "net.xml")))
    assert {(weight.type_name, weight.weight.group_size, weight.is_scaled) for weight in weights} == {
        ("f32", None, False)
    }
    assert {weight.is_table for weight in weights} == {False, True}
