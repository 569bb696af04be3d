"""`ir-exec reduce`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result

from ir_exec import read_model
from ir_exec.cli import main
from tests.cli.test_cli_endings import IR_EXEC
from tests.debug.reduction.onnx_faults import FAULTS, has_fault, write_fault
from tests.debug.reduction.test_reducing import computing, thousand
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
GNN = ROOT / "samples" / "gnn_step.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def search(tmp_path: Path) -> str:
    """A command that ends with 1 where a file names an operator, without ir_exec."""
    script = tmp_path / "search.py"
    script.write_text("import sys\nsys.exit('type=\"Sin\"' in open(sys.argv[1]).read())\n")
    return f"{sys.executable} {script} {{model}}"


@pytest.mark.broad
def test_a_command_and_a_thousand_layers(search: str, tmp_path: Path) -> None:
    thousand().save(tmp_path / "whole.xml")
    before = [(tmp_path / f"whole.{end}").read_bytes() for end in ("xml", "bin")]
    result = run("reduce", tmp_path / "whole.xml", "--until", search, "--output", tmp_path / "small.xml")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == mentions(1000, 1, 1, 1, "Parameter", "Result")
    assert lines[1].endswith("(Sin)")
    assert computing(read_model(tmp_path / "small.xml")) == ["Sin"]
    assert [(tmp_path / f"whole.{end}").read_bytes() for end in ("xml", "bin")] == before
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.broad
@pytest.mark.skipif(os.name != "posix", reason="of signals as POSIX has them")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupted(name: str, tmp_path: Path) -> None:
    """The command stops the program that runs it in its fifth run, and does not end by itself."""
    thousand().save(tmp_path / "whole.xml")
    script, calls, small = (tmp_path / name_of_file for name_of_file in ("search.py", "calls", "small.xml"))
    script.write_text(
        "import os, signal, sys\n"
        f"with open({str(calls)!r}, 'a+') as file:\n"
        "    file.write('.')\n"
        "    count = file.tell()\n"
        "if count == 5:\n"
        f"    os.kill(os.getppid(), signal.{name})\n"
        "    signal.pause()\n"
        "sys.exit('type=\"Sin\"' in open(sys.argv[1]).read())\n"
    )
    command = [*IR_EXEC, "reduce", str(tmp_path / "whole.xml"), "--output", str(small)]
    # What runs the tests in the background of a shell has SIGINT ignored, and so would its children.
    done = subprocess.run(
        [*command, "--until", f"{sys.executable} {script} {{model}}"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 130, done.stderr
    assert len(done.stderr.splitlines()) == 1
    layers = computing(read_model(small))
    assert "Sin" in layers
    assert done.stdout.splitlines()[0] == mentions(1000, len(layers))
    assert mentions(small) in done.stdout.splitlines()


@pytest.mark.broad
def test_inputs_are_handed_on(tmp_path: Path) -> None:
    """They are values of the run of the whole network."""
    script = tmp_path / "differs.py"
    script.write_text(
        "import sys, numpy as np\n"
        "from ir_exec import compile_model\n"
        "compiled = compile_model(sys.argv[1])\n"
        "with np.load(sys.argv[2]) as held: inputs = {name: held[name] for name in held.files}\n"
        "found = []\n"
        "compiled(inputs, observe=lambda node, _, outputs: found.append((node.type, outputs[0])))\n"
        "sys.exit(any(kind == 'ReLU' and value.max() > 1 for kind, value in found))\n"
    )
    small = tmp_path / "small.xml"
    until = f"{sys.executable} {script} {{model}} {{inputs}}"
    inputs = ("--inputs", ROOT / "samples" / "gnn_step.inputs.npz")
    result = run("reduce", GNN, *inputs, "--until", until, "--output", small)
    assert result.exit_code == 0, result.output
    assert computing(read_model(small)) == ["ReLU"]
    with np.load(tmp_path / "small.inputs.npz") as inputs_file, np.load(tmp_path / "small.outputs.npz") as outputs_file:
        (data,), (other,) = (list(arrays_file.values()) for arrays_file in (inputs_file, outputs_file))
        assert np.array_equal(np.maximum(data, 0), other)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((GNN,), mentions("--passes")),
        ((GNN, "--until", "true"), mentions("{model}", "true")),
        ((GNN, "--until", "true {model}"), mentions("IR704")),
        ((GNN, "--until", "no-such-program {model}"), mentions("no-such-program")),
        ((GNN, "--until", "false {model}", "--output", GNN), mentions(GNN)),
        ((GNN, "--until", "false {model}", "--output", "small.txt"), mentions(".xml")),
        ((GNN, "--until", "false {model}", "--bad-exit", "x"), mentions("--bad-exit", "x")),
        (
            (GNN, "--until", "false {model}", "--output", "/no/such/folder/small.xml"),
            mentions("/no/such/folder/small.xml"),
        ),
        (("no/such.xml", "--until", "false {model}"), mentions("IR001")),
    ],
)
def test_what_cannot_be(arguments: tuple[str | Path, ...], words: mentions) -> None:
    result = run("reduce", *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr.splitlines()
    assert "Traceback" not in result.stderr


NETWORKS = ROOT / "tests" / "networks"


def passes_of(name: str, *arguments: str) -> Result:
    return run("reduce", NETWORKS / f"{name}.xml", "--passes", "--inputs", NETWORKS / f"{name}.inputs.npz", *arguments)


def test_passes_that_change_outputs() -> None:
    result = passes_of("keras")
    assert result.exit_code == 0, result.output
    assert "fuse_layer_norm" in result.stdout
    assert "functional_1/dense_1/Gelu/mul_2" in result.stdout


def test_passes_as_json() -> None:
    result = passes_of("keras", "--format", "json", "--atol", "1e-12")
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "passes.schema.json").read_text()))
    passes = {name for effect in report["effects"] for name in effect["passes"]}
    # Products of fewer rows round differently with some BLAS kernels.
    assert passes - {"hoist_gather_past_matmul"} == {"fuse_layer_norm", "fuse_activation"}


def test_passes_that_change_nothing() -> None:
    result = passes_of("conv_zoo")
    assert (result.exit_code, "fuse" in result.stdout) == (0, False)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--passes", "--until", "x {model}"),
        ("--optimizers", "--until", "x {model}"),
        ("--optimizers", "--passes"),
        ("--optimizers", "-o", "small.xml"),
        ("--until", "x {model}", "--rtol", "1"),
    ],
)
def test_questions_that_cannot_be_asked_together(arguments: tuple[str, ...]) -> None:
    assert run("reduce", GNN, *arguments).exit_code == 2


@pytest.fixture
def onnx_check(tmp_path: Path) -> str:
    """A command that ends with 1 if the optimizers of onnxruntime change or refuse a file, without ir_exec."""
    script = tmp_path / "check.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nimport numpy as np\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.debug.reduction.onnx_faults import has_fault\n"
        "sys.exit(has_fault(Path(sys.argv[1]), dict(np.load(sys.argv[2]))))\n"
    )
    return f"{sys.executable} {script} {{model}} {{inputs}}"


@pytest.mark.broad
@pytest.mark.parametrize("name", FAULTS)
def test_real_faults_of_onnxruntime(name: str, onnx_check: str, tmp_path: Path) -> None:
    """The smallest file still has the fault, and so has its bundle, which has the layout of ONNX's test data."""
    pytest.importorskip("onnxruntime")
    maker, _, operators = FAULTS[name]
    net, small, archive = (tmp_path / file for file in ("net.onnx", "small.onnx", "small.zip"))
    inputs = write_fault(maker, net)
    if not has_fault(net, inputs):
        pytest.skip("the installed release has no such fault")
    np.savez(tmp_path / "x.npz", **inputs)
    result = run("reduce", net, "--until", onnx_check, "--inputs", tmp_path / "x.npz", "-o", small)
    assert result.exit_code == 0, result.output
    assert [node.op_type for node in onnx.load(small).graph.node] == operators
    result = run("bundle", small, "--inputs", tmp_path / "small.inputs.npz", "--until", onnx_check, "-o", archive)
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(archive) as stored:
        stored.extractall(tmp_path / "bundle")
    data = tmp_path / "bundle" / "test_data_set_0"
    tensors = [onnx.load_tensor(path) for path in sorted(data.glob("input_*.pb"))]
    feeds = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in tensors}
    assert has_fault(tmp_path / "bundle" / "model.onnx", feeds)


def test_optimizers_as_text(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    maker, optimizer, operators = FAULTS["dequantize"]
    net = tmp_path / "net.onnx"
    inputs = write_fault(maker, net)
    if not has_fault(net, inputs):
        pytest.skip("the installed release has no such fault")
    np.savez(tmp_path / "x.npz", **inputs)
    result = run("reduce", net, "--optimizers", "--inputs", tmp_path / "x.npz", "-o", tmp_path / "small.onnx")
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[0] == mentions(optimizer)
    assert [node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node] == operators


def test_optimizers_of_an_export_as_json(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    result = run("reduce", GNN, "--optimizers", "--format", "json", "-o", tmp_path / "small.onnx")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "optimizers.schema.json").read_text()))
    assert (report["verdict"], report["optimizers"], report["reduced"]) == ("equal", [], None)
    assert not (tmp_path / "small.onnx").exists()
