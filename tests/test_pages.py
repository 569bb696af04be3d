"""The pages for people who write commands or Python: every example is run, those from OpenVINO with OpenVINO too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ir_exec
from tests.helpers.examples import blocks, blocks_of, check_console, run_example

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")
PYTHON = (ROOT / "docs" / "python.md").read_text("utf-8")
HOW_DO_I = (ROOT / "docs" / "how-do-i.md").read_text("utf-8")
VIEW = (ROOT / "docs" / "view.md").read_text("utf-8")
OPENVINO = (ROOT / "docs" / "coming-from-openvino.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def _in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def check(page: str, least: int, names: dict[str, Any]) -> None:
    blocks = blocks_of(page, "python")
    assert len(blocks) >= least
    for block in blocks:
        expected, printed = run_example(block, names)
        assert printed[: len(expected)] == expected, block


@pytest.mark.parametrize("block", blocks_of(COMMANDS, "console"), ids=lambda block: block.splitlines()[0])
def test_commands_print_what_is_shown(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    check_console(block)


def test_every_schema_is_described() -> None:
    named = set(re.findall(r"`(schemas/[\w.-]+)`", COMMANDS))
    assert named == {f"schemas/{path.name}" for path in (ROOT / "schemas").iterdir()}


def test_in_python() -> None:
    check(PYTHON, 18, {})


def test_how_do_i(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names: dict[str, Any] = {}
    found = blocks(HOW_DO_I)
    assert len(found) >= 18
    for language, block in found:
        if language == "console":
            check_console(block)
        else:
            expected, printed = run_example(block, names)
            assert printed[: len(expected)] == expected, block


def test_pages_from_python() -> None:
    check(VIEW, 1, {})


@pytest.mark.parametrize(
    "name", ["save", "memory_plan", "max_memory", 'weights="keep"', "Node", "Value", "model.document"]
)
def test_what_is_public_is_told(name: str) -> None:
    assert f"`{name}`" in PYTHON


def test_what_is_written_as_before() -> None:
    check(OPENVINO, 5, {"core": ir_exec})


def test_openvino_prints_the_same() -> None:
    openvino = pytest.importorskip("openvino")
    check(OPENVINO, 5, {"core": openvino.Core()})


def test_what_is_not_there_is_not_there() -> None:
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
        ir_exec.compile_model(model, "CPU", {})  # type: ignore[misc]  # that is what the page says


def test_what_is_called_otherwise_is_there() -> None:
    table = OPENVINO.split("## What is called otherwise")[1].split("\n## ")[0]
    model = ir_exec.read_model("samples/gather_elements.xml")
    compiled = ir_exec.compile_model(model, threads=2)
    things = {"model": model, "compiled": compiled, "port": model.input(0)}
    ours = [row.rpartition("| ")[2] for row in table.splitlines() if row.startswith("| `")]
    named = re.findall(r"\b(model|compiled|port)\.(\w+)", "".join(ours))
    assert len(named) >= 7
    assert [f"{thing}.{name}" for thing, name in named if not hasattr(things[thing], name)] == []
