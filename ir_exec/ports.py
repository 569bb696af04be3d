"""Inputs and outputs of models: how they are named, found and given shapes."""

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
    "ports_of",
]

PortKey: TypeAlias = "str | int | ModelPort"
"""What names an input or an output: one of its names, its position, itself, or in0, in1, ... (out0, ...)."""

ShapeLike: TypeAlias = str | Shape | Sequence[int | tuple[int, int] | Dim | None]
ShapesByPort: TypeAlias = (
    Mapping[str, ShapeLike]
    | Mapping[int, ShapeLike]
    | Mapping[str | int, ShapeLike]
    | Mapping["ModelPort", ShapeLike]
    | Mapping[PortKey, ShapeLike]
)


class ModelPort(NamedTuple):
    """An input or output of a network.

    name: the layer's name if that is one of its tensor names, else its first tensor name, else the name of the layer
        that computes it.
    names: all names that are accepted for it.
    """

    name: str
    names: frozenset[str]
    element_type: ElementType
    shape: Shape

    @property
    def any_name(self) -> str:
        """The same as `name`, as OpenVINO's ports call it."""
        return self.name

    @property
    def partial_shape(self) -> Shape:
        """The same as `shape`, as OpenVINO's ports call a shape whose dims may be open."""
        return self.shape

    def __str__(self) -> str:
        return f"{self.name} {self.element_type}{self.shape}"


def ports_of(ends: Iterable[tuple[Node, Value]], types: Types) -> list[ModelPort]:
    """The ports of Parameters or Results with their values. Outputs of one value share its names; each gets a `name` of
    its own."""
    ports: list[ModelPort] = []
    taken: set[str] = set()
    for node, value in ends:
        tensor_names = (*node.layer.output_names, *value.names)
        choices = (*([node.name] if node.name in tensor_names else []), *tensor_names, value.name, node.name)
        name = next((name for name in choices if name not in taken), f"{node.name}#{node.id}")
        taken.add(name)
        type = types[value.number]
        ports.append(ModelPort(name, frozenset((*choices, name)), type.element_type, type.shape))
    return ports


def find_port(ports: Sequence[ModelPort], key: PortKey, kind: str = "input") -> int:
    """The position of an input or output; `kind` says which of both in messages.

    A port is found by its name, so that one from before a `reshape`, or of the compiled model, is the same; in0, in1,
    ... (out0, ...) are positions where no port has such a name. Raises EvaluationError (IR705) for a key that names no
    port, or several.
    """
    if isinstance(key, (int, np.integer)) and 0 <= key < len(ports):
        return int(key)
    name = key.name if isinstance(key, ModelPort) else key
    exact = [position for position, port in enumerate(ports) if name == port.name]
    found = exact or [position for position, port in enumerate(ports) if name in port.names]
    if len(found) == 1:
        return found[0]
    if not found and (position := numbered(name, len(ports), kind)) is not None:
        return position
    names = ", ".join(port.name for port in ports) or "none"
    problem = f"more than one {kind} is named" if found else f"there is no {kind}"
    hint = suggested(name, (port.name for port in ports)) if isinstance(name, str) and not found else None
    raise EvaluationError(f"{problem} {name!r}; the {kind}s are: {names}", code=Code.unknown_input, hint=hint)


def numbered(name: object, count: int, kind: str = "input") -> int | None:
    """The position that in0, in1, ... name, out0, ... for outputs; None for other names, and where there are fewer."""
    match = re.fullmatch(f"{kind.removesuffix('put')}([0-9]{{1,6}})", name) if isinstance(name, str) else None
    return int(match[1]) if match is not None and int(match[1]) < count else None


def chosen_port(ports: Sequence[ModelPort], key: PortKey | None, kind: str) -> ModelPort:
    """The port with this key, or the only one where there is no key."""
    if key is None and len(ports) != 1:
        names = ", ".join(port.name for port in ports) or "none"
        message = f"{kind}() needs a name or position: the model has {len(ports)} {kind}s: {names}"
        raise EvaluationError(message, code=Code.unknown_input)
    return ports[0 if key is None else find_port(ports, key, kind)]


def as_shape(shape: ShapeLike) -> Shape:
    """A shape from any of the forms that callers use; ShapeError for anything else."""
    if isinstance(shape, Shape):
        return shape
    if not isinstance(shape, (str, Sequence, np.ndarray)) or any(_is_fraction(dim) for dim in shape):
        expected = "expected a list of dims, [1, None, (1, 512)], or text, '1,?,1..512'"
        raise ShapeError(f"{shape!r} is not a shape: {expected}")
    try:
        return Shape.parse(shape) if isinstance(shape, str) else Shape(shape)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"{shape!r} is not a shape: {error}") from None


def _is_fraction(dim: object) -> bool:
    return isinstance(dim, (float, np.floating)) and not dim.is_integer()
