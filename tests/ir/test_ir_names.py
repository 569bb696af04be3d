"""The grammar of `names` and `output_names`."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.ir import join_names, read_document, split_names
from tests.helpers.ir_files import RELU

SPELLINGS = {
    "a,b": ("a", "b"),
    "a,,b": ("a", "b"),
    ",a": ("a",),
    "a,": ("a",),
    " a , b ": (" a ", " b "),
    r"a\,b,c": ("a,b", "c"),
    r"a\\,b": (r"a\,b",),
    "a\\": ("a\\",),
    "\\": ("\\",),
    r"\,": (",",),
    r"\,,b": (",", "b"),
    r"a\b": (r"a\b",),
    ",": (),
    "": (),
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_spellings(text: str) -> None:
    assert split_names(text) == SPELLINGS[text]


@pytest.mark.parametrize("text", SPELLINGS)
def test_openvino_reads_the_same_names(text: str) -> None:
    ov = pytest.importorskip("openvino")
    quoted = escape(text, {'"': "&quot;"})
    model = ov.Core().read_model(RELU.replace('names="x"', f'names="{quoted}"').encode(), b"")
    assert model.inputs[0].names == set(split_names(text))


def test_no_attribute_is_no_names() -> None:
    assert split_names(None) == ()


NAME = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: not name.endswith("\\"))


@settings(max_examples=60)
@given(st.lists(NAME, max_size=4), st.sampled_from([[], ["ends in \\"]]))
def test_joined_names_split_into_the_same(names: list[str], last: list[str]) -> None:
    assert sorted(split_names(join_names([*last, *names]))) == sorted([*names, *last])


def test_names_that_openvino_writes(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    model = ov.Core().read_model(RELU.encode(), b"")
    names = {"a,b", r"d\,e", "<\"'&>\t\n", "ü", "plain", r"back\slash"}
    model.inputs[0].set_names(names)
    model.outputs[0].set_names({"out,1"})
    ov.save_model(model, tmp_path / "m.xml", compress_to_fp16=False)
    document = read_document(tmp_path / "m.xml")
    assert document is not None
    assert set(document.layers[0].outputs[0].names) == names
    assert document.layers[2].output_names == ("out,1",)
