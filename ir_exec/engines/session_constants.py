"""The constants of sessions: read from mapped files, given as arrays, or stored in the message."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.ir.mapped_file import file_range
from ir_exec.ir.urls import is_url
from ir_exec.model import Model
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported
    from ir_exec.onnx.export.writer import StoredTensor

__all__ = ["FOLDER_ENTRY", "SessionConstants", "declare_constants"]

FOLDER_ENTRY = "session.model_external_initializers_file_folder_path"
"""The configuration entry of the folder with files of constants."""

_IN_MEMORY = "memory"
"""The location of constants that are in no file."""

_MAPPED_FROM = 2**20
"""Minimum bytes of a constant that sessions map: the number of maps of a process is limited."""


@dataclass
class SessionConstants:
    """The constants of a session that are not in its message, by name.

    Attributes:
        folder: The folder of files with constants; None if sessions cannot read files.
        in_memory: Arrays in memory.
        computed: The names of those in memory that only the session requires.
        shared: Small arrays of a mapped file, which sessions would map one by one.
        mapped: The arrays of mapped files, including shared ones.
    """

    folder: str | None
    in_memory: dict[str, Array] = field(default_factory=dict)
    computed: set[str] = field(default_factory=set)
    shared: dict[str, Array] = field(default_factory=dict)
    mapped: list[Array] = field(default_factory=list)


def declare_constants(model: Model, exported: Exported, *, from_files: bool) -> SessionConstants:
    """Declare the constants in the message; only those without another way are stored in it.

    Sessions map large constants of a file themselves, and release each as soon as a kernel has packed it.

    Args:
        from_files: Sessions can read files.
    """
    folder = _folder_of(model) if from_files else None
    constants = SessionConstants(folder)
    for tensor in exported.tensors.values():
        array = np.ascontiguousarray(tensor.read() if tensor.read_packed is None else tensor.read_packed())
        position = file_range(array)
        is_plain = array.dtype.isbuiltin == 1 and tensor.read_packed is None
        path = "" if position is None else os.path.realpath(position.path)
        if position is not None and os.path.dirname(path) == folder:
            _declare(exported.proto, tensor, array, os.path.basename(path), position.offset)
            constants.mapped.append(array)
            if is_plain and array.nbytes < _MAPPED_FROM:
                constants.shared[tensor.name] = array
        elif is_plain:
            _declare(exported.proto, tensor, array, _IN_MEMORY, 0)
            constants.in_memory[tensor.name] = array
            if tensor.is_computed:
                constants.computed.add(tensor.name)
        else:
            _embed(exported.proto, tensor, array)
    return constants


def _folder_of(model: Model) -> str | None:
    path = None if model.weights is None else model.weights.path
    return None if path is None or is_url(path) else os.path.dirname(os.path.realpath(path))


def _declare(proto: Any, tensor: StoredTensor, array: Array, location: str, offset: int) -> None:
    """Declare an initializer with elements given to the session, or stored in a file."""
    from onnx import TensorProto

    initializer = proto.graph.initializer.add()
    initializer.name, initializer.data_type, initializer.data_location = tensor.name, tensor.code, TensorProto.EXTERNAL
    initializer.dims.extend(tensor.shape)
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(array.nbytes))):
        entry = initializer.external_data.add()
        entry.key, entry.value = key, value


def _embed(proto: Any, tensor: StoredTensor, array: Array) -> None:
    """Put an initializer into the message: sessions accept no arrays of its type."""
    from ir_exec.onnx.export.writer import raw_bytes

    initializer = proto.graph.initializer.add()
    initializer.name, initializer.data_type, initializer.raw_data = tensor.name, tensor.code, bytes(raw_bytes(array))
    initializer.dims.extend(tensor.shape)
