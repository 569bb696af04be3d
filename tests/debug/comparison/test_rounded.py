"""Copies of a network with weights of 16 bits: their loss is reported once, and faults in them are found."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.debug import compare, diff
from ir_exec.debug.comparison.rounded import rounded_to
from ir_exec.types import Array, ElementType

RANDOM = np.random.default_rng(3)
W = (RANDOM.standard_normal((8, 8)) / 3).astype(np.float32)
V = (RANDOM.standard_normal((8, 4)) / 3).astype(np.float32)
X = RANDOM.standard_normal((5, 8)).astype(np.float32)


def network(w: Array = W, *, middle: str = "tanh") -> Model:
    x = build.parameter([5, 8], name="x")
    product = build.matmul(x, build.constant(w, name="w"), name="first")
    inner = getattr(build, middle)(product, name="inner")
    last = build.matmul(inner, build.constant(V, name="v"), name="second")
    return build.model(build.result(last, name="y"), name="net")


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    network().save(tmp_path / "wide.xml")
    network().save(tmp_path / "short.xml", compress_to_fp16=True)
    return tmp_path / "wide.xml", tmp_path / "short.xml"


class TestCompare:
    @pytest.mark.parametrize("side", ["reference", "model"])
    def test_no_layer_is_wrong(self, copies: tuple[Path, Path], side: str) -> None:
        model, reference = copies if side == "reference" else copies[::-1]
        report = compare(model, reference, [X])
        assert report.equal, str(report)
        assert report.faults == ()
        assert {layer.status for layer in report.layers} <= {"equal", "close"}
        assert report.unmatched == ()
        assert report.weights is not None
        assert (report.weights.element_type, report.weights.side, report.weights.count) == ("f16", side, 2)
        assert report.weights.elements == W.size + V.size
        assert report.weights.sqnr_db == pytest.approx(74, abs=4)

    def test_unrounded_weights_have_no_note(self) -> None:
        assert compare(network(), network(), [X]).weights is None

    def test_different_weight_is_a_fault(self, copies: tuple[Path, Path]) -> None:
        w = W.copy()
        w[3, 2] *= 1.01
        report = compare(network(w), copies[1], [X])
        assert [fault.layer_name for fault in report.faults] == ["w"]
        assert report.weights is not None
        assert report.weights.count == 1

    def test_a_wrong_operator_beside_rounded_weights(self, copies: tuple[Path, Path]) -> None:
        report = compare(network(middle="erf"), copies[1], [X])
        assert [fault.layer_name for fault in report.faults] == ["inner"]

    def test_round_numbers_are_no_copy(self) -> None:
        """2 is 2.001 in bf16, and another number in a file that holds f32."""
        report = compare(network(np.eye(8, dtype=np.float32) * 2), network(np.eye(8, dtype=np.float32) * 2.001), [X])
        assert [fault.layer_name for fault in report.faults] == ["w"]
        assert report.weights is None

    def test_copy_with_weights_converted_back(self) -> None:
        report = compare(network(), network(W.astype(np.float16).astype(np.float32)), [X])
        assert report.equal
        assert report.weights is not None
        assert (report.weights.element_type, report.weights.count) == ("f16", 1)

    def test_given_tolerances_count(self, copies: tuple[Path, Path]) -> None:
        assert not compare(*copies, [X], rtol=0, atol=1e-9).equal

    def test_renumbered_names_do_not_matter(self, tmp_path: Path) -> None:
        """The weights of a pair of layers go together, though one is converted on its way."""
        network().save(tmp_path / "short.xml", compress_to_fp16=True)
        text = (tmp_path / "short.xml").read_text()
        for old, new in (('"w', '"Const_77'), ('"v', '"Const_5')):
            text = text.replace(f"name={old}", f"name={new}")
        (tmp_path / "short.xml").write_text(text)
        report = compare(network(), tmp_path / "short.xml", [X])
        assert report.faults == ()
        assert report.weights is not None
        assert report.weights.count == 2


class TestDiff:
    @pytest.mark.parametrize("side", ["a", "b"])
    def test_the_copy_is_one_line(self, copies: tuple[Path, Path], side: str) -> None:
        a, b = copies if side == "b" else copies[::-1]
        differences = diff(a, b)
        assert not differences.equal
        assert (differences.added, differences.removed, differences.changed) == ((), (), ())
        assert differences.weights is not None
        assert (differences.weights.element_type, differences.weights.side, differences.weights.count) == (
            "f16",
            side,
            2,
        )
        assert list(differences.lines()) == []

    def test_other_changes_are_listed_as_ever(self, copies: tuple[Path, Path]) -> None:
        w = W.copy()
        w[0, 0] += 1
        differences = diff(network(w, middle="erf"), copies[1])
        assert {layer.path for layer in differences.changed} >= {"w", "inner"}
        assert differences.weights is not None
        assert differences.weights.count == 1


@pytest.mark.parametrize("element_type", [ElementType.f16, ElementType.bf16])
def test_roundings(element_type: ElementType) -> None:
    wide = np.float32([1 / 3, -2.5, 1e-7, 0, np.inf, np.nan])
    assert rounded_to(wide, wide.astype(element_type.dtype)) is element_type
    assert rounded_to(wide, wide.astype(element_type.dtype).astype(np.float32)) is element_type
    assert rounded_to(wide, np.nextafter(wide.astype(element_type.dtype), element_type.dtype.type(9))) is None
    assert rounded_to(wide.astype(element_type.dtype), wide) is None


def test_numbers_beyond_the_range_may_be_clamped() -> None:
    wide = np.float32([1e6, -1e6, 1])
    assert rounded_to(wide, np.float16([65504, -65504, 1])) is ElementType.f16
    assert rounded_to(wide, np.float16([np.inf, -np.inf, 1])) is ElementType.f16
    assert rounded_to(wide, np.float16([65504, 65504, 1])) is None


def test_other_types_and_shapes() -> None:
    assert rounded_to(np.arange(3), np.arange(3)) is None
    assert rounded_to(np.zeros(2, np.float32), np.zeros(3, np.float16)) is None
    assert rounded_to(np.zeros(0, np.float32), np.zeros(0, np.float16)) is None
    assert rounded_to(np.float32([1 / 3]), np.float32([1 / 3]).astype(ml_dtypes.float8_e4m3fn)) is None


def test_a_network_of_the_repository() -> None:
    path = Path(__file__).parents[2] / "networks" / "bert_tiny_fp16.xml"
    assert compare(path, read_model(path)).weights is None
