"""Check of a folder with the files of a model, for the pipelines of OpenVINO GenAI as well."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ir_exec.check import Diagnostic, Report
from ir_exec.errors import IRError
from ir_exec.text.folders.folder import Folder, open_folder
from ir_exec.text.folders.pipeline_rules import faults_of
from ir_exec.text.targets.pipelines import in_genai

__all__ = ["check_folder"]


def check_folder(path: str | os.PathLike[str], *, genai: bool = True) -> list[Report] | None:
    """Check the files of a folder against each other; None for a folder without a pipeline.

    `check_model` checks each file itself.

    Args:
        genai: Also report features that pipelines of OpenVINO GenAI reject according to its documents, as warnings.

    Returns:
        A report for each file with findings, with the codes IR801 to IR811.
    """
    folder = open_folder(path)
    if folder is None:
        return None
    by_file: dict[str, list[Diagnostic]] = {}
    faults = faults_of(folder)
    for fault in (*faults, *(_rejected_by_genai(folder, faults) if genai else ())):
        by_file.setdefault(fault.location.path or folder.path, []).append(Diagnostic.of(fault))
    return [
        Report(path=file, diagnostics=tuple(diagnostics), layers_checked=0, layers_not_checked=0)
        for file, diagnostics in by_file.items()
    ]


def _rejected_by_genai(folder: Folder, faults: Sequence[IRError]) -> Iterator[IRError]:
    """Yield features that GenAI's pipeline rejects as warnings, except those that a fault of the folder reports."""
    explained = {(fault.location, _subject(fault)) for fault in faults}
    for fault in in_genai(folder):
        if fault.severity != "info" and (fault.location, _subject(fault)) not in explained:
            yield fault.changed(severity="warning")


def _subject(fault: IRError) -> str:
    """Return the first clause of a message, which names the port: `there is no input beam_idx`."""
    return fault.message.partition(",")[0]
