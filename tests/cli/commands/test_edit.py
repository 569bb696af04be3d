"""`ir-exec edit`: the options of the command line, and the model that it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import ir_exec
from ir_exec import build
from ir_exec.cli import main
from ir_exec.graph.compressed import CompressedWeight, find_compressed_weights
from ir_exec.graph.decoding import decode_weight
from tests.helpers.facts import mentions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    x = build.parameter("?,3", name="x")
    doubled = build.multiply(x, build.constant(np.float32(2), name="a.b=two"), name="dou.ble")
    model = build.model(build.result(build.softmax(doubled, axis=1, name="soft"), name="y"))
    model.save(tmp_path / "model.xml")
    return tmp_path / "model.xml"


def edit(path: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["edit", str(path), "-o", str(path.with_name("out.xml")), *options])


def edit_model(path: Path, *options: str) -> ir_exec.Model:
    result = edit(path, *options)
    assert result.exit_code == 0, result.output
    return ir_exec.read_model(path.with_name("out.xml"))


def test_all_edits_at_once(path: Path) -> None:
    array = path.with_name("three.npy")
    np.save(array, np.array([3, 3, 3], np.float32))
    model = edit_model(
        path,
        *("--rename", "x=image", "--rename", "y=scores", "--shape", "x[4,3]", "--set-attribute", "soft.axis=0"),
        *("--set-constant", f"a.b=two={array}", "--output-of", "dou.ble"),
    )
    assert [str(port) for port in (*model.inputs, *model.outputs)] == [
        "image f32[4,3]",
        "scores f32[4,3]",
        "dou.ble f32[4,3]",
    ]
    outputs = list(ir_exec.compile_model(model)({"image": np.ones((4, 3), np.float32)}).values())
    assert outputs[0].tolist() == [[0.25] * 3] * 4
    assert outputs[1].tolist() == [[3] * 3] * 4


@pytest.mark.parametrize(
    ("text", "expected"), [("4", [4.0]), ("[5]", [5.0]), ("1,0.5,2", [1.0, 0.5, 2.0]), ("1e1", [10.0])]
)
def test_constants_of_numbers(path: Path, text: str, expected: list[float]) -> None:
    model = edit_model(path, "--set-constant", f"a.b=two={text}", "--output-of", "dou.ble", "--remove", "soft")
    output = list(ir_exec.compile_model(model)({0: np.ones((1, 3), np.float32)}).values())[-1]
    assert output.tolist() == [np.broadcast_to(expected, 3).tolist()]


ROW = np.array([[1, 2, 3]], np.float32)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--replace", "soft=Clamp(min=0, max=5)"], [2, 4, 5]),
        (["--replace", "dou.ble=Add", "--replace", "soft=Relu"], [3, 4, 5]),
        (["--replace", "dou.ble=Negative", "--remove", "soft"], [-1, -2, -3]),
        (["--replace", "dou.ble=Power(3.0)", "--remove", "soft"], [1, 8, 27]),
        (["--replace", "soft=ReduceMax([1], keep_dims=true)"], [6]),
        (["--replace", "soft=LogSoftmax", "--insert", "y=Exp", "--insert", "y=ReduceSum(1)"], [1]),
        (["--replace", "soft=Sqrt", "--set-constant", "a.b=two=4"], [2, np.sqrt(8), np.sqrt(12)]),
        (["--insert", "dou.ble=Subtract([1, 2, 3])", "--remove", "soft"], [1, 2, 3]),
        (["--insert", "dou.ble=Concat('x', axis=1)", "--remove", "soft"], [2, 4, 6, 1, 2, 3]),
        (["--insert", "dou.ble=Add('ones.npy')", "--remove", "soft"], [3, 5, 7]),
        (["--insert", "a.b=two=Convert(destination_type=f32)", "--remove", "soft"], [2, 4, 6]),
        (["--insert", "dou.ble=Gather([2, 0], 1)", "--remove", "soft"], [6, 2]),
    ],
)
def test_layers_are_told(
    path: Path, options: list[str], expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    np.save("ones.npy", np.ones(3, np.float32))
    model = edit_model(path, *options)
    assert model.outputs[0].name == "y"
    assert ir_exec.check_model(path.with_name("out.xml")).ok
    output = ir_exec.compile_model(model)([ROW])[0]
    np.testing.assert_allclose(output.ravel(), expected, rtol=1e-6)


def test_replacing_layer_keeps_name_and_common_attributes(path: Path) -> None:
    model = edit_model(path, "--set-attribute", "soft.axis=0", "--replace", "soft=LogSoftmax")
    (layer,) = (layer for layer in model.document.layers if layer.type == "LogSoftmax")
    assert (layer.name, layer.data["axis"]) == ("soft", "0")


def test_layers_inside_of_bodies(path: Path) -> None:
    x = build.parameter([2], name="x")
    (y,) = build.loop(3, None, lambda i, sum: (None, [build.add(sum, 1.0, name="plus")], []), carried=[x], name="loop")
    build.model(build.result(y, name="y")).save(path)
    model = edit_model(path, "--replace", "loop/body/plus=Multiply", "--insert", "loop/body/plus=Subtract('x')")
    output = ir_exec.compile_model(model)([np.array([1, 2], np.float32)])[0]
    assert output.tolist() == [-2, -4]


def test_replaced_element_types_and_files(path: Path) -> None:
    x = build.parameter([2], name="x")
    build.model(build.result(build.relu(x), name="y")).save(path)
    out = path.with_name("out.xml")
    for element_type in ("f16", "f64"):
        result = CliRunner().invoke(main, ["edit", str(path), "-o", str(out), "--type", f"x={element_type}"])
        assert result.exit_code == 0, result.output
        assert str(ir_exec.read_model(out).outputs[0]) == f"y {element_type}[2]"
    assert CliRunner().invoke(main, ["edit", str(path), "-o", str(path), "--type", "x=f16"]).exit_code == 2
    assert str(ir_exec.read_model(path).outputs[0]) == "y f32[2]"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rename", "x"], mentions("--rename", "x", "NAME=VALUE")),
        (["--rename", "z=w"], mentions("z")),
        (["--set-attribute", "axis=1"], mentions("--set-attribute", "axis", "LAYER.NAME=VALUE")),
        (["--set-attribute", "soft.axes=1"], mentions("SoftMax", "axes", "axis")),
        (["--set-attribute", "soft.axis=7"], mentions("axis", 7)),
        (["--set-constant", "a.b=two=two"], mentions("two")),
        (["--set-constant", "a.b=two=missing.npy"], mentions("missing.npy")),
        (["--set-constant", "soft=1"], mentions("soft", "SoftMax")),
        (["--shape", "z[1]"], mentions("z")),
        (["--type", "x=f17"], mentions("f17")),
        (["--remove", "x"], mentions("x")),
        (["--insert", "dou.ble"], mentions("NAME=TYPE")),
        (["--insert", "dou.ble=Add("], mentions("NAME=TYPE")),
        (["--insert", "dou.ble=Add(1 2)"], mentions("[lists]")),
        (["--insert", "dou.ble=Add(**{})"], mentions("[lists]")),
        (["--insert", "dou.ble=Add(__import__('os'))"], mentions("[lists]")),
        (["--insert", "dou.ble=Add({1: 2})"], mentions("[lists]")),
        (["--insert", "dou.ble=Add(" + "[" * 500 + "]" * 500 + ")"], mentions("[lists]")),
        (["--insert", "dou.ble=Adder"], mentions("Adder")),
        (["--insert", "dou.ble=Add('z')"], mentions("z")),
        (["--insert", "dou.ble=Add('z.npy')"], mentions("z.npy")),
        (["--insert", "dou.ble=TopK(1, axis=1, mode=max, sort=none)"], mentions(2)),
        (["--replace", "soft=Clamp(min=0)"], mentions("max")),
        (["--replace", "soft=Clamp(min=0, max=1, least=3)"], mentions("least")),
        (["--replace", "z=Clamp(min=0, max=1)"], mentions("z")),
        (["--replace", "soft=Softmax(axis=1, opset=77)"], mentions("opset77")),
    ],
)
def test_what_cannot_be(path: Path, options: list[str], told: mentions) -> None:
    result = edit(path, *options)
    assert result.exit_code == 2
    assert told in result.stderr.splitlines()
    assert "Traceback" not in result.stderr
    assert not path.with_name("out.xml").exists()


def test_only_xml_is_written(path: Path) -> None:
    result = CliRunner().invoke(main, ["edit", str(path), "-o", "out.bin"])
    assert result.exit_code == 2
    assert result.stderr == mentions(".xml")


def linear(path: Path) -> np.ndarray:
    """Write a model of a product, and return its weight."""
    weight = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    x = build.parameter([None, 64], "f32", name="x")
    model = build.model(build.result(build.matmul(x, build.constant(weight, name="w"), transpose_b=True), name="y"))
    model.save(path)
    return weight


def weight_of(model: ir_exec.Model) -> CompressedWeight:
    (weight,) = find_compressed_weights(model.graph).values()
    return weight


def test_weights_in_a_format(path: Path) -> None:
    weight = linear(path)
    model = edit_model(path, "--weights", "int4_sym", "--group-size", "16")
    compressed = weight_of(model)
    assert model.weights is not None
    assert (compressed.format(model.weights), compressed.group_size, compressed.codes.name) == ("int4_sym", 16, "w")
    assert np.abs(decode_weight(compressed, model.weights) - weight).max() < 0.5
    np.savez(path.with_name("in.npz"), x=np.float32([[*range(64)]]))
    errors = []
    for options in (("--inputs", str(path.with_name("in.npz"))), ()):
        model = edit_model(path, "--weights", "int4_sym", *options)
        assert model.weights is not None
        error = decode_weight(weight_of(model), model.weights) - weight
        errors.append((error**2 * np.arange(64) ** 2).sum())
    assert errors[0] < errors[1]


def test_weights_in_formats_of_a_file(path: Path) -> None:
    linear(path)
    mixed = path.with_name("mixed.json")
    mixed.write_text('{"layers": {"w*": "nf4"}, "group_size": 32}')
    compressed = weight_of(edit_model(path, "--weights", str(mixed)))
    assert (compressed.element_type.name, compressed.group_size) == ("nf4", 32)
    for text in ("{", "[]", '{"group": 3}', '{"ratio": true}', '{"layers": {"w": 4}}', '{"layers": {"q": "int8"}}'):
        mixed.write_text(text)
        assert edit(path, "--weights", str(mixed)).exit_code == 2


def test_weights_of_a_file_and_a_format(path: Path) -> None:
    linear(path)
    path.with_suffix(".bin").rename(path.with_name("other.bin"))
    model = edit_model(path, "--weights", str(path.with_name("other.bin")), "--weights", "int8")
    assert weight_of(model).element_type.name == "u8"


@pytest.mark.parametrize(
    "options",
    [
        ("--weights", "int7"),
        ("--weights", "int4", "--weights", "int8"),
        ("--weights", "int4", "--group-size", "7"),
        ("--group-size", "8"),
        ("--ratio", "0.5"),
        ("--weights", "int4", "--inputs", "nothing.npz"),
    ],
)
def test_weights_that_cannot_be_compressed(path: Path, options: tuple[str, ...]) -> None:
    linear(path)
    result = edit(path, *options)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) <= 3


def test_a_network_without_weights(path: Path) -> None:
    result = edit(path, "--weights", "int8")
    assert result.exit_code == 2
    assert not path.with_name("out.xml").exists()
