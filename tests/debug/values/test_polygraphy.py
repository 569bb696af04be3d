"""Files of Polygraphy: reading what it wrote, writing, and hostile files."""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec.cli import main
from ir_exec.debug.values import polygraphy
from ir_exec.debug.values.polygraphy import RecordedCalls, read_feeds, read_runs
from ir_exec.errors import EvaluationError, ResourceError
from ir_exec.types import Array

ROOT = Path(__file__).parents[3]
FILES = Path(__file__).parent / "polygraphy_files"
OUTPUTS, INPUTS = FILES / "outputs.json", FILES / "inputs.json"
NETWORK = ROOT / "samples" / "gnn_step.xml"


def read_sample(name: str) -> dict[str, Array]:
    with np.load(ROOT / "samples" / f"gnn_step.{name}.npz") as arrays:
        return dict(arrays)


def test_reading_what_polygraphy_wrote() -> None:
    runs, feeds = read_runs(OUTPUTS), read_feeds(INPUTS)
    hidden, inputs = read_sample("outputs")["hidden"], read_sample("inputs")
    assert list(runs) == ["onnxrt-runner", "trt-runner"]
    expected = [hidden, hidden * 2, hidden + 1, hidden]
    actual = [iteration["hidden"] for iterations in runs.values() for iteration in iterations]
    for array, reference in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(array, reference)
    assert [list(feed) for feed in feeds] == [list(inputs)] * 2
    np.testing.assert_array_equal(feeds[1]["features"], inputs["features"] * 2)


def compare(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["compare", str(NETWORK), *map(str, arguments), "--format", "json"])
    return result.exit_code, json.loads(result.stdout) if result.stdout else {}


def test_iterations_are_calls() -> None:
    exit_code, report = compare("--with", OUTPUTS, "--inputs", INPUTS)
    assert (exit_code, report["verdict"], report["calls"]) == (0, "equal", 2)
    exit_code, report = compare("--with", f"{OUTPUTS}:trt-runner", "--inputs", INPUTS)
    (output,) = report["output_results"]
    assert (exit_code, report["verdict"], output["call"]) == (1, "different", 1)
    assert output["error"]["max_abs"] == pytest.approx(1)


def test_first_iteration_for_one_call() -> None:
    exit_code, report = compare("--with", OUTPUTS, "--inputs", ROOT / "samples" / "gnn_step.inputs.npz")
    assert (exit_code, report["calls"]) == (0, 1)
    with pytest.raises(EvaluationError) as error:
        ir_exec.compare(NETWORK, OUTPUTS, read_sample("inputs"), calls=3)
    assert (error.value.code, error.value.expected) == ("IR705", "values of 3 calls")


def test_unknown_runner() -> None:
    with pytest.raises(EvaluationError) as error:
        ir_exec.compare(NETWORK, f"{OUTPUTS}:trt-runer", read_sample("inputs"))
    assert error.value.hint is not None
    assert "trt-runner" in error.value.hint


def test_comparison_writes_what_it_reads(tmp_path: Path) -> None:
    outputs, inputs = tmp_path / "o.json", tmp_path / "i.json"
    exit_code, _ = compare(
        "--with", f"{OUTPUTS}:trt-runner", "--inputs", INPUTS, "--save-outputs", outputs, "--save-inputs", inputs
    )
    assert exit_code == 1
    runs = read_runs(outputs)
    reference, ours = runs
    assert ours == "ir_exec"
    for runner, again in ((ours, "onnxrt-runner"), (reference, "trt-runner")):
        for iteration, expected in zip(runs[runner], read_runs(OUTPUTS)[again], strict=True):
            np.testing.assert_array_equal(iteration["hidden"], expected["hidden"])
    assert [sorted(feed) for feed in read_feeds(inputs)] == [["edges", "features"]] * 2
    exit_code, report = compare("--with", f"{outputs}:ir_exec", "--inputs", inputs)
    assert (exit_code, report["calls"]) == (0, 2)
    # The classes and the nesting are those of the file that Polygraphy wrote.
    assert _structure(json.loads(outputs.read_text())) == _structure(json.loads(OUTPUTS.read_text()))


def _structure(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: value if key == "polygraphy_class" else _structure(value) for key, value in content.items()}
    return [_structure(item) for item in content] if isinstance(content, list) else None


def test_types_without_a_form_in_npy(tmp_path: Path) -> None:
    recorded = RecordedCalls()
    array = np.array([1.5, -2], ir_exec.ElementType.bf16.dtype)
    recorded({"x": array}, {"y": array}, {})
    recorded.write_inputs(tmp_path / "i.json")
    np.testing.assert_array_equal(read_feeds(tmp_path / "i.json")[0]["x"], np.array([1.5, -2], np.float32))
    recorded.write_outputs(tmp_path / "o.json", "none")
    assert list(read_runs(tmp_path / "o.json")) == ["ir_exec"]


def test_other_commands_take_one_call(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["run", str(NETWORK), "--inputs", str(INPUTS)]).exit_code == 2
    path = tmp_path / "one.json"
    polygraphy.write_feeds(path, read_feeds(INPUTS)[:1])
    result = CliRunner().invoke(main, ["run", str(NETWORK), "--inputs", str(path), "-o", str(tmp_path / "out.npz")])
    assert result.exit_code == 0
    with np.load(tmp_path / "out.npz") as outputs:
        np.testing.assert_allclose(outputs["hidden"], read_sample("outputs")["hidden"], rtol=1e-6)


def npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def results_of(array: Any) -> dict[str, Any]:
    return {"lst": [["runner", [{"outputs": {"hidden": array}}]]]}


def test_early_releases(tmp_path: Path) -> None:
    array = np.arange(4.0)
    archive = io.BytesIO()
    np.savez(archive, array)
    for text in (npy(array).decode("latin-1"), b64encode(archive.getvalue()).decode()):
        path = tmp_path / "early.json"
        path.write_text(json.dumps(results_of({"values": {"array": text}})))
        np.testing.assert_array_equal(read_runs(path)["runner"][0]["hidden"], array)


HUGE = npy(np.zeros(4))[:128].replace(b"(4,), }" + b" " * 12, b"(4000000000000,), }") + bytes(32)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1",
        "3",
        "{}",
        '{"lst": 3}',
        '{"lst": []}',
        '{"lst": [["a", []]]}',
        '{"lst": [["a"]]}',
        '{"lst": [["a", [3]]]}',
        '{"lst": [["a", [{"outputs": {}}]]]}',
        '{"ids": [1, 2]}',
        "[" * 200_000,
        "1" * 10_000,
        json.dumps(results_of(3)),
        json.dumps(results_of({"array": 3})),
        json.dumps(results_of({"array": "no array"})),
        json.dumps(results_of({"array": "AAAA", "polygraphy_class": "Tensor"})),
        json.dumps(results_of({"array": b64encode(HUGE).decode()})),
        json.dumps(results_of({"array": b64encode(npy(np.array([object()], object))[:200]).decode()})),
    ],
    ids=range(19),
)
def test_damaged_files(tmp_path: Path, content: str) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(content)
    for read in (read_runs, read_feeds):
        with pytest.raises(EvaluationError) as error:
            read(path)
        assert error.value.code == "IR705"


def test_huge_header_is_meant() -> None:
    assert b"4000000000000" in HUGE


def test_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polygraphy, "default_budget", lambda: 3 * OUTPUTS.stat().st_size)
    with pytest.raises(ResourceError) as error:
        read_runs(OUTPUTS)
    assert error.value.actual == f"{4 * OUTPUTS.stat().st_size:,}"


def test_packed_array_beyond_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", npy(np.zeros(2**16, np.uint8)))
    path = tmp_path / "packed.json"
    path.write_text(json.dumps(results_of({"array": b64encode(archive.getvalue()).decode()})))
    assert read_runs(path)["runner"][0]["hidden"].size == 2**16
    monkeypatch.setattr("ir_exec.debug.values.files.default_budget", lambda: 2**15)
    with pytest.raises(ResourceError):
        read_runs(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError) as error:
        read_runs(tmp_path / "none.json")
    assert error.value.code == "IR001"
