"""Pairs of values of two networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

from ir_exec import Model, build, read_model
from ir_exec.build import Value
from ir_exec.debug import compare
from ir_exec.debug.comparison.pairing import matching
from ir_exec.debug.comparison.pairing.matching import match_values
from ir_exec.debug.values.entries import Entry, entries_of
from tests.debug.values.test_entries import entry

ONNX = Path(__file__).parents[3] / "networks" / "onnx"


def pairs(ours: list[Entry], theirs: list[Entry]) -> dict[str, str]:
    matches = match_values(ours, theirs)
    return {our.path: matches[our.key].path for our in ours if our.key in matches}


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


def test_generated_names_match_for_equal_types() -> None:
    ours = [entry(f"Add_{i}", "Add" if i % 2 else "Multiply") for i in range(40)]
    same = [entry(f"Add_{i}", "Add" if i % 2 else "Multiply") for i in range(40)]
    other = [entry(f"Add_{i}", "Multiply" if i % 2 else "Add") for i in range(40)]
    assert pairs(ours, same) == {our.path: our.path for our in ours}
    assert pairs(ours, other) == {f"Add_{i}": f"Add_{i + 1 - 2 * (i % 2)}" for i in range(40)}


def test_numeric_tensor_names_match_for_equal_types() -> None:
    ours = [entry("a", "ReduceMean", names=("401",)), entry("b", "MatMul", names=("402",))]
    assert pairs(ours, [entry("x", "ReduceMean", names=("401",)), entry("y", "MatMul", names=("402",))]) == {
        "a": "x",
        "b": "y",
    }
    assert pairs(ours, [entry("x", "MatMul", names=("401",))]) == {}


def test_bodies_where_their_layers_match() -> None:
    def network(loop: str) -> list[Entry]:
        return [entry("x", scope=(loop, "body")), entry(loop, "Loop")]

    assert pairs(network("one"), network("two")) == {"one": "two", "one/body/x": "two/body/x"}


def test_constants_of_integers_are_not_floats() -> None:
    ours, theirs = [entry("w", "Const", element_type="f32")], [entry("w", "Const", element_type="u8")]
    assert pairs(ours, theirs) == {}
    assert pairs(ours, [entry("w", "Const", element_type="f16")]) == {"w": "w"}


def test_ambiguous_names_match_nothing() -> None:
    ours = [entry("a", names=("t",))]
    theirs = [entry("p", "Tanh", names=("t",)), entry("q", "Tanh", names=("t",))]
    assert pairs(ours, theirs) == {}


def network(numbers: range, *, reduced: bool = False, fault: bool = False) -> Model:
    """Products, each followed by a function and two views; the names count up. reduced: without the first views."""
    left = iter(numbers)
    random = np.random.default_rng(0)

    def make_named(make: object, *arguments: object, **attributes: object) -> Value:
        return make(*arguments, name=f"node_view_{next(left)}", **attributes)  # type: ignore[operator, no-any-return]

    value = build.parameter([2, 6], name="x")
    if not reduced:
        value = make_named(build.reshape, value, np.int64([2, 2, 3]), special_zero=False)
        value = make_named(build.reshape, value, np.int64([2, 6]), special_zero=False)
    for size, other in ((6, 3), (3, 6), (6, 6), (6, 9), (9, 3)):
        weights = random.standard_normal((size, other)).astype(np.float32)
        value = make_named(build.matmul, value, weights, transpose_a=False, transpose_b=False)
        value = make_named(build.sin if fault and size == 3 else build.tanh, value)
        value = make_named(build.reshape, value, np.int64([1, 2, other]), special_zero=False)
        pattern = np.int64([2, -1] if reduced else [2, other])
        value = make_named(build.reshape, value, pattern, special_zero=False)
    return build.model(build.result(value, name="y"))


class TestNamesThatAreCountedUp:
    """The reference has two layers less at its beginning, so that each name is that of another layer."""

    X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)

    def test_what_stands_around_layers_goes_before(self) -> None:
        ours, theirs = network(range(100)), network(range(100), reduced=True)
        report = compare(ours, theirs, [self.X])
        assert report.equal, str(report)
        partners = {layer.layer_name: layer.partner for layer in report.layers if layer.type in ("MatMul", "Tanh")}
        assert partners.pop("node_view_2") is None  # it reads another layer there
        assert partners == {f"node_view_{n}": f"node_view_{n - 2}" for n in range(3, 22) if n % 4 in (2, 3)}

    def test_a_fault_is_found(self) -> None:
        report = compare(network(range(100)), network(range(100), reduced=True, fault=True), [self.X])
        assert report.first_fault is not None
        assert "node_view_7" in (report.first_fault.layer_name, *report.first_fault.includes)

    def test_constants_follow_their_readers(self) -> None:
        ours, theirs = list(entries_of(network(range(100)))), list(entries_of(network(range(100), reduced=True)))
        matches = match_values(ours, theirs)
        floats = [our for our in ours if our.is_constant and our.element_type == "f32"]
        assert [matches[constant.key].shape for constant in floats[1:]] == [constant.shape for constant in floats[1:]]
        assert not any(our.key in matches and matches[our.key].numbers != our.numbers for our in ours if our.numbers)


class TestConstants:
    def test_that_change_all_shapes_behind_them(self) -> None:
        def largest(count: int) -> Model:
            x = build.parameter([4, 6], name="x")
            largest_values = build.topk(
                x, np.int64(count), axis=-1, mode="max", sort="value", index_element_type="i64"
            )[0]
            for _ in range(8):
                largest_values = build.tanh(largest_values)
            return build.model(build.result(largest_values, name="y"))

        report = compare(largest(2), largest(3), [np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)])
        assert report.first_fault is not None
        assert (report.first_fault.type, report.first_fault.taken_by) == ("Const", ("TopK_2",))

    def layer(self, name: str, transposed: bool) -> Model:
        weights = np.float32([[1, 2], [3, 4]])
        x = build.parameter([1, 2], name="x")
        constant = build.constant(weights.T.copy() if transposed else weights, name=name)
        return build.model(build.result(build.matmul(x, constant, transpose_b=transposed, name="product"), name="y"))

    def test_that_are_taken_transposed_are_others(self) -> None:
        report = compare(self.layer("w", False), self.layer("w", True), [np.float32([[1, 2]])])
        assert report.equal, str(report)

    def test_of_a_layer_with_another_attribute(self) -> None:
        def make_padded(mode: str) -> Model:
            x = build.parameter([4], name="x")
            return build.model(build.result(build.pad(x, np.int64([1]), np.int64([2]), pad_mode=mode), name="y"))

        report = compare(make_padded("reflect"), make_padded("edge"), [np.float32([1, 2, 3, 5])])
        assert report.unmatched == ()
        assert [fault.type for fault in report.faults] == ["Pad"]

    def test_by_what_takes_them(self) -> None:
        report = compare(self.layer("w", False), self.layer("other", False), [np.float32([[1, 2]])])
        assert next(layer.partner for layer in report.layers if layer.layer_name == "w") == "other"

    def test_axes_that_count_from_the_other_end(self) -> None:
        def mean(axis: int) -> Model:
            x = build.parameter([2, 3], name="x")
            axes = build.constant(np.int64([axis]), name=f"Const_{axis + 7}")
            return build.model(build.result(build.reduce_mean(x, axes, keep_dims=False, name="mean"), name="y"))

        report = compare(mean(-1), mean(1), [np.ones((2, 3), np.float32)])
        assert report.equal, str(report)


WRITTEN = (
    "attention",
    "bert",
    "bert_fused",
    "detection",
    "gpt2_fused",
    "lstm",
    "resnet",
    "spectrum",
    "unet",
    "yolo",
)


@pytest.fixture(scope="module")
def converted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files as OpenVINO and as ir_exec write them."""
    folder = tmp_path_factory.mktemp("written")
    for name in WRITTEN:
        model = openvino.convert_model(ONNX / f"{name}.onnx")
        openvino.save_model(model, folder / f"{name}.theirs.xml", compress_to_fp16=False)
        read_model(ONNX / f"{name}.onnx").save(folder / f"{name}.ours.xml")
    return folder


@pytest.mark.broad(keep=6)
@pytest.mark.parametrize("sides", [("ours", "theirs"), ("theirs", "ours")])
@pytest.mark.parametrize("name", WRITTEN)
def test_two_converters_of_one_network(converted_folder: Path, name: str, sides: tuple[str, str]) -> None:
    """Other layers express the same values, and merge others; names continue at unrelated layers."""
    a, b = (converted_folder / f"{name}.{side}.xml" for side in sides)
    report = compare(a, b, seed=0)
    assert report.faults == (), str(report)
    assert report.equal, str(report)


def test_position_says_nothing_between_networks_of_other_layers() -> None:
    """Two programs may write a network with as many layers of one type, which are others."""
    ours = [entry("t1", "Transpose"), *(entry(f"m{n}", "MatMul") for n in range(9))]
    theirs = [entry("s1", "Transpose"), *(entry(f"g{n}", "Gemm") for n in range(9))]
    assert pairs(ours, theirs) == {}


def test_outputs_go_by_their_order() -> None:
    inner = [entry(f"m{n}", "MatMul") for n in range(9)]
    others = [entry(f"g{n}", "Gemm") for n in range(9)]
    ours = [*inner, entry("y", "Add", output=True, place=1), entry("x", "Tanh", output=True, place=0)]
    theirs = [*others, entry("v", "Tanh", output=True, place=0), entry("w", "Tanh", output=True, place=1)]
    assert pairs(ours, theirs) == {"y": "w", "x": "v"}
    assert pairs(ours, theirs[:-1]) == {}


def test_layers_of_many_inputs_are_visited_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Concat of hundreds of values is next to each of them."""
    looks = 0
    stand_alike = matching.stand_alike

    def count_calls(*arguments: Any) -> bool:
        nonlocal looks
        looks += 1
        return stand_alike(*arguments)

    def join_inputs(prefix: str) -> list[Entry]:
        x = build.parameter([1, 4], name="x")
        steps = [build.tanh(build.add(x, np.float32(n)), name=f"{prefix}/step{n}") for n in range(200)]
        return list(entries_of(build.model(build.result(build.concat(steps, axis=0, name="all"), name="y"))))

    ours, theirs = join_inputs("a"), join_inputs("b")
    monkeypatch.setattr(matching, "stand_alike", count_calls)
    matches = match_values(ours, theirs)
    assert {entry.layer_name: matches[entry.key].layer_name for entry in ours if entry.type == "Tanh"} == {
        f"a/step{n}": f"b/step{n}" for n in range(200)
    }
    assert looks < 4 * len(ours)
