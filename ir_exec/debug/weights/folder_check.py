"""The check of a folder that contains a model and the checkpoint that it was converted from."""

from __future__ import annotations

import os
from typing import NamedTuple

from ir_exec.check import Diagnostic, Report
from ir_exec.codes import Code
from ir_exec.debug.weights.checkpoint_files import find_checkpoint
from ir_exec.debug.weights.diffing_weights import diff_weights, find_models
from ir_exec.errors import IRError, Location, WeightsError

__all__ = ["CheckedCheckpoint", "check_checkpoint"]


class CheckedCheckpoint(NamedTuple):
    """The result of a comparison with a checkpoint.

    Attributes:
        report: The finding, at the model; without findings if the weights agree.
        line: The account in one line; None with a finding.
    """

    report: Report
    line: str | None


def check_checkpoint(folder: str) -> CheckedCheckpoint | None:
    """Compare the weights of the models in a folder with the checkpoint in it.

    Returns:
        The result; None for a folder without a checkpoint or without models.
    """
    checkpoint, models = find_checkpoint(folder), find_models(folder)
    if checkpoint is None or not models:
        return None
    path = models[0]
    try:
        account = diff_weights(folder if len(models) > 1 else path, checkpoint)
    except IRError as error:
        unread = error if error.location.path is not None else error.located(Location(path=checkpoint))
        return CheckedCheckpoint(_report(path, unread), None)
    name = os.path.basename(checkpoint)
    if account.agrees:
        return CheckedCheckpoint(_report(path), f"{checkpoint}: {account.account}")
    fault = WeightsError(
        f"the weights differ from {name}: {account.headline}",
        code=Code.checkpoint_differs,
        hint=f"list all faults: ir-exec diff {path} {checkpoint}",
        location=Location(path=path),
    )
    return CheckedCheckpoint(_report(path, fault), None)


def _report(path: str, *faults: IRError) -> Report:
    diagnostics = tuple([Diagnostic.of(fault) for fault in faults])
    return Report(path=path, diagnostics=diagnostics, layers_checked=0, layers_not_checked=0)
