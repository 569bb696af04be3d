"""The element types of OpenVINO and the NumPy dtype of each.

Element types and dtypes correspond one to one, so an array determines its element type. bf16, the 8-bit floats and most
4-bit types are dtypes of ml_dtypes, a package imported with their first use. u1, u3, u6 and nf4, which no package
provides, are one-field records over a byte: NumPy moves them like any other dtype and rejects arithmetic on them.
Sub-byte values take one byte each in memory; `ir.packing` handles the packing in the .bin. Strings are object arrays of
`str`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "ALL",
    "BOOLEAN",
    "FLOAT",
    "INDEX",
    "INTEGER",
    "NUMERIC",
    "SIGNED",
    "STRING",
    "Array",
    "ElementType",
    "element_types",
]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def _record(name: str) -> np.dtype[Any]:
    return np.dtype([(name, np.uint8)])


class ElementType(Enum):
    """An element type: `name` is the spelling in attributes (`f32`), `precision` the spelling in ports (`FP32`)."""

    dynamic = ("UNSPECIFIED", 0, None)
    boolean = ("BOOL", 8, np.dtype(np.bool_))
    bf16 = ("BF16", 16, "bfloat16")
    f16 = ("FP16", 16, np.dtype(np.float16))
    f32 = ("FP32", 32, np.dtype(np.float32))
    f64 = ("FP64", 64, np.dtype(np.float64))
    i4 = ("I4", 4, "int4")
    i8 = ("I8", 8, np.dtype(np.int8))
    i16 = ("I16", 16, np.dtype(np.int16))
    i32 = ("I32", 32, np.dtype(np.int32))
    i64 = ("I64", 64, np.dtype(np.int64))
    u1 = ("BIN", 1, _record("u1"))
    u2 = ("U2", 2, "uint2")
    u3 = ("U3", 3, _record("u3"))
    u4 = ("U4", 4, "uint4")
    u6 = ("U6", 6, _record("u6"))
    u8 = ("U8", 8, np.dtype(np.uint8))
    u16 = ("U16", 16, np.dtype(np.uint16))
    u32 = ("U32", 32, np.dtype(np.uint32))
    u64 = ("U64", 64, np.dtype(np.uint64))
    nf4 = ("NF4", 4, _record("nf4"))
    f4e2m1 = ("F4E2M1", 4, "float4_e2m1fn")
    f8e4m3 = ("F8E4M3", 8, "float8_e4m3fn")
    f8e5m2 = ("F8E5M2", 8, "float8_e5m2")
    f8e8m0 = ("F8E8M0", 8, "float8_e8m0fnu")
    string = ("STRING", 0, np.dtype(object))

    precision: str
    bits: int
    stored_dtype: np.dtype[Any] | str | None
    """The name in ml_dtypes until the dtype is first used."""

    def __init__(self, precision: str, bits: int, dtype: np.dtype[Any] | str | None) -> None:
        self.precision = precision
        self.bits = bits
        self.stored_dtype = dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of arrays of this type.

        Raises:
            TypeError: For `dynamic`, the unknown type.
        """
        # Read once: while this thread imports, another one may have set the dtype.
        dtype = self.stored_dtype
        if dtype is None:
            raise TypeError("the element type is unknown")
        if isinstance(dtype, str):
            import ml_dtypes

            dtype = self.stored_dtype = np.dtype(getattr(ml_dtypes, dtype))
        return dtype

    @property
    def is_float(self) -> bool:
        """Return True for a float of any width."""
        return self in FLOAT

    @property
    def is_integer(self) -> bool:
        """Return True for an integer of any width."""
        return self in INTEGER

    @property
    def is_signed(self) -> bool:
        """Return True if the type has negative values."""
        return self in SIGNED

    @property
    def is_known(self) -> bool:
        """Return True for any type except `dynamic`."""
        return self is not ElementType.dynamic

    @classmethod
    def parse(cls, text: str) -> ElementType:
        """The type with this spelling of an attribute or a port, in upper or lower case.

        Raises:
            ValueError: For others.
        """
        element_type = _SPELLINGS.get(text) or _SPELLINGS.get(text.strip().lower())
        if element_type is None:
            raise ValueError(f"unknown element type {text!r}")
        return element_type

    @classmethod
    def of(cls, array: Array) -> ElementType:
        """The element type of an array.

        Raises:
            ValueError: For a dtype without one.
        """
        return cls.of_dtype(array.dtype)

    @classmethod
    def of_dtype(cls, dtype: np.dtype[Any]) -> ElementType:
        """The element type of arrays of this dtype.

        Raises:
            ValueError: If no element type has this dtype.
        """
        element_type = _OF_DTYPE.get(dtype) or _of_ml_dtypes().get(dtype)
        if element_type is None:
            raise ValueError(f"no element type has the dtype {dtype}")
        return element_type

    # Sets of types are used often, and the hash of Enum is Python code.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ElementType.{self.name}"


def element_types(names: str | Iterable[str]) -> frozenset[ElementType]:
    """A set of element types from their names: `element_types("f16 f32")`."""
    return frozenset(ElementType[name] for name in (names.split() if isinstance(names, str) else names))


FLOAT = element_types("bf16 f16 f32 f64 nf4 f4e2m1 f8e4m3 f8e5m2 f8e8m0")
SIGNED = FLOAT | element_types("i4 i8 i16 i32 i64")
INTEGER = element_types("i4 i8 i16 i32 i64 u1 u2 u3 u4 u6 u8 u16 u32 u64")
NUMERIC = FLOAT | INTEGER
INDEX = element_types("i32 i64")
BOOLEAN = element_types("boolean")
STRING = element_types("string")
ALL = frozenset(ElementType) - {ElementType.dynamic}

_OF_DTYPE = {element_type.dtype: element_type for element_type in ALL if not isinstance(element_type.stored_dtype, str)}
_ML_DTYPES = [element_type for element_type in ALL if isinstance(element_type.stored_dtype, str)]
_SPELLINGS = (
    {element_type.name: element_type for element_type in ElementType}
    | {element_type.precision: element_type for element_type in ElementType}
    | {element_type.precision.lower(): element_type for element_type in ElementType}
    | {"bool": ElementType.boolean, "undefined": ElementType.dynamic, "mixed": ElementType.dynamic}
)


@cache
def _of_ml_dtypes() -> dict[np.dtype[Any], ElementType]:
    return {element_type.dtype: element_type for element_type in _ML_DTYPES}
