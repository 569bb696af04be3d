"""`ir-exec shapes`: the supported input sizes of a model."""

from __future__ import annotations

import click

from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.options import MODEL, format_option, left_out, listed_rows, rows_of, top_option, weights_option
from ir_exec.cli.output.terminal import check_hint, echo, errors_as_messages, show, show_json
from ir_exec.debug.inputs.shaping import InputDim, ShapesReport, shapes
from ir_exec.model import read_model
from ir_exec.printable import printable
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table


@click.command("shapes")
@click.argument("model", metavar="MODEL", type=MODEL)
@weights_option
@extension_options
@format_option("json", help="Format of the report. schemas/shapes.schema.json describes json.")
@top_option
@click.option("--all", "every", is_flag=True, help="In text, show every dim.  [default: 100 in a terminal]")
def command(
    model: str,
    weights: str | None,
    extensions: tuple[str, ...],
    output_format: str,
    top: int | None,
    every: bool,
) -> None:
    """Show the supported input sizes of a model, and the output sizes as functions of them.

    Each dim of an input is any, fixed, a range, a multiple of a number, or tied to other dims. Below the table, each
    limit is listed with its layer and the constant that causes it. Static dims are included, because a model can be
    reshaped. Nothing is run; shapes are inferred for at most a few hundred sizes.

    Exit code: 0 on success, 1 if the model cannot be read or no sizes fit, 2 for an unreadable path or an invalid
    argument.
    """
    most = rows_of(top, every, listed_rows())
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model)):
        report = shapes(read_model(model, weights=weights))
    if output_format == "json":
        show_json(to_json(report))
    else:
        _show(report, most)
    if not report.inputs and report.notes:
        raise click.exceptions.Exit(1)


def _show(report: ShapesReport, most: int | None) -> None:
    parts: list[Table | str] = []
    if report.inputs:
        takes = table("Inputs", dim="left", declared="left", supported="left", set_by="left")
        takes.names = frozenset({"set by"})
        for dim in report.inputs[:most]:
            takes.add_row(dim.name, dim.declared, str(dim), _set_by(dim))
        parts += [takes, *left_out(len(report.inputs), most)]
    if report.outputs:
        gives = table("Outputs", dim="left", size="left")
        for out in report.outputs[:most]:
            gives.add_row(f"{out.output}[{out.axis}]", str(out))
        parts += [gives, *left_out(len(report.outputs), most)]
    show(*parts)
    lines = list(dict.fromkeys(line for dim in report.inputs[:most] for line in _limits(dim)))
    if lines:
        echo("\nLimits")
        for line in lines:
            echo(printable(line))
    for note in report.notes:
        echo(f"note: {printable(note)}")


def _set_by(dim: InputDim) -> str:
    return ", ".join(dict.fromkeys(limit.layer_name or "" for limit in dim.limits))


def _limits(dim: InputDim) -> list[str]:
    lines = []
    for limit in dim.limits:
        lines.append(f'  {dim.name} = {limit.size}: layer {limit.layer_id} "{limit.layer_name}" ({limit.type})')
        lines.append(f"    {limit.message}")
        if limit.cause is not None:
            lines.append(f"    {limit.cause}")
    return lines
