"""Differences between two values, and the settings of a comparison."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.tolerances import (
    Tolerance,
    own_tolerance,
    relative_step,
    tolerance_of,
)
from ir_exec.debug.values.facts import PIECE, as_numbers, not_finite_in, pieces
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.numbers import format_number, format_number_pair
from ir_exec.report.records import Number, Record
from ir_exec.runtime.precision import Precision
from ir_exec.types import STRING, Array, ElementType

__all__ = [
    "COLUMNS",
    "CallObserver",
    "Difference",
    "Metric",
    "Settings",
    "Tolerance",
    "difference",
    "load_metric",
    "no_difference",
    "own_tolerance",
    "same_bits",
    "tolerance_of",
]


Metric: TypeAlias = Callable[[Array, Array], float]
"""A custom metric: returns a number for the model's value and the reference's, which have the same shape."""

CallObserver: TypeAlias = Callable[[Mapping[str, Array], Mapping[str, Array], Mapping[str, Array]], None]
"""A function of the inputs, the outputs of the model and the outputs of the reference of a call, by name."""

COLUMNS = ("max_abs", "mean_abs", "max_rel", "rmse", "cosine", "sqnr_db", "max_ulp", "beyond")
"""The metrics of every difference."""


class Difference(Record):
    """Difference of a value of the model from the reference's value.

    Attributes:
        max_abs: The absolute error.
        mean_abs: The absolute error.
        max_rel: The maximum error relative to the reference's element.
        rmse: The absolute error.
        cosine: The cosine of the angle between both values as vectors; None if one is zero.
        sqnr_db: The signal-to-noise ratio in decibels; None without noise.
        max_ulp: The maximum error in ULP of the coarser element type at the reference's element.
        beyond: The fraction of elements beyond the tolerance, `beyond_count` of `elements`.
        not_finite: The number of elements that are NaN, or the same infinity, on both sides. They are not beyond the
            tolerance, and cannot show a fault.
        worst: The index of the worst element; `ours` and `reference` are its values. If only one side is not finite,
            the error is infinite and excluded from the means.
        rtol: The relative tolerance.
        atol: The absolute tolerance, with the scale and, where terms cancel, the terms of the worst element.
        problem: The reason why the elements cannot be compared.
        custom: The results of custom metrics, by name.
    """

    max_abs: Number = 0.0
    mean_abs: Number = 0.0
    max_rel: Number = 0.0
    rmse: Number = 0.0
    cosine: Number | None = None
    sqnr_db: Number | None = None
    max_ulp: Number = 0.0
    beyond: float = 0.0
    beyond_count: int = 0
    not_finite: int = 0
    elements: int = 0
    worst: tuple[int, ...] | None = None
    ours: Number | str | None = None
    reference: Number | str | None = None
    rtol: float = 0.0
    atol: float = 0.0
    problem: str | None = None
    custom: Mapping[str, Number] = {}

    @property
    def is_within(self) -> bool:
        """True if no element is beyond the tolerance."""
        return self.problem is None and not self.beyond_count

    @property
    def compared(self) -> int:
        """Number of elements that can show a difference."""
        return self.elements - self.not_finite


def same_bits(ours: Array, reference: Array) -> bool:
    """Return True if element types, shapes and elements are equal; NaN equals NaN."""
    if ours is reference:
        return True
    if ours.dtype != reference.dtype or ours.shape != reference.shape:
        return False
    if (
        ours.dtype != object
        and ours.flags.c_contiguous
        and reference.flags.c_contiguous
        and _same_bytes(ours, reference)
    ):
        return True
    if ours.dtype.kind == "f" or (ours.dtype.kind == "V" and not ours.dtype.names):
        # Different bits may be equal: -0 and 0, and NaN with another payload.
        return bool(((ours == reference) | ((ours != ours) & (reference != reference))).all())
    if ours.dtype.names:
        ours, reference = ours.view(np.uint8), reference.view(np.uint8)
    return bool(np.array_equal(ours, reference))


def _same_bytes(ours: Array, reference: Array) -> bool:
    if ours.nbytes <= _FEW_BYTES:
        return ours.tobytes() == reference.tobytes()
    word = 8 if ours.nbytes % 8 == 0 else 1
    a, b = (array.reshape(-1).view(np.uint8).view(f"u{word}") for array in (ours, reference))
    # Arrays that differ usually differ near the beginning.
    return all(np.array_equal(a[i : i + PIECE], b[i : i + PIECE]) for i in range(0, a.size, PIECE))


_FEW_BYTES = 2**14
"""Maximum bytes for which comparing copies is faster than creating views of words."""


def difference(
    ours: Array,
    reference: Array,
    tolerance: Tolerance,
    metrics: Mapping[str, Metric] | None = None,
    terms: Callable[[], Array | None] | None = None,
) -> Difference:
    """Return the difference of a value from the reference's, computed chunk by chunk.

    Args:
        terms: Returns the sum of the magnitudes of each element's terms, in f64. It is called if elements are beyond
            the tolerance without them.
    """
    size = ours.size
    if ours.shape != reference.shape:
        problem = f"shape is {list(ours.shape)}, expected {list(reference.shape)}"
        return Difference(elements=size, beyond=1.0, beyond_count=max(size, 1), problem=problem)
    kinds = ElementType.of(ours), ElementType.of(reference)
    if any(element_type in STRING for element_type in kinds):
        return _of_strings(ours, reference)
    if same_bits(ours, reference):
        return no_difference(ours, reference, metrics)
    custom = _custom(ours, reference, metrics)
    atol = tolerance.atol
    if tolerance.scale:
        atol += tolerance.scale * _greatest(reference)
    if tolerance.rms:
        atol += tolerance.rms * _root_mean_square(reference)
    sums = _Sums(relative_step(kinds))
    with np.errstate(all="ignore"):
        for start, (a, b) in pieces(ours, reference):
            numbers = as_numbers(b)
            sums.add(start, as_numbers(a), numbers, atol + tolerance.rtol * np.abs(numbers))
    error = sums.result(ours, reference, atol, tolerance.rtol, custom)
    sizes = None if error.is_within or not tolerance.terms or terms is None else terms()
    if sizes is None or sizes.shape != ours.shape:
        return error
    sums = _Sums(relative_step(kinds))
    with np.errstate(all="ignore"):
        for start, (a, b, part) in pieces(ours, reference, sizes):
            numbers = as_numbers(b)
            limit = np.maximum(atol + tolerance.rtol * np.abs(numbers), tolerance.terms * part)
            sums.add(start, as_numbers(a), numbers, limit)
    error = sums.result(ours, reference, atol, tolerance.rtol, custom)
    allowed = 0.0 if error.worst is None else tolerance.terms * float(sizes[error.worst])
    return error.model_copy(update={"atol": max(atol, allowed)})


def no_difference(ours: Array, reference: Array, metrics: Mapping[str, Metric] | None = None) -> Difference:
    """Return the difference of bit-identical values."""
    zero = _none_of(ours.size, not_finite_in(ours))
    return zero.model_copy(update={"custom": _custom(ours, reference, metrics)}) if metrics else zero


@lru_cache(maxsize=256)
def _none_of(size: int, not_finite: int) -> Difference:
    return Difference(elements=size, not_finite=not_finite, cosine=1.0 if size > not_finite else None)


def _custom(ours: Array, reference: Array, metrics: Mapping[str, Metric] | None) -> dict[str, float]:
    return {name: _number_of(name, metric, ours, reference) for name, metric in (metrics or {}).items()}


def _number_of(name: str, metric: Metric, ours: Array, reference: Array) -> float:
    try:
        return float(metric(ours, reference))
    except IRError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:300]
        hint = "a metric takes two arrays of equal shape and returns a number"
        raise EvaluationError(f"the metric {name!r} fails: {reason}", code=Code.bad_value, hint=hint) from error


def _greatest(array: Array) -> float:
    greatest = 0.0
    for _, (part,) in pieces(array):
        magnitudes = np.abs(as_numbers(part))
        finite = magnitudes[np.isfinite(magnitudes)]
        greatest = max(greatest, float(finite.max(initial=0.0)))
    return greatest


def _root_mean_square(array: Array) -> float:
    """Return the root mean square of the finite elements."""
    total, count = 0.0, 0
    for _, (part,) in pieces(array):
        numbers = as_numbers(part)
        finite = numbers[np.isfinite(numbers)]
        total += float(np.dot(finite, finite))
        count += finite.size
    return math.sqrt(total / count) if count else 0.0


_TINY = np.finfo(np.float64).tiny


class _Sums:
    """Running sums and maxima over the chunks of two values."""

    def __init__(self, step: float) -> None:
        self._step = step
        self._max_abs = self._max_rel = self._max_ulp = 0.0
        self._total = self._noise = self._signal = self._ours = self._product = 0.0
        self._finite = self._beyond = self._not_finite = 0
        self._worst = (-1.0, 0)

    def add(self, start: int, ours: Array, reference: Array, limit: Array) -> None:
        if np.isfinite(ours).all() and np.isfinite(reference).all():
            self._add_finite(start, ours, reference, limit)
            return
        error = np.abs(ours - reference)
        equal = (ours == reference) | (np.isnan(ours) & np.isnan(reference))
        error[equal] = 0.0
        error[np.isnan(error)] = np.inf
        magnitude = np.abs(reference)
        is_finite = np.isfinite(magnitude)
        if not is_finite.all():
            self._not_finite += int(np.count_nonzero(equal & ~is_finite))
            limit = np.where(is_finite, limit, 0.0)
        excess = np.where(equal, 0.0, error / np.maximum(limit, np.finfo(np.float64).tiny))
        self._beyond += int(np.count_nonzero((error > limit) & ~equal))
        worst = int(excess.argmax())
        if excess[worst] > self._worst[0]:
            self._worst = float(excess[worst]), start + worst
        self._max_abs = max(self._max_abs, float(error.max()))
        relative = np.where(error > 0, error / magnitude, 0.0)
        self._max_rel = max(self._max_rel, float(np.where(np.isnan(relative), np.inf, relative).max()))
        if self._step:
            steps = error / (np.exp2(np.floor(np.log2(np.maximum(magnitude, 2.0**-126)))) * self._step)
            self._max_ulp = max(self._max_ulp, float(np.where(np.isnan(steps), np.inf, steps).max()))
        finite = np.isfinite(ours) & np.isfinite(reference)
        a, b, gap = (ours, reference, error) if finite.all() else (ours[finite], reference[finite], error[finite])
        self._finite += a.size
        self._total += float(gap.sum())
        self._noise += float(np.dot(gap, gap))
        self._signal += float(np.dot(b, b))
        self._ours += float(np.dot(a, a))
        self._product += float(np.dot(a, b))

    def _add_finite(self, start: int, ours: Array, reference: Array, limit: Array) -> None:
        """Add a chunk of finite elements, with fewer passes over them than `add`."""
        error, magnitude = np.abs(ours - reference), np.abs(reference)
        excess = error / np.maximum(limit, _TINY)
        worst = int(excess.argmax())
        if excess[worst] > self._worst[0]:
            self._worst = float(excess[worst]), start + worst
        self._beyond += int(np.count_nonzero(error > limit))
        self._max_abs = max(self._max_abs, float(error.max()))
        relative = np.divide(error, magnitude, out=np.zeros_like(error), where=error > 0)
        self._max_rel = max(self._max_rel, float(relative.max()))
        if self._step:
            steps = error / (np.exp2(np.floor(np.log2(np.maximum(magnitude, 2.0**-126)))) * self._step)
            self._max_ulp = max(self._max_ulp, float(steps.max()))
        self._finite += ours.size
        self._total += float(error.sum())
        self._noise += float(np.dot(error, error))
        self._signal += float(np.dot(reference, reference))
        self._ours += float(np.dot(ours, ours))
        self._product += float(np.dot(ours, reference))

    def result(
        self, ours: Array, reference: Array, atol: float, rtol: float, custom: Mapping[str, float]
    ) -> Difference:
        count = max(self._finite, 1)
        lengths = math.sqrt(self._signal) * math.sqrt(self._ours)
        worst = tuple(int(i) for i in np.unravel_index(self._worst[1], ours.shape))
        noisy = self._noise > 0 and self._signal > 0
        return Difference(
            max_abs=self._max_abs,
            mean_abs=self._total / count,
            max_rel=self._max_rel,
            rmse=math.sqrt(self._noise / count),
            cosine=self._product / lengths if lengths > 0 and math.isfinite(lengths) else None,
            sqnr_db=10 * math.log10(self._signal / self._noise) if noisy and math.isfinite(self._signal) else None,
            max_ulp=self._max_ulp,
            beyond=self._beyond / ours.size,
            beyond_count=self._beyond,
            not_finite=self._not_finite,
            elements=ours.size,
            worst=worst,
            ours=float(as_numbers(ours[worst].reshape(1))[0]),
            reference=float(as_numbers(reference[worst].reshape(1))[0]),
            rtol=rtol,
            atol=atol,
            custom=custom,
        )


def _of_strings(ours: Array, reference: Array) -> Difference:
    if ours.dtype != object or reference.dtype != object:
        return Difference(
            elements=ours.size, beyond=1.0, beyond_count=max(ours.size, 1), problem="only one side has strings"
        )
    differs = np.atleast_1d(ours != reference)
    count = int(np.count_nonzero(differs))
    if not count:
        return Difference(elements=ours.size)
    worst = tuple(int(i) for i in np.argwhere(differs)[0])[: ours.ndim]
    return Difference(
        elements=ours.size,
        beyond=count / ours.size,
        beyond_count=count,
        max_abs=math.inf,
        worst=worst,
        ours=str(ours[worst]),
        reference=str(reference[worst]),
    )


def load_metric(name: str) -> Metric:
    """Return the metric `module:function`; EvaluationError (IR705) if it cannot be imported."""
    module, _, function = name.partition(":")
    try:
        metric = getattr(importlib.import_module(module), function)
    except Exception as error:  # a module is a program that can raise any exception
        raise EvaluationError(f"cannot import the metric {name!r}: {error}", code=Code.unknown_input) from None
    if not callable(metric):
        raise EvaluationError(f"the metric {name!r} is not callable", code=Code.unknown_input)
    return metric  # type: ignore[no-any-return]  # its result is converted to a float


@dataclass(frozen=True)
class Settings:
    """Settings of a comparison.

    Attributes:
        rtol: The relative tolerance instead of those derived from element types and sums; 0 if only `atol` is set.
        atol: The absolute tolerance instead of the derived ones; 0 if only `rtol` is set.
        outputs: Tolerances of outputs, by value.
        nan_equal: Count elements that are NaN or infinite on both sides as compared.
        metrics: Custom metrics, by name.
        progress: Called with each layer's path.
        precision: The element type in which f16 and bf16 are computed.
        computes_in: The element type in which the reference computes, if it is coarser than the type of its values.
        weights: The shorter type to which the weights of one side are rounded.
        is_same_engine: True if ir_exec runs both sides.
        floor: For two files that ir_exec runs, the maximum error relative to the root mean square of a value; None if
            their precisions differ.
        fail_on: The differences that count.
        on_call: Called after each call.
    """

    rtol: float | None = None
    atol: float | None = None
    outputs: Mapping[tuple[tuple[str, ...], str, int], Tolerance] = field(default_factory=dict)
    nan_equal: bool = False
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    progress: Callable[[str], None] | None = None
    threads: int | None = None
    precision: Precision = "f32"
    computes_in: ElementType | None = None
    weights: ElementType | None = None
    is_same_engine: bool = False
    floor: float | None = None
    fail_on: Literal["outputs", "layers"] = "outputs"
    on_call: CallObserver | None = None

    @property
    def user_tolerance(self) -> Tolerance | None:
        is_set = self.rtol is not None or self.atol is not None
        return Tolerance(rtol=self.rtol or 0.0, atol=self.atol or 0.0) if is_set else None

    def own_tolerance(self, node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType]) -> Tolerance:
        exact = Tolerance() if isinstance(node.op, Const) and len(set(kinds)) == 1 else None
        return self.user_tolerance or exact or own_tolerance(node, inputs, self._types_computed_in(kinds))

    def carried_tolerance(self, kinds: Sequence[ElementType], node: Node | None = None) -> Tolerance:
        floats = {element_type for element_type in kinds if element_type.is_float}
        uses_floor = self.weights is None and len(floats) < 2
        floor = self.floor if uses_floor else None
        computed = kinds if floor is not None else self._types_computed_in(kinds)
        rounded = [self.weights] if self.weights is not None and floats else []
        return self.user_tolerance or tolerance_of([*computed, *rounded], node, floor)

    def chain_tolerance(self, kinds: Sequence[ElementType]) -> Tolerance:
        """Return the tolerance for the own error of a chain of layers, which rounds like a complete model."""
        return replace(self, weights=None, floor=None if self.weights else self.floor).carried_tolerance(kinds)

    def _types_computed_in(self, kinds: Sequence[ElementType]) -> Sequence[ElementType]:
        computed = self.computes_in
        is_float = any(element_type.is_float for element_type in kinds)
        return [*kinds, computed] if is_float and computed is not None else kinds


def difference_text(error: Difference) -> str:
    """Return a description of a difference in one line."""
    if error.problem is not None:
        return error.problem
    text = f"max abs {format_number(error.max_abs)}, rel {format_number(error.max_rel)}"
    if error.sqnr_db is not None:
        text += f", SQNR {error.sqnr_db:.1f} dB"
    text += f"; {error.beyond_count:,} of {error.elements:,} beyond the tolerance"
    if error.worst is not None:
        position = list(error.worst)
        ours, reference = format_number_pair(error.ours, error.reference)
        text += f"; at {position} {ours} instead of {reference}"
    return text
