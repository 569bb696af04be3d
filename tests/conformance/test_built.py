"""Every version of every operator made by the builder, saved, and read by OpenVINO: types and values equal those of a
file that is written out by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import ir_exec
from ir_exec import build
from ir_exec.build.functions import function_names
from ir_exec.ops import registered, resolve
from ir_exec.types import ElementType, TensorType
from tests.conformance.build import IRFile
from tests.conformance.build import build as file_of
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.compare import type_faults, value_faults
from tests.conformance.oracle import Oracle, Refused

STRUCTURAL = {"Parameter", "Const", "Result"}
"""Part of every network."""

WITH_BODIES = {"If", "Loop", "TensorIterator"}
"""No row of a table has a body: tests/build/test_bodies.py builds them."""

VARIABLES = {"Assign", "ReadValue"}


@cache
def cases() -> dict[str, Case]:
    """The first row that OpenVINO answers for each version of each operator, by names such as `Gather-8`."""
    distinct: dict[str, Case] = {}
    for family in families():
        for case in table(family):
            cls = resolve(case.type, f"opset{case.opset}")
            key = f"{cls.type_name}-{cls.since}"
            if key not in distinct or (distinct[key].oracle == "nobody" and case.oracle != "nobody"):
                distinct[key] = case
    return distinct


VERSIONS = sorted(f"{cls.type_name}-{cls.since}" for cls in registered() if cls.type_name not in STRUCTURAL)


def build_case(case: Case, folder: Path) -> tuple[ir_exec.Model, IRFile, list[TensorType]]:
    """The network of a case, its file, and the types of the layer's outputs."""
    inputs = []
    for position, array in enumerate(case.inputs):
        if position in case.constants:
            inputs.append(build.constant(array))
        else:
            inputs.append(build.parameter(array.shape, ElementType.of(array), name=f"input{position}"))
    parameters = [value for value in inputs if value.layer.type == "Parameter"]
    result = build.op(case.type, *inputs, opset=case.opset, name="layer", **case.attributes)
    outputs = [result] if isinstance(result, build.Value) else list(result)
    model = build.model(outputs, parameters, sinks=outputs if case.type == "Assign" else ())
    model.save(folder / "built.xml")
    arguments = tuple(array for position, array in enumerate(case.inputs) if position not in case.constants)
    file = IRFile((folder / "built.xml").read_bytes(), (folder / "built.bin").read_bytes(), arguments)
    return model, file, [value.type for value in outputs]


def test_every_operator_has_a_row() -> None:
    missing = {version for version in VERSIONS if version not in cases()}
    assert {version.rpartition("-")[0] for version in missing} <= WITH_BODIES | VARIABLES
    assert len(cases()) > 230


@pytest.mark.parametrize("version", VERSIONS)
def test_built_layer_equals_openvino_reading(version: str, oracle: Oracle, tmp_path: Path) -> None:
    case = cases().get(version)
    if case is None:
        pytest.skip("no table has a row: tests/build has tests of it")
    model, file, types = build_case(case, tmp_path)
    again = ir_exec.read_model(file.xml, weights=file.weights)
    assert [str(port) for port in again.outputs] == [str(port) for port in model.outputs]
    report = ir_exec.check_model(file.xml, weights=file.weights)
    assert [str(error) for error in report.errors] == []
    answer = oracle.types(file)
    if case.oracle == "nobody" and isinstance(answer, Refused):
        return
    assert not isinstance(answer, Refused), answer.reason
    (layer,) = [node for node in answer if node.name == "layer"]
    assert not type_faults(types, layer.outputs, None)
    if case.oracle != "nobody":
        actual = oracle.values(file, case.oracle)
        expected = oracle.values(file_of(case), case.oracle)
        assert not isinstance(actual, Refused), actual.reason
        assert not isinstance(expected, Refused), expected.reason
        assert not value_faults(actual, expected)


@pytest.mark.parametrize("function", sorted(function_names()))
def test_function_equals_op(function: str) -> None:
    """Inputs by position, attributes by name."""
    newest = max(
        (cls for cls in registered() if cls.type_name == function_names()[function]), key=lambda cls: cls.since
    )
    case = cases()[f"{newest.type_name}-{newest.since}"]
    inputs: list[object] = list(case.inputs)
    attributes = {
        field.name: case.attributes[field.attribute] for field in newest.fields() if field.attribute in case.attributes
    }
    by_op = build.op(newest.type_name, *inputs, **attributes)
    fixed = [input for input in newest.inputs if not input.variadic]
    arguments = inputs[: len(fixed)] + ([inputs[len(fixed) :]] if len(fixed) < len(newest.inputs) else [])
    by_function = getattr(build, function)(*arguments, **attributes)
    layers = [result.layer if isinstance(result, build.Value) else result[0].layer for result in (by_function, by_op)]
    assert layers[0].attributes == layers[1].attributes
    assert [value.type for value in layers[0].outputs] == [value.type for value in layers[1].outputs]
    assert layers[0].op == layers[1].op
