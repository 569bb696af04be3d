"""Judgement of a part: compare its outputs with the expected ones, within the tolerance of the layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ir_exec.debug.comparison.advice import computed_type
from ir_exec.debug.comparison.cancellation import cancelling_terms
from ir_exec.debug.comparison.discontinuities import on_steps
from ir_exec.debug.comparison.metrics import Difference, Settings, Tolerance, difference
from ir_exec.debug.device.asking import Asker, PartAnswer, PartQuestion
from ir_exec.debug.device.records import PartStatus
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType

__all__ = ["Judgement", "PartCase", "judge_again"]


_NO_TOLERANCE = Tolerance()


@dataclass(frozen=True)
class PartCase:
    """A model for a device, with its expected outputs.

    Attributes:
        node: The layer, if the model is a single layer.
        inputs: The input arrays.
        positions: The positions of the outputs of `node`.
        least: The minimum tolerance.
    """

    question: PartQuestion
    expected: Sequence[Array]
    node: Node | None = None
    inputs: Sequence[Array] = ()
    positions: Sequence[int] = ()
    least: Tolerance = _NO_TOLERANCE


@dataclass(frozen=True)
class Judgement:
    """The status of a part, the error of its worst output, and a note."""

    status: PartStatus
    error: Difference | None = None
    note: str | None = None

    @property
    def is_right(self) -> bool:
        """Return True for values within the tolerance, or beyond it only at discontinuities."""
        return self.status in ("right", "step")


def judge_again(case: PartCase, answer: PartAnswer, asker: Asker, settings: Settings) -> Judgement:
    """Judge an answer. A part that is wrong in a batch runs again alone, and again with static shapes."""
    result = judgement(case, answer, asker, settings)
    note = None
    if result.status == "wrong" and answer.together > 1:
        alone = judgement(case, asker.ask(case.question), asker, settings)
        if alone.is_right:
            note = "wrong in a batch with independent layers"
        result = alone
    if result.status in ("wrong", "refused") and case.question.is_open:
        static = judgement(case, asker.ask(case.question, is_static=True), asker, settings)
        if result.status == "wrong" and static.is_right:
            note = "right with static shapes"
        elif result.status == "refused" and static.status not in ("refused", "crashed"):
            note, result = f"with static shapes, because the device rejects dynamic dims: {result.note}", static
    notes = "; ".join(filter(None, (result.note, note)))
    return replace(result, note=notes or None)


def judgement(case: PartCase, answer: PartAnswer, asker: Asker, settings: Settings) -> Judgement:
    """Judge an answer without further runs."""
    if answer.problem is not None:
        return Judgement(answer.problem, note=answer.reason)
    coarse = asker.device.computes_in
    pairs = enumerate(zip(case.expected, answer.outputs, strict=True))
    with np.errstate(all="ignore"):
        errors = [_error(case, number, ours, theirs, coarse, settings) for number, (ours, theirs) in pairs]
    if not errors:
        return Judgement("right")
    worst = max(errors, key=lambda error: (error.beyond, error.max_abs))
    if worst.is_within:
        return Judgement("right", worst)
    if case.node is None or worst.problem is not None or any(not _is_dense(array) for array in case.inputs):
        return Judgement("wrong", worst)
    if asker.device.narrows_integers and any(map(_exceeds_i32, (*case.inputs, *case.expected))):
        return Judgement(
            "step", worst, "integers beyond the range of i32, the element type that the device computes in"
        )
    count = max(case.positions, default=0) + 1
    ours = [case.expected[0]] * count
    theirs: list[Array | None] = [None] * count
    for position, expected, output in zip(case.positions, case.expected, answer.outputs, strict=True):
        ours[position], theirs[position] = expected, output
    limit = Tolerance(worst.rtol, worst.atol)
    steps = on_steps(case.node, case.inputs, ours, theirs, limit, coarse)
    return Judgement("wrong" if steps is None else "step", worst, steps)


_I32 = np.iinfo(np.int32)


def _exceeds_i32(array: Array) -> bool:
    """Return True if integers of 32 bits or more exceed the range of i32."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 4 or not array.size:
        return False
    return bool(array.min() < _I32.min or array.max() > _I32.max)


def _is_dense(array: Array) -> bool:
    return array.dtype != object and not array.dtype.names


def _error(
    case: PartCase, number: int, ours: Array, theirs: Array, coarse: ElementType | None, settings: Settings
) -> Difference:
    kinds = [ElementType.of(ours), computed_type(theirs)]
    if coarse is not None and any(element_type.is_float for element_type in kinds):
        kinds.append(coarse)
    if case.node is None:
        return difference(ours, theirs, settings.chain_tolerance(kinds))
    tolerance = settings.own_tolerance(case.node, case.inputs, kinds)
    least = case.least
    tolerance = replace(tolerance, rtol=max(tolerance.rtol, least.rtol), atol=max(tolerance.atol, least.atol))
    is_first = case.positions[number] == 0
    terms = partial(cancelling_terms, case.node, case.inputs) if is_first and case.inputs else None
    return difference(ours, theirs, tolerance, None, terms)
