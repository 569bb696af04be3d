"""The case of a layer's type does not matter: not for checks, not for runs, not for layers that hold bodies."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.conformance.build import IRFile
from tests.helpers.network_text import NetworkText, tied_input, tied_output

NETWORKS = Path(__file__).parents[1] / "networks"
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
TRUE = np.array(True)


def iterator() -> IRFile:
    """|x|, row by row."""
    net = NetworkText()
    body = NetworkText(net)
    x, row = net.parameter("3,2"), body.parameter()
    result = body.result(body.op("Abs", row))
    ties = [tied_input(0, row, axis=0), tied_output(1, result, axis=0)]
    (output,) = net.loop(1, "TensorIterator", [x], body, ties)
    net.result(output)
    return net.file(-ROWS)


def loop() -> IRFile:
    """x + x, three times."""
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(np.array(3, np.int64)), net.const(TRUE), net.parameter("3,2")]
    x = body.parameter()
    result, goes_on = body.result(body.op("Add", x, x)), body.result(body.const(TRUE))
    ties = [tied_input(2, x), tied_output(3, result), tied_output(-1, goes_on, purpose="execution_condition")]
    (output,) = net.loop(1, "Loop", inputs, body, ties, [(result, x)])
    net.result(output)
    return net.file(ROWS)


def condition() -> IRFile:
    """x where the condition is true, else |y|: each body takes an input that the other one does not."""
    net = NetworkText()
    inputs = [net.parameter("", "boolean"), net.parameter("3,2"), net.parameter("3,2")]
    then_body, else_body = NetworkText(net), NetworkText(net)
    x, y = then_body.parameter(), else_body.parameter()
    then_ties = [tied_input(1, x), tied_output(3, then_body.result(x))]
    else_ties = [tied_input(2, y), tied_output(3, else_body.result(else_body.op("Abs", y)))]
    (output,) = net.branch(1, inputs, then_body, then_ties, else_body, else_ties)
    net.result(output)
    return net.file(np.array(False), ROWS, -ROWS)


def respell_types(xml: bytes, spell: Callable[[str], str]) -> bytes:
    return re.sub(rb'(?<= )type="(\w+)" version=', lambda match: respell_type(match[1], spell), xml)


def respell_type(type_name: bytes, spell: Callable[[str], str]) -> bytes:
    return f'type="{spell(type_name.decode())}" version='.encode()


def faults(file: IRFile) -> list[str]:
    return [str(error) for error in ir_exec.check_model(file.xml, weights=file.weights).errors]


def output_of(file: IRFile) -> Array:
    return ir_exec.compile_model(file.xml, weights=file.weights)(file.inputs)[0]


@pytest.mark.parametrize("spell", [str.lower, str.upper])
@pytest.mark.parametrize("network", [iterator, loop, condition])
def test_layers_with_bodies(network: Callable[[], IRFile], spell: Callable[[str], str]) -> None:
    file = network()
    other = IRFile(respell_types(file.xml, spell), file.weights, file.inputs)
    assert other.xml != file.xml
    assert faults(other) == faults(file) == []
    np.testing.assert_array_equal(output_of(other), output_of(file), strict=True)


@pytest.mark.parametrize("name", ["script_if", "script_loop_seq", "conv_zoo", "bert_tiny_fp16", "llama_stateful"])
def test_networks_in_lower_case(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    weights = path.with_suffix(".bin")
    other = respell_types(path.read_bytes(), str.lower)
    assert b'type="parameter"' in other
    expected, actual = (ir_exec.check_model(source, weights=weights) for source in (path, other))
    assert [diagnostic.code for diagnostic in actual.diagnostics] == [
        diagnostic.code for diagnostic in expected.diagnostics
    ]
    assert actual.layers_checked == expected.layers_checked
