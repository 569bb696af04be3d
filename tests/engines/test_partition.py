"""A graph divided into parts: order, few alternations, what is too small, constants."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.engines.partition import Partition, divide
from ir_exec.ops.infrastructure.values import Const, Parameter

NETWORKS = sorted((Path(__file__).parents[1] / "networks").glob("*.xml"))


def partition_without(model: Model, *types: str) -> Partition:
    return divide(model.graph, {node: "no" for node in model.graph.nodes if node.type in types})


def names(partition: Partition) -> list[tuple[bool, list[str]]]:
    return [(part.on_engine, [node.type for node in part.nodes]) for part in partition.parts]


def chain(*functions: str) -> Model:
    value = build.parameter([None, 4], name="x")
    for name in functions:
        value = getattr(build, name)(value)
    return build.model(build.result(value, name="y"))


def test_all_on_the_engine_is_one_part() -> None:
    partition = partition_without(chain("abs", "exp"))
    assert names(partition) == [(True, ["Abs", "Exp"])]
    assert partition.crossings == 0


def test_refused_layers_split_the_graph() -> None:
    partition = partition_without(chain("abs", "exp", "sqrt", "tanh", "sin", "cos", "abs"), "Tanh")
    assert names(partition) == [
        (True, ["Abs", "Exp", "Sqrt"]),
        (False, ["Tanh"]),
        (True, ["Sin", "Cos", "Abs"]),
    ]
    assert partition.crossings == 2
    assert [node.type for node in partition.reasons] == ["Tanh"]


def test_a_small_part_is_interpreted_too() -> None:
    partition = partition_without(chain("abs", "exp", "sqrt", "tanh", "sin", "tanh"), "Tanh")
    assert names(partition) == [(True, ["Abs", "Exp", "Sqrt"]), (False, ["Tanh", "Sin", "Tanh"])]
    assert {node.type for node in partition.reasons} == {"Tanh", "Sin"}


def test_branch_around_refused_layer_goes_to_later_part() -> None:
    # abs -> tanh -> +, and abs -> + : the sum needs tanh, and is not in the part of abs.
    x = build.parameter([4], name="x")
    a = build.sqrt(build.exp(build.abs(x)))
    total = build.add(build.tanh(a), a)
    model = build.model(build.result(build.sin(build.cos(total))))
    partition = partition_without(model, "Tanh")
    assert names(partition) == [(True, ["Abs", "Exp", "Sqrt"]), (False, ["Tanh"]), (True, ["Add", "Cos", "Sin"])]
    assert [value.node.type for value in partition.parts[2].inputs] == ["Tanh", "Sqrt"]


def test_constant_layers_are_in_each_reading_part() -> None:
    x = build.parameter([4], name="x")
    scale = build.exp(build.constant(np.ones(4, np.float32)))
    first = build.multiply(build.abs(build.sqrt(x)), scale)
    last = build.multiply(build.tanh(first), scale)
    partition = partition_without(build.model(build.result(build.sin(build.cos(last)))), "Tanh")
    assert [[node.type for node in part.constants] for part in partition.parts] == [["Exp"], [], ["Exp"]]
    assert [[value.node.type for value in part.inputs] for part in partition.parts] == [
        ["Parameter"],
        ["Multiply"],
        ["Tanh"],
    ]


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("types", [("MatMul", "Convolution"), ("Add", "ShapeOf"), ("Multiply", "Convert", "Gather")])
def test_parts_read_available_values(path: Path, types: tuple[str, ...]) -> None:
    model = read_model(path)
    partition = partition_without(model, *types)
    available = {
        value for node in model.graph.nodes if isinstance(node.op, Parameter | Const) for value in node.outputs
    }
    available |= {value for node in model.graph.nodes if node.type == "ReadValue" for value in node.outputs}
    seen = set()
    for part in partition.parts:
        assert available.issuperset(part.inputs)
        available.update(part.outputs)
        assert seen.isdisjoint(part.nodes)
        seen.update(part.nodes)
        assert part.on_engine == (part.nodes != () and not any(node in partition.reasons for node in part.nodes))
    kinds = [part.on_engine for part in partition.parts if part.nodes]
    assert all(first != second for first, second in pairwise(kinds))
