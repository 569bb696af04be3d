"""The fused operators of a model in OpenVINO, for comparison with `ir_exec.fusions`.

OpenVINO runs in a child process. Its runtime model lists the operators of a compiled model; the conversion to
PagedAttention is that of pipelines of OpenVINO GenAI.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.child import (
    Child,
    ChildCrashed,
    ChildRefused,
    require_device,
    require_openvino,
)
from ir_exec.debug.comparison.references.openvino import what_to_run
from ir_exec.errors import EvaluationError
from ir_exec.fusions import FusionReport
from ir_exec.fusions.catalogue import TRANSFORMATIONS
from ir_exec.fusions.transformations.paged_attention import PAGED_ATTENTION
from ir_exec.model import Model

__all__ = ["FusionCounter", "with_openvino"]


class FusionCounter:
    """OpenVINO in a child process, which compiles models and counts their fused operators.

    Args:
        timeout: Seconds for one model.
    """

    def __init__(self, device: str = "CPU", timeout: float = 600.0) -> None:
        require_openvino()
        self._device = device
        self._child = Child("openvino_child.py", timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._child.close()

    def count(self, model: Model) -> dict[str, int | str]:
        """The number of operators by name of the fusion; for PagedAttention the reason if the conversion fails.

        Raises:
            EvaluationError: If OpenVINO has no such device, or does not compile the model.
        """
        with TemporaryDirectory() as folder:
            require_device(self._child, self._device)
            request = what_to_run(model, Path(folder), self._device, "accuracy", None)
            try:
                steps = self._child.ask(do="steps", **request)["steps"]
            except (ChildCrashed, ChildRefused) as error:
                raise EvaluationError(f"OpenVINO does not compile the model: {error}", code=Code.failed) from None
            counts: dict[str, int | str] = {
                entry.name: sum(entry.is_step(step) for step in steps)
                for entry in TRANSFORMATIONS
                if entry.is_step is not None
            }
            try:
                counts[PAGED_ATTENTION.name] = self._child.ask(do="paged attention", **request)["count"]
            except (ChildCrashed, ChildRefused) as error:
                counts[PAGED_ATTENTION.name] = str(error)
        return counts


def with_openvino(report: FusionReport, model: Model, *, device: str = "CPU", timeout: float = 600.0) -> FusionReport:
    """The report with the numbers of OpenVINO.

    Raises:
        EvaluationError: If OpenVINO is not installed, has no such device, or does not compile the model.
    """
    with FusionCounter(device, timeout) as counter:
        counts = counter.count(model)
    names = [fusion.name for fusion in report.fusions]
    return report.model_copy(update={"openvino": {name: counts[name] for name in names if name in counts}})
