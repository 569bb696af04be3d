"""Base classes of the records in reports, and their JSON."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from math import isfinite, isnan
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer
from pydantic_core import PydanticSerializationError
from pydantic_core import to_json as encode_json

from ir_exec.printable import printable
from ir_exec.report.csv import csv_text

__all__ = ["Number", "Record", "TableRecord", "json_number", "map_texts", "schema_of", "to_json"]


class Record(BaseModel):
    """Base class of the immutable records in reports, indexes and settings; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TableRecord(Record):
    """Base class of reports with a table, also as CSV and as a DataFrame."""

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each layer, as written by `--format csv`."""

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame.

        Raises:
            ImportError: If pandas is not installed.
        """
        import pandas  # type: ignore[import-untyped]  # its stubs are a separate package

        return pandas.DataFrame(self.to_rows())

    def to_csv(self) -> str:
        """Return the rows as CSV text with a header."""
        return csv_text(self.to_rows())


def json_number(number: float) -> float | str:
    """Return a number as JSON can express it: "NaN", "Infinity" or "-Infinity" if it is not finite."""
    if isfinite(number):
        return number
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


Number = Annotated[float, PlainSerializer(json_number, return_type=float | str, when_used="json")]
"""A float. In JSON, non-finite numbers are "NaN", "Infinity" or "-Infinity"."""


def to_json(record: BaseModel, *, indent: int | None = 1, exclude_defaults: bool = False) -> str:
    """Return a record as JSON text.

    Text that UTF-8 cannot encode, such as a path with other bytes, is escaped as in text reports: `a\\udcff.xml`.
    """
    try:
        return record.model_dump_json(indent=indent, exclude_defaults=exclude_defaults)
    except PydanticSerializationError:
        data = map_texts(record.model_dump(mode="json", exclude_defaults=exclude_defaults), _escape_surrogates)
        return encode_json(data, indent=indent, inf_nan_mode="null").decode()


def _escape_surrogates(text: str) -> str:
    return printable(text) if _SURROGATE.search(text) else text


_SURROGATE = re.compile("[\ud800-\udfff]")


def map_texts(data: Any, convert: Callable[[str], str]) -> Any:
    """Return JSON data with each text converted, also the keys of objects."""
    if isinstance(data, str):
        return convert(data)
    if isinstance(data, dict):
        return {convert(str(key)): map_texts(value, convert) for key, value in data.items()}
    return [map_texts(value, convert) for value in data] if isinstance(data, list | tuple) else data


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a record, with the attributes of its docstrings as descriptions of the properties."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(mode="serialization"),
    }
    for definition in (schema, *schema.get("$defs", {}).values()):
        describe_properties(definition)
    return schema


def describe_properties(schema: dict[str, Any]) -> None:
    """Move the section `Attributes:` of a model's docstring to the descriptions of its properties."""
    text, heading, section = schema.get("description", "").partition("\n\nAttributes:\n")
    if not heading:
        return
    section, _, remainder = section.partition("\n\n")
    schema["description"] = f"{text}\n\n{remainder}".rstrip()
    for entry in re.split(r"\n    (?=\S)", section.removeprefix("    ")):
        name, _, description = " ".join(entry.split()).partition(": ")
        if name in schema["properties"]:
            schema["properties"][name]["description"] = description
        else:
            schema["description"] += f"\n\n{name}: {description}"
