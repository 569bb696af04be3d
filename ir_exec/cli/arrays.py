"""Arrays on the command line: read, write and summarize them, and collect the inputs of a run, given or random."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
import numpy as np

from ir_exec.batch.input_files import SUFFIXES, Color, Pixels, input_of_file, inputs_of_data_set
from ir_exec.batch.names import IMAGES, port_of_key
from ir_exec.cli.extensions import extension_options
from ir_exec.cli.files import writing
from ir_exec.cli.options import shape_option, shapes_by_input, weights_option
from ir_exec.cli.output.terminal import Unusable, echo
from ir_exec.codes import Code
from ir_exec.debug.inputs.drawing import Drawer, Drawn, Redraw
from ir_exec.debug.values.files import NATIVE, RECORDS, read_stored, storable, store_npz
from ir_exec.debug.values.polygraphy import read_feeds
from ir_exec.errors import IRError
from ir_exec.ir.paths import local_path
from ir_exec.ir.urls import is_url, suffix_of
from ir_exec.model import Model, ModelPort, numbered, read_model
from ir_exec.printable import printable
from ir_exec.types import STRING, Array, ElementType, Shape

__all__ = [
    "Asked",
    "Statistics",
    "drawn_hint",
    "input_options",
    "read_array",
    "read_arrays",
    "read_calls",
    "split_named",
    "statistics",
    "tell_drawn",
    "write_arrays",
]


def split_named(text: str, ports: Sequence[ModelPort], what: str) -> tuple[ModelPort, str]:
    """Return the input and the value of `name=value` or `in0=value`; names may contain `=`.

    A value without a name belongs to the single input.
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
    raise Unusable(f"{what} is {text!r}, expected NAME=VALUE with the name of an input; the inputs are: {names}")


_FILES = {".npy", ".npz", *SUFFIXES}
"""Suffixes that mark a text as the name of a file, even if the file does not exist."""


def read_array(path: str, port: ModelPort, pixels: Pixels | None = None) -> Array:
    """Read the array of one input from a .npy, or a file with one of `input_files.SUFFIXES`, in its element type.

    For an input of strings, a text that names no file is the value itself.
    """
    if port.element_type in STRING and not (is_url(path) or os.path.exists(path) or suffix_of(path) in _FILES):
        return np.full((1,) * (1 if port.shape.rank is None else port.shape.rank), path, object)
    if suffix_of(path) in SUFFIXES:
        with _readable(path):
            return _as_element_type(input_of_file(local_path(path), port, pixels), port)
    loaded = _load(path)
    if isinstance(loaded, dict):
        raise Unusable(f"{path} contains several arrays, expected one: use --inputs {path}")
    return _as_element_type(loaded, port)


def read_arrays(
    path: str, ports: Sequence[ModelPort], pixels: Pixels | None = None, *, takes_first: bool = False
) -> dict[str, Array]:
    """Read the arrays of an .npz by input name; its keys are names of inputs, or in0, in1, ...

    A folder contains `input_*.pb` of ONNX's test data, and a .json contains the inputs of Polygraphy; a file of another
    format is for the single input.

    Args:
        takes_first: Return the inputs of the first call of a .json that has several.
    """
    if suffix_of(path) == ".json":
        calls = read_calls(path, ports)
        if len(calls) > 1 and not takes_first:
            raise Unusable(f"{path} contains the inputs of {len(calls)} calls, expected one")
        return calls[0]
    if os.path.isdir(path):
        with _readable(path):
            tensors = inputs_of_data_set(path, ports)
        port_by_name = {port.name: port for port in ports}
        return {name: _as_element_type(array, port_by_name[name]) for name, array in tensors.items()}
    if suffix_of(path) in SUFFIXES:
        if len(ports) == 1:
            return {ports[0].name: read_array(path, ports[0], pixels)}
        raise Unusable(f"{path} is for one input, but the model has {len(ports)}: use --input NAME={path}")
    loaded = _load(path)
    if not isinstance(loaded, dict):
        raise Unusable(f"{path} contains one array without a name, expected an .npz: use --input NAME={path}")
    return _by_port(path, loaded, ports)


def read_calls(path: str, ports: Sequence[ModelPort]) -> list[dict[str, Array]]:
    """Read the inputs of each call of a .json of Polygraphy, by input name."""
    with _readable(path):
        feeds = read_feeds(local_path(path))
    return [_by_port(path, feed, ports) for feed in feeds]


def _by_port(path: str, loaded: Mapping[str, Array], ports: Sequence[ModelPort]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for key, array in loaded.items():
        port = port_of_key(key, ports)
        if port is None:
            names = ", ".join(port.name for port in ports)
            raise Unusable(f"{path} contains {key!r}, expected names of inputs: {names} (or in0, in1, ...)")
        arrays[port.name] = _as_element_type(array, port)
    return arrays


def read_named_arrays(path: str) -> dict[str, Array]:
    """Read the arrays of an .npz by name, without conversion."""
    loaded = _load(path)
    if not isinstance(loaded, dict):
        raise Unusable(f"{path} contains one array without a name, expected an .npz")
    return loaded


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Report errors of reading a file as messages."""
    try:
        yield
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror or error}") from None
    except IRError as error:
        raise Unusable("; ".join(filter(None, (error.message, error.hint)))) from None


def _load(path: str) -> Array | dict[str, Array]:
    with _readable(path):
        return read_stored(local_path(path), name=path)


def _as_element_type(array: Array, port: ModelPort) -> Array:
    """Return the array, cast if .npy files do not support the element type of the input."""
    element_type = port.element_type
    if not element_type.is_known or element_type in NATIVE | STRING or array.dtype == element_type.dtype:
        return array
    if array.dtype.kind == "V" and array.dtype.itemsize == element_type.dtype.itemsize:
        # NumPy stores arrays of ml_dtypes as untyped bytes.
        return array.view(element_type.dtype)
    return array.astype(element_type.dtype) if array.dtype.kind in "biuf" else array


def write_arrays(path: str, arrays: Mapping[str, Array]) -> None:
    """Write an .npz with these names as keys; types that .npy does not support are written as f32, i8 or u8."""
    with writing(path, content="npz") as file:
        store_npz(file, arrays)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The cells of an array in a table; a dash for an undefined number."""

    lowest: str
    highest: str
    mean: str
    nans: str


def statistics(array: Array) -> Statistics:
    """Return minimum, maximum and mean of the elements that are not NaN, and the number of NaNs."""
    element_type = ElementType.of(array)
    if element_type in STRING | RECORDS or not array.size:
        return Statistics("-", "-", "-", "-")
    numbers = storable(array)
    nans = "-"
    if element_type.is_float:
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
    """Format a number for a table: integers in full, others with six digits."""
    if isinstance(value, np.bool_):
        return str(bool(value)).lower()
    return str(int(value)) if isinstance(value, np.integer) else f"{float(value):.6g}"


_OF_ARGUMENTS = frozenset(
    {Code.input_array_type, Code.input_array_shape, Code.unknown_input, Code.ignored_pattern, Code.untyped_constant}
)


def drawn_hint(error: IRError) -> str | None:
    """Return the hint about random inputs for a layer that fails because of its shapes or values, else None."""
    is_in_layer = error.location.layer_id is not None or error.location.layer_type is not None
    if not is_in_layer or not error.code.startswith(("IR5", "IR7")) or error.code in _OF_ARGUMENTS:
        return None
    return (
        "random inputs may not suit the model: set values with --input and shapes with --shape; "
        "`ir-exec shapes MODEL` lists the supported sizes"
    )


def _numbers(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, ...]:
    """Parse one number, or one per channel."""
    try:
        numbers = tuple(float(part) for part in (text or "").split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number or a list of numbers") from None
    if parameter.name == "scale" and 0 in numbers:
        raise click.BadParameter("the divisor is 0, expected another number")
    return numbers


_OPTIONS = (
    click.option(
        "--input",
        "named",
        multiple=True,
        metavar="[NAME=]FILE",
        help="File for one input: .npy, image, text, .pb or raw .bin. NAME is its name, or in0, in1, ...; repeatable.",
    ),
    click.option(
        "--inputs",
        "archive",
        metavar="FILE.npz",
        type=click.Path(),
        help="Arrays named after the inputs, or in0, in1, ...; a folder of ONNX test data (input_*.pb), or a .json of "
        "Polygraphy. `run`, `compare` and `quantize-report` also accept many inputs: 'data/*.npz'.",
    ),
    shape_option("Shape of a random input"),
    click.option(
        "--mean", metavar="M[,M,M]", callback=_numbers, help="For images: subtract this from pixels of 0 to 255."
    ),
    click.option("--scale", metavar="S[,S,S]", callback=_numbers, help="For images: divide (pixel - mean) by this."),
    click.option(
        "--color",
        type=click.Choice(["rgb", "bgr"]),
        default="rgb",
        show_default=True,
        help="For images: order of the channels.",
    ),
    click.option(
        "--layout",
        metavar="NCHW|NHWC|...",
        help="For images: layout of the input.  [default: inferred from its shape]",
    ),
    weights_option,
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random numbers."
    ),
    extension_options,
)


@dataclass(frozen=True)
class Asked:
    """The options of the inputs on the command line."""

    named: Sequence[str]
    archive: str | None
    shapes: Sequence[str]
    seed: int
    pixels: Pixels | None = None

    def network(self, path: str, weights: str | None = None, read: Callable[..., Model] | None = None) -> Model:
        """Read the model of a file; requested shapes determine the layers that depend on them.

        Args:
            read: The function that reads it, by default `read_model`.
        """
        network = (read or read_model)(path, weights=weights)
        if network.list_inputs:
            names = ", ".join(network.list_inputs)
            raise Unusable(f"inputs {names} are sequences or optionals, expected tensors: use ir_exec.compile_model")
        return network.determine(self.requested_shapes(network.inputs)) if self.shapes else network

    def read_inputs(self, ports: Sequence[ModelPort], *, takes_first: bool = False) -> dict[str, Array]:
        """Read the arrays of the files, by input name.

        Args:
            takes_first: As for `read_arrays`.
        """
        self._require_images(ports)
        arrays: dict[str, Array] = {}
        if self.archive is not None:
            arrays = read_arrays(self.archive, ports, self.pixels, takes_first=takes_first)
        for text in self.named:
            port, path = split_named(text, ports, "--input")
            arrays[port.name] = read_array(path, port, self.pixels)
        requested = self.requested_shapes(ports)
        if unused := [name for name in requested if name in arrays]:
            raise Unusable(f"--shape and a file are both given for {', '.join(unused)}, expected one of them")
        return arrays

    def read_further_calls(self, ports: Sequence[ModelPort]) -> list[dict[str, Array]]:
        """Read the inputs of the calls after the first one, of a .json with several."""
        if self.archive is None or suffix_of(self.archive) != ".json":
            return []
        return read_calls(self.archive, ports)[1:]

    def _require_images(self, ports: Sequence[ModelPort]) -> None:
        """Raise Unusable for image options without an image."""
        paths = [path for _, path in (split_named(text, ports, "--input") for text in self.named)]
        if self.pixels not in (None, Pixels()) and not any(
            suffix_of(path) in IMAGES for path in (*paths, self.archive or "")
        ):
            raise Unusable(f"--mean, --scale, --color and --layout require an image, expected {', '.join(IMAGES)}")

    def requested_shapes(self, ports: Sequence[ModelPort]) -> dict[str, Shape]:
        """Return the requested shapes of random inputs."""
        return shapes_by_input(self.shapes, ports)

    def redraw(self, network: Model, file_inputs: dict[str, Array]) -> Redraw:
        """Return all inputs, random ones for those that are not given, for a caller that runs the model.

        Raises:
            ResourceError: If an input does not fit into memory.
        """
        requested = self.requested_shapes(network.inputs)
        for port in network.inputs:
            if port.shape.dims is None and port.name not in {*requested, *file_inputs}:
                raise Unusable(
                    f"the rank of input {port.name!r} is unknown: set its shape with --shape {port.name}=..."
                )
        return Redraw(Drawer(network, self.seed, requested, file_inputs))

    def complete_inputs(self, network: Model, file_inputs: dict[str, Array]) -> dict[str, Array]:
        """Return all inputs, random ones for those that are not given, and print these on stderr.

        Raises:
            ResourceError: If an input does not fit into memory.
        """
        redraw, requested = self.redraw(network, file_inputs), self.requested_shapes(network.inputs)
        is_open = any(
            port.name not in file_inputs and not requested.get(port.name, port.shape).is_static
            for port in network.inputs
        )
        tell_drawn(redraw.drawn, "; --shape sets other shapes" if is_open else "")
        return redraw.arrays


def tell_drawn(drawn: Drawn, hint: str = "") -> None:
    """Print a description of the random inputs on stderr, if there are any."""
    if drawn.inputs:
        for line in (str(drawn) + hint).splitlines():
            echo(printable(line), to_stderr=True)


def input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that run a model; the options of the inputs are combined into one argument."""

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
