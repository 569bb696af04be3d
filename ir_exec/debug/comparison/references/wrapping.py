"""Recordings of a module that wraps the exported one, and exports of a module that wraps the recorded one."""

from __future__ import annotations

from collections.abc import Mapping

from ir_exec.debug.comparison.references.torch_hooks import (
    FIRST_INPUT,
    INPUTS,
    OUTPUTS,
    ancestors_of,
    common_prefix,
    is_input_of_module,
    is_within,
    named_layers,
    path_of,
)
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.types import Array

__all__ = ["is_of_wrapper", "unwrap_recording"]


def unwrap_recording(model: Model, arrays: Mapping[str, Array]) -> tuple[Mapping[str, Array], str | None]:
    """Return the part of a recording that is about the exported module, and the path of that module in the recording.

    The outputs of the exported module are then those of the recording, and its first input is an input of the model.

    Returns:
        These arrays and None for a recording of the exported module itself, and for one of a module inside it.
    """
    paths = [
        path_of(name)
        for name in arrays
        if not name.startswith((INPUTS, OUTPUTS)) and not is_input_of_module(name) and "/" not in name
    ]
    modules = {ancestor for module in named_layers(model, paths).values() for ancestor in ancestors_of(module)}
    if not modules or common_prefix(modules, paths):
        return arrays, None
    prefix = common_prefix(paths, modules)
    wrapped = prefix[:-1]
    outputs = {name: array for name, array in arrays.items() if path_of(name) == wrapped and "#" not in name}
    outputs = {name: array for name, array in outputs.items() if not is_input_of_module(name)}
    if not prefix or not outputs:
        return arrays, None
    ports = {name for port in model.inputs for name in (port.name, *port.names)}
    inputs = {name: array for name, array in arrays.items() if name.startswith(INPUTS) and name[len(INPUTS) :] in ports}
    first = arrays.get(wrapped + FIRST_INPUT)
    if first is not None and model.inputs:
        names = {INPUTS + name for name in (model.inputs[0].name, *model.inputs[0].names)}
        # The wrapping module may have changed an input of the same name.
        inputs = {name: array for name, array in inputs.items() if name not in names}
        inputs[INPUTS + model.inputs[0].name] = first
    inner = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
    ends = {f"{OUTPUTS}{position}": array for position, array in enumerate(outputs.values())}
    return inner | inputs | ends, wrapped


def is_of_wrapper(value: Value, named: Mapping[str, str], wrapped: str) -> bool:
    """Return True if a value is computed by the exported module itself, outside the module that it wraps.

    Args:
        named: The modules of the layers, by their names.
        wrapped: The path of the recorded module in the exported one.
    """
    node = value.node
    while (source := _moved_value(node)) is not None:
        node = source.node
    if isinstance(node.op, (Const, Parameter)):
        return False
    module = named.get(node.name)
    if module is not None:
        return not is_within(module, wrapped)
    if node.source is not None:
        return True
    # OpenVINO names a layer of the exported module itself after its function, `aten::mul/Multiply`.
    return "::" in node.name and not node.name.startswith("__module.")


def _moved_value(node: Node) -> Value | None:
    """Return the value that a layer moves or converts; None for layers that compute."""
    if node.op is None or not (node.op.is_data_movement or node.op.rounds) or not node.inputs:
        return None
    return node.inputs[0]
