"""Fusions that OpenVINO applies to a model, and patterns that almost match."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from ir_exec.report.records import Record

__all__ = ["FUSION_TARGETS", "FusionReport", "FusionTarget", "MissedFusion", "PredictedFusion"]

FusionTarget: TypeAlias = Literal["cpu", "genai", "gpu", "npu"]
FUSION_TARGETS: tuple[FusionTarget, ...] = get_args(FusionTarget)


class MissedFusion(Record):
    """A layer at which a pattern fails.

    Attributes:
        layer: The name of the layer; empty if the model as a whole does not meet the condition.
        expected: The condition of the transformation.
        actual: The value in the model.
        hint: The setting of the exporter, or the edit, that makes the pattern match; None if there is none.
    """

    layer: str
    expected: str
    actual: str
    hint: str | None = None


class PredictedFusion(Record):
    """The result of one transformation.

    Attributes:
        name: The operator that the transformation makes.
        matched: The number of matches; None if it is unknown.
        layers: The last layer of each match.
        missed: The near misses.
        loss: The consequence of a miss; None if a miss only costs time.
        source: The source of the conditions: transformation, release and URL.
        unknown: The reason for an unknown number of matches.
        fails: The transformation raises an error for this model.
    """

    name: str
    matched: int | None
    layers: tuple[str, ...] = ()
    missed: tuple[MissedFusion, ...] = ()
    loss: str | None = None
    source: str
    unknown: str | None = None
    fails: bool = False


class FusionReport(Record):
    """The fusions of a model for one target.

    Attributes:
        paged_attention: Attention layers that become PagedAttention; None if the conversion fails.
        openvino: The number of operators in OpenVINO by name of the fusion, if they were requested.
    """

    target: FusionTarget
    fusions: tuple[PredictedFusion, ...]
    paged_attention: int | None
    openvino: dict[str, int | str] | None = None

    def find(self, name: str) -> PredictedFusion:
        """Return the fusion of this name.

        Raises:
            KeyError: If the target has no such fusion.
        """
        for fusion in self.fusions:
            if fusion.name == name:
                return fusion
        raise KeyError(name)
