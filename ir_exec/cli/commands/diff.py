"""`ir-exec diff`: the differences between two models."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.files import write_text
from ir_exec.cli.options import MODEL, format_option, left_out, listed_rows, rows_of, top_option
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, echo, errors_as_messages, style_text
from ir_exec.cli.output.writing import output_option, report_output
from ir_exec.debug import NetworkDiff, diff
from ir_exec.debug.diffs.listing import listed
from ir_exec.printable import printable
from ir_exec.report.records import to_json


@click.command("diff")
@click.argument("a", metavar="A", type=MODEL)
@click.argument("b", metavar="[B]", type=MODEL, required=False)
@click.option(
    "--weights-a", metavar="FILE.bin", type=click.Path(), help="Weights file of A.  [default: the .bin next to it]"
)
@click.option(
    "--weights-b", metavar="FILE.bin", type=click.Path(), help="Weights file of B.  [default: the .bin next to it]"
)
@click.option(
    "--rt-info", is_flag=True, help="Also compare rt_info of layers; ONNX: doc strings and metadata of nodes."
)
@format_option("json", "html", help="Format of the report. schemas/diff.schema.json describes json.")
@output_option("-o", "--output", outputs=report_output, metavar="FILE", help="Write the report to this file.")
@top_option
@click.option("--all", "every", is_flag=True, help="In text, show every difference, also inferred types.")
@click.option("--textconv", is_flag=True, help="Print one model as lines for `git diff`.")
@extension_options
def command(
    a: str,
    b: str | None,
    weights_a: str | None,
    weights_b: str | None,
    rt_info: bool,
    output_format: str,
    output: str | None,
    top: int | None,
    every: bool,
    textconv: bool,
    extensions: tuple[str, ...],
) -> None:
    """Show the differences between two models, except in ids, order and generated names.

    Layers are added, removed, or changed in attributes, types, dims, opset or edges; constants are compared by value.
    Types that differ only because input types differ are counted, and shown with --all.

    Two ONNX files are compared as ONNX: nodes, constants, inputs, outputs, opsets, functions, metadata. They may be
    invalid, damaged in parts, and have unknown operators.

    Exit code: 0 if nothing differs, 1 if something differs, 2 if a file cannot be read.
    """
    most = rows_of(top, every, listed_rows())
    if textconv == (b is not None):
        raise Unusable("expected two files, or one file with --textconv")
    load_extensions(extensions)
    with errors_as_messages(exit_code=UNUSABLE):
        if b is None:
            _put(listed(a, weights_a), output)
            return
        difference = diff(a, b, weights=(weights_a, weights_b), rt_info=rt_info)
    if output_format == "html":
        from ir_exec.view import Other, html_of, view  # imported for html only

        with errors_as_messages(exit_code=UNUSABLE):
            page = html_of(view(a, weights=weights_a, diff=Other(b, weights_b, difference)))
        _put(iter([page.rstrip("\n")]), output)
    elif output_format == "text" and output is None:
        for line in _shown_lines(difference, every, most):
            echo(line)
    else:
        _put(_render(difference, output_format, every), output)
    if output is not None:
        echo(style_text("message", difference.summary))
    sys.exit(0 if difference.equal else 1)


def _shown_lines(difference: NetworkDiff, every: bool, most: int | None) -> Iterator[str]:
    """Yield the lines of a report; details of a layer are indented."""
    yield style_text("message", difference.summary)
    count = 0
    for role, line in difference.lines(every=every):
        count += not line.startswith(" ")
        if most is None or count <= most:
            yield style_text(role, printable(line))
    yield from left_out(count, most, "differences")


def _render(difference: NetworkDiff, output_format: str, every: bool) -> Iterator[str]:
    if output_format == "json":
        yield to_json(difference)
    else:
        yield difference.summary
        for _, line in difference.lines(every=every):
            yield printable(line)


def _put(lines: Iterator[str], output: str | None) -> None:
    write_text("".join(f"{line}\n" for line in lines), output)
