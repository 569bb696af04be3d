"""Arrays of the command line: read from .npy and .npz, drawn at random, written, and summarised."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ir_exec.batch.items import port_of_key
from ir_exec.cli.files import writing
from ir_exec.cli.terminal import Unusable
from ir_exec.debug.files import NATIVE, RECORDS, storable, store_npz
from ir_exec.ir.urls import local_path
from ir_exec.model import ModelPort
from ir_exec.types import STRING, Array, ElementType

__all__ = ["Statistics", "read_array", "read_arrays", "split_named", "statistics", "write_arrays"]


def split_named(text: str, ports: Sequence[ModelPort], what: str) -> tuple[ModelPort, str]:
    """The input and the value of `name=value`; names may contain `=`."""
    for match in re.finditer("=", text):
        name = text[: match.start()]
        for port in ports:
            if name == port.name:
                return port, text[match.end() :]
        for port in ports:
            if name in port.names:
                return port, text[match.end() :]
    names = ", ".join(port.name for port in ports) or "none"
    raise Unusable(f"{what} {text!r} is not NAME=VALUE with the name of an input; the inputs are: {names}")


def read_array(path: str, port: ModelPort) -> Array:
    """The array of an .npy file, as the element type of an input."""
    loaded = _load(path)
    if isinstance(loaded, dict):
        raise Unusable(f"{path} holds several arrays: give it with --inputs")
    return _as_element_type(loaded, port)


def read_arrays(path: str, ports: Sequence[ModelPort]) -> dict[str, Array]:
    """The arrays of an .npz file by the names of the inputs; its keys are such names, or in0, in1, ..."""
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


def _load(path: str) -> Array | dict[str, Array]:
    try:
        loaded = np.load(local_path(path), allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unusable(f"cannot read arrays from {path}: {reason}") from None


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
