"""From ONNX to IR to ONNX, over the official suite, and from IR to ONNX to IR, over the operator tables.

python -m tests.onnx.export.round_trips            # counts by what fails
python -m tests.onnx.export.round_trips -k resize -v
python -m tests.onnx.export.round_trips --rows movement -v
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.backend.test.runner import Runner

import ir_exec
from ir_exec.errors import IRError
from ir_exec.onnx.export.carriers import to_carrier
from ir_exec.onnx.export.files import to_bytes
from ir_exec.onnx.export.lower import DEFAULT_OPSET, lower_model
from ir_exec.types import ElementType, convert
from tests.conformance import ours
from tests.conformance.build import build
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.oracle import Refused
from tests.onnx import suite
from tests.onnx.export.engine import Answer, Engine, Question
from tests.onnx.export.rows import faults_of

__all__ = ["RoundTrip", "back_again", "round_trips"]


class RoundTrip(NamedTuple):
    """The outcome of a case: `right`, `not run` by onnxruntime itself, `not read` by ir_exec, `refused`, or `wrong`."""

    name: str
    verdict: str
    message: str = ""


def round_trips(cases: Sequence[suite.Case], engine: Engine) -> Iterator[RoundTrip]:
    """The cases read, written again and run by onnxruntime; only those that it runs itself count."""
    asked = [case for case in cases if _has_tensors_only(case)]
    yield from (RoundTrip(case.name, "not run", "sequences") for case in cases if not _has_tensors_only(case))
    own = list(engine.run([_question(case, case.model.SerializeToString()) for case in asked]))
    runnable = []
    for case, answer in zip(asked, own, strict=True):
        if isinstance(answer, Refused) or answer.engine != "onnxruntime" or _difference(case, answer):
            yield RoundTrip(case.name, "not run", getattr(answer, "reason", "other values"))
        else:
            runnable.append(case)
    written: list[tuple[suite.Case, bytes]] = []
    for case in runnable:
        result = _write_again(case)
        if isinstance(result, bytes):
            written.append((case, result))
        else:
            yield result
    answers = engine.run([_question(case, content, is_written=True) for case, content in written])
    for (case, _), answer in zip(written, answers, strict=True):
        difference = answer.reason if isinstance(answer, Refused) else _difference(case, answer, is_written=True)
        yield RoundTrip(case.name, "wrong" if difference else "right", difference)


def _has_tensors_only(case: suite.Case) -> bool:
    inputs, expected = case.runs[0]
    return all(isinstance(value, np.ndarray) for value in (*inputs, *expected))


def _question(case: suite.Case, content: bytes, *, is_written: bool = False) -> Question:
    graph = onnx.load_from_string(content).graph
    initializers = {item.name for item in graph.initializer}
    names = [value.name for value in graph.input if value.name not in initializers]
    inputs = [to_carrier(item, DEFAULT_OPSET) if is_written else item for item in case.runs[0][0]]
    return Question(content, dict(zip(names, inputs, strict=False)), full_check=False)


def _write_again(case: suite.Case) -> bytes | RoundTrip:
    try:
        model = ir_exec.read_model(case.model.SerializeToString())
    except Exception as error:  # after any error the case is not read
        return RoundTrip(case.name, "not read", f"{type(error).__name__}: {error}")
    if model.is_partial:
        return RoundTrip(case.name, "not read", "it is a network for each call")
    try:
        return to_bytes(lower_model(model))
    except IRError as error:
        return RoundTrip(case.name, "refused", str(error))
    except Exception as error:  # the suite continues after any fault
        return RoundTrip(case.name, "wrong", f"{type(error).__name__}: {error}")


def _difference(case: suite.Case, answer: Answer, *, is_written: bool = False) -> str:
    try:
        expected = [to_carrier(value, DEFAULT_OPSET) if is_written else value for value in case.runs[0][1]]
        Runner.assert_similar_outputs(expected, answer.outputs, case.rtol, case.atol)
    except Exception as error:  # of several kinds
        return " ".join(str(error).split())[:300] or type(error).__name__
    return ""


def back_again(case: Case) -> list[str]:
    """Differences after a row is exported, read again and run by the interpreter; none where it is refused."""
    file = build(case)
    try:
        content = to_bytes(lower_model(ir_exec.read_model(file.xml, weights=file.weights)))
    except IRError:
        return []
    inputs = [to_carrier(array, DEFAULT_OPSET) for array in file.inputs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ir_exec.compile_model(ir_exec.read_model(content), precision="file")(inputs)
    except Exception as error:  # the table continues after any fault
        return [f"read again: {type(error).__name__}: {error}"]
    expected = tuple(to_carrier(value, DEFAULT_OPSET) for value in ours.evaluate(case))
    actual = [result[i] for i in range(len(result))]
    return faults_of(case, [_as(value, other) for value, other in zip(actual, expected, strict=True)], expected)


def _as(actual: Any, expected: Any) -> Any:
    """Values of a type that ONNX held in a wider one, in their own."""
    element_type = ElementType.of(expected)
    return (
        actual
        if actual.dtype == expected.dtype or element_type is ElementType.string
        else convert(actual, element_type)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="words that the names of the cases hold")
    parser.add_argument("--rows", default=None, metavar="FAMILY", help="rows of the operator tables instead")
    parser.add_argument("-v", action="store_true", help="a line for each case that fails")
    options = parser.parse_args()
    words = options.k.split()
    if options.rows is not None:
        trips = list(_rows(options.rows, words))
    else:
        cases = [
            case
            for group in suite.CATEGORIES
            for case in suite.cases(group)
            if all(word in case.name for word in words)
        ]
        with warnings.catch_warnings(), Engine() as engine:
            warnings.simplefilter("ignore")
            trips = list(round_trips(cases, engine))
    for trip in trips:
        if options.v and trip.verdict in ("wrong", "refused"):
            sys.stdout.write(f"{trip.verdict} {trip.name[:300]}: {' '.join(trip.message.split())[:400]}\n")
    counts = Counter(trip.verdict for trip in trips)
    sys.stdout.write(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) + "\n")


def _rows(family: str, words: list[str]) -> Iterator[RoundTrip]:
    for name in families():
        if f"{name}.".startswith(f"{family}.") or not family:
            for case in table(name):
                if all(word in str(case) for word in words):
                    faults = back_again(case)
                    yield RoundTrip(str(case), "wrong" if faults else "right", "; ".join(faults))


if __name__ == "__main__":
    main()
