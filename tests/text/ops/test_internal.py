"""Operators that OpenVINO's runtime makes: named as what they are, and run where their meaning is published."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import UnsupportedError
from tests.helpers.network_text import NetworkText


def network(type: str, *, inputs: int = 1, version: str = "ie_internal_opset", **attributes: object) -> ir_exec.Model:
    net = NetworkText()
    values = [net.parameter("?,4"), *[net.const(np.array([1, 2, 3, 4], np.float32)) for _ in range(inputs - 1)]]
    net.result(net.outputs(1, type, *values, opset=version, **attributes)[0])
    file = net.file()
    return ir_exec.read_model(file.xml, weights=file.weights)


@pytest.mark.parametrize("inputs", [1, 2])
def test_rms(inputs: int) -> None:
    compiled = ir_exec.compile_model(network("RMS", inputs=inputs, epsilon=0.5, output_type="f32"))
    data = np.array([[3, 0, 4, 0], [1, 1, 1, 1]], np.float32)
    (found,) = compiled([data]).values()
    # The means of the squares are 6.25 and 1.
    expected = data / np.sqrt(np.array([[6.75], [1.5]], np.float32))
    scale = np.array([1, 2, 3, 4], np.float32) if inputs == 2 else np.float32(1)
    np.testing.assert_allclose(found, expected * scale, rtol=1e-6)


@pytest.mark.parametrize("type", ["RoPE", "GroupQueryAttention", "GatedDeltaNet", "MOE"])
@pytest.mark.parametrize("version", ["extension", "ie_internal_opset"])
def test_others_are_named(type: str, version: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        ir_exec.compile_model(network(type, version=version))
    assert type in str(caught.value)
    report = ir_exec.check_model(network(type, version=version))
    (found,) = [one for one in report.diagnostics if one.code == "IR902"]
    assert "internal operator" in found.message
    assert found.hint is not None
