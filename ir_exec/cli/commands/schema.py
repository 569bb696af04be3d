"""`ir-exec schema`: the JSON Schemas of the reports, the source of the files in schemas/."""

from __future__ import annotations

import json
import re
from typing import Any

import click
from pydantic import BaseModel

from ir_exec.check import Reports
from ir_exec.cli.output.model_facts import NetworkFacts
from ir_exec.cli.output.plan_text import PlanOutput
from ir_exec.debug import Bundle, Comparison, NetworkDiff, PassBisection, TraceIndex
from ir_exec.debug.comparison.items_report import Comparisons
from ir_exec.debug.device.tables.report import Conformance
from ir_exec.debug.inputs.shaping import ShapesReport
from ir_exec.debug.precision.effects import QuantizationReport
from ir_exec.debug.precision.simulation import PrecisionReport
from ir_exec.debug.profiles.profile_report import Profile
from ir_exec.debug.traces.run_report import RunReport
from ir_exec.ir import Document
from ir_exec.text.folders.describing import FolderFacts
from ir_exec.view import PageView

MODELS: dict[str, type[BaseModel]] = {
    "report": Reports,
    "document": Document,
    "summary": NetworkFacts,
    "compare": Comparison,
    "compare-many": Comparisons,
    "trace": TraceIndex,
    "diff": NetworkDiff,
    "view": PageView,
    "precision": PrecisionReport,
    "bundle": Bundle,
    "profile": Profile,
    "plan": PlanOutput,
    "passes": PassBisection,
    "quantization": QuantizationReport,
    "shapes": ShapesReport,
    "run": RunReport,
    "folder": FolderFacts,
    "conformance": Conformance,
}


@click.command("schema", hidden=True)
@click.argument("of", type=click.Choice(list(MODELS)), default="report")
def command(of: str) -> None:
    """Print the JSON Schema of a report, of a document, or of the index of a trace."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MODELS[of].model_json_schema(mode="serialization"),
    }
    for one in (schema, *schema.get("$defs", {}).values()):
        describe_properties(one)
    click.echo(json.dumps(schema, indent=2))


def describe_properties(schema: dict[str, Any]) -> None:
    """Move the section `Attributes:` of a model's docstring to the descriptions of its properties."""
    text, heading, section = schema.get("description", "").partition("\n\nAttributes:\n")
    if not heading:
        return
    section, _, rest = section.partition("\n\n")
    schema["description"] = f"{text}\n\n{rest}".rstrip()
    for entry in re.split(r"\n    (?=\S)", section.removeprefix("    ")):
        name, _, description = " ".join(entry.split()).partition(": ")
        if name in schema["properties"]:
            schema["properties"][name]["description"] = description
        else:
            schema["description"] += f"\n\n{name}: {description}"
