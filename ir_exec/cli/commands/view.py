"""`ir-exec view`: an HTML page of a model."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from ir_exec.cli.arrays import Asked, input_options
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import write_bytes
from ir_exec.cli.options import MODEL
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.terminal import UNUSABLE, echo, errors_as_messages
from ir_exec.cli.output.writing import OutputFile, output_option, text_output
from ir_exec.view import html_of, view


def _page_of(model: str) -> str:
    """Return the path of the page of a model in the current folder."""
    return f"{Path(model).stem}.html"


def _page_output(path: str | None, parameters: Mapping[str, Any]) -> Iterable[OutputFile]:
    return text_output(path or _page_of(parameters["model"]), parameters)


@click.command("view")
@click.argument("model", metavar="MODEL", type=MODEL)
@input_options
@click.option("--draw", is_flag=True, help="Run the model with random inputs.")
@click.option(
    "--compare",
    metavar="REPORT.json",
    type=click.Path(),
    help="Show the JSON report of `compare` or `quantize-report`.",
)
@click.option("--profile", metavar="REPORT.json", type=click.Path(), help="Show the JSON report of `profile`.")
@click.option("--diff", metavar="OTHER.xml", type=click.Path(), help="Show the differences to another model.")
@click.option(
    "--beside",
    multiple=True,
    metavar="OTHER",
    type=click.Path(),
    help="Show another model next to it: an .xml, an .onnx, or an execution graph of OpenVINO; repeatable.",
)
@output_option(
    "-o",
    "--output",
    outputs=_page_output,
    metavar="PAGE.html",
    help="Write the page to this file.  [default: MODEL.html]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
def command(
    model: str,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    draw: bool,
    compare: str | None,
    profile: str | None,
    diff: str | None,
    beside: tuple[str, ...],
    output: str | None,
    opens: bool,
) -> None:
    """Write an HTML page with the graph of a model, its findings and its values.

    The page is a single file without external resources. It contains the graph, all findings of `check`, the declared
    and inferred types, and known values. With inputs, given or random (--draw), it also has statistics and histograms
    of every value.

    Exit code: 0 if the page was written, 2 if a file cannot be read or written.
    """
    load_extensions(extensions)
    with errors_as_messages(exit_code=UNUSABLE):
        inputs, graph = None, None
        if draw or asked.archive or asked.named or asked.shapes:
            network = asked.network(model, weights)
            inputs, graph = asked.complete_inputs(network, asked.read_inputs(network.inputs)), network.graph
        with LayerBar(graph) as bar:
            page = view(
                model,
                weights=weights,
                inputs=inputs,
                compare=compare,
                profile=profile,
                diff=diff,
                beside=beside,
                progress=bar.advance if inputs is not None and bar.is_wanted else None,
            )
        text = html_of(page).encode("utf-8", "backslashreplace")
    path = output or _page_of(model)
    write_bytes(path, text)
    echo(f"page of {len(text) / 1024:,.0f} KiB written to {path}")
    if opens:
        webbrowser.open(Path(path).absolute().as_uri())
