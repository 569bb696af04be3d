"""Element types that must agree: an input of another type than the input it is paired with is refused as IR402 if and
only if OpenVINO's inference refuses it.

The rows are made from the tables: of each operator the first small case with most inputs, in which one of the inputs
that are held against an earlier one is given every other element type that its port takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.ops import Op, resolve
from ir_exec.ops.base.registry import registered
from ir_exec.types import Array, ElementType, convert
from tests.conformance import ours
from tests.conformance.build import build
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.oracle import Oracle, Refused, Request

LARGEST = 5000
"""Elements of all inputs: for comparisons of types, small cases suffice."""

TAKES_ANOTHER = {
    "CTCGreedyDecoder-1": {"sequence_mask"},
    "FakeQuantize-1": {"input_low", "input_high", "output_low", "output_high"},
    "GRUCell-3": {"w"},
    "GroupNormalization-12": {"scale", "bias"},
    "LSTMCell-1": {"p"},
    "PReLU-1": {"slope"},
    "SliceScatter-15": {"updates"},
    "SpaceToBatch-2": {"pads_begin", "pads_end"},
    "SparseFillEmptyRows-16": {"default_value"},
}
"""The inputs of which OpenVINO takes types that the specification does not allow."""


def name_of(operator: type[Op]) -> str:
    return f"{operator.type_name}-{operator.since}"


def is_paired(operator: type[Op], position: int) -> bool:
    """Return True if the type of this input is, or by the specification ought to be, that of an earlier one."""
    declared = operator.inputs[min(position, len(operator.inputs) - 1)]
    is_further = declared.variadic and not declared.mixed and position >= len(operator.inputs)
    return bool(declared.like) or is_further or declared.name in TAKES_ANOTHER.get(name_of(operator), ())


def fullest_cases() -> dict[type[Op], Case]:
    """The first small case with most inputs, of each operator with inputs that are held against others."""
    by_operator: dict[type[Op], Case] = {}
    for family in families():
        for case in table(family):
            operator = resolve(case.type, f"opset{case.opset}")
            is_small = sum(array.size for array in case.inputs) <= LARGEST
            is_numeric = ElementType.string not in map(ElementType.of, case.inputs)
            fullest = by_operator.get(operator)
            if is_small and is_numeric and (fullest is None or len(case.inputs) > len(fullest.inputs)):
                by_operator[operator] = case
    return {operator: case for operator, case in by_operator.items() if any(variants(operator, case))}


def others(operator: type[Op], position: int, array: Array, *, is_constant: bool) -> Iterator[Array]:
    """The array in every other element type that the port takes.

    Constants of less than 8 bits are left out: OpenVINO's shape inference cannot read their values.
    """
    declared = operator.inputs[min(position, len(operator.inputs) - 1)]
    for element_type in ElementType:
        if element_type not in declared.types - {ElementType.string, ElementType.dynamic, ElementType.of(array)}:
            continue
        if element_type.bits >= 8 or not is_constant:
            other = convert(array, element_type)
            # Lengths and the like must stay what they are.
            if not ElementType.of(array).is_integer or np.array_equal(convert(other, ElementType.of(array)), array):
                yield other


def variants(operator: type[Op], case: Case) -> Iterator[tuple[str, Case]]:
    """The case with one input of another type, and the text that names it."""
    for position, array in enumerate(case.inputs):
        if not is_paired(operator, position):
            continue
        for other in others(operator, position, array, is_constant=position in case.constants):
            inputs = (*case.inputs[:position], other, *case.inputs[position + 1 :])
            yield f"{operator.input_name(position)} as {ElementType.of(other)}", replace(case, inputs=inputs)


def refuses(case: Case) -> bool:
    try:
        ours.infer(case)
    except IRError as error:
        if error.code != Code.element_types_differ:
            raise
        return True
    return False


CASES = fullest_cases()


def test_every_operator_with_paired_inputs_has_a_case() -> None:
    paired = {name_of(operator) for operator in registered() if any(input.like for input in operator.inputs)}
    without_other_types = {
        name_of(operator) for operator in registered() if all(len(declared.types) == 1 for declared in operator.inputs)
    }
    assert paired - without_other_types | TAKES_ANOTHER.keys() <= {name_of(operator) for operator in CASES}


@pytest.mark.parametrize("operator", CASES, ids=name_of)
def test_types_that_must_agree(operator: type[Op], oracle: Oracle) -> None:
    rows = list(variants(operator, CASES[operator]))
    answers = list(oracle.ask_all([Request("types", build(case)) for _, case in rows]))
    faults = []
    for (what, case), answer in zip(rows, answers, strict=True):
        if refuses(case) is not isinstance(answer, Refused):
            faults.append(f"{what}: OpenVINO {'refuses' if isinstance(answer, Refused) else 'takes'} it")
        elif not isinstance(answer, Refused):
            theirs = next(node for node in answer if node.name == "layer").outputs
            if [output.element_type for output in ours.infer(case)] != [their.element_type for their in theirs]:
                faults.append(f"{what}: another element type of an output")
    assert not faults, "\n".join([str(CASES[operator]), *faults])
