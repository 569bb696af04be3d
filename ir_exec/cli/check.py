"""`ir-exec check`: everything that is wrong with files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache

import click

from ir_exec.check import Report, Reports, Summary, check_model, render, summary_line
from ir_exec.cli.terminal import UNUSABLE, Unusable, echo, styled
from ir_exec.errors import IRError
from ir_exec.ir import default_weights_path
from ir_exec.ir.markup import load

_NOT_IR, _UNREADABLE = "IR004", "IR001"


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text is for people; schemas/report.schema.json describes json.",
)
def command(paths: tuple[str, ...], output_format: str) -> None:
    """Report everything that is wrong with IR files.

    PATH is an .xml file, or a folder that is searched for .xml files. Files in folders that are no IR, and have no
    .bin beside them, are skipped and counted.

    Exit code: 0 without errors, 1 with errors, 2 where a path cannot be used.
    """
    reports: list[Report] = []
    skipped: list[str] = []
    for path, was_found in _files(paths):
        report = check_model(path)
        if was_found and _is_other_xml(report):
            skipped.append(path)
            continue
        reports.append(report)
        if output_format == "text":
            for line in render(report, style=styled, lines_of=_lines):
                echo(line)
    if not reports:
        raise Unusable(f"there are no IR files in {', '.join(paths)}")
    summary = Summary.of(reports)
    if output_format == "json":
        echo(Reports(files=tuple(reports), skipped=tuple(skipped), summary=summary).model_dump_json(indent=2))
    else:
        if skipped:
            echo(f"skipped {len(skipped)} other .xml {'file' if len(skipped) == 1 else 'files'}")
        role = "error" if summary.errors else "warning" if summary.warnings else "message"
        echo(styled(role, summary_line(summary)))
    if any(found.code == _UNREADABLE for report in reports for found in report.diagnostics):
        sys.exit(UNUSABLE)
    sys.exit(1 if summary.errors else 0)


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Every file once, in a stable order, and whether it was found in a folder; hidden folders are left out."""
    seen: set[str] = set()
    for path in paths:
        if not os.path.isdir(path):
            found = [path]
        else:
            found = []
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                found += [os.path.join(folder, name) for name in sorted(names) if name.lower().endswith(".xml")]
        for file in found:
            if (real := os.path.realpath(file)) not in seen:
                seen.add(real)
                yield file, file is not path


def _is_other_xml(report: Report) -> bool:
    """Whether a file is no IR and nothing says that it was meant to be; a .bin beside it would."""
    is_other = any(found.code == _NOT_IR for found in report.diagnostics)
    return is_other and not os.path.exists(default_weights_path(report.path or ""))


@lru_cache(maxsize=1)
def _lines(path: str) -> Sequence[str]:
    """The lines of a file for excerpts; the files of one report come one after the other."""
    try:
        _, raw = load(path)
    except IRError:
        return ()
    return raw.decode("utf-8", "replace").split("\n")
