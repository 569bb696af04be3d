"""Items in files: arrays of .npz and .npy, of Zarr, columns of Parquet, and images, read by the worker that needs them.

The arrays of a file with several (.npz, a Zarr group, columns of Parquet) are for the inputs of their names, or in0,
in1, ...; the array of an .npy or a Zarr array is for the only input, or for the input that it is named after.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.batch.names import IMAGES, port_of_key
from ir_exec.codes import Code
from ir_exec.debug.values.files import damaged_file_error, nearest, read_npy, read_npz
from ir_exec.errors import EvaluationError
from ir_exec.hints import install_hint
from ir_exec.ir.paths import local_path
from ir_exec.ir.urls import is_url, replaced_suffix, suffix_of
from ir_exec.model import ModelPort
from ir_exec.types import STRING, Array

if TYPE_CHECKING:
    from ir_exec.batch.input_files import Pixels

__all__ = ["SUFFIXES", "StoredFile", "StoredItem", "items_in"]

UNNAMED = ""
"""The key of an array without a name in its file."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file with arrays.

    Attributes:
        input: The name of the input for its only array, if the file does not name it.
        pixels: The conversion of the pixels of an image.
    """

    path: str
    input: str = UNNAMED
    pixels: Pixels | None = None

    @property
    def suffix(self) -> str:
        return suffix_of(self.path)

    @property
    def is_image(self) -> bool:
        return self.suffix in IMAGES


@dataclass(frozen=True, slots=True)
class StoredItem:
    """The content of these files, or rows of it, as the inputs of one run.

    Attributes:
        rows: The first row and the end (exclusive).
        is_single: The row itself, without the axis of the rows.
    """

    files: tuple[StoredFile, ...]
    rows: tuple[int, int] | None = None
    is_single: bool = False

    def load(self, ports: Sequence[ModelPort]) -> tuple[dict[str, Array], str]:
        """Return the arrays by the names of inputs, and the digest of all of them.

        Raises:
            FileNotFoundError: If there is no such file.
            EvaluationError: IR705 for a file that cannot be read or has other arrays.
        """
        arrays: dict[str, Array] = {}
        for file in self.files:
            if file.is_image:
                from ir_exec.batch.input_files import input_of_file

                port = _port_of(file, UNNAMED, ports)
                arrays[port.name] = input_of_file(_readable(file), port, file.pixels)
                continue
            read = _reader_of(file)
            for key, array in read(_readable(file), self.rows, ports).items():
                port = _port_of(file, key, ports)
                arrays[port.name] = nearest(array[0] if self.is_single else array, port.element_type)
        return arrays, digest_of(arrays)


def digest_of(arrays: Mapping[str, Array]) -> str:
    """Return the sha256 of names, types, shapes and elements."""
    digest = sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode("utf-8", "surrogatepass"))
        if array.dtype.hasobject:
            digest.update("\0".join(map(repr, array.ravel().tolist())).encode("utf-8", "surrogatepass"))
        else:
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def items_in(
    files: Sequence[StoredFile], ports: Sequence[ModelPort], batch: int | None = None
) -> Iterator[tuple[str, StoredItem]]:
    """Yield the items of files that belong together, each with a name: rows of stacked arrays, or all arrays.

    Args:
        batch: The number of rows of an item. None: an .npz is one item, and so is a file whose arrays have the rank of
            their inputs and the declared number of rows; other files have an item for each row.

    Raises:
        EvaluationError: IR705 for files that cannot be read, or have different numbers of rows.
    """
    stem = os.path.basename(replaced_suffix(files[0].path.rstrip("/"), "").partition("::")[0].partition("?")[0])
    if batch is None and (files[0].suffix == ".npz" or all(file.is_image for file in files)):
        yield stem, StoredItem(tuple(files))
        return
    shapes = [(file, name, shape) for file in files for name, shape in _shapes_in(file, ports).items()]
    counts = {shape[0] for _, _, shape in shapes if shape}
    if len(counts) != 1 or not all(shape for _, _, shape in shapes):
        listed = ", ".join(f"{name or file.path}: {list(shape)}" for file, name, shape in shapes)
        raise EvaluationError(
            "the shapes are",
            actual=listed,
            expected="a first axis of equal size that counts the items",
            code=Code.unknown_input,
        )
    (count,) = counts
    ranked = [(shape, _port_of(file, name, ports).shape.dims) for file, name, shape in shapes]
    is_single = batch is None and all(dims is not None and len(shape) == len(dims) + 1 for shape, dims in ranked)
    if batch is None and not is_single:
        sizes = [dims[0].lo for _, dims in ranked if dims and dims[0].is_static]
        batch = max(1, max(sizes, default=1))
    step = batch or 1
    width = len(str(max(0, (count - 1) // step)))
    for position, start in enumerate(range(0, count, step)):
        yield f"{stem}-{position:0{width}}", StoredItem(tuple(files), (start, min(count, start + step)), is_single)


def _port_of(file: StoredFile, key: str, ports: Sequence[ModelPort]) -> ModelPort:
    key = key or file.input
    if key == UNNAMED and len(ports) == 1:
        return ports[0]
    port = port_of_key(key, ports)
    if port is None:
        names = ", ".join(port.name for port in ports) or "none"
        what = f"contains {key!r}, which is not an input" if key else "contains one array without the name of an input"
        raise EvaluationError(f"{file.path} {what}; the inputs are: {names}", code=Code.unknown_input)
    return port


Reader = Callable[[str, tuple[int, int] | None, Sequence[ModelPort]], dict[str, Array]]


def _reader_of(file: StoredFile) -> Reader:
    if file.suffix not in SUFFIXES:
        expected = ", ".join(SUFFIXES)
        raise EvaluationError(f"{file.path} has no known suffix of arrays", expected=expected, code=Code.unknown_input)
    return SUFFIXES[file.suffix]


def _readable(file: StoredFile) -> str:
    """Return the path to open: the file itself, or the local copy of a URL.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    if is_url(file.path) and file.suffix == ".zarr":
        return file.path  # it is a folder, and Zarr fetches the files that it needs
    try:
        path = local_path(file.path)
        os.stat(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise damaged_file_error(file.path, error) from None
    return path


def _read_npz(path: str, rows: tuple[int, int] | None, ports: Sequence[ModelPort]) -> dict[str, Array]:
    if rows is None:
        return read_npz(path)
    status = os.stat(path)
    return {name: array[slice(*rows)] for name, array in _kept_npz(path, status.st_size, status.st_mtime_ns).items()}


@lru_cache(maxsize=1)
def _kept_npz(path: str, size: int, written: int) -> dict[str, Array]:
    """Load a whole archive, and keep it for the next rows; a changed file is loaded again."""
    return read_npz(path)


def _read_npy(path: str, rows: tuple[int, int] | None, ports: Sequence[ModelPort]) -> dict[str, Array]:
    if rows is None:
        return {UNNAMED: np.array(read_npy(path, mapped=True))}
    status = os.stat(path)
    return {UNNAMED: np.array(_mapped_npy(path, status.st_size, status.st_mtime_ns)[slice(*rows)])}


@lru_cache(maxsize=4)
def _mapped_npy(path: str, size: int, modified: int) -> Array:
    """Map an array for rows of several items; a changed file is mapped again."""
    return read_npy(path, mapped=True)


def _read_zarr(path: str, rows: tuple[int, int] | None, ports: Sequence[ModelPort]) -> dict[str, Array]:
    arrays = _open_zarr(path, ports)
    try:
        return {
            name: np.asarray(stored[...] if rows is None else stored[slice(*rows)]) for name, stored in arrays.items()
        }
    except Exception as error:  # codecs raise any exception for damaged chunks
        raise damaged_file_error(path, error) from None


def _open_zarr(path: str, ports: Sequence[ModelPort]) -> dict[str, Any]:
    """Return the arrays of a group that are for inputs, or the only one."""
    try:
        import zarr
    except ImportError:
        raise _not_installed(path, "zarr") from None
    try:
        opened = zarr.open(path, mode="r")
    except Exception as error:
        raise damaged_file_error(path, error) from None
    if isinstance(opened, zarr.Array):
        arrays = {UNNAMED: opened}
    else:
        arrays = {name: array for name, array in opened.arrays() if port_of_key(name, ports) is not None}
    for array in arrays.values():
        # Versions of numcodecs before 0.16.6 decode pickles, which run code.
        if any(getattr(codec, "codec_id", "") == "pickle" for codec in (*array.filters, *array.compressors)):
            raise damaged_file_error(path, ValueError("Object arrays are stored as pickles"))
    return arrays


def _read_parquet(path: str, rows: tuple[int, int] | None, ports: Sequence[ModelPort]) -> dict[str, Array]:
    file = _open_parquet(path)
    first, last = (0, file.metadata.num_rows) if rows is None else rows
    groups, start, end = [], 0, 0
    for group in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if end <= first:
            start = end
        end += size
        if end > first and end - size < last:
            groups.append(group)
    columns = _columns(file, ports)
    status = os.stat(path)
    table = _row_groups(path, (status.st_size, status.st_mtime_ns), tuple(groups), tuple(columns))
    arrays: dict[str, Array] = {}
    for name in columns:
        port = port_of_key(name, ports)
        assert port is not None, "only columns of inputs are read"
        arrays[name] = _of_column(table.column(name).slice(first - start, last - first), port, path, name)
    return arrays


def _open_parquet(path: str) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise _not_installed(path, "parquet") from None
    try:
        return parquet.ParquetFile(path, memory_map=True)
    except (ArrowException, ValueError, OSError) as error:
        raise damaged_file_error(path, error) from None


def _columns(file: Any, ports: Sequence[ModelPort]) -> list[str]:
    return [name for name in file.schema_arrow.names if port_of_key(name, ports) is not None]


@lru_cache(maxsize=1)
def _row_groups(path: str, stamp: tuple[int, int], groups: tuple[int, ...], columns: tuple[str, ...]) -> Any:
    """Read whole row groups, and keep them for the next rows; a changed file is read again."""
    return _open_parquet(path).read_row_groups(list(groups), columns=list(columns))


def _of_column(column: Any, port: ModelPort, path: str, name: str) -> Array:
    """Return numbers, or nested lists of numbers of any depth, as an array with an axis for the rows."""
    import pyarrow
    from pyarrow.compute import list_value_length

    array = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    sizes = [len(array)]
    while pyarrow.types.is_list(array.type) or pyarrow.types.is_large_list(array.type) or _is_fixed(array):
        if array.null_count:
            raise EvaluationError(f"{path}: the column {name!r} has rows without a value", code=Code.unknown_input)
        lengths = np.unique(np.asarray(list_value_length(array)))
        if len(lengths) > 1:
            raise EvaluationError(
                f"{path}: the rows of {name!r} differ in length", expected="equal lengths", code=Code.unknown_input
            )
        sizes.append(int(lengths[0]) if len(lengths) else 0)
        array = array.flatten()
    if array.null_count:
        raise EvaluationError(f"{path}: the column {name!r} has rows without a value", code=Code.unknown_input)
    flat = array.to_numpy(zero_copy_only=False)
    if port.element_type in STRING:
        flat = flat.astype(object)
    dims = port.shape.dims
    tail = [dim.lo for dim in dims[1:]] if dims and all(dim.is_static for dim in dims[1:]) else None
    if len(sizes) == 2 and tail is not None and sizes[1] == int(np.prod(tail)):
        sizes = [sizes[0], *tail]  # Parquet has no arrays: a shape flattened for storage is restored
    return np.array(flat).reshape(sizes)


def _is_fixed(array: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_fixed_size_list(array.type))


def _shapes_in(file: StoredFile, ports: Sequence[ModelPort]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of a file, by their keys; in Parquet every column has the rank of its input."""
    _reader_of(file)
    path = _readable(file)
    if file.suffix == ".npz":
        return {name: array.shape for name, array in read_npz(path).items()}
    if file.suffix == ".npy":
        return {UNNAMED: read_npy(path, mapped=True).shape}
    if file.suffix == ".zarr":
        return {name: array.shape for name, array in _open_zarr(path, ports).items()}
    opened = _open_parquet(path)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_columns(opened, ports), (opened.metadata.num_rows,))
    if not shapes:
        names = ", ".join(port.name for port in ports)
        raise EvaluationError(f"{file.path} has no column for an input: {names}", code=Code.unknown_input)
    return shapes


def _not_installed(path: str, extra: str) -> EvaluationError:
    return EvaluationError(
        f"{path} cannot be read: {extra} is not installed", code=Code.unknown_input, hint=install_hint(extra)
    )


SUFFIXES: dict[str, Reader] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".zarr": _read_zarr,
    ".parquet": _read_parquet,
}
"""The readers of files, by the suffixes of their names."""
