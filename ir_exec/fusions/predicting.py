"""The fusions that OpenVINO applies to a model on a device, predicted from its layers."""

from __future__ import annotations

import os

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.fusions.catalogue import TRANSFORMATIONS
from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FUSION_TARGETS, FusionReport, FusionTarget, PredictedFusion
from ir_exec.fusions.transformation import Transformation
from ir_exec.fusions.transformations.paged_attention import PAGED_ATTENTION
from ir_exec.hints import suggested
from ir_exec.model import Model, read_model

__all__ = ["find_fused_layers", "list_fusions", "predict"]


def list_fusions(model: Model | str | os.PathLike[str], target: FusionTarget = "cpu") -> FusionReport:
    """Predict the fusions of a model, with the reason for each near miss.

    Layers in bodies of loops and branches are not searched.

    Args:
        model: A model, or the path of one.
        target: The device, or "genai" for the pipelines of OpenVINO GenAI on CPUs.

    Raises:
        IRError: If the model cannot be read.
        EvaluationError: IR705 for an unknown target.
    """
    if target not in FUSION_TARGETS:
        hint = suggested(str(target), FUSION_TARGETS) or f"the targets are {', '.join(FUSION_TARGETS)}"
        raise EvaluationError(f"unknown target {target!r}", code=Code.unknown_input, hint=hint)
    network = model if isinstance(model, Model) else read_model(os.fspath(model))
    graph = FusionGraph(network)
    fusions = [predict(graph, entry, target) for entry in TRANSFORMATIONS if target in entry.targets]
    paged = next((fusion for fusion in fusions if fusion.name == PAGED_ATTENTION.name), None)
    return FusionReport(
        target=target,
        fusions=tuple(fusions),
        paged_attention=None if paged is None or paged.fails else paged.matched,
    )


def predict(graph: FusionGraph, entry: Transformation, target: FusionTarget) -> PredictedFusion:
    """The matches and near misses of one transformation, whose nodes it may replace."""
    matches = entry.find(graph, target)
    return PredictedFusion(
        name=entry.name,
        matched=None if matches.unknown else 0 if matches.fails else len(matches.roots),
        layers=() if matches.fails else tuple(value.node.name for value in matches.roots),
        fails=matches.fails,
        missed=matches.missed,
        loss=entry.loss,
        source=str(entry.source),
        unknown=matches.unknown,
    )


def find_fused_layers(model: Model, target: FusionTarget = "cpu") -> dict[str, str]:
    """The name of the fusion by the id of each layer outside of bodies that OpenVINO fuses with others."""
    graph = FusionGraph(model)
    fused: dict[str, str] = {}
    for entry in TRANSFORMATIONS:
        if target in entry.targets:
            matches = entry.find(graph, target)
            if not matches.fails:
                nodes = [node for match in matches.details for node in match.nodes]
                nodes += [value.node for value in matches.roots]
                fused |= {node.id: entry.name for node in nodes if node.id not in fused}
    return fused
