"""onnxruntime with an export of the model as a reference; its tensors have the names of the model's values."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.onnx_reference import ONNXReference
from ir_exec.errors import EvaluationError, UnsupportedError
from ir_exec.hints import install_hint
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model
from ir_exec.runtime.precision import Precision

__all__ = ["ExportedReference"]


class ExportedReference(ONNXReference):
    """MODEL itself lowered to ONNX, with all tensors as outputs, run in a child process.

    Args:
        precision: The precision of 16-bit floats, as for `compile_model`.
        title: Its name in reports.

    Raises:
        EvaluationError: If onnxruntime or onnx is not installed.
        UnsupportedError: If the model has variables, or if ONNX cannot express its layers.
    """

    def __init__(
        self,
        model: Model,
        *,
        timeout: float,
        precision: Precision = "f32",
        title: str = "onnxruntime (exported)",
    ) -> None:
        missing = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
        if missing:
            hint = install_hint("onnxruntime")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        from ir_exec.engines.widening import widen_model
        from ir_exec.onnx.export.files import write_exported
        from ir_exec.onnx.export.lower import lower_model

        exported = lower_model(model, functions=False, sources=False)
        if exported.states:
            names = ", ".join(exported.states)
            raise UnsupportedError(
                "the model has the variables", actual=names, expected="none for a comparison with onnxruntime"
            )
        self._exported = temporary_folder()
        path = Path(self._exported.name, "network.onnx")
        write_exported(widen_model(exported) if precision == "f32" else exported, path)
        super().__init__(path, timeout=timeout, title=title)
        self.runtime = title
        self.shares_names = True
        self._runs_as_is = False

    @property
    def _name(self) -> str:
        return "the export"

    def lower_model(self) -> Model | None:
        # Its tensors have the names of the model's values.
        return None

    def close(self) -> None:
        super().close()
        self._exported.cleanup()
