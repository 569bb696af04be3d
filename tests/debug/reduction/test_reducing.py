"""Networks that still fail, as small as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, Model, check_model, compile_model, read_model
from ir_exec.debug import ReductionInterrupted, reduce
from ir_exec.debug.values.files import read_npz
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.helpers.facts import coded, mentions
from tests.helpers.network_text import NetworkText, tied_input, tied_output

NETWORKS = Path(__file__).parents[2] / "networks"


def read(net: NetworkText) -> Model:
    file = net.file()
    return read_model(file.xml, weights=file.weights)


def thousand(places: tuple[int, ...] = (617,), type: str = "Sin") -> Model:
    """A thousand layers with side branches and weights, among them the faulty ones."""
    net = NetworkText()
    x = before = net.parameter("2,4")
    for position in range(1000):
        if position in places:
            value = net.op(type, x)
        elif position % 7 == 0:
            value = net.op("Add", x, before)
        elif position % 5 == 0:
            value = net.op("Multiply", x, net.const(np.full(4, 1 + position / 1e5, np.float32)))
        else:
            value = net.op(("Tanh", "Sigmoid", "Abs")[position % 3], x)
        if position % 10 == 0:
            before = x
        x = value
    net.result(x)
    net.result(before)
    return read(net)


def types_in(model: Model) -> Counter[str]:
    return Counter(node.type for node in model.graph.all_nodes())


def computing(model: Model) -> list[str]:
    return sorted(node.type for node in model.graph.nodes if node.type not in ("Parameter", "Const", "Result"))


def has(*types: str) -> object:
    return lambda model, inputs=None: all(types_in(model)[type] for type in types)


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("position", [0, 1, 499, 617, 999])
def test_a_fault_among_a_thousand_layers(position: int) -> None:
    reduced = reduce(thousand((position,)), has("Sin"))
    assert computing(reduced.model) == ["Sin"]
    assert (reduced.layers, reduced.before) == (1, 1000)
    assert reduced.runs < 60


@pytest.mark.broad
def test_by_the_values(tmp_path: Path) -> None:
    """A fault that shows in numbers: the candidates get the values of the whole network's run."""

    def fails(model: Model, inputs: Mapping[str, Array]) -> bool:
        seen = []

        def show(node: object, arrays: object, outputs: list[Array]) -> None:
            seen.append(float(outputs[0].max()))

        compile_model(model)(dict(inputs), observe=show)
        return any(value > 100 for value in seen)

    net = NetworkText()
    x = net.parameter("3")
    for position in range(300):
        x = (
            net.op("Exp", net.op("Add", x, net.const(np.full(1, 6, np.float32))))
            if position == 200
            else net.op("Tanh", x)
        )
    net.result(x)
    reduced = reduce(read(net), fails, [np.ones(3, np.float32)], output=tmp_path / "small.xml")
    assert computing(reduced.model) == ["Exp"]
    assert check_model(tmp_path / "small.xml").ok
    small_inputs = read_npz(tmp_path / "small.inputs.npz")
    assert all(5 < float(array.max()) < 7 for array in small_inputs.values())
    (output,) = read_npz(tmp_path / "small.outputs.npz").values()
    np.testing.assert_allclose(output, np.exp(next(iter(small_inputs.values()))), rtol=1e-5)


@pytest.mark.broad
def test_two_necessary_faults() -> None:
    reduced = reduce(thousand((100, 901)), lambda model: types_in(model)["Sin"] == 2)
    assert computing(reduced.model) == ["Sin", "Sin"]


def test_layers_in_a_row_stay() -> None:
    """A fusion that goes wrong needs its neighbors."""

    def fails(model: Model) -> bool:
        return any(
            node.type == "Cos" and node.values_in[0].node.type == "Sqrt" and value.node.type == "Exp"
            for node in model.graph.nodes
            for value in (node.values_in[0].node.values_in[:1] if node.values_in else ())
        )

    net = NetworkText()
    x = net.parameter("2")
    for _ in range(40):
        x = net.op("Tanh", x)
    for type in ("Exp", "Sqrt", "Cos"):
        x = net.op(type, x)
    for _ in range(40):
        x = net.op("Tanh", x)
    net.result(x)
    assert computing(reduce(read(net), fails).model) == ["Cos", "Exp", "Sqrt"]


def test_layers_between_are_replaced_by_their_inputs() -> None:
    """If a path has to stay, its layers need not."""

    def reaches(model: Model) -> bool:
        behind = set()
        for node in model.graph.nodes:
            if node.type == "Sin" or any(value.node in behind for value in node.values_in):
                behind.add(node)
        return any(node.type == "Cos" and node in behind for node in model.graph.nodes)

    net = NetworkText()
    x = net.op("Sin", net.parameter("2"))
    for _ in range(10):
        x = net.op("Add", net.op("Tanh", x), net.const(np.ones(2, np.float32)))
    net.result(net.op("Cos", x))
    assert computing(reduce(read(net), reaches).model) == ["Cos", "Sin"]


def test_in_a_body() -> None:
    net = NetworkText()
    body = NetworkText(net)
    inside = x = body.parameter("4")
    for type in ("Tanh", "Sin", "Abs"):
        x = body.op(type, x)
    end, goes_on = body.result(x), body.result(body.const(np.array(True)))
    ties = [tied_input(2, inside), tied_output(3, end), tied_output(-1, goes_on, purpose="execution_condition")]
    count, yes = net.const(np.array(3)), net.const(np.array(True))
    net.result(net.loop(1, "Loop", [count, yes, net.op("Tanh", net.parameter("4"))], body, ties, [(end, inside)])[0])
    model = read(net)
    reduced = reduce(model, has("Sin"))
    assert computing(reduced.model) == ["Sin"]
    inputs = [np.full(4, 0.5, np.float32)]
    valued = reduce(model, has("Sin"), inputs)
    assert valued.inputs is not None
    np.testing.assert_allclose(next(iter(valued.inputs.values())), np.tanh(np.tanh(inputs[0])), rtol=1e-5)


def test_weights_that_do_not_matter_become_inputs() -> None:
    net = NetworkText()
    weights = net.op("Convert", net.const(np.ones((64, 64), np.float16)), destination_type="f32")
    net.result(net.op("MatMul", net.parameter("2,64"), weights, transpose_a="false", transpose_b="false"))
    model = read(net)
    reduced = reduce(model, has("MatMul"))
    assert types_in(reduced.model) == {"Parameter": 2, "MatMul": 1, "Result": 1}
    smaller = reduce(model, lambda model: types_in(model)["MatMul"] == 1 and types_in(model)["Const"] == 1)
    assert types_in(smaller.model) == {"Parameter": 1, "Const": 1, "MatMul": 1, "Result": 1}


def test_fewer_outputs() -> None:
    net = NetworkText()
    parts = net.outputs(3, "Split", net.parameter("6"), net.const(np.array(0)), num_splits=3)
    for part in parts:
        net.result(part)
    reduced = reduce(read(net), has("Split"))
    assert types_in(reduced.model) == {"Parameter": 1, "Const": 1, "Split": 1, "Result": 1}


@pytest.mark.broad
@pytest.mark.parametrize("name", ["gnn_gcn_gat", "llama_stateful", "script_loop_seq", "bert_tiny_fp16"])
def test_real_networks_and_only_valid_files(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    model = read_model(path)
    layers = [node for node in model.graph.nodes if node.type not in ("Parameter", "Const", "Result", "Assign")]
    target = layers[len(layers) * 2 // 3]
    inputs = arrays(path, "inputs")
    assert inputs is not None

    def fails(model: Model, inputs: Mapping[str, Array]) -> bool:
        assert check_model(str(model.graph.path)).ok
        assert [port.name for port in model.inputs] == list(inputs)
        return any(node.name == target.name and node.type == target.type for node in model.graph.nodes)

    reduced = reduce(model, fails, inputs)
    assert computing(reduced.model) == [target.type]


@pytest.mark.broad
def test_the_same_again() -> None:
    model = thousand()
    first, second = reduce(model, has("Sin")), reduce(model, has("Sin"))
    assert first.model.document == second.model.document
    assert first.runs == second.runs


@pytest.mark.broad
def test_a_limit() -> None:
    reduced = reduce(thousand(), has("Sin"), limit=5)
    assert reduced.runs == 5
    assert 1 < reduced.layers < 1000
    assert types_in(reduced.model)["Sin"] == 1


def interrupt_after(after: int) -> Callable[[Model], bool]:
    calls = iter(range(after))

    def fails(model: Model) -> bool:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return bool(types_in(model)["Sin"])

    return fails


@pytest.mark.broad
def test_ctrl_c_returns_the_result_so_far(tmp_path: Path) -> None:
    with pytest.raises(ReductionInterrupted) as raised:
        reduce(thousand(), interrupt_after(5), output=tmp_path / "small.xml")
    reduced = raised.value.found
    limited = reduce(thousand(), has("Sin"), limit=5)
    assert (reduced.layers, reduced.before) == (limited.layers, 1000)
    assert computing(read_model(tmp_path / "small.xml")) == computing(limited.model)


@pytest.mark.parametrize("after", [0, 1])
def test_ctrl_c_before_anything_was_found(after: int, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as raised:
        reduce(thousand(), interrupt_after(after), output=tmp_path / "small.xml")
    assert not isinstance(raised.value, ReductionInterrupted)
    assert not list(tmp_path.iterdir())


def test_what_does_not_fail() -> None:
    with pytest.raises(EvaluationError, check=coded("IR704")):
        reduce(thousand(), lambda model: False)


def test_errors_of_the_function_come_through() -> None:
    def fails(model: Model) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        reduce(thousand(), fails)


@pytest.mark.broad
def test_files_exist_during_predicate() -> None:
    paths = []

    def fails(model: Model) -> bool:
        paths.append(Path(str(model.graph.path)))
        assert paths[-1].exists()
        return bool(types_in(model)["Sin"])

    reduce(thousand(), fails, limit=10)
    assert not any(path.exists() for path in paths)


def test_progress() -> None:
    lines: list[str] = []
    reduced = reduce(thousand(), has("Sin"), progress=lines.append)
    assert len(lines) == reduced.runs
    assert lines[0] == mentions(1000)
    assert lines[-1] == mentions(1)
