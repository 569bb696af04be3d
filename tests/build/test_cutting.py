"""Parts of networks as separate networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, Model, build, compile_model, read_model
from ir_exec.build.cutting import below, cut, is_counted, needed_by, region_at, source, with_variables
from ir_exec.codes import Code
from ir_exec.graph import Node, Value
from ir_exec.types import Array, ElementType
from tests.helpers.facts import coded, naming

X = np.float32([[-1, 2, 3]])


def network() -> Model:
    """y = tanh(relu(x) * scale) and z = relu(x) + 1."""
    x = build.parameter([1, 3], name="x")
    positive = build.relu(x, name="positive")
    scale = build.constant(np.float32([[2, 3, 4]]), name="scale")
    scaled = build.multiply(positive, scale, name="scaled")
    return build.model(
        [
            build.result(build.tanh(scaled, name="bent"), name="y"),
            build.result(build.add(positive, np.float32(1), name="more"), name="z"),
        ]
    )


def value(model: Model, name: str) -> Value:
    return next(node.outputs[0] for node in model.graph.nodes if node.name == name)


def nodes(model: Model, *names: str) -> set[Node]:
    return {node for node in model.graph.nodes if node.name in names}


def names(model: Model) -> list[str]:
    return [node.name for node in model.graph.nodes if is_counted(node)]


def run(model: Model, *inputs: Array) -> list[Array]:
    results = compile_model(model)(list(inputs))
    return [results[position] for position in range(len(model.outputs))]


class TestCut:
    def test_layers_between(self) -> None:
        model = network()
        part = cut(region_at(model), nodes(model, "scaled", "bent"))
        assert names(part.model) == ["scaled", "bent"]
        assert [input.node.name for input in part.inputs] == ["positive"]
        assert [output.node.name for output in part.outputs] == ["bent"]
        (port,) = part.model.inputs
        assert (port.name, port.element_type, str(port.shape)) == ("positive", ElementType.f32, "[1,3]")
        (result,) = run(part.model, X)
        assert np.allclose(result, np.tanh(X * np.float32([[2, 3, 4]])))

    def test_values_read_by_others_are_outputs(self) -> None:
        model = network()
        part = cut(region_at(model), nodes(model, "positive"))
        assert [output.node.name for output in part.outputs] == ["positive"]
        assert [port.name for port in part.model.inputs] == ["x"]
        assert run(part.model, X)[0].tolist() == [[0, 2, 3]]

    def test_named_outputs(self) -> None:
        model = network()
        expected = [value(model, "scaled"), value(model, "positive")]
        part = cut(region_at(model), nodes(model, "positive", "scaled"), expected)
        scaled, positive = run(part.model, X)
        assert scaled.tolist() == [[0, 6, 12]]
        assert positive.tolist() == [[0, 2, 3]]

    def test_a_constant_in_the_place_of_a_parameter(self) -> None:
        model = network()
        constants = {value(model, "positive"): np.float32([[1, 1, 2]])}
        part = cut(region_at(model), nodes(model, "scaled"), constants=constants)
        assert part.inputs == ()
        assert run(part.model)[0].tolist() == [[2, 3, 8]]

    def test_opened_constant(self) -> None:
        model = network()
        part = cut(region_at(model), nodes(model, "scaled"), opened=[value(model, "scale")])
        assert sorted(input.node.name for input in part.inputs) == ["positive", "scale"]
        inputs_by_name = dict(zip([port.name for port in part.model.inputs], part.inputs, strict=True))
        arrays = [X if name == "positive" else X * 10 for name in inputs_by_name]
        assert run(part.model, *arrays)[0].tolist() == (X * X * 10).tolist()

    def test_opened_layer_gives_up_its_name(self) -> None:
        model = network()
        part = cut(
            region_at(model),
            nodes(model, "positive", "scaled"),
            [value(model, "scaled"), value(model, "positive")],
            opened=[value(model, "positive")],
        )
        assert "positive" in [port.name for port in part.model.inputs]
        assert len({node.id for node in part.model.graph.nodes}) == len(part.model.graph.nodes)

    def test_another_value_in_its_place(self) -> None:
        model = network()
        replaced = {value(model, "scaled"): value(model, "positive")}
        part = cut(region_at(model), nodes(model, "positive", "bent"), replaced=replaced)
        assert np.allclose(run(part.model, X)[0], np.tanh([[0, 2, 3]]))

    def test_ids_stay_and_new_ones_are_free(self) -> None:
        model = network()
        part = cut(region_at(model), nodes(model, "scaled"), next_id=1000)
        ids = {node.name: node.id for node in model.graph.nodes}
        assert {node.name: node.id for node in part.model.graph.nodes if node.name in ids}.items() <= ids.items()
        assert [int(node.id) >= 1000 for node in part.model.graph.results] == [True]

    def test_nothing_is_left(self) -> None:
        model = network()
        with pytest.raises(EvaluationError, check=coded(Code.no_result)):
            cut(region_at(model), set())

    def test_added_weights_are_written(self, tmp_path: Path) -> None:
        model = network()
        constants = {value(model, "positive"): np.float32([[1, 1, 2]])}
        part = cut(region_at(model), nodes(model, "scaled"), constants=constants).model
        part.save(tmp_path / "cut.xml")
        assert run(read_model(tmp_path / "cut.xml"))[0].tolist() == [[2, 3, 8]]


class TestWhatIsNeeded:
    def test_above_the_sinks(self) -> None:
        model = network()
        assert {node.name for node in needed_by(nodes(model, "scaled"))} == {"x", "positive", "scale", "scaled"}

    def test_stops(self) -> None:
        model = network()
        needed = needed_by(nodes(model, "bent"), [value(model, "positive")])
        assert {node.name for node in needed} == {"scale", "scaled", "bent"}

    def test_below_the_stops(self) -> None:
        model = network()
        needed = below(region_at(model), [value(model, "bent")], [value(model, "positive")])
        assert {node.name for node in needed} == {"scaled", "bent"}
        assert below(region_at(model), [value(model, "positive")], [value(model, "positive")]) == set()


def counting() -> Model:
    """y = sum + x, which is kept in the variable `sum`; z = 2 * x."""
    x = build.parameter([2], name="x")
    read = build.read_value(np.zeros(2, np.float32), variable_id="sum", name="read")
    total = build.add(read, x, name="total")
    written = build.assign(total, variable_id="sum", name="write")
    return build.model(
        [
            build.result(build.relu(written, name="after"), name="y"),
            build.result(build.multiply(x, np.float32(2), name="twice"), name="z"),
        ]
    )


class TestVariables:
    def test_read_and_assign_are_cut_together(self) -> None:
        model = counting()
        region = region_at(model)
        assert {node.name for node in with_variables(region, nodes(model, "read"))} == {"read", "write"}
        assert with_variables(region, nodes(model, "write", "twice")) == nodes(model, "twice")

    def test_an_assign_hands_on(self) -> None:
        model = counting()
        assert source(value(model, "write")) is value(model, "total")
        assert source(value(model, "total")) is value(model, "total")

    def test_read_variables_are_kept(self) -> None:
        model = counting()
        needed = below(region_at(model), [value(model, "after")])
        assert {node.name for node in needed} >= {"read", "total", "write", "after"}
        request = compile_model(cut(region_at(model), needed, [value(model, "after")]).model).create_infer_request()
        first, second = (request.infer([np.float32([1, 2])])[0].tolist() for _ in range(2))
        assert (first, second) == ([1, 2], [2, 4])
        assert {node.name for node in below(region_at(model), [value(model, "twice")])} == {"twice"}


class TestBodies:
    def looping(self) -> Model:
        def body(number: Value, state: Value) -> tuple[None, list[Value], list[Value]]:
            doubled = build.multiply(state, np.float32(2), name="doubled")
            return None, [build.add(doubled, np.float32(1), name="next")], []

        return build.model(
            build.result(build.loop(3, None, body, carried=[build.parameter([2], name="x")], name="loop")[0], name="y")
        )

    def test_a_part_of_a_body(self) -> None:
        model = self.looping()
        region = region_at(model, ("loop", "body"))
        assert region.scope == ("loop", "body")
        keep = {node for node in region.graph.nodes if node.name == "doubled"}
        part = cut(region, keep).model
        assert run(part, np.float32([1, 5]))[0].tolist() == [2, 10]

    def test_missing_bodies_are_reported(self) -> None:
        with pytest.raises(EvaluationError, match=naming("loop/other")):
            region_at(self.looping(), ("loop", "other"))


def test_inferred_types() -> None:
    x = build.parameter("?,3", name="x")
    shape = build.shape_of(x, output_type="i64", name="shape")
    model = build.model(
        build.result(build.reshape(build.relu(x, name="a"), shape, special_zero=False, name="b"), name="y")
    )
    region = region_at(model)
    assert str(region.type(value(model, "a")).shape) == "[?,3]"
    assert region.known(value(model, "shape")) is None
    inputs = cut(region, nodes(model, "b")).model.inputs
    assert {port.name: str(port.shape) for port in inputs} == {"a": "[?,3]", "shape": "[2]"}


def test_values_that_inference_knows() -> None:
    x = build.parameter([2, 3], name="x")
    model = build.model(build.result(build.shape_of(x, output_type="i64", name="shape"), name="y"))
    shape = region_at(model).known(value(model, "shape"))
    assert shape is not None
    assert shape.tolist() == [2, 3]
