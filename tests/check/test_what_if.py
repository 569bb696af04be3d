"""Other input shapes: what cannot take them, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_exec import Report, check_model
from ir_exec.check.what_if import join_shapes, parse_shapes
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.types import Shape
from tests.helpers.facts import mentions, naming

NETWORKS = Path(__file__).parents[1] / "networks"
BERT = NETWORKS / "bert_tiny_fp16.xml"
CONV = NETWORKS / "conv_zoo.xml"


def errors(report: Report) -> list[tuple[str, str | None]]:
    return [(error.code, error.location.layer_type) for error in report.errors]


class TestSyntax:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("x[1..10,3,?,?]", {"x": "1..10,3,?,?"}),
            ("[1,3]", {"": "1,3"}),
            ("a[1],b/c:0[2, ?] , d[]", {"a": "1", "b/c:0": "2,?", "d": ""}),
            ("x[...]", {"x": "..."}),
            ("", {}),
            ("x=1,3", {"x": "1,3"}),
            ("x = [1, 2..8]", {"x": "1,2..8"}),
            ("x=[1],y=[2]", {"x": "1", "y": "2"}),
            ("a=b=?", {"a=b": "?"}),
            ("a=b[1]", {"a=b": "1"}),
            ("x[0]=1,3", {"x[0]": "1,3"}),
            ("x[0]=[1,3]", {"x[0]": "1,3"}),
            ("x=", {"x": ""}),
            ("1,3", {"": "1,3"}),
            ("?, 3", {"": "?,3"}),
            ("...", {"": "..."}),
            ("-1", {"": "?"}),
        ],
    )
    def test_shapes(self, text: str, expected: dict[str, str]) -> None:
        assert parse_shapes(text) == {name: Shape.parse(f"[{dims}]") for name, dims in expected.items()}

    @pytest.mark.parametrize("text", ["x", "x2", "x2,3", "x[1", "x]1[", "x[1]y", "x[1],x[2]"])
    def test_invalid_list_of_shapes(self, text: str) -> None:
        with pytest.raises(EvaluationError) as caught:
            parse_shapes(text)
        assert caught.value.code == Code.unknown_input

    def test_one_shape_for_an_input(self) -> None:
        assert join_shapes(["x[1],y[2]", "z[3]"]) == parse_shapes("x[1],y[2],z[3]")
        with pytest.raises(EvaluationError, match=naming("y")):
            join_shapes(["x[1],y[2]", "y[2]"])

    def test_invalid_dim(self) -> None:
        with pytest.raises(ShapeError):
            parse_shapes("x[1,two]")


def test_shapes_that_fit() -> None:
    report = check_model(BERT, shapes="input_ids[2,64],attention_mask[2,64],token_type_ids[2,64]")
    assert report.ok
    assert not report.diagnostics  # every dim is bounded now


def test_blame_path_from_the_constant_that_fixed_the_dim() -> None:
    report = check_model(BERT, shapes={"input_ids": [1, 600], "attention_mask": "1,600", 2: "1,600"})
    (error,) = report.errors
    assert (error.code, error.location.layer_id) == (Code.no_broadcast, "28")
    assert error.hint is not None
    assert error.hint == mentions(64, 14, "self.m.embeddings.position_embeddings.weight_compressed")
    assert '-> layer 28 "__module.m.embeddings/aten::add/Add_2" (Add)' in error.hint
    assert [location.layer_id for location in error.related] == ["14", "15", "27"]


def test_every_layer_that_cannot_take_a_batch() -> None:
    report = check_model(CONV, batch=3)
    assert errors(report) == [(Code.impossible_shape, "Reshape"), (Code.no_broadcast, "Divide")]
    reshape, divide = report.errors
    assert reshape.hint is not None
    assert reshape.hint == mentions(2, 14, "Constant_387", "[2,1,16,7,-1]")
    assert divide.hint is not None
    assert divide.hint == mentions(2, 22, "Constant_486", "[2,16,7,15]")


def test_the_outputs_with_other_shapes() -> None:
    assert check_model(BERT).outputs is None
    report = check_model(BERT, shapes="input_ids[2..4,64],attention_mask[2..4,64],token_type_ids[2..4,64]")
    pooled = "__module.m.pooler.activation/aten::tanh/Tanh"
    assert report.outputs == {"224": "f32[2..4,64,128]", pooled: "f32[2..4,128]"}
    batched = check_model(BERT, batch=3).outputs
    assert batched is not None
    assert batched[pooled] == "f32[3,128]"


def test_shapes_of_the_file_are_no_fault() -> None:
    assert check_model(CONV, shapes="a[2,4,20],b[2,4,14,15],c[1,4,9,10,8]").ok


def test_an_input_that_kept_its_shape() -> None:
    text = (Path(__file__).parents[1] / "bad" / "IR504-no-broadcast.xml").read_text("utf-8").replace("2,4", "2,3")
    raw = text.replace("<dim>4</dim>", "<dim>3</dim>").encode()
    assert check_model(raw).ok
    (error,) = check_model(raw, shapes="x[2,5]").errors
    assert error.code == Code.no_broadcast
    assert error.hint is not None
    assert error.hint == mentions(3, 1, "y", "f32[2,3]")


def test_faults_of_the_file_are_not_reported_again() -> None:
    path = Path(__file__).parents[1] / "bad" / "many-independent-faults.xml"
    before = [error.message for error in check_model(path).errors]
    after = check_model(path, shapes={0: "2,3"}).errors
    assert [error.message for error in after] == before


@pytest.mark.parametrize("shapes", ["nobody[1]", {7: [1]}, "[1,2]"])
def test_missing_inputs_are_reported(shapes: str | dict[str | int, list[int]]) -> None:
    report = check_model(CONV, shapes=shapes)
    (error,) = report.errors
    assert error.code == Code.unknown_input
    assert "a, b, c" in error.message
    assert report.layers_checked == 102  # the file itself is checked all the same


def test_batch_goes_by_the_layout_of_the_file() -> None:
    text = (Path(__file__).parents[1] / "bad" / "IR508-unbounded-dim.xml").read_text("utf-8")
    layout = '<rt_info><attribute name="layout" version="0" layout="[C,N]"/></rt_info><output>'
    with_layout = text.replace("<output>", layout, 1)
    # Without a layout the batch is dim 0, which is not known; with it dim 1, which the layers below fix to 3.
    assert not any(
        diagnostic.code == Code.unbounded_dim for diagnostic in check_model(text.encode(), batch=4).diagnostics
    )
    assert any(
        diagnostic.code == Code.unbounded_dim for diagnostic in check_model(with_layout.encode(), batch=4).diagnostics
    )


@pytest.mark.parametrize("layout", ["[C,H,W,N]", "[C,N,H]", "[N]", "[C,D]", ""])
def test_unsuitable_layout_gives_no_batch(layout: str) -> None:
    text = (Path(__file__).parents[1] / "bad" / "IR508-unbounded-dim.xml").read_text("utf-8")
    told = f'<rt_info><attribute name="layout" version="0" layout="{layout}"/></rt_info><output>'
    report = check_model(text.replace("<output>", told, 1).encode(), batch=4)
    assert any(diagnostic.code == Code.unbounded_dim for diagnostic in report.diagnostics)
    assert report.ok
