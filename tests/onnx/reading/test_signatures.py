"""The stored signatures are those of onnx and onnxruntime, and every function accepts its own."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from ir_exec import compile_model
from ir_exec.onnx.lowering.registry import MICROSOFT, registered
from ir_exec.onnx.lowering.versions import CONTEXT, Version
from ir_exec.onnx.reading.signatures import declarations_of, find_signature, operators_of
from tests.helpers.facts import naming
from tests.onnx.signatures import PATH, describe_operators, render

VERSIONS = registered()


@pytest.mark.skipif(
    not (onnx.__version__.startswith("1.23.") and onnxruntime.__version__.startswith("1.32.")),
    reason="the file has the signatures of onnx 1.23 and onnxruntime 1.32",
)
def test_stored_signatures_are_current() -> None:
    assert PATH.read_text("utf-8") == render(describe_operators())


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_function_accepts_defaults_and_required_attributes(version: Version) -> None:
    arguments: dict[str, Any] = dict(version.defaults)
    required = {attribute.parameter for attribute in version.attributes.values() if attribute.is_required}
    assert not required & set(arguments)
    arguments |= dict.fromkeys([*required, *[name for name in CONTEXT if version.takes(name)]])
    signature = inspect.signature(version.function)

    @wraps(version.function)
    def bind(*inputs: Any, **attributes: Any) -> inspect.BoundArguments:
        return signature.bind(*inputs, **attributes)

    recorder = Version(version.domain, version.name, version.since, bind, unused=version.unused)
    for count in (version.least_inputs, min(version.most_inputs, len(version.inputs))):
        assert recorder.call([None] * count, arguments)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_unused_attributes_exist(version: Version) -> None:
    """In some version, and the function has no parameter for them."""
    assert not set(inspect.signature(version.function).parameters) & set(version.unused)
    assert all(declarations_of(version.domain, version.name, name) for name in version.unused)


def test_version_without_attribute_has_its_later_default() -> None:
    by_name = {str(version): version for version in VERSIONS}
    assert by_name["ScatterND-11"].defaults == by_name["ScatterND-16"].defaults == {"reduction": "none"}
    assert by_name["LSTM-1"].defaults["layout"] == 0
    assert by_name["Selu-1"].defaults["alpha"] == np.float32(1.6732)


def test_function_without_parameter_of_attribute_raises() -> None:
    def function(data: Any) -> Any: ...

    with pytest.raises(TypeError, match=naming("ScatterND-16", "reduction")):
        _ = Version("", "ScatterND", 16, function).attributes


def test_operators_of_domain() -> None:
    assert len(operators_of(MICROSOFT)) == 150
    assert operators_of("my.domain") == frozenset()
    assert find_signature("my.domain", "Relu", 1) is None


@pytest.mark.parametrize(
    ("operator", "opset", "attribute", "default"),
    [("LeakyRelu", 16, "alpha", 0.01), ("ThresholdedRelu", 10, "alpha", 1.0), ("Selu", 1, "gamma", 1.0507)],
)
def test_default_equals_attribute_with_its_value(operator: str, opset: int, attribute: str, default: float) -> None:
    """In f64 too, where 0.01 differs from the float of 32 bits that a file stores."""
    data = np.array([-3.0, -0.25, 0.5, 2.0])
    outputs = []
    for attributes in ({}, {attribute: default}):
        node = helper.make_node(operator, ["x"], ["y"], **attributes)
        ports = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [4]) for name in "xy"]
        graph = helper.make_graph([node], "g", ports[:1], ports[1:])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        outputs.append(compile_model(proto.SerializeToString())([data])["y"])
    assert outputs[0].tolist() == outputs[1].tolist()
