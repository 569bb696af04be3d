"""Descriptions of operators, merged from the docstrings of classes."""

import inspect
from typing import Annotated

import pytest

from ir_exec import build
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import Int, Named
from ir_exec.ops.base.docstrings import describe, description_of, parse_docstring
from ir_exec.ops.base.registry import registered, resolve


class Base(Op):
    """The base of examples.

    Specification: x/example-1.

    Rows are read first.

    Inputs:
        data: Any shape,
            any type.
        other: Not an input of the class below.

    Attributes:
        axis: The axis of rows.

    Raises:
        IRError: IR503 for an axis out of range.
    """

    axis: Int
    own: Annotated[Int, Named("Own")] = 0


class Example(Base):
    """Rows.

    Inputs:
        data: At least one row.

    Attributes:
        own: Nothing.

    Outputs:
        output: As data.

    Raises:
        IRError: IR501 for a scalar.
    """

    inputs = (In("data"),)


def test_sections_of_a_base_class_are_merged():
    description = describe(Example)
    assert description.paragraphs == ["Rows.", "Rows are read first.", "Specification: x/example-1."]
    assert list(description.sections) == ["Inputs", "Attributes", "Outputs", "Raises"]
    assert description.entries("Inputs") == {"data": "Any shape, any type. At least one row."}
    assert list(description.entries("Attributes")) == ["axis", "own"]
    assert description.entries("Raises") == {"IRError": "IR501 for a scalar. IR503 for an axis out of range."}
    assert "Inputs:\n    data: Any shape,\n        any type.\n" in description_of(Example)


@pytest.mark.parametrize("cls", registered(), ids=lambda cls: f"{cls.type_name}-{cls.since}")
def test_every_section_is_about_the_class(cls):
    """An entry of another name would be lost in the description."""
    names = {
        "Inputs": {input.name for input in cls.inputs},
        "Attributes": {field.name for field in cls.fields()},
        "Outputs": {*cls.outputs, "outputs"},
        "Raises": {"IRError"},
    }
    for heading, entries in parse_docstring(inspect.cleandoc(cls.__doc__ or "")).sections.items():
        assert entries.keys() <= names[heading]


def test_builder_function_documents_arguments_in_order():
    text = build.topk.__doc__
    args = text[text.index("Args:") : text.index("Returns:")]
    names = ["data", "k", "axis", "mode", "sort", "index_element_type", "stable", "opset", "name", "tensor_names"]
    places = [args.index(f"\n    {name}: ") for name in names]
    assert places == sorted(places)
    assert "Returns:\n    values: " in text
    assert resolve("TopK", "opset1").__doc__ not in text
