"""What devices and pipelines refuse, before it is tried."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import build
from ir_exec.cli import main
from ir_exec.text.targets import Target, check_for
from tests.text.folders import pipeline


def findings(path: Path, target: Target) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for report in check_for(path, target) for one in report.diagnostics]


def network(shape: object) -> ir_exec.Model:
    return build.model(build.result(build.relu(build.parameter(shape, name="x")), name="y"))


@pytest.mark.parametrize(
    ("shape", "npu", "gpu"),
    [
        ([1, 3], [], []),
        ([None, 3], ["error"], []),
        ([(1, 8), 3], ["info"], []),
        (None, ["error"], ["error"]),
    ],
)
def test_shapes_of_inputs(shape: object, npu: list[str], gpu: list[str], tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    network(ir_exec.Shape(None) if shape is None else shape).save(path)
    assert findings(path, "npu") == [("IR811", severity) for severity in npu]
    assert findings(path, "gpu") == [("IR811", severity) for severity in gpu]


def weighed(kind: str, groups: int) -> ir_exec.Model:
    """A product with weights of four bits in groups."""
    tokens = build.parameter([None, None], "i64", name="input_ids")
    stored = build.constant(np.ones((64, 256 // groups, groups), np.int8), kind)
    scales = np.ones((64, 256 // groups, 1), np.float32)
    weights = build.reshape(build.multiply(build.convert(stored, "f32"), scales), [64, 256], special_zero=False)
    hidden = build.convert(build.tile(build.unsqueeze(tokens, [2]), [1, 1, 256]), "f32")
    logits = build.matmul(hidden, weights, transpose_b=True)
    return build.model(build.result(logits, name="logits"))


@pytest.mark.parametrize(
    ("kind", "groups", "expected"),
    [
        ("i4", 128, []),
        ("u4", 128, ["error"]),
        ("i4", 64, ["warning"]),
        ("u4", 32, ["error", "warning"]),
    ],
)
def test_weights_of_four_bits(kind: str, groups: int, expected: list[str], tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    weighed(kind, groups).save(folder / "openvino_model.xml")
    assert findings(folder, "npu") == [("IR811", severity) for severity in expected]
    assert findings(folder, "gpu") == []


def test_a_cache_in_inputs(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    past = build.parameter([None, 1, None, 8], name="past_key_values.0.key")
    tokens = build.parameter([None, None], "i64", name="input_ids")
    logits = build.add(build.convert(build.unsqueeze(tokens, [2]), "f32"), build.reduce_sum(past, [1, 2, 3]))
    build.model([build.result(logits, name="logits"), build.result(past, name="present.0.key")]).save(
        folder / "openvino_model.xml"
    )
    assert ("IR811", "error") in findings(folder, "genai")


def test_a_sound_folder(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    assert findings(folder, "genai") == []
    assert findings(folder, "gpu") == []
    assert findings(folder, "npu") == [("IR811", "info")]


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    network([None, 3]).save(path)
    result = CliRunner().invoke(main, ["check", str(path), "--for", "npu", "--format", "json"])
    assert result.exit_code == 1
    (file,) = json.loads(result.stdout)["files"]
    assert "IR811" in [one["code"] for one in file["diagnostics"]]
    assert CliRunner().invoke(main, ["check", str(path), "--for", "gpu"]).exit_code == 0
    assert CliRunner().invoke(main, ["check", str(path), "--for", "tpu"]).exit_code == 2
