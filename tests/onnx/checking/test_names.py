"""Names and versions that docs/IR.md of ONNX forbids: an error where onnxruntime refuses the file, else a warning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from ir_exec import IRError, check_model, compile_model
from tests.onnx.files import model, write_model

ONE = "g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 0.5>(x) }"
SUM = "g (float[2] x) => (float[2] y) { y = Add(x, w) }"


def branch(nodes: str, before: str = "") -> onnx.ModelProto:
    """A model whose branch has these nodes, which give r."""
    return model(f"""g (float[2] x, bool c) => (float[2] y) {{ {before}
        y = If(c)<then_branch = t () => (float[2] r) {{ {nodes} }}, else_branch = e () => (float[2] s) {{ s = Neg(x) }}>
    }}""")


def loop(names: str, before: str = "") -> onnx.ModelProto:
    first, last = names.split()
    return model(f"""g (float[2] x, int64 n) => (float[2] y) {{ {before}
        y = Loop(n, , x)<body = b (int64 {first}, bool d, float[2] {last}) => (bool d2, float[2] v2) {{
            d2 = Identity(d) v2 = Neg({last})
        }}>
    }}""")


def calling(function: str, call: str = "y = own.f(x)") -> onnx.ModelProto:
    return model(
        f"g (float[2] x) => (float[2] y) {{ {call} }}",
        further='"own" : 1',
        functions=f'<opset_import: ["" : 17], domain: "own"> {function}',
    )


def change_copy(proto: onnx.ModelProto, change: Callable[[Any], Any]) -> onnx.ModelProto:
    change(proto)
    return proto


def add_initializers(proto: onnx.ModelProto, *tensors: Any) -> onnx.ModelProto:
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(tensor), "w") for tensor in tensors)
    return proto


def _version(number: int) -> Callable[[Any], Any]:
    return lambda proto: setattr(proto, "ir_version", number)


ONES = np.ones(2, np.float32)

CASES: dict[str, tuple[onnx.ModelProto, str | None, str]] = {
    "clean": (model(ONE), None, ""),
    "version": (change_copy(model(ONE), _version(99)), "IR005", "error"),
    "version-0": (change_copy(model(ONE), _version(0)), "IR005", "warning"),
    "no-version": (change_copy(model(ONE), lambda proto: proto.ClearField("ir_version")), "IR005", "error"),
    "attribute": (
        change_copy(model(ONE), lambda proto: proto.graph.node[0].attribute.append(proto.graph.node[0].attribute[0])),
        "IR302",
        "error",
    ),
    "node": (model("g (float[2] x) => (float[2] y) { [n] h = Neg(x) [n] y = Abs(h) }"), "IR127", "error"),
    "node-of-a-body": (branch("[n] k = Neg(x) [n] r = Abs(k)"), "IR127", "error"),
    "node-in-and-out": (branch("[n] k = Neg(x) r = Abs(k)", "[n] h = Neg(x)"), None, ""),
    "node-of-a-function": (calling("f (a) => (b) { [n] h = Neg(a) [n] b = Abs(h) }"), "IR127", "error"),
    "node-of-a-function-not-called": (
        calling("f (a) => (b) { [n] h = Neg(a) [n] b = Abs(h) }", "y = Neg(x)"),
        None,
        "",
    ),
    "initializer": (add_initializers(model(SUM), ONES, 2 * ONES), "IR124", "warning"),
    "initializer-and-node": (add_initializers(model(SUM.replace("{", "{ w = Neg(x)")), ONES), "IR124", "error"),
    "input": (
        change_copy(model(ONE), lambda proto: proto.graph.input.append(proto.graph.input[0])),
        "IR124",
        "error",
    ),
    "input-and-node": (model("g (float[2] x) => (float[2] y) { x = Neg(x) y = Abs(x) }"), "IR124", "error"),
    "node-twice": (model("g (float[2] x) => (y) { h, h = Split(x) y = Add(h, h) }"), "IR124", "error"),
    "output": (change_copy(model(ONE), lambda proto: proto.graph.output.append(proto.graph.output[0])), None, ""),
    "body-value": (branch("k = Neg(x) k = Abs(x) r = Neg(k)"), "IR124", "error"),
    "body-input": (loop("d v"), "IR124", "error"),
    "function": (
        calling('f (a) => (b) { b = Abs(a) } <domain: "own", opset_import: ["" : 17]> f (a) => (b) { b = Neg(a) }'),
        "IR124",
        "error",
    ),
    "function-value": (calling("f (a) => (b) { h = Neg(a) h = Abs(a) b = Neg(h) }"), "IR124", "error"),
    "shadowing-node": (branch("h = Neg(x) r = Abs(h)", "h = Abs(x)"), "IR128", "error"),
    "shadowing-input": (loop("i x"), "IR128", "warning"),
    "shadowing-initializer": (add_initializers(branch("w = Neg(x) r = Abs(w)"), ONES), "IR128", "error"),
    "later-name": (branch("y = Neg(x) r = Abs(y)"), None, ""),
    "default-shape": (
        add_initializers(model(SUM.replace("x)", "x, float[2] w)", 1)), np.ones(3, np.float32)),
        "IR606",
        "error",
    ),
    "default-type": (
        add_initializers(model(SUM.replace("x)", "x, float[2] w)", 1)), np.ones(2, np.int64)),
        "IR606",
        "error",
    ),
    "default": (add_initializers(model(SUM.replace("x)", "x, float[N] w)", 1)), ONES), None, ""),
    "import": (
        change_copy(model(ONE), lambda proto: proto.opset_import.add(domain="", version=16)),
        "IR123",
        "warning",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_names(name: str, tmp_path: Path) -> None:
    proto, code, severity = CASES[name]
    path = write_model(tmp_path, proto)
    faults = {
        (diagnostic.code, diagnostic.severity)
        for diagnostic in check_model(path).diagnostics
        if diagnostic.severity != "info"
    }
    first = {fault for fault in faults if fault[0] == code}
    assert first == ({(code, severity)} if code else set())
    assert code or not faults
    if severity == "error":
        with pytest.raises(IRError) as caught:
            compile_model(path)
        assert caught.value.code == code
    else:
        compile_model(path)


@pytest.mark.parametrize("name", CASES)
def test_what_onnxruntime_refuses_is_an_error(name: str) -> None:
    proto, _, severity = CASES[name]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    refused = False
    try:
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # of many kinds
        refused = True
    assert refused == (severity == "error")


def test_the_last_initializer_and_the_last_version_count() -> None:
    compiled = compile_model(add_initializers(model(SUM), ONES, 2 * ONES).SerializeToString())
    assert compiled([ONES])[0].tolist() == [3, 3]
    proto = model("g (float[2,2] x) => (y) { y = Softmax<axis = 0>(x) }", opset=12)
    proto.opset_import.add(domain="", version=13)
    data = np.zeros((2, 2), np.float32)
    assert compile_model(proto.SerializeToString())([data])[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_onnxruntimes_domain_is_imported_by_default() -> None:
    """An error for `check`; a run takes version 1, as onnxruntime does."""
    proto = model("g (float[2] x) => (float[2] y) { h = com.microsoft.QuickGelu(x) y = com.microsoft.QuickGelu(h) }")
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("IR123", "error")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": ONES})
    assert np.allclose(compile_model(proto.SerializeToString())([ONES])[0], expected, atol=1e-6)
