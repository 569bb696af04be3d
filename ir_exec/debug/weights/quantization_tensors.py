"""The tensors of a checkpoint in a report of the effects of quantization."""

from __future__ import annotations

from ir_exec.debug.precision.effects import LayerEffect, QuantizationReport
from ir_exec.debug.weights.records import WeightsDiff

__all__ = ["add_tensors"]


def add_tensors(report: QuantizationReport, account: WeightsDiff) -> QuantizationReport:
    """Return the report with the tensors of each weight, the noise relative to them, and faults.

    Args:
        account: The account of the weights of the quantized model.
    """
    weights = {weight.path: weight for weight in account.weights}
    faults = {fault.path: fault.message for fault in reversed(account.faults)}

    def extend(layer: LayerEffect) -> LayerEffect:
        weight = weights.get(layer.path)
        if weight is None:
            return layer
        details = {
            "tensors": weight.tensors,
            "tensor_sqnr_db": weight.sqnr_db if weight.tensors else None,
            "tensor_fault": faults.get(layer.path),
        }
        return layer.model_copy(update=details)

    return report.model_copy(update={"layers": tuple([extend(layer) for layer in report.layers])})
