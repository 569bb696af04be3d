"""`ir-exec inspect`: inputs, outputs and layers of a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from ir_exec.check import printable
from ir_exec.cli.terminal import errors_as_messages, show, table
from ir_exec.codes import Code
from ir_exec.errors import IRError, raise_error
from ir_exec.graph import Graph, Node
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.ir import Weights, read_document
from ir_exec.model import Loaded, Model, ModelPort, load
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from rich.table import Table


@click.command("inspect")
@click.argument("model", metavar="MODEL")
@click.option("--weights", metavar="FILE.bin", help="Weights other than those beside the .xml.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    help="json: the document, word for word as the .xml has it, by schemas/document.schema.json.",
)
def command(model: str, weights: str | None, format_name: str) -> None:
    """Show inputs, outputs, operators, weights and layers of a network, with the inferred types.

    Exit code: 0 when it was shown, 1 when the network cannot be read, 2 for arguments that cannot be used.
    """
    with errors_as_messages(hint=f"`ir-exec check {model}` shows everything that is wrong with the file"):
        if format_name == "json":
            document = read_document(model)
            assert document is not None, "a reader that raises leaves nothing unread"
            click.echo(document.model_dump_json(indent=2))
            return
        loaded = load(model, weights, report=_raise_unless_without_weights)
        assert loaded is not None, "a reader that raises leaves nothing unread"
        network = Model(loaded)
        show(
            _heading(loaded),
            _ports("Inputs", network.inputs, _added_names(loaded)),
            _ports("Outputs", network.outputs, _added_names(loaded)),
            _operators(network.graph),
            _constants(network.graph),
            _layers(network),
        )


def _raise_unless_without_weights(fault: IRError) -> None:
    """The report for `load`: nothing that is shown needs the values of constants."""
    if fault.code != Code.weights_missing:
        raise_error(fault)


def _heading(loaded: Loaded) -> str:
    """Name, version and writer as the file has them, with the number of its layers."""
    source = loaded.source
    by = f", written by {printable(source.writer)}" if source.writer is not None else ""
    count = sum(1 for _ in source.all_layers())
    added = len(loaded.document.layers) - len(source.layers)
    more = f" and {added:,} for inputs and outputs of version 10" if added else ""
    missing = "; the weights are missing" if _lacks_weights(loaded) else ""
    return f"{printable(source.name) or 'network'}: IR version {source.version}, {count:,} layers{more}{by}{missing}"


def _lacks_weights(loaded: Loaded) -> bool:
    return loaded.weights is None and any(layer.is_constant for layer in loaded.source.all_layers())


def _added_names(loaded: Loaded) -> set[str]:
    """The names of layers that are not in the file: those that convert inputs and outputs of version 10."""
    return {layer.name for layer in loaded.document.layers} - {layer.name for layer in loaded.source.layers}


def _ports(title: str, ports: list[ModelPort], hidden: set[str]) -> Table:
    shown = table(title, name="left", element_type="left", shape="left", other_names="left")
    for port in ports:
        others = ", ".join(sorted(port.names - hidden - {port.name}))
        shown.add_row(printable(port.name), str(port.element_type), str(port.shape), printable(others))
    return shown


def _operators(graph: Graph) -> Table:
    nodes = list(graph.all_nodes())
    missing = {(node.type, node.layer.version) for node in nodes if node.op is None}
    notes: dict[str, Literal["left"]] = {"note": "left"} if missing else {}
    shown = table("Operators", type="left", opset="left", layers="right", **notes)
    counts = Counter((node.type, node.layer.version) for node in nodes)
    for key, count in sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))):
        type, version = key
        note = ["not implemented"] if key in missing else []
        shown.add_row(printable(type), printable(version or ""), f"{count:,}", *note)
    return shown


def _constants(graph: Graph) -> Table:
    """Constants by element type; bytes that constants share count once."""
    shown = table("Weights", element_type="left", constants="right", elements="right", bytes="right")
    counts: Counter[ElementType] = Counter()
    elements: Counter[ElementType] = Counter()
    ranges: dict[ElementType, set[tuple[int, int]]] = {}
    for op in (node.op for node in graph.all_nodes()):
        if isinstance(op, Const):
            counts[op.element_type] += 1
            elements[op.element_type] += op.shape.size.lo
            ranges.setdefault(op.element_type, set()).add((op.offset, op.size))
    for kind in sorted(counts, key=lambda kind: -sum(size for _, size in ranges[kind])):
        stored = sum(size for _, size in ranges[kind])
        shown.add_row(str(kind), f"{counts[kind]:,}", f"{elements[kind]:,}", f"{stored:,}")
    return shown


def _layers(network: Model) -> Table:
    shown = table("Layers", id="right", type="left", name="left", inputs="left", outputs="left")
    for id, node, types in _rows(network.graph, network.types, network.weights, ""):
        inputs = ", ".join(_source(value.node, value.position) for value in node.inputs if value is not None)
        outputs = ", ".join(str(types[value.number]) for value in node.outputs)
        shown.add_row(printable(id), printable(node.type), printable(node.name), printable(inputs), outputs)
    return shown


def _rows(graph: Graph, types: Types, weights: Weights | None, prefix: str) -> Iterator[tuple[str, Node, Types]]:
    """Every node with the types of its graph; the nodes of bodies follow the node that holds them."""
    for node in graph.nodes:
        yield f"{prefix}{node.id}", node, types
        for body in node.bodies:
            inside = infer_types(body.graph, weights=weights, settle=inferred_or_declared)
            label = f"{prefix}{node.id}/" + ("" if body.name == "body" else f"{body.name.removesuffix('_body')}/")
            yield from _rows(body.graph, inside, weights, label)


def _source(node: Node, position: int) -> str:
    return node.id if len(node.outputs) == 1 else f"{node.id}:{position}"
