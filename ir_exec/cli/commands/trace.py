"""`ir-exec trace`: every value of a run, in files."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ir_exec.cli.arrays import Asked, drawn_hint, input_options
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file
from ir_exec.cli.options import MODEL, left_out, precision_option, rows_of, top_option
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.terminal import check_hint, errors_as_messages, show
from ir_exec.cli.output.writing import folder_output, output_option
from ir_exec.debug import trace
from ir_exec.debug.traces.tracing import TracedValue
from ir_exec.report.numbers import format_count, format_number
from ir_exec.report.tables import Table, table
from ir_exec.runtime.precision import Precision


@click.command("trace")
@click.argument("model", metavar="MODEL", type=MODEL)
@input_options
@output_option(
    "-o",
    "--output",
    outputs=folder_output,
    required=True,
    metavar="FOLDER",
    help="Write the values to this folder, replacing an earlier trace.",
)
@click.option(
    "--layers", multiple=True, metavar="GLOB", help="Names of layers or tensors, such as 'encoder*'; repeatable."
)
@click.option("--types", multiple=True, metavar="GLOB", help="Types of operators, such as 'Gather*'; repeatable.")
@click.option("--no-constants", is_flag=True, help="Exclude constants.")
@precision_option
@top_option
@click.option("--all", "every", is_flag=True, help="In text, show every value.")
def command(
    model: str,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    output: str,
    layers: tuple[str, ...],
    types: tuple[str, ...],
    no_constants: bool,
    precision: Precision,
    top: int | None,
    every: bool,
) -> None:
    """Write every value of a run to a folder.

    Each value is written to an .npy file when it is computed, values in bodies once per iteration. index.json has the
    layer, tensor names, element type, shape, range, numbers of NaN and infinities, and digest of each value. Inputs are
    given or random, as in `run`. Weights that layers decompress are computed from their stored constants when they are
    read. The folder is a reference for `ir-exec compare`.

    The table of an ONNX file lists its nodes with their operators; --all also lists the other layers of each node.

    Exit code: 0 on success, 1 if the model cannot be read or run, 2 for an unreadable path, an invalid argument or a
    full disk.
    """
    most = rows_of(top, every)
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model)):
        network = asked.network(model, weights)
    file_inputs = asked.read_inputs(network.inputs)
    has_drawn = any(port.name not in file_inputs for port in network.inputs)
    with errors_as_messages(hint=drawn_hint if has_drawn else None), LayerBar(network.graph) as bar:
        written = trace(
            network,
            asked.complete_inputs(network, file_inputs),
            output=output,
            layers=layers,
            types=types,
            constants=not no_constants,
            precision=precision,
            progress=bar.advance if bar.is_wanted else None,
        )
    rows = list(zip(written, written.index.values, strict=True))
    if is_onnx_file(model) and not every:
        rows = _rows_of_nodes(rows, model)
    more = left_out(len(rows), most)
    show(_table(rows, most), *more, f"{format_count(len(written), 'value', ',')} written to {output}")


def _rows_of_nodes(rows: Sequence[tuple[str, TracedValue]], path: str) -> list[tuple[str, TracedValue]]:
    """Return the values of the nodes of an ONNX file, with the operators as types.

    Values of further layers of a node are omitted, unless they have NaN or infinities. The last layer of a call of a
    function is its value.
    """
    from ir_exec.onnx.lowering.layer_names import node_of_layer  # imported for ONNX files only
    from ir_exec.onnx.reading.node_operators import node_operators

    operators = node_operators(path)
    shown: list[tuple[str, TracedValue]] = []
    nodes = {name: node_of_layer(value.layer_name, operators) for name, value in rows}
    named = {value.layer_name for _, value in rows}
    last_of_node = {node: name for name, node in nodes.items() if node is not None and node not in named}
    for name, value in rows:
        node = nodes[name]
        if node is not None and (node == value.layer_name or last_of_node.get(node) == name):
            shown.append((name, value.model_copy(update={"type": operators[node]})))
        elif node is None or value.facts.nans or value.facts.infinities:
            shown.append((name, value))
    return shown


def _table(rows: Sequence[tuple[str, TracedValue]], most: int | None) -> Table:
    columns = {"layer": "left", "type": "left", "value": "left", "min": "right", "max": "right", "mean": "right"}
    shown = table("Values", **columns, NaN="right", inf="right")  # type: ignore[arg-type]  # all are left or right
    shown.spare = ("mean",)
    for name, value in rows[:most]:
        facts = value.facts
        numbers = [format_number(number) for number in (facts.min, facts.max, facts.mean)]
        value_type = f"{value.element_type}[{','.join(map(str, value.shape))}]"
        shown.add_row(name, value.type, value_type, *numbers, f"{facts.nans:,}", f"{facts.infinities:,}")
    return shown
