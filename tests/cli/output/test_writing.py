"""No command writes over a file that it reads, or over a file of another format."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import build
from ir_exec.cli import main
from ir_exec.cli.output.writing import OutputPath
from ir_exec.model import Model

TEXTS = {"text", "html", "json", "csv"}

OUTPUTS = {
    ("bundle", "--output"): ("out.zip", {"bundle"}),
    ("check", "--output"): ("out.txt", TEXTS),
    ("check", "--write-baseline"): ("out.json", {"baseline"}),
    ("compare", "--output"): ("out.txt", TEXTS),
    ("compare", "--save-inputs"): ("out.json", TEXTS),
    ("compare", "--save-outputs"): ("out.json", TEXTS),
    ("conformance", "--output"): ("out.txt", TEXTS),
    ("conformance", "--save"): ("out", set()),
    ("convert", "--output"): ("out.xml", {"IR"}),
    ("diff", "--output"): ("out.txt", TEXTS),
    ("edit", "--output"): ("out.xml", {"IR"}),
    ("extract", "--output"): ("out.xml", {"IR"}),
    ("generate", "--logits"): ("out.npz", {"npz"}),
    ("profile", "--output"): ("out.txt", TEXTS),
    ("profile", "--trace-events"): ("out.json", TEXTS),
    ("quantize-report", "--mixed"): ("out.json", TEXTS),
    ("quantize-report", "--output"): ("out.txt", TEXTS),
    ("reduce", "--output"): ("out.xml", {"IR"}),
    ("run", "--output"): ("out.npz", {"npz"}),
    ("trace", "--output"): ("out", set()),
    ("view", "--output"): ("out.html", TEXTS),
}
"""The options that write files: a name for a new file, and the formats that they replace."""

ARGUMENTS = {
    "bundle": ["MODEL"],
    "check": ["MODEL"],
    "compare": ["MODEL", "--with", "OTHER"],
    "conformance": ["--types", "NoSuchType"],
    "convert": ["MODEL"],
    "diff": ["MODEL", "OTHER"],
    "edit": ["MODEL"],
    "extract": ["MODEL", "--to", "y"],
    "generate": ["FOLDER", "--prompt", "x"],
    "profile": ["MODEL", "--repeat", "1"],
    "quantize-report": ["MODEL", "--with", "OTHER"],
    "reduce": ["MODEL", "--until", "false {model}"],
    "run": ["MODEL"],
    "trace": ["MODEL"],
    "view": ["MODEL"],
}


def model_with(value: float, count: int = 4) -> Model:
    x = build.parameter([count], "f32", name="x")
    return build.model([build.add(x, build.constant(np.full(count, value, np.float32)), name="y")], [x])


def _archive(*names: str) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, b"member")
    return content.getvalue()


def _arrays(save: Callable[..., None]) -> bytes:
    content = BytesIO()
    save(content, np.arange(3.0))
    return content.getvalue()


CONTENTS = {
    "IR": ("m.xml", b'<?xml version="1.0"?>\n<net name="n" version="11"><layers/><edges/></net>'),
    "xml": ("pom.xml", b"<!-- a comment -->\n<project><modules/></project>"),
    "junit": ("tests.xml", b'<?xml version="1.0"?><testsuites tests="1"/>'),
    "weights": ("orphan.bin", bytes(range(64))),
    "ONNX": ("m.onnx", bytes.fromhex("080a12076972") + b"_exec" + bytes(20)),
    "ONNX data": ("m.onnx.data", bytes(64)),
    "onnx_data": ("m.onnx_data", bytes(64)),
    "tensor": ("onnx__MatMul_12", np.arange(9, dtype=np.float32).tobytes()),
    "safetensors": ("m.safetensors", struct.pack("<Q", 2) + b"{}" + bytes(9)),
    "npz": ("x.npz", _arrays(np.savez)),
    "npy": ("x.npy", _arrays(np.save)),
    "gguf": ("m.gguf", b"GGUF" + bytes(20)),
    "hdf5": ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(20)),
    "torch": ("m.pt", _archive("m/data.pkl", "m/data/0")),
    "pickle": ("m.pkl", b"\x80\x04K\x01."),
    "tflite": ("m.tflite", b"\x1c\0\0\0TFL3" + bytes(20)),
    "zip": ("x.zip", _archive("notes.txt")),
    "bundle": ("b.zip", _archive("bundle.json", "model.xml")),
    "baseline": ("baseline.json", b'{"format": 1, "findings": []}'),
    "toml": ("ir-exec.toml", b'[severity]\nunknown-attribute = "error"\n'),
    "trace": ("index.json", b'{"format": 1, "values": []}'),
    "config": ("config.json", b'{"model_type": "llama"}'),
    "source": ("extension.py", b"import numpy\n"),
    "pointer": ("large.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"),
    "text": ("notes.txt", b"0 errors, 0 warnings\n"),
    "html": ("page.html", b"<!doctype html><html></html>"),
    "json": ("report.json", b'{"format": 1, "layers": []}'),
    "csv": ("layers.csv", b"layer,seconds\n"),
}
"""Existing files: a name and the content for each format."""


BY_CONTENT = {"IR", "ONNX", "safetensors", "npz", "npy", "gguf", "hdf5", "torch", "pickle", "tflite", "zip", "bundle"}
"""The formats that are recognized under each name."""


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main)
    assert isinstance(main, click.Group)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield name, command


def outputs() -> list[tuple[str, str]]:
    return [
        (name, parameter.opts[-1])
        for name, command in commands()
        for parameter in command.params
        if isinstance(parameter.type, OutputPath)
    ]


def sources() -> list[tuple[str, str, str]]:
    """Each output of a command with each option that names a file to read."""
    return [
        (name, option, parameter.opts[-1])
        for name, option in outputs()
        for parameter in dict(commands())[name].params
        if isinstance(parameter, click.Option)
        and isinstance(parameter.type, click.Path)
        and not isinstance(parameter.type, OutputPath)
        and (option, parameter.opts[-1]) != ("--write-baseline", "--baseline")
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llm").mkdir()
    (tmp_path / "models").mkdir()
    model_with(1.0).save(tmp_path / "models" / "model.xml")
    model_with(2.0).save(tmp_path / "models" / "other.xml")
    return tmp_path


def arguments_of(command: str, folder: Path) -> list[str]:
    models = folder / "models"
    named = {"MODEL": models / "model.xml", "OTHER": models / "other.xml", "FOLDER": folder / "llm"}
    return [command, *(str(named.get(text, text)) for text in ARGUMENTS[command])]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def state_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_writing_options_are_outputs() -> None:
    assert set(outputs()) == set(OUTPUTS)
    assert {name for name, _ in outputs()} == set(ARGUMENTS)
    for name, command in commands():
        options = [param for param in command.params if isinstance(param, click.Option)]
        writing = {option.opts[-1] for option in options if (option.help or "").startswith("Write ") and option.metavar}
        assert writing <= {option for owner, option in OUTPUTS if owner == name}, name
        has_outputs = any(owner == name for owner, _ in OUTPUTS)
        assert has_outputs == any("--force" in option.opts for option in options), name


@pytest.mark.parametrize(("command", "option"), sorted(OUTPUTS))
def test_files_of_other_formats_are_refused(folder: Path, command: str, option: str) -> None:
    default, replaceable = OUTPUTS[command, option]
    for format, (name, content) in CONTENTS.items():
        if format in replaceable:
            continue
        for path in (folder / name, folder / default) if format in BY_CONTENT else (folder / name,):
            if command == "convert" and path.suffix == ".onnx" and format in ("ONNX", "pointer"):
                continue  # it also writes ONNX models
            path.write_bytes(content)
            before = state_of(folder)
            result = run(*arguments_of(command, folder), option, path)
            assert result.exit_code == 2, (format, path.name, result.output)
            assert path.name in result.stderr, (format, path.name)
            assert state_of(folder) == before, (format, path.name)
            path.unlink()


CHEAP = [output for output in sorted(OUTPUTS) if output[0] not in ("conformance", "generate", "quantize-report")]
"""The outputs of commands that run without OpenVINO, a language model or a quantized model."""


@pytest.mark.parametrize(("command", "option"), CHEAP)
def test_files_of_the_same_format_are_replaced(folder: Path, command: str, option: str) -> None:
    default, replaceable = OUTPUTS[command, option]
    path = folder / default
    first = run(*arguments_of(command, folder), option, path)
    assert first.exit_code in (0, 1), first.output
    written = state_of(folder)
    again = run(*arguments_of(command, folder), option, path)
    assert again.exit_code == first.exit_code, again.output
    assert set(state_of(folder)) == set(written)
    for format in replaceable - {"IR"}:
        path.write_bytes(CONTENTS[format][1])
        assert run(*arguments_of(command, folder), option, path).exit_code == first.exit_code, format
        assert path.read_bytes() != CONTENTS[format][1]


@pytest.mark.parametrize(("command", "option"), [pair for pair in CHEAP if pair[0] != "trace"])
def test_links_and_modes_are_kept(folder: Path, command: str, option: str) -> None:
    default = OUTPUTS[command, option][0]
    assert run(*arguments_of(command, folder), option, folder / default).exit_code in (0, 1)
    (folder / "real").mkdir()
    targets = [folder / "real" / path.name for path in folder.glob(f"{Path(default).stem}.*")]
    for target in targets:
        shutil.move(target.parent.with_name(target.name), target)
        target.parent.with_name(target.name).symlink_to(target)
        target.chmod(0o600)
    before = {target: target.stat().st_ino for target in targets}
    assert run(*arguments_of(command, folder), option, folder / default).exit_code in (0, 1)
    assert targets
    for target in targets:
        assert target.parent.with_name(target.name).is_symlink()
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert target.stat().st_ino != before[target]
    assert sorted(folder.joinpath("real").iterdir()) == sorted(targets)


@pytest.mark.parametrize(("command", "option"), [pair for pair in CHEAP if pair[0] != "trace"])
def test_force_replaces_files_of_other_formats(folder: Path, command: str, option: str) -> None:
    path = folder / OUTPUTS[command, option][0]
    path.write_bytes(CONTENTS["gguf"][1])
    result = run(*arguments_of(command, folder), option, path, "--force")
    assert result.exit_code in (0, 1), result.output
    assert not path.read_bytes().startswith(b"GGUF")


@pytest.mark.parametrize("spelling", ["same", "detour", "link", "hard link"])
@pytest.mark.parametrize(("command", "option", "source"), sources())
def test_writing_to_the_input_file_is_refused(
    folder: Path, command: str, option: str, source: str, spelling: str
) -> None:
    """Each file is named by an option that reads, and by one that writes; --force makes no difference."""
    default = OUTPUTS[command, option][0]
    path = folder / f"read{Path(default).suffix or '.txt'}"
    path.write_bytes(CONTENTS["text"][1])
    target = path
    if spelling == "detour":
        target = folder / "models" / ".." / path.name
    elif spelling != "same":
        target = folder / f"link{path.suffix}"
        (os.symlink if spelling == "link" else os.link)(path, target)
    before = state_of(folder)
    result = run(*arguments_of(command, folder), source, path, option, target, "--force")
    assert result.exit_code == 2, result.output
    assert state_of(folder) == before


@pytest.mark.parametrize(("command", "option"), sorted(OUTPUTS))
def test_the_model_and_its_weights_are_refused(folder: Path, command: str, option: str) -> None:
    (folder / "link.xml").symlink_to(folder / "models" / "model.xml")
    (folder / "link.bin").symlink_to(folder / "models" / "model.bin")
    targets = ["models/model.xml", "models/model.bin", "models/../models/model.xml", "link.xml", "link.bin"]
    before = state_of(folder)
    for target in targets:
        if command == "conformance" and option == "--output":
            continue  # it reads no model; formats are tested above
        for force in ([], ["--force"]):
            if force and command in ("conformance", "generate"):
                continue  # these read no model
            result = run(*arguments_of(command, folder), option, folder / target, *force)
            assert result.exit_code == 2, (target, result.output)
            assert state_of(folder) == before, target


@pytest.mark.parametrize("command", ["convert", "edit", "extract", "reduce"])
def test_weights_read_by_model_are_not_replaced(folder: Path, command: str) -> None:
    """The .bin next to the output is the weights file of the input, or belongs to no model."""
    models = folder / "models"
    shutil.copy(models / "other.xml", folder / "mine.xml")
    (folder / "mine.bin").symlink_to(models / "model.bin")
    (folder / "orphan.bin").write_bytes(bytes(16))
    before = state_of(folder)
    for name in ("mine.xml", "orphan.xml"):
        result = run(*arguments_of(command, folder), "-o", folder / name)
        assert result.exit_code == 2, result.output
        assert state_of(folder) == before


@pytest.mark.parametrize("command", ["convert", "edit", "extract", "reduce"])
def test_a_link_to_the_weights_of_another_model(folder: Path, command: str) -> None:
    """The output is a model whose .bin is that of a third model, which would lose it."""
    model_with(3.0).save(folder / "third.xml")
    (folder / "sub").mkdir()
    shutil.copy(folder / "third.xml", folder / "sub" / "out.xml")
    (folder / "sub" / "out.bin").symlink_to(folder / "third.bin")
    before = state_of(folder)
    result = run(*arguments_of(command, folder), "-o", folder / "sub" / "out.xml")
    assert result.exit_code == 2, result.output
    assert state_of(folder) == before


def test_weights_passed_as_option_are_not_replaced(folder: Path) -> None:
    models = folder / "models"
    shutil.copy(models / "model.xml", folder / "out.xml")
    shutil.copy(models / "model.bin", folder / "out.bin")
    before = state_of(folder)
    for command in ("edit", "extract"):
        options = arguments_of(command, folder)
        result = run(*options, "--weights", folder / "out.bin", "-o", folder / "out.xml", *["--force"])
        assert result.exit_code == 2, result.output
    assert state_of(folder) == before


def test_arrays_and_images_of_named_inputs_are_refused(folder: Path) -> None:
    np.savez(folder / "x.npz", x=np.ones(4, np.float32))
    np.save(folder / "x.npy", np.ones(4, np.float32))
    model = folder / "models" / "model.xml"
    before = state_of(folder)
    for options in (
        ["--inputs", "x.npz", "-o", "x.npz"],
        ["--inputs", folder / "x.npz", "-o", "./x.npz"],
        ["--input", "x=x.npy", "-o", "x.npy", "--force"],
        ["--input", "x.npy", "-o", "x.npy", "--force"],
        ["--expected", "x.npz", "-o", "x.npz"],
    ):
        result = run("run", model, *options)
        assert result.exit_code == 2, (options, result.output)
        assert state_of(folder) == before
    extracted = run("extract", model, "--to", "y", "--inputs", "x.inputs.npz", "-o", "x.xml")
    assert extracted.exit_code == 2
    shutil.copy("x.npz", "cut.inputs.npz")
    before = state_of(folder)
    result = run("extract", model, "--to", "y", "--inputs", "cut.inputs.npz", "-o", "cut.xml")
    assert result.exit_code == 2
    assert state_of(folder) == before


def test_files_in_commands_and_expressions_are_refused(folder: Path) -> None:
    model, other = folder / "models" / "model.xml", folder / "models" / "other.xml"
    before = state_of(folder)
    until = f"false {{model}} {other}"
    assert run("reduce", model, "--until", until, "-o", other).exit_code == 2
    assert run("bundle", model, "--report", other, "-o", other, "--force").exit_code == 2
    assert run("view", model, "--beside", other, "-o", other, "--force").exit_code == 2
    assert run("compare", model, f"onnx-reference:{other}", "-o", other, "--force").exit_code == 2
    assert state_of(folder) == before


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_models_by_other_names_are_refused(folder: Path, scheme: str) -> None:
    """The ending of a path may be missing, and a URL may name a local file."""
    models = folder / "models"
    name = f"{scheme}{models / 'model'}{'.xml' if scheme else ''}"
    before = state_of(folder)
    for command, ending in (("edit", "xml"), ("run", "xml"), ("run", "bin"), ("check", "xml")):
        for force in ([], ["--force"]):
            assert run(command, name, "-o", models / f"model.{ending}", *force).exit_code == 2
            assert state_of(folder) == before


def test_settings_and_their_baseline_are_refused(folder: Path) -> None:
    (folder / "known.json").write_bytes(CONTENTS["baseline"][1])
    (folder / "ir-exec.toml").write_text('baseline = "known.json"\n')
    model = folder / "models" / "model.xml"
    before = state_of(folder)
    for target in ("known.json", "ir-exec.toml"):
        assert run("check", model, "-o", target, "--force").exit_code == 2
        assert state_of(folder) == before
    assert run("check", model, "--write-baseline", "known.json").exit_code == 0
    assert run("check", model, "--baseline", "known.json", "--write-baseline", "known.json").exit_code == 0


@pytest.mark.parametrize(("command", "option"), [("run", "-o"), ("diff", "-o"), ("check", "-o"), ("edit", "-o")])
def test_extensions_of_settings_are_refused(folder: Path, command: str, option: str) -> None:
    (folder / "operators.py").write_text("NAME = 1\n")
    (folder / "ir-exec.toml").write_text('extensions = ["operators.py"]\n')
    os.symlink("operators.py", "link.xml")
    os.symlink("ir-exec.toml", "settings.xml")
    before = state_of(folder)
    for target in ("operators.py", "ir-exec.toml", "link.xml", "settings.xml"):
        assert run(*arguments_of(command, folder), option, target, "--force").exit_code == 2
        assert state_of(folder) == before


def test_external_data_of_onnx_files_is_refused(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model_with(1.5, 2**12).save(folder / "models" / "large.xml")
    assert run("convert", folder / "models" / "large.xml", "-o", "a.onnx", "--external-data").exit_code == 0
    proto = onnx.load("a.onnx", load_external_data=False)
    shutil.move("a.onnx.data", "weights.bin")
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            entry.value = "weights.bin" if entry.key == "location" else entry.value
    (folder / "a.onnx").write_bytes(proto.SerializeToString())
    # An IR model of this name would have its weights there.
    shutil.copy(folder / "models" / "model.xml", "weights.xml")
    os.symlink("weights.bin", "report")
    before = state_of(folder)
    for options in (["convert", "a.onnx", "-o", "weights.xml"], ["check", "a.onnx", "-o", "report"]):
        for force in ([], ["--force"]):
            result = run(*options, *force)
            assert result.exit_code == 2, result.output
            assert state_of(folder) == before
    assert run("run", "a.onnx").exit_code == 0


def test_conversion_keeps_foreign_external_data(folder: Path) -> None:
    pytest.importorskip("onnx")
    model_with(1.5, 2**12).save(folder / "models" / "large.xml")
    assert run("convert", folder / "models" / "large.xml", "-o", "a.onnx", "--external-data").exit_code == 0
    shutil.copy("a.onnx", "b.onnx")
    before = state_of(folder)
    for force in ([], ["--force"]):
        result = run("convert", "b.onnx", "-o", "a.onnx", "--external-data", *force)
        assert result.exit_code == 2, result.output
        assert state_of(folder) == before


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_folders_containing_inputs_are_refused(folder: Path, force: list[str]) -> None:
    model = folder / "models" / "model.xml"
    assert run("trace", model, "-o", "values").exit_code == 0
    value = next(Path("values").glob("*x*.npy"))
    np.savez(folder / "x.npz", x=np.ones((2, 4), np.float32))
    before = state_of(folder)
    assert run("trace", model, "--input", f"x={value}", "-o", "values", *force).exit_code == 2
    assert state_of(folder) == before
    Path("items").mkdir()
    np.savez("items/a.npz", x=np.ones(4, np.float32))
    assert run("run", model, "--inputs", "items", "-o", "outputs").exit_code == 0
    shutil.copy("items/a.npz", "outputs/a.npz")
    before = state_of(folder)
    for inputs, output in (("outputs", "outputs"), ("outputs/*.npz", "outputs"), ("items/*.npz", "items")):
        assert run("run", model, "--inputs", inputs, "-o", output, *force).exit_code == 2
        assert state_of(folder) == before


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_files_in_an_input_folder_are_refused(folder: Path, force: list[str]) -> None:
    model = folder / "models" / "model.xml"
    assert run("trace", model, "-o", "values").exit_code == 0
    for name in ("config", "toml", "npz", "safetensors"):
        (folder / "models" / CONTENTS[name][0]).write_bytes(CONTENTS[name][1])
    value = next(Path("values").glob("*.npy"))
    before = state_of(folder)
    for path in [*Path("models").iterdir()]:
        assert run("check", "models", "-o", path, *force).exit_code == 2
        assert state_of(folder) == before
    for path in ("values/index.json", value):
        assert run("compare", model, "--with", "values", "-o", path, *force).exit_code == 2
        assert state_of(folder) == before
    # An earlier report in the folder is not read.
    for _ in range(2):
        assert run("check", "models", "-o", "models/report.txt").exit_code == 0


def test_two_outputs_in_one_file_are_refused(folder: Path) -> None:
    model = folder / "models" / "model.xml"
    assert run("profile", model, "-o", "a.json", "--trace-events", "./a.json").exit_code == 2
    assert not Path("a.json").exists()
    assert run("profile", model, "--repeat", 1, "-o", "/dev/null", "--trace-events", "/dev/null").exit_code == 0


def test_the_name_behind_a_link_counts(folder: Path) -> None:
    (folder / "raw.bin").write_bytes(bytes(range(32)))
    (folder / "blob").write_bytes(bytes(range(32)))
    model = folder / "models" / "model.xml"
    for target in ("raw.bin", "blob"):
        for command, name in (("run", "out.npz"), ("check", "out.txt"), ("convert", "out.bin")):
            os.symlink(target, name)
            before = state_of(folder)
            assert run(command, model, "-o", name.replace(".bin", ".xml")).exit_code == 2
            assert state_of(folder) == before
            os.unlink(name)


def test_the_default_page_is_an_output(folder: Path) -> None:
    model = folder / "models" / "model.xml"
    assert run("view", model).exit_code == 0
    assert run("view", model).exit_code == 0
    shutil.move("model.html", "page.html")
    os.symlink(model, "model.html")
    before = state_of(folder)
    assert run("view", model).exit_code == 2
    assert state_of(folder) == before


def test_junit_report_may_be_replaced(folder: Path) -> None:
    model = folder / "models" / "model.xml"
    for _ in range(2):
        assert run("check", model, "--format", "junit", "-o", "junit.xml").exit_code == 0
    before = state_of(folder)
    assert run("check", model, "-o", "junit.xml").exit_code == 2
    assert run("check", model, "--format", "junit", "-o", "models/other.xml").exit_code == 2
    assert state_of(folder) == before


def test_empty_files_are_replaced(folder: Path) -> None:
    """Scripts create the file for an output, as `mktemp` does."""
    Path("out.npz").touch()
    assert run("run", folder / "models" / "model.xml", "-o", "out.npz").exit_code == 0
    with np.load("out.npz") as arrays:
        assert arrays.files == ["y"]


@pytest.mark.parametrize("state", ["read-only", "hard link", "folder", "no folder"])
@pytest.mark.parametrize(("command", "option"), [output for output in sorted(OUTPUTS) if OUTPUTS[output][1]])
def test_unwritable_path_is_refused_early(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str, state: str
) -> None:
    default, replaceable = OUTPUTS[command, option]
    path = folder / "place" / default
    if state != "no folder":
        path.parent.mkdir()
    if state in ("read-only", "hard link"):
        (format,) = sorted(replaceable)[:1]
        path.write_bytes(CONTENTS[format][1])
    if state == "read-only":
        path.chmod(0o444)
    elif state == "hard link":
        os.link(path, path.with_name("other"))
    elif state == "folder":
        path.mkdir()

    def start(*arguments: Any, **options: Any) -> None:
        raise AssertionError("the command has started")

    before = state_of(folder)
    chosen = dict(commands())[command]
    monkeypatch.setattr(chosen, "callback", start)
    result = run(*arguments_of(command, folder), option, path)
    assert result.exit_code == 2, result.output
    assert path.name in result.stderr
    assert state_of(folder) == before
