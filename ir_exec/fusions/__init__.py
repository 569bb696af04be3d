"""The fusions that OpenVINO applies to a model, predicted without OpenVINO, and the reasons for missed ones.

from ir_exec.fusions import list_fusions

for fusion in list_fusions("model.xml", "cpu").fusions:
    for missed in fusion.missed:
        print(fusion.name, missed.layer, missed.expected, missed.actual)
"""

from ir_exec.fusions.predicting import find_fused_layers, list_fusions
from ir_exec.fusions.records import (
    FUSION_TARGETS,
    FusionReport,
    FusionTarget,
    MissedFusion,
    PredictedFusion,
)

__all__ = [
    "FUSION_TARGETS",
    "FusionReport",
    "FusionTarget",
    "MissedFusion",
    "PredictedFusion",
    "find_fused_layers",
    "list_fusions",
]
