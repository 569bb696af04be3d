"""`ir-exec diff`: the differences between two models, or of the weights of a model from a checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import NoReturn

import click

from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.files import is_onnx_file, write_text
from ir_exec.cli.options import MODEL, format_option, left_out, listed_rows, rows_of, top_option
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, echo, errors_as_messages, show_verdict, style_text
from ir_exec.cli.output.writing import output_option, report_output
from ir_exec.debug import NetworkDiff, diff
from ir_exec.debug.diffs.listing import listed
from ir_exec.debug.weights.checkpoint_files import is_checkpoint
from ir_exec.model import read_model
from ir_exec.printable import printable
from ir_exec.report.records import to_json


@click.command("diff")
@click.argument("a", metavar="A", type=MODEL)
@click.argument("b", metavar="[B|CHECKPOINT]", type=MODEL, required=False)
@click.option(
    "--weights-a", metavar="FILE.bin", type=click.Path(), help="Weights file of A.  [default: the .bin next to it]"
)
@click.option(
    "--weights-b", metavar="FILE.bin", type=click.Path(), help="Weights file of B.  [default: the .bin next to it]"
)
@click.option(
    "--by-value",
    is_flag=True,
    help="Find the weights of A in B by value, as in a checkpoint, independent of the layers.",
)
@click.option(
    "--adapter",
    metavar="PATH",
    type=click.Path(exists=True),
    help="With CHECKPOINT: adapter (LoRA) that should be merged into the weights.  [default: the one in its folder]",
)
@click.option(
    "--rt-info", is_flag=True, help="Also compare rt_info of layers; ONNX: doc strings and metadata of nodes."
)
@format_option(
    "json", "html", help="Format of the report. schemas/diff.schema.json and weights.schema.json describe json."
)
@output_option("-o", "--output", outputs=report_output, metavar="FILE", help="Write the report to this file.")
@top_option
@click.option(
    "--all", "every", is_flag=True, help="In text, show every difference, also inferred types, or every constant."
)
@click.option("--textconv", is_flag=True, help="Print one model as lines for `git diff`.")
@extension_options
def command(
    a: str,
    b: str | None,
    weights_a: str | None,
    weights_b: str | None,
    by_value: bool,
    adapter: str | None,
    rt_info: bool,
    output_format: str,
    output: str | None,
    top: int | None,
    every: bool,
    textconv: bool,
    extensions: tuple[str, ...],
) -> None:
    """Show the differences between two models, or of the weights of a model from a checkpoint.

    Of two models, all differences are shown except ids, order and generated names.

    Layers are added, removed, or changed in attributes, types, dims, opset or edges; constants are compared by value.
    Types that differ only because input types differ are counted, and shown with --all.

    Two ONNX files are compared as ONNX: nodes, constants, inputs, outputs, opsets, functions, metadata. They may be
    invalid, damaged in parts, and have unknown operators.

    CHECKPOINT is a .safetensors, .gguf, .npz or .pt file, an index of several, or a folder with one of them; nothing in
    it is executed. A may be a folder with several models. Each constant is found in the checkpoint by its values,
    also if it is transposed, concatenated, quantized, or merged with an adapter. The first line is the first fault,
    such as two swapped weights, or the account of all constants.

    Exit code: 0 if nothing differs, 1 if something differs, 2 if a file cannot be read.
    """
    most = rows_of(top, every, listed_rows())
    if textconv == (b is not None):
        raise Unusable("expected two files, or one file with --textconv")
    load_extensions(extensions)
    if b is not None and (by_value or adapter is not None or os.path.isdir(b) or is_checkpoint(b)):
        _diff_weights(a, b, weights_a, adapter, output_format, output, most, every=every)
    if by_value or adapter is not None:
        raise Unusable("--by-value and --adapter are options of two files")
    with errors_as_messages(exit_code=UNUSABLE):
        if b is None:
            _put(listed(a, weights_a), output)
            return
        # The page shows the layers of ONNX files.
        is_lowered = output_format == "html" and is_onnx_file(a)
        first = read_model(a) if is_lowered else a
        difference = diff(first, b, weights=(weights_a, weights_b), rt_info=rt_info)
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


def _diff_weights(
    model: str,
    checkpoint: str,
    weights: str | None,
    adapter: str | None,
    output_format: str,
    output: str | None,
    most: int | None,
    *,
    every: bool,
) -> NoReturn:
    """Account for the weights of a model, and exit."""
    from ir_exec.cli.output.weights_text import render_weights, show_weights  # imported for checkpoints only
    from ir_exec.debug import diff_weights

    with errors_as_messages(exit_code=UNUSABLE), LayerBar(None) as bar:
        report = diff_weights(model, checkpoint, weights=weights, adapter=adapter, progress=bar.advance)
    if output_format == "text" and output is None:
        show_weights(report, most, every=every)
    else:
        write_text(render_weights(report, output_format), output)
        if output is not None:
            show_verdict(report.headline, is_good=report.agrees)
    sys.exit(0 if report.agrees else 1)


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
