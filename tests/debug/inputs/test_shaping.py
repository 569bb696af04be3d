"""Input sizes that a network takes: against OpenVINO's reshape and run, and for a network for each category of dim."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from ir_exec import build, compile_model, read_model
from ir_exec.debug import shapes
from ir_exec.debug.comparison.references.child import Child, store_arrays
from ir_exec.debug.comparison.references.openvino import what_to_run
from ir_exec.debug.inputs.input_shapes import SizeFindings, explore, sizes_at, solved_directions
from ir_exec.debug.inputs.probing import MOST_LAYERS, Prober, Sizes
from ir_exec.debug.inputs.shaping import InputDim, ShapesReport, sum_text
from ir_exec.model import Model
from ir_exec.types import ElementType
from tests.debug.inputs.explored import explore_network
from tests.helpers.facts import mentions, naming
from tests.helpers.network_text import NetworkText
from tests.onnx.files import model as onnx_model

NETWORKS = Path(__file__).parents[2] / "networks"
SHARED = Path(__file__).parents[4] / "shared" / "models"
SAMPLES = Path(__file__).parents[3] / "samples"
PATHS = {path.stem: path for folder in (SHARED, NETWORKS) for path in sorted(folder.glob("*.xml"))}

RUN_TELLS = {("lstm", 2), ("index_ops", 1)}
"""Dims whose other sizes OpenVINO refuses in a run alone: of the matrices of an LSTM, and of indices."""


def fitting(findings: SizeFindings) -> list[Sizes]:
    """Sizes that fit: the base, and one step, two steps and the last step along every free dim."""
    assert findings.base is not None
    base = findings.base.sizes
    sizes = [base]
    for free in findings.free.values():
        for steps in {1, -1, 2, free.least or 0, free.most or 0}:
            is_below = free.least is not None and steps < free.least
            is_above = free.most is not None and steps > free.most
            moved = sizes_at(base, free.along, steps)
            if not is_below and not is_above and min(moved) > 0:
                sizes.append(moved)
    return sizes


def list_refused_sizes(findings: SizeFindings) -> list[tuple[int, Sizes]]:
    """Sizes that do not fit: beyond every limit, between steps, and other than the fixed ones."""
    limits = [(dim, outcome.sizes) for dim, free in findings.free.items() for outcome in free.refused]
    return limits + [(dim, outcome.sizes) for dim, outcome in findings.fixed.items()]


@pytest.mark.broad(keep=6)
@pytest.mark.parametrize("name", sorted(PATHS))
def test_openvino_reshapes_to_the_same(name: str) -> None:
    prober, findings = explore_network(PATHS[name])
    assert findings.complete
    model = ov.Core().read_model(PATHS[name])

    def reshape_to(sizes: Sizes) -> None:
        shapes = prober.shapes_of(sizes).items()
        model.reshape({number: ov.PartialShape([dim.size for dim in shape]) for number, shape in shapes})

    for sizes in fitting(findings):
        reshape_to(sizes)
    for dim, sizes in list_refused_sizes(findings):
        if (name, dim) not in RUN_TELLS:
            with pytest.raises(RuntimeError):
                reshape_to(sizes)


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", ["conv_zoo", "lstm", "nms9", "script_loop_seq", "prep_nv12_single", "script_if"])
def test_openvino_runs_with_them(name: str, tmp_path: Path) -> None:
    model = read_model(PATHS[name])
    prober, findings = explore_network(PATHS[name])
    with closing(Child("openvino_child.py", 120.0)) as child:
        for number, sizes in enumerate(fitting(findings)):
            ran(child, model, prober, sizes, tmp_path / str(number))


def ran(child: Child, model: Model, prober: Prober, sizes: Sizes, folder: Path) -> None:
    outputs = run_by_openvino(child, model, prober, sizes, folder)
    results = compile_model(model)([np.ones(shape, dtype) for dtype, shape in types(model)])
    assert [list(array.shape) for array in results.to_tuple()] == [output["shape"] for output in outputs]


def run_by_openvino(child: Child, model: Model, prober: Prober, sizes: Sizes, folder: Path) -> list[dict[str, Any]]:
    folder.mkdir()
    model.reshape({number: list(shape) for number, shape in prober.shapes_of(sizes).items()})
    arrays = [np.ones(shape, dtype) for dtype, shape in types(model)]
    request = what_to_run(model, folder, "CPU", "accuracy", 2)
    answer = child.ask(do="run", probes=[], calls=[store_arrays(arrays, folder)], folder=str(folder), **request)
    outputs: list[dict[str, Any]] = answer["outputs"]
    return outputs


def types(model: Model) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
    return [(port.element_type.dtype, port.shape.static) for port in model.inputs]


def of(net: NetworkText) -> ShapesReport:
    file = net.file("net")
    return shapes(read_model(file.xml, file.weights))


def tell_dims(report: ShapesReport) -> dict[str, str]:
    return {dim.name: str(dim) for dim in report.inputs}


def sizes(*numbers: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


class TestKinds:
    def test_multiples(self) -> None:
        """Windows of 7, as Swin has them."""
        net = NetworkText()
        x = net.parameter("1,14,3")
        net.result(net.op("Reshape", x, net.const(sizes(-1, 7, 3)), special_zero="false"))
        report = of(net)
        assert [dim.kind for dim in report.inputs] == ["any", "multiple", "multiple"]
        dim = report.inputs[1]
        assert (dim.kind, dim.step, dim.offset, dim.least, dim.most) == ("multiple", 7, 0, None, None)
        assert dim.limits[0].type == "Reshape"

    def test_multiples_plus_an_offset(self) -> None:
        """A class token before the patches."""
        net = NetworkText()
        x = net.parameter("?,9,3")
        unit, step = net.const(sizes(1)), net.const(sizes(1))
        end = net.const(sizes(2**31 - 1))
        patches = net.op("Slice", x, unit, end, step, net.const(sizes(1)), opset=8)
        net.result(net.op("Reshape", patches, net.const(sizes(0, -1, 4, 3)), special_zero="true"))
        dim = of(net).inputs[1]
        assert (dim.kind, dim.step, dim.offset) == ("multiple", 4, 1)
        assert str(dim) == "multiples of 4 plus 1"

    def test_at_most(self) -> None:
        """A table of positions, read by indices that follow from the length."""
        net = NetworkText()
        x = net.parameter("?,?,8")
        zero, unit = net.const(np.array(0, np.int64)), net.const(np.array(1, np.int64))
        length = net.op("Gather", net.op("ShapeOf", x, opset=3, output_type="i64"), unit, zero, opset=8)
        positions = net.op("Range", zero, length, unit, opset=4, output_type="i64")
        table = net.const(np.zeros((100, 8), np.float32))
        net.result(net.op("Add", x, net.op("Gather", table, positions, zero, opset=7)))
        report = of(net)
        assert [str(dim) for dim in report.inputs] == ["any", "at most 100", "8, or 1"]
        (limit,) = report.inputs[1].limits
        assert (limit.size, limit.type) == (101, "Gather")

    def test_least(self) -> None:
        net = NetworkText()
        x = net.parameter("1,3,?,32")
        filters = net.const(np.zeros((4, 3, 7, 1), np.float32))
        attributes = {"strides": "2,1", "pads_begin": "0,0", "pads_end": "0,0", "dilations": "1,1"}
        net.result(net.op("Convolution", x, filters, auto_pad="explicit", **attributes))
        report = of(net)
        assert [str(dim) for dim in report.inputs] == ["any", "3", "from 7", "any"]
        name = report.inputs[2].name
        assert report.outputs[2].formula == f"floor(({name} + 1) / 2) - 3"

    def test_tied(self) -> None:
        """The mask is as long as the past and the new tokens together."""
        net = NetworkText()
        past, new, mask = net.parameter("?,?,4"), net.parameter("?,?,4"), net.parameter("?,?")
        both = net.op("Concat", past, new, axis=1)
        ones = net.op("Unsqueeze", mask, net.const(sizes(2)))
        net.result(net.op("Add", both, net.op("Tile", ones, net.const(sizes(1, 1, 4)))))
        report = of(net)
        by_place = {(dim.input, dim.axis): dim for dim in report.inputs}
        first, second, third = dict.fromkeys(dim.input for dim in report.inputs)
        assert by_place[first, 0].kind == "any"
        assert by_place[second, 0].formula == by_place[third, 0].formula == f"{first}[0]"
        assert by_place[third, 1].formula == f"{first}[1] + {second}[1]"
        assert report.outputs[1].formula == f"{first}[1] + {second}[1]"

    def test_tied_by_a_ratio(self) -> None:
        """A mask of an eighth of the image."""
        net = NetworkText()
        image, mask = net.parameter("1,64"), net.parameter("1,8")
        parts = net.op("Reshape", image, net.const(sizes(1, -1, 8)), special_zero="false")
        net.result(net.op("Multiply", parts, net.op("Reshape", mask, net.const(sizes(1, -1, 1)), special_zero="false")))
        report = of(net)
        image_dim, mask_dim = report.inputs[1], report.inputs[3]
        assert (image_dim.kind, image_dim.step) == ("multiple", 8)
        assert mask_dim.formula == f"{image_dim.name} / 8"

    def test_fixed_by_a_constant(self) -> None:
        net = NetworkText()
        x = net.parameter("1,128,16")
        net.result(net.op("Reshape", x, net.const(sizes(1, 128, 4, 4)), special_zero="false"))
        report = of(net)
        assert [dim.kind for dim in report.inputs] == ["fixed"] * 3
        (limit,) = report.inputs[0].limits
        assert limit.type == "Reshape"
        assert limit.cause is not None
        assert "[1,128,4,4]" in limit.cause

    def test_a_body(self) -> None:
        report = shapes(PATHS["script_loop_seq"])
        assert tell_dims(report) == {"tok0.1[0]": "any", "h0.1[0]": "= tok0.1[0]", "h0.1[1]": "32"}

    def test_broadcast_mask(self) -> None:
        """A step from 2 to 1 is no way to go: both batches are tied, and either may be 1."""
        report = shapes(SAMPLES / "bert.xml")
        assert tell_dims(report) == {
            "input_ids[0]": "any",
            "input_ids[1]": "any",
            "attention_mask[0]": mentions("input_ids[0]", 1),
            "attention_mask[1]": "= input_ids[1], or 1",
        }
        assert all(limit.cause is None for dim in report.inputs for limit in dim.limits)
        assert report.outputs[0].formula == "input_ids[0]"

    def test_an_addition(self) -> None:
        """Dims that the file fixes, of inputs that are broadcast."""
        net = NetworkText()
        a, b = net.parameter("1,8"), net.parameter("1,8")
        net.result(net.op("Add", a, b))
        report = of(net)
        first, second = dict.fromkeys(dim.input for dim in report.inputs)
        assert tell_dims(report) == {
            f"{first}[0]": "any",
            f"{first}[1]": "any",
            f"{second}[0]": mentions(f"{first}[0]", 1),
            f"{second}[1]": mentions(f"{first}[1]", 1),
        }

    def test_indices_may_be_fewer_than_data(self) -> None:
        report = shapes(PATHS["index_ops"])
        assert tell_dims(report) == {"x[0]": "any", "x[1]": "from 3", "idx[0]": "= x[0]", "idx[1]": "at most x[1]"}

    def test_data_have_room_for_indices_and_updates(self) -> None:
        """The three dims belong together, but data may be larger: the layer that refuses less is named."""
        net = NetworkText()
        data, indices, updates = net.parameter("?,?"), net.parameter("?,?", "i64"), net.parameter("?,?")
        axis = net.const(np.array(0, np.int64))
        net.result(net.op("ScatterElementsUpdate", data, indices, updates, axis, opset=3))
        report = of(net)
        assert tell_dims(report) == {
            "parameter0[0]": "any",
            "parameter0[1]": "at least parameter1[1]",
            "parameter1[0]": "any",
            "parameter1[1]": "any",
            "parameter2[0]": "= parameter1[0]",
            "parameter2[1]": "= parameter1[1]",
        }
        (limit,) = report.inputs[1].limits
        assert limit.type == "ScatterElementsUpdate"
        assert limit.message

    def test_pattern_length_is_no_cause(self) -> None:
        """Nor are axes, nor sizes that no input could have changed."""
        past, x = build.parameter("?,?,?,?", name="past"), build.parameter("?,?,16", name="x")
        wide = build.matmul(x, np.ones((16, 32), np.float32))
        heads = build.reshape(wide, np.int64([0, 0, -1, 8]), special_zero=True)
        keys = build.concat([past, build.transpose(heads, np.int64([0, 2, 1, 3]))], 2)
        report = shapes(build.model(build.result(keys, name="keys")))
        assert str(report.inputs[1]) == "4"
        causes = [limit.cause for dim in report.inputs for limit in dim.limits if limit.cause]
        assert causes
        assert not any(cause.startswith("dim 4") and "[0,0,-1,8]" in cause for cause in causes)
        assert not any("[0,2,1,3]" in cause or "Parameter" in cause for cause in causes)

    def test_unknown_rank(self) -> None:
        net = NetworkText()
        net.result(net.op("ReLU", net.parameter("...")))
        report = of(net)
        assert not report.inputs
        assert any("rank" in note for note in report.notes)

    def test_nothing_fits(self) -> None:
        net = NetworkText()
        x = net.parameter("2,3")
        net.result(net.op("Reshape", net.op("ReLU", x), net.parameter("1", "i64"), special_zero="false"))
        net.result(net.op("MatMul", x, net.parameter("4,5"), transpose_a="false", transpose_b="false"))
        with pytest.raises(Exception, match=naming("a", 3)):
            of(net)


def test_a_thousand_layers_take_a_bounded_number_of_steps() -> None:
    net = NetworkText()
    value = net.parameter("?,?,8")
    weights = net.const(np.eye(8, dtype=np.float32))
    for _ in range(500):
        value = net.op("ReLU", net.op("MatMul", value, weights, transpose_a="false", transpose_b="false"))
    net.result(value)
    file = net.file("deep")
    prober = Prober(read_model(file.xml, file.weights))
    findings = explore(prober)
    assert findings.complete
    assert prober.inferred_layers < MOST_LAYERS
    assert set(findings.free) == {0, 1}
    assert set(findings.fixed) == {2}


def test_out_of_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_exec.debug.inputs.probing.MOST_LAYERS", 0)
    monkeypatch.setattr("ir_exec.debug.inputs.probing.LEAST_PROBES", 20)
    report = shapes(PATHS["conv_zoo"])
    assert not report.complete
    assert report.probes == 20
    assert report.notes


@pytest.mark.broad(keep=2)
@pytest.mark.parametrize("name", ["conv_zoo", "bert_tiny_fp16", "llama_stateful", "gnn_gcn_gat", "lstm"])
def test_few_probes_agree_with_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of probes, 37 for example, are never reported as sizes of outputs."""
    complete = shapes(PATHS[name])
    monkeypatch.setattr("ir_exec.debug.inputs.probing.MOST_LAYERS", 0)
    for probes in range(1, min(complete.probes, 80), 3):
        monkeypatch.setattr("ir_exec.debug.inputs.probing.LEAST_PROBES", probes)
        report = shapes(PATHS[name])
        assert not report.complete
        if not report.inputs:
            continue
        assert [dim.name for dim in report.inputs] == [dim.name for dim in complete.inputs]
        for ours, theirs in zip(report.outputs, complete.outputs, strict=True):
            is_known = ours.is_explored and ours.formula is not None
            assert not is_known or ours.formula == theirs.formula
            assert ours.is_explored or ours.size is None
        for ours, theirs in zip(report.inputs, complete.inputs, strict=True):
            assert ours.kind in (theirs.kind, "unexplored"), (probes, ours, theirs)


def test_directions_prefer_least_followed_dims() -> None:
    # past, new, mask: each of the first two moves the third.
    directions = solved_directions({0: (1, 0, 1), 1: (0, 1, 1), 2: (1, 0, 1)}, 3)
    assert directions.free == (0, 1)
    assert directions.tied == {2: {0: 1, 1: 1}}


def test_sums() -> None:
    assert sum_text({"a": Fraction(1), "b": Fraction(-3, 2)}, Fraction(-4)) == "a - 3 * b / 2 - 4"
    assert sum_text({"a": Fraction(-1, 8)}, Fraction(0)) == "-a / 8"
    assert sum_text({}, Fraction(7)) == "7"


def test_words() -> None:
    def dim(**about: Any) -> str:
        return str(InputDim(name="x[0]", input="x", axis=0, declared="?", size=4, **about))

    assert dim(kind="multiple", step=32, least=64, most=512) == "multiples of 32 64 to 512"
    assert dim(kind="range", most=512) == "at most 512"
    assert dim(kind="fixed", one=True) == "4, or 1"


def test_as_text() -> None:
    text = str(shapes(PATHS["bert_tiny_fp16"]))
    assert mentions("input_ids[1]", 64) in text.splitlines()
    assert 'at Add "__module.m.embeddings/aten::add/Add_2"' in text
    assert ElementType.f32.name not in text.splitlines()[0]


@pytest.mark.parametrize("name", ["bert_tiny_fp16", "script_loop_seq", "gnn_gcn_gat", "llama_stateful"])
def test_probes_infer_what_a_whole_pass_does(name: str) -> None:
    """A probe omits the parts that an earlier one inferred."""
    model = read_model(PATHS[name])
    prober = Prober(model)
    findings = explore(prober)
    assert findings.base is not None
    for sizes in fitting(findings):
        outcome = prober(sizes)
        model.reshape({number: list(shape) for number, shape in prober.shapes_of(sizes).items()})
        assert list(outcome.types) == list(model.types)


def test_call_dependent_outputs_are_not_listed() -> None:
    text = """g (float[N,3] x, int64[P] sizes) => (y, z) { s = SplitToSequence<axis = 0>(x, sizes)
        i = Constant<value_int = 0>() y = SequenceAt(s, i) z = Relu(x) }"""
    report = shapes(read_model(onnx_model(text).SerializeToString()))
    assert {dim.output for dim in report.outputs} == {"z"}
    assert not report.complete
