"""What can go wrong, as one flat tree.

IRError
 ├── ParseError             the file is not IR, or not well-formed
 ├── GraphError             layers, ports and edges do not make a graph
 ├── WeightsError           the .bin is missing, short, or does not fit a constant
 ├── InvalidAttributeError  an attribute is missing, unreadable or out of its range
 ├── ElementTypeError       an operator does not take this element type
 ├── ShapeError             shapes contradict an operator's rule
 ├── EvaluationError        a value is wrong: an index out of range, an input array of the wrong type
 ├── UnsupportedError       an operator, opset or element type that ir_exec does not have
 └── ResourceError          a size is over the limit or over the memory budget

An error is raised where it is found and learns its place on the way out: an operator knows only the name of the
input at fault (`port`), whoever walks the layers adds layer, file and line with `located`. Each error has a `code`,
which names the rule that was broken and never changes its meaning; the first digit is the group (0 file, 1 graph,
2 weights, 3 attributes, 4 element types, 5 shapes, 6 declared against inferred, 7 values, 9 not checked).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

from ir_exec.codes import Code

__all__ = [
    "ElementTypeError",
    "EvaluationError",
    "GraphError",
    "IRError",
    "InvalidAttributeError",
    "Location",
    "ParseError",
    "Report",
    "ResourceError",
    "Severity",
    "ShapeError",
    "UnsupportedError",
    "WeightsError",
    "internal_error",
    "raise_error",
]

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Location:
    """A place in an IR file; what is not known is None.

    `port` names an input or output of the layer (`indices`, `output`), or gives its id where it has no name.
    `line` counts from 1. `layer_id` is the id in the file as text: broken files hold ids that are no numbers.
    """

    path: str | None = None
    line: int | None = None
    layer_id: str | None = None
    layer_name: str | None = None
    layer_type: str | None = None
    port: str | None = None

    def __str__(self) -> str:
        """`model.xml:42: layer 7 "gather" (GatherElements), port indices`, as far as it is known."""
        where = self.path or ""
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        layer = ""
        if self.layer_id is not None:
            layer = f"layer {self.layer_id}"
            layer += f' "{self.layer_name}"' if self.layer_name is not None else ""
            layer += f" ({self.layer_type})" if self.layer_type is not None else ""
        port = f"port {self.port}" if self.port is not None else ""
        what = ", ".join(part for part in (layer, port) if part)
        return ": ".join(part for part in (where, what) if part)


class IRError(Exception):
    """The base of every error that leaves ir_exec.

    `message` is in the user's words and names no place; `str(error)` is place and message. `related` are further
    places that explain it, in the order in which a reader should look at them.
    """

    default_code = Code.unspecified

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        port: str | None = None,
        hint: str | None = None,
        severity: Severity = "error",
        location: Location | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        self.severity = severity
        self.related: tuple[Location, ...] = ()
        self.location = location or Location()
        if port is not None:
            self.location = replace(self.location, port=port)

    def located(self, location: Location) -> Self:
        """Fill in the parts of the place that are still unknown, and return the error itself."""
        known = self.location
        self.location = Location(
            path=known.path if known.path is not None else location.path,
            line=known.line if known.line is not None else location.line,
            layer_id=known.layer_id if known.layer_id is not None else location.layer_id,
            layer_name=known.layer_name if known.layer_name is not None else location.layer_name,
            layer_type=known.layer_type if known.layer_type is not None else location.layer_type,
            port=known.port if known.port is not None else location.port,
        )
        return self

    def __str__(self) -> str:
        where = str(self.location)
        return f"{where}: {self.message}" if where else self.message


class ParseError(IRError):
    """The file is not IR, or not well-formed."""

    default_code = Code.not_well_formed


class GraphError(IRError):
    """Layers, ports and edges do not make a graph."""

    default_code = Code.graph


class WeightsError(IRError):
    """The weights are missing, short, or do not fit a constant."""

    default_code = Code.weights


class InvalidAttributeError(IRError):
    """An attribute is missing, unreadable, or out of its range."""

    default_code = Code.invalid_attribute


class ElementTypeError(IRError):
    """An operator does not take this element type."""

    default_code = Code.element_type_not_taken


class ShapeError(IRError):
    """Shapes contradict an operator's rule."""

    default_code = Code.impossible_shape


class EvaluationError(IRError):
    """A value is wrong: an index out of range, an input array that does not fit the model."""

    default_code = Code.bad_value


class UnsupportedError(IRError):
    """An operator, opset or element type that ir_exec does not have."""

    default_code = Code.unsupported


class ResourceError(IRError):
    """A size is over a limit, or over the memory budget."""

    default_code = Code.limit_exceeded


def internal_error(error: Exception) -> IRError:
    """What stands for an exception that is a fault of ir_exec itself."""
    message = f"ir_exec failed with {type(error).__name__}: {str(error)[:500]}"
    return IRError(message, code=Code.internal_error, hint="this is a fault of ir_exec: please report it with the file")


Report: TypeAlias = Callable[[IRError], None]
"""Where a pass that goes on after a fault puts it: `list.append`, or `raise_error` to stop at the first."""


def raise_error(error: IRError) -> None:
    """The Report that stops at the first error; warnings and information pass."""
    if error.severity == "error":
        raise error
