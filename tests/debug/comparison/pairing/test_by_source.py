"""Pairs of layers of two exports of one module, whose names differ."""

from __future__ import annotations

import pytest

from ir_exec.debug import compare
from ir_exec.debug.comparison.pairing.by_source import pairs_of_sources
from ir_exec.debug.comparison.pairing.matching import match_values
from ir_exec.debug.values.entries import Entry, entries_of
from ir_exec.errors import SourceLine
from ir_exec.model import read_model
from tests.helpers.sources import EXPORTS

SHAPES = {"nested": {"image": [1, 3, 9, 9]}, "encoder": {"tokens": [1, 5]}}


def entry(name: str, module: str, type: str = "Add", line: int | None = None) -> Entry:
    file = None if line is None else "/net.py"
    return Entry((), name, name, type, shape="[2]", source=SourceLine(file, line, module=module))


def names_of_pairs(ours: list[Entry], theirs: list[Entry]) -> list[tuple[str, str]]:
    pairs = [pair for candidates in pairs_of_sources(ours, theirs) for pair in candidates]
    return list(dict.fromkeys((mine.layer_name, other.layer_name) for mine, other in pairs))


def test_layers_of_a_module_are_paired_by_type_in_order() -> None:
    ours = [entry("a1", "a"), entry("a2", "a"), entry("r", "a", "ReLU"), entry("b1", "b")]
    theirs = [entry("x1", "a"), entry("q", "a", "ReLU"), entry("x2", "a"), entry("y1", "b")]
    assert set(names_of_pairs(ours, theirs)) == {("a1", "x1"), ("a2", "x2"), ("r", "q"), ("b1", "y1")}


def test_other_numbers_of_layers_are_no_candidates() -> None:
    assert names_of_pairs([entry("a1", "a"), entry("a2", "a")], [entry("x1", "a")]) == []


def test_a_folded_layer_leaves_no_candidates() -> None:
    """A scale that one exporter folds into a product changes the product."""
    ours = [entry("p", "a", "MatMul"), entry("scale", "a", "Multiply")]
    assert names_of_pairs(ours, [entry("q", "a", "MatMul")]) == []
    moved = [entry("p", "a", "MatMul"), entry("t", "a", "Transpose")]
    assert names_of_pairs(moved, [entry("q", "a", "MatMul")]) == [("p", "q")]


def test_a_line_is_tried_before_the_module() -> None:
    ours = [entry("a", "m", line=1), entry("b", "m", line=2)]
    theirs = [entry("y", "m", line=2), entry("x", "m", line=1)]
    assert names_of_pairs(ours, theirs)[:2] == [("a", "x"), ("b", "y")]


def test_a_layer_may_be_in_another_module_around() -> None:
    assert names_of_pairs([entry("a", "block.conv")], [entry("x", "block.norm")]) == [("a", "x")]
    assert names_of_pairs([entry("a", "block.conv")], [entry("x", "other.norm")]) == []


def test_the_number_of_a_repeated_call_is_ignored() -> None:
    ours = [entry("a1", "shared"), entry("a2", "shared")]
    theirs = [entry("x1", "shared"), entry("x2", "shared_1")]
    assert names_of_pairs(ours, theirs)[:2] == [("a1", "x1"), ("a2", "x2")]


@pytest.mark.parametrize("name", ["nested", "encoder"])
@pytest.mark.parametrize("other", ["_traced.onnx", "_traced.xml"])
def test_layers_of_two_exporters_are_paired(name: str, other: str) -> None:
    ours = list(entries_of(read_model(EXPORTS / f"{name}.onnx")))
    reference = list(entries_of(read_model(EXPORTS / f"{name}{other}")))
    ends = zip(*([value for value in side if value.is_end] for side in (ours, reference)), strict=True)
    partners = match_values(ours, reference, {mine.key: partner for mine, partner in ends}, by_source=True)
    layers = [value for value in ours if not value.is_constant]
    pairs = [(value, partners[value.key]) for value in layers if value.key in partners]
    assert len(pairs) >= 0.6 * len(layers)
    assert all(value.type == partner.type for value, partner in pairs if not value.is_end)


@pytest.mark.broad
@pytest.mark.parametrize("name", ["nested", "encoder"])
@pytest.mark.parametrize("reference", ["_traced.onnx", "_traced.xml"])
def test_equal_exports_have_no_fault(name: str, reference: str) -> None:
    report = compare(EXPORTS / f"{name}.onnx", EXPORTS / f"{name}{reference}", shapes=SHAPES[name])
    assert report.equal
    assert report.faults == ()
    layers = [layer for layer in report.layers if layer.type not in ("Const", "Parameter")]
    unmatched = [layer for layer in layers if layer.status == "unmatched"]
    assert len(unmatched) < 0.5 * len(layers)
