"""Shared parts of the tables of segments and bags."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType


def table(*shape: int, element_type: str = "f32") -> Array:
    return np.random.default_rng(7).uniform(-3, 3, shape).astype(ElementType[element_type].dtype)
