"""`ir-exec schema`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from ir_exec.cli import main


def test_the_command_describes_properties() -> None:
    schema = json.loads(CliRunner().invoke(main, ["schema", "plan"]).stdout)
    layer = schema["$defs"]["LayerPlan"]
    assert layer["properties"]["variant"]["description"]
    assert "Attributes:" not in layer["description"]
