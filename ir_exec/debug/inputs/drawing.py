"""Generated inputs of a model, with plausible shapes and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.inputs.record import Drawn, input_record
from ir_exec.debug.inputs.roles import PLAIN, Role, roles_of
from ir_exec.debug.inputs.sizes import fitting_shapes
from ir_exec.debug.inputs.values import draw, drawn_shape
from ir_exec.errors import EvaluationError
from ir_exec.graph import Value
from ir_exec.infer import infer_types, inferred_or_declared
from ir_exec.model import Model, ShapeLike, as_shape
from ir_exec.types import Array, Shape, TensorType

__all__ = ["Drawer", "drawn_inputs"]


def drawn_inputs(
    model: Model,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None = None,
    given: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """All inputs by name: the given ones, and random arrays for the others, reproducible by seed on every machine.

    Values are plausible for the model: masks are 1, indices are in range, lengths are at most the size of the axis. The
    model is not run; `checked_inputs` draws again if the outputs are NaN.

    Args:
        shapes: Shapes by name; dims that are dynamic in these and in the file get the sizes of `fitting_shapes`.

    Raises:
        EvaluationError: For a shape of an unknown input.
        ShapeError: For an input of unknown rank without a shape.
        ResourceError: For an input that does not fit into memory.
    """
    return Drawer(model, seed, shapes, given).arrays(0)


class Drawer:
    """A generator of inputs of a model, for several attempts. The arguments are those of `drawn_inputs`.

    Attributes:
        names: The names of the outputs.
        depends: For each output, True if it depends on values of the inputs, not only on shapes.
    """

    def __init__(
        self,
        model: Model,
        seed: int,
        shapes: Mapping[str, ShapeLike] | None = None,
        arrays: Mapping[str, Array] | None = None,
    ) -> None:
        self._ports = model.inputs
        self._seed = seed
        self._given = dict(arrays or {})
        requested = {name: as_shape(shape) for name, shape in (shapes or {}).items()}
        if unknown := sorted(requested.keys() - {port.name for port in self._ports}):
            names = ", ".join(port.name for port in self._ports)
            raise EvaluationError(f"there is no input {unknown[0]!r}; the inputs are: {names}", code=Code.unknown_input)
        from_arrays = {name: Shape(array.shape) for name, array in self._given.items()}
        self._shapes = requested | fitting_shapes(model, requested | from_arrays)
        self.names = [port.name for port in model.outputs]
        self.depends, self._roles = self._find_roles(model)

    @property
    def is_random(self) -> bool:
        """Return True if another attempt yields different arrays."""
        return len(self._given) < len(self._ports)

    def arrays(self, attempt: int) -> dict[str, Array]:
        """All inputs by name, with different values for each attempt."""
        return {
            port.name: self._given[port.name]
            if port.name in self._given
            else draw(port, self._shapes.get(port.name), self._random(number, attempt), role, attempt)
            for number, (port, role) in enumerate(zip(self._ports, self._roles, strict=True))
        }

    def record(self, arrays: Mapping[str, Array]) -> Drawn:
        """The record of the generated inputs, without the given ones."""
        inputs = [
            input_record(port.name, arrays[port.name], role)
            for port, role in zip(self._ports, self._roles, strict=True)
            if port.name not in self._given
        ]
        return Drawn(seed=self._seed, inputs=tuple(inputs))

    def _random(self, number: int, attempt: int) -> np.random.Generator:
        """The random stream of an input, independent of the other inputs."""
        return np.random.default_rng([self._seed, number, attempt])

    def _find_roles(self, model: Model) -> tuple[Sequence[bool], Sequence[Role]]:
        if not self.is_random:
            return [True] * len(self.names), [PLAIN] * len(self._ports)
        shapes = []
        for port in self._ports:
            array = self._given.get(port.name)
            sizes = array.shape if array is not None else drawn_shape(port, self._shapes.get(port.name))
            shapes.append(Shape(sizes))
        values = [node.outputs[0] for node in model.graph.parameters]
        input_types = {
            value: TensorType(model.types[value.number].element_type, shape)
            for value, shape in zip(values, shapes, strict=True)
        }
        types: dict[Value, TensorType] = {}
        infer_types(model.graph, weights=model.weights, overrides=input_types, settle=inferred_or_declared, seen=types)
        return roles_of(model.graph, model.weights, types, self._ports, shapes, model.output_values)
