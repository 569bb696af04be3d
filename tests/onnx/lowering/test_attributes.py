"""Attributes that an operator does not have: a warning where onnxruntime ignores them, else an error."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from ir_exec import IRError, check_model, compile_model
from tests.onnx.files import model

X = np.array([[1.0, -2.0, 3.0]], np.float32)


def loads(proto: onnx.ModelProto) -> bool:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # of many kinds
        return False
    return True


@pytest.mark.parametrize("operator", ["LayerNormalization", "SimplifiedLayerNormalization"])
@pytest.mark.parametrize("opset", [11, 17])
def test_misspelled_attribute_ignored_by_onnxruntime_is_a_warning(operator: str, opset: int) -> None:
    proto = model(f"g (float[1,3] x, float[3] s) => (y) {{ y = {operator}<epsion = 0.5>(x, s) }}", opset=opset)
    assert loads(proto)
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) == ("IR303", "warning", operator)
    assert diagnostic.hint is not None
    assert "epsilon" in diagnostic.hint
    scale = np.ones(3, np.float32)
    (expected,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": X, "s": scale})
    np.testing.assert_allclose(compile_model(proto.SerializeToString())([X, scale])[0], expected, rtol=1e-5)


@pytest.mark.parametrize("opset", [7, 11, 12, 17])
def test_attribute_of_constant_is_a_warning(opset: int) -> None:
    text = "g (float[1] x) => (y) { c = Constant<value = float[1] {2.0}, epsion = 0.5>() y = Add(x, c) }"
    proto = model(text, opset=opset)
    assert loads(proto)
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) == ("IR303", "warning", "Constant")
    assert compile_model(proto.SerializeToString())([np.ones(1, np.float32)])[0].tolist() == [3]


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        ("Softmax<axes = 1>(x)", 17),
        ("Relu<epsion = 0.5>(x)", 17),
        ("RMSNormalization<epsion = 0.5>(x, s)", 23),
        ("com.microsoft.Gelu<epsion = 0.5>(x)", 17),
        ("com.microsoft.SkipLayerNormalization<epsion = 0.5>(x, x, s)", 17),
        ("ai.onnx.ml.Normalizer<epsion = 0.5>(x)", 17),
    ],
)
def test_other_attributes_are_errors_like_in_onnxruntime(node: str, opset: int) -> None:
    body = f"g (float[1,3] x, float[3] s) => (y) {{ y = {node} }}"
    proto = model(body, opset=opset, further='"com.microsoft" : 1, "ai.onnx.ml" : 3')
    assert not loads(proto)
    assert [error.code for error in check_model(proto.SerializeToString()).errors] == ["IR302"]
    with pytest.raises(IRError):
        compile_model(proto.SerializeToString())
