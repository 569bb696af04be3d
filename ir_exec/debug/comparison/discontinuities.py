"""Differences that are not faults, and values that cannot show a fault.

Steps of discontinuous functions, ties, and layers that amplify small errors explain a difference. Values whose elements
are all non-finite, equal or saturated show none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ir_exec.debug.comparison.metrics import Difference, Tolerance, difference, same_bits
from ir_exec.debug.values.facts import as_numbers, not_finite_in, pieces
from ir_exec.graph import Graph, Node, Value
from ir_exec.ops.base.facts import Steps
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.records import Number, Record
from ir_exec.types import Array, ElementType

__all__ = ["Jump", "Untested", "driven_values", "find_untested_reason", "jump_of", "on_steps", "reached_by_rounding"]

_NEAR = 64
"""Maximum distance of a number from a step of the function, in ULP."""


def on_steps(
    node: Node,
    inputs: Sequence[Array],
    ours: Sequence[Array],
    reference: Sequence[Array | None],
    tolerance: Tolerance,
    computes_in: ElementType | None = None,
    noise: float = 0.0,
) -> str | None:
    """Return a note if a layer differs only in ties and on steps; None if it differs elsewhere, too.

    Args:
        inputs: The inputs from which `ours` was computed.
        reference: The reference's outputs; None for unknown ones.
        computes_in: The type in which the reference computed, if it is coarser than the type of the inputs.
        noise: The relative error of inputs that are results of several layers.
    """
    steps = None if node.op is None else node.op.steps
    coarse = max(noise / _NEAR, 0.0 if computes_in is None else _STEPS[computes_in.name])
    for output, expected in zip(ours, reference, strict=False):
        if expected is not None and output.shape != expected.shape:
            return None
    if steps == "order":
        return _ties(node, inputs[0], ours, reference, coarse)
    if not ours or not reference or reference[0] is None:
        return None
    output, expected = ours[0], reference[0]
    with np.errstate(all="ignore"):
        a, b = as_numbers(output), as_numbers(expected)
        differs = (np.abs(a - b) > tolerance.atol + tolerance.rtol * np.abs(b)) & ~(np.isnan(a) & np.isnan(b))
        count = int(np.count_nonzero(differs))
        if steps == "integers" and ElementType.of(inputs[0]).is_float and output.dtype.kind in "iu":
            undefined = differs & _has_no_place(as_numbers(inputs[0]), output.dtype)
            differs &= ~undefined
            if count and not differs.any():
                return f"{count} of {output.size} elements are beyond the range of {ElementType.of(output)} (undefined)"
        if steps == "levels":
            excused = _mask_quantization_ties(node, inputs, a, b, coarse)
        elif steps == "operands":
            excused = _near(inputs[0], inputs[1], coarse)
        elif steps is not None:
            excused = _mask_rounding_ties(steps, inputs, a, b, coarse)
        else:
            return None
    if not count or bool((differs & ~np.broadcast_to(excused, differs.shape)).any()):
        return None
    apart = "" if steps == "operands" else "; one step apart"
    return f"{count} of {output.size} elements are on a step{apart}"


_STEPS = {"f64": 2.0**-52, "f16": 2.0**-10, "bf16": 2.0**-7}


def _step_of(array: Array, coarse: float) -> float:
    """Return the relative step of the element type, or a coarser one."""
    return max(_STEPS.get(ElementType.of(array).name, 2.0**-23), coarse)


def _has_no_place(numbers: Array, dtype: np.dtype[Any]) -> Array:
    """Return a mask of numbers beyond the range of an integer type, whose conversion is undefined as in C++."""
    limits = np.iinfo(dtype)
    truncated = np.trunc(numbers)
    # f64 cannot represent the greatest 64-bit integer, but the power of two above it.
    return ~((truncated >= float(limits.min)) & (truncated < float(limits.max) + 1.0))


def _near(left: Array, right: Array, coarse: float) -> Array:
    """Return a mask of the elements in which two operands are almost equal."""
    a, b = as_numbers(left), as_numbers(right)
    limit = _NEAR * max(_step_of(left, coarse), _step_of(right, coarse)) * np.maximum(np.abs(a), np.abs(b))
    near: Array = np.abs(a - b) <= limit
    return near


def _mask_rounding_ties(steps: Steps, inputs: Sequence[Array], ours: Array, reference: Array, coarse: float) -> Array:
    """Return a mask of numbers near a rounding threshold whose results are at most one step apart."""
    numbers = as_numbers(inputs[0])
    unit: float | Array = 1.0
    if steps == "multiples":
        divisor = as_numbers(inputs[1])
        numbers, unit = numbers / divisor, np.abs(divisor)
    distance = numbers - 0.5 if steps == "halves" else numbers
    gap = np.abs(distance - np.rint(distance))
    if steps == "zero":
        gap = np.abs(numbers)
    near = gap <= _NEAR * _step_of(inputs[0], coarse) * np.maximum(np.abs(numbers), 1.0)
    excused: Array = near & (np.abs(ours - reference) <= unit * (1 + 1e-6))
    return excused


def _mask_quantization_ties(node: Node, inputs: Sequence[Array], ours: Array, reference: Array, coarse: float) -> Array:
    data, input_low, input_high, output_low, output_high = (as_numbers(array) for array in inputs)
    levels = getattr(node.op, "levels", 256)
    level = (data - input_low) / (input_high - input_low) * (levels - 1)
    step = np.abs(output_high - output_low) / (levels - 1)
    gap = np.abs(np.abs(level - np.rint(level)) - 0.5)
    near = gap <= np.minimum(_NEAR / 4 * _step_of(inputs[0], coarse) * np.maximum(np.abs(level), levels), 0.5)
    excused: Array = near & (np.abs(ours - reference) <= step * (1 + 1e-3))
    return excused


def _ties(
    node: Node, data: Array, ours: Sequence[Array], reference: Sequence[Array | None], coarse: float
) -> str | None:
    """Return a note if the chosen elements are equal and differ only in order or position; None otherwise."""
    if len(ours) < 2 or reference[1] is None:
        return None
    axis = getattr(node.op, "axis", -1)
    mine, theirs = ours[1].astype(np.int64), reference[1].astype(np.int64)
    size = data.shape[axis]
    if theirs.size and (theirs.min() < 0 or theirs.max() >= size):
        return None
    numbers = as_numbers(data)
    chosen, other = np.take_along_axis(numbers, mine, axis), np.take_along_axis(numbers, theirs, axis)
    if getattr(node.op, "sort", "value") != "value":
        chosen, other = np.sort(chosen, axis), np.sort(other, axis)
    ordered = np.sort(theirs, axis)
    if theirs.shape[axis] > 1 and bool((np.diff(ordered, axis=axis) == 0).any()):
        return None
    limit = _NEAR * _step_of(data, coarse) * np.maximum(np.abs(chosen), np.abs(other))
    if bool((np.abs(chosen - other) > limit).any()):
        return None
    values = reference[0]
    if values is not None and bool((np.abs(as_numbers(values) - other) > limit).any()):
        return None
    count = int(np.count_nonzero(mine != theirs))
    return f"{count} of {mine.size} indices differ among equal elements" if count else None


_TRIALS = 6
"""Runs of a layer with rounded inputs, in which other elements increase and decrease."""


def reached_by_rounding(
    node: Node,
    again: Callable[[Sequence[Array]], Sequence[Array]],
    inputs: Sequence[Array],
    ours: Sequence[Array],
    reference: Sequence[Array | None],
    tolerance: Tolerance,
    computes_in: ElementType | None = None,
    noise: float = 0.0,
) -> str | None:
    """Return a note if inputs that differ only in rounding lead a layer with steps to the reference's outputs.

    Args:
        again: Returns the outputs of the layer for other inputs.
        inputs: The inputs from which `ours` was computed.
        reference: The reference's outputs; None for unknown ones.
        computes_in: The type in which the reference computed, if it is coarser than the type of the inputs.
        noise: The relative error of inputs that are results of several layers.
    """
    has_steps = node.op is not None and node.op.is_discontinuous
    if not has_steps and any(ElementType.of(array).is_float for array in ours):
        return None
    pairs = [(position, other) for position, other in enumerate(reference[: len(ours)]) if other is not None]
    if not any(array.dtype.kind == "f" for array in inputs) or any(
        other.shape != ours[position].shape or other.dtype.kind not in "fiub" for position, other in pairs
    ):
        return None
    coarse = max(noise / _NEAR, 0.0 if computes_in is None else _STEPS[computes_in.name])
    open_elements = {position: _differing(ours[position], other, tolerance) for position, other in pairs}
    count = sum(int(np.count_nonzero(mask)) for mask in open_elements.values())
    if not count:
        return None
    for trial in range(_TRIALS):
        outputs = again([_rounded_elsewhere(array, trial, position, coarse) for position, array in enumerate(inputs)])
        for position, other in pairs:
            if outputs[position].shape != other.shape:
                continue
            open_elements[position] &= _differing(outputs[position], other, tolerance)
        if not any(mask.any() for mask in open_elements.values()):
            return f"{count} elements are those of inputs that differ by at most {_NEAR} ulp"
    return None


def _differing(ours: Array, reference: Array, tolerance: Tolerance) -> Array:
    """Return a mask of the elements beyond the tolerance."""
    with np.errstate(all="ignore"):
        a, b = as_numbers(ours), as_numbers(reference)
        within = (np.abs(a - b) <= tolerance.atol + tolerance.rtol * np.abs(b)) | (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(~within)


def _rounded_elsewhere(array: Array, trial: int, position: int, coarse: float) -> Array:
    """Return an array of floats with elements that are a few ULP greater, smaller, or either.

    In the first trials, the second input moves against the first one: data against limits, an operand against another.
    """
    if array.dtype.kind != "f":
        return array
    signs: Array | float = (-1.0) ** (trial + position) if trial < 2 else _signs(array.shape, trial)
    step = _NEAR * _step_of(array, coarse)
    with np.errstate(all="ignore"):
        greatest = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
        # An error in the accumulation of the layer is relative to its greatest terms.
        return np.asarray(array + signs * step * np.maximum(np.abs(array), greatest / _NEAR), array.dtype)


def _signs(shape: tuple[int, ...], seed: int) -> Array:
    return np.asarray(np.random.default_rng(seed).choice([-1.0, 1.0], shape))


class Jump(Record):
    """Effect of inputs that differ within the tolerance on a correct layer with steps.

    Attributes:
        count: The number of `elements` that are beyond the tolerance.
        input: The position of the input that differs most.
        max_abs: The maximum difference of that input, only at the elements beyond the tolerance if the output has the
            same shape.
        max_ulp: The maximum difference of that input in ULP.
        made_by: The path of the nearest upstream layer whose rounding causes the difference; None if unknown.
    """

    count: int
    elements: int
    input: int
    max_abs: Number
    max_ulp: Number
    made_by: str | None = None

    def __str__(self) -> str:
        what = f"{self.count:,} of {self.elements:,} elements are on the other side of a step"
        maker = "" if self.made_by is None else f', caused by layer "{self.made_by}"'
        return f"{what}; input {self.input} differs there by at most {_ulps(self.max_ulp)} ({self.max_abs:.2g}){maker}"


def _ulps(count: float) -> str:
    return f"{max(count, 1):,.0f} ulp" if np.isfinite(count) else "infinity"


def jump_of(
    node: Node,
    inputs: Sequence[Array],
    theirs: Sequence[Array],
    output: Array,
    expected: Array,
    carried: Difference,
    within: Callable[[Sequence[ElementType]], Tolerance],
    made_by: str | None,
) -> Jump | None:
    """Return the jump of an output with the difference `carried`, although the layer is correct for `theirs`.

    None if this output has no steps, or if an input is beyond the tolerance, `within` for its element types.
    """
    if ElementType.of(output).is_float and not (node.op is not None and node.op.is_discontinuous):
        return None
    apart = [
        (position, *pair) for position, pair in enumerate(zip(inputs, theirs, strict=True)) if not same_bits(*pair)
    ]
    if not apart:
        return None
    for _, mine, other in apart:
        if not difference(mine, other, within((ElementType.of(mine), ElementType.of(other)))).is_within:
            return None
    beyond = _beyond(output, expected, carried)
    jumps = []
    for position, mine, other in apart:
        if beyond is not None and mine.shape == beyond.shape:
            mine, other = mine[beyond], other[beyond]
        error = difference(mine, other, Tolerance())
        jumps.append((error.max_ulp, error.max_abs, position))
    max_ulp, max_abs, position = max(jumps)
    return Jump(
        count=carried.beyond_count,
        elements=carried.elements,
        input=position,
        max_abs=max_abs,
        max_ulp=max_ulp,
        made_by=made_by,
    )


def _beyond(output: Array, expected: Array, carried: Difference) -> Array | None:
    """Return a mask of the elements beyond the tolerance; None if the shapes differ."""
    if output.shape != expected.shape:
        return None
    a, b = as_numbers(output), as_numbers(expected)
    with np.errstate(all="ignore"):
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        return np.asarray(~(np.abs(a - b) <= carried.atol + carried.rtol * np.abs(b)) & ~equal)


Untested: TypeAlias = Literal["not finite", "constant", "saturated"]
"""not finite: every element is NaN or infinite. constant: all elements are equal. saturated: every element is at a
limit of a bounded function."""

_GLIMPSE = 32
"""Number of elements to examine first: they differ in nearly all values, and the others need no pass."""


def driven_values(graph: Graph) -> frozenset[Value]:
    """Return the values of a graph that depend on the values of its Parameters, not only on their shapes."""
    driven: set[Value] = set()
    for node in graph.nodes:
        if isinstance(node.op, Const):
            continue
        if not node.values_in or node.bodies or any(value in driven for value in node.values_read):
            driven.update(node.outputs)
    return frozenset(driven)


def find_untested_reason(node: Node, outputs: Sequence[Array]) -> Untested | None:
    """Return the reason why no element of a layer's outputs can show a fault; None if one can.

    Args:
        node: A layer that depends on the inputs of the model.
        outputs: Its outputs. Integers, booleans, strings and finite outputs of a single element are assumed to show
            faults.
    """
    limits = () if node.op is None else node.op.limits
    reasons = [_reason(array, limits) for array in outputs]
    return reasons[0] if reasons and None not in reasons else None


def _reason(array: Array, limits: Sequence[float]) -> Untested | None:
    if not ElementType.of(array).is_float or not array.size or not (limits or _is_suspect(array)):
        return None
    first = float(as_numbers(np.asarray(array.flat[:1]))[0])
    reasons: tuple[tuple[Untested, bool], ...] = (
        ("not finite", not_finite_in(array) == array.size),
        ("constant", array.size > 1 and _consists_of(array, [first])),
        ("saturated", bool(limits) and _consists_of(array, limits)),
    )
    return next((reason for reason, applies in reasons if applies), None)


def _is_suspect(array: Array) -> bool:
    """Return True unless the first elements contain two different finite numbers."""
    with np.errstate(all="ignore"):
        numbers = as_numbers(array.reshape(-1)[:_GLIMPSE] if array.flags.c_contiguous else array.flat[:_GLIMPSE])
        finite = numbers[np.isfinite(numbers)]
        return finite.size < 2 or bool((finite == finite[0]).all())


def _consists_of(array: Array, numbers: Sequence[float]) -> bool:
    with np.errstate(all="ignore"):
        return all(np.isin(as_numbers(part), numbers).all() for _, (part,) in pieces(array))
