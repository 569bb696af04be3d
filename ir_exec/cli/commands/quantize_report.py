"""`ir-exec quantize-report`: the effect of quantizing each layer on the outputs."""

from __future__ import annotations

import glob
import json
import sys
from typing import Literal

import click

from ir_exec.cli.arrays import Asked, input_options
from ir_exec.cli.commands.run_batch import Many, is_many
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import write_text
from ir_exec.cli.options import MODEL, FiniteRange, format_option, left_out, rows_of, top_option
from ir_exec.cli.output.progress import LayerBar, Steps
from ir_exec.cli.output.rendering import render
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, echo, errors_as_messages, show, show_verdict
from ir_exec.cli.output.writing import output_option, report_output, text_output
from ir_exec.debug.precision.activations import range_line
from ir_exec.debug.precision.effects import QuantizationReport
from ir_exec.debug.precision.effects_by_layer import quantization_report
from ir_exec.model import Model, read_model
from ir_exec.printable import printable
from ir_exec.report.numbers import format_number
from ir_exec.report.tables import table
from ir_exec.report.text import list_names
from ir_exec.types import Array


@click.command("quantize-report")
@click.argument("model", metavar="MODEL", type=MODEL)
@click.option("--with", "plain", metavar="PLAIN", type=MODEL, required=True, help="Model before quantization.")
@click.option(
    "--checkpoint",
    metavar="PATH",
    type=click.Path(exists=True),
    help="Also name the tensor of each weight in a checkpoint (.safetensors, .gguf, .npz, .pt, or a folder), and the "
    "noise relative to it.",
)
@input_options
@click.option(
    "--max-loss",
    type=FiniteRange(min=0),
    metavar="X",
    help="Find layers to keep at a higher precision for this maximum loss: KL divergence in nats, or relative noise "
    "power.",
)
@click.option(
    "--keep-bits",
    type=click.Choice(["8", "16"]),
    default="8",
    show_default=True,
    help="With --max-loss: bits of the layers to keep.",
)
@click.option(
    "--time", "seconds", type=FiniteRange(min=0), metavar="SECONDS", help="Report after this time, from estimates."
)
@output_option(
    "--mixed",
    outputs=text_output,
    metavar="FILE.json",
    help="Write formats by layer for `ir-exec edit --weights`.",
)
@format_option("json", "csv", "html", help="Format of the report. schemas/quantization.schema.json describes json.")
@output_option("-o", "--output", outputs=report_output, metavar="FILE", help="Write the report to this file.")
@top_option
@click.option("--all", "every", is_flag=True, help="In text, show every layer.")
def command(
    model: str,
    plain: str,
    checkpoint: str | None,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    max_loss: float | None,
    keep_bits: str,
    seconds: float | None,
    mixed: str | None,
    output_format: str,
    output: str | None,
    top: int | None,
    every: bool,
) -> None:
    """Rank the layers of a quantized model by their effect on the outputs.

    MODEL has compressed weights (int8, int4, nf4, codebooks, mx, fp8) or FakeQuantize layers, PLAIN is the model before
    quantization. PLAIN runs with one quantized layer of MODEL at a time. For logits and probabilities the loss is the
    mean Kullback-Leibler divergence, with the share of positions with a different top-1. For other outputs it is the
    power of the noise relative to the output, 0.01 for an SQNR of 20 dB.

    --max-loss finds a smallest set of layers to keep in 8 or 16 bits and confirms it by a run. Layers that already have
    8 bits are kept in 16, and their activations are not quantized. --time, or Ctrl-C, stops early for large models: the
    layers with the largest estimates run first, and the others are ranked by their estimates. --inputs is a file or a
    pattern.

    Exit code: 0 on success, 1 if the loss exceeds --max-loss, 2 if nothing can be measured.
    """
    most = rows_of(top, every)
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model), exit_code=UNUSABLE):
        network = asked.network(model, weights)
        other = read_model(plain)
    calls = _calls(other, asked, extensions)
    with errors_as_messages(exit_code=UNUSABLE), Steps() as steps:
        report = quantization_report(
            network,
            other,
            calls,
            asked.seed,
            shapes=asked.requested_shapes(other.inputs),
            max_loss=max_loss,
            keep_bits=int(keep_bits),
            seconds=seconds,
            progress=steps.tell,
        )
    if checkpoint is not None:
        report = _add_tensors(report, network, checkpoint)
    if mixed is not None:
        write_text(_formats(report) + "\n", mixed)
    if output_format == "text" and output is None:
        _show(report, most)
    else:
        write_text(_render(report, output_format, model, weights), output)
        if output is not None:
            show_verdict(report.headline, is_good=report.is_within)
    sys.exit(0 if report.is_within else 1)


def _add_tensors(report: QuantizationReport, network: Model, checkpoint: str) -> QuantizationReport:
    """Add the tensors of a checkpoint to each weight."""
    from ir_exec.debug import diff_weights  # imported for checkpoints only
    from ir_exec.debug.weights.quantization_tensors import add_tensors

    with errors_as_messages(exit_code=UNUSABLE), LayerBar(None) as bar:
        return add_tensors(report, diff_weights(network, checkpoint, progress=bar.advance))


def _calls(network: Model, asked: Asked, extensions: tuple[str, ...]) -> list[dict[str, Array]] | None:
    """Return the inputs of each call, None if all are random."""
    if is_many(asked.archive):
        many = Many(asked.named, asked.archive, None, None, None, extensions, asked.pixels)
        with errors_as_messages(exit_code=UNUSABLE):
            loaded = [item.load(network.inputs)[0] for _, item in many.items(network.inputs)]
        if not loaded:
            raise Unusable("there are no inputs, expected at least one file")
        return loaded
    file_inputs = asked.read_inputs(network.inputs)
    return [asked.complete_inputs(network, file_inputs)] if file_inputs or asked.shapes else None


def _formats(report: QuantizationReport) -> str:
    """Return a .json for `edit --weights`: the most common format, and others by the names of constants."""
    names = [(layer.format, layer.group_size) for layer in report.layers if layer.kind == "weight"]
    base, group = max(names, key=names.count) if names else ("int8_asym", None)
    layers = {
        glob.escape(layer.path): layer.keep_as for layer in report.layers if layer.kept and layer.kind == "weight"
    }
    content = {"format": base, "group_size": -1 if group is None else group, "all_layers": True, "layers": layers}
    return json.dumps(content, indent=1)


def _render(report: QuantizationReport, output_format: str, model: str, weights: str | None) -> str:
    def text() -> str:
        return "".join(f"{printable(line)}\n" for line in report.lines())

    return render(report, output_format, text, "compare", model, weights, UNUSABLE)


def _show(report: QuantizationReport, most: int | None) -> None:
    show_verdict(report.headline, is_good=report.is_within)
    if report.verdict is not None:
        echo(printable(report.verdict))
    for line in report.kept_lines():
        echo(printable(line))
    echo("")
    has_kl = report.metric == "kl"
    columns: dict[str, Literal["left", "right"]] = {
        "layer": "left",
        "read by": "left",
        "format": "left",
        "loss": "right",
        "top-1": "right",
        "sqnr db": "right",
    }
    columns |= {"weight sqnr db": "right", "bytes": "right", "saved": "right"}
    has_tensors = any(layer.tensors for layer in report.layers)
    if has_tensors:
        columns |= {"tensor sqnr db": "right", "tensors": "left"}
    if not has_kl:
        del columns["top-1"]
    shown = table("Layers, each quantized alone", **columns)
    for layer in report.layers[:most]:
        effect = layer.effect
        weight_format = layer.format if layer.group_size is None else f"{layer.format}/{layer.group_size}"
        readers = list_names(layer.layers, 2, is_counted=False)
        cells = [layer.path, readers, weight_format, "not run" if effect is None else format_number(effect.loss)]
        if has_kl:
            top = None if effect is None else effect.top1_changes
            cells.append("-" if top is None else f"{top:.1%}")
        cells.append("-" if effect is None else format_number(effect.sqnr_db))
        cells += [format_number(layer.weight_sqnr_db), f"{layer.bytes:,}", f"{layer.plain_bytes - layer.bytes:,}"]
        if has_tensors:
            cells += [format_number(layer.tensor_sqnr_db), layer.tensor_fault or ", ".join(layer.tensors)]
        shown.add_row(*cells)
    show(shown)
    for line in left_out(len(report.layers), most, "layers"):
        echo(line)
    for statistics in sorted(report.ranges, key=lambda statistics: -statistics.outside)[:5]:
        echo(f"  range {printable(statistics.path)}: {range_line(statistics)}")
    echo(printable(report.counts))
