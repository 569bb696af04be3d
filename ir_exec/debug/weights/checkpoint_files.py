"""Checkpoints by the name of a file or the content of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ir_exec.codes import Code
from ir_exec.debug.weights.readers.gguf_files import read_gguf
from ir_exec.debug.weights.readers.npz_files import read_npz_checkpoint
from ir_exec.debug.weights.readers.packed_tensors import decode_packed_tensors
from ir_exec.debug.weights.readers.safetensors_files import read_index, read_safetensors
from ir_exec.debug.weights.readers.tensors import Checkpoint
from ir_exec.debug.weights.readers.torch_files import read_torch
from ir_exec.errors import Location, WeightsError
from ir_exec.hints import path_hint
from ir_exec.ir.regular_files import open_regular

__all__ = ["CHECKPOINT_ENDINGS", "find_adapter", "find_checkpoint", "is_checkpoint", "open_checkpoint"]

_READERS: Mapping[str, Callable[[str], Checkpoint]] = {
    ".safetensors": read_safetensors,
    ".safetensors.index.json": read_index,
    ".gguf": read_gguf,
    ".npz": read_npz_checkpoint,
    ".pt": read_torch,
    ".pth": read_torch,
    ".ckpt": read_torch,
    ".bin": read_torch,
    ".bin.index.json": read_torch,
}

CHECKPOINT_ENDINGS = tuple(_READERS)
"""File name extensions of checkpoints."""

_NAMES = (
    "model.safetensors.index.json",
    "model.safetensors",
    "diffusion_pytorch_model.safetensors.index.json",
    "diffusion_pytorch_model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
)
"""The files of a folder that are checkpoints, the first one before the others."""

ADAPTER_NAMES = ("adapter_model.safetensors", "adapter_model.bin")

_MOST_SETTINGS = 2**24


def is_checkpoint(path: str) -> bool:
    """Return True if the path is that of a checkpoint, or of a folder with one, and not of a model."""
    if os.path.isdir(path):
        return find_checkpoint(path) is not None or find_adapter(path) is not None
    if path.lower().endswith(".bin"):
        return _is_archive(path)
    return path.lower().endswith(CHECKPOINT_ENDINGS)


def find_checkpoint(folder: str) -> str | None:
    """Return the path of the checkpoint in a folder, without adapters; None if there is none."""
    names = _list_names(folder)
    usual_name = next((name for name in _NAMES if name in names), None)
    if usual_name is None:
        endings = (".safetensors", ".gguf")
        others = [name for name in names if name.endswith(endings) and name not in ADAPTER_NAMES]
        usual_name = others[0] if len(others) == 1 else None
    return None if usual_name is None else os.path.join(folder, usual_name)


def find_adapter(folder: str) -> str | None:
    """Return the path of the adapter in a folder; None if there is none."""
    names = _list_names(folder)
    name = next((name for name in ADAPTER_NAMES if name in names), None)
    return None if name is None else os.path.join(folder, name)


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Open a checkpoint; its tensors are read later.

    The path is a file of safetensors, GGUF, NumPy (.npz) or PyTorch, an index of several files, or a folder with one of
    them. Settings of an adapter are those of `adapter_config.json` next to it.

    Raises:
        WeightsError: If there is no checkpoint, or it is damaged.
        UnsupportedError: If it needs a package that is not installed.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        file = find_checkpoint(name) or find_adapter(name)
        if file is None:
            _refuse_path(name, f"{name} has no checkpoint, expected {', '.join(_NAMES)}")
        name = file
    reader = next((_READERS[ending] for ending in _READERS if name.lower().endswith(ending)), None)
    if reader is None:
        _refuse_path(name, f"{name} is not a checkpoint, expected {', '.join(CHECKPOINT_ENDINGS)}")
    try:
        with open_regular(name):
            pass
    except OSError as error:
        _refuse_path(name, f"cannot read the checkpoint: {error.strerror or error}", path_hint(name))
    folder = os.path.dirname(name)
    checkpoint = decode_packed_tensors(reader(name), _read_quantization(folder))
    settings = _read_settings(os.path.join(folder, "adapter_config.json"))
    if os.path.basename(name) in ADAPTER_NAMES and settings:
        return Checkpoint(name, checkpoint.format, checkpoint.tensors, checkpoint.not_compared, settings)
    return checkpoint


def _refuse_path(path: str, message: str, hint: str | None = None) -> NoReturn:
    raise WeightsError(message, code=Code.unreadable_path, hint=hint, location=Location(path=path))


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_archive(path: str) -> bool:
    """Return True for a .bin of PyTorch; those of IR have no signature."""
    try:
        with open_regular(path) as file:
            return file.read(4) == b"PK\x03\x04" or os.path.basename(path).startswith(
                ("pytorch_model", "adapter_model")
            )
    except OSError:
        return False


def _read_quantization(folder: str) -> Mapping[str, Any]:
    """The settings of the quantization of a checkpoint, in one of two files."""
    config = _read_settings(os.path.join(folder, "config.json")).get("quantization_config")
    return config if isinstance(config, dict) else _read_settings(os.path.join(folder, "quantize_config.json"))


def _read_settings(path: str) -> dict[str, Any]:
    try:
        with open_regular(path) as file:
            content = json.loads(file.read(_MOST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
