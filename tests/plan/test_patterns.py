"""Patterns of nodes: what they match, what they take as one value, and the reason where they do not match."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ir_exec
from ir_exec import build
from ir_exec.infer import infer_types
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.plan.fusing import FusionRule, fuse
from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.passes.fuse_activation import ACTIVATIONS
from ir_exec.plan.patterns import (
    Match,
    Mismatch,
    NodePattern,
    anything,
    constant,
    explain,
    match,
    near,
    number,
    one_of,
    op,
)

X, Y = anything("x"), anything("y")


def plan_of(*outputs: Any) -> PlanGraph:
    """A plan of a network with these outputs, whose constants are known."""
    model = build.model(list(outputs))
    graph = model.graph
    types = infer_types(graph, weights=model.weights, overrides={})
    slots: list[Any] = [None] * len(graph.values)
    nodes = []
    for node in graph.nodes:
        if isinstance(node.op, Const):
            op = node.op
            slots[node.outputs[0].number] = model.weights.read(op.element_type, op.shape.static, op.offset, op.size)
        elif not isinstance(node.op, (Parameter, Result)):
            nodes.append(node)
    results = [node.values_in[0].number for node in graph.results]

    def operator(node: Any) -> Any:
        return node.op

    return PlanGraph(nodes, types, slots, results, operator)


def match_last(pattern: NodePattern, *outputs: Any) -> Match | Mismatch | None:
    """The result of the pattern at the last node of a network."""
    plan = plan_of(*outputs)
    return match(pattern, plan, plan.nodes[-1])


def names(result: Match | Mismatch | None) -> list[str]:
    assert isinstance(result, Match)
    return [node.type for node in result.nodes]


def image() -> Any:
    return build.parameter([2, 3], "f32", name="image")


def other() -> Any:
    return build.parameter([2, 3], "f32", name="other")


def const(value: Any) -> Any:
    return build.constant(np.array(value, np.float32))


def test_operators_of_python_are_layers() -> None:
    data = image()
    root = build.sqrt(build.add(build.power(data, const(2)), const(0.5)))
    result = match_last(X / op("Sqrt", X**2 + number("epsilon")), build.divide(data, root))
    assert names(result) == ["Divide", "Sqrt", "Add", "Power"]
    assert isinstance(result, Match)
    assert result.number("epsilon") == 0.5
    assert result.values["x"].name == "image"


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(
    ("operator_type", "layer", "commutes"),
    [
        ("Add", build.add, True),
        ("Multiply", build.multiply, True),
        ("Maximum", build.maximum, True),
        ("SquaredDifference", build.squared_difference, True),
        ("Subtract", build.subtract, False),
        ("Divide", build.divide, False),
    ],
)
def test_operands_in_either_order(
    operator_type: str, layer: Callable[..., Any], commutes: bool, is_turned: bool
) -> None:
    inputs = [build.relu(image()), const(2)]
    result = match_last(op(operator_type, op("ReLU", X), 2), layer(*(inputs[::-1] if is_turned else inputs)))
    assert isinstance(result, Match) == (commutes or not is_turned)


def test_a_name_is_one_value() -> None:
    data = image()
    gate = build.sigmoid(data)
    swish = X * op("Sigmoid", X)
    assert names(match_last(swish, build.multiply(gate, data))) == ["Multiply", "Sigmoid"]
    result = match_last(swish, build.multiply(gate, other()))
    assert isinstance(result, Mismatch)
    assert (result.node.type, [node.type for node in result.passed]) == ("Sigmoid", ["Multiply", "Sigmoid"])
    assert "image" in result.found


def test_steps_that_may_be_absent() -> None:
    pattern = op("ReLU", X).perhaps(lambda value: value + anything("bias"))
    relu = build.relu(image())
    assert names(match_last(pattern, relu)) == ["ReLU"]
    result = match_last(pattern, build.add(relu, const([1, 2, 3])))
    assert names(result) == ["Add", "ReLU"]
    assert isinstance(result, Match)
    assert result.values.keys() == {"x", "bias"}


def test_alternatives_from_left_to_right() -> None:
    pattern = one_of(op("Sqrt", X).named("first"), op("Sqrt|ReLU", X).named("second"))
    result = match_last(pattern, build.sqrt(image()))
    assert isinstance(result, Match)
    assert "first" in result.values
    result = match_last(pattern, build.relu(image()))
    assert isinstance(result, Match)
    assert "second" in result.values


def test_later_alternative_is_tried_after_failed_condition() -> None:
    """The first alternative matches, and the condition on the whole does not hold for it."""
    either = number("left") + op("ReLU", X) | Y + op("ReLU", X)
    pattern = either.where("no number", lambda match, value: "left" not in match.values)
    result = match_last(pattern, build.add(build.relu(image()), const(1)))
    assert isinstance(result, Match)
    assert result.values.keys() == {"x", "y"}


def test_numbers() -> None:
    third = np.float32(1 / 3)
    assert isinstance(match_last(X * near(1 / 3), build.multiply(image(), const(third))), Match)
    result = match_last(X * (1 / 3), build.multiply(image(), const(third)))
    assert isinstance(result, Mismatch)
    assert isinstance(match_last(X * number("n"), build.multiply(image(), const([1, 2, 3]))), Mismatch)
    assert isinstance(match_last(X * constant("n"), build.multiply(image(), const([1, 2, 3]))), Match)
    result = match_last(op("Multiply", op("ReLU", X), constant("n")), build.multiply(build.relu(image()), other()))
    assert isinstance(result, Mismatch)
    assert (result.node.type, result.found.split()[0]) == ("Multiply", "Parameter")


def test_numbers_with_more_axes_than_the_data() -> None:
    pattern = (X * number("n")).of_rank("x")
    assert isinstance(match_last(pattern, build.multiply(image(), const([[2]]))), Match)
    assert isinstance(match_last(pattern, build.multiply(image(), const([[[2]]]))), Mismatch)


def test_inner_values_have_no_other_readers() -> None:
    relu = build.relu(image())
    pattern = op("Sqrt", op("ReLU", X))
    assert isinstance(match_last(pattern, build.sqrt(relu)), Match)
    relu = build.relu(image())
    plan = plan_of(build.exp(relu), build.sqrt(relu))
    result = match(pattern, plan, next(node for node in plan.nodes if node.type == "Sqrt"))
    assert isinstance(result, Mismatch)
    assert "Exp" in result.found
    relu = build.relu(image())
    result = match_last(pattern, relu, build.sqrt(relu))
    assert isinstance(result, Mismatch)
    assert "output" in result.found


def test_reason_of_complete_match_takes_precedence() -> None:
    """The second alternative has another number of inputs; the first one fails by another reader."""
    relu = build.relu(image())
    plan = plan_of(build.exp(relu), build.sqrt(relu))
    sqrt = next(node for node in plan.nodes if node.type == "Sqrt")
    for alternatives in (op("ReLU", X) | op("ReLU", X, 0), op("ReLU", X, 0) | op("ReLU", X)):
        result = match(op("Sqrt", alternatives), plan, sqrt)
        assert isinstance(result, Mismatch)
        assert "Exp" in result.found


def test_readers_within_the_pattern_are_none_else() -> None:
    relu = build.relu(image())
    pattern = op("Sqrt", op("ReLU", X).named("relu")) + op("Exp", op("ReLU", X).named("relu"))
    assert len(names(match_last(pattern, build.add(build.sqrt(relu), build.exp(relu))))) == 4


def test_input_is_no_value_computed_by_pattern() -> None:
    relu = build.relu(image())
    result = match_last(op("ReLU", X) + Y, build.add(relu, relu))
    assert isinstance(result, Mismatch)


def test_operators_of_others_have_no_kind() -> None:
    class Relu(ir_exec.Op):
        """An operator of a user that is called like one of the library."""

        type_name = "ReLU"

    plan = plan_of(build.relu(image()))
    (node,) = plan.nodes
    plan.operator = lambda node: Relu()
    assert plan.kind(node) == ""
    assert match(op("ReLU", X), plan, node) is None


def test_reason_is_after_most_layers() -> None:
    """A tanh whose factor is not that of a Gelu; the reason names the layer, the number, and what it is."""
    data = image()
    inner = build.multiply(build.add(data, build.multiply(build.power(data, const(3)), const(0.1))), const(0.7978846))
    half = build.multiply(data, const(0.5))
    gelu = build.multiply(half, build.add(build.tanh(inner), const(1)))
    plan = plan_of(gelu)
    fuse(plan, "fuse_activation", ACTIVATIONS)
    (skipped,) = plan.skipped
    assert skipped.pass_name == "fuse_activation"
    assert skipped.node.type == "Multiply"
    assert "0.044715" in skipped.expected
    assert "0.1" in skipped.found
    assert len(plan.nodes) == 8


def test_layers_without_an_anchor_have_no_reason() -> None:
    plan = plan_of(build.multiply(build.multiply(image(), const(0.5)), other()))
    fuse(plan, "fuse_activation", ACTIVATIONS)
    assert plan.skipped == []


def test_fused_anchor_has_no_reason() -> None:
    """The Add after the product is tried first, and matches in part."""
    relu = FusionRule(
        op("Sqrt", op("ReLU", X)) | op("Exp", op("ReLU", X)),
        inputs=("x",),
        operator=lambda match: match.operator(match.nodes[0].outputs[0]),
        anchors=frozenset({"ReLU"}),
    )
    plan = plan_of(build.abs(build.exp(build.relu(image()))))
    fuse(plan, "fuse_relu", [relu])
    assert plan.skipped == []
    assert [node.type for node in plan.nodes] == ["Exp", "Abs"]


def expressions(leaves: Sequence[str]) -> st.SearchStrategy[Any]:
    """Trees of additions and products of leaves, as nested tuples."""
    return st.recursive(
        st.sampled_from(list(leaves)),
        lambda inner: st.tuples(st.sampled_from(["Add", "Multiply", "Subtract"]), inner, inner),
        max_leaves=6,
    )


LAYERS = {"Add": build.add, "Multiply": build.multiply, "Subtract": build.subtract}


def layers(tree: Any, leaves: dict[str, Any], turns: Callable[[], bool]) -> Any:
    """The layers of a tree, operands of sums and products swapped at random."""
    if isinstance(tree, str):
        return leaves[tree]
    operator_type, *inner = tree
    inputs = [layers(branch, leaves, turns) for branch in inner]
    return LAYERS[operator_type](*(inputs[::-1] if operator_type != "Subtract" and turns() else inputs))


def pattern_of(tree: Any) -> NodePattern:
    if isinstance(tree, str):
        return anything(tree)
    operator_type, first, second = tree
    return op(operator_type, pattern_of(first), pattern_of(second))


def size(tree: Any) -> int:
    return 0 if isinstance(tree, str) else 1 + size(tree[1]) + size(tree[2])


@given(tree=expressions("abc").filter(lambda tree: not isinstance(tree, str)), data=st.data())
def test_every_expression_matches_itself_with_its_operands_turned(tree: Any, data: st.DataObject) -> None:
    leaves = {name: build.parameter([2], "f32", name=name) for name in "abc"}
    result = match_last(pattern_of(tree), layers(tree, leaves, lambda: data.draw(st.booleans())))
    assert isinstance(result, Match)
    assert len(result.nodes) == size(tree)
    assert len(set(result.values.values())) == len(result.values)


@given(expression=expressions("ab"), another=expressions("ab"))
def test_expressions_match_equal_ones_only(expression: Any, another: Any) -> None:
    """A pattern without names of its own values matches a tree if one of its orders is that tree."""
    if isinstance(expression, str) or isinstance(another, str):
        return
    leaves = {name: build.parameter([2], "f32", name=name) for name in "ab"}
    fixed = pattern_with_leaves(expression)
    result = match_last(fixed, layers(another, leaves, lambda: False))
    assert isinstance(result, Match) == (another in orders(expression))


def pattern_with_leaves(tree: Any) -> NodePattern:
    """A pattern whose leaves are the Parameters of these names."""
    if isinstance(tree, str):
        return anything(tree).where(tree, lambda match, value: value.name == tree)
    operator_type, first, second = tree
    return op(operator_type, pattern_with_leaves(first), pattern_with_leaves(second))


def orders(tree: Any) -> list[Any]:
    """A tree with its operands in every order that means the same."""
    if isinstance(tree, str):
        return [tree]
    operator_type, first, second = tree
    forms = [(operator_type, *pair) for pair in itertools.product(orders(first), orders(second))]
    return forms + ([(operator_type, right, left) for _, left, right in forms] if operator_type != "Subtract" else [])


def test_explain_allows_further_readers_of_inner_nodes() -> None:
    x = image()
    square = build.multiply(x, x)
    plan = plan_of(build.relu(build.sqrt(square)), build.tanh(square))
    root = next(node for node in plan.nodes if node.type == "ReLU")
    pattern = op("ReLU", op("Sqrt", X * X))
    assert isinstance(match(pattern, plan, root), Mismatch)
    assert isinstance(explain(pattern, plan, root), Match)


def test_explain_follows_inputs_before_one_that_cannot_match() -> None:
    x, factor = image(), build.parameter([3], "f32", name="factor")
    plan = plan_of(build.multiply(build.relu(build.sqrt(x)), factor))
    reason = explain(op("Multiply", op("ReLU", op("Sqrt", X)), constant("factor")), plan, plan.nodes[-1])
    assert isinstance(reason, Mismatch)
    assert [node.type for node in reason.passed] == ["Multiply", "ReLU", "Sqrt"]
    assert "factor" in reason.found


def test_mismatch_has_the_hint_and_the_actual_value_of_its_pattern() -> None:
    plan = plan_of(build.relu(image()))
    pattern = op("ReLU", X.where("two axes", lambda partial, value: False, lambda partial, value: "of rank 2"))
    reason = explain(pattern, plan, plan.nodes[-1])
    assert isinstance(reason, Mismatch)
    assert (reason.expected, reason.found, reason.hint) == ("two axes", "of rank 2", "")
    reason = explain(op("ReLU", number("n").with_hint("store it")), plan, plan.nodes[-1])
    assert isinstance(reason, Mismatch)
    assert reason.hint == "store it"


def test_more_inputs_match_any_value() -> None:
    plan = plan_of(build.select(build.parameter([2, 3], "boolean", name="condition"), image(), np.float32(0)))
    assert isinstance(explain(op("Select", X, more_inputs=True), plan, plan.nodes[-1]), Match)
    assert isinstance(explain(op("Select", X), plan, plan.nodes[-1]), Mismatch)
