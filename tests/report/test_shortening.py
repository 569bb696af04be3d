"""Names in narrow tables: one prefix for most of them, middles that go, and no two names that look alike."""

from __future__ import annotations

import pytest

from ir_exec.report.shortening import find_shared_prefix, measure_columns, replace_prefix, shorten_names

LAYERS = [
    f"model.layers.{number}.{part}/aten::linear/MatMul"
    for number in range(12)
    for part in ("self_attn.q_proj", "self_attn.k_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
]


def test_the_prefix_of_most_names() -> None:
    names = [*LAYERS, "input_ids", "model.lm_head/aten::linear/MatMul"]
    assert find_shared_prefix(names) == "model.layers."
    assert replace_prefix(names[0], "model.layers.") == "…0.self_attn.q_proj/aten::linear/MatMul"
    assert replace_prefix("input_ids", "model.layers.") == "input_ids"
    assert replace_prefix("model.layers.", "model.layers.") == "model.layers."


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["encoder/layer/one/MatMul"],
        ["a/b", "a/c"],
        ["first/long/name/of/one", "second/long/name/of/one"],
        # Without the prefix the first of them would be shown as the third.
        ["a/very/long/scope/x", "a/very/long/scope/y", "…x"],
    ],
)
def test_names_without_a_prefix(names: list[str]) -> None:
    assert find_shared_prefix(names) == ""


def test_prefix_that_is_a_name() -> None:
    assert find_shared_prefix(["encoder.layers.0.", "encoder.layers.1.", "encoder.layers."]) == "encoder.layers."


def test_both_ends_stay() -> None:
    assert shorten_names(["encoder.layer.3.output.dense/MatMul"], 20) == {
        "encoder.layer.3.output.dense/MatMul": "encode….dense/MatMul"
    }
    assert shorten_names(["short", "x" * 20], 20) == {"short": "short", "x" * 20: "x" * 20}


@pytest.mark.parametrize("width", [16, 20, 24, 40])
def test_no_two_names_look_alike(width: int) -> None:
    shown = shorten_names(LAYERS, width)
    assert set(shown) == set(LAYERS)
    assert len(set(shown.values())) == len(LAYERS)
    assert all(measure_columns(text) <= width or text == name for name, text in shown.items())


def test_indistinguishable_names_stay_complete() -> None:
    names = [f"{'a' * 30}{number}{'b' * 30}" for number in range(3)]
    assert shorten_names(names, 20) == {name: name for name in names}
    assert shorten_names(["ab…yz", f"ab{'c' * 20}yz"], 5)[f"ab{'c' * 20}yz"] != "ab…yz"


def test_wide_letters_and_marks_fit() -> None:
    names = ["データ" * 10, "e\u0301" * 40, "データ/" * 9 + "x"]
    for width in range(8, 30):
        shown = shorten_names(names, width)
        assert all(measure_columns(text) <= width or text == name for name, text in shown.items())
        assert not any(text.partition("…")[2].startswith("\u0301") for text in shown.values())
