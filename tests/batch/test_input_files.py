"""Inputs from images, text, raw bytes and tensors of ONNX: each has the type and the shape of its input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec.batch.input_files import Pixels, input_of_file
from ir_exec.batch.items import StoredFile, items_in
from ir_exec.errors import EvaluationError
from ir_exec.model import ModelPort
from ir_exec.types import Array, ElementType, Shape

PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
"""Height 2, width 3."""


def port(shape: str, element_type: str = "f32") -> ModelPort:
    return ModelPort("x", frozenset(["x"]), ElementType[element_type], Shape.parse(shape))


@pytest.fixture
def image(tmp_path: Path) -> str:
    images = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    images.fromarray(PIXELS).save(tmp_path / "image.png")
    return str(tmp_path / "image.png")


def text(folder: Path, content: str, name: str = "a.txt") -> str:
    (folder / name).write_text(content, "utf-8")
    return str(folder / name)


class TestImages:
    @pytest.mark.parametrize(
        ("shape", "expected"),
        [
            ("1,3,2,3", PIXELS.transpose(2, 0, 1)[None]),
            ("?,3,?,?", PIXELS.transpose(2, 0, 1)[None]),
            ("?,2,3,3", PIXELS[None]),
            ("1,?,?,3", PIXELS[None]),
            ("2,3,2,3", np.repeat(PIXELS.transpose(2, 0, 1)[None], 2, 0)),
            ("3,2,3", PIXELS.transpose(2, 0, 1)),
            ("2,?,3", PIXELS),
        ],
    )
    def test_the_layout_of_the_shape(self, image: str, shape: str, expected: Array) -> None:
        array = input_of_file(image, port(shape, "u8"))
        assert array.dtype == np.uint8
        assert array.tolist() == expected.tolist()

    def test_gray(self, image: str) -> None:
        for shape, size in (
            ("2,3", (2, 3)),
            ("1,1,2,3", (1, 1, 2, 3)),
            ("1,?,?,1", (1, 2, 3, 1)),
            ("1,?,?", (1, 2, 3)),
        ):
            assert input_of_file(image, port(shape)).shape == size

    def test_sizes(self, image: str) -> None:
        assert input_of_file(image, port("1,3,8,6")).shape == (1, 3, 8, 6)
        assert input_of_file(image, port("1,3,8,?")).shape == (1, 3, 8, 3)

    def test_mean_and_scale_in_the_order_of_the_channels(self, image: str) -> None:
        pixels = Pixels(mean=(1, 2, 3), scale=(2, 4, 8), color="bgr", layout="NHWC")
        array = input_of_file(image, port("1,2,3,3"), pixels)
        expected = (PIXELS[..., ::-1].astype(np.float32) - [1, 2, 3]) / [2, 4, 8]
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array[0], expected.astype(np.float32))

    def test_integers_are_rounded_and_clipped(self, image: str) -> None:
        array = input_of_file(image, port("2,3,3", "i8"), Pixels(mean=(8,), scale=(0.05,), layout="HWC"))
        assert (array.min(), array.max(), array.dtype) == (-128, 127, np.int8)

    def test_an_unknown_rank_with_a_layout(self, image: str) -> None:
        assert input_of_file(image, port("..."), Pixels(layout="NCHW")).shape == (1, 3, 2, 3)

    @pytest.mark.parametrize(
        ("shape", "pixels"),
        [
            ("...", Pixels()),
            ("1,8,8,8", Pixels()),
            ("1,8,8,8", Pixels(layout="NCHW")),
            ("1,3,8,8", Pixels(layout="NCH")),
            ("1,3,8,8", Pixels(layout="HWC")),
            ("1,3,8,8", Pixels(mean=(1, 2))),
        ],
    )
    def test_what_does_not_fit(self, image: str, shape: str, pixels: Pixels) -> None:
        with pytest.raises(EvaluationError) as caught:
            input_of_file(image, port(shape), pixels)
        assert caught.value.code == "IR705"

    def test_invalid_image(self, image: str) -> None:
        Path(image).write_bytes(b"no image")
        with pytest.raises(EvaluationError):
            input_of_file(image, port("1,3,8,8"))

    def test_each_image_is_an_item(self, image: str) -> None:
        ports = [port("1,3,2,3")]
        ((name, item),) = items_in([StoredFile(image, pixels=Pixels(scale=(2,)))], ports)
        assert name == "image"
        np.testing.assert_array_equal(item.load(ports)[0]["x"][0], PIXELS.transpose(2, 0, 1) / np.float32(2))


class TestText:
    @pytest.mark.parametrize(
        ("content", "shape", "element_type", "expected"),
        [
            ("1 2 3\n4 5 6\n", "2,3", "f32", [[1, 2, 3], [4, 5, 6]]),
            ("1, 2.5\n# no numbers\n3;nan", "?,2", "f64", [[1, 2.5], [3, -1]]),
            ("1 2 3 4 5 6", "1,2,3", "i64", [[[1, 2, 3], [4, 5, 6]]]),
            ("9007199254740993", "1", "i64", [9007199254740993]),
            ("18446744073709551615", "", "u64", 18446744073709551615),
            ("1\n2\n3", "?", "i32", [1, 2, 3]),
            ("1 2\n3 4", "?,?,?", "f32", [[[1, 2], [3, 4]]]),
            ("true 0\nFalse 1", "2,2", "boolean", [[True, False], [False, True]]),
            ("1 2\n3 4", "...", "u8", [[1, 2], [3, 4]]),
        ],
    )
    def test_numbers(self, tmp_path: Path, content: str, shape: str, element_type: str, expected: Any) -> None:
        array = input_of_file(text(tmp_path, content), port(shape, element_type))
        assert array.dtype == ElementType[element_type].dtype
        assert np.where(array != array, -1, array).tolist() == expected

    def test_a_csv_has_names_of_columns(self, tmp_path: Path) -> None:
        array = input_of_file(text(tmp_path, "a,b\n1,2\n", "a.csv"), port("?,2"))
        assert array.tolist() == [[1, 2]]

    def test_lines_are_strings(self, tmp_path: Path) -> None:
        array = input_of_file(text(tmp_path, "one, two\n# three\n"), port("?", "string"))
        assert array.tolist() == ["one, two", "# three"]
        assert input_of_file(text(tmp_path, "a\n"), port("1,1", "string")).tolist() == [["a"]]

    @pytest.mark.parametrize(
        ("content", "element_type"), [("1 2\n3", "f32"), ("1.5", "i32"), ("300", "u8"), ("2", "boolean"), ("x", "f32")]
    )
    def test_what_the_input_does_not_hold(self, tmp_path: Path, content: str, element_type: str) -> None:
        with pytest.raises(EvaluationError):
            input_of_file(text(tmp_path, content), port("...", element_type))


def test_raw_bytes_of_a_static_shape(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    array.tofile(tmp_path / "x.bin")
    path = str(tmp_path / "x.bin")
    np.testing.assert_array_equal(input_of_file(path, port("2,3", "f16")), array)
    for shape, element_type in (("2,3", "f32"), ("?,3", "f16"), ("2,3", "string")):
        with pytest.raises(EvaluationError):
            input_of_file(path, port(shape, element_type))
