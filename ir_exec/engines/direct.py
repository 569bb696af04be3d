"""Calls of a model that a single part of an engine runs, without the preparations of other calls.

A call of a small network takes an engine a few microseconds, and several times as many to bind arrays by all of their
names, to count memory and to set up the interpreter. Here arrays with the type and shape of their input go to the
engine at once. Every other call, and every call that fails, is made in the usual way, which raises the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ir_exec.engines.parts import EnginePart
from ir_exec.ir import Weights
from ir_exec.model import ModelPort
from ir_exec.types import Array

__all__ = ["DirectCall", "make_direct_call"]


class _DirectInput(NamedTuple):
    """The arrays of an input.

    Attributes:
        shape: The sizes; None for a dynamic shape.
        bounds: The least and the greatest size of each axis of a dynamic shape.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    bounds: tuple[tuple[int, int | float], ...]


class DirectCall:
    """Passes arrays to an engine, and returns its outputs.

    Args:
        run: Runs the engine on arrays by the names of the inputs, and returns new arrays.
        part: The part with the memory of its tensors.
        allows: Returns True for shapes of the inputs that the engine runs; by default all.
    """

    __slots__ = ("_allows", "_inputs", "_names", "_part", "_run", "_weights")

    def __init__(
        self,
        inputs: Sequence[_DirectInput],
        run: Callable[[dict[str, Array]], list[Array]],
        part: EnginePart,
        weights: Weights | None,
        allows: Callable[[tuple[tuple[int, ...], ...]], bool] | None,
    ) -> None:
        self._allows = allows
        self._inputs = tuple(inputs)
        self._names = [entry.name for entry in inputs]
        self._run = run
        self._part = part
        self._weights = weights

    def __call__(self, inputs: Any) -> list[Array] | None:
        """Return the outputs; None if the call must be made in the usual way."""
        cls = type(inputs)
        if cls is list or cls is tuple:
            if len(inputs) != len(self._names):
                return None
            inputs = dict(zip(self._names, inputs, strict=True))
        elif cls is not dict or len(inputs) != len(self._names):
            return None
        size = 0
        try:
            for name, dtype, shape, bounds in self._inputs:
                array = inputs[name]
                if type(array) is not np.ndarray or array.dtype != dtype:
                    return None
                if array.shape != shape and (shape is not None or not _fits(array.shape, bounds)):
                    return None
                size += array.nbytes
        except KeyError:
            return None
        if self._allows is not None and not self._allows(tuple([inputs[name].shape for name in self._names])):
            return None
        if not self._part.memory.is_ample(size, self._part.interpreter.budget.max_memory):
            return None
        if self._weights is not None:
            self._weights.require_unchanged()
        try:
            return self._run(inputs)
        except Exception:
            # The usual way runs it again, and raises or records the failure.
            return None


def _fits(shape: tuple[int, ...], bounds: tuple[tuple[int, int | float], ...]) -> bool:
    if len(shape) != len(bounds):
        return False
    for size, (least, most) in zip(shape, bounds, strict=True):  # noqa: SIM110  # `all` is 3x slower
        if not least <= size <= most:
            return False
    return True


def make_direct_call(
    part: EnginePart,
    ports: Sequence[ModelPort],
    weights: Weights | None,
    allows: Callable[[tuple[tuple[int, ...], ...]], bool] | None = None,
) -> DirectCall | None:
    """Return the direct calls of a model that is one part, or None if its engine or its types do not allow them.

    Args:
        ports: The inputs of the model.
        weights: The weights of the model, which are unchanged in every call.
        allows: As for a DirectCall.
    """
    run_by_name: Callable[[Sequence[str]], Callable[[dict[str, Array]], list[Array]]] | None
    run_by_name = getattr(part.compiled, "run_by_name", None)
    if run_by_name is None or part.restored_types:
        return None
    inputs = []
    for port in ports:
        dims = port.shape.dims
        if not port.element_type.is_known or port.element_type.dtype.isbuiltin != 1 or dims is None:
            return None
        shape = port.shape.static if port.shape.is_static else None
        bounds = () if shape is not None else tuple([(dim.lo, dim.hi) for dim in dims])
        inputs.append(_DirectInput(port.name, port.element_type.dtype, shape, bounds))
    return DirectCall(inputs, run_by_name([port.name for port in ports]), part, weights, allows)
