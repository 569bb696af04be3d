"""Pooling: every window becomes its greatest element or its mean.

A window is a box, so that its rows may be pooled first and the results after them: `a + b` elements are looked at
instead of `a * b`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, Field

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.attributes import LOWER, Bool, IndexTypeName, Int
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.precision import CALCULABLE, rounded, type_limits, widened
from ir_exec.ops.rules import ints, known_bounds, merge_dims, normalize_axis, require_rank
from ir_exec.ops.windows import (
    Pads,
    SlidingAxis,
    Steps,
    Windowed,
    covered,
    require_spatial,
    window_extent,
)
from ir_exec.types import INDEX, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "AvgPool1",
    "AvgPool14",
    "AvgPool16",
    "MaxPool1",
    "MaxPool8",
    "MaxPool14",
]

CHUNK = 2**17
"""How many elements of the data to pool at a time, so that they stay in the cache of one core."""

Rounding = Annotated[Literal["floor", "ceil"], LOWER]
TorchRounding = Annotated[Literal["floor", "ceil", "ceil_torch"], LOWER]
Kernel = Annotated[Steps, AfterValidator(_not_empty := lambda values: values)]
