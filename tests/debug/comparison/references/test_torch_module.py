"""Modules of PyTorch as references, in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.debug import torch_recorder
from ir_exec.errors import EvaluationError, ReferenceTypeError
from ir_exec.model import Model
from tests.debug.comparison.references.test_modules import Module, Tensor, network

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


def module(head: Any = np.exp) -> Module:
    """The module of the network of `test_modules`, with two inner modules in `m`."""
    block = Module(
        lambda self, x: self.children["b"](self.children["a"](x)),
        a=Module(lambda self, x: Tensor(np.tanh(x.array))),
        b=Module(lambda self, x: Tensor(np.sin(x.array))),
    )
    inner = Module(
        lambda self, x: self.children["head"](self.children["block"](x)),
        block=block,
        head=Module(lambda self, x: Tensor(head(x.array))),
    )
    return Module(lambda self, x: self.children["m"](Tensor(x)), m=inner)


def test_module_is_called_and_recorded(tmp_path: Any) -> None:
    path = network(tmp_path, ("Tanh", "Sin", "Exp"))
    report = ir_exec.compare(path, with_=module(), inputs=[X])
    assert (report.verdict, report.seed) == ("equal", None)
    assert {module.path: module.status for module in report.modules if module.layers}.keys() == {
        "m.block.a",
        "m.block.b",
        "m.block",
        "m.head",
        "m",
    }
    assert ir_exec.compare(path, module(), [X]).verdict == "equal"


@pytest.mark.parametrize(
    ("types", "wrong"), [(("Sigmoid", "Sin", "Exp"), "m.block.a"), (("Tanh", "Sin", "Sinh"), "m.head")]
)
def test_wrong_module_is_named(tmp_path: Any, types: tuple[str, ...], wrong: str) -> None:
    report = ir_exec.compare(network(tmp_path, types), with_=module(), inputs=[X])
    assert report.first_module == wrong


def test_inputs_are_drawn(tmp_path: Any) -> None:
    report = ir_exec.compare(network(tmp_path, ("Tanh", "Sin", "Exp")), with_=module(), seed=3)
    assert (report.verdict, report.seed) == ("equal", 3)
    assert report.drawn is not None


def test_recordings_are_references(tmp_path: Any) -> None:
    called = module()
    with torch_recorder(called) as recording:
        called(X)
    report = ir_exec.compare(network(tmp_path, ("Tanh", "Sin", "Exp")), recording, [X])
    assert report.verdict == "equal"


def test_module_that_fails(tmp_path: Any) -> None:
    def fail(array: Any) -> Any:
        raise RuntimeError("no kernel")

    with pytest.raises(EvaluationError) as error:
        ir_exec.compare(network(tmp_path, ("Tanh", "Sin", "Exp")), with_=module(fail), inputs=[X])
    assert (error.value.code, type(error.value.__cause__)) == ("IR700", RuntimeError)


@pytest.mark.parametrize("options", [{}, {"reference": "openvino", "with_": "openvino"}, {"reference": 3}])
def test_objects_that_are_no_reference(tmp_path: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ReferenceTypeError) as error:
        ir_exec.compare(network(tmp_path, ("Tanh", "Sin", "Exp")), inputs=[X], **options)
    assert isinstance(error.value, TypeError)


def stateful_model() -> Model:
    """A sum over calls, whose rows are selected by an input."""
    data = build.parameter([None, 4], "f32", name="x")
    rows = build.parameter([None], "i32", name="beam_idx")
    start = build.broadcast(np.float32(0), build.shape_of(data))
    state = build.read_value(start, "v", shape=[None, 4], element_type="f32")
    total = build.add(build.gather(state, rows, 0), data)
    return build.model(build.result(total, name="y"), sinks=[build.assign(total, "v")])


def test_inputs_that_select_variables_are_no_arguments() -> None:
    identity = Module(lambda self, x: Tensor(np.array(x)))
    report = ir_exec.compare(
        stateful_model(), with_=identity, inputs={"x": X, "beam_idx": np.arange(2, dtype=np.int32)}
    )
    assert report.verdict == "equal"


def test_modules_and_exported_programs_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    arguments = (torch.from_numpy(X),)
    exported = torch.onnx.export(layers.eval(), arguments, dynamo=True)
    content = exported.model_proto.SerializeToString()  # the program shares the memory of the weights
    layers.train()
    report = ir_exec.compare(exported, with_=layers, inputs=arguments)
    assert report.verdict == "equal"
    assert layers[1].training, "the mode is restored"
    program = torch.export.export(layers.eval(), arguments)
    assert ir_exec.compare(exported, with_=program, inputs=arguments).verdict == "equal"
    with torch.no_grad():
        layers[3].weight += 1
    report = ir_exec.compare(content, with_=layers, inputs=arguments)
    assert (report.verdict, report.first_module) == ("different", "3")
