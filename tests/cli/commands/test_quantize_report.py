"""`ir-exec quantize-report`: what it prints, writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import build, read_model
from ir_exec.cli import main
from ir_exec.debug.precision.effects import QuantizationReport
from tests.debug.precision.networks import TOKENS, plain_model, quantized_model
from tests.helpers.facts import mentions

SCHEMAS = Path(__file__).parents[3] / "schemas"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plain = plain_model()
    plain.save(tmp_path / "plain.xml")
    quantized_model(plain).save(tmp_path / "int4.xml")
    np.savez(tmp_path / "in.npz", **TOKENS)
    return tmp_path


def report(folder: Path, *options: str) -> Result:
    paths = ["quantize-report", str(folder / "int4.xml"), "--with", str(folder / "plain.xml")]
    return CliRunner().invoke(main, [*paths, *options])


def test_text(folder: Path) -> None:
    result = report(folder, "--inputs", str(folder / "in.npz"), "--top", "2")
    assert result.exit_code == 0, result.output
    assert "int4_sym/16" in result.stdout
    assert sum(name in result.stdout for name in ("w0", "w1", "w2", "w3", "table", "head")) in (2, 3)
    drawn = report(folder, "--shape", "tokens[1,3]", "--seed", "4", "--all")
    assert drawn.exit_code == 0, drawn.output


def test_json_fits_its_schema(folder: Path) -> None:
    result = report(folder, "--inputs", str(folder / "in.npz"), "--max-loss", "0.5", "--format", "json")
    assert result.exit_code == 1
    parsed = json.loads(result.stdout)
    jsonschema.validate(parsed, json.loads((SCHEMAS / "quantization.schema.json").read_text()))
    assert QuantizationReport.model_validate(parsed).keep


def test_formats_for_edit_make_a_model_within_the_loss(folder: Path) -> None:
    options = ("--inputs", str(folder / "in.npz"), "--max-loss", "0.5")
    assert report(folder, *options, "--mixed", str(folder / "mixed.json")).exit_code == 1
    paths = [str(folder / "plain.xml"), "--weights", str(folder / "mixed.json"), "-o", str(folder / "int4.xml")]
    result = CliRunner().invoke(main, ["edit", *paths])
    assert result.exit_code == 0, result.output
    assert report(folder, *options).exit_code == 0


def test_several_inputs(folder: Path) -> None:
    np.savez(folder / "in2.npz", tokens=np.array([[5, 6, 7]]))
    result = report(folder, "--inputs", str(folder / "in*.npz"), "--format", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["calls"] == 2


def test_csv(folder: Path) -> None:
    result = report(folder, "--format", "csv")
    assert len(result.stdout.strip().splitlines()) == 7


def test_page_shows_effects_as_colors(folder: Path) -> None:
    options = ("--inputs", str(folder / "in.npz"), "--max-loss", "0.5")
    assert report(folder, *options, "--format", "html", "-o", str(folder / "page.html")).exit_code == 1
    assert (folder / "page.html").stat().st_size > 10_000
    report(folder, *options, "--format", "json", "-o", str(folder / "report.json"))
    paths = [str(folder / "int4.xml"), "--compare", str(folder / "report.json"), "-o", str(folder / "view.html")]
    result = CliRunner().invoke(main, ["view", *paths])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    "options",
    [
        ("--with", "nothing.xml"),
        ("--inputs", "nothing.npz"),
        ("--max-loss", "-1"),
        ("--keep-bits", "4"),
    ],
)
def test_bad_options(folder: Path, options: tuple[str, ...]) -> None:
    assert report(folder, *options).exit_code == 2


def test_unquantized_network(folder: Path) -> None:
    plain = str(folder / "plain.xml")
    result = CliRunner().invoke(main, ["quantize-report", plain, "--with", plain])
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) <= 3


def test_models_with_other_outputs(folder: Path) -> None:
    plain_model("other", sensitive=False).save(folder / "named.xml")
    quantized, named = str(folder / "int4.xml"), str(folder / "named.xml")
    assert CliRunner().invoke(main, ["quantize-report", quantized, "--with", named]).exit_code == 0
    x = build.parameter([1, None], "i64", name="tokens")
    build.model([build.result(x, name="a"), build.result(build.negative(x), name="b")]).save(folder / "two.xml")
    result = CliRunner().invoke(main, ["quantize-report", quantized, "--with", str(folder / "two.xml")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == mentions("a", "b")


def test_tensors_of_a_checkpoint(folder: Path) -> None:
    """The noise relative to the tensors of the plain model is that relative to its weights."""
    options = ("--inputs", str(folder / "in.npz"), "--checkpoint", str(folder / "plain.xml"))
    parsed = QuantizationReport.model_validate(json.loads(report(folder, *options, "--format", "json").stdout))
    weights = [layer for layer in parsed.layers if layer.kind == "weight"]
    assert weights
    for layer in weights:
        assert len(layer.tensors) == 1
        assert layer.tensor_fault is None
        assert layer.tensor_sqnr_db == pytest.approx(layer.weight_sqnr_db, abs=0.01)
    result = report(folder, *options, "--all")
    assert result.stdout == mentions(*(layer.tensors[0] for layer in weights))


def test_a_weight_that_is_not_its_tensor(folder: Path) -> None:
    model = read_model(folder / "plain.xml")
    arrays = {name: np.array(array) for name, array in model.constants.items() if array.dtype == np.float32}
    name = max(arrays, key=lambda name: arrays[name].size)
    arrays[name] = -arrays[name]
    np.savez(folder / "other.npz", **arrays)
    options = ("--inputs", str(folder / "in.npz"), "--checkpoint", str(folder / "other.npz"), "--format", "json")
    parsed = QuantizationReport.model_validate(json.loads(report(folder, *options).stdout))
    assert [layer.path for layer in parsed.layers if layer.tensor_fault is not None] == [name]
