"""A PyTorch module as a reference: it is called once, and recorded as by `torch_recorder`.

PyTorch is not imported: a module is any object with `named_modules` and `register_forward_hook`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.torch_hooks import Recording, torch_recorder
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node
from ir_exec.model import Model, ModelPort
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.readers import is_exported_program
from ir_exec.types import Array, ElementType

__all__ = ["is_torch_module", "record_module"]

_RECORD = "record the module yourself: torch_recorder(module, 'recording.npz'), and compare with the file"


def is_torch_module(source: object) -> bool:
    """Return True for a module or an exported program of PyTorch."""
    cls = type(source)
    return is_exported_program(source) or (hasattr(cls, "named_modules") and hasattr(cls, "register_forward_hook"))


def record_module(module: Any, model: Model, arrays: Sequence[Array]) -> Recording:
    """Call a module with the inputs of a model, in evaluation mode and without gradients, and record it.

    Args:
        module: A module, or an exported program.
        arrays: The inputs in the order of the model.

    Raises:
        EvaluationError: If the call fails.
    """
    torch, title = sys.modules.get("torch"), f"{type(module).__name__} (PyTorch)"
    if is_exported_program(module):
        module = _unflatten(module)
    try:
        positional, named = _bind(module, _arguments_of(model), [_to_tensor(array, module) for array in arrays])
        without_gradients = nullcontext() if torch is None else torch.no_grad()
        with _evaluation_mode(module), without_gradients, torch_recorder(module) as recording:
            module(*positional, **named)
    except Exception as error:
        # Any exception of the module.
        message = f"{title} cannot be called with the inputs of the model: {type(error).__name__}: {str(error)[:500]}"
        raise EvaluationError(message, code=Code.failed, hint=_RECORD) from error
    # The names of inputs are those of the model, for modules whose arguments have other names.
    inputs = {port.name: array for port, array in zip(model.inputs, arrays, strict=True)}
    recording.set_inputs(inputs)
    recording.title = title
    return recording


def _unflatten(program: Any) -> Any:
    """Return the module of an exported program, with its submodules if PyTorch can restore them."""
    export = sys.modules.get("torch.export")
    try:
        return export.unflatten(program)  # type: ignore[union-attr]  # an exported program has imported it
    except Exception:
        # Any exception of PyTorch: the flat module computes the same outputs.
        return program.module()


@contextmanager
def _evaluation_mode(module: Any) -> Iterator[None]:
    """Set the evaluation mode of all submodules, and restore their modes."""
    modes = [(inner, inner.training) for _, inner in module.named_modules() if getattr(inner, "training", False)]
    for inner, _ in modes:
        inner.training = False
    try:
        yield
    finally:
        for inner, mode in modes:
            inner.training = mode


def _arguments_of(model: Model) -> list[ModelPort | None]:
    """Return the inputs of a model that are arguments of its module; None for those that only select variables.

    OpenVINO's export of a language model with a cache selects the rows of its variables by an input, `beam_idx`.
    """
    readers: dict[str, list[Node]] = {node.id: [] for node in model.graph.parameters}
    for node in model.graph.nodes:
        for value in node.inputs:
            if value is not None and value.node.id in readers:
                readers[value.node.id].append(node)
    return [
        None if readers[node.id] and all(map(_selects_variable, readers[node.id])) else port
        for node, port in zip(model.graph.parameters, model.inputs, strict=True)
    ]


def _selects_variable(node: Node) -> bool:
    """Return True for a node that moves elements of a variable, selected by its other inputs."""
    source = node.inputs[0] if node.op is not None and node.op.is_data_movement is True and node.inputs else None
    return source is not None and isinstance(source.node.op, ReadsVariable)


def _bind(module: Any, ports: Sequence[ModelPort | None], tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the named arguments of a call: by name if all inputs are parameters of the module."""
    parameters = _parameters_of(module)
    pairs = [(port, tensor) for port, tensor in zip(ports, tensors, strict=True) if port is not None]
    names = [next((name for name in (port.name, *sorted(port.names)) if name in parameters), None) for port, _ in pairs]
    if None not in names and len(set(names)) == len(names):
        return [], {str(name): tensor for name, (_, tensor) in zip(names, pairs, strict=True)}
    return [tensor for _, tensor in pairs], {}


def _parameters_of(module: Any) -> Mapping[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(module.forward).parameters
    except (AttributeError, TypeError, ValueError):
        return {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in kinds}


def _to_tensor(array: Array, module: Any) -> Any:
    """Return an array as a tensor on the device of the module, floats in the type of its parameters if it has one."""
    torch = sys.modules.get("torch")
    if torch is None:
        return array
    element_type = ElementType.of(array)
    if element_type == ElementType.bf16:
        tensor = torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(np.array(array))
    parameters = list(module.parameters()) if hasattr(module, "parameters") else []
    if not parameters:
        return tensor
    types = {parameter.dtype for parameter in parameters if parameter.is_floating_point()}
    dtype = next(iter(types)) if len(types) == 1 and tensor.is_floating_point() else tensor.dtype
    return tensor.to(parameters[0].device, dtype)
