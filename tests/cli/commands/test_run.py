"""`ir-exec run`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema
import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner, Result

import ir_exec
from ir_exec import build
from ir_exec.cli import main, process
from ir_exec.cli.arrays import statistics
from ir_exec.cli.output.run_text import printed_top, printed_values
from ir_exec.debug.inputs.roles import draw
from ir_exec.debug.traces.run_report import output_of
from ir_exec.kernels import limits
from ir_exec.model import ModelPort
from ir_exec.runtime import CompiledModel, weight_modes
from ir_exec.types import ALL, ElementType, Shape
from tests.helpers.facts import mentions
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"
BAD = Path(__file__).parents[2] / "bad"
SCHEMA = Path(__file__).parents[3] / "schemas" / "run.schema.json"
GNN = NETWORKS / "gnn_gcn_gat.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, arguments)])


def rows(result: Result, title: str) -> list[list[str]]:
    """The cells of the table under a title."""
    lines = result.stdout.splitlines()
    start = lines.index(title)
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [line.split() for line in lines[start + 3 : end]]


@pytest.fixture
def sum_file(tmp_path: Path) -> Path:
    """out = x + y, with dims that are not known."""
    return write(tmp_path, adding("f32", (-1, 3)))


def write(folder: Path, text: bytes) -> Path:
    path = folder / "network.xml"
    path.write_bytes(text)
    return path


def adding(element_type: str, dims: tuple[int, ...]) -> bytes:
    ports = [port(0, element_type, dims), port(1, element_type, dims)]
    add = layer(2, "Add", name="sum", inputs=ports, outputs=[port(2, element_type, dims, "out")])
    layers = [
        parameter(0, element_type, dims, "x"),
        parameter(1, element_type, dims, "y"),
        add,
        result(3, element_type, dims),
    ]
    return net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)])


class TestOutputs:
    @pytest.fixture
    def input_options(self, tmp_path: Path) -> list[str]:
        x = np.array([[1, 3, -np.inf], [4, 4, np.nan]], np.float32)
        np.savez(tmp_path / "inputs.npz", x=x, y=np.zeros((1, 3), np.float32))
        return ["--inputs", str(tmp_path / "inputs.npz")]

    def test_their_elements(self, sum_file: Path, input_options: list[str]) -> None:
        lines = run(sum_file, *input_options, "--print", "values").stdout.splitlines()
        start = lines.index("out f32[2,3]")
        printed = " ".join(lines[start + 1 : start + 3])
        assert [float(text) for text in re.findall(r"-?[\d.]+|-inf|nan", printed)][:5] == [1, 3, -np.inf, 4, 4]

    def test_the_largest_with_labels(self, sum_file: Path, input_options: list[str], tmp_path: Path) -> None:
        (tmp_path / "labels.txt").write_text("cat\ndog\nsnake\n\n", "utf-8")
        result = run(sum_file, *input_options, "--print", "top5", "--labels", tmp_path / "labels.txt")
        assert rows(result, "out f32[2,3]") == [
            ["[0]", "1", "3", "dog"],
            ["0", "1", "cat"],
            ["2", "-inf", "snake"],
            ["[1]", "0", "4", "cat"],
            ["1", "4", "dog"],
            ["2", "nan", "snake"],
        ]
        (tmp_path / "labels.txt").write_text("cat\n", "utf-8")
        assert run(sum_file, *input_options, "--print", "top5", "--labels", tmp_path / "labels.txt").exit_code == 2
        assert run(sum_file, *input_options, "--print", "top5", "--labels", tmp_path / "none.txt").exit_code == 2

    def test_as_json(self, sum_file: Path, input_options: list[str], tmp_path: Path) -> None:
        result = run(sum_file, *input_options, "--format", "json", "--print", "top5", "--repeat", "4", "--warmup", "1")
        report = json.loads(result.stdout)
        jsonschema.validate(report, json.loads(SCHEMA.read_text("utf-8")))
        assert [(entry["name"], entry["shape"], entry["origin"], entry["seed"]) for entry in report["inputs"]] == [
            ("x", [2, 3], "given", None),
            ("y", [1, 3], "given", None),
        ]
        (out,) = report["outputs"]
        assert (out["name"], out["element_type"], out["shape"]) == ("out", "f32", [2, 3])
        assert out["values"] == [[1, 3, "-Infinity"], [4, 4, "NaN"]]
        assert [[entry["index"] for entry in row] for row in out["top"]] == [[1, 0, 2], [0, 1, 2]]
        assert (out["facts"]["max"], out["facts"]["nans"], out["facts"]["infinities"]) == (4, 1, 1)
        assert (report["times"]["runs"], report["times"]["warmup"]) == (3, 1)
        times = [report["times"][f"{name}_ms"] for name in ("min", "p50", "p90", "p99")]
        assert times == sorted(times)
        assert report["as_expected"] is None

    def test_expected_values_in_json(self, sum_file: Path, input_options: list[str], tmp_path: Path) -> None:
        for value, is_expected in ((7, False), (1, True)):
            np.savez(tmp_path / "expected.npz", out=np.array([[value, 3, -np.inf], [4, 4, np.nan]], np.float32))
            result = run(sum_file, *input_options, "--format", "json", "--expected", tmp_path / "expected.npz")
            report = json.loads(result.stdout)
            assert (result.exit_code == 0, report["as_expected"]) == (is_expected, is_expected)
            assert (report["outputs"][0]["differs"] == "") == is_expected

    def test_large_ones_are_not_in_json_unasked(self, sum_file: Path) -> None:
        arguments = (sum_file, "--shape", "x[50,3]", "--format", "json")
        assert json.loads(run(*arguments).stdout)["outputs"][0]["values"] is None
        values = json.loads(run(*arguments, "--print", "values").stdout)["outputs"][0]["values"]
        assert np.array(values).shape == (50, 3)

    @pytest.mark.parametrize(
        "element_type", ["boolean", "i4", "u1", "nf4", "bf16", "f8e4m3", "string", "u64", "f64", "i8"]
    )
    def test_every_type_in_json(self, element_type: str) -> None:
        array = np.zeros((2, 2), ElementType[element_type].dtype)
        if element_type == "string":
            array[:] = "a"
        shown = output_of("x", array, has_values=True, most=5)
        assert shown.element_type == element_type
        assert np.shape(shown.values) == (2, 2)
        assert json.loads(shown.model_dump_json())["values"] is not None
        assert list(printed_values({"x": array}))
        assert list(printed_top({"x": array}, []))

    def test_the_schema(self) -> None:
        printed = CliRunner().invoke(main, ["schema", "run"]).stdout
        assert printed == SCHEMA.read_text("utf-8"), "run: ir-exec schema run > schemas/run.schema.json"


class TestInputs:
    def test_missing_inputs_are_drawn(self, sum_file: Path) -> None:
        first, again, other = run(sum_file), run(sum_file), run(sum_file, "--seed", "7")
        assert first.exit_code == 0, first.output
        assert rows(first, "Inputs") == [
            ["x", "f32", "[8,3]", "drawn", "with", "seed", "0:", "normal"],
            ["y", "f32", "[8,3]", "drawn", "with", "seed", "0:", "normal"],
        ]
        assert rows(first, "Outputs") == rows(again, "Outputs")
        assert rows(first, "Outputs") != rows(other, "Outputs")

    def test_uninformative_draws_are_repeated(self, tmp_path: Path) -> None:
        x = build.parameter("2,8", "f32", name="x")
        square = build.multiply(x, x)
        build.model(build.sqrt(build.subtract(np.float32(1), square))).save(tmp_path / "root.xml")
        result = run(tmp_path / "root.xml")
        assert result.exit_code == 0, result.output
        assert rows(result, "Outputs")[0][-1] == "0"
        assert "drawn 2 times: output" in result.stderr

    def test_nan_after_every_draw_is_said(self, tmp_path: Path) -> None:
        x = build.parameter("2,8", "f32", name="x")
        build.model(build.result(build.multiply(x, np.float32(np.nan)), name="y")).save(tmp_path / "nan.xml")
        result = run(tmp_path / "nan.xml")
        assert result.exit_code == 0, result.output
        assert rows(result, "Outputs")[0][-1] == "16"
        assert "output 'y' is NaN" in result.stderr.splitlines()[-1]

    def test_their_shape(self, sum_file: Path) -> None:
        result = run(sum_file, "--shape", "x=5,3", "--shape", "y=[1,3]")
        assert rows(result, "Outputs")[0][:3] == ["out", "f32", "[5,3]"]

    def test_of_a_data_set_of_onnx(self, sum_file: Path, tmp_path: Path) -> None:
        numpy_helper = pytest.importorskip("onnx.numpy_helper", reason="onnx is not installed")
        folder = tmp_path / "test_data_set_0"
        folder.mkdir()
        x, y = np.array([[1, 2, 4]], np.float32), np.array([[0, 0, 8]], np.float32)
        # One tensor has the name of its input, the other has none.
        for name, array, stem in (("y", y, "input_0"), ("", y, "input_1"), ("", x, "input_0"), ("", x + y, "output_0")):
            (folder / f"{stem}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        result = run(sum_file, "--inputs", folder, "--expected", folder)
        assert result.exit_code == 0, result.output
        assert rows(result, "Outputs")[0][3:6] == ["1", "12", "5"]
        (folder / "output_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
        assert run(sum_file, "--inputs", folder, "--expected", folder).exit_code == 1
        assert run(sum_file, "--inputs", folder, "--expected", folder / "output_0.pb").exit_code == 1
        alone = run(sum_file, "--input", f"x={folder / 'input_0.pb'}", "--input", f"y={folder / 'input_1.pb'}")
        assert rows(alone, "Outputs") == rows(result, "Outputs")
        (folder / "input_2.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
        assert run(sum_file, "--inputs", folder).exit_code == 2

    def test_of_images(self, tmp_path: Path) -> None:
        images = pytest.importorskip("PIL.Image", reason="pillow is not installed")
        path = write(tmp_path, net([parameter(0, "f32", (1, 3, 2, 2), "x"), result(1)], [(0, 0, 1, 0)]))
        for level in (100, 200):
            images.new("RGB", (5, 4), (level, level, level)).save(tmp_path / f"{level}.png")
        single = run(path, "--input", f"x={tmp_path / '100.png'}", "--mean", "50", "--scale", "2,2,2")
        assert rows(single, "Outputs")[0][3:6] == ["25", "25", "25"]
        assert run(path, "--inputs", tmp_path / "100.png").exit_code == 0
        many = run(path, "--inputs", tmp_path / "*.png", "--scale", "10", "--output", tmp_path / "out")
        assert many.exit_code == 0, many.output
        assert [float(np.load(tmp_path / f"out/{level}.npz")["x"].max()) for level in (100, 200)] == [10, 20]
        assert run(path, "--mean", "50").exit_code == 2
        assert run(path, "--input", f"x={tmp_path / '100.png'}", "--scale", "0").exit_code == 2

    def test_of_text_and_raw_bytes(self, sum_file: Path, tmp_path: Path) -> None:
        (tmp_path / "x.txt").write_text("1 2 4\n", "utf-8")
        path = write(tmp_path, adding("f32", (1, 3)))
        np.array([[0, 0, 8]], np.float32).tofile(tmp_path / "y.bin")
        result = run(path, "--input", f"x={tmp_path / 'x.txt'}", "--input", f"y={tmp_path / 'y.bin'}")
        assert rows(result, "Outputs")[0][3:6] == ["1", "12", "5"]

    def test_arrays_of_objects_are_not_read(self, sum_file: Path, tmp_path: Path) -> None:
        np.savez(tmp_path / "x.npz", x=np.array([[1, 2, 3]], object))
        result = run(sum_file, "--inputs", tmp_path / "x.npz")
        assert result.exit_code == 2
        assert "allow_pickle" not in result.stderr
        assert "astype" in result.stderr
        (tmp_path / "x.npz").write_bytes(b"no archive")
        result = run(sum_file, "--inputs", tmp_path / "x.npz")
        assert result.exit_code == 2
        assert "astype" not in result.stderr
        (tmp_path / "x.txt").write_text("1 2 3", "utf-8")
        assert "--input NAME" in run(sum_file, "--inputs", tmp_path / "x.txt").stderr

    def test_from_files(self, sum_file: Path, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.array([[1, 2, 4]], np.float32))
        np.save(tmp_path / "y.npy", np.array([[0, 0, np.nan]], np.float32))
        result = run(sum_file, "--input", f"x={tmp_path / 'x.npy'}", "--input", f"y={tmp_path / 'y.npy'}")
        assert rows(result, "Inputs") == [["x", "f32", "[1,3]", "given"], ["y", "f32", "[1,3]", "given"]]
        assert rows(result, "Outputs") == [["out", "f32", "[1,3]", "1", "2", "1.5", "1"]]

    def test_by_number_and_of_the_only_input(self, sum_file: Path, tmp_path: Path) -> None:
        np.save(tmp_path / "x=1.npy", np.array([[1, 2, 4]], np.float32))
        array = str(tmp_path / "x=1.npy")
        result = run(sum_file, "--input", f"in1={array}", "--input", f"x={array}", "--shape", "in0[1,3]")
        assert (result.exit_code, result.stderr) == (2, mentions("x"))
        result = run(sum_file, "--input", f"in1={array}", "--input", f"in0={array}")
        assert rows(result, "Outputs") == [["out", "f32", "[1,3]", "2", "8", "4.66667", "0"]]
        # One array for two inputs, and no name.
        assert run(sum_file, "--input", array).exit_code == 2
        lstm = NETWORKS / "lstm.xml"
        np.save(tmp_path / "only.npy", np.ones((1, 3, 24), np.float32))
        shown = run(lstm, "--input", tmp_path / "only.npy")
        assert [row[-1] for row in rows(shown, "Inputs")] == ["given"]
        assert run(lstm, "--input", f"X={tmp_path / 'only.npy'}").exit_code == 2

    @pytest.mark.parametrize("keys", [("x", "y"), ("in0", "in1")])
    def test_from_one_archive(self, keys: tuple[str, str], sum_file: Path, tmp_path: Path) -> None:
        arrays = dict(zip(keys, (np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)), strict=True))
        np.savez(tmp_path / "in.npz", **arrays)  # type: ignore[arg-type]  # the stub names a keyword of its own
        result = run(sum_file, "--inputs", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[-1] == mentions(tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as written:
            assert written.files == ["out"]
            np.testing.assert_array_equal(written["out"], np.full((2, 3), 3, np.float32))

    @pytest.mark.parametrize("stored", ["f32", "bytes"])
    def test_element_types_that_files_cannot_hold(self, stored: str, tmp_path: Path) -> None:
        path = write(tmp_path, adding("bf16", (2,)))
        array = np.array([1.5, -2], np.float32)
        np.save(tmp_path / "x.npy", array if stored == "f32" else array.astype(ml_dtypes.bfloat16))
        argument = f"={tmp_path / 'x.npy'}"
        result = run(path, "--input", "x" + argument, "--input", "y" + argument, "--output", tmp_path / "out.npz")
        assert rows(result, "Outputs") == [["out", "bf16", "[2]", "-4", "3", "-0.5", "0"]]
        with np.load(tmp_path / "out.npz") as written:
            assert written["out"].tolist() == [3, -4]
            assert written["out"].dtype == np.float32

    @pytest.mark.parametrize(
        ("option", "least"), [((), "0.5"), (("--precision", "f32"), "0.5"), (("--precision", "file"), "0")]
    )
    def test_precision(self, option: tuple[str, ...], least: str, tmp_path: Path) -> None:
        """x + 2048 - 2048, in f32 and in f16."""
        net = NetworkText()
        large = net.const(np.array(2048, np.float16))
        net.result(net.op("Subtract", net.op("Add", net.parameter("1", "f16"), large), large))
        file = net.file()
        (tmp_path / "net.xml").write_bytes(file.xml)
        (tmp_path / "net.bin").write_bytes(file.weights)
        np.save(tmp_path / "x.npy", np.array([0.5], np.float16))
        result = run(tmp_path / "net.xml", "--input", f"parameter1={tmp_path / 'x.npy'}", *option)
        assert result.exit_code == 0, result.output
        assert rows(result, "Outputs")[0][1:4] == ["f16", "[1]", least]

    @pytest.mark.parametrize("element_type", sorted(ALL, key=str))
    def test_every_element_type_can_be_drawn(self, element_type: ElementType) -> None:
        drawn = draw(
            ModelPort("x", frozenset("x"), element_type, Shape([50, None, (3, 4)])), None, np.random.default_rng(0)
        )
        assert ElementType.of(drawn) is element_type
        assert drawn.shape == (50, 1, 3)
        assert len(set(map(str, drawn.ravel().tolist()))) > 1

    def test_real_networks(self) -> None:
        result = run(GNN, "--inputs", GNN.with_name("gnn_gcn_gat.inputs.npz"))
        assert result.exit_code == 0, result.output
        with np.load(GNN.with_name("gnn_gcn_gat.outputs.npz")) as expected:
            means = [float(expected[f"out{i}"].mean()) for i in range(len(expected.files))]
        assert [float(row[5]) for row in rows(result, "Outputs")] == pytest.approx(means, abs=1e-4)


class TestErrors:
    def test_unknown_operator_has_extension_hint(self) -> None:
        result = CliRunner().invoke(main, ["run", str(BAD / "IR902-extension-operator.xml")])
        assert result.exit_code == 1
        assert result.stderr == mentions("IR901", "MyOp", "my_extension", "--extension", "register_op")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--input", "z=a.npy"], mentions("z", "x", "y")),
            (["--input", "x"], mentions("NAME=VALUE")),
            (["--input", "x=no/such.npy"], mentions("no/such.npy")),
            (["--input", f"x={GNN}"], mentions(GNN)),
            (["--inputs", "no/such.npz"], mentions("no/such.npz")),
            (["--shape", "x=1,two"], mentions("two")),
            (["--shape", "q=1"], mentions("q", "x", "y")),
            (["--max-seconds", "0"], mentions("--max-seconds", "0.0")),
            (["--max-seconds", "-1"], mentions("--max-seconds", "-1.0")),
            (["--max-seconds", "nan"], mentions("--max-seconds", "nan")),
            (["--max-seconds", "inf"], mentions("--max-seconds", "inf")),
            (["--rtol", "nan"], mentions("--rtol", "nan")),
            (["--atol", "inf"], mentions("--atol", "inf")),
            (["--seed", "-1"], mentions("--seed")),
            (["--precision", "f16"], mentions("f16", "f32", "file")),
            (["--output", "no/such/folder/out.npz"], mentions("no/such/folder/out.npz")),
        ],
    )
    def test_arguments_that_cannot_be_used(self, arguments: list[str], words: mentions, sum_file: Path) -> None:
        result = run(sum_file, *arguments)
        assert result.exit_code == 2
        assert words in result.stderr.splitlines()
        assert "Traceback" not in result.stderr

    def test_wrong_archives(self, sum_file: Path, tmp_path: Path) -> None:
        np.savez(tmp_path / "in.npz", q=np.ones(3))
        assert mentions("q") in run(sum_file, "--inputs", tmp_path / "in.npz").stderr.splitlines()
        assert run(sum_file, "--input", f"x={tmp_path / 'in.npz'}").stderr == mentions(tmp_path / "in.npz")
        np.save(tmp_path / "in.npy", np.ones(3))
        assert run(sum_file, "--inputs", tmp_path / "in.npy").stderr == mentions(f"--input NAME={tmp_path / 'in.npy'}")
        np.save(tmp_path / "pickled.npy", np.array([{}], object), allow_pickle=True)
        assert run(sum_file, "--input", f"x={tmp_path / 'pickled.npy'}").stderr == mentions(tmp_path / "pickled.npy")

    def test_inputs_that_do_not_fit(self, sum_file: Path, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.ones((2, 5), np.float32))
        result = run(sum_file, "--input", f"x={tmp_path / 'x.npy'}")
        assert result.exit_code == 1
        assert result.stderr == mentions("error[IR506 input-array-shape]", "x", "[2,5]", "[?,3]")

    def test_failed_run_names_its_layer(self, sum_file: Path) -> None:
        result = run(sum_file, "--shape", "x=2,3", "--shape", "y=5,3")
        assert result.exit_code == 1
        assert "error[IR504 no-broadcast]" in result.stderr
        assert 'layer 2 "sum" (Add)' in result.stderr
        assert mentions("--input", "--shape") in result.stderr.splitlines()

    def test_a_run_that_takes_too_long(self, sum_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert run(sum_file, "--max-seconds", "1000").exit_code == 0
        clock = count(0, 100)
        monkeypatch.setattr(limits, "monotonic", lambda: next(clock))
        result = run(sum_file, "--max-seconds", "50")
        assert result.exit_code == 1
        assert "error[IR006 limit-exceeded]" in result.stderr
        assert mentions(50) in result.stderr.splitlines()

    def test_a_broken_file(self) -> None:
        path = BAD / "IR107-cycle.xml"
        result = run(path)
        assert result.exit_code == 1
        assert result.stdout == ""
        assert result.stderr.count("error[") == 1
        assert mentions(f"ir-exec check {path}") in result.stderr.splitlines()

    def test_missing_operators(self) -> None:
        result = run(BAD / "IR902-extension-operator.xml")
        assert result.exit_code == 1
        assert "error[IR901 operator-not-implemented]" in result.stderr
        assert "MyOp (my_extension): 1 layer" in result.stderr

    def test_a_file_that_does_not_exist(self) -> None:
        result = run("no/such.xml")
        assert result.exit_code == 2
        assert mentions("error[IR001 unreadable-path]") in result.stderr.splitlines()
        assert "ir-exec check" not in result.stderr

    def test_an_unknown_rank_needs_a_shape(self, tmp_path: Path) -> None:
        text = adding("f32", (2,)).replace(b'shape="2"', b'shape="..."')
        path = write(tmp_path, text.replace(b"<dim>2</dim>", b""))
        assert mentions("--shape x=...") in run(path).stderr.splitlines()
        assert run(path, "--shape", "x=2", "--shape", "y=2,1").exit_code == 0

    def test_inputs_beyond_all_memory(self, sum_file: Path) -> None:
        result = run(sum_file, "--shape", "x=1000000000000000,3")
        assert result.exit_code == 1
        assert "error[IR006 limit-exceeded]" in result.stderr

    def test_a_fault_of_ours_is_one_message(self, sum_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*args: object, **keywords: object) -> None:
            raise KeyError("oops")

        monkeypatch.setattr("ir_exec.cli.commands.run.compile_model", broken)
        result = run(sum_file)
        assert result.exit_code == 1
        assert mentions("ir_exec", "KeyError", "oops") in result.stderr.splitlines()
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([1, 2, 4], np.int64), ("1", "4", "2.33333", "-")),
        (np.array([True, False]), ("false", "true", "0.5", "-")),
        (np.array([np.nan, 1, np.inf], np.float32), ("1", "inf", "inf", "1")),
        (np.array([np.nan, np.nan], np.float64), ("-", "-", "-", "2")),
        (np.array([65504, 65504], np.float16), ("65504", "65504", "65504", "0")),
        (np.array([1, -1], ml_dtypes.bfloat16), ("-1", "1", "0", "0")),
        (np.array([7, -8], ml_dtypes.int4), ("-8", "7", "-0.5", "-")),
        (np.array([2**63 - 1], np.int64), ("9223372036854775807", "9223372036854775807", "9.22337e+18", "-")),
        (np.empty((0, 3), np.float32), ("-", "-", "-", "-")),
        (np.array(["a"], object), ("-", "-", "-", "-")),
    ],
)
def test_statistics(array: Any, expected: tuple[str, str, str, str]) -> None:
    facts = statistics(array)
    assert (facts.lowest, facts.highest, facts.mean, facts.nans) == expected


def test_as_a_program_of_its_own() -> None:
    """In a pipe no line is cut and nothing is colored."""
    code = "from ir_exec.cli import main; main()"
    command = [sys.executable, "-c", code, "inspect", str(GNN), "--layers"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "…" not in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) > 80
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ir-exec, version ")


class LibC:
    """A C library that notes how its allocator is set."""

    def __init__(self) -> None:
        self.settings: list[tuple[int, int]] = []

    def mallopt(self, parameter: int, value: int) -> None:
        self.settings.append((parameter, value))


@pytest.fixture
def libc(monkeypatch: pytest.MonkeyPatch) -> LibC:
    libc = LibC()
    monkeypatch.setattr("ctypes.CDLL", lambda name: libc)
    for variable in process.ALLOCATOR_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return libc


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems have a C library to set")
def test_only_the_command_sets_the_allocator(libc: LibC, sum_file: Path) -> None:
    ir_exec.compile_model(sum_file)
    assert libc.settings == []
    assert run(sum_file).exit_code == 0
    assert [parameter for parameter, _ in libc.settings] == [-4, -1]


def test_settings_of_the_user_stay(libc: LibC, sum_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert run(sum_file).exit_code == 0
    assert libc.settings == []


@pytest.mark.parametrize(
    ("options", "expands"),
    [
        ((), False),
        (("--repeat", "2"), True),
        (("--weight-mode", "expand"), True),
        (("--repeat", "2", "--weight-mode", "keep"), False),
    ],
)
def test_weights_stay_compressed_in_a_single_run(
    options: tuple[str, ...], expands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of 64 MiB is lowered: models below it are expanded in a single run, too."""
    modes: list[bool] = []
    initialize = CompiledModel.__init__

    def record(self: CompiledModel, *arguments: Any, **how: Any) -> None:
        modes.append(how["expand_weights"])
        initialize(self, *arguments, **how)

    monkeypatch.setattr(CompiledModel, "__init__", record)
    x = build.parameter([1, 64], "f32", name="x")
    build.model(build.matmul(x, build.convert(np.ones((64, 32), np.float16), "f32"))).save(tmp_path / "f16.xml")
    assert run(tmp_path / "f16.xml").exit_code == 0
    monkeypatch.setattr(weight_modes, "EXPANDED_IN_ONE_RUN", 1000)
    assert run(tmp_path / "f16.xml", *options).exit_code == 0
    assert modes == [True, expands]
