"""Versions of operators have the inputs and attributes of ONNX's own definitions."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import onnx
import pytest
from onnx import defs

from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.registry import FAMILIES, ML, STANDARD, TRAINING, find, onnx_op, registered
from ir_exec.onnx.lowering.versions import Version
from tests.helpers.facts import naming
from tests.onnx.signatures import CORRECTIONS

SCHEMAS = [
    schema
    for schema in defs.get_all_schemas_with_history()
    if schema.domain in (STANDARD, ML, TRAINING)
    and not schema.deprecated
    and find(schema.domain, schema.name, schema.since_version) is not None
]


def find_version(schema: Any) -> Version:
    version = find(schema.domain, schema.name, schema.since_version)
    assert version is not None
    return version


def _default(schema: Any, name: str) -> Any:
    stored = schema.attributes[name].default_value
    if not stored.type:
        return None
    value = onnx.helper.get_attribute_value(stored)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return tuple(element.decode() if isinstance(element, bytes) else element for element in value)
    return value


def _ids(schema: Any) -> str:
    return f"{schema.domain or 'ai.onnx'}-{schema.name}-{schema.since_version}"


@pytest.mark.parametrize("schema", SCHEMAS, ids=_ids)
def test_attributes_are_those_of_the_definition(schema: Any) -> None:
    declared = find_version(schema).attributes
    assert set(declared) == set(schema.attributes)
    for name, attribute in declared.items():
        definition = schema.attributes[name]
        assert attribute.type_name == definition.type.name, name
        if name != "consumed_inputs":
            # The inputs that may be overwritten: files need not declare them.
            assert attribute.is_required == definition.required, name
        operator = f"{schema.name}-{schema.since_version}"
        default = CORRECTIONS.get((operator, name), _default(schema, name))
        if default is not None:
            expected = pytest.approx(default, rel=1e-6) if isinstance(default, float) else default
            assert attribute.default == expected, name


@pytest.mark.parametrize("schema", SCHEMAS, ids=_ids)
def test_inputs_are_those_of_the_definition(schema: Any) -> None:
    version = find_version(schema)
    variadic = bool(schema.inputs) and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    assert version.most_inputs >= len(schema.inputs)
    assert variadic == (version.most_inputs > 2**31)
    if not variadic:
        assert version.most_inputs == len(schema.inputs)
        assert version.least_inputs <= schema.min_input


def test_two_functions_for_one_version_are_refused() -> None:
    with pytest.raises(TypeError, match=naming("Gather-1")):

        @onnx_op("Gather", since=1)
        def other(data: Any) -> Any: ...


def test_newest_version_of_the_opset_is_chosen() -> None:
    assert [str(find(STANDARD, "GatherND", opset)) for opset in (10, 11, 12, 20)] == [
        "None",
        "GatherND-11",
        "GatherND-12",
        "GatherND-12",
    ]
    assert find("ai.onnx", "Relu", 20) is find("", "Relu", 20)


def test_every_version_reads_its_signature() -> None:
    names = {str(version): (version.attributes, version.inputs) for version in registered()}
    assert len(names) == len(registered())


def test_unused_annotation_is_refused() -> None:
    def function(data: Any, *, axes: Ints, size: complex) -> Any: ...

    with pytest.raises(TypeError, match=naming("Other-1", "size", "complex")):
        _ = Version("my.domain", "Other", 1, function).attributes


@pytest.mark.broad
@pytest.mark.parametrize("domain", FAMILIES)
def test_domain_is_complete_before_the_next(domain: str) -> None:
    """In a process of its own, for here all domains are imported."""
    versions = [[version.name, version.since] for version in registered() if version.domain == domain]
    program = (
        "import json, sys; from ir_exec.onnx.lowering.registry import find; domain, known = json.load(sys.stdin); "
    )
    program += "print([name for name, since in known if find(domain, name, since) is None])"
    request = json.dumps([domain, versions])
    done = subprocess.run([sys.executable, "-c", program], input=request, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
