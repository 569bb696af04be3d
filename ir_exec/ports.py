"""Inputs and outputs of models: names, lookup and shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.graph import Node, Value
from ir_exec.hints import suggested
from ir_exec.infer import Types
from ir_exec.types import Dim, ElementType, Shape

__all__ = [
    "ModelPort",
    "PortKey",
    "ShapeLike",
    "ShapesByPort",
    "as_shape",
    "chosen_port",
    "find_port",
    "numbered",
    "port_names",
    "ports_of",
]

PortKey: TypeAlias = "str | int | ModelPort"
"""A key of an input or output: one of its names, its position, the port itself, or in0, in1, ... (out0, ...)."""

ShapeLike: TypeAlias = str | Shape | Sequence[int | tuple[int, int] | Dim | None]
ShapesByPort: TypeAlias = (
    Mapping[str, ShapeLike]
    | Mapping[int, ShapeLike]
    | Mapping[str | int, ShapeLike]
    | Mapping["ModelPort", ShapeLike]
    | Mapping[PortKey, ShapeLike]
)


class ModelPort(NamedTuple):
    """An input or output of a model.

    Attributes:
        name: The layer's name if it is one of the tensor names, else the first tensor name, else the name of the layer
            that computes the value.
        names: All names that are accepted for the port.
    """

    name: str
    names: frozenset[str]
    element_type: ElementType
    shape: Shape

    @property
    def any_name(self) -> str:
        """An alias of `name`, with the name that OpenVINO's ports use."""
        return self.name

    @property
    def partial_shape(self) -> Shape:
        """An alias of `shape`, with the name that OpenVINO's ports use for shapes with dynamic dims."""
        return self.shape

    def __str__(self) -> str:
        return f"{self.name} {self.element_type}{self.shape}"


def ports_of(ends: Iterable[tuple[Node, Value]], types: Types) -> list[ModelPort]:
    """Return the ports of Parameters or Results with their values.

    Outputs of the same value share its names; the `name` of each is unique.
    """
    ends = list(ends)
    ports: list[ModelPort] = []
    for (_, value), names in zip(ends, port_names(ends), strict=True):
        type = types[value.number]
        ports.append(ModelPort(names[0], frozenset(names), type.element_type, type.shape))
    return ports


def port_names(ends: Iterable[tuple[Node, Value]]) -> list[tuple[str, ...]]:
    """Return the names of Parameters or Results with their values; the first name of each is unique."""
    names_of_ports: list[tuple[str, ...]] = []
    used: set[str] = set()
    for node, value in ends:
        tensor_names = (*node.layer.output_names, *value.names)
        choices = (*([node.name] if node.name in tensor_names else []), *tensor_names, value.name, node.name)
        name = next((name for name in choices if name not in used), f"{node.name}#{node.id}")
        used.add(name)
        names_of_ports.append((name, *choices))
    return names_of_ports


def find_port(ports: Sequence[ModelPort], key: PortKey, direction: str = "input") -> int:
    """Return the position of an input or output.

    A port is found by its name: ports from before a `reshape`, and ports of the compiled model, are accepted. The names
    in0, in1, ... (out0, ...) are positions unless a port has such a name.

    Args:
        direction: "input" or "output", for messages.

    Raises:
        EvaluationError: IR705 for a key that matches no port, or several.
    """
    if isinstance(key, (int, np.integer)) and 0 <= key < len(ports):
        return int(key)
    name = key.name if isinstance(key, ModelPort) else key
    exact = [position for position, port in enumerate(ports) if name == port.name]
    matches = exact or [position for position, port in enumerate(ports) if name in port.names]
    if len(matches) == 1:
        return matches[0]
    if not matches and (position := numbered(name, len(ports), direction)) is not None:
        return position
    names = ", ".join(port.name for port in ports) or "none"
    problem = f"more than one {direction} is named" if matches else f"there is no {direction}"
    hint = suggested(name, (port.name for port in ports)) if isinstance(name, str) and not matches else None
    raise EvaluationError(f"{problem} {name!r}; the {direction}s are: {names}", code=Code.unknown_input, hint=hint)


def numbered(name: object, count: int, direction: str = "input") -> int | None:
    """Return the position of the names in0, in1, ... (out0, ... for outputs); None for others and beyond the last."""
    match = re.fullmatch(f"{direction.removesuffix('put')}([0-9]{{1,6}})", name) if isinstance(name, str) else None
    return int(match[1]) if match is not None and int(match[1]) < count else None


def chosen_port(ports: Sequence[ModelPort], key: PortKey | None, direction: str) -> ModelPort:
    """Return the port with this key, or the only port if the key is None."""
    if key is None and len(ports) != 1:
        names = ", ".join(port.name for port in ports) or "none"
        raise EvaluationError(
            "the model has",
            actual=len(ports),
            detail=f"{direction}s",
            expected=f"the name or position of one of: {names}",
            code=Code.unknown_input,
        )
    return ports[0 if key is None else find_port(ports, key, direction)]


def as_shape(shape: ShapeLike) -> Shape:
    """Return the shape for any of the forms that callers use; ShapeError for anything else."""
    if isinstance(shape, Shape):
        return shape
    if not isinstance(shape, (str, Sequence, np.ndarray)) or any(_is_fraction(dim) for dim in shape):
        expected = "a list of dims, [1, None, (1, 512)], or text, '1,?,1..512'"
        raise ShapeError("the shape is", actual=repr(shape), expected=expected)
    try:
        return Shape.parse(shape) if isinstance(shape, str) else Shape(shape)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"{shape!r} is not a shape: {error}") from None


def _is_fraction(dim: object) -> bool:
    return isinstance(dim, (float, np.floating)) and not dim.is_integer()
