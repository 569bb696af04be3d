"""JSON Schemas of output: the fields of a model are described by its docstring."""

import json

from click.testing import CliRunner
from pydantic import BaseModel

from ir_exec.cli import main
from ir_exec.cli.commands.schema import describe_properties


class Example(BaseModel):
    """A layer.

    Attributes:
        name: The name,
            without its scope.
        size: In bytes.
        kept: Not a field.

    A note.
    """

    name: str
    size: int
    other: int


def test_attributes_of_the_docstring_describe_properties():
    schema = Example.model_json_schema()
    describe_properties(schema)
    assert schema["properties"]["name"]["description"] == "The name, without its scope."
    assert schema["properties"]["size"]["description"] == "In bytes."
    assert "description" not in schema["properties"]["other"]
    assert schema["description"] == "A layer.\n\nA note.\n\nkept: Not a field."


def test_the_command_describes_properties():
    schema = json.loads(CliRunner().invoke(main, ["schema", "plan"]).stdout)
    layer = schema["$defs"]["LayerPlan"]
    assert layer["properties"]["variant"]["description"]
    assert "Attributes:" not in layer["description"]
