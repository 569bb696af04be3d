"""Check of a folder with the files of a model."""

from __future__ import annotations

import os

from ir_exec.check import Diagnostic, Report
from ir_exec.text.folder import open_folder
from ir_exec.text.pipeline_rules import faults_of

__all__ = ["check_folder"]


def check_folder(path: str | os.PathLike[str]) -> list[Report] | None:
    """Check the files of a folder against each other; None for a folder without a pipeline.

    `check_model` checks each file itself.

    Returns:
        A report for each file with findings, with the codes IR801 to IR810.
    """
    folder = open_folder(path)
    if folder is None:
        return None
    by_file: dict[str, list[Diagnostic]] = {}
    for fault in faults_of(folder):
        by_file.setdefault(fault.location.path or folder.path, []).append(Diagnostic.of(fault))
    return [
        Report(path=file, diagnostics=tuple(found), layers_checked=0, layers_not_checked=0)
        for file, found in by_file.items()
    ]
