"""Recordings of modules around the exported one or inside it, and of modules with branches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.debug import torch_recorder
from tests.debug.comparison.references.test_modules import Module, Tensor, network

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
INNER = ("__module.a/aten::tanh/Tanh", "__module.b/aten::sin/Sin", "__module.c/aten::exp/Exp")
PASSING = tuple(name.replace("__module", "__module.m") for name in INNER)
WRAPPER = (*PASSING[:2], "aten::exp/Exp")

FUNCTIONS = {"a": np.tanh, "b": np.sin, "c": np.exp}


def inner(names: str = "abc") -> Module:
    """A chain of modules with these names."""

    def call(self: Any, x: Any) -> Any:
        for child in self.children.values():
            x = child(x)
        return x

    children = {name: Module(lambda self, x, function=FUNCTIONS[name]: Tensor(function(x.array))) for name in names}
    return Module(call, **children)


def wrapper() -> Module:
    """A module that scales the input of `m`, and whose output is the tangent of the output of `m`."""
    return Module(lambda self, x: Tensor(np.tan(self.children["m"](Tensor(x.array * 2)).array)), m=inner())


def record(module: Module) -> Any:
    with torch_recorder(module) as recording:
        module(Tensor(X))
    return recording


@pytest.mark.parametrize(
    ("types", "wrong"),
    [(("Tanh", "Sin", "Exp"), None), (("Sigmoid", "Sin", "Exp"), "a"), (("Tanh", "Sin", "Sinh"), "c")],
)
def test_recording_of_a_wrapper_of_the_exported_module(
    tmp_path: Path, types: tuple[str, ...], wrong: str | None
) -> None:
    report = ir_exec.compare(network(tmp_path, types, INNER), record(wrapper()))
    assert report.seed is None, "the input of the inner module is in the recording"
    assert report.equal == (wrong is None)
    assert report.first_module == wrong
    assert {module.path for module in report.modules if module.layers} == {"a", "b", "c"}
    assert len(report.notes) == 1


@pytest.mark.parametrize(
    ("types", "wrong"),
    [
        (("Tanh", "Sin", "Exp"), None),
        (("Sigmoid", "Sin", "Exp"), "m.a"),
        (("Tanh", "Cos", "Exp"), "m.b"),
        (("Tanh", "Sin", "Sinh"), None),  # outside the recorded module
    ],
)
def test_recording_of_a_module_in_the_exported_one(tmp_path: Path, types: tuple[str, ...], wrong: str | None) -> None:
    report = ir_exec.compare(network(tmp_path, types, WRAPPER), record(inner("ab")), [X])
    assert report.first_module == wrong
    assert (not report.faults) == (wrong is None)
    assert {"m", "m.a", "m.b"} == {module.path for module in report.modules if module.layers}


def test_outputs_that_a_wrapper_passes_on_are_compared(tmp_path: Path) -> None:
    recording = record(inner())
    report = ir_exec.compare(network(tmp_path, ("Tanh", "Sin", "Exp"), PASSING), recording, [X])
    assert report.verdict == "equal"
    assert report.output_results[0].error is not None
    different = ir_exec.compare(network(tmp_path, ("Tanh", "Sin", "Sinh"), PASSING), recording, [X])
    assert different.verdict == "different"


def test_branches_run_as_python_code(monkeypatch: pytest.MonkeyPatch) -> None:
    stances: list[str] = []

    @contextmanager
    def set_stance(stance: str) -> Iterator[None]:
        stances.append(stance)
        yield
        stances.append("default")

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(compiler=SimpleNamespace(set_stance=set_stance)))
    with torch_recorder(inner()) as recording:
        assert stances == ["force_eager"]
    assert stances == ["force_eager", "default"]
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    with torch_recorder(inner()) as recording:
        pass
    assert recording.calls == 0


def test_module_with_a_condition_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)

    class Conditional(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is a variable
        def __init__(self) -> None:
            super().__init__()
            self.left = torch.nn.Linear(4, 4)
            self.right = torch.nn.Linear(4, 4)
            self.head = torch.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return self.head(torch.cond(x.sum() > 0, lambda y: self.left(y), lambda y: self.right(y), (x,)))

    module = Conditional().eval()
    exported = torch.onnx.export(module, (torch.ones(2, 4),), dynamo=True)
    for sign, branch in ((1, "left"), (-1, "right")):
        data = torch.ones(2, 4) * sign
        with torch_recorder(module) as recording, torch.no_grad():
            module(data)
        assert {branch, "head"} <= recording.arrays.keys()
        assert ir_exec.compare(exported, with_=module, inputs=(data,)).verdict == "equal"
