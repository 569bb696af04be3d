"""`ir-exec schema`: the JSON Schemas of the reports, the source of the files in schemas/."""

from __future__ import annotations

import json

import click
from pydantic import BaseModel

from ir_exec.check import Reports
from ir_exec.cli.output.model_facts import NetworkFacts
from ir_exec.cli.output.plan_text import PlanOutput
from ir_exec.cli.output.terminal import write
from ir_exec.debug import Bundle, Comparison, NetworkDiff, OptimizerBisection, PassBisection, TraceIndex, WeightsDiff
from ir_exec.debug.comparison.items_report import Comparisons
from ir_exec.debug.device.tables.report import Conformance
from ir_exec.debug.inputs.shaping import ShapesReport
from ir_exec.debug.precision.effects import QuantizationReport
from ir_exec.debug.precision.simulation import PrecisionReport
from ir_exec.debug.profiles.profile_report import Profile
from ir_exec.debug.traces.run_report import RunReport
from ir_exec.fusions import FusionReport
from ir_exec.ir import Document
from ir_exec.report.records import schema_of
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
    "weights": WeightsDiff,
    "view": PageView,
    "precision": PrecisionReport,
    "bundle": Bundle,
    "profile": Profile,
    "plan": PlanOutput,
    "passes": PassBisection,
    "optimizers": OptimizerBisection,
    "quantization": QuantizationReport,
    "shapes": ShapesReport,
    "run": RunReport,
    "folder": FolderFacts,
    "conformance": Conformance,
    "fusions": FusionReport,
}


@click.command("schema", hidden=True)
@click.argument("of", type=click.Choice(list(MODELS)), default="report")
def command(of: str) -> None:
    """Print the JSON Schema of a report, of a document, or of the index of a trace."""
    write(json.dumps(schema_of(MODELS[of]), indent=2))
