"""Values that a conversion needs to know, computed from the inputs of one call.

A node may need the value of a tensor that is not an input of its IR operators, such as the axis of CumProd. In a
conversion for the inputs of a call, the layers that compute such a tensor are run, and the inputs that they read are
recorded: the resulting model is valid for all inputs with the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import replace

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.values import BuiltLayer, Scope, current_scope, next_serial
from ir_exec.errors import IRError, ResourceError
from ir_exec.model import Runner
from ir_exec.types import Array

__all__ = ["Demands", "asking", "is_asking", "request_values"]


class Demands:
    """Computes values of the model under construction from the inputs of a call.

    Args:
        arrays: The known inputs.
        run: Runs the layers.
        has_shapes: True if the inputs have their static shapes in the model: the remaining unknown shapes depend on
            values. Otherwise no shape is computed.

    Attributes:
        used: The names of the inputs whose values were read.
    """

    def __init__(self, arrays: Mapping[str, Array], run: Runner, *, has_shapes: bool) -> None:
        self.used: set[str] = set()
        self._arrays = arrays
        self._run = run
        self._has_shapes = has_shapes
        self._known: dict[Value, Array] = {}
        self._parameters: dict[BuiltLayer, str] = {}

    def add_input(self, value: Value, name: str) -> None:
        """Record the Parameter of an input."""
        self._parameters[value.layer] = name

    def values(self, asked: Sequence[Value]) -> list[Array] | None:
        """The values of tensors; None if they do not follow from the inputs, or if shapes would suffice.

        Raises:
            IRError: The errors of the run, except for layers of a body, which need not run at all.
        """
        missing = [value for value in asked if value.constant is None and value not in self._known]
        if missing:
            layers = self._layers(missing)
            if layers is None:
                return None
            try:
                arrays = Context().run(self._compute, layers, missing)
            except ResourceError:
                raise
            except IRError:
                if current_scope().outer is None:
                    raise
                return None
            self._known.update(zip(missing, arrays, strict=True))
        return [constant if (constant := value.constant) is not None else self._known[value] for value in asked]

    def _layers(self, asked: Sequence[Value]) -> list[BuiltLayer] | None:
        """The layers to run, sources first; None if another run may have different values."""
        pending = [value.layer for value in asked]
        needed = set(pending)
        while pending:
            layer = pending.pop()
            if layer.is_parameter and self._parameters.get(layer) not in self._arrays:
                return None
            reads_shapes = any(declared.only_shape for declared in layer.op.inputs)
            if _is_random(layer) or (reads_shapes and not self._has_shapes):
                return None
            for value in layer.inputs:
                if value not in self._known and value.layer not in needed:
                    needed.add(value.layer)
                    pending.append(value.layer)
        self.used.update(self._parameters[layer] for layer in needed if layer in self._parameters)
        return sorted(needed, key=lambda layer: layer.serial)

    def _compute(self, layers: Sequence[BuiltLayer], asked: Sequence[Value]) -> list[Array]:
        scope = Scope()
        copies: dict[Value, Value] = {}
        for value, array in self._known.items():
            copies[value] = build.constant(array)
        arrays: dict[str, Array] = {}
        for layer in layers:
            inputs = tuple([copies[input] for input in layer.inputs])
            copy = replace(layer, scope=scope, inputs=inputs, outputs=(), serial=next_serial())
            copy.outputs = tuple([Value(copy, output.position, output.type) for output in layer.outputs])
            copies.update(zip(layer.outputs, copy.outputs, strict=True))
            if layer in self._parameters:
                arrays[f"in{len(arrays)}"] = self._arrays[self._parameters[layer]]
        parameters = [copies[layer.outputs[0]] for layer in layers if layer in self._parameters]
        return list(self._run(build.model([copies[value] for value in asked], parameters), arrays))


def _is_random(layer: BuiltLayer) -> bool:
    inner = (node.op for body in layer.bodies for node in body.graph.graph.all_nodes())
    return any(op is not None and "state" in op.evaluate_context for op in (layer.op, *inner))


_ASKING: ContextVar[Demands | None] = ContextVar("_ASKING", default=None)


@contextmanager
def asking(demands: Demands | None) -> Iterator[None]:
    """A context for a conversion that may compute values from inputs."""
    token = _ASKING.set(demands)
    try:
        yield
    finally:
        _ASKING.reset(token)


def is_asking() -> bool:
    """Return True in a conversion for the inputs of a call."""
    return _ASKING.get() is not None


def request_values(*asked: Value) -> list[Array] | None:
    """The values of tensors for the inputs of the call; None if they are unknown."""
    if all(value.constant is not None for value in asked):
        return [value.constant for value in asked if value.constant is not None]
    demands = _ASKING.get()
    return None if demands is None else demands.values(asked)
