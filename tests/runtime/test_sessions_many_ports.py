"""Models with many inputs and outputs: names are looked up, not compared one by one."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.errors import EvaluationError
from ir_exec.model import ModelPort
from ir_exec.ports import find_port
from ir_exec.runtime import arguments
from tests.helpers.facts import mentions

COUNT = 40


def model_with_many_ports() -> ir_exec.Model:
    inputs = [build.parameter([2], name=f"x{index}") for index in range(COUNT)]
    return build.model([build.result(build.add(x, np.float32(1)), name=f"y{index}") for index, x in enumerate(inputs)])


def test_inputs_and_outputs_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ir_exec.compile_model(model_with_many_ports())
    keys: list[object] = []

    def count_search(ports: list[ModelPort], key: object) -> int:
        keys.append(key)
        return find_port(ports, key)  # type: ignore[arg-type]  # keys of any type

    monkeypatch.setattr(arguments, "find_port", count_search)
    inputs = {f"x{index}": np.full(2, index, np.float32) for index in reversed(range(1, COUNT))}
    results = compiled({**inputs, 0: np.zeros(2, np.float32)})
    assert keys == [0]
    for index, (name, array) in enumerate(results.items()):
        assert name == f"y{index}"
        assert array.tolist() == results[index].tolist() == results[f"out{index}"].tolist() == [index + 1, index + 1]
    with pytest.raises(EvaluationError) as caught:
        results["z"]
    assert caught.value.message == mentions("z", "y0")
    with pytest.raises(EvaluationError):
        compiled({**inputs, "x0": np.zeros(2, np.float32), "in0": np.zeros(2, np.float32)})


def test_names_of_outputs_take_precedence_over_further_names() -> None:
    first = build.relu(build.parameter([1], name="x"), tensor_names=["a", "b"])
    results = ir_exec.compile_model(build.model([build.result(first, name="b"), build.result(first, name="c")]))([[1]])
    names = results.names()
    for name in {name for port_names in names for name in port_names}:
        expected = next(
            (index for index, port in enumerate(results.to_dict()) if port.name == name),
            next(index for index, port_names in enumerate(names) if name in port_names),
        )
        assert results[name] is results[expected]
