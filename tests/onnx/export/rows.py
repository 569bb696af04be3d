"""Rows of the operator tables as ONNX models: exported, checked, run by onnxruntime, compared with `evaluate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import ir_exec
from ir_exec.errors import IRError
from ir_exec.onnx.export.carriers import to_carrier
from ir_exec.onnx.export.files import to_bytes
from ir_exec.onnx.export.lower import DEFAULT_OPSET, lower_model
from ir_exec.types import Array, ElementType
from tests.conformance import ours
from tests.conformance.build import Form, build
from tests.conformance.case import Case
from tests.conformance.compare import value_faults
from tests.conformance.oracle import Refused
from tests.onnx.export.engine import WIDER, Answer, Engine, Question

__all__ = ["Outcome", "faults_of", "outcomes", "summary"]

_ROUNDING = {"f64": 1e-12, "f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}
"""Relative error that another order of sums and products may bring, where the row allows rounding at all."""

_LAST_PLACES = {"f64": 1e-15, "f32": 5e-7, "f16": 2e-3, "bf16": 8e-3}
"""Relative error of another library's functions, for rows that require the digits of OpenVINO's."""

_RANDOM = {"RandomUniform", "Multinomial"}


class Outcome(NamedTuple):
    """The result of a row, the program that ran it (`engine`), and whether the export refused it, as in `faults`."""

    case: Case
    faults: list[str]
    engine: str = ""
    is_refused: bool = False

    @property
    def is_right(self) -> bool:
        """No fault was found."""
        return not self.faults


def outcomes(
    rows: Sequence[Case],
    engine: Engine,
    form: Form = "static",
    opset: int = DEFAULT_OPSET,
    by: str = "onnxruntime",
) -> Iterator[Outcome]:
    """The outcome of each row in an engine, in their order."""
    asked: list[tuple[Case, Question | Outcome]] = [(case, _question(case, form, opset)) for case in rows]
    answers = engine.run([question._replace(by=by) for _, question in asked if isinstance(question, Question)])
    for case, question in asked:
        yield question if isinstance(question, Outcome) else _judge(case, next(answers), opset)


def _question(case: Case, form: Form, opset: int) -> Question | Outcome:
    file = build(case, form)
    try:
        exported = lower_model(ir_exec.read_model(file.xml, weights=file.weights), opset=opset)
        content = to_bytes(exported)
    except IRError as error:
        return Outcome(case, [f"export: {error}"], is_refused=type(error).__name__ == "UnsupportedError")
    except Exception as error:  # the table continues after any fault
        return Outcome(case, [f"export raised {type(error).__name__}: {error}"])
    names = exported.inputs
    if len(names) != len(file.inputs):
        return Outcome(case, [f"{len(names)} inputs, expected {len(file.inputs)}"])
    arrays = [to_carrier(array, opset) for array in file.inputs]
    return Question(content, dict(zip(names, arrays, strict=True)))


def _judge(case: Case, answer: Answer | Refused, opset: int) -> Outcome:
    if isinstance(answer, Refused):
        return Outcome(case, [answer.reason])
    expected = ours.evaluate(case)
    if len(answer.outputs) != len(expected):
        return Outcome(case, [f"{len(answer.outputs)} outputs, expected {len(expected)}"], answer.engine)
    expected = tuple(to_carrier(array, opset) for array in expected)
    actual = [_narrow(array, other) for array, other in zip(answer.outputs, expected, strict=True)]
    return Outcome(case, faults_of(case, actual, expected), answer.engine)


def faults_of(case: Case, actual: Sequence[Array], expected: Sequence[Array]) -> list[str]:
    """Differences to another engine's outputs that exceed the row's tolerance, or that of another order of sums."""
    pairs = zip(actual, expected, strict=False)
    if case.type in _RANDOM:
        # ONNX's random numbers are others.
        actual = [
            other if array.shape == other.shape and array.dtype == other.dtype else array for array, other in pairs
        ]
    is_rounded = case.rtol > 0 or case.atol > 0
    if not is_rounded and ours.operator(case).is_data_movement:
        return value_faults(actual, expected)
    errors = _ROUNDING if is_rounded else _LAST_PLACES
    rounding = max((errors.get(ElementType.of(array).name, 0.0) for array in (*case.inputs, *expected)), default=0.0)
    return value_faults(actual, expected, max(case.rtol, rounding), max(case.atol, rounding), case.summed)


def _narrow(actual: Array, expected: Array) -> Array:
    """An array that travelled in a wider type, or as strings, in its own type."""
    if expected.dtype == object:
        return np.asarray(actual, object)
    return (
        actual.astype(expected.dtype) if expected.dtype in WIDER and actual.dtype == WIDER[expected.dtype] else actual
    )


def summary(rows: Sequence[Outcome]) -> Counter[str]:
    """The numbers of rows that are right by engine, refused and wrong."""
    return Counter(
        outcome.engine if outcome.is_right else "refused" if outcome.is_refused else "wrong" for outcome in rows
    )
