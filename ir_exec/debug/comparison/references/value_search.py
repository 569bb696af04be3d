"""Search for the recorded outputs of modules among all values of a run, for layers whose module is unknown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ir_exec.types import Array

__all__ = ["EQUAL", "NEAR", "ValueSearch", "relative_distance"]

NEAR = 1e-3
"""Maximum difference, relative to the largest element, between a value and the recorded output of a module."""

EQUAL = 1e-5
"""Maximum difference, relative to the largest element, between two values that only rounding in f32 distinguishes."""

_FILL = 1e30
"""Minimum magnitude of fill values of masks, which are excluded from the scale of the other elements."""

_SAMPLES = 16
"""Elements that are compared first: most pairs of arrays of one shape differ in all of them."""

_FEWEST = 2
"""Minimum elements of an array that is searched for."""


class _Sought(NamedTuple):
    name: str
    array: Array
    samples: Array
    scale: float


class ValueSearch:
    """The nearest value of a run for each recorded array of floats.

    Args:
        near: Maximum difference, relative to the largest element.

    Attributes:
        nearest: The distance and the path of the value by the name of the array; the first value of several equal ones.
    """

    def __init__(self, recorded: Mapping[str, Array], *, near: float = NEAR) -> None:
        self._near = near
        self.nearest: dict[str, tuple[float, str]] = {}
        self._by_shape: dict[tuple[int, ...], list[_Sought]] = defaultdict(list)
        for name, array in recorded.items():
            if array.dtype.kind == "f" and array.size >= _FEWEST and np.isfinite(array).all() and np.ptp(array) > 0:
                scale = float(np.max(np.abs(array)))
                self._by_shape[array.shape].append(_Sought(name, array, _samples_of(array), scale))

    def add(self, array: Array, value_path: str) -> None:
        """Compare a value with the recorded arrays of its shape."""
        candidates = self._by_shape.get(array.shape, ()) if array.dtype.kind == "f" else ()
        if not candidates:
            return
        samples = _samples_of(array)
        for sought in candidates:
            with np.errstate(all="ignore"):
                if not np.max(np.abs(samples - sought.samples)) <= self._near * sought.scale:
                    continue
            distance = relative_distance(array, sought.array)
            if (
                distance is not None
                and distance <= self._near
                and distance < self.nearest.get(sought.name, (np.inf, ""))[0]
            ):
                self.nearest[sought.name] = distance, value_path


def _samples_of(array: Array) -> Array:
    flat = array.reshape(-1)
    samples: Array = flat[:: max(1, flat.size // _SAMPLES)][: 2 * _SAMPLES].astype(np.float64)
    return samples


def relative_distance(ours: Array, theirs: Array) -> float | None:
    """Return the largest difference relative to the largest element, or None if the arrays are not close.

    Fill values of masks are compared separately.
    """
    if ours.shape != theirs.shape or not ours.size or not {ours.dtype.kind, theirs.dtype.kind} <= set("fiub"):
        return None
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(b), initial=0.0, where=np.abs(b) < _FILL))
        scale = np.where(np.abs(b) < _FILL, largest, np.abs(b))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        distance = float(np.max(np.where(same, 0.0, np.abs(a - b) / scale)))
    return distance if distance <= NEAR else None
