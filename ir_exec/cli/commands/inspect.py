"""`ir-exec inspect`: a summary of a model, a list of its layers, and single layers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click
from pydantic import TypeAdapter

from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.options import (
    MODEL_OR_PIPELINE,
    left_out,
    listed_rows,
    rows_of,
    shape_option,
    shapes_by_input,
    timeout_option,
    top_option,
    weights_option,
)
from ir_exec.cli.output.folder_text import show_folder
from ir_exec.cli.output.fusions_text import fusions_json, show_fusions
from ir_exec.cli.output.model_facts import (
    ConstantFacts,
    LayerFacts,
    NetworkFacts,
    PortFacts,
    facts_of,
    layer_facts,
)
from ir_exec.cli.output.onnx_facts import (
    NodesAndLayers,
    OnnxNode,
    onnx_facts,
    shown_content,
    shown_initializers,
    shown_node,
    shown_nodes,
)
from ir_exec.cli.output.placed_nodes import PlacedNode, placed_nodes
from ir_exec.cli.output.source_text import describe_source
from ir_exec.cli.output.terminal import Unusable, check_hint, echo, errors_as_messages, show, show_json
from ir_exec.codes import Code
from ir_exec.errors import IRError, NotKnownError, raise_error
from ir_exec.fusions import FUSION_TARGETS, FusionTarget, list_fusions
from ir_exec.graph import Node
from ir_exec.hints import suggested
from ir_exec.ir import read_document
from ir_exec.model import Loaded, Model, load
from ir_exec.printable import printable
from ir_exec.readers import reader_of
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table
from ir_exec.report.text import align_entries

if TYPE_CHECKING:
    from ir_exec.onnx.reading.listing import Listing


@click.command("inspect")
@click.argument("model", metavar="MODEL", type=MODEL_OR_PIPELINE)
@weights_option
@shape_option("Shape of an input for the inferred types")
@click.option("--layers", "all_layers", is_flag=True, help="List the layers with inferred types.")
@click.option(
    "--layer",
    "names",
    multiple=True,
    metavar="NAME",
    help="Describe a layer, by name or id, or a node of an ONNX file, by name or output; repeatable.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the output; json is the document as in the .xml, or the view of --summary, --layers or --layer.",
)
@top_option
@click.option("--all", "every", is_flag=True, help="In text, list every layer.  [default: 100 in a terminal]")
@click.option("--summary", is_flag=True, help="In json, write the summary instead of the document.")
@click.option(
    "--fusions",
    type=click.Choice(FUSION_TARGETS),
    help="List the fused operators that OpenVINO makes for a device, or for pipelines of GenAI, and near misses.",
)
@click.option("--with", "reference", type=click.Choice(["openvino"]), help="With --fusions: add OpenVINO's own counts.")
@timeout_option(600.0)
@extension_options
def command(
    model: str,
    weights: str | None,
    shapes: tuple[str, ...],
    all_layers: bool,
    names: tuple[str, ...],
    format_name: str,
    top: int | None,
    every: bool,
    summary: bool,
    fusions: FusionTarget | None,
    reference: Literal["openvino"] | None,
    timeout: float,
    extensions: tuple[str, ...],
) -> None:
    """Show a summary of a model: inputs, outputs, operators, weights and multiply-adds.

    For a model folder: its type, its parts, the formats of the weights, the size of the cache, the tokenizer and the
    chat template (schemas/folder.schema.json).

    For an ONNX file: opsets, producer, nodes and initializers, then the IR that they were lowered to.

    With --fusions: the patterns that transformations of OpenVINO fuse, and for each near miss the layer, the expected
    and the actual value (schemas/fusions.schema.json). "unknown" marks what no source settles.

    Multiply-adds are those of matrix products, convolutions, recurrent cells and attention. Open dims count with their
    minimum, at least 1; --shape sets them. schemas/document.schema.json describes the JSON of the document,
    schemas/summary.schema.json that of the summary.

    Exit code: 0 on success, 1 if the model cannot be read, 2 for an invalid argument.
    """
    if reference is not None and fusions is None:
        raise Unusable("--with adds to --fusions, expected --fusions with it")
    if fusions is not None and (all_layers or names or summary):
        raise Unusable("--fusions is a view of its own, expected no --layers, --layer or --summary with it")
    if os.path.isdir(model):
        if fusions is not None:
            raise Unusable("--fusions inspects one model, expected a file")
        show_folder(model, is_json=format_name == "json")
        return
    most = rows_of(top, every, listed_rows())
    load_extensions(extensions)
    is_json = format_name == "json"
    if is_json and (summary + all_layers + bool(names)) > 1:
        raise Unusable("--format json shows one view, expected --summary, --layers or --layer")
    with errors_as_messages(hint=None if shapes else check_hint(model)):
        if fusions is not None:
            _show_fusions(model, weights, shapes, fusions, reference, timeout, is_json=is_json, most=most)
            return
        if is_json and not (summary or all_layers or names):
            if shapes:
                raise Unusable("--shape does not change the document, expected --summary, --layers or --layer with it")
            older: list[object] = []
            document = read_document(model, on_older=lambda *arguments: older.extend(arguments))
            if older:
                # The schema describes the current version only.
                lowered = load(model, weights, report=_raise_unless_without_weights)
                document = None if lowered is None else lowered.document
            assert document is not None, "the reader raises for unreadable files"
            show_json(to_json(document, indent=2))
            return
        content = _content_of(model)
        try:
            loaded = load(model, weights, report=_raise_unless_without_weights)
        except IRError:
            if content is not None and not (is_json or names):
                # The content can be shown although its nodes cannot be lowered.
                show(*shown_content(onnx_facts(content)))
            raise
        assert loaded is not None, "the reader raises for unreadable files"
        network = Model(loaded)
        if shapes:
            network.reshape(shapes_by_input(shapes, network.inputs))
        if names or (is_json and all_layers):
            _show_layers(network, names, content, is_json)
            return
        facts = facts_of(network, loaded.source, None if content is None else onnx_facts(content))
        if is_json:
            show_json(to_json(facts, indent=2))
            return
        listed = _layers(network, most) if all_layers else []
        if content is not None and facts.onnx is not None:
            nodes = (
                [shown_nodes(content, _types_by_tensor(list(placed_nodes(network)))), shown_initializers(facts.onnx)]
                if all_layers
                else []
            )
            show(*shown_content(facts.onnx), *nodes, _in_ir(facts), _totals(facts), _operators(facts), *listed)
            return
        show(*_summary(loaded, facts, most), *listed)


def _show_fusions(
    path: str,
    weights: str | None,
    shapes: tuple[str, ...],
    target: FusionTarget,
    reference: Literal["openvino"] | None,
    timeout: float,
    *,
    is_json: bool,
    most: int | None,
) -> None:
    """Show the fusions of a model, and those of OpenVINO if requested."""
    loaded = load(path, weights, report=_raise_unless_without_weights)
    assert loaded is not None, "the reader raises for unreadable files"
    network = Model(loaded)
    if shapes:
        network.reshape(shapes_by_input(shapes, network.inputs))
    report = list_fusions(network, target)
    if reference is not None:
        from ir_exec.debug.device.fused_operators import with_openvino  # for this option only

        report = with_openvino(report, network, timeout=timeout)
    if is_json:
        show_json(fusions_json(report))
    else:
        show_fusions(report, most)


def _content_of(path: str) -> Listing | None:
    """Return the content of an ONNX file without loading tensors, None for IR."""
    reader = reader_of(path)
    if reader is None or reader.name != "ONNX":
        return None
    from ir_exec.onnx.reading.files import read_proto
    from ir_exec.onnx.reading.listing import Listing  # imported for ONNX files only

    return Listing(read_proto(path)[0], path)


def _show_layers(network: Model, names: Sequence[str], content: Listing | None, is_json: bool) -> None:
    """Show the layers of these names, or all; in ONNX files, nodes take precedence over layers of the same name."""
    placed = list(placed_nodes(network))
    nodes = None if content is None else NodesAndLayers(content, placed, _types_by_tensor(placed))
    selected: list[PlacedNode] = [] if names else placed
    shown: list[OnnxNode] = []
    for name in names:
        nodes_of_name = [] if nodes is None else nodes.nodes_with_name(name)
        if nodes is not None and nodes_of_name:
            shown += [node for node in nodes_of_name if node not in shown]
            of_nodes = [layer for node in nodes_of_name for layer in nodes.layers(node.name)] if is_json else []
            selected += [node for node in of_nodes if node not in selected]
        else:
            selected += [entry for entry in _find_layers(placed, name, nodes) if entry not in selected]
    sources = network.sources
    layers = [
        layer_facts(entry, None if nodes is None else nodes.of(entry), sources.get(entry.node)) for entry in selected
    ]
    if is_json:
        show_json(TypeAdapter(list[LayerFacts]).dump_json(layers, indent=2).decode())
        return
    of_nodes_text = [
        part
        for node in shown
        if nodes is not None
        for of_node in [nodes.layers(node.name)]
        for part in shown_node(node, of_node, next((sources.get(layer.node) for layer in of_node), None))
    ]
    show(*of_nodes_text, *(part for layer in layers for part in _layer_view(layer)))


def _types_by_tensor(placed: Sequence[PlacedNode]) -> dict[str, str]:
    """Return the types of all values by tensor name."""
    return {name: str(entry.types[v.number]) for entry in placed for v in entry.node.outputs for name in v.names}


def _in_ir(facts: NetworkFacts) -> str:
    return f"In IR: {facts.layers:,} layers"


def _raise_unless_without_weights(fault: IRError) -> None:
    """Raise errors of `load` except missing weights, because most of the output does not need constants."""
    if isinstance(fault, NotKnownError):
        echo(printable(str(fault)), to_stderr=True)
    elif fault.code != Code.weights_missing:
        raise_error(fault)


def _summary(loaded: Loaded, facts: NetworkFacts, most: int | None) -> list[Table | str]:
    variables = _ports("Variables", facts.variables, most) if facts.variables else []
    return [
        _heading(loaded, facts),
        _totals(facts),
        *_ports("Inputs", facts.inputs, most),
        *_ports("Outputs", facts.outputs, most),
        *variables,
        _operators(facts),
        _constants(facts.constants),
        *([_compression_table(facts)] if facts.compressed else []),
    ]


def _heading(loaded: Loaded, facts: NetworkFacts) -> str:
    """Return a line with the name, version and writer in the file and the number of layers."""
    by = f", written by {printable(facts.writer)}" if facts.writer is not None else ""
    added = len(loaded.document.layers) - len(loaded.source.layers)
    more = f" and {added:,} for inputs and outputs of version 10" if added else ""
    is_missing = loaded.weights is None and any(layer.is_constant for layer in loaded.source.all_layers())
    missing = "; the weights are missing" if is_missing else ""
    return f"{printable(facts.name) or 'model'}: IR version {facts.version}, {facts.layers:,} layers{more}{by}{missing}"


def _totals(facts: NetworkFacts) -> str:
    inexact = "" if facts.is_exact else " or more"
    counts = {
        "parameters": f"{facts.parameters:,}",
        "bytes": f"{facts.bytes:,}",
        "multiply-adds": f"{facts.multiply_adds:,}{inexact}",
        "variables": f"{len(facts.variables):,}",
        "inputs": f"{len(facts.inputs):,}",
        "outputs": f"{len(facts.outputs):,}",
    }
    return align_entries(counts)


def _ports(title: str, ports: Sequence[PortFacts], most: int | None) -> list[Table | str]:
    shown = table(title, name="left", element_type="left", shape="left", other_names="left")
    shown.names = frozenset()  # names of inputs and outputs are never shortened, to be copied to other commands
    for port in ports[:most]:
        shown.add_row(port.name, port.element_type, port.shape, ", ".join(port.other_names))
    return [shown, *left_out(len(ports), most)]


def _operators(facts: NetworkFacts) -> Table:
    is_missing = not all(operator.is_implemented for operator in facts.operators)
    notes: dict[str, Literal["left"]] = {"note": "left"} if is_missing else {}
    shown = table("Operators", type="left", opset="left", layers="right", **notes)
    for operator in facts.operators:
        note = [] if not is_missing else [""] if operator.is_implemented else ["not implemented"]
        shown.add_row(operator.type, operator.opset or "", f"{operator.layers:,}", *note)
    return shown


def _constants(constants: Sequence[ConstantFacts]) -> Table:
    shown = table("Weights", element_type="left", constants="right", elements="right", bytes="right")
    for constant in constants:
        shown.add_row(constant.element_type, f"{constant.constants:,}", f"{constant.elements:,}", f"{constant.bytes:,}")
    return shown


def _compression_table(facts: NetworkFacts) -> Table:
    columns: dict[str, Literal["left", "right"]] = {"format": "left", "group_size": "right", "weights": "right"}
    shown = table("Compressed weights", **columns, elements="right", bytes="right")
    for weights_of_format in facts.compressed:
        group = "-" if weights_of_format.group_size is None else f"{weights_of_format.group_size:,}"
        shown.add_row(
            weights_of_format.format,
            group,
            f"{weights_of_format.weights:,}",
            f"{weights_of_format.elements:,}",
            f"{weights_of_format.bytes:,}",
        )
    return shown


def _layers(network: Model, most: int | None) -> list[Table | str]:
    shown = table("Layers", id="right", type="left", name="left", inputs="left", outputs="left")
    placed = list(placed_nodes(network))
    for id, _, node, types, _ in placed[:most]:
        inputs = ", ".join(_source(value.node, value.position) for value in node.inputs if value is not None)
        outputs = ", ".join(str(types[value.number]) for value in node.outputs)
        shown.add_row(id, node.type, node.name, inputs, outputs)
    return [shown, *left_out(len(placed), most)]


def _source(node: Node, position: int) -> str:
    return node.id if len(node.outputs) == 1 else f"{node.id}:{position}"


def _find_layers(placed: Sequence[PlacedNode], name: str, nodes: NodesAndLayers | None) -> list[PlacedNode]:
    """Return the layers with this name, path, id or tensor name, in this order of preference; names may be shared."""
    hits = (
        [entry for entry in placed if entry.node.name == name]
        or [entry for entry in placed if entry.path == name]
        or [entry for entry in placed if entry.id == name]
        or [entry for entry in placed if any(name in value.names for value in entry.node.outputs)]
    )
    if not hits:
        candidates = [text for entry in placed for text in (entry.node.name, entry.path, entry.id)]
        candidates += [text for entry in placed for value in entry.node.outputs for text in value.names]
        candidates += [] if nodes is None else list(nodes.names)
        hint = suggested(name, candidates) or "--layers lists all layers"
        raise Unusable(f"there is no {'layer' if nodes is None else 'node or layer'} {name!r}; {hint}")
    return hits


def _layer_view(layer: LayerFacts) -> list[Table | str]:
    line = "" if layer.line is None else f", line {layer.line}"
    missing = "" if layer.is_implemented else ", not implemented"
    made_of = "" if layer.node is None else f', of node "{layer.node.name}"'
    head = f'layer {layer.id} "{layer.name}" ({layer.type} of {layer.opset or "no opset"}{line}{missing}{made_of})'
    work = f"\nmultiply-adds   {layer.multiply_adds:,}" if layer.multiply_adds else ""
    if layer.source is not None:
        work += f"\n{describe_source(layer.source)}"
    attributes = table("Attributes", name="left", value="left")
    for name, text in layer.attributes.items():
        attributes.add_row(name, text)
    inputs = table("Inputs", name="left", type="left", from_layer="left", value="left")
    inputs.names = frozenset()
    for port in layer.inputs:
        source = "no edge" if port.source is None else f"{port.source.id} {port.source.name} ({port.source.type})"
        inputs.add_row(port.name, port.type or "", source, port.value or "")
    outputs = table("Outputs", name="left", type="left", tensor_names="left", to_layers="left", value="left")
    for output in layer.outputs:
        readers = ", ".join(f"{reader.id} {reader.name} ({reader.type})" for reader in output.readers)
        names = printable(", ".join(output.names))
        outputs.add_row(output.name, output.type, names, readers, output.value or "")
    tables = [shown.without_empty_columns() for shown in (attributes, inputs, outputs) if shown.rows]
    return [printable(head) + work, *tables]
