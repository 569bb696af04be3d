"""`ir-exec ops`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.cli.commands.ops import attributes_of, inputs_of, notes_of, operators_page, specification_of, types_text
from ir_exec.cli.options import versioned_name
from ir_exec.ops import Op, registered, resolve
from ir_exec.ops.base.docstrings import description_of
from ir_exec.types import ALL, BOOLEAN, FLOAT, INDEX, INTEGER, NUMERIC, STRING, ElementType, element_types
from tests.helpers.facts import mentions


def ops(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["ops", *arguments])


def test_all_operators() -> None:
    result = ops()
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert any(line.split()[:2] == ["Gather-8", "movement/gather-8"] for line in lines)
    assert len(lines) > 240


def test_every_version_of_a_type() -> None:
    result = ops("gather")
    assert result.exit_code == 0
    assert [line for line in result.output.splitlines() if line.startswith("Gather-") and " " not in line] == [
        "Gather-1",
        "Gather-7",
        "Gather-8",
    ]
    assert mentions("data", "any", "indices", "integer", "axis", "integer") in result.output.splitlines()
    assert "attributes  [batch_dims]" in result.output


def test_one_version() -> None:
    result = ops("Gather-7", "Parameter")
    names = [line for line in result.output.splitlines() if line in ("Gather-1", "Gather-7", "Gather-8", "Parameter-1")]
    assert names == ["Gather-7", "Parameter-1"]
    assert ["inputs", "none"] in [line.split() for line in result.output.splitlines()]


def test_a_type_that_does_not_exist() -> None:
    result = ops("Gathr-8")
    assert (result.exit_code, result.stderr) == (2, mentions("Gathr-8", "Gather"))
    assert ops("???").stderr == mentions("???", "ir-exec ops")


def test_the_page() -> None:
    assert ops("--markdown").output == operators_page()


def test_the_command_is_in_the_help() -> None:
    assert "ops " in CliRunner().invoke(main, ["--help"]).output


PAGE = Path(__file__).parents[3] / "docs" / "operators.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == operators_page(), "write it anew: ir-exec ops --markdown > docs/operators.md"


@pytest.mark.parametrize(
    ("types", "text"),
    [
        (ALL, "any"),
        (NUMERIC, "numeric"),
        (NUMERIC | BOOLEAN, mentions("numeric", "boolean")),
        (FLOAT - {ElementType.nf4}, mentions("float", "nf4")),
        (INTEGER, "integer"),
        (INDEX, "i32, i64"),
        (STRING, "string"),
        (element_types("u8 f32 f16"), "f16, f32, u8"),
        (element_types("boolean"), "boolean"),
        (ALL - STRING, mentions("numeric", "boolean")),
    ],
)
def test_sets_of_element_types(types: frozenset[ElementType], text: object) -> None:
    assert types_text(types) == text


def test_ports_and_attributes() -> None:
    gather, concat, stft = resolve("Gather", "opset8"), resolve("Concat", "opset1"), resolve("STFT", "opset15")
    assert [name for name, _ in inputs_of(gather)] == ["data", "indices", "axis"]
    assert inputs_of(concat) == [("inputs...", "any")]
    assert inputs_of(stft)[1] == ("window", mentions("signal"))
    assert inputs_of(resolve("DFT", "opset7"))[2] == ("[signal_size]", "i32, i64")
    assert attributes_of(gather) == ["[batch_dims]", "[out_of_range]"]
    assert attributes_of(concat) == ["axis"]


@pytest.mark.parametrize("cls", registered(), ids=versioned_name)
def test_every_operator_names_a_page(cls: type[Op]) -> None:
    category, _, page = specification_of(cls).partition("/")
    assert category.isalpha()
    assert page == "scaled-dot-product-attention" or page.rpartition("-")[2].isdigit()


def test_version_is_described_with_its_base() -> None:
    text = description_of(resolve("RDFT", "opset9"))
    assert mentions("DFT") in text.splitlines()
    assert mentions("signal_size") in text.splitlines()


def test_description_includes_shared_attributes() -> None:
    assert "auto_broadcast: `numpy`" in description_of(resolve("Add", "opset1"))
    lines = description_of(resolve("Convolution", "opset1")).splitlines()
    assert mentions("pads_begin") in lines
    assert mentions("pads_end") in lines
    assert "output = data" not in description_of(resolve("SoftMax", "opset1"))


def test_notes_are_complete_sentences() -> None:
    assert notes_of(resolve("GatherElements", "opset6")) == [mentions("OpenVINO", "indices", 0)]
    assert notes_of(resolve("Abs", "opset1")) == []


def test_page_links_have_targets() -> None:
    page = operators_page()
    links = {part.split(")")[0] for part in page.split("](#")[1:]}
    assert links
    assert links == {line.removeprefix("### ").lower() for line in page.splitlines() if line.startswith("### ")}
