"""`ir-exec inspect`: inputs, outputs and layers of a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

import click

from ir_exec.check import printable
from ir_exec.cli.tables import Table
from ir_exec.cli.terminal import errors_as_messages, show, table
from ir_exec.graph import Graph, Node
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.ir import Weights, read_document
from ir_exec.model import Model, ModelPort, read_model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType


@click.command("inspect")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--weights", metavar="FILE.bin", type=click.Path(), help="Weights other than those beside the .xml.")
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
        network = read_model(model, weights=weights)
        show(
            _heading(network),
            _ports("Inputs", network.inputs),
            _ports("Outputs", network.outputs),
            _operators(network.graph),
            _constants(network.graph),
            _layers(network),
        )


def _heading(network: Model) -> str:
    document = network.document
    written = document.runtime_version
    by = f", written by OpenVINO {written[0]}.{written[1]}" if written is not None else ""
    count = sum(1 for _ in document.all_layers())
    return f"{printable(network.name) or 'network'}: IR version {document.version}, {count:,} layers{by}"


def _ports(title: str, ports: list[ModelPort]) -> Table:
    shown = table(title, name="left", element_type="left", shape="left", other_names="left")
    for port in ports:
        others = ", ".join(sorted(port.names - {port.name}))
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
