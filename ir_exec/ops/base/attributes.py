"""The types of an operator's fields, and the conversion of attribute texts to values.

Each is an annotated Python type: `axis: Int`, `pads_begin: Ints`, `mode: Annotated[Literal["none", "numpy"], LOWER]`.
The annotations are functions ("steps") applied to the text from left to right: each takes the result of the previous
one, and raises ValueError for a value that is not allowed. A Literal then allows only its own values.

pydantic models could do this, but building them for the operators of one model takes longer than a run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from types import NoneType, SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

from ir_exec.errors import InvalidAttributeError
from ir_exec.types import INDEX, ElementType, Shape

__all__ = [
    "LOWER",
    "AttributeValueError",
    "Bool",
    "ElementTypeName",
    "Field",
    "Float",
    "Floats",
    "IndexTypeName",
    "Int",
    "Ints",
    "Named",
    "NonNegative",
    "NonNegatives",
    "Positive",
    "Positives",
    "ShapeText",
    "Step",
    "among",
    "at_least",
    "each",
    "fields_of",
    "is_class_variable",
    "of_length",
    "split_list",
    "within",
]


class AttributeValueError(InvalidAttributeError, ValueError):
    """Raised by `check_attributes` for a value of an attribute; a ValueError as well, as those of steps."""


Step: TypeAlias = Callable[[Any], Any]
"""One function of an annotation: it converts a value, or raises ValueError."""

LARGEST = 2**63 - 1

_INTEGER = re.compile(r"\s*[+-]?\d{1,20}\s*", re.ASCII)

_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def _lower(text: str) -> str:
    """The text in lower case."""
    return text.strip().lower()


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(_lower(text))
    if value is None:
        raise ValueError("expected true or false")
    return value


def _integer(text: str) -> int:
    if text.isdecimal() and text.isascii() and len(text) < 19:
        return int(text)
    if not _INTEGER.fullmatch(text):
        raise ValueError("expected an integer")
    value = int(text)
    if not -LARGEST - 1 <= value <= LARGEST:
        raise ValueError("expected an integer of 64 bits")
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a number") from None


def split_list(text: str) -> list[str]:
    """The parts of a list such as `1,2` or `[1, 2]`; none of an empty text."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _integers(text: str) -> tuple[int, ...]:
    return tuple([_integer(part) for part in split_list(text)])


def _floats(text: str) -> tuple[float, ...]:
    return tuple([_float(part) for part in split_list(text)])


def _element_type(text: str) -> ElementType:
    if (named := ElementType.__members__.get(text)) is not None:
        return named
    element_type = ElementType.parse(text)
    if text.lower() not in (element_type.name, "undefined"):
        # Ports declare FP32, attributes f32: OpenVINO rejects FP32 here.
        raise ValueError(f"expected {element_type.name}, as attributes spell it")
    return element_type


def at_least(least: float) -> Step:
    """Reject numbers below `least`, and NaN."""

    def step(value: float) -> float:
        if not value >= least:
            raise ValueError(f"expected {least} or more")
        return value

    return step


def within(least: float, most: float) -> Step:
    """Reject numbers below `least` or above `most`, and NaN."""

    def step(value: float) -> float:
        if not least <= value <= most:
            raise ValueError(f"expected a number from {least} to {most}")
        return value

    return step


def among(types: frozenset[ElementType], expected: str) -> Step:
    """Reject element types that are not among `types`; `expected` names these in the message."""

    def step(element_type: ElementType) -> ElementType:
        if element_type not in types:
            raise ValueError(f"expected {expected}")
        return element_type

    return step


def each(step: Step) -> Step:
    """Apply a step to every element of a list."""
    return lambda values: tuple([step(value) for value in values])


def of_length(least: int, most: int | None = None) -> Step:
    """Reject lists of fewer than `least` elements or, if given, more than `most`."""

    def step(values: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(values) < least or (most is not None and len(values) > most):
            expected = f"{least} or more" if most is None else str(least) if most == least else f"{least} to {most}"
            raise ValueError(f"expected {expected} values")
        return values

    return step


LOWER = _lower
"""A step for enumerations, whose values are compared case-insensitively."""

Bool = Annotated[bool, _boolean]

Int = Annotated[int, _integer]

NonNegative = Annotated[Int, at_least(0)]

Positive = Annotated[Int, at_least(1)]

Float = Annotated[float, _float]

Ints = Annotated[tuple[int, ...], _integers]

NonNegatives = Annotated[Ints, each(at_least(0))]

Positives = Annotated[Ints, each(at_least(1))]

Floats = Annotated[tuple[float, ...], _floats]

ElementTypeName = Annotated[ElementType, _element_type]

IndexTypeName = Annotated[ElementTypeName, among(INDEX, "i32 or i64")]

ShapeText = Annotated[Shape, Shape.parse]


class Named(NamedTuple):
    """The name of the attribute in the file if it differs from the field: `Annotated[Bool, Named("exclude-pad")]`."""

    attribute: str


_REQUIRED = object()


class Field(NamedTuple):
    """A field of an operator.

    Attributes:
        name: The name of the field.
        attribute: The name of the attribute in the file.
        steps: Applied to its text, in order.
    """

    name: str
    attribute: str
    steps: tuple[Step, ...]
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def is_element_type(self) -> bool:
        """Return True for the element type of a value."""
        return _element_type in self.steps

    def parse(self, text: str) -> Any:
        """Convert the text to a value.

        Raises:
            ValueError: If the text is invalid.
        """
        value: Any = text
        for step in self.steps:
            value = step(value)
        return value


def fields_of(cls: type[Any]) -> tuple[Field, ...]:
    """The fields declared by the annotations of a class and its bases, base classes first."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[:-1]):
        # Given the class, get_type_hints would evaluate the class variables of all its bases: twenty times slower.
        own = {
            name: annotation for name, annotation in base.__annotations__.items() if not is_class_variable(annotation)
        }
        names = vars(sys.modules[base.__module__])
        for name, annotation in get_type_hints(
            SimpleNamespace(__annotations__=own), names, include_extras=True
        ).items():
            fields[name] = _field(name, annotation, getattr(cls, name, _REQUIRED))
    return tuple(fields.values())


def is_class_variable(annotation: Any) -> bool:
    """Return True if the annotation is `ClassVar`, also as a string."""
    if isinstance(annotation, str):
        return annotation.partition("[")[0].endswith("ClassVar")
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _field(name: str, declared: Any, default: Any) -> Field:
    metadata: list[Any] = []
    if get_origin(declared) is Annotated:
        declared, *metadata = get_args(declared)
    if NoneType in get_args(declared):
        # `Literal["error"] | None`: an attribute that may be absent, and is then not written.
        (declared,) = [arg for arg in get_args(declared) if arg is not NoneType]
    steps = [item for item in metadata if not isinstance(item, Named)]
    for step in steps:
        if not callable(step):
            raise TypeError(f"{name}: {step!r} is not a function that takes a text")
    attribute = next((item.attribute for item in metadata if isinstance(item, Named)), name)
    return Field(name, attribute, (*(steps or _plain(name, declared)), *_membership(declared)), default)


def _plain(name: str, declared: Any) -> tuple[Step, ...]:
    """The step from a text to one of Python's own types; TypeError for other types."""
    step = {bool: _boolean, int: _integer, float: _float}.get(declared)
    if step is None and declared is not str and get_origin(declared) is not Literal:
        raise TypeError(f"{name}: {declared} does not convert a text to a value")
    return () if step is None else (step,)


def _membership(declared: Any) -> Iterator[Step]:
    """The step that allows only the values of a Literal; also for a list of Literals."""
    if get_origin(declared) is tuple:
        yield from (each(step) for step in _membership(get_args(declared)[0]))
    elif get_origin(declared) is Literal:
        values = get_args(declared)

        def step(value: Any) -> Any:
            if value not in values:
                *most, last = map(str, values)
                raise ValueError(f"expected {', '.join(most) + ' or ' if most else ''}{last}")
            return value

        yield step
