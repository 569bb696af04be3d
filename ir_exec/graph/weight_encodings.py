"""Formats of compressed weights: their names in NNCF, element types, and levels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ir_exec.types import Array, ElementType, convert, element_types

__all__ = [
    "ENCODINGS",
    "FLOAT_CODES",
    "WeightEncoding",
    "encoding_name",
    "level_gaps",
    "range_of_type",
    "types_of_mode",
]

FLOAT_CODES = element_types("nf4 f4e2m1 f8e4m3 f8e5m2")
"""Types whose codes are floats: such weights need no scale."""


@dataclass(frozen=True)
class WeightEncoding:
    """A format.

    Attributes:
        element_type: The element type of codes.
        scale_type: The element type of scales.
        has_zero: True with zero points.
        group_size: The default; None for rows.
    """

    name: str
    element_type: ElementType
    scale_type: ElementType = ElementType.f16
    has_zero: bool = False
    group_size: int | None = None

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return self.element_type.bits

    @property
    def greatest(self) -> float:
        """The greatest magnitude of a code: of the lowest one for signed integers."""
        low, high = range_of_type(self.element_type)
        return high + 1 if self.element_type.is_integer and self.element_type.is_signed else max(-low, high)


ENCODINGS: Mapping[str, WeightEncoding] = MappingProxyType(
    {
        encoding.name: encoding
        for encoding in (
            WeightEncoding("int8_asym", ElementType.u8, has_zero=True),
            WeightEncoding("int8_sym", ElementType.i8),
            WeightEncoding("int4_asym", ElementType.u4, has_zero=True, group_size=128),
            WeightEncoding("int4_sym", ElementType.i4, group_size=128),
            WeightEncoding("nf4", ElementType.nf4, group_size=128),
            WeightEncoding("fp4", ElementType.f4e2m1, group_size=128),
            WeightEncoding("mxfp4", ElementType.f4e2m1, ElementType.f8e8m0, group_size=32),
            WeightEncoding("nvfp4", ElementType.f4e2m1, ElementType.f8e4m3, group_size=16),
            WeightEncoding("fp8_e4m3", ElementType.f8e4m3, group_size=128),
            WeightEncoding("fp8_e5m2", ElementType.f8e5m2, group_size=128),
            WeightEncoding("mxfp8_e4m3", ElementType.f8e4m3, ElementType.f8e8m0, group_size=32),
            WeightEncoding("mxfp8_e5m2", ElementType.f8e5m2, ElementType.f8e8m0, group_size=32),
        )
    }
)
"""The formats by name, without plain floats, codebooks and FakeQuantize."""

_OLD_NAMES = {"e2m1": "mxfp4"}
"""Names of earlier releases of NNCF."""


def encoding_name(element_type: ElementType, scale_types: Collection[ElementType], *, is_symmetric: bool) -> str:
    """The name of a format.

    Args:
        element_type: The element type of codes.
        scale_types: The element types of the constants of its scale.
        is_symmetric: True without zero points, or with zero points in the middle of the range.
    """
    if element_type not in FLOAT_CODES:
        return f"int{element_type.bits}_{'sym' if is_symmetric else 'asym'}"
    special = (ElementType.f8e8m0, ElementType.f8e4m3)
    scale_type = next((short for short in special if short in scale_types), ElementType.f16)
    names = {
        encoding.scale_type: encoding.name for encoding in ENCODINGS.values() if encoding.element_type is element_type
    }
    return names.get(scale_type, names[ElementType.f16])


def types_of_mode(mode: str | None) -> frozenset[str] | None:
    """The element types of codes of a mode of NNCF, `int4_asym`; None for an unknown mode."""
    if not mode:
        return None
    family = mode.partition("_")[0]
    family = _OLD_NAMES.get(family, family)
    types = frozenset(
        encoding.element_type.name for encoding in ENCODINGS.values() if encoding.name.partition("_")[0] == family
    )
    return types or None


def range_of_type(element_type: ElementType) -> tuple[float, float]:
    """The first and last level of an element type; -max counts as the first of signed integers too."""
    if element_type.is_integer:
        high = float(2 ** (element_type.bits - element_type.is_signed) - 1)
        return (-high if element_type.is_signed else 0.0), high
    levels = _levels_of_type(element_type)
    return float(levels.min()), float(levels.max())


def level_gaps(numbers: Array, levels: Array | ElementType) -> Array:
    """The greater distance to a neighboring level for each number, which is one of the levels.

    Args:
        levels: All levels, or a float type of at most 8 bits.
    """
    every = levels if isinstance(levels, np.ndarray) else _levels_of_type(levels)
    ordered = np.unique(every[np.isfinite(every)])
    if len(ordered) < 2:
        return np.zeros(numbers.shape, np.float32)
    apart = np.diff(ordered)
    gaps = np.maximum(np.append(apart, apart[-1]), np.insert(apart, 0, apart[0]))
    positions = np.searchsorted(ordered, np.nan_to_num(numbers)).clip(0, len(ordered) - 1)
    return np.asarray(gaps[positions], np.float32)


def _levels_of_type(element_type: ElementType) -> Array:
    """The finite numbers of a float type of at most 8 bits."""
    every = convert(np.arange(2**element_type.bits, dtype=np.uint8).view(element_type.dtype), ElementType.f32)
    return np.asarray(every[np.isfinite(every)])
