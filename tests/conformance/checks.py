"""Everything that is held against one case, as lines of text; no lines: nothing is wrong.

Every case of every table is replayed in the three forms of `build.FORMS`: static shapes, all dims unknown, and unknown
rank. In each form `check_types` compares inference with OpenVINO's (`test_types`), and `check_file` reads a file and
runs it (`test_files`). Values are compared with OpenVINO's once, for static shapes (`check_values`, `test_values`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

import ir_exec
from ir_exec.errors import IRError
from ir_exec.types import Array, ElementType
from tests import cases
from tests.conformance import ours
from tests.conformance.build import FORMS, Form, build
from tests.conformance.case import Case
from tests.conformance.compare import type_faults, value_faults
from tests.conformance.kept import has_wide_vectors
from tests.conformance.oracle import NodeTypes, Oracle, Refused, Request

__all__ = [
    "TOGETHER",
    "answer_of",
    "can_be_asked",
    "check_file",
    "check_in_f32",
    "check_types",
    "check_values",
    "families",
    "requests",
    "table",
]

TOGETHER: Final = 32
"""Rows of a table whose values are requested at once: compiling takes long, even of one layer."""

_LAST_PLACE = {ElementType.f16: 2.0**-10, ElementType.bf16: 2.0**-7}


def families() -> list[str]:
    """The names of the tables under `tests/cases`: `movement.gather` is `tests/cases/movement/gather.py`."""
    modules = pkgutil.walk_packages(cases.__path__, f"{cases.__name__}.")
    return sorted(module.name.removeprefix(f"{cases.__name__}.") for module in modules if not module.ispkg)


def table(family: str) -> list[Case]:
    rows: list[Case] = importlib.import_module(f"tests.cases.{family}").CASES
    return rows


def requests(case: Case) -> list[Request]:
    """The requests to OpenVINO for a case without others."""
    asked = [Request("reference", build(case))] if case.oracle == "reference" else []
    return asked + [Request("types", build(case, form)) for form in FORMS if form == "static" or case.dynamic]


@cache
def neighbors() -> dict[Case, list[Case]]:
    """The rows of all tables, each with the rows of the same request to the plugin."""
    answers = {}
    for family in families():
        asked = [case for case in table(family) if _has_neighbors(case)]
        for start in range(0, len(asked), TOGETHER):
            answers |= dict.fromkeys(asked[start : start + TOGETHER], asked[start : start + TOGETHER])
    return answers


_ALONE: Final = {
    "DeformableConvolution",  # gives zeros where it is not the only layer
    "StringTensorPack",  # strings of several parts get into each other's memory: OpenVINO crashes, or gives empty ones
}


def _has_neighbors(case: Case) -> bool:
    has_strings = ElementType.string in map(ElementType.of, case.inputs)
    return case.oracle == "plugin" and not case.wide_vectors and not has_strings and case.type not in _ALONE


def answer_of(case: Case, oracle: Oracle, *, alone: bool = False) -> tuple[Array, ...] | Refused:
    """OpenVINO's values for a case that it supports, requested together with its neighbors.

    alone: whether an answer that was given for its neighbors as well does not count.
    """
    assert case.oracle != "nobody"
    request = Request(case.oracle, build(case), alone=alone)
    if not alone and not oracle.knows(request):
        oracle.ask_together(Request("plugin", build(row)) for row in neighbors().get(case, ()))
    answer: tuple[Array, ...] | Refused = oracle.ask(request)
    return answer


def can_be_asked(case: Case) -> bool:
    """Return True if OpenVINO is right about the values of a case on this processor."""
    return has_wide_vectors() or not case.wide_vectors


def check_values(case: Case, oracle: Oracle) -> list[str]:
    """Our outputs against the expected ones and OpenVINO's; inputs stay as they were, and their memory layout
    makes no difference."""
    if case.oracle == "nobody" and case.expected is None:
        return ["nobody knows the answer: give `expected`"]
    try:
        actual, faults = _careful_outputs(case)
    except Exception as error:  # the table continues after any fault
        return [_describe_error("evaluate", error)]
    if case.expected is not None:
        faults += _add_prefix(
            "against `expected`", value_faults(actual, case.expected, case.rtol, case.atol, case.summed)
        )
    if case.oracle != "nobody" and can_be_asked(case):
        faults += _add_prefix(f"against OpenVINO ({case.oracle})", _openvino_faults(case, actual, oracle))
    if not faults:
        faults += _add_prefix("strided inputs", _strided_faults(case, actual))
    return faults


def _openvino_faults(case: Case, actual: Sequence[Array], oracle: Oracle) -> list[str]:
    faults: list[str] = []
    for alone in (False, True):
        # Where outputs differ, no neighbor shall have to do with it.
        answer = answer_of(case, oracle, alone=alone)
        if isinstance(answer, Refused):
            return [f"no answer: {answer.reason}"]
        faults = value_faults(actual, answer, case.rtol, case.atol, case.summed)
        if not faults:
            break
    return faults


def check_types(case: Case, form: Form, oracle: Oracle) -> list[str]:
    """Our inferred types against OpenVINO's, and whether they hold the outputs that really come.

    Where OpenVINO refuses a dynamic form, and for cases that it does not support, only the second is checked.
    """
    try:
        output_types = ours.infer(case, form)
    except Exception as error:  # the table continues after any fault
        return [_describe_error("infer", error)]
    expected = None
    if form == "static" or case.dynamic:
        answer = oracle.types(build(case, form))
        if isinstance(answer, Refused):
            if form == "static" and case.oracle != "nobody":
                return [f"OpenVINO refuses the case: {answer.reason}"]
        else:
            expected = _layer(answer).outputs
    return type_faults(output_types, expected, _actual(case))


def check_file(case: Case, form: Form) -> list[str]:
    """The case as a file, read and run through the public API: the same outputs as from the operator alone.

    In the precision of the file: the table is about the kernels of every element type, those of 16-bit floats included.
    """
    try:
        alone = ours.evaluate(case)
    except Exception:  # reported by check_values
        return []
    file = build(case, form)
    try:
        model = ir_exec.read_model(file.xml, weights=file.weights)
        result = ir_exec.compile_model(model, precision="file")(file.inputs)
    except Exception as error:  # the table continues after any fault
        return [_describe_error("the file", error)]
    return _add_prefix("against the operator alone", value_faults([result[i] for i in range(len(result))], alone))


def check_in_f32(case: Case) -> list[str]:
    """A case of 16-bit floats as a file that is computed in f32: equal outputs except for the last place.

    No lines for other cases, and for random numbers: those of f32 are others.
    """
    alone = _actual(case)
    if alone is None or case.type == "RandomUniform":
        return []
    places = [_LAST_PLACE.get(ElementType.of(array), 0.0) for array in (*case.inputs, *alone)]
    if not any(places):
        return []
    file = build(case)
    try:
        result = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))(file.inputs)
    except Exception as error:  # the table continues after any fault
        return [_describe_error("in f32", error)]
    rtol, atol = (max(tolerance, 2 * max(places)) for tolerance in (case.rtol, case.atol))
    return _add_prefix("in f32", value_faults([result[i] for i in range(len(result))], alone, rtol, atol))


def _layer(nodes: Sequence[NodeTypes]) -> NodeTypes:
    return next(node for node in nodes if node.name == "layer")


def _actual(case: Case) -> Sequence[Array] | None:
    try:
        return ours.evaluate(case)
    except Exception:  # reported by check_values
        return case.expected


def _careful_outputs(case: Case) -> tuple[tuple[Array, ...], list[str]]:
    """Outputs computed from inputs that cannot be written to, and what was done that must not be."""
    inputs = tuple(array.copy() for array in case.inputs)
    for array in inputs:
        array.flags.writeable = False
    outputs = ours.evaluate(case, inputs)
    faults = []
    for position, (array, original) in enumerate(zip(inputs, case.inputs, strict=True)):
        if not _same_bits(array, original):
            faults.append(f"evaluate changed input {position}")
    if not ours.operator(case).may_alias and any(
        np.may_share_memory(output, other) for output in outputs for other in inputs
    ):
        faults.append("an output shares memory with an input, but `may_alias` is not declared")
    return outputs, faults


def _same_bits(left: Array, other: Array) -> bool:
    if ElementType.of(left) is ElementType.string:
        return bool((left == other).all())
    return left.tobytes() == other.tobytes()


def _strided_faults(case: Case, actual: Sequence[Array]) -> list[str]:
    """Faults with inputs whose elements are not contiguous; rounding may differ by the order of sums."""
    again = ours.evaluate(case, [_to_strides(array) for array in case.inputs])
    return value_faults(again, actual, max(case.rtol, 1e-6), max(case.atol, 1e-6))


def _to_strides(array: Array) -> Array:
    if array.ndim == 0:
        return array
    spaced = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::-2]
    spaced[...] = array
    return spaced


def _describe_error(method: str, error: Exception) -> str:
    code = f" {error.code}" if isinstance(error, IRError) else ""
    return f"{method} raised {type(error).__name__}{code}: {error}"


def _add_prefix(prefix: str, faults: Sequence[str]) -> list[str]:
    return [f"{prefix}: {fault}" for fault in faults]
