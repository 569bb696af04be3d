"""Recording of a PyTorch module by hooks: inputs, outputs, and the output of every module inside it.

PyTorch is not imported: any object with `named_modules`, and `register_forward_hook` on each module, can be recorded.
"""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ir_exec.debug.values.files import write_npz
from ir_exec.types import Array

__all__ = ["FIRST_INPUT", "INPUTS", "OUTPUTS", "Recording", "torch_recorder"]

INPUTS = "inputs/"
"""Prefix of the name of an input in a recording."""

OUTPUTS = "outputs/"
"""Prefix of the name or position of an output of the whole module."""

FIRST_INPUT = "@0"
"""Suffix of the path of a module in the name of its first input."""


class Recording:
    """Arrays by `inputs/NAME`, by `outputs/NAME` and by the paths of modules, in the order of the calls.

    The second output of a module is `PATH:1`, the output of its second call is `PATH#2`, and the first inputs of its
    calls are `PATH@0` and `PATH@0#2`.

    Attributes:
        calls: The number of calls of the whole module. Only the first call is recorded.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.calls = 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays as an .npz."""
        write_npz(path, self.arrays)


@contextmanager
def torch_recorder(model: Any, path: str | os.PathLike[str] | None = None) -> Iterator[Recording]:
    """Record the first call of a PyTorch module in the block, for `compare` with the exported model.

    Tuples, dicts and caches are recorded tensor by tensor; bfloat16 is recorded as float32.

    Args:
        path: The .npz to write at the end of the block, unless the block fails.
    """
    recording = Recording()
    seen: Counter[str] = Counter()
    handles = []
    for name, module in model.named_modules():
        if name:
            handles.append(module.register_forward_pre_hook(_pre_hook(recording, seen, name)))
        handles.append(
            _register_hook(module, _root_hook(recording, model) if not name else _hook(recording, seen, name))
        )
    try:
        yield recording
    finally:
        for handle in handles:
            handle.remove()
    if path is not None:
        recording.save(path)


def _register_hook(module: Any, hook: Any) -> Any:
    try:
        return module.register_forward_hook(hook, with_kwargs=True)
    except TypeError:  # PyTorch before 2.0 does not support keyword arguments
        return module.register_forward_hook(lambda self, arguments, output: hook(self, arguments, {}, output))


def _pre_hook(recording: Recording, seen: Counter[str], name: str) -> Any:
    """Record the first input before the call, because a module that works in place overwrites it."""

    def record(_module: Any, arguments: Any) -> None:
        if not recording.calls and (first := next(_tensors(arguments[:1]), None)) is not None:
            recording.arrays[name + FIRST_INPUT + (f"#{seen[name] + 1}" if seen[name] else "")] = first[1]

    return record


def _hook(recording: Recording, seen: Counter[str], name: str) -> Any:
    def record(_module: Any, _arguments: Any, _named: Any, output: Any) -> None:
        if recording.calls:
            return
        seen[name] += 1
        call = f"#{seen[name]}" if seen[name] > 1 else ""
        for position, (_, tensor) in enumerate(_tensors(output)):
            recording.arrays[name + (f":{position}" if position else "") + call] = tensor

    return record


def _root_hook(recording: Recording, model: Any) -> Any:
    def record(_module: Any, arguments: Any, named: Any, output: Any) -> None:
        recording.calls += 1
        if recording.calls > 1:
            return
        try:
            names = list(inspect.signature(model.forward).parameters)
        except (AttributeError, TypeError, ValueError):
            names = []
        names += [f"in{position}" for position in range(len(names), len(arguments))]
        for name, value in [*zip(names, arguments, strict=False), *named.items()]:
            for further, tensor in _tensors(value):
                recording.arrays[INPUTS + name + (f".{further}" if further else "")] = tensor
        for position, (name, tensor) in enumerate(_tensors(output)):
            recording.arrays[OUTPUTS + (name or str(position))] = tensor

    return record


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    """Yield the tensors of a value, each with its path of keys and positions."""
    if hasattr(value, "detach"):
        yield name, _array(value)
    elif isinstance(value, np.ndarray):
        yield name, np.array(value)
    else:
        for key, item in _items(value):
            yield from _tensors(item, f"{name}.{key}" if name else str(key))


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (tuple, list)):
        yield from enumerate(value)
    elif isinstance(layers := getattr(value, "layers", None), (tuple, list)):  # a cache of keys and values
        for position, layer in enumerate(layers):
            for key in ("keys", "values"):
                yield f"{position}.{key}", getattr(layer, key, None)


def _array(tensor: Any) -> Array:
    tensor = tensor.detach().cpu()
    try:
        return np.array(tensor.numpy())
    except TypeError:  # bfloat16, which NumPy does not have
        return np.array(tensor.float().numpy())
