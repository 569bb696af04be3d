"""Models of OpenVINO in memory: their constants, names, variables and bodies, without a copy of the weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
import pytest

import ir_exec
from ir_exec import openvino
from ir_exec.debug import diff, diff_weights, profile, trace
from ir_exec.errors import ParseError, UnsupportedError, WeightsError
from ir_exec.types import ElementType
from ir_exec.view import view
from tests.helpers.facts import coded, naming

NETWORKS = sorted(Path(__file__).parent.joinpath("networks").glob("*.xml"))
CORE = ov.Core()


def constants_of(model: ov.Model) -> list[ov.Node]:
    return [operator for operator in model.get_ordered_ops() if operator.get_type_name() == "Constant"]


def product() -> ov.Model:
    data = ops.parameter([2, 3], np.float32, name="data")
    weights = ops.constant(np.arange(12, dtype=np.float32).reshape(3, 4), name="weights")
    model = ov.Model([ops.matmul(data, weights, False, False)], [data], "product")
    model.output(0).set_names({"sums"})
    model.set_rt_info("yes", ["trained"])
    return model


def test_constants_share_memory() -> None:
    model = product()
    (constant,) = constants_of(model)
    read = ir_exec.read_model(model)
    array = read.constants["weights"]
    assert np.shares_memory(array, constant.data)
    assert not array.flags.writeable
    del model, constant
    assert array.tolist() == np.arange(12).reshape(3, 4).tolist(), "the array keeps the memory alive"


def test_names_and_information_are_read() -> None:
    model = ir_exec.read_model(product())
    assert [port.name for port in model.inputs] == ["data"]
    assert [port.name for port in model.outputs] == ["sums"]
    assert model.name == "product"
    assert model.document.rt_info.value("trained") == "yes"


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_models_equal_their_files(path: Path) -> None:
    read, stored = ir_exec.read_model(CORE.read_model(path)), ir_exec.read_model(path)
    assert [(port.name, str(port.shape)) for port in read.inputs] == [
        (port.name, str(port.shape)) for port in stored.inputs
    ]
    assert dict(read.constants).keys() == dict(stored.constants).keys()
    for name, array in read.constants.items():
        assert array.dtype == stored.constants[name].dtype, name
        assert array.tobytes() == stored.constants[name].tobytes(), name
    difference = diff(read, stored)
    assert not difference.added
    assert not difference.removed


TYPES = [
    "bf16",
    "f8e4m3",
    "f8e5m2",
    "f8e8m0",
    "u1",
    "u2",
    "u3",
    "u4",
    "u6",
    "i4",
    "nf4",
    "f4e2m1",
    "f16",
    "f64",
    "boolean",
    "i64",
]


@pytest.mark.parametrize("shape", [[5], [], [0]], ids=str)
@pytest.mark.parametrize("name", TYPES)
def test_constants_of_every_type_equal_their_files(name: str, shape: list[int], tmp_path: Path) -> None:
    tensor = ov.Tensor(getattr(ov.Type, name), ov.Shape(shape))
    content = tensor.data.reshape(-1).view(np.uint8)
    content[:] = np.arange(content.size) * 37 % 2 if name == "boolean" else np.arange(content.size) * 37
    model = ov.Model([ops.result(ops.constant(tensor, name="stored"))], [], "constant")
    ov.save_model(model, tmp_path / "constant.xml", compress_to_fp16=False)
    array = ir_exec.read_model(model).constants["stored"]
    stored = ir_exec.read_model(tmp_path / "constant.xml").constants["stored"]
    assert (array.shape, ElementType.of(array)) == (stored.shape, ElementType.of(stored))
    assert array.tobytes() == stored.tobytes()


def test_constants_of_strings_are_read() -> None:
    constant = ops.constant(ov.Tensor(np.array([["a", "bcd"], ["é", ""]])), name="texts")
    model = ov.Model([ops.result(constant)], [], "texts")
    read = ir_exec.read_model(model)
    assert read.constants["texts"].tolist() == [["a", "bcd"], ["é", ""]]
    assert ir_exec.read_model(read.to_openvino()).constants["texts"].tolist() == [["a", "bcd"], ["é", ""]]


@pytest.mark.parametrize("name", ["conv_zoo", "keras", "llama_stateful", "matrix_ops"])
def test_models_become_models_of_openvino(name: str) -> None:
    path = next(path for path in NETWORKS if path.stem == name)
    stored = ir_exec.read_model(path)
    converted = stored.to_openvino()
    assert isinstance(converted, ov.Model)
    again = ir_exec.read_model(converted)
    assert dict(again.constants).keys() == dict(stored.constants).keys()
    assert all(array.tobytes() == stored.constants[name].tobytes() for name, array in again.constants.items())
    assert [port.name for port in again.inputs] == [port.name for port in stored.inputs]


def test_built_models_become_models_of_openvino() -> None:
    read = ir_exec.read_model(product()).reshape("4,3")
    converted = read.to_openvino()
    del read
    assert converted.input(0).shape == [4, 3]
    result = CORE.compile_model(converted, "CPU")([np.ones((4, 3), np.float32)])[0]
    assert result.tolist() == [[12, 15, 18, 21]] * 4


def test_models_without_constants_become_models_of_openvino() -> None:
    data = ir_exec.build.parameter([2], "f32", name="data")
    converted = ir_exec.build.model([ir_exec.build.add(data, data)]).to_openvino()
    assert CORE.compile_model(converted, "CPU")([np.float32([1, 2])])[0].tolist() == [2, 4]


def test_openvino_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ir_exec.read_model(product())
    monkeypatch.setattr(openvino, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedError):
        model.to_openvino()


def test_models_that_openvino_cannot_read() -> None:
    model = ir_exec.read_model(product())
    layers = [
        layer.model_copy(update={"type": "Unknown"}) if layer.type == "MatMul" else layer
        for layer in model.document.layers
    ]
    model.document = model.document.model_copy(update={"layers": tuple(layers)})
    with pytest.raises(UnsupportedError, match="Unknown"):
        model.to_openvino()


def test_layers_with_one_name_keep_their_own_constants() -> None:
    data = ops.parameter([2], np.float32, name="data")
    total = data
    for number in (1, 20, 300):
        constant = ops.constant(np.float32([number, number]))
        constant.set_friendly_name("bias")
        total = ops.add(total, constant)
    compiled = ir_exec.compile_model(ov.Model([total], [data], "sums"))
    assert compiled([np.zeros(2, np.float32)])[0].tolist() == [321, 321]


def test_functions_take_models_of_openvino() -> None:
    model, inputs = product(), [np.ones((2, 3), np.float32)]
    expected = CORE.compile_model(model, "CPU")(inputs)[0]
    np.testing.assert_allclose(ir_exec.compile_model(model)(inputs)["sums"], expected)
    assert ir_exec.check_model(model).ok
    assert ir_exec.compare(model, product(), inputs).verdict == "equal"
    assert diff(model, product()).equal
    assert "MatMul" in {layer.type for layer in profile(model, inputs).layers}
    assert trace(model, inputs)["sums"].tolist() == expected.tolist()
    assert view(model, diff=product()).title == "product"
    assert [weight.path for weight in diff_weights(model, product()).weights] == ["weights"]


def test_faults_name_layers() -> None:
    data = ops.parameter([2], np.float32, name="data")
    constant = ops.constant(np.float32([np.nan, 1]), name="broken")
    report = ir_exec.check_model(ov.Model([ops.add(data, constant)], [data], "sums"))
    assert "broken" in {diagnostic.location.layer_name for diagnostic in report.diagnostics}


def test_weights_of_a_model_in_memory_are_refused() -> None:
    with pytest.raises(WeightsError, check=coded("IR201")):
        ir_exec.read_model(product(), weights=b"")


ACCEPTED = ("onnx.ModelProto", "onnx_ir.Model", "torch.onnx.ONNXProgram", "openvino.Model")


@pytest.mark.parametrize("source", [3, None, object(), [1], ov.Model], ids=repr)
def test_errors_for_other_objects_list_the_accepted_ones(source: object) -> None:
    with pytest.raises(ParseError, match=naming(*ACCEPTED), check=coded("IR001")):
        ir_exec.read_model(source)  # type: ignore[arg-type]
    assert [diagnostic.code for diagnostic in ir_exec.check_model(source).diagnostics] == ["IR001"]  # type: ignore[arg-type]
    with pytest.raises(WeightsError, match=naming(*ACCEPTED), check=coded("IR201")):
        diff_weights(product(), source)  # type: ignore[arg-type]
    with pytest.raises(ir_exec.EvaluationError, match=naming(*ACCEPTED), check=coded("IR705")):
        ir_exec.compare(product(), source)  # type: ignore[arg-type]
