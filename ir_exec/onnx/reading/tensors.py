"""Conversion of ONNX element types, shapes and tensors to IR."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ResourceError, UnsupportedError, WeightsError
from ir_exec.onnx.lowering.values import Narrow
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, require_array_size

if TYPE_CHECKING:
    from onnx import SparseTensorProto, TensorProto, TypeProto

    from ir_exec.build import Value

__all__ = [
    "array_of",
    "dense",
    "element_type_of",
    "external_number",
    "external_path",
    "is_narrow",
    "narrow",
    "onnx_type",
    "tensor_type_of",
    "wider_type_of",
]

_NAMES = {
    "FLOAT": "f32",
    "DOUBLE": "f64",
    "FLOAT16": "f16",
    "BFLOAT16": "bf16",
    "FLOAT8E4M3FN": "f8e4m3",
    "FLOAT8E5M2": "f8e5m2",
    "FLOAT8E8M0": "f8e8m0",
    "FLOAT4E2M1": "f4e2m1",
    "INT4": "i4",
    "INT8": "i8",
    "INT16": "i16",
    "INT32": "i32",
    "INT64": "i64",
    "UINT2": "u2",
    "UINT4": "u4",
    "UINT8": "u8",
    "UINT16": "u16",
    "UINT32": "u32",
    "UINT64": "u64",
    "BOOL": "boolean",
    "STRING": "string",
}
"""The element types in both ONNX and IR, by their names in both."""

_MOST_ELEMENTS = 2**40

_LEAST_MAPPED = 2**16 + 1
"""Minimum bytes of external data that is mapped instead of read."""

_MOST_DENSE = 2**28
"""Maximum elements of a tensor that a file stores without its zeros."""


def element_type_of(code: int) -> ElementType:
    """The element type of a TensorProto.DataType.

    Raises:
        UnsupportedError: If IR has no equivalent.
    """
    from onnx import TensorProto

    try:
        name = TensorProto.DataType.Name(code)
    except ValueError:
        raise UnsupportedError(f"{code} is not an element type of ONNX") from None
    if name not in _NAMES:
        raise UnsupportedError(f"IR has no element type for {name}")
    return ElementType[_NAMES[name]]


_WIDER = {"INT2": "i8", "FLOAT8E4M3FNUZ": "f32", "FLOAT8E5M2FNUZ": "f32"}
"""Element types that IR does not have, and types that represent all of their values."""

_BITS = {"INT2": 2, "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2FNUZ": 8}


def wider_type_of(code: int) -> ElementType:
    """The element type for the values of this TensorProto.DataType: the equivalent, or a wider one."""
    from onnx import TensorProto

    name = TensorProto.DataType.Name(code) if code in TensorProto.DataType.values() else ""
    return ElementType[_WIDER[name]] if name in _WIDER else element_type_of(code)


def is_narrow(code: int) -> bool:
    """Return True if IR represents this TensorProto.DataType only by a wider type."""
    from onnx import TensorProto

    return code in TensorProto.DataType.values() and TensorProto.DataType.Name(code) in _WIDER


def narrow(value: Value, code: int) -> Value | Narrow:
    """A tensor with values of this TensorProto.DataType."""
    return Narrow(value, code) if is_narrow(code) else value


def onnx_type(element_type: ElementType) -> int:
    """The TensorProto.DataType of an element type.

    Raises:
        UnsupportedError: If ONNX has none.
    """
    from onnx import TensorProto

    for name, ours in _NAMES.items():
        if ours == element_type.name:
            return int(TensorProto.DataType.Value(name))
    raise UnsupportedError(f"ONNX has no element type for {element_type}")


def tensor_type_of(declared: TypeProto) -> TensorType:
    """The type that a file declares for a tensor."""
    tensor = declared.tensor_type
    element_type = wider_type_of(tensor.elem_type) if tensor.elem_type else ElementType.dynamic
    if not tensor.HasField("shape"):
        return TensorType(element_type, Shape.unknown())
    dims = [
        Dim.of(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else Dim.any()
        for dim in tensor.shape.dim
    ]
    return TensorType(element_type, Shape(dims))


def array_of(tensor: TensorProto, folder: str | None) -> Array:
    """The elements of a tensor of a file.

    Arrays of external data are mapped, not read.

    Args:
        folder: The folder of the file; external data is only read from there.

    Raises:
        WeightsError: If dims and data do not match, or the data cannot be read.
        ResourceError: For dims that no array can have.
        UnsupportedError: For an element type that IR does not have.
    """
    from onnx import numpy_helper

    element_type = wider_type_of(tensor.data_type)
    bits = _BITS.get(tensor.DataType.Name(tensor.data_type), element_type.bits)
    dims = tuple(tensor.dims)
    if min(dims, default=0) < 0 or math.prod(dims) > _MOST_ELEMENTS:
        raise WeightsError("the dims are", actual=list(dims), expected="valid sizes", code=Code.constant_offset)
    require_array_size(dims, max(bits // 8, 1))
    if tensor.data_location == tensor.EXTERNAL:
        if is_narrow(tensor.data_type):
            raise UnsupportedError(f"external data of type {tensor.DataType.Name(tensor.data_type)} is not supported")
        return _external(tensor, element_type, dims, folder)
    _check_length(tensor, element_type, bits, math.prod(dims))
    if element_type is ElementType.string:
        return _strings(tensor.string_data, dims)
    try:
        array: Array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, AssertionError) as error:
        raise WeightsError(f"the data cannot be read: {error}", code=Code.constant_size) from None
    if array.shape != dims:
        message = f"the data has shape {list(array.shape)}, but the dims are {list(dims)}"
        raise WeightsError(message, code=Code.constant_size)
    return array.astype(element_type.dtype) if is_narrow(tensor.data_type) else array


def dense(sparse: SparseTensorProto, decoded: Callable[[TensorProto], Array]) -> Array:
    """Zeros with values at the given indices: `indices` are flat, or one row of coordinates for each value.

    Raises:
        WeightsError: For an index out of range.
        ResourceError: For more zeros than a file may request.
    """
    values, indices = decoded(sparse.values), decoded(sparse.indices)
    dims = tuple(sparse.dims)
    if min(dims, default=0) < 0 or math.prod(dims) > _MOST_DENSE:
        raise ResourceError(f"the sparse tensor of dims {list(dims)} is too large")
    require_array_size(dims, values.dtype.itemsize)
    try:
        flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dims)
        elements = np.zeros(math.prod(dims), values.dtype)
        elements[flat] = values
    except (ValueError, IndexError, TypeError) as error:
        raise WeightsError(
            f"the sparse tensor of dims {list(dims)} is invalid: {error}", code=Code.constant_size
        ) from None
    return elements.reshape(dims)


def _strings(stored: Iterable[bytes], dims: tuple[int, ...]) -> Array:
    try:
        texts = [raw.decode() for raw in stored]
    except UnicodeDecodeError:
        raise WeightsError("a string is not valid UTF-8", code=Code.damaged_strings) from None
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(dims)


def _check_length(tensor: TensorProto, element_type: ElementType, bits: int, count: int) -> None:
    """Check, before allocation, that the data has as many elements as the dims require."""
    if element_type is ElementType.string:
        actual, needed, unit = len(tensor.string_data), count, "strings"
    elif tensor.HasField("raw_data"):
        actual, needed, unit = len(tensor.raw_data), (count * bits + 7) // 8, "bytes"
    else:
        lists = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
        actual = max(len(getattr(tensor, name)) for name in lists)
        packed = 8 // bits if 0 < bits < 8 else 1
        needed, unit = -(-count // packed), "elements"
    if actual != needed:
        raise WeightsError(
            "the data has",
            actual=actual,
            detail=unit,
            expected=needed,
            reason=f" for {element_type}{list(tensor.dims)}",
            code=Code.constant_size,
        )


def _external(tensor: TensorProto, element_type: ElementType, dims: tuple[int, ...], folder: str | None) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = external_path(entries.get("location", ""), folder)
    if element_type is ElementType.string:
        raise WeightsError(
            "strings are stored as external data", expected="strings inside the file", code=Code.constant_size
        )
    needed = (math.prod(dims) * element_type.bits + 7) // 8
    offset, size = external_number(entries, "offset", 0), external_number(entries, "length", needed)
    if size != needed:
        raise WeightsError(
            "the length of the external data is",
            actual=size,
            expected=needed,
            reason=f" for {element_type}{list(dims)}",
            code=Code.constant_size,
        )
    stored = _read_bytes(path, offset, needed)
    if not needed:
        return np.empty(dims, element_type.dtype)
    if element_type.bits < 8:
        from ir_exec.ir.packing import decode

        return decode(element_type, dims, stored)
    view: Array = np.asarray(stored).view(element_type.dtype).reshape(dims)
    return view


def _read_bytes(path: str, offset: int, size: int) -> Array:
    """Bytes of a file, mapped if they are many.

    Raises:
        WeightsError: If the file cannot be read or is too short.
    """
    name = os.path.basename(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            message = f"the external data {name!r} is not a regular file"
            raise WeightsError(message, code=Code.weights_missing)
        if offset + size > status.st_size:
            raise WeightsError(
                "the data ends at byte",
                actual=offset + size,
                expected=f"at most {status.st_size}",
                reason=f"the bytes of {name!r}",
                code=Code.weights_short,
            )
        if size >= _LEAST_MAPPED:
            return np.memmap(path, np.uint8, "r", offset, (size,))
        return np.fromfile(path, np.uint8, size, offset=offset)
    except OSError as error:
        message = f"the external data {name!r} cannot be read: {error.strerror or error}"
        raise WeightsError(message, code=Code.weights_missing) from None


def external_number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isdecimal() and text.isascii() and len(text) < 19):
        raise WeightsError(
            f"the {key} of external data is", actual=repr(text), expected="a number", code=Code.constant_offset
        )
    return int(text)


def external_path(location: str, folder: str | None) -> str:
    """The path of external data.

    Raises:
        WeightsError: If the path is not inside the folder of the model.
    """
    if folder is None:
        message = f"the data is in {location!r}, but a model read from bytes has no folder"
        raise WeightsError(message, code=Code.weights_missing, hint="read the model from its path")
    base = os.path.realpath(folder)
    # A path with a null byte does not exist, and Python's functions raise a ValueError for it.
    path = os.path.realpath(os.path.join(base, location.replace("\0", "")))
    is_name = location and "\0" not in location and not os.path.isabs(location)
    if not is_name or os.path.commonpath([base, path]) != base or path == base:
        message = f"the external data {location!r} is outside the model's folder"
        raise WeightsError(message, code=Code.weights_missing)
    return path
