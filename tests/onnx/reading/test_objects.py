"""Models of ONNX in memory: messages, models of onnx_ir, and exported programs of PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ir_exec
from ir_exec.debug import diff, profile, trace
from ir_exec.errors import ParseError
from ir_exec.view import view
from tests.helpers.facts import coded
from tests.onnx.files import model

TEXT = "g (float[2] x) => (float[2] y) { y = Add(x, w) }"
INPUTS = [np.float32([1, 2])]


def addition() -> onnx.ModelProto:
    proto = model(TEXT)
    proto.graph.initializer.append(numpy_helper.from_array(np.float32([10, 20]), "w"))
    return proto


def test_messages_run() -> None:
    assert ir_exec.compile_model(addition())(INPUTS)["y"].tolist() == [11, 22]


def test_later_changes_of_a_message_have_no_effect() -> None:
    proto = addition()
    read = ir_exec.read_model(proto)
    content = proto.SerializeToString()
    proto.graph.initializer[0].raw_data = np.float32([0, 0]).tobytes()
    assert ir_exec.compile_model(read)(INPUTS)["y"].tolist() == [11, 22]
    unchanged = addition()
    ir_exec.compile_model(unchanged)(INPUTS)
    assert unchanged.SerializeToString() == content, "reading changes no message"


def test_functions_take_messages() -> None:
    proto = addition()
    assert ir_exec.check_model(proto).ok
    assert ir_exec.compare(proto, addition(), INPUTS).verdict == "equal"
    assert diff(proto, addition()).equal
    assert any(layer.type == "Add" for layer in profile(proto, INPUTS).layers)
    assert trace(proto, INPUTS)["y"].tolist() == [11, 22]
    assert view(proto, inputs=INPUTS, diff=addition()).title


def test_differences_of_messages_are_those_of_their_files(tmp_path: Path) -> None:
    other = addition()
    other.graph.node[0].op_type = "Sub"
    onnx.save(addition(), tmp_path / "a.onnx")
    onnx.save(other, tmp_path / "b.onnx")
    by_object, by_file = diff(addition(), other), diff(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert not by_object.equal
    assert by_object.changed == by_file.changed
    assert (by_object.added, by_object.removed) == (by_file.added, by_file.removed)


def test_faults_of_messages_are_reported() -> None:
    proto = addition()
    proto.graph.node[0].op_type = "Additon"
    by_object = ir_exec.check_model(proto).diagnostics
    by_content = ir_exec.check_model(proto.SerializeToString()).diagnostics
    assert [diagnostic.code for diagnostic in by_object] == [diagnostic.code for diagnostic in by_content] != []
    with pytest.raises(ParseError, check=coded("IR004")):
        ir_exec.read_model(onnx.ModelProto())


def test_models_of_onnx_ir_run(tmp_path: Path) -> None:
    ir: Any = pytest.importorskip("onnx_ir")
    assert ir_exec.compile_model(ir.from_proto(addition()))(INPUTS)["y"].tolist() == [11, 22]
    onnx.save(addition(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    external = ir.load(tmp_path / "m.onnx")
    assert ir_exec.compile_model(external)(INPUTS)["y"].tolist() == [11, 22]
    assert diff(external, addition()).equal


def test_exported_programs_run() -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    module = torch.nn.Linear(2, 3).eval()
    data = torch.tensor([[1.0, 2.0]])
    program = torch.onnx.export(module, (data,), dynamo=True)
    expected = module(data).detach().numpy()
    np.testing.assert_allclose(ir_exec.compile_model(program)([data.numpy()])[0], expected, rtol=1e-5)


def test_packages_of_other_objects_are_not_imported() -> None:
    code = """
import sys, ir_exec
ir_exec.read_model("samples/gnn_step.xml")
try:
    ir_exec.read_model(object())
except ir_exec.IRError:
    pass
print(sorted({"onnx", "onnx_ir", "torch", "openvino"} & sys.modules.keys()))
"""
    root = Path(__file__).parents[3]
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert ended.stdout.strip() == "[]"
