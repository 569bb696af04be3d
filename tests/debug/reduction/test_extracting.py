"""Parts of networks: what is in them, and that they compute what the whole does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import openvino as ov
import pytest
from click.testing import CliRunner

from ir_exec import EvaluationError, UnsupportedError, check_model, compile_model, read_model
from ir_exec.cli import main
from ir_exec.debug import extract, trace
from ir_exec.debug.reduction.extracting import Extracted
from ir_exec.debug.values.entries import entries_of
from ir_exec.debug.values.files import nearest, read_npz
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.helpers.facts import facts, naming
from tests.helpers.ir_files import networks
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output
from tests.onnx.files import model, write_model

NETWORKS = Path(__file__).parents[2] / "networks"
LOOP = NETWORKS / "script_loop_seq.xml"
STATEFUL = NETWORKS / "llama_stateful.xml"


def files(net: NetworkText, folder: Path) -> Path:
    file = net.file()
    (folder / "net.xml").write_bytes(file.xml)
    (folder / "net.bin").write_bytes(file.weights)
    return folder / "net.xml"


def types_in(extracted: Extracted) -> list[str]:
    return [node.type for node in extracted.model.graph.nodes]


def ends(extracted: Extracted) -> tuple[list[str], list[str]]:
    return [str(port) for port in extracted.model.inputs], [str(port) for port in extracted.model.outputs]


@pytest.fixture
def branched_model(tmp_path: Path) -> Path:
    """relu1 and tanh2 read the input, add3 both, matmul6 reads decompressed weights, the last one a computed shape."""
    net = NetworkText()
    x = net.parameter("2,3")
    a, b = net.op("ReLU", x), net.op("Tanh", x)
    both = net.op("Add", a, b)
    weights = net.op("Convert", net.const(np.ones((3, 6), np.float16)), destination_type="f32")
    product = net.op("MatMul", both, weights, transpose_a="false", transpose_b="false")
    shape = net.op("ShapeOf", x, opset=3, output_type="i64")
    spare = net.const(np.ones(1000, np.float32))
    net.result(
        net.op("Reshape", product, net.op("Concat", shape, net.const(np.array([-1])), axis=0), special_zero=True)
    )
    net.result(net.op("Abs", spare))
    return files(net, tmp_path)


class TestWhatIsCutOut:
    def test_between_two_values(self, branched_model: Path) -> None:
        cut = extract(branched_model, from_="relu1", to="matmul6")
        assert types_in(cut) == ["Parameter", "Parameter", "Add", "Const", "Convert", "MatMul", "Result"]
        assert ends(cut) == (["relu1 f32[2,3]", "tanh2 f32[2,3]"], ["matmul6 f32[2,6]"])

    def test_everything_before(self, branched_model: Path) -> None:
        cut = extract(branched_model, to=["add3", "relu1"])
        assert types_in(cut) == ["Parameter", "ReLU", "Tanh", "Add", "Result", "Result"]
        assert [port.name for port in cut.model.outputs] == ["add3", "relu1"]

    def test_everything_behind(self, branched_model: Path) -> None:
        cut = extract(branched_model, from_="add3")
        assert "Abs" not in types_in(cut)
        assert ends(cut)[0] == ["add3 f32[2,3]"]

    def test_what_inference_knows_stays_a_constant(self, branched_model: Path) -> None:
        cut = extract(branched_model, from_="matmul6")
        assert types_in(cut) == ["Parameter", "Const", "Reshape", "Result"]
        assert str(cut.model.outputs[0].shape) == "[2,3,2]"

    def test_only_used_weights_are_extracted(self, branched_model: Path, tmp_path: Path) -> None:
        extract(branched_model, to="matmul6", output=tmp_path / "cut.xml")
        assert (tmp_path / "cut.bin").stat().st_size == 3 * 6 * 2

    def test_original_inputs_are_kept_when_read(self, branched_model: Path) -> None:
        assert ends(extract(branched_model, from_="parameter0", to="tanh2"))[0] == ["parameter0 f32[2,3]"]

    def test_types_are_the_inferred_ones(self, branched_model: Path) -> None:
        """The file declares none at its ports."""
        model = read_model(branched_model).reshape("7,3")
        assert ends(extract(model, from_="add3", to="matmul6")) == (["add3 f32[7,3]"], ["matmul6 f32[7,6]"])

    def test_all_outputs_of_a_layer(self, tmp_path: Path) -> None:
        net = NetworkText()
        parts = net.outputs(2, "Split", net.parameter("4,6"), net.const(np.array(1)), num_splits=2)
        net.result(net.op("Add", net.op("ReLU", parts[0]), parts[1]))
        path = files(net, tmp_path)
        assert ends(extract(path, from_="split2"))[0] == ["split2:0 f32[4,3]", "split2:1 f32[4,3]"]
        assert ends(extract(path, from_="split2:0"))[0] == ["split2:0 f32[4,3]", "split2:1 f32[4,3]"]
        assert ends(extract(path, to="split2"))[1] == ["split2:0 f32[4,3]", "split2:1 f32[4,3]"]
        assert ends(extract(path, to="split2:1"))[1] == ["split2:1 f32[4,3]"]

    def test_names_and_rt_info_stay(self) -> None:
        path = NETWORKS / "bert_tiny_fp16.xml"
        original = read_model(path)
        before = {layer.name: layer for layer in original.document.layers}
        nodes = [node for node in original.graph.nodes if node.type == "MatMul"]
        cut = extract(original, from_=nodes[1].name, to=nodes[3].name).model.document
        assert cut.rt_info == original.document.rt_info
        retained = [layer for layer in cut.layers if layer.type not in ("Parameter", "Result")]
        assert len(retained) > 5
        for layer in retained:
            old = before[layer.name]
            assert (layer.id, layer.rt_info, layer.outputs, layer.inputs) == (
                old.id,
                old.rt_info,
                old.outputs,
                old.inputs,
            )
        (begin,) = [layer for layer in cut.layers if layer.name == nodes[1].name]
        assert begin.type == "Parameter"
        assert begin.outputs[0].names == before[begin.name].outputs[0].names

    def test_variables_stay(self) -> None:
        """A whole layer of a decoder keeps the variables that it reads and assigns, and no others."""
        model = read_model(STATEFUL)
        variables = {node.op.variable_id for node in model.graph.nodes if node.type == "ReadValue"}  # type: ignore[union-attr]
        products = [node for node in model.graph.nodes if node.type == "ScaledDotProductAttention"]
        assert len(products) > 1
        part = extract(model, to=products[0].name).model.graph
        read = {node.op.variable_id for node in part.nodes if node.type == "ReadValue"}  # type: ignore[union-attr]
        assigned = {node.op.variable_id for node in part.nodes if node.type == "Assign"}  # type: ignore[union-attr]
        assert read == assigned
        assert read < variables

    def test_variables_between(self, tmp_path: Path) -> None:
        net = NetworkText()
        x = net.op("ReLU", net.parameter("2"))
        state = {"variable_id": "v", "variable_type": "f32", "variable_shape": "2"}
        old = net.op("ReadValue", net.const(np.zeros(2, np.float32)), opset=6, **state)
        total = net.op("Add", old, x)
        net.op("Assign", total, opset=6, variable_id="v")
        net.result(net.op("Tanh", total))
        path = files(net, tmp_path)
        assert sorted(types_in(extract(path, from_="relu1", to="add4"))) == [
            "Add",
            "Assign",
            "Const",
            "Parameter",
            "ReadValue",
            "Result",
        ]
        assert types_in(extract(path, from_="add4", to="tanh6")) == ["Parameter", "Tanh", "Result"]
        assert types_in(extract(path, from_=["relu1", "readvalue3"], to="add4"))[-2:] == ["Add", "Result"]


class TestNames:
    @pytest.mark.parametrize(
        ("begin", "end", "words"),
        [
            ("relu", (), naming("relu")),
            ((), "mathmul6", naming("matmul6")),
            ("matmul6", "add3", naming("add3", "matmul6")),
            (("relu1", "parameter0"), "tanh2", naming("tanh2", "relu1")),
            ("add3", "add3", naming("add3")),
            ("abs13", (), naming("abs13")),
            ((), (), naming()),
        ],
    )
    def test_what_cannot_be(
        self, branched_model: Path, begin: str | Sequence[str], end: str | Sequence[str], words: str
    ) -> None:
        with pytest.raises(EvaluationError, match=words):
            extract(branched_model, from_=begin, to=end)

    def test_in_two_bodies(self) -> None:
        inside = next(entry.path for entry in entries_of(read_model(LOOP)) if entry.scope)
        outside = next(entry.path for entry in entries_of(read_model(LOOP)) if not entry.scope)
        with pytest.raises(EvaluationError, match=naming(outside, inside)):
            extract(LOOP, from_=outside, to=inside)


class TestBodies:
    def test_every_iteration(self, tmp_path: Path) -> None:
        inputs = arrays(LOOP, "inputs")
        written = trace(LOOP, inputs, output=tmp_path / "t")
        inside = [value for value in written.index.values if value.scope and value.type == "LSTMCell"] or [
            value for value in written.index.values if value.scope and value.type not in ("Const", "Parameter")
        ]
        last = inside[-1]
        cut = extract(LOOP, inputs, to=last.name, iteration=last.iterations)
        assert cut.inputs is not None
        assert cut.outputs is not None
        (output,) = compile_model(cut.model, precision="file")(cut.inputs).to_tuple()
        expected = written[f"{last.name}[{last.iterations[0]}]"]
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)
        first = extract(LOOP, inputs, to=last.name)
        assert first.inputs is not None
        assert any(not np.array_equal(first.inputs[name], cut.inputs[name]) for name in cut.inputs)

    def test_iterations_that_do_not_happen(self) -> None:
        inputs = arrays(LOOP, "inputs")
        inside = [entry.path for entry in entries_of(read_model(LOOP)) if entry.scope and entry.type != "Const"]
        with pytest.raises(EvaluationError, match=naming("999")):
            extract(LOOP, inputs, to=inside[-1], iteration=999)
        with pytest.raises(EvaluationError, match=naming("0,1")):
            extract(LOOP, inputs, to=inside[-1], iteration=(0, 1))

    def test_a_body_in_a_body(self) -> None:
        def loop(outer: NetworkText, x: Output, body: NetworkText, inside: Output, last: Output) -> Output:
            count, yes = outer.const(np.array(2)), outer.const(np.array(True))
            end, goes_on = body.result(last), body.result(body.const(np.array(True)))
            ties = [tied_input(2, inside), tied_output(3, end), tied_output(-1, goes_on, purpose="execution_condition")]
            return outer.loop(1, "Loop", [count, yes, x], body, ties, [(end, inside)])[0]

        net = NetworkText()
        outer = NetworkText(net)
        inner = NetworkText(outer)
        y = inner.parameter("1")
        doubled = inner.op("Add", y, y)
        z = outer.parameter("1")
        net.result(loop(net, net.parameter("1"), outer, z, loop(outer, z, inner, y, doubled)))
        file = net.file()
        model = read_model(file.xml, weights=file.weights)
        name = next(entry.path for entry in entries_of(model) if entry.type == "Add")
        arrays = [np.ones(1, np.float32)]
        for iteration, value in (((0, 0), 2), (1, 4), ((1, 0), 8), ((1, 1), 16)):
            outputs = extract(model, arrays, to=name, iteration=iteration).outputs
            assert outputs is not None
            assert [float(array[0]) for array in outputs.values()] == [value]


def chosen(path: Path, count: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs of values at random, and one of each alone."""
    entries = [entry for entry in entries_of(read_model(path)) if not entry.is_constant and not entry.scope]
    # OpenVINO takes axes and sizes from constants or from what it computes of shapes, not from inputs.
    begins = [entry.path for entry in entries if str(entry.element_type).startswith("f")]
    # It refuses loops of which one output is not read.
    ends = [entry.layer_name if entry.type in ("Loop", "TensorIterator", "If") else entry.path for entry in entries]
    random = Random(f"{path.parent.name} {path.stem}")
    cuts: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    while len(cuts) < 3 * count:
        begin, end = random.choice(begins), random.choice(ends)
        cuts += [((begin,), (end,)), ((), (end,)), ((begin,), ())]
    return cuts


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("path", networks())
def test_openvino_computes_the_values_at_the_cut(path: Path, tmp_path: Path) -> None:
    inputs = arrays(path, "inputs")
    assert inputs is not None
    model = read_model(path)
    core = ov.Core()
    checked = 0
    for begin, end in chosen(path, 3 if path.parent == NETWORKS else 1):
        try:
            extract(model, inputs, from_=begin, to=end, output=tmp_path / "cut.xml")
        except EvaluationError as error:
            if not {*facts(error.message)} <= {*begin, *end}:
                raise
            continue
        report = check_model(tmp_path / "cut.xml")
        assert report.ok, str(report)
        cut = read_model(tmp_path / "cut.xml")
        cut_inputs, expected = read_npz(tmp_path / "cut.inputs.npz"), read_npz(tmp_path / "cut.outputs.npz")
        assert list(cut_inputs) == [port.name for port in cut.inputs]
        config = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}
        compiled = core.compile_model(core.read_model(tmp_path / "cut.xml"), "CPU", config)
        try:
            results = compiled([nearest(cut_inputs[port.name], port.element_type) for port in cut.inputs])
        except RuntimeError as error:
            # The plugin takes the initial value's static dim of 0 for the variable's where attention is not fused.
            if "Node Assign" in str(error) and "Can not clone" in str(error):
                continue
            raise
        for position, port in enumerate(cut.outputs):
            assert_close(results[position], expected[port.name], f"{begin} {end} {port.name}")
        checked += 1
    assert checked


def assert_close(actual: Array, expected: Array, what: str) -> None:
    actual = np.asarray(actual)
    if expected.dtype.kind in "US":
        assert actual.tolist() == expected.tolist(), what
        return
    largest = np.abs(expected.astype(np.float64)[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(
        actual.astype(np.float64), expected.astype(np.float64), rtol=2e-3, atol=2e-3 * (1 + largest), err_msg=what
    )


class TestNodesThatIRCannotExpress:
    """An ONNX file with such a node is cut where the part does not need it."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        pytest.importorskip("onnx")
        body = """
            g (float[2,3] x) => (float[2,3] y, float[2,3] z)
            <float[2,3] unknown>
            {
                a = Relu(x)
                b = Tanh(a)
                y = Exp(b)
                unknown = com.nobody.Thing(a)
                z = Abs(unknown)
            }
        """
        return write_model(tmp_path, model(body, further='"com.nobody" : 1'))

    def test_a_part_without_it(self, path: Path) -> None:
        with pytest.raises(UnsupportedError):
            read_model(path)
        extracted = extract(path, from_="a", to="y")
        assert ends(extracted) == (["a f32[2,3]"], ["y f32[2,3]"])
        a = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
        output = compile_model(extracted.model)({"a": a})["y"]
        np.testing.assert_allclose(output, np.exp(np.tanh(a)), rtol=1e-6)

    def test_a_part_behind_it(self, path: Path) -> None:
        assert types_in(extract(path, from_="unknown", to="z")) == ["Parameter", "Abs", "Result"]

    @pytest.mark.parametrize("names", [{"to": "z"}, {"from_": "a", "to": "z"}, {"to": "unknown"}, {"from_": "a"}])
    def test_required_part(self, path: Path, names: dict[str, str]) -> None:
        with pytest.raises(UnsupportedError, match=naming("Thing")):
            extract(path, **names)  # type: ignore[arg-type]  # the names of the cut

    def test_values_need_the_complete_model(self, path: Path) -> None:
        with pytest.raises(UnsupportedError, match=naming("Thing")):
            extract(path, [np.zeros((2, 3), np.float32)], from_="a", to="y")

    def test_on_the_command_line(self, path: Path, tmp_path: Path) -> None:
        output = tmp_path / "cut.xml"
        result = CliRunner().invoke(main, ["extract", str(path), "--from", "a", "--to", "y", "-o", str(output)])
        assert result.exit_code == 0, result.output
        assert check_model(output).ok
