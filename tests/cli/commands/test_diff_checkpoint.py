"""`ir-exec diff MODEL CHECKPOINT`, `check FOLDER --weights-values` and `compare --checkpoint`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.debug.weights.networks import compress, decoder, draw_tensors, save_safetensors
from tests.helpers.facts import mentions

SCHEMA = Path(__file__).parents[3] / "schemas" / "weights.schema.json"
TENSORS = draw_tensors()
QUERY, KEY = (f"model.layers.0.self_attn.{name}_proj.weight" for name in "qk")
SWAPPED = {**TENSORS, QUERY: TENSORS[KEY], KEY: TENSORS[QUERY]}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound model, a swapped one, and their checkpoint."""
    for name, tensors, weight_format in (("sound", TENSORS, "int4"), ("swapped", SWAPPED, "f32")):
        (tmp_path / name).mkdir()
        compress(decoder(tensors), weight_format).save(tmp_path / name / "model.xml")
    save_safetensors(tmp_path / "model.safetensors", TENSORS)
    return tmp_path


def test_a_sound_model_is_one_line(folder: Path) -> None:
    result = run("diff", folder / "sound" / "model.xml", folder / "model.safetensors")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == mentions(len(TENSORS), "100.00%")


def test_the_first_line_is_the_first_fault(folder: Path) -> None:
    result = run("diff", folder / "swapped", folder / "model.safetensors")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == mentions(f"self.{QUERY}", KEY)


def test_json_follows_the_schema(folder: Path) -> None:
    result = run("diff", folder / "swapped" / "model.xml", folder, "--format", "json")
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert [fault["category"] for fault in report["faults"]] == ["swapped"]
    assert json.loads(run("schema", "weights").stdout) == json.loads(SCHEMA.read_text())


def test_html_and_all_weights(folder: Path) -> None:
    page = folder / "weights.html"
    result = run("diff", folder / "swapped" / "model.xml", folder, "--format", "html", "-o", page)
    assert (result.exit_code, KEY in page.read_text()) == (1, True)
    every = run("diff", folder / "sound" / "model.xml", folder, "--all").stdout
    assert all(name in every for name in TENSORS)


def test_adapter(folder: Path) -> None:
    adapter = folder / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"lora_alpha": 8, "r": 4}')
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    factors = {
        f"{module}.lora_A.weight": np.ones((4, 32), np.float32),
        f"{module}.lora_B.weight": np.eye(32, 4, dtype=np.float32),
    }
    save_safetensors(adapter / "adapter_model.safetensors", factors)
    result = run("diff", folder / "sound" / "model.xml", folder / "model.safetensors", "--adapter", adapter)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == mentions(f"self.{QUERY}")


def test_another_model_by_value(folder: Path) -> None:
    models = folder / "sound" / "model.xml", folder / "swapped" / "model.xml"
    assert run("diff", models[0], models[0], "--by-value").exit_code == 0
    assert run("diff", *models, "--by-value").exit_code == 1


def test_trouble(folder: Path) -> None:
    damaged = folder / "damaged.safetensors"
    damaged.write_bytes(b"\xff" * 20)
    for checkpoint in (damaged, folder / "no.safetensors", folder / "sound" / "no.npz"):
        result = run("diff", folder / "sound" / "model.xml", checkpoint)
        assert (result.exit_code, "Traceback" in result.stderr) == (2, False)
    assert run("diff", folder / "sound" / "model.xml", "--textconv", "--by-value").exit_code == 2


def test_check_compares_with_the_checkpoint_in_a_folder(folder: Path) -> None:
    for name in ("sound", "swapped"):
        save_safetensors(folder / name / "model.safetensors", TENSORS)
    sound = run("check", folder / "sound", "--weights-values")
    assert sound.exit_code == 0
    assert mentions("model.safetensors", len(TENSORS)) in sound.stdout.splitlines()
    swapped = run("check", folder / "swapped", "--weights-values", "--format", "json")
    assert swapped.exit_code == 1
    (file,) = json.loads(swapped.stdout)["files"]
    assert [finding["code"] for finding in file["diagnostics"] if finding["severity"] == "error"] == ["IR812"]
    assert run("check", folder / "swapped").exit_code == 0


def test_check_reports_an_unreadable_checkpoint(folder: Path) -> None:
    (folder / "sound" / "model.safetensors").write_bytes(b"\xff" * 20)
    result = run("check", folder / "sound", "--weights-values")
    assert (result.exit_code, "Traceback" in result.stderr) == (1, False)


def test_compare_reports_the_weights_of_wrong_layers(folder: Path) -> None:
    arrays = {**TENSORS, QUERY: TENSORS[QUERY] * np.float32(1.5)}
    decoder(arrays).save(folder / "scaled.xml")
    decoder(TENSORS).save(folder / "reference.xml")
    result = run("compare", folder / "scaled.xml", folder / "reference.xml", "--checkpoint", folder)
    assert result.exit_code == 1
    assert mentions(f"self.{QUERY}", "differs") in [line.strip() for line in result.stdout.splitlines()]
