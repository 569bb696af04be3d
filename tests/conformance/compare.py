"""Faults of our answers, as lines of text; no lines for correct answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.types import Array, ElementType, TensorType

__all__ = ["SUM_ROUNDING", "type_faults", "value_faults"]

SUM_ROUNDING = 2.0**-22
"""The largest relative difference of two sums in f32 of the same terms, as a part of the sum of their magnitudes.

Each addition rounds by up to 2^-24 of its result. BLAS and OpenVINO add in blocks and by vectors, in different orders:
of a thousand roundings about as much remains as of four. One term in a thousand that is left out or taken twice changes
the sum some thousand times more than this.
"""


def value_faults(
    actual: Sequence[Array],
    expected: Sequence[Array],
    rtol: float = 0.0,
    atol: float = 0.0,
    summed: Sequence[Array] | None = None,
) -> list[str]:
    """Differences of arrays in count, element type, shape or value; NaN equals NaN, and 0 equals -0.

    summed: for outputs that are long sums, the sums of their terms without signs; SUM_ROUNDING of them is allowed too.
    """
    if len(actual) != len(expected):
        return [f"{len(actual)} outputs, expected {len(expected)}"]
    faults = []
    for i, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        fault = _array_fault(ours, theirs, rtol, atol + (0.0 if summed is None else SUM_ROUNDING * summed[i]))
        if fault:
            faults.append(f"output {i}: {fault}")
    return faults


def _array_fault(actual: Array, expected: Array, rtol: float, atol: float | Array) -> str | None:
    if not isinstance(actual, np.ndarray):
        return f"a {type(actual).__name__}, expected an array"
    element_type = ElementType.of(expected)
    if actual.dtype != expected.dtype:
        return f"element type {actual.dtype}, expected {element_type}"
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    if element_type is ElementType.string:
        return _first(actual, expected, actual != expected)
    if element_type.is_float and element_type is not ElementType.nf4:
        return _float_fault(actual, expected, rtol, atol)
    if actual.dtype.names:
        actual, expected = actual.view(np.uint8), expected.view(np.uint8)
    return _first(actual, expected, actual != expected)


def _float_fault(actual: Array, expected: Array, rtol: float, atol: float | Array) -> str | None:
    with np.errstate(all="ignore"):
        ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
        difference = np.abs(ours - theirs)
        equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        equal |= difference <= atol + rtol * np.abs(np.where(np.isfinite(theirs), theirs, 0))
    if equal.all():
        return None
    wrong = difference[~equal & np.isfinite(difference)]
    largest = f"max difference {wrong.max():.3g}, " if wrong.size else ""
    return largest + str(_first(ours, theirs, ~equal))


def _first(actual: Array, expected: Array, differs: Array) -> str | None:
    if not differs.any():
        return None
    index = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(differs)))
    ours, theirs = np.atleast_1d(actual)[index], np.atleast_1d(expected)[index]
    count = int(differs.sum())
    return f"{count} of {differs.size} differ, first at {list(index)}: {ours}, expected {theirs}"


def type_faults(
    inferred: Sequence[TensorType], expected: Sequence[TensorType] | None, actual: Sequence[Array] | None
) -> list[str]:
    """Contradictions of our types to OpenVINO's: types wider than OpenVINO's, or that exclude actual outputs."""
    faults = []
    if expected is not None and len(inferred) != len(expected):
        return [f"{len(inferred)} outputs, OpenVINO has {len(expected)}"]
    if actual is not None and len(inferred) != len(actual):
        return [f"{len(inferred)} types for {len(actual)} outputs"]
    for i, ours in enumerate(inferred):
        if expected is not None:
            faults += [f"output {i}: {fault}" for fault in _type_faults(ours, expected[i])]
        if actual is not None and not _holds(ours, actual[i]):
            real = f"{ElementType.of(actual[i])}{list(actual[i].shape)}"
            faults.append(f"output {i}: {ours} leaves out the actual {real}")
    return faults


def _type_faults(ours: TensorType, theirs: TensorType) -> list[str]:
    faults = []
    if theirs.element_type.is_known and ours.element_type is not theirs.element_type:
        faults.append(f"element type {ours.element_type}, OpenVINO's is {theirs.element_type}")
    if theirs.shape.dims is None:
        return faults
    if ours.shape.dims is None or len(ours.shape) != len(theirs.shape):
        faults.append(f"shape {ours.shape}, OpenVINO's is {theirs.shape}")
    elif any(not (b.lo <= a.lo and a.hi <= b.hi) for a, b in zip(ours.shape, theirs.shape, strict=True)):
        faults.append(f"shape {ours.shape} is not within OpenVINO's {theirs.shape}")
    return faults


def _holds(type_: TensorType, array: Array) -> bool:
    if type_.element_type.is_known and type_.element_type is not ElementType.of(array):
        return False
    if type_.shape.dims is None:
        return True
    return len(type_.shape) == array.ndim and all(
        size in dim for size, dim in zip(array.shape, type_.shape, strict=True)
    )
