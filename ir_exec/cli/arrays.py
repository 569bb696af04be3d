"""Arrays of the command line: read from .npy and .npz, or drawn, written, summarised; and the inputs of a run."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
import numpy as np

from ir_exec.batch.input_files import SUFFIXES, Color, Pixels, input_of_file, inputs_of_data_set
from ir_exec.batch.items import IMAGES, port_of_key
from ir_exec.cli.config import extension_option
from ir_exec.cli.files import writing
from ir_exec.cli.options import shape_option, shapes_by_input
from ir_exec.cli.terminal import Unusable, echo
from ir_exec.debug.drawing import Drawer, Drawn, Redraw
from ir_exec.debug.values.files import NATIVE, RECORDS, objects_hint, storable, store_npz
from ir_exec.errors import IRError
from ir_exec.hints import path_hint
from ir_exec.ir.urls import is_url, local_path, suffix_of
from ir_exec.model import Model, ModelPort, PartialModel, numbered, read_model
from ir_exec.printable import printable
from ir_exec.types import STRING, Array, ElementType, Shape

__all__ = [
    "DRAWN_HINT",
    "Asked",
    "Statistics",
    "input_options",
    "read_array",
    "read_arrays",
    "split_named",
    "statistics",
    "tell_drawn",
    "write_arrays",
]


def split_named(text: str, ports: Sequence[ModelPort], what: str) -> tuple[ModelPort, str]:
    """The input and the value of `name=value`, or of `in0=value`; names may contain `=`.

    A value alone is for the only input.
    """
    for match in re.finditer("=", text):
        name = text[: match.start()]
        for port in ports:
            if name == port.name:
                return port, text[match.end() :]
        for port in ports:
            if name in port.names:
                return port, text[match.end() :]
    name, equals, value = text.partition("=")
    position = numbered(name, len(ports)) if equals else None
    if position is not None:
        return ports[position], value
    if len(ports) == 1 and (not equals or is_url(text) or os.path.exists(text)):
        return ports[0], text
    names = ", ".join(port.name for port in ports) or "none"
    raise Unusable(f"{what} {text!r} is not NAME=VALUE with the name of an input; the inputs are: {names}")


_FILES = {".npy", ".npz", *SUFFIXES}
"""Endings of names that are meant as files, also where there is none."""


def read_array(path: str, port: ModelPort, pixels: Pixels | None = None) -> Array:
    """The array of a file, as the element type of an input: .npy, or one of `input_files.SUFFIXES`.

    For an input of strings what is no file is the text itself.
    """
    if port.element_type in STRING and not (is_url(path) or os.path.exists(path) or suffix_of(path) in _FILES):
        return np.full((1,) * (1 if port.shape.rank is None else port.shape.rank), path, object)
    if suffix_of(path) in SUFFIXES:
        with _readable(path):
            return _as_element_type(input_of_file(local_path(path), port, pixels), port)
    loaded = _load(path)
    if isinstance(loaded, dict):
        raise Unusable(f"{path} holds several arrays: give it with --inputs")
    return _as_element_type(loaded, port)


def read_arrays(path: str, ports: Sequence[ModelPort], pixels: Pixels | None = None) -> dict[str, Array]:
    """The arrays of an .npz file by the names of the inputs; its keys are such names, or in0, in1, ...

    A folder holds `input_*.pb` of ONNX's test data; a file of another kind is for the only input.
    """
    if os.path.isdir(path):
        with _readable(path):
            tensors = inputs_of_data_set(path, ports)
        given = {port.name: port for port in ports}
        return {name: _as_element_type(array, given[name]) for name, array in tensors.items()}
    if suffix_of(path) in SUFFIXES:
        if len(ports) == 1:
            return {ports[0].name: read_array(path, ports[0], pixels)}
        raise Unusable(f"{path} is for one of {len(ports)} inputs: give it with --input NAME=FILE")
    loaded = _load(path)
    if not isinstance(loaded, dict):
        raise Unusable(f"{path} holds one array without a name: give it with --input NAME=FILE")
    found: dict[str, Array] = {}
    for key, array in loaded.items():
        port = port_of_key(key, ports)
        if port is None:
            names = ", ".join(port.name for port in ports)
            raise Unusable(f"{path} holds {key!r}, which is no input; the inputs are: {names} (or in0, in1, ...)")
        found[port.name] = _as_element_type(array, port)
    return found


def read_named_arrays(path: str) -> dict[str, Array]:
    """The arrays of an .npz by their names, as they are stored."""
    loaded = _load(path)
    if not isinstance(loaded, dict):
        raise Unusable(f"{path} holds one array without a name, expected an .npz")
    return loaded


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Errors of reading as messages."""
    try:
        yield
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror or error}") from None
    except IRError as error:
        raise Unusable("; ".join(filter(None, (error.message, error.hint)))) from None


def _load(path: str) -> Array | dict[str, Array]:
    try:
        loaded = np.load(local_path(path), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return dict(loaded)
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = path_hint(path) if isinstance(error, FileNotFoundError) else objects_hint(error)
        if objects_hint(error):
            reason = "it holds an array of Python objects"
        elif "pickled" in reason:
            reason = "it is no .npy and no .npz file"
        raise Unusable("; ".join(filter(None, (f"cannot read arrays from {path}: {reason}", hint)))) from None


def _as_element_type(array: Array, port: ModelPort) -> Array:
    """The array, cast only to element types that .npy files cannot hold."""
    kind = port.element_type
    if not kind.is_known or kind in NATIVE | STRING or array.dtype == kind.dtype:
        return array
    if array.dtype.kind == "V" and array.dtype.itemsize == kind.dtype.itemsize:
        # What NumPy writes of an array of ml_dtypes comes back as bytes without a meaning.
        return array.view(kind.dtype)
    return array.astype(kind.dtype) if array.dtype.kind in "biuf" else array


def write_arrays(path: str, arrays: Mapping[str, Array]) -> None:
    """Write an .npz with these names as keys; what .npy cannot hold is written as f32, i8 or u8."""
    with writing(path) as file:
        store_npz(file, arrays)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The cells of a table about an array; a dash where a number is undefined."""

    lowest: str
    highest: str
    mean: str
    nans: str


def statistics(array: Array) -> Statistics:
    """Minimum, maximum and mean of the elements without NaN, and the count of NaN."""
    kind = ElementType.of(array)
    if kind in STRING | RECORDS or not array.size:
        return Statistics("-", "-", "-", "-")
    numbers = storable(array)
    nans = "-"
    if kind.is_float:
        is_nan = np.isnan(numbers)
        count = int(np.count_nonzero(is_nan))
        nans = f"{count:,}"
        numbers = numbers[~is_nan] if count else numbers
    if not numbers.size:
        return Statistics("-", "-", "-", nans)
    with np.errstate(all="ignore"):
        mean = float(numbers.mean(dtype=np.float64))
    return Statistics(_number(numbers.min()), _number(numbers.max()), _number(mean), nans)


def _number(value: np.generic | float) -> str:
    """A number as tables show it: integers in full, others with six digits."""
    if isinstance(value, np.bool_):
        return str(bool(value)).lower()
    return str(int(value)) if isinstance(value, np.integer) else f"{float(value):.6g}"


DRAWN_HINT = (
    "inputs that are drawn need not fit the network: --input gives others, --shape other shapes, and "
    "`ir-exec shapes MODEL` tells which fit"
)


def _numbers(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, ...]:
    """One number, or one for each channel."""
    try:
        numbers = tuple(float(part) for part in (text or "").split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"{text!r} is no number and no list of numbers") from None
    if parameter.name == "scale" and 0 in numbers:
        raise click.BadParameter("nothing is divided by 0")
    return numbers


_OPTIONS = (
    click.option(
        "--input",
        "named",
        multiple=True,
        metavar="[NAME=]FILE",
        help="An array for one input, by its name or in0, in1, ...; or an image, text, .pb or raw .bin; repeatable.",
    ),
    click.option(
        "--inputs",
        "archive",
        metavar="FILE.npz",
        type=click.Path(),
        help="Arrays by names of inputs, or by in0, in1, ...; a folder of ONNX's test data (input_*.pb); with `run` "
        "and `compare`, also many: 'data/*.npz'.",
    ),
    shape_option("The shape of an input to draw"),
    click.option("--mean", metavar="M[,M,M]", callback=_numbers, help="Of images: subtracted from pixels of 0 to 255."),
    click.option("--scale", metavar="S[,S,S]", callback=_numbers, help="Of images: what (pixel - mean) is divided by."),
    click.option("--color", type=click.Choice(["rgb", "bgr"]), default="rgb", show_default=True, help="Of images."),
    click.option("--layout", metavar="NCHW|NHWC|...", help="Of images, where the shape of the input tells none."),
    click.option("--weights", metavar="FILE.bin", type=click.Path(), help="Weights other than those beside the .xml."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For inputs that are drawn."),
    extension_option,
)


@dataclass(frozen=True)
class Asked:
    """What was asked for of the inputs on the command line."""

    named: Sequence[str]
    archive: str | None
    shapes: Sequence[str]
    seed: int
    pixels: Pixels | None = None

    def network(self, path: str, weights: str | None = None) -> Model:
        """The network of a file, with the shapes that were asked for where some of its layers depend on them."""
        network = read_model(path, weights=weights)
        if isinstance(network, PartialModel) and network.lists:
            names = ", ".join(network.lists)
            raise Unusable(f"lists and optionals, as {names}, are inputs for ir_exec.compile_model in Python alone")
        if network.is_partial and self.shapes:
            network.reshape(self.wanted(network.inputs))
        return network

    def given(self, ports: Sequence[ModelPort]) -> dict[str, Array]:
        """The arrays of the files, by the names of the inputs."""
        self._require_images(ports)
        found = read_arrays(self.archive, ports, self.pixels) if self.archive is not None else {}
        for text in self.named:
            port, path = split_named(text, ports, "--input")
            found[port.name] = read_array(path, port, self.pixels)
        wanted = self.wanted(ports)
        if unused := [name for name in wanted if name in found]:
            raise Unusable(f"--shape is for inputs that are drawn; {', '.join(unused)} is given")
        return found

    def _require_images(self, ports: Sequence[ModelPort]) -> None:
        """Refuse options of images where there is none."""
        paths = [path for _, path in (split_named(text, ports, "--input") for text in self.named)]
        if self.pixels not in (None, Pixels()) and not any(
            suffix_of(path) in IMAGES for path in (*paths, self.archive or "")
        ):
            raise Unusable(f"--mean, --scale, --color and --layout are for images: expected {', '.join(IMAGES)}")

    def wanted(self, ports: Sequence[ModelPort]) -> dict[str, Shape]:
        """The shapes for inputs that are drawn."""
        return shapes_by_input(self.shapes, ports)

    def redraw(self, network: Model, given: dict[str, Array]) -> Redraw:
        """All inputs, those that are not given drawn, for a caller who runs the network. Raises ResourceError where one
        would not fit into memory."""
        wanted = self.wanted(network.inputs)
        for port in network.inputs:
            if port.shape.dims is None and port.name not in {*wanted, *given}:
                hint = f"give its shape with --shape {port.name}=..."
                raise Unusable(f"the rank of input {port.name!r} is not known: {hint}")
        return Redraw(Drawer(network, self.seed, wanted, given))

    def drawn(self, network: Model, given: dict[str, Array]) -> dict[str, Array]:
        """All inputs, those that are not given drawn, which a line on stderr says. Raises what `redraw` raises."""
        redraw, wanted = self.redraw(network, given), self.wanted(network.inputs)
        is_open = any(
            port.name not in given and not wanted.get(port.name, port.shape).is_static for port in network.inputs
        )
        tell_drawn(redraw.drawn, "; --shape gives other shapes" if is_open else "")
        return redraw.arrays


def tell_drawn(drawn: Drawn, hint: str = "") -> None:
    """Print on stderr what was drawn, if anything was."""
    if drawn.inputs:
        for line in (str(drawn) + hint).splitlines():
            echo(printable(line), to_stderr=True)


def input_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that runs a network. Those of the inputs reach it together, as `asked`."""

    @wraps(command)
    def with_asked(
        named: tuple[str, ...],
        archive: str | None,
        shapes: tuple[str, ...],
        seed: int,
        mean: tuple[float, ...],
        scale: tuple[float, ...],
        color: Color,
        layout: str | None,
        **others: Any,
    ) -> None:
        pixels = Pixels(mean, scale, color, layout.upper() if layout else None)
        command(asked=Asked(named, archive, shapes, seed, pixels), **others)

    decorated: Callable[..., None] = with_asked
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
