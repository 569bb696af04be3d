"""Input arrays from single files: arrays, tensors of ONNX, images, numbers and lines as text, raw bytes.

Missing properties are taken from the input: its element type, and its shape if that is static. Images are resized to
the static dims of the input, and have its layout: N, C, H and W, with C before or after H and W.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Literal

import numpy as np

from ir_exec.batch.names import IMAGES, port_of_key
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.hints import install_hint
from ir_exec.ir.packing import decode, packed_size
from ir_exec.ir.regular_files import open_regular
from ir_exec.ir.urls import suffix_of
from ir_exec.model import ModelPort
from ir_exec.onnx.reading.tensor_files import data_set_files, read_tensor_file
from ir_exec.types import STRING, Array, Dim

__all__ = ["SUFFIXES", "Pixels", "input_of_file", "inputs_of_data_set", "outputs_of_data_set"]

Color = Literal["rgb", "bgr"]

_CHANNELS = (1, 3, 4)


@dataclass(frozen=True, slots=True)
class Pixels:
    """The conversion of the pixels of an image to elements: (value - mean) / scale, for values from 0 to 255.

    Attributes:
        mean: The numbers to subtract: one, or one for each channel in the channel order of the model; without numbers
            the values are unchanged.
        scale: The divisors in the same form.
        color: The order of the channels.
        layout: The meaning of the dims, `NCHW`; None to derive it from the shape of the input.
    """

    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    color: Color = "rgb"
    layout: str | None = None


def input_of_file(path: str, port: ModelPort, pixels: Pixels | None = None) -> Array:
    """Return the array in a file for an input; the suffix of its name, one of `SUFFIXES`, selects the format.

    Raises:
        OSError: If the file cannot be read.
        EvaluationError: IR705 for a file without an array for this input.
    """
    reader = SUFFIXES[suffix_of(path)]
    return reader(path, port, pixels or Pixels())


def inputs_of_data_set(folder: str, ports: Sequence[ModelPort]) -> dict[str, Array]:
    """Return the tensors `input_*.pb` of a folder of ONNX test data, by the names of inputs; none for other folders.

    A tensor is for the input of its name, or else of its number.

    Raises:
        IRError: The errors of `read_tensor_file`.
    """
    arrays: dict[str, Array] = {}
    for path in data_set_files(folder, "input"):
        name, array = read_tensor_file(path)
        number = re.sub(r"\D", "", os.path.basename(path))
        port = port_of_key(name, ports) or port_of_key(f"in{number}", ports)
        if port is None:
            names = ", ".join(port.name for port in ports) or "none"
            message = f"{path} contains a tensor for no input; the inputs are: {names}"
            raise EvaluationError(message, code=Code.unknown_input)
        arrays[port.name] = array
    return arrays


def outputs_of_data_set(path: str) -> dict[str, Array]:
    """Return the tensors `output_*.pb` of a folder, or the one in a file, by out0, out1, ...; empty if none exist."""
    files = [path] if suffix_of(path) == ".pb" else data_set_files(path, "output")
    return {f"out{number}": read_tensor_file(file)[1] for number, file in enumerate(files)}


def _tensor(path: str, port: ModelPort, pixels: Pixels) -> Array:
    return read_tensor_file(path)[1]


def _raw(path: str, port: ModelPort, pixels: Pixels) -> Array:
    """Return the elements of an input with a static shape from the format of a .bin."""
    element_type = port.element_type
    if not port.shape.is_static or not element_type.is_known or element_type in STRING:
        raise EvaluationError(
            f"input {port.name!r} is",
            actual=f"{element_type}{port.shape}",
            expected="a static shape for raw bytes",
            code=Code.unknown_input,
        )
    size = os.path.getsize(path)
    needed = packed_size(element_type, port.shape.size.lo)
    if size != needed:
        raise EvaluationError(
            f"{path} has",
            actual=f"{size:,}",
            detail="bytes",
            expected=f"{needed:,}",
            reason=f" for {element_type}{port.shape} of input {port.name!r}",
            code=Code.unknown_input,
        )
    return decode(element_type, port.shape.static, np.fromfile(path, np.uint8))


def _text(path: str, port: ModelPort, pixels: Pixels) -> Array:
    """Return numbers, one row per line, separated by commas or blanks; for an input of strings the lines."""
    with TextIOWrapper(open_regular(path), encoding="utf-8-sig") as file:
        try:
            lines = file.read().splitlines()
        except UnicodeDecodeError as error:
            raise _unusable(path, f"it is not UTF-8 text: {error}") from None
    if port.element_type in STRING:
        texts: Array = np.empty(len(lines), object)
        texts[:] = lines
        return _fit_shape(texts, port)
    rows = [line.partition("#")[0].replace(";", ",").replace(",", " ").split() for line in lines]
    rows = [row for row in rows if row]
    if len(rows) > 1 and suffix_of(path) == ".csv" and not all(map(_is_number, rows[0])):
        del rows[0]  # the names of the columns
    if len({len(row) for row in rows}) > 1:
        raise _unusable(
            path, f"its lines have {min(map(len, rows))} to {max(map(len, rows))} numbers, expected one count"
        )
    try:
        array = _numbers(rows, port)
    except (ValueError, OverflowError) as error:
        raise _unusable(path, str(error)) from None
    return _fit_shape(array, port)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.lower() in ("true", "false")
    return True


def _numbers(rows: Sequence[Sequence[str]], port: ModelPort) -> Array:
    """Return rows as an array of the input's element type; ValueError for text and numbers that it cannot represent."""
    element_type = port.element_type
    words = {"true": "1", "false": "0"}
    texts = [[words.get(text.lower(), text) for text in row] for row in rows]
    if not element_type.is_known or element_type.is_float:
        floats = np.array(texts, np.float64).reshape(len(texts), -1)
        return floats.astype(element_type.dtype if element_type.is_known else np.float32)
    integers = [[_to_int(text) for text in row] for row in texts]
    low, high = (0, 1) if not element_type.is_integer else _limits(element_type.bits, element_type.is_signed)
    for row in integers:
        for value in row:
            if not low <= value <= high:
                raise ValueError(f"{value} is out of range for {element_type}")
    return (
        np.array(integers, np.uint64 if high > 2**63 else np.int64)
        .reshape(len(integers), -1)
        .astype(element_type.dtype)
    )


def _limits(bits: int, is_signed: bool) -> tuple[int, int]:
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)


def _to_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if not value.is_integer():
        raise ValueError(f"{text} is not a whole number")
    return int(value)


def _fit_shape(array: Array, port: ModelPort) -> Array:
    """Return rows with the static shape of the input, or with its rank, if the number of elements allows it."""
    shape = port.shape
    if shape.is_static and shape.size.lo == array.size:
        return array.reshape(shape.static)
    rank = None if shape.dims is None else len(shape.dims)
    if rank is None or rank == array.ndim:
        return array
    inner = array if rank > array.ndim else np.squeeze(array)
    return array if inner.ndim > rank else inner.reshape([1] * (rank - inner.ndim) + list(inner.shape))


def _image(path: str, port: ModelPort, pixels: Pixels) -> Array:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        hint = install_hint("images")
        message = f"{path} cannot be read: pillow is not installed"
        raise EvaluationError(message, code=Code.unknown_input, hint=hint) from None
    layout = pixels.layout or _layout(port)
    dims = _dims(layout, port)
    try:
        with open_regular(path) as file, Image.open(file) as opened:
            image = ImageOps.exif_transpose(opened)
            channels = dims["C"].lo if "C" in dims and dims["C"].is_static else 1 if "C" not in dims else 3
            image = image.convert({1: "L", 3: "RGB", 4: "RGBA"}[channels])
            width, height = (
                dims[name].lo if dims[name].is_static else size for name, size in zip("WH", image.size, strict=True)
            )
            if (width, height) != image.size:
                image = image.resize((width, height), Image.Resampling.BILINEAR)
            values = np.asarray(image).reshape(height, width, channels)
    except (UnidentifiedImageError, Image.DecompressionBombError, ValueError, SyntaxError) as error:
        raise _unusable(path, str(error)) from None
    if pixels.color == "bgr" and channels >= 3:
        values = values[..., [2, 1, 0, *range(3, channels)]]
    return _laid_out(_normalize(values, port, pixels, path), layout, dims)


def _layout(port: ModelPort) -> str:
    """Return the layout for the shape of an input: C is the dim that is 1, 3 or 4."""
    dims = port.shape.dims
    rank = None if dims is None else len(dims)
    may_be_channels = [dim.is_static and dim.lo in _CHANNELS for dim in dims or ()]
    if rank == 4 and (may_be_channels[1] or may_be_channels[3]):
        return "NCHW" if may_be_channels[1] else "NHWC"
    if rank == 3 and (may_be_channels[0] or may_be_channels[2]):
        return "CHW" if may_be_channels[0] else "HWC"
    if rank == 2:
        return "HW"
    message = f"the shape {port.shape} of input {port.name!r} does not determine the channel axis of an image"
    raise EvaluationError(message, code=Code.unknown_input, hint="specify the layout with --layout NCHW")


def _dims(layout: str, port: ModelPort) -> dict[str, Dim]:
    """Return the dims of an input by their letters; an input of unknown rank has dynamic dims."""
    dims = port.shape.dims
    if not {"H", "W"} <= set(layout) <= set("NCHW") or len(set(layout)) != len(layout):
        raise EvaluationError(
            "the image layout is",
            actual=layout,
            expected="H, W, and C and N if the input has them",
            code=Code.unknown_input,
        )
    if dims is not None and len(dims) != len(layout):
        raise EvaluationError(
            f"input {port.name!r} is",
            actual=f"{port.element_type}{port.shape}",
            expected=f"the layout {layout}",
            code=Code.unknown_input,
        )
    dims_by_letter = dict(zip(layout, dims or [Dim.any()] * len(layout), strict=True))
    if "C" in dims_by_letter and dims_by_letter["C"].is_static and dims_by_letter["C"].lo not in _CHANNELS:
        raise EvaluationError(
            f"input {port.name!r} has",
            actual=dims_by_letter["C"],
            detail=f"channels in the layout {layout}",
            expected="1, 3 or 4",
            code=Code.unknown_input,
            hint="specify the layout with --layout NHWC",
        )
    return dims_by_letter


def _normalize(values: Array, port: ModelPort, pixels: Pixels, path: str) -> Array:
    """Return (values - mean) / scale in the element type of the input; integers are rounded and clipped."""
    element_type = port.element_type
    for name, numbers in (("mean", pixels.mean), ("scale", pixels.scale)):
        if len(numbers) not in (0, 1, values.shape[-1]):
            raise _unusable(path, f"--{name} has {len(numbers)} numbers, expected 1 or {values.shape[-1]} (channels)")
    if pixels.mean or pixels.scale:
        values = (values - np.array(pixels.mean or 0.0)) / np.array(pixels.scale or 1.0)
    if element_type.is_integer and values.dtype.kind == "f":
        values = np.clip(np.rint(values), *_limits(element_type.bits, element_type.is_signed))
    return values.astype(element_type.dtype if element_type.is_known else np.float32)


def _laid_out(values: Array, layout: str, dims: dict[str, Dim]) -> Array:
    """Return height, width and channels in the layout; a batch of several repeats the image."""
    if "C" not in layout:
        values = values[..., 0]
    order = ["HWC".index(letter) for letter in layout if letter != "N"]
    values = values.transpose(order)
    if "N" in layout:
        count = dims["N"].lo if dims["N"].is_static else 1
        values = np.repeat(np.expand_dims(values, layout.index("N")), count, layout.index("N"))
    return np.ascontiguousarray(values)


def _unusable(path: str, reason: str) -> IRError:
    return EvaluationError(f"{path} cannot be read: {reason}", code=Code.unknown_input)


_Reader = Callable[[str, ModelPort, Pixels], Array]

SUFFIXES: dict[str, _Reader] = {
    ".pb": _tensor,
    ".bin": _raw,
    ".raw": _raw,
    **dict.fromkeys((".txt", ".csv", ".tsv"), _text),
    **dict.fromkeys(IMAGES, _image),
}
"""The readers by the suffixes of names."""
