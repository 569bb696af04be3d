"""`ir-exec extract`: the part of a model between some of its values."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.core import ParameterSource

from ir_exec.build.cutting import is_counted
from ir_exec.cli.arrays import Asked, drawn_hint, input_options
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file, require_ir_output
from ir_exec.cli.options import MODEL
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, errors_as_messages, show
from ir_exec.cli.output.writing import output_option, part_output
from ir_exec.debug import Extracted, extract
from ir_exec.debug.reduction.extracting import read_for_cut
from ir_exec.report.tables import Table, table
from ir_exec.types import Array


@click.command("extract")
@click.argument("model", metavar="MODEL", type=MODEL)
@click.option(
    "--from", "begin", multiple=True, metavar="NAME", help="Layer or tensor that becomes an input; repeatable."
)
@click.option("--to", "end", multiple=True, metavar="NAME", help="Layer or tensor that becomes an output; repeatable.")
@output_option(
    "-o", "--output", outputs=part_output, required=True, metavar="CUT", help="Write to CUT.xml, or ONNX to CUT.onnx."
)
@input_options
@click.option(
    "--iteration", default="0", show_default=True, metavar="N", help="For bodies: iteration; N,M for nested bodies."
)
def command(
    model: str,
    begin: tuple[str, ...],
    end: tuple[str, ...],
    output: str,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    iteration: str,
) -> None:
    """Write a part of a model as a separate model.

    NAME is a layer or a tensor, split:1 for one of several outputs, loop/body/name in a body. Values of --from become
    inputs, values of --to outputs. Without --from, the part contains everything that --to depends on; without --to,
    everything from --from to the outputs. Other values that cross the cut become inputs, unless they depend only on
    weights. With --to, nodes of an ONNX file that IR cannot express may be outside the part.

    For MODEL.onnx and CUT.onnx, the part has the nodes, tensors, opsets and metadata of the file.

    With --input, --inputs, --shape or --seed the model runs, and the values at the cut are written to CUT.inputs.npz
    and CUT.outputs.npz next to the part.

    Exit code: 0 if the part was written, 2 otherwise.
    """
    if not begin and not end:
        raise Unusable("expected --from NAME, --to NAME, or both")
    is_onnx = output.lower().endswith(".onnx") and is_onnx_file(model)
    if not is_onnx:
        require_ir_output(model, output)
    times = iteration.split(",")
    if not all(text.isascii() and text.isdigit() and len(text) < 10 for text in times):
        raise Unusable(f"--iteration is {iteration!r}, expected an integer of at least 0, or N,M for nested bodies")
    load_extensions(extensions)
    hint = check_hint(model)
    iterations = [int(text) for text in times]
    is_seeded = click.get_current_context().get_parameter_source("seed") is ParameterSource.COMMANDLINE
    if is_onnx:
        has_values = bool(asked.named or asked.archive or asked.shapes or is_seeded)
        _extract_onnx(model, output, begin, end, asked if has_values else None, iterations)
        return
    with errors_as_messages(hint=hint, exit_code=UNUSABLE):
        network = asked.network(model, weights, read_for_cut)
    file_inputs = asked.read_inputs(network.inputs)
    arrays: dict[str, Array] | None = None
    with errors_as_messages(exit_code=UNUSABLE):
        if file_inputs or asked.shapes or is_seeded:
            arrays = asked.complete_inputs(network, file_inputs)
    has_drawn = arrays is not None and len(file_inputs) < len(arrays)
    with errors_as_messages(hint=drawn_hint if has_drawn else None, exit_code=UNUSABLE):
        extracted = extract(network, arrays, from_=begin, to=end, iteration=iterations)
        written = extracted.save(output)
    total = sum(map(is_counted, network.graph.all_nodes()))
    retained_count = sum(map(is_counted, extracted.model.graph.all_nodes()))
    show(_ends(extracted), f"{retained_count:,} of {total:,} layers written to {', '.join(map(str, written))}")


def _extract_onnx(
    path: str, output: str, begin: Sequence[str], end: Sequence[str], options: Asked | None, iteration: Sequence[int]
) -> None:
    """Extract a part of an ONNX file as ONNX, and show a summary.

    Args:
        options: None without values at the cut.
    """
    from ir_exec.cli.output.onnx_ends import ends_of_proto
    from ir_exec.debug.reduction.onnx_extracting import extract_onnx
    from ir_exec.onnx.editing.sources import OnnxSource  # imported for ONNX files only

    with errors_as_messages(hint=check_hint(path), exit_code=UNUSABLE):
        source = OnnxSource(path)
        network = None if options is None else options.network(path)
    arrays: dict[str, Array] | None = None
    has_drawn = False
    if options is not None and network is not None:
        file_inputs = options.read_inputs(network.inputs)
        with errors_as_messages(exit_code=UNUSABLE):
            arrays = options.complete_inputs(network, file_inputs)
        has_drawn = len(file_inputs) < len(arrays)
    with errors_as_messages(hint=drawn_hint if has_drawn else None, exit_code=UNUSABLE):
        extracted = extract_onnx(source, network, arrays, from_=begin, to=end, iteration=iteration)
        written = extracted.save(output)
    count, total = len(extracted.part.proto.graph.node), len(source.proto.graph.node)
    counts = f"{count:,} of {total:,} nodes" if count <= total else f"{count:,} nodes"
    show(ends_of_proto("Cut", extracted.part.proto), f"{counts} written to {', '.join(map(str, written))}")


def _ends(extracted: Extracted) -> Table:
    shown = table("Cut", end="left", name="left", element_type="left", shape="left")
    for end, ports in (("input", extracted.model.inputs), ("output", extracted.model.outputs)):
        for port in ports:
            shown.add_row(end, port.name, str(port.element_type), str(port.shape))
    return shown
