"""Operators that a file's opset lacks, and findings about the nodes after a node at fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import numpy_helper

from ir_exec import IRError, check_model, read_model
from ir_exec.cli import main
from tests.onnx.files import model, write_model


@pytest.mark.parametrize(
    ("body", "opset", "named"),
    [
        ("y = Gelu(x)", 17, "version 20"),
        ("y = Where(c, x, x)", 8, "version 9"),
        ("y = Reluu(x)", 17, "Relu"),
        ("y = FusedMatMul(x, x)", 17, "com.microsoft"),
        ("y = Normalizer(x)", 17, "ai.onnx.ml"),
        ("y = ai.onnx.ml.Scalerr(x)", 17, "Scaler"),
        ("y = ai.onnx.ml.TreeEnsemble(x)", 17, "version 5"),
        ('y = ATen<operator = "embedding_bag">(x)', 9, None),
    ],
)
def test_operator_missing_in_opset_is_an_error(body: str, opset: int, named: str | None) -> None:
    proto = model(
        f"g (float[2,2] x, bool[2] c) => (float[2,2] y) {{ {body} }}", opset=opset, further='"ai.onnx.ml" : 3'
    )
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_id) == ("IR126", "error", "0")
    assert named is None or named in f"{diagnostic.hint}"
    with pytest.raises(IRError) as caught:
        read_model(proto.SerializeToString())
    assert caught.value.code == "IR126"


@pytest.mark.parametrize(
    ("type", "further"),
    [("own.Reluu", '"own" : 1'), ("com.microsoft.Reluu", '"com.microsoft" : 1'), ("EfficientNMS_TRT", '"own" : 1')],
)
def test_an_operator_of_a_runtime_is_not_checked(type: str, further: str) -> None:
    proto = model(f"g (float[2] x) => (float[2] y) {{ y = {type}(x) }}", further=further)
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("IR901", "info")


def test_a_misspelled_operator_of_onnxruntime_is_named() -> None:
    proto = model("g (float[2] x) => (y) { y = com.microsoft.QuickGellu(x) }", further='"com.microsoft" : 1')
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert diagnostic.code == "IR901"
    assert "QuickGelu" in diagnostic.message


def test_unimported_domain_is_reported_once() -> None:
    proto = model("g (float[2] x) => (y) { h = own.F(x) i = own.G(x) y = Add(h, i) }")
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) == ("IR123", "error", "F")


def test_unimported_domain_is_found_after_a_fault() -> None:
    proto = model("g (float[2] x) => (float[2] y) { h = Gelu(x) i = own.F(h) y = own.G(i) }")
    faults = [(error.code, error.location.layer_type) for error in check_model(proto.SerializeToString()).errors]
    assert faults == [("IR126", "Gelu"), ("IR123", "F")]


def test_strict_differs_in_nothing(tmp_path: Path) -> None:
    path = write_model(tmp_path, model("g (float[2] x) => (float[2] y) { y = Gelu(x) }"))
    for options in ([], ["--strict"]):
        result = CliRunner().invoke(main, ["check", *options, str(path)])
        assert result.exit_code == 1
        assert "IR126" in result.output


def test_operators_behind_a_fault_and_in_bodies_are_found() -> None:
    body = """g (float[2] x, bool c) => (y) {
        h = Concat<axis = 5>(x, x)
        y = If(c)<then_branch = t () => (a) { a = Neg(h) }, else_branch = e () => (b) { b = Foo(h) }>
    }"""
    faults = [
        (diagnostic.code, diagnostic.location.layer_id)
        for diagnostic in check_model(model(body).SerializeToString()).diagnostics
    ]
    assert faults == [("IR503", "0"), ("IR126", "0")]


@pytest.mark.parametrize(
    ("outputs", "nodes", "expected"),
    [
        ("y", "y = Concat<axis = 5>(x, x)", ["IR503"]),
        ("float y", "y = Concat<axis = 5>(x, x)", ["IR503"]),
        ("float[N,2] y", "h = Concat<axis = 5>(x, x) y = Relu(h)", ["IR503"]),
        ("y", "y = Reluu(x)", ["IR126"]),
        ("float[2,3] h, float[2,3] y", "h = Concat<axis = 5>(x, x) [h] y = Relu(h)", ["IR503"]),
        ("y", "h = Concat<axis = 5>(x, x) y = Tile(x, h)", ["IR503"]),
        ("y", "h = Concat<axis = 5>(x, x) j = Relu(h) y = Add(j, w)", ["IR503"]),
        ("y", "h = Gather(x, i) y = Concat<axis = 5>(h, h)", ["IR701"]),
    ],
)
def test_fault_adds_no_findings_about_generated_layers(outputs: str, nodes: str, expected: list[str]) -> None:
    proto = model(f"g (float[2,3] x) => ({outputs}) {{ {nodes} }}")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([5]), "i"))
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros((2, 3), np.float32), "w"))
    report = check_model(proto.SerializeToString())
    assert sorted(diagnostic.code for diagnostic in report.diagnostics) == expected
    assert report.layers_not_checked
