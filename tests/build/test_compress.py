"""Models with compressed weights: layout, layers that are chosen, and what OpenVINO reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build, read_model
from ir_exec.build.compress import Compression, compress_weights, plain_weights
from ir_exec.build.weight_formats import FORMATS
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.graph.compressed import find_compressed_weights
from ir_exec.graph.decoding import decode_weight
from ir_exec.model import Model

FILES = Path(__file__).parents[1] / "quantization" / "nncf"
RANDOM = np.random.default_rng(0)


def weight(name: str, *shape: int) -> build.Value:
    return build.constant(RANDOM.standard_normal(shape).astype(np.float32), name=name)


def language_model() -> Model:
    """An embedding, three products, and a last one that reads the embedding."""
    tokens = build.parameter([1, None], "i64", name="tokens")
    table = weight("table", 50, 32)
    hidden = build.gather(table, tokens, 0)
    for number in range(3):
        hidden = build.relu(
            build.matmul(hidden, weight(f"w{number}", 32, 32), transpose_b=True, name=f"product{number}")
        )
    return build.model(build.result(build.matmul(hidden, table, transpose_b=True, name="head"), name="logits"))


@pytest.mark.parametrize("element_type", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", [*FORMATS, "int8", "int4", "f16"])
def test_every_format_of_every_float(name: str, element_type: str) -> None:
    x = build.parameter([2, 32], element_type, name="x")
    rows, grouped = (RANDOM.standard_normal((32, 32)).astype(np.float32) for _ in range(2))
    first = build.matmul(x, build.constant(rows, element_type, name="w0"), transpose_b=True)
    last = build.matmul(first, build.constant(grouped, element_type, name="w1"), transpose_b=True)
    model = build.model(build.result(last, name="y"), [x])
    changed, stored = compress_weights(model, Compression(name, 16, all_layers=True))
    layers = [node.name for node in changed.graph.nodes]
    assert len(set(layers)) == len(layers)
    if name != "f16":
        assert [weight.name for weight in stored if weight.format != "keep"] == ["w0", "w1"]
        assert {node.type for node in changed.graph.nodes if node.name in ("w0", "w1")} == {"Const"}
    data = RANDOM.standard_normal((2, 32)).astype(x.element_type.dtype)
    outputs = [next(iter(ir_exec.compile_model(network)([data]).values())) for network in (model, changed)]
    expected, actual = (output.astype(np.float64) for output in outputs)
    assert np.abs(actual - expected).max() < 0.5 * np.abs(expected).max()


def image_model() -> Model:
    x = build.parameter([1, 3, 8, 8], "f32", name="x")
    pads = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    hidden = build.convolution(x, weight("filter", 8, 3, 3, 3), **pads)
    hidden = build.group_convolution(hidden, weight("grouped", 4, 2, 2, 3, 3), **pads)
    pooled = build.reduce_mean(hidden, [2, 3])
    return build.model(build.result(build.matmul(pooled, weight("dense", 8, 5)), name="y"))


def test_the_weights_of_a_model() -> None:
    axes_by_name = {weight.name: (weight.axes, weight.port) for weight in plain_weights(language_model())}
    assert axes_by_name == {"table": ((1,), 0), "w0": ((1,), 1), "w1": ((1,), 1), "w2": ((1,), 1)}
    axes_by_name = {weight.name: (weight.axes, weight.port) for weight in plain_weights(image_model())}
    assert axes_by_name == {"filter": ((1, 2, 3), 1), "grouped": ((2, 3, 4), 1), "dense": ((0,), 1)}


@pytest.mark.parametrize("name", FORMATS)
def test_layout_equals_nncf(name: str) -> None:
    plain = read_model(FILES / "plain.xml")
    model, (stored,) = compress_weights(plain, Compression(name, 16 if name == "nvfp4" else 32, all_layers=True))
    theirs = read_model(FILES / f"{name}.xml")
    (ours,), (other,) = (find_compressed_weights(weight.graph).values() for weight in (model, theirs))
    assert [node.type for node in ours.nodes] == [node.type for node in other.nodes]
    named = [node.name for node in other.nodes if not node.name.startswith(("Convert_", "Reshape_", "Constant_"))]
    assert [node.name for node in ours.nodes if node.name in named] == named
    assert [str(node.outputs[0].declared) for node in ours.nodes] == [
        str(node.outputs[0].declared) for node in other.nodes
    ]
    assert (stored.bytes, ours.stored_bytes) == (other.stored_bytes, other.stored_bytes)
    assert model.weights is not None
    assert theirs.weights is not None
    noises = [
        float(((decode_weight(weight, weights) - plain.constants["proj/weight"]) ** 2).sum())
        for weight, weights in ((ours, model.weights), (other, theirs.weights))
    ]
    assert noises[0] == pytest.approx(noises[1], rel=0.05)


SCRIPT = """
import sys
import numpy as np
import openvino

core = openvino.Core()
model = core.read_model(sys.argv[1])
with np.load(sys.argv[2]) as inputs:
    found = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([inputs["x"]])
np.savez(sys.argv[3], **{f"out{n}": one for n, one in enumerate(found.values())})
"""


@pytest.mark.parametrize("name", [*FORMATS, "f16"])
def test_openvino_expands_the_same_bits(name: str, tmp_path: Path) -> None:
    plain = read_model(FILES / "plain.xml")
    model, _ = compress_weights(plain, Compression(name, 32, all_layers=True))
    value = plain.graph.results[0].values_in[0].node.name
    reader = next(node for node in model.graph.nodes if node.name == value)
    weight_name = reader.values_in[1].node.name
    model = build.Editor(model).add_output(weight_name).model()
    model.save(tmp_path / "model.xml")
    x = RANDOM.standard_normal((2, 64)).astype(np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    paths = [str(tmp_path / name) for name in ("model.xml", "in.npz", "out.npz")]
    subprocess.run([sys.executable, "-c", SCRIPT, *paths], check=True, timeout=120)
    ours = list(ir_exec.compile_model(read_model(tmp_path / "model.xml"))([x]).values())
    with np.load(paths[2]) as theirs:
        np.testing.assert_array_equal(ours[1], theirs["out1"])
        np.testing.assert_allclose(ours[0], theirs["out0"], rtol=1e-3, atol=1e-2)


def formats(model: Model, compression: Compression) -> dict[str, tuple[str, int | None]]:
    changed, stored = compress_weights(model, compression)
    assert changed.current_document().rt_info.value("ir_exec", "weight_compression", "backup_mode") == "int8_asym"
    return {weight.name: (weight.format, weight.group_size) for weight in stored}


def test_formats_of_four_bits_leave_the_ends_in_eight() -> None:
    model = language_model()
    assert formats(model, Compression("int4", 16)) == {
        "table": ("int8_asym", None),
        "w0": ("int4_asym", 16),
        "w1": ("int4_asym", 16),
        "w2": ("int4_asym", 16),
    }
    every = formats(model, Compression("int4_sym", 16, all_layers=True))
    assert set(every.values()) == {("int4_sym", 16)}
    formats_by_name = formats(image_model(), Compression("int4", -1))
    assert formats_by_name == {
        "filter": ("int8_asym", None),
        "grouped": ("int8_asym", None),
        "dense": ("int4_asym", None),
    }


def test_the_ratio_keeps_the_most_sensitive_in_eight_bits() -> None:
    model = language_model()
    editor = build.Editor(model)
    for name in ("w0", "w2"):
        # Signs have no error in four bits.
        editor.set_constant(name, np.sign(model.constants[name]))
    model = editor.model()
    formats_by_name = formats(model, Compression("int4", 16, ratio=0.7))
    assert {name for name, entry in formats_by_name.items() if entry[0] == "int8_asym"} == {"table", "w1"}
    assert {name for name, entry in formats_by_name.items() if entry[0] == "int4_asym"} == {"w0", "w2"}


def test_formats_by_names() -> None:
    formats_by_name = formats(language_model(), Compression("keep", 16, layers={"w0": "nf4", "w*": "int8_sym"}))
    assert formats_by_name == {
        "table": ("keep", None),
        "w0": ("nf4", 16),
        "w1": ("int8_sym", None),
        "w2": ("int8_sym", None),
    }


def test_the_model_computes_nearly_the_same() -> None:
    for model, inputs in (
        (language_model(), np.arange(7)[None]),
        (image_model(), RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)),
    ):
        changed, _ = compress_weights(model, Compression("int8"))
        (expected,), (actual,) = (
            list(ir_exec.compile_model(network)([inputs]).values()) for network in (model, changed)
        )
        assert 0 < np.abs(actual - expected).max() < 0.05 * np.abs(expected).max()


def transposed_model() -> Model:
    x = build.parameter([1, 4, 8, 8], "f32", name="x")
    pads = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    hidden = build.convolution_backprop_data(x, weight("transposed", 4, 6, 3, 3), **pads)
    hidden = build.group_convolution_backprop_data(hidden, weight("groups", 2, 3, 5, 3, 3), **pads)
    offsets = np.zeros((1, 18, 8, 8), np.float32)
    hidden = build.deformable_convolution(hidden, offsets, weight("deformed", 7, 10, 3, 3), **pads)
    return build.model(build.result(hidden, name="y"))


def test_filters_of_transposed_and_deformable_convolutions() -> None:
    model, inputs = transposed_model(), RANDOM.standard_normal((1, 4, 8, 8)).astype(np.float32)
    axes = {plain.name: plain.axes for plain in plain_weights(model)}
    assert axes == {"transposed": (0, 2, 3), "groups": (1, 3, 4), "deformed": (1, 2, 3)}
    changed, stored = compress_weights(model, Compression("int8"))
    assert {row.name for row in stored if row.format != "keep"} == axes.keys()
    (expected,), (actual,) = (list(ir_exec.compile_model(network)([inputs]).values()) for network in (model, changed))
    assert 0 < np.abs(actual - expected).max() < 0.05 * np.abs(expected).max()


def test_models_without_weights() -> None:
    x = build.parameter([2], "f32", name="x")
    with pytest.raises(GraphError):
        compress_weights(build.model(build.relu(x)), Compression())


@pytest.mark.parametrize(
    "compression",
    [
        Compression("int5"),
        Compression("int4", 48),
        Compression("int4", 0),
        Compression("int4", ratio=2),
        Compression("int4", layers={"nothing": "int8"}),
        Compression("int4", layers={"w0": "i9"}),
    ],
)
def test_what_cannot_be_done(compression: Compression) -> None:
    with pytest.raises(EvaluationError):
        compress_weights(language_model(), compression)


def test_non_finite_weights_are_kept() -> None:
    model = language_model()
    broken = np.array(model.constants["w1"])
    broken[3, 4] = np.inf
    _, stored = compress_weights(build.Editor(model).set_constant("w1", broken).model(), Compression("int8"))
    assert [weight.name for weight in stored if weight.format == "keep"] == ["w1"]
