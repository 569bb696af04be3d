"""Loops whose body changes what it hands on."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import EvaluationError
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText, tied_input, tied_output


def growing(times: int, axis: int) -> NetworkText:
    """Runs so often, each time with one more axis before the others; the outputs are concatenated."""
    net = NetworkText()
    start = net.parameter("...")
    inputs = (net.const(np.array(times)), net.const(np.array(True)), start)
    body = NetworkText(net)
    grown = body.parameter("...")
    goes_on = body.result(body.const(np.array(True)))
    result = body.result(grown)
    following = body.result(body.op("Unsqueeze", grown, body.const(np.array([0]))))
    ties = [
        tied_input(2, grown),
        tied_output(-1, goes_on, purpose="execution_condition"),
        tied_output(3, result, axis=axis),
    ]
    (parts,) = net.loop(1, "Loop", inputs, body, ties, [(following, grown)])
    net.result(parts)
    return net


def outputs_of(net: NetworkText, start: np.ndarray) -> list[np.ndarray]:
    file = net.file(start)
    result = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))(file.inputs)
    return [result[i] for i in range(len(result))]


def test_one_scalar_becomes_a_vector() -> None:
    (result,) = outputs_of(growing(1, 0), np.array(7, np.float32))
    assert result.tolist() == [7]


@pytest.mark.parametrize("start", [np.array(7, np.float32), np.array([7], np.float32)])
def test_parts_of_different_ranks_do_not_fit(start: np.ndarray) -> None:
    with pytest.raises(EvaluationError, match=naming("0", "0")):
        outputs_of(growing(2, 0), start)
