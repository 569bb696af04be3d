"""Values of one file in two programs: only equal names make pairs."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import compare
from ir_exec.debug.comparison.pairing.ends import pairs_by_name
from ir_exec.debug.values.entries import Entry
from tests.debug.values.test_entries import entry


def pairs(ours: list[Entry], theirs: list[Entry]) -> dict[str, str]:
    matches = pairs_by_name(ours, theirs)
    return {our.path: matches[our.key].path for our in ours if our.key in matches}


def test_names_of_tensors_go_before_names_of_layers() -> None:
    ours = [entry("a", names=("t",)), entry("b")]
    assert pairs(ours, [entry("t"), entry("a"), entry("b")]) == {"a": "t", "b": "b"}


def test_layer_without_tensor_names_may_own_another_tensor_name() -> None:
    ours = [entry("95"), entry("95/Convert", names=("95", "95/sink_port_0"), output=True)]
    assert pairs(ours, [entry("95", names=("95",), output=True)]) == {"95/Convert": "95"}


def test_generated_names_and_numbers_count() -> None:
    ours = [entry("a", "Add", names=("7",)), entry("Const_2", "Const")]
    theirs = [entry("7", "Gemm", names=("7",)), entry("Const_2", "Initializer")]
    assert pairs(ours, theirs) == {"a": "7", "Const_2": "Const_2"}


def test_position_and_type_make_no_pair() -> None:
    assert pairs([entry("a", "Relu")], [entry("b", "Relu")]) == {}


def test_a_name_of_two_values_makes_no_pair() -> None:
    ours = [entry("a", names=("t",)), entry("b", names=("t",))]
    assert pairs(ours, [entry("t")]) == {}
    assert pairs([entry("t")], ours) == {}


def test_one_value_has_one_partner() -> None:
    ours = [entry("a", names=("t", "u")), entry("b", names=("v",))]
    assert pairs(ours, [entry("c", names=("u", "v"))]) == {"a": "c"}


def test_codes_are_not_paired_with_decoded_values() -> None:
    ours = [entry("w", "Const", element_type="nf4"), entry("v", "Const", element_type="u8")]
    theirs = [entry("w", "Initializer", element_type="u8"), entry("v", "Initializer", element_type="u8")]
    assert pairs(ours, theirs) == {"v": "v"}
    assert pairs([entry("w", "Const", element_type="f32")], [entry("w", "Initializer", element_type="i64")]) == {}


def test_output_may_have_the_name_of_its_layer() -> None:
    ours = [entry("a", names=("7",)), entry("b", names=("9",), output=True)]
    assert pairs(ours, [entry("7"), entry("b", output=True)]) == {"a": "7", "b": "b"}


def test_only_outputs_may_be_named_like_their_layers() -> None:
    assert pairs([entry("b", names=("9",))], [entry("b")]) == {}


def test_tensor_name_of_another_value_is_not_an_output_name() -> None:
    ours = [entry("a", names=("b",)), entry("b", names=("9",), output=True)]
    assert pairs(ours, [entry("b", output=True)]) == {"a": "b"}


def test_layer_named_like_output_of_another_layer() -> None:
    pytest.importorskip("onnxruntime")
    x = build.parameter([2, 3], name="x")
    turned = build.transpose(build.tanh(x), np.int64([1, 0]), name="y")
    model = build.model([build.result(build.sin(turned), name="z"), build.result(build.exp(x), name="y")])
    report = compare(model, "onnxruntime")
    assert report.equal, str(report)
    assert [result.status for result in report.output_results if result.status == "unmatched"] == []
