"""Shared parts of the tables of convolutions and pooling: random data, and attributes of windows."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType


def data_of(shape: tuple[int, ...], type_name: str = "f32", seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    element_type = ElementType[type_name]
    if element_type.is_integer:
        return generator.integers(-3 if element_type.is_signed else 0, 4, shape).astype(element_type.dtype)
    return generator.uniform(-2, 2, shape).astype(element_type.dtype)


def windows(
    rank: int,
    *,
    strides: int | tuple[int, ...] = 1,
    dilations: int | tuple[int, ...] = 1,
    begin: int | tuple[int, ...] = 0,
    end: int | tuple[int, ...] | None = None,
    auto_pad: str = "explicit",
) -> dict[str, object]:
    """The attributes of windows; an integer stands for all spatial axes."""
    values = {"strides": strides, "dilations": dilations, "pads_begin": begin}
    values["pads_end"] = begin if end is None else end
    attributes: dict[str, object] = {
        name: value if isinstance(value, tuple) else (value,) * rank for name, value in values.items()
    }
    return attributes | {"auto_pad": auto_pad}
