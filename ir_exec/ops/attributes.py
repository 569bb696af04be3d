"""How the text of attributes becomes values: the types of an operator's fields.

Each is an annotated Python type, so that a field reads as what it holds: `axis: Int`, `pads_begin: Ints`,
`mode: Annotated[Literal["constant", "edge"], LOWER]`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from ir_exec.types import INDEX, ElementType, Shape

__all__ = [
    "LOWER",
    "Bool",
    "ElementTypeName",
    "Float",
    "Floats",
    "IndexTypeName",
    "Int",
    "Ints",
    "NonNegative",
    "NonNegatives",
    "Positive",
    "Positives",
    "ShapeText",
]

INT64 = Field(ge=-(2**63), le=2**63 - 1)

_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def _boolean(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise ValueError("expected true or false")
    return value


def _integer(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if not re.fullmatch(r"\s*[+-]?\d{1,20}\s*", text):
        raise ValueError("expected an integer")
    return int(text)


def _list(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _integers(text: Any) -> Any:
    return [_integer(part) for part in _list(text)] if isinstance(text, str) else text


def _element_type(text: Any) -> Any:
    return ElementType.parse(text) if isinstance(text, str) else text


def _index_type(kind: ElementType) -> ElementType:
    if kind not in INDEX:
        raise ValueError("expected i32 or i64")
    return kind


def _shape(text: Any) -> Any:
    return Shape.parse(text) if isinstance(text, str) else text


def _lower(text: Any) -> Any:
    return text.strip().lower() if isinstance(text, str) else text


LOWER = BeforeValidator(_lower)
"""For enumerations: their values are compared without regard to case."""

Bool = Annotated[bool, BeforeValidator(_boolean)]
Int = Annotated[int, INT64, BeforeValidator(_integer)]
NonNegative = Annotated[int, Field(ge=0, le=2**63 - 1), BeforeValidator(_integer)]
Positive = Annotated[int, Field(ge=1, le=2**63 - 1), BeforeValidator(_integer)]
Float = Annotated[float, Field()]
Ints = Annotated[tuple[Annotated[int, INT64], ...], BeforeValidator(_integers)]
NonNegatives = Annotated[tuple[Annotated[int, Field(ge=0, le=2**63 - 1)], ...], BeforeValidator(_integers)]
Positives = Annotated[tuple[Annotated[int, Field(ge=1, le=2**63 - 1)], ...], BeforeValidator(_integers)]
Floats = Annotated[tuple[float, ...], BeforeValidator(_list)]
ElementTypeName = Annotated[ElementType, BeforeValidator(_element_type)]
IndexTypeName = Annotated[ElementTypeName, AfterValidator(_index_type)]
ShapeText = Annotated[Shape, BeforeValidator(_shape)]
