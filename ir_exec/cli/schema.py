"""`ir-exec schema`: the JSON Schema of the JSON report, the source of schemas/report.schema.json."""

from __future__ import annotations

import json

import click

from ir_exec.check import Reports


@click.command("schema", hidden=True)
def command() -> None:
    """Print the JSON Schema of the JSON report."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Reports.model_json_schema(mode="serialization"),
    }
    click.echo(json.dumps(schema, indent=2))
