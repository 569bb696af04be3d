"""Inputs and outputs of two models that are compared as wholes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ir_exec.codes import Code
from ir_exec.debug.comparison.pairing.ends import agree
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.ports import ModelPort

__all__ = ["port_differences", "require_same_ports"]

_MOST_LISTED = 5


def require_same_ports(model: Model, other: Model, name: str, other_name: str) -> None:
    """Raise an error for models with other inputs or outputs.

    Inputs correspond by name, outputs by position.

    Args:
        name: The name of the model in the message.
        other_name: The name of the other model.

    Raises:
        EvaluationError: IR705, with every input and output that differs.
    """
    differences = [
        *port_differences(model.inputs, other.inputs, "input", name, other_name),
        *port_differences(model.outputs, other.outputs, "output", name, other_name),
    ]
    if not differences:
        return
    more = f"; and {len(differences) - _MOST_LISTED} more" if len(differences) > _MOST_LISTED else ""
    message = f"{name} and {other_name} have different inputs or outputs: {'; '.join(differences[:_MOST_LISTED])}{more}"
    raise EvaluationError(message, code=Code.unknown_input)


def port_differences(
    ours: Sequence[ModelPort],
    theirs: Sequence[ModelPort],
    end: Literal["input", "output"],
    name: str,
    other_name: str,
) -> Iterator[str]:
    """Yield a description of each input or output that differs: missing, of another type, or of another shape.

    Floats of different widths do not differ, and neither do dims if one of them is dynamic.
    """
    pairs, lonely = _pairs(ours, theirs, end)
    for port, other in pairs:
        if not _are_alike(port, other):
            title = repr(port.name) if port.name == other.name else f"{port.name!r} ({other.name!r} there)"
            yield (
                f"{end} {title} is {port.element_type}{port.shape} in {name}, "
                f"{other.element_type}{other.shape} in {other_name}"
            )
    for port, lacks in lonely:
        yield f"{end} {port.name!r} is missing from {other_name if lacks == 'other' else name}"


def _pairs(
    ours: Sequence[ModelPort], theirs: Sequence[ModelPort], end: str
) -> tuple[list[tuple[ModelPort, ModelPort]], list[tuple[ModelPort, str]]]:
    """The pairs of ports, and the ports without a partner with the side that lacks them.

    Inputs correspond by name; outputs, and inputs without any common name, by position if their numbers are equal.
    """
    by_name = {label: port for port in reversed(theirs) for label in (*port.names, port.name)}
    partners = [
        next((by_name[label] for label in (port.name, *sorted(port.names)) if label in by_name), None) for port in ours
    ]
    if len(ours) == len(theirs) and (end == "output" or not any(partners)):
        return list(zip(ours, theirs, strict=True)), []
    pairs = [(port, other) for port, other in zip(ours, partners, strict=True) if other is not None]
    used = {other.name for _, other in pairs}
    lonely = [(port, "other") for port, other in zip(ours, partners, strict=True) if other is None]
    return pairs, lonely + [(port, "model") for port in theirs if port.name not in used]


def _are_alike(port: ModelPort, other: ModelPort) -> bool:
    kinds = port.element_type, other.element_type
    is_same_type = kinds[0] is kinds[1] or all(element_type.is_float for element_type in kinds)
    return (is_same_type or not all(element_type.is_known for element_type in kinds)) and agree(
        str(port.shape), str(other.shape)
    )
