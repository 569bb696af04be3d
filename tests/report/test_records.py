"""Records of reports, and their JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel, ValidationError

from ir_exec.report.records import Number, Record, TableRecord, describe_properties, schema_of, to_json

ANY_TEXT = st.text(st.characters(exclude_categories=()))


class Sample(Record):
    """A layer.

    Attributes:
        name: The name,
            without its scope.
        size: In bytes.
        kept: Not a field.

    A note.
    """

    name: str
    size: int = 0
    error: Number = 0.0
    by_name: Mapping[str, tuple[float | None, ...]] = {}


class SampleTable(TableRecord):
    names: tuple[str, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        return [{"name": name, "length": len(name)} for name in self.names]


def test_records_are_immutable_without_unknown_fields() -> None:
    record = Sample(name="a")
    with pytest.raises(ValidationError):
        record.name = "b"  # type: ignore[misc]  # the record is frozen
    with pytest.raises(ValidationError):
        Sample(name="a", other=1)  # type: ignore[call-arg]  # the field is unknown


@pytest.mark.parametrize(("number", "shown"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_numbers_that_json_cannot_express(number: float, shown: str) -> None:
    text = to_json(Sample(name="a", error=number))
    assert json.loads(text)["error"] == shown
    assert Sample.model_validate_json(text).error == pytest.approx(number, nan_ok=True)


@given(ANY_TEXT.filter(lambda text: text.encode("utf-8", "replace").decode() == text), st.floats())
def test_json_and_back(name: str, number: float) -> None:
    record = Sample(name=name, size=3, error=number, by_name={name: (0.1, None)})
    again = Sample.model_validate_json(to_json(record))
    assert again.model_dump(exclude={"error"}) == record.model_dump(exclude={"error"})
    assert again.error == pytest.approx(number, rel=0, abs=0, nan_ok=True)


@given(ANY_TEXT)
def test_json_of_any_text_is_valid_utf8(name: str) -> None:
    text = to_json(Sample(name=name, by_name={name: ()}))
    loaded = json.loads(text.encode())
    assert loaded["size"] == 0
    assert len(loaded["by_name"]) == 1
    assert not any("\ud800" <= char <= "\udfff" for char in loaded["name"])


def test_invalid_utf8_is_escaped() -> None:
    record = Sample(name="a\udcff\n.xml", error=math.inf, by_name={"b\n": (1e-7, math.nan)})
    escaped, plain = to_json(record), to_json(record.model_copy(update={"name": "a\\udcff\\n.xml"}))
    assert escaped == plain
    assert to_json(RootModel[list[str]](["\udcff"]), indent=None) == '["\\\\udcff"]'


def test_defaults_may_be_left_out() -> None:
    assert json.loads(to_json(Sample(name="a"), indent=None, exclude_defaults=True)) == {"name": "a"}
    assert json.loads(to_json(Sample(name="\udcff"), indent=None, exclude_defaults=True)) == {"name": "\\udcff"}


def test_rows_as_csv() -> None:
    table = SampleTable(names=("a", "b,c"))
    assert list(csv.DictReader(io.StringIO(table.to_csv()))) == [
        {"name": "a", "length": "1"},
        {"name": "b,c", "length": "3"},
    ]


def test_attributes_of_the_docstring_describe_properties() -> None:
    class Documented(BaseModel):
        name: str
        size: int
        other: int

    Documented.__doc__ = Sample.__doc__
    schema = Documented.model_json_schema()
    describe_properties(schema)
    assert schema["properties"]["name"]["description"] == "The name, without its scope."
    assert schema["properties"]["size"]["description"] == "In bytes."
    assert "description" not in schema["properties"]["other"]
    assert schema["description"] == "A layer.\n\nA note.\n\nkept: Not a field."


def test_schema_matches_records() -> None:
    schema = schema_of(Sample)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert schema["properties"]["error"]["anyOf"] == [{"type": "number"}, {"type": "string"}]
