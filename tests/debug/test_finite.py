"""Where NaN and infinity come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import compile_model, read_model
from ir_exec.debug.finite import first_not_finite
from tests.conformance.networks import arrays, networks
from tests.helpers.network_text import NetworkText, tied_input, tied_output

NETWORKS = Path(__file__).parents[1] / "networks"


def found(net: NetworkText, x: list[float]) -> str | None:
    file = net.file()
    result = first_not_finite(read_model(file.xml, weights=file.weights), [np.array(x, np.float32)])
    return None if result is None else result.message


def network(*types: str, constant: float | None = None) -> NetworkText:
    net = NetworkText()
    value = net.parameter("?")
    for type in types:
        value = net.op(type, value)
    if constant is not None:
        value = net.op("Add", value, net.const(np.array([constant], np.float32)))
    net.result(net.op("Multiply", value, net.const(np.array([0], np.float32))))
    return net


def test_the_layer_that_makes_it() -> None:
    assert found(network("Sqrt", "Log", "Abs"), [1, 2]) is None
    assert found(network("Abs", "Log", "Abs"), [0, 2]) == (
        "layer 2 'log2' (Log) makes of finite inputs 1 infinities among 2 elements"
    )
    assert found(network("Abs", "Sqrt"), [1, 2]) is None
    assert found(network("Sqrt", "Abs"), [-1, 2]) == (
        "layer 1 'sqrt1' (Sqrt) makes of finite inputs 1 NaN among 2 elements"
    )


def test_nan_of_infinity() -> None:
    """The infinity of a mask is meant; what is made of it is not."""
    message = found(network(constant=-np.inf), [1, 2])
    assert message == "layer 4 'multiply4' (Multiply) makes of inputs without NaN 2 NaN among 2 elements"


def test_inputs_and_constants_that_hold_nan() -> None:
    assert found(network("Abs"), [np.nan]) == "layer 0 'parameter0' (Parameter) holds 1 NaN among 1 elements"
    message = found(network(constant=np.nan), [1.0])
    assert message == "layer 1 'const1' (Const) holds 1 NaN among 1 elements"


def test_in_a_body() -> None:
    net = NetworkText()
    x = net.parameter("1")
    body = NetworkText(net)
    inside = body.parameter("1")
    last = body.result(body.op("Exp", inside))
    goes_on = body.result(body.const(np.array(True)))
    ties = [tied_input(2, inside), tied_output(3, last), tied_output(-1, goes_on, purpose="execution_condition")]
    count, yes = net.const(np.array(9, np.int64)), net.const(np.array(True))
    (value,) = net.loop(1, "Loop", [count, yes, x], body, ties, [(last, inside)])
    net.result(value)
    message = found(net, [1])
    assert message is not None
    assert message.startswith("layer 1 'loop3/body/exp1' (Exp) makes of finite inputs 1 infinities")
    assert message.endswith("in iteration 3")


@pytest.mark.parametrize("name", ["gnn_gcn_gat", "conv_zoo", "lstm", "bert_tiny_fp16"])
def test_real_networks(name: str) -> None:
    path = networks()[name]
    assert first_not_finite(read_model(path), arrays(path, "inputs")) is None


def test_what_a_run_computes_in_f32_does_not_overflow() -> None:
    net = NetworkText()
    x = net.parameter("1", element_type="f16")
    net.result(net.op("Sqrt", net.op("Multiply", x, x)))
    model = read_model(net.file().xml)
    inputs = [np.array([300], np.float16)]
    assert compile_model(model)(inputs)[0] == 300
    assert first_not_finite(model, inputs) is None
    found = first_not_finite(model, inputs, precision="file")
    assert found is not None
    assert "(Multiply)" in found.message
