"""`ir-exec bundle`."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.debug.reduction.onnx_faults import FAULTS, write_fault
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", str(SAMPLES / "gnn_step.inputs.npz"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_written_and_run_again(tmp_path: Path) -> None:
    result = run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", "--report", SAMPLES / "gnn_step.xml")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == mentions(tmp_path / "b.zip")
    again = run("bundle", "--run", tmp_path / "b.zip")
    assert (again.exit_code, len(again.stdout.splitlines())) == (0, 1)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        about = json.loads(archive.read("bundle.json"))
    jsonschema.validate(about, json.loads((ROOT / "schemas" / "bundle.schema.json").read_text()))


def test_the_schema_is_current() -> None:
    assert json.loads(run("schema", "bundle").stdout) == json.loads(
        (ROOT / "schemas" / "bundle.schema.json").read_text()
    )


def test_differing_versions_are_reported(tmp_path: Path) -> None:
    run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(contents["bundle.json"])
    about["versions"] |= {"numpy": "1.0\x1b[31m", "tensorflow": "2"}
    about["command"] = "ask {model}"
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, json.dumps(about) if name == "bundle.json" else content)
    lines = run("bundle", "--run", tmp_path / "b.zip").stdout.splitlines()
    assert lines[0] == mentions("numpy", "1.0\\x1b[31m", np.__version__)
    assert lines[1:] == [
        mentions("tensorflow", 2),
        mentions("ask {model}"),
        mentions(),
    ]


@pytest.mark.parametrize(("word", "code"), [("ScatterElementsUpdate", 0), ("messages", 1)])
def test_whether_the_fault_stays(word: str, code: int, tmp_path: Path) -> None:
    """Operators stay, names do not."""
    script = tmp_path / "search.py"
    script.write_text(f"import sys\nsys.exit({word!r} in open(sys.argv[1]).read())\n")
    until = f"{sys.executable} {script} {{model}}"
    result = run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", "--anonymous", "--until", until)
    assert result.exit_code == code, result.output
    assert bool(result.stderr) == bool(code)
    assert run("bundle", "--run", tmp_path / "b.zip").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), mentions("MODEL", "--run")),
        ((GNN, "--run", "b.zip"), mentions("MODEL", "--run")),
        ((GNN,), mentions("--output")),
        ((GNN, "--output", GNN), mentions(GNN)),
        ((GNN, *INPUTS, "--output", "/no/such/b.zip"), mentions("/no/such/b.zip")),
        ((GNN, *INPUTS, "--output", "{tmp}/b.zip", "--report", "none.txt"), mentions("none.txt")),
        ((GNN, *INPUTS, "--output", "{tmp}/b.zip", "--until", "true {model}"), mentions("IR704")),
        (("--run", "none.zip"), mentions("none.zip")),
        (("--run", GNN), mentions(GNN)),
        (("no/such.xml", "--output", "{tmp}/b.zip"), mentions("IR001")),
    ],
)
def test_what_cannot_be(arguments: tuple[str | Path, ...], words: mentions, tmp_path: Path) -> None:
    result = run("bundle", *(str(argument).replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert words in result.stderr.splitlines()
    assert not list(tmp_path.iterdir())


def test_reports_of_one_name_are_all_added(tmp_path: Path) -> None:
    reports = []
    for name, folder in enumerate(("a", "b", "c")):
        (tmp_path / folder).mkdir()
        reports.append(tmp_path / folder / ("REPORT.json" if folder == "c" else "report.json"))
        reports[-1].write_text(str(name))
    options = [text for path in (*reports, reports[0]) for text in ("--report", path)]
    assert run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", *options).exit_code == 0
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        added = {name: archive.read(name) for name in archive.namelist() if name.startswith("reports/")}
    names = ["report.json", "report-2.json", "REPORT-3.json"]
    assert added == {f"reports/{name}": str(index).encode() for index, name in enumerate(names)}
    assert run("bundle", "--run", tmp_path / "b.zip").exit_code == 0


def test_more_reports_than_a_bundle_has_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [tmp_path / f"{number}.json" for number in range(120)]
    for path in reports:
        path.write_text("{}")
    options = [text for path in reports for text in ("--report", path)]
    written = run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", *options[: 2 * 94])
    assert written.exit_code == 0, written.output
    assert run("bundle", "--run", tmp_path / "b.zip").exit_code == 0

    def start(*arguments: object) -> None:
        raise AssertionError("the model has been run")

    monkeypatch.setattr("ir_exec.debug.reduction.bundling.bind_calls", start)
    for count in (95, 120):
        result = run("bundle", GNN, *INPUTS, "--output", tmp_path / "c.zip", *options[: 2 * count])
        assert result.exit_code == 2
        assert mentions(count, 94) in result.stderr.splitlines()
    assert not (tmp_path / "c.zip").exists()


def test_command_too_long_for_a_bundle(tmp_path: Path) -> None:
    command = f"{sys.executable} -c exit(1) {'x' * 2**20}"
    result = run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", "--until", command)
    assert result.exit_code == 2
    assert not (tmp_path / "b.zip").exists()


def test_bundle_runs_as_a_model(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    assert CliRunner().invoke(main, ["bundle", str(GNN), "-o", str(path)]).exit_code == 0
    for command in ("run", "check", "inspect"):
        result = CliRunner().invoke(main, [command, str(path)])
        assert "ir-exec bundle --run" in result.output
        assert "PyTorch" not in result.output


def test_reports_in_an_anonymous_one_are_mentioned(tmp_path: Path) -> None:
    report = tmp_path / "compare.json"
    report.write_text("{}")
    options = ["--report", report, "--output", tmp_path / "b.zip"]
    assert "compare.json" not in run("bundle", GNN, *options).stderr
    assert mentions("compare.json") in run("bundle", GNN, *options, "--anonymous").stderr.splitlines()


def test_anonymous_onnx_bundle_with_a_fault(tmp_path: Path) -> None:
    """It is ONNX, has none of the names, still has the fault, and runs again."""
    net, archive, script = tmp_path / "net.onnx", tmp_path / "b.zip", tmp_path / "search.py"
    inputs = write_fault(FAULTS["dequantize"][0], net)
    np.savez(tmp_path / "x.npz", **inputs)
    script.write_text("import sys\nsys.exit(b'DequantizeLinear' in open(sys.argv[1], 'rb').read())\n")
    command = f"{sys.executable} {script} {{model}}"
    options = ("--inputs", tmp_path / "x.npz", "--anonymous", "--until", command)
    result = run("bundle", net, *options, "-o", archive)
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(archive) as stored:
        about = json.loads(stored.read("bundle.json"))
        content = stored.read("model.onnx")
    assert (about["anonymous"], about["fails"], about["command"]) == (True, True, None)
    assert b"narrow" not in content
    assert b"before" not in content
    assert b"DequantizeLinear" in content
    assert run("bundle", "--run", archive).exit_code == 0


@pytest.mark.parametrize("keepdims", [0, 1])
def test_sequences_stay_onnx(keepdims: int, tmp_path: Path) -> None:
    """An output that is a list of tensors is a SequenceProto, as in ONNX's test data."""
    node = onnx.helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0, keepdims=keepdims)
    declared = onnx.helper.make_tensor_sequence_value_info("parts", onnx.TensorProto.FLOAT, None)
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 2])
    graph = onnx.helper.make_graph([node], "network", [x], [declared])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(tmp_path / "x.npz", x=array)
    archive = tmp_path / "b.zip"
    result = run("bundle", tmp_path / "net.onnx", "--inputs", tmp_path / "x.npz", "-o", archive)
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(archive) as stored:
        sequence = onnx.SequenceProto.FromString(stored.read("test_data_set_0/output_0.pb"))
    elements = [onnx.numpy_helper.to_array(tensor) for tensor in sequence.tensor_values]
    expected = [row.reshape(1, 2) if keepdims else row for row in array]
    assert [element.tolist() for element in elements] == [row.tolist() for row in expected]
    assert (sequence.name, sequence.elem_type) == ("parts", onnx.SequenceProto.TENSOR)
    assert run("bundle", "--run", archive).exit_code == 0
