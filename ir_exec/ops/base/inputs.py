"""Declarations of inputs: names, element types, and domains, the elements that an operator accepts.

Generated inputs of a model are in the domains of the layers that read them. An input without a domain accepts all
elements of its element types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ir_exec.types import ALL, Dim, ElementType, TensorType

__all__ = [
    "FIRST_AXIS",
    "SCORES",
    "Angles",
    "Ascending",
    "AttentionMask",
    "AxisIndices",
    "AxisOrder",
    "BagOffsets",
    "BoxCorners",
    "Divisor",
    "Domain",
    "ImagePixels",
    "In",
    "IndexTuples",
    "InputTypes",
    "Lengths",
    "PowerBase",
    "SegmentIds",
    "TargetShape",
    "Usual",
    "ValueRange",
]

InputTypes: TypeAlias = Sequence[TensorType | None]
"""The types of the inputs of a layer, by position; None for an input that is left out."""


@dataclass(frozen=True)
class Domain:
    """The elements that an input accepts."""

    def names(self) -> tuple[str, ...]:
        """The inputs and attributes of the operator that determine the elements."""
        return ()


@dataclass(frozen=True)
class ValueRange(Domain):
    """Numbers from `low` to `high`, for which the function is defined and varies.

    Attributes:
        text: A description for reports.
        defined_above: The function is defined for all numbers above this one, too; None if it is not.
    """

    low: float
    high: float
    text: str
    defined_above: float | None = None


@dataclass(frozen=True)
class Divisor(ValueRange):
    """Numbers other than 0 that another input is divided by."""

    low: float = 0.5
    high: float = 2
    text: str = "a divisor"
    defined_above: float | None = 0


@dataclass(frozen=True)
class PowerBase(ValueRange):
    """Bases of powers, which are positive unless all exponents are integers of at least 0.

    Attributes:
        exponent: The input with the exponents.
    """

    low: float = 0.5
    high: float = 2
    text: str = "the base of a power"
    defined_above: float | None = 0
    exponent: str = "b"

    def names(self) -> tuple[str, ...]:
        return (self.exponent,)


@dataclass(frozen=True)
class Usual(Domain):
    """A number for every element, such as a threshold or a step, that suits inputs of any shape."""

    value: float
    text: str


FIRST_AXIS = Usual(0, "an axis")
"""An axis that every input of rank 1 or more has."""

SCORES = ValueRange(0, 1, "scores")
"""Probabilities of classes."""


@dataclass(frozen=True)
class AxisIndices(Domain):
    """Indices from 0 of elements along an axis of the first input.

    Attributes:
        axis: The axis, or the name of the attribute or the input that selects it; 0 if the input is not known.
        below: The input with the number of indices, in place of an axis.
        reserved: The number of indices at the end of the axis that have another meaning.
        selects_slices: An index selects all elements at its position, as a token selects a row of a table.
    """

    axis: int | str = 0
    below: str = ""
    reserved: int = 0
    selects_slices: bool = False

    def names(self) -> tuple[str, ...]:
        return tuple([name for name in (self.axis, self.below) if isinstance(name, str) and name])

    def limit(self, op: Any, types: InputTypes) -> Dim | None:
        """The number of indices; None if the first input has no such axis, or its rank is not known.

        Args:
            op: The operator.
            types: The types of its inputs.
        """
        if self.below:
            return Dim(max(_first_number(op, types, self.below), 1))
        size = _size_along(op, types[0], _get_axis(op, types, self.axis))
        if size is None or not self.reserved:
            return size
        return Dim(max(size.lo - self.reserved, 1), max(size.hi - self.reserved, 1))


def selects_slices(inputs: Sequence[In]) -> bool:
    """Return True if the second of these inputs has indices of slices of the first one, as tokens of a table's rows."""
    domain = inputs[1].domain if len(inputs) > 1 else None
    return isinstance(domain, AxisIndices) and domain.selects_slices


@dataclass(frozen=True)
class IndexTuples(AxisIndices):
    """Tuples of indices, along the last axis, of elements or slices of the first input.

    The first index of a tuple refers to the axis after the batch axes, counted by the attribute `batch_dims`.
    """

    def limit(self, op: Any, types: InputTypes) -> Dim | None:
        """The least number of indices along one of the axes; None if a rank is not known.

        Args:
            op: The operator.
            types: The types of its inputs.
        """
        indices = _dims_of(types[1])
        first = int(getattr(op, "batch_dims", 0))
        sizes = (_dims_of(types[0]) or ())[first : first + max(indices[-1].lo, 1)] if indices else ()
        return min((Dim(max(size.lo, 1)) for size in sizes), key=lambda size: size.lo, default=None)


@dataclass(frozen=True)
class Lengths(Domain):
    """Numbers of elements along an axis of an input, for each sequence of a batch.

    Attributes:
        of: The input with the sequences.
        axis: The axis, or the name of the attribute that selects it.
    """

    of: str
    axis: int | str

    def names(self) -> tuple[str, ...]:
        return (self.of, self.axis) if isinstance(self.axis, str) else (self.of,)

    def limit(self, op: Any, types: InputTypes) -> int:
        """The length of the longest sequence, at least 1.

        Args:
            op: The operator.
            types: The types of its inputs.
        """
        size = _size_along(op, _type_of(op, types, self.of), _get_axis(op, types, self.axis))
        return 1 if size is None else max(size.lo, 1)


@dataclass(frozen=True)
class BagOffsets(Domain):
    """Ascending positions in a flat list, from 0, at which its parts begin.

    Attributes:
        of: The input with the list.
    """

    of: str

    def names(self) -> tuple[str, ...]:
        return (self.of,)

    def limit(self, op: Any, types: InputTypes) -> int:
        """The number of elements of the list; 1 for each dim that is dynamic.

        Args:
            op: The operator.
            types: The types of its inputs.
        """
        count = 1
        for dim in _dims_of(_type_of(op, types, self.of)) or ():
            count *= max(dim.lo, 1)
        return count


@dataclass(frozen=True)
class SegmentIds(Domain):
    """Ascending numbers of segments, from 0.

    Attributes:
        count: The input with the number of segments.
    """

    count: str

    def names(self) -> tuple[str, ...]:
        return (self.count,)

    def limit(self, op: Any, types: InputTypes) -> int:
        """The number of segments, at least 1.

        Args:
            op: The operator.
            types: The types of its inputs.
        """
        return max(_first_number(op, types, self.count), 1)


@dataclass(frozen=True)
class Ascending(Domain):
    """Numbers that ascend along the last axis."""


@dataclass(frozen=True)
class BoxCorners(Domain):
    """Corners of boxes along the last axis: the coordinates of the first corner, then those of the second.

    Attributes:
        scale: The attribute with the ratio of the size of the first input, an image, to that of the coordinate system;
            "" for coordinates that are fractions of an image of any size.
    """

    scale: str = ""

    def names(self) -> tuple[str, ...]:
        return (self.scale,) if self.scale else ()

    def extent(self, op: Any, types: InputTypes) -> float:
        """The greatest coordinate.

        Args:
            op: The operator.
            types: The types of its inputs.
        """
        if not self.scale:
            return 1.0
        sizes = [max(dim.lo, 1) for dim in _dims_of(types[0]) or ()]
        return min(sizes[2:], default=1) / (float(getattr(op, self.scale)) or 1.0)


@dataclass(frozen=True)
class ImagePixels(Domain):
    """An image, if the input has the channels of one."""


@dataclass(frozen=True)
class Angles(Domain):
    """Angles in radians."""


@dataclass(frozen=True)
class AttentionMask(Domain):
    """Scores of pairs of positions: false or a very low number hides a pair."""


@dataclass(frozen=True)
class TargetShape(Domain):
    """A shape for the elements of the first input.

    Attributes:
        leading: The size of axes before those of the first input.
    """

    leading: int


@dataclass(frozen=True)
class AxisOrder(Domain):
    """The number of each axis of the first input once."""


class In(NamedTuple):
    """An input port: its name, the element types it accepts, and its relation to other ports.

    Attributes:
        like: The name of an earlier input whose element type this one must share.
        optional: The port may be left out; the parameter of both methods has a default.
        variadic: This port and any number of further ones, at least one if it is not optional; the parameter is a
            `*parameter`.
        mixed: The ports of a variadic input may differ in element type; otherwise they share one.
        only_type: Only the element type of the input matters, not its values.
        only_shape: Only the shape of the input matters, not its values.
        domain: The elements that the input accepts; None for all.
    """

    name: str
    types: frozenset[ElementType] = ALL
    like: str | None = None
    optional: bool = False
    variadic: bool = False
    mixed: bool = False
    only_type: bool = False
    only_shape: bool = False
    domain: Domain | None = None


def _type_of(op: Any, types: InputTypes, name: str) -> TensorType | None:
    position = next((position for position, declared in enumerate(op.inputs) if declared.name == name), len(types))
    return types[position] if position < len(types) else None


def _first_number(op: Any, types: InputTypes, name: str) -> int:
    """The first element of an input or, if it is not known, the least one of its domain; 0 without a domain."""
    declared = next((declared for declared in op.inputs if declared.name == name), None)
    input_type = _type_of(op, types, name)
    if input_type is not None and input_type.value is not None and input_type.value.size:
        return int(input_type.value.reshape(-1)[0])
    domain = None if declared is None else declared.domain
    return int(domain.low) if isinstance(domain, ValueRange) else 0


def _get_axis(op: Any, types: InputTypes, axis: int | str) -> int:
    if isinstance(axis, int):
        return axis
    if any(declared.name == axis for declared in op.inputs):
        return _first_number(op, types, axis)
    return int(getattr(op, axis))


def _dims_of(input_type: TensorType | None) -> tuple[Dim, ...] | None:
    return None if input_type is None else input_type.shape.dims


def _size_along(op: Any, input_type: TensorType | None, axis: int) -> Dim | None:
    dims = _dims_of(input_type)
    return dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None
