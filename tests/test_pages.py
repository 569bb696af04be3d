"""The page for programs written for OpenVINO: every example runs with ir_exec and with OpenVINO."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ir_exec
from tests.helpers.examples import blocks_of, run_example

ROOT = Path(__file__).resolve().parents[1]
OPENVINO = (ROOT / "docs" / "coming-from-openvino.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def _in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def check(page: str, names: dict[str, Any]) -> None:
    for block in blocks_of(page, "python"):
        expected, printed = run_example(block, names)
        assert printed[: len(expected)] == expected, block


def test_unchanged_api_is_as_documented() -> None:
    check(OPENVINO, {"core": ir_exec})


def test_openvino_prints_the_same() -> None:
    openvino = pytest.importorskip("openvino")
    check(OPENVINO, {"core": openvino.Core()})


def test_documented_gaps_are_missing() -> None:
    model = ir_exec.read_model("samples/gather_elements.xml")
    compiled = ir_exec.compile_model(model)
    request = compiled.create_infer_request()
    missing = {
        ir_exec: ["Core", "save_model", "convert_model", "AsyncInferQueue", "opset1"],
        compiled: ["infer_new_request", "export_model", "get_property", "set_property"],
        request: ["set_tensor", "start_async", "wait", "get_profiling_info"],
        model: ["add_outputs", "get_ordered_ops", "friendly_name"],
        model.input(0): ["get_any_name", "get_shape"],
    }
    assert [name for thing, names in missing.items() for name in names if hasattr(thing, name)] == []
    with pytest.raises(TypeError):
        ir_exec.compile_model(model, "CPU", {})  # type: ignore[misc]  # the call of the page


def test_renamed_attributes_exist() -> None:
    model = ir_exec.read_model("samples/gather_elements.xml")
    compiled = ir_exec.compile_model(model, threads=2)
    things = {"model": model, "compiled": compiled, "port": model.input(0)}
    ours = [row.rpartition("| ")[2] for row in OPENVINO.splitlines() if row.startswith("| `")]
    named = re.findall(r"\b(model|compiled|port)\.(\w+)", "".join(ours))
    assert len(named) >= 7
    assert [f"{thing}.{name}" for thing, name in named if not hasattr(things[thing], name)] == []
