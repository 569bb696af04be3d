"""Which value of a network stands for which of another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ir_exec import EvaluationError
from ir_exec.debug.entries import Entry, find, matched


def entry(name: str, type: str = "Add", *, id: str | None = None, **parts: object) -> Entry:
    return replace(Entry((), id or name, name, type), **parts)  # type: ignore[arg-type]  # any fields


def pairs(ours: list[Entry], theirs: list[Entry]) -> dict[str, str]:
    found = matched(ours, theirs)
    return {one.path: found[one.key].path for one in ours if one.key in found}


def test_tensor_names_go_before_layer_names() -> None:
    ours = [entry("a", names=("t",)), entry("b", names=("u",))]
    theirs = [entry("a", names=("u",)), entry("b", names=("t",))]
    assert pairs(ours, theirs) == {"a": "b", "b": "a"}


def test_layer_names_and_ports() -> None:
    ours = [entry("s", "Split", port=port, ports=2) for port in range(2)] + [entry("a")]
    theirs = [entry("a", "Subtract"), *(entry("s", "Split", port=port, ports=2) for port in range(2))]
    assert pairs(ours, theirs) == {"s:0": "s:0", "s:1": "s:1", "a": "a"}


@pytest.mark.parametrize("turned", [False, True])
def test_fused_layers_stand_for_the_last_of_their_parts(turned: bool) -> None:
    plain = [entry("conv", "Convolution"), entry("bias"), entry("act", "ReLU")]
    fused = [entry("block", "Fused", fused=("conv", "act", "bias"))]
    expected = {"act": "block"}
    if turned:
        assert pairs(fused, plain) == {"block": "act"}
    else:
        assert pairs(plain, fused) == expected


def test_position_among_equal_types() -> None:
    ours = [entry("a1"), entry("r1", "ReLU"), entry("a2")]
    theirs = [entry("x1"), entry("x2"), entry("y1", "ReLU"), entry("z", "Tanh")]
    assert pairs(ours, theirs) == {"a1": "x1", "a2": "x2", "r1": "y1"}


def test_position_where_numbers_differ_goes_by_types() -> None:
    ours = [entry("a", shape="[1]"), entry("b", shape="[2]"), entry("c", shape="[3]")]
    theirs = [entry("x", shape="[1]"), entry("z", shape="[3]")]
    assert pairs(ours, theirs) == {"a": "x", "c": "z"}


def test_generated_names_count_where_they_mean_the_same() -> None:
    ours = [entry(f"Add_{i}", "Add" if i % 2 else "Multiply") for i in range(40)]
    same = [entry(f"Add_{i}", "Add" if i % 2 else "Multiply") for i in range(40)]
    other = [entry(f"Add_{i}", "Multiply" if i % 2 else "Add") for i in range(40)]
    assert pairs(ours, same) == {one.path: one.path for one in ours}
    assert pairs(ours, other) == {f"Add_{i}": f"Add_{i + 1 - 2 * (i % 2)}" for i in range(40)}


def test_bodies_where_their_layers_match() -> None:
    def network(loop: str) -> list[Entry]:
        return [entry("x", scope=(loop, "body")), entry(loop, "Loop")]

    assert pairs(network("one"), network("two")) == {"one": "two", "one/body/x": "two/body/x"}


def test_constants_of_integers_are_not_floats() -> None:
    ours, theirs = [entry("w", "Const", element_type="f32")], [entry("w", "Const", element_type="u8")]
    assert pairs(ours, theirs) == {}
    assert pairs(ours, [entry("w", "Const", element_type="f16")]) == {"w": "w"}


def test_names_that_are_not_unique_match_nothing() -> None:
    ours = [entry("a", names=("t",))]
    theirs = [entry("p", "Tanh", names=("t",)), entry("q", "Tanh", names=("t",))]
    assert pairs(ours, theirs) == {}


def test_finding_by_name() -> None:
    entries = [
        entry("x", scope=("loop", "body"), names=("inner",)),
        entry("s", "Split", port=1, ports=2),
        entry("a", names=("t",)),
    ]
    for name, path in (
        ("t", "a"),
        ("a", "a"),
        ("s:1", "s:1"),
        ("loop/body/x", "loop/body/x"),
        ("inner", "loop/body/x"),
    ):
        assert find(entries, name).path == path
    with pytest.raises(EvaluationError, match="no layer or tensor 'loop/body/y'") as caught:
        find(entries, "loop/body/y")
    assert caught.value.hint == "did you mean loop/body/x?"
