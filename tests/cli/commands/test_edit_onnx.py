"""`ir-exec edit`, `extract` and `diff` of ONNX files that stay ONNX."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, save

from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.onnx.files import external, model, write_model

TEXT = """g (float[1,4] x, float[1,4] z) => (float[1,4] y) <float[4] w = {1, 2, 3, 4}>
{ a = Relu(x) b = Mul(a, w) c = Add(b, z) y = Elu<alpha = 0.5>(c) }"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_model(tmp_path, model(TEXT))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def edit(path: Path, *options: object, output: str = "out.onnx") -> Result:
    return run("edit", path, "-o", path.with_name(output), *options)


def test_all_edits_at_once(path: Path) -> None:
    np.save(path.with_name("w.npy"), np.full(4, 2, np.float32))
    options = ["--insert", "a=Add(1.5)", "--replace", 'c=Sub("z")', "--remove", "y", "--rename", "x=image"]
    options += ["--set-constant", f"w={path.with_name('w.npy')}", "--output-of", "b", "--batch", "N", "--strip"]
    result = edit(path, *options)
    assert result.exit_code == 0, result.output
    proto = onnx.load(path.with_name("out.onnx"))
    assert [node.op_type for node in proto.graph.node] == ["Relu", "Add", "Mul", "Sub"]
    assert [port.name for port in (*proto.graph.input, *proto.graph.output)] == ["image", "z", "y", "b"]
    x, z = np.array([[-1, 0, 1, 2]], np.float32), np.ones((1, 4), np.float32)
    from onnx.reference import ReferenceEvaluator

    outputs = ReferenceEvaluator(proto).run(None, {"image": x, "z": z})
    np.testing.assert_array_equal(outputs[1], (np.maximum(x, 0) + 1.5) * 2)
    np.testing.assert_array_equal(outputs[0], outputs[1] - z)


def test_attributes_types_and_shapes(path: Path) -> None:
    options = ("--set-attribute", "y.alpha=2", "--shape", "x[batch,4],z[batch,4]")
    assert edit(path, *options).exit_code == 0
    proto = onnx.load(path.with_name("out.onnx"))
    assert proto.graph.node[3].attribute[0].f == 2
    assert proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_external_data_out_and_in(path: Path) -> None:
    proto = onnx.load(path)
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones((300, 4), np.float32), "w"))
    path = write_model(path.parent, proto, "large.onnx")
    assert edit(path, "--external-data", "out").exit_code == 0
    assert path.with_name("out.onnx.data").stat().st_size == 4800
    out = path.with_name("out.onnx")
    assert run("edit", out, "-o", path.with_name("in.onnx"), "--external-data", "in").exit_code == 0
    tensor = onnx.load(path.with_name("in.onnx"), load_external_data=False).graph.initializer[0]
    assert tensor.raw_data == np.ones((300, 4), np.float32).tobytes()


def test_output_may_still_be_ir(path: Path) -> None:
    assert edit(path, "--rename", "x=image", output="out.xml").exit_code == 0
    assert path.with_name("out.xml").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rename", "zz=q"), mentions("IR705", "zz")),
        (("--remove", "cc"), mentions("IR705", "cc")),
        (("--set-attribute", "y.alfa=1"), mentions("IR303", "Elu", "alfa", "alpha")),
        (("--insert", "a=Reluu"), mentions("IR126", "Reluu", 17)),
        (("--shape", "x[1,5]"), mentions("IR504", 5, 4)),
        (("--shape", "x[1,2..4]"), mentions("IR704", "2..4")),
        (("--batch", "?"), mentions("--batch", "?")),
        (("--weights", "int8"), mentions("--weights", ".xml")),
    ],
)
def test_impossible_edits_write_nothing(options: tuple[str, ...], words: mentions, path: Path) -> None:
    result = edit(path, *options)
    assert result.exit_code == 2, result.output
    assert words in result.stderr.splitlines()
    assert [entry.name for entry in path.parent.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("option", [("--batch", "2"), ("--strip",), ("--external-data", "in")])
def test_options_of_onnx_require_it(option: tuple[str, ...], path: Path) -> None:
    assert edit(path, *option, output="out.xml").exit_code == 2


def test_data_outside_the_folder_are_refused(path: Path) -> None:
    proto = onnx.load(path)
    proto.graph.initializer[0].CopyFrom(external(np.ones(4, np.float32), "w", location="../w.bin"))
    result = edit(write_model(path.parent, proto), "--rename", "x=image")
    assert result.exit_code == 2
    assert mentions("IR201", "../w.bin") in result.stderr.splitlines()


def test_source_is_not_replaced(path: Path) -> None:
    before = path.read_bytes()
    assert edit(path, "--rename", "x=image", output="model.onnx").exit_code == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("options", [("--from", "a"), ("--to", "b"), ("--from", "a", "--to", "c")])
def test_extract_with_values(options: tuple[str, ...], path: Path) -> None:
    result = run("extract", path, *options, "-o", path.with_name("cut.onnx"), "--seed", "3")
    assert result.exit_code == 0, result.output
    from onnx.reference import ReferenceEvaluator

    proto = onnx.load(path.with_name("cut.onnx"))
    originals = {node.SerializeToString() for node in model(TEXT).graph.node}
    assert {node.SerializeToString() for node in proto.graph.node} < originals
    inputs, expected = (dict(np.load(path.with_name(f"cut.{end}.npz"))) for end in ("inputs", "outputs"))
    actual = ReferenceEvaluator(proto).run(list(expected), inputs)
    for array, name in zip(actual, expected, strict=True):
        np.testing.assert_allclose(array, expected[name], rtol=1e-6)


def test_extract_of_a_file_with_unknown_operators(tmp_path: Path) -> None:
    text = "g (float[2] x) => (float[2] y) { a = Relu(x) b = Gone(a) y = Neg(b) }"
    path = write_model(tmp_path, model(text))
    assert run("extract", path, "--to", "a", "-o", tmp_path / "cut.onnx").exit_code == 0
    assert run("extract", path, "--to", "b", "-o", tmp_path / "cut2.onnx").exit_code == 0
    assert run("extract", path, "--from", "b", "-o", tmp_path / "cut3.onnx").exit_code == 2


def test_ir_does_not_become_onnx(path: Path) -> None:
    edit(path, "--rename", "x=image", output="out.xml")
    for command in (("edit",), ("extract", "--to", "a")):
        result = run(command[0], path.with_name("out.xml"), *command[1:], "-o", path.with_name("new.onnx"))
        assert result.exit_code == 2
    assert not path.with_name("new.onnx").exists()


def test_diff_and_textconv(path: Path) -> None:
    edit(path, "--set-attribute", "y.alpha=2")
    result = run("diff", path, path.with_name("out.onnx"))
    assert result.exit_code == 1
    assert mentions("attribute alpha", 0.5, 2) in result.output.splitlines()
    assert run("diff", path, path).exit_code == 0
    assert run("diff", "--textconv", path).output.splitlines()
    page = run("diff", path, path.with_name("out.onnx"), "--format", "html").output
    assert page.startswith("<")
    path.with_name("cut.onnx").write_bytes(path.read_bytes()[:-60])
    assert run("diff", path, path.with_name("cut.onnx")).exit_code == 1
    assert run("diff", path, path.with_name("missing.onnx")).exit_code == 2


def test_bundle_of_sequences_stays_onnx(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("SequenceConstruct", ["x", "x"], ["y"])], "pair", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "pair.onnx")
    assert run("bundle", tmp_path / "pair.onnx", "-o", tmp_path / "bundle.zip").exit_code == 0
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        assert "model.onnx" in archive.namelist()
        pair = onnx.SequenceProto.FromString(archive.read("test_data_set_0/output_0.pb"))
    assert [array.shape for array in onnx.numpy_helper.to_list(pair)] == [(2,), (2,)]
    assert run("bundle", "--run", tmp_path / "bundle.zip").exit_code == 0


def test_bundle_is_test_data_of_onnx(path: Path, tmp_path: Path) -> None:
    result = run("bundle", path, "-o", tmp_path / "bundle.zip", "--seed", "1")
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked"
    assert (folder / "model.onnx").read_bytes() == path.read_bytes()
    data = folder / "test_data_set_0"
    assert sorted(file.name for file in data.iterdir()) == ["input_0.pb", "input_1.pb", "output_0.pb"]
    arrays = {file.stem: onnx.TensorProto.FromString(file.read_bytes()) for file in data.iterdir()}
    assert [arrays[name].name for name in ("input_0", "input_1", "output_0")] == ["x", "z", "y"]
    x, z, expected = (onnx.numpy_helper.to_array(arrays[name]) for name in ("input_0", "input_1", "output_0"))
    from onnx.reference import ReferenceEvaluator

    (actual,) = ReferenceEvaluator(str(folder / "model.onnx")).run(None, {"x": x, "z": z})
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert run("bundle", "--run", tmp_path / "bundle.zip").exit_code == 0


FAILS = "import onnx, sys; sys.exit(4 * ('Mul' in [n.op_type for n in onnx.load(sys.argv[1]).graph.node]))"


@pytest.mark.parametrize("with_inputs", [True, False])
def test_reduce_to_the_smallest_file(with_inputs: bool, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    path.with_name("fails.py").write_text(FAILS)
    command = f"{sys.executable} fails.py {{model}}" + (" {inputs}" if with_inputs else "")
    result = run("reduce", path, "--until", command)
    assert result.exit_code == 0, result.output
    proto = onnx.load(path.with_name("reduced.onnx"))
    assert [node.SerializeToString() for node in proto.graph.node] == [model(TEXT).graph.node[1].SerializeToString()]
    assert path.with_name("reduced.inputs.npz").exists() == with_inputs
    onnx.checker.check_model(proto)


def test_reduce_of_what_does_not_fail(path: Path) -> None:
    path.with_name("fine.py").write_text("")
    result = run("reduce", path, "--until", f"{sys.executable} {path.with_name('fine.py')} {{model}}")
    assert result.exit_code == 2


def test_profile_lists_nodes_of_onnx_files(tmp_path: Path) -> None:
    text = "g (float[64,64] x) => (float[64,64] y) { c = Neg(x) a = Gemm(x, x, c) y = Relu(a) }"
    path = write_model(tmp_path, model(text))
    result = run("profile", path, "--repeat", "1")
    assert result.exit_code == 0, result.output
    assert mentions("a", "Gemm") in result.output.splitlines()
    assert mentions("y", "Relu") in result.output.splitlines()
    by_layer = run("profile", path, "--repeat", "1", "--by", "layer").output.splitlines()
    assert mentions("y", "ReLU") in by_layer


def test_trace_lists_nodes_of_onnx_files(tmp_path: Path) -> None:
    text = "g (float[4,4] x) => (float[4,4] y) { c = Neg(x) a = Gemm(x, x, c) y = Relu(a) }"
    path = write_model(tmp_path, model(text))
    lines = run("trace", path, "-o", tmp_path / "values").output.splitlines()
    assert mentions("a", "Gemm") in lines
    assert not [line for line in lines if "WithoutBiases" in line]
    complete = run("trace", path, "-o", tmp_path / "all", "--all").output.splitlines()
    assert mentions("a/WithoutBiases", "MatMul") in complete
