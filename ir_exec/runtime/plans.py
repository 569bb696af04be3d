"""The choice of a plan: one for exactly these input shapes, or an open one for many.

Planning takes many times as long as running a small network. Inputs that always have the same shapes, or a few sets of
them, are planned once for each set. A decoder with a growing cache, though, has new shapes for every token. So shapes
that are seen for the first time run by the open plan, in which every dim that has differed so far is unknown, and
layers that depend on it infer their types during the run. Shapes that are seen again get a plan of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from ir_exec.runtime.plan import Plan
from ir_exec.types import Dim, ElementType, Shape, TensorType

__all__ = ["MAX_PLANS", "Input", "Plans"]

MAX_PLANS = 32
"""The most plans that a graph keeps."""

GROWTH = 2
"""How many times the bytes of the largest planned inputs the open plan may take: only planning counts memory."""

SMALL = 2**16
"""Bytes of inputs that may always be exceeded."""

Input: TypeAlias = tuple[np.dtype[Any], tuple[int, ...]]
"""The dtype and the shape of an array that is given to a graph."""


class Plans:
    """The plans of one graph.

    Several threads may ask at once; one of them plans at a time.

    make: makes a plan for inputs of these types; the flag says whether its steps may reuse buffers.
    max_memory: the budget of a run, in bytes.
    """

    def __init__(self, make: Callable[[list[TensorType], bool], Plan], max_memory: int) -> None:
        self._make = make
        # What grows with the square of an input's size takes four times as much, and the open plan reuses less memory.
        self._ample = max_memory // (4 * GROWTH**2)
        self._exact: dict[Any, Plan] = {}
        self._recent: dict[Any, None] = {}
        self._planned_bytes: int | None = None
        self._open_inputs: list[tuple[np.dtype[Any], tuple[int | None, ...]]] = []
        self._open: Plan | None = None
        self._planning = Lock()

    def get(self, inputs: list[Input], *, observed: bool) -> Plan:
        """The plan to run by.

        An observer may keep the arrays that it sees, so a plan for it reuses no buffers.
        """
        key = (observed, *inputs)
        plan = self._exact.get(key)
        if plan is not None:
            return plan
        with self._planning:
            if observed or key in self._recent or not self._may_stay_open(inputs):
                return self._exactly(inputs, observed=observed)
            _remember(self._recent, key, None)
            return self._open_for(inputs)

    def exact(self, inputs: list[Input], *, observed: bool = False) -> Plan:
        """The plan for these input shapes and no others."""
        with self._planning:
            return self._exactly(inputs, observed=observed)

    def _exactly(self, inputs: list[Input], *, observed: bool) -> Plan:
        key = (observed, *inputs)
        plan = self._exact.get(key)
        if plan is None:
            types = [TensorType(ElementType.of_dtype(dtype), Shape(shape)) for dtype, shape in inputs]
            plan = self._make(types, not observed)
            _remember(self._exact, key, plan)
            self._open_inputs = self._open_inputs or list(inputs)
            if plan.peak <= self._ample:
                self._planned_bytes = max(_bytes(inputs), self._planned_bytes or 0)
        return plan

    def _may_stay_open(self, inputs: list[Input]) -> bool:
        """Whether the inputs have the dtypes and ranks of a plan, and are not too much larger."""
        return (
            self._planned_bytes is not None
            and _bytes(inputs) <= GROWTH * self._planned_bytes + SMALL
            and all(
                dtype == known and len(shape) == len(dims)
                for (dtype, shape), (known, dims) in zip(inputs, self._open_inputs, strict=True)
            )
        )

    def _open_for(self, inputs: list[Input]) -> Plan:
        widened = [
            (dtype, tuple([dim if dim == size else None for dim, size in zip(dims, shape, strict=True)]))
            for (_, dims), (dtype, shape) in zip(self._open_inputs, inputs, strict=True)
        ]
        if self._open is None or widened != self._open_inputs:
            self._open_inputs = widened
            types = [TensorType(ElementType.of_dtype(dtype), _open_shape(dims)) for dtype, dims in widened]
            self._open = self._make(types, True)
        return self._open


def _remember(known: dict[Any, Any], key: Any, value: object) -> None:
    if len(known) >= MAX_PLANS:
        known.pop(next(iter(known)))
    known[key] = value


def _bytes(inputs: list[Input]) -> int:
    return sum([prod(shape) * dtype.itemsize for dtype, shape in inputs])


def _open_shape(dims: tuple[int | None, ...]) -> Shape:
    return Shape([Dim.any() if dim is None else dim for dim in dims])
