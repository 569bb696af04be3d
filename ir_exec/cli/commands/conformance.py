"""`ir-exec conformance`: small cases of every operator on a device."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ir_exec.cli.files import write_text
from ir_exec.cli.options import format_option, hint_option, timeout_option
from ir_exec.cli.output.terminal import UNUSABLE, echo, errors_as_messages, show, show_verdict
from ir_exec.cli.output.writing import OutputFile, output_option, report_output
from ir_exec.cli.parallel import Bar
from ir_exec.debug.device.tables.report import STATUSES, Conformance, conformance_html, conformance_junit
from ir_exec.debug.device.tables.running import cases_of, conformance
from ir_exec.printable import printable
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table


def _cases_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    if path is not None:
        yield OutputFile(path, "cases")


@click.command("conformance")
@click.option("--device", default="CPU", show_default=True, help="CPU, GPU or NPU; for onnxruntime CPU, CUDA, ...")
@click.option(
    "--engine",
    type=click.Choice(["openvino", "onnxruntime"]),
    default="openvino",
    show_default=True,
    help="Engine that runs the cases.",
)
@click.option("--types", multiple=True, metavar="GLOB", help="Types of operators, such as 'Gather*'; repeatable.")
@click.option("--open-dims", is_flag=True, help="Run each case also with open dims of its inputs.")
@hint_option("accuracy")
@timeout_option(60.0)
@output_option(
    "--save",
    "folder",
    outputs=_cases_output,
    metavar="FOLDER",
    help="Write the smallest failed case of each type to a folder: .xml, .bin, .inputs.npz, .outputs.npz.",
)
@click.option(
    "--baseline", metavar="FILE.json", type=click.Path(), help="Fail only for cases that pass in this earlier report."
)
@format_option("json", "html", "junit", help="Format of the report. schemas/conformance.schema.json describes json.")
@output_option("-o", "--output", outputs=report_output, metavar="FILE", help="Write the report to this file.")
@click.option("--all", "every", is_flag=True, help="In text, show every failed case.")
def command(
    device: str,
    engine: str,
    types: tuple[str, ...],
    open_dims: bool,
    hint: str,
    timeout: float,
    folder: str | None,
    baseline: str | None,
    output_format: str,
    output: str | None,
    every: bool,
) -> None:
    """Run small cases of every operator on a device, and report the wrong ones.

    A case is one layer with its inputs; the expected outputs are those of ir_exec. Cases run in batches in a child
    process. A case that crashes or hangs the device is reported, and the others continue.

    Exit code: 0 if all cases pass, 1 if a case is wrong or crashes (with --baseline, a case that passed before), 2 if
    the device is not available. Known faults of OpenVINO's CPU plugin are not counted.
    """
    forms = 2 if open_dims else 1
    with (
        errors_as_messages(exit_code=UNUSABLE),
        Bar(lambda: forms * len(cases_of(types)), is_wanted=True, verb="running", noun="cases") as bar,
    ):
        report = conformance(
            device,
            types=types,
            engine=engine,  # type: ignore[arg-type]  # checked by click
            open_dims=open_dims,
            hint=hint,  # type: ignore[arg-type]  # checked by click
            timeout=timeout,
            output=folder,
            baseline=baseline,
            progress=lambda _: bar.advance(),
        )
    if output_format == "text" and output is None:
        _show(report, every)
    else:
        write_text(_render(report, output_format, every), output)
        if output is not None:
            show_verdict(report.headline, is_good=report.ok)
    sys.exit(0 if report.ok else 1)


def _render(report: Conformance, output_format: str, every: bool) -> str:
    if output_format == "json":
        return to_json(report) + "\n"
    if output_format == "html":
        return conformance_html(report)
    if output_format == "junit":
        return conformance_junit(report)
    return "".join(f"{printable(line)}\n" for line in report.lines(every))


def _show(report: Conformance, every: bool) -> None:
    show_verdict(report.headline, is_good=report.ok)
    lines = [printable(line) for line in report.lines(every)][1:]
    parts: list[Table | str] = [_operators(report)]
    if lines:
        parts.append("\n".join(lines))
    echo("")
    hint = ["--save FOLDER writes the smallest failed case of each type"] if lines else []
    show(*parts, *hint)


def _operators(report: Conformance) -> Table:
    """Return the table of the types with failures, or of all types if none has any."""
    heads: dict[str, Any] = {"operator": "left", "cases": "right"} | dict.fromkeys(STATUSES, "right")
    shown = table("Operators", **heads)
    failing = [operator for operator in report.operators if operator.failed]
    for row in failing or report.operators:
        shown.add_row(row.type, str(row.cases), *[str(row.count(status) or "-") for status in STATUSES])
    return shown
