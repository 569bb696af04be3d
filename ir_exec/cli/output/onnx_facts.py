"""The data of `inspect` for ONNX files: the content, and the layers that a node was lowered to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ir_exec.cli.output.source_text import describe_source
from ir_exec.onnx.lowering.layer_names import node_of_layer
from ir_exec.printable import printable
from ir_exec.report.records import Record
from ir_exec.report.tables import Table, table
from ir_exec.report.text import align_entries

if TYPE_CHECKING:
    from ir_exec.cli.output.placed_nodes import PlacedNode
    from ir_exec.ir.sources import CodeLocation
    from ir_exec.onnx.reading.listing import ListedNode, Listing

__all__ = [
    "NodesAndLayers",
    "OnnxFacts",
    "OnnxNode",
    "onnx_facts",
    "shown_content",
    "shown_initializers",
    "shown_node",
    "shown_nodes",
]


class OnnxValue(Record):
    """An input or output.

    Attributes:
        type: The type with the names of dims, as declared in the file or inferred.
    """

    name: str
    type: str


class OnnxOperator(Record):
    """An operator, `Conv` or `com.microsoft.FusedMatMul`, with its number of nodes, including bodies."""

    type: str
    nodes: int


class OnnxInitializer(Record):
    """An initializer.

    Attributes:
        external: The external file that contains the data.
    """

    name: str
    type: str
    bytes: int
    external: str | None = None


class OnnxFunction(Record):
    """A function of the file, with its number of nodes."""

    type: str
    nodes: int


class OnnxFacts(Record):
    """The content of an ONNX file.

    Attributes:
        opsets: Versions by domain.
        metadata: The number of `metadata_props`.
    """

    ir_version: int
    opsets: dict[str, int]
    producer: str
    domain: str
    model_version: int
    graph: str
    metadata: int
    functions: tuple[OnnxFunction, ...]
    inputs: tuple[OnnxValue, ...]
    outputs: tuple[OnnxValue, ...]
    nodes: int
    operators: tuple[OnnxOperator, ...]
    initializers: tuple[OnnxInitializer, ...]


class OnnxNode(Record):
    """A node of an ONNX file.

    Attributes:
        body: The enclosing nodes.
        layers: The ids of the layers that it was lowered to.
    """

    name: str
    type: str
    domain: str
    body: tuple[str, ...]
    attributes: dict[str, str]
    inputs: tuple[OnnxValue, ...]
    outputs: tuple[OnnxValue, ...]
    layers: tuple[str, ...]


def onnx_facts(listing: Listing) -> OnnxFacts:
    return OnnxFacts(
        ir_version=listing.ir_version,
        opsets=listing.opsets,
        producer=listing.producer,
        domain=listing.domain,
        model_version=listing.model_version,
        graph=listing.graph_name,
        metadata=listing.metadata,
        functions=tuple(OnnxFunction(type=type, nodes=count) for type, count in listing.functions.items()),
        inputs=_values(listing.inputs.items()),
        outputs=_values(listing.outputs.items()),
        nodes=len(listing.nodes),
        operators=tuple(OnnxOperator(type=type, nodes=count) for type, count in listing.operators),
        initializers=tuple(
            OnnxInitializer(
                name=initializer.name, type=initializer.type, bytes=initializer.bytes, external=initializer.external
            )
            for initializer in listing.initializers
        ),
    )


class NodesAndLayers:
    """The nodes of a file with the layers that they were lowered to.

    Args:
        inferred: Types of values by name.
    """

    def __init__(self, listing: Listing, placed: Iterable[PlacedNode], inferred: Mapping[str, str]) -> None:
        self._listing = listing
        self._inferred = inferred
        self.names = {name for node in listing.nodes for name in (node.name, *node.outputs) if name}
        self._layers: dict[str, list[PlacedNode]] = {}
        self._nodes = {node.name: node for node in reversed(listing.nodes)}
        self._made_of: dict[str, str] = {}
        for entry in placed:
            cls = entry.node.op_class
            is_end = cls.is_parameter or cls.is_result
            name = None if is_end else node_of_layer(entry.node.name, self._nodes)
            if name is not None:
                self._layers.setdefault(name, []).append(entry)
                self._made_of[entry.id] = name

    def nodes_with_name(self, name: str) -> list[OnnxNode]:
        """Return the nodes with this name, or with an output of this name."""
        return [self._facts(node) for node in self._listing.find_by_name(name)]

    def layers(self, node: str) -> list[PlacedNode]:
        """Return the layers that a node was lowered to."""
        return self._layers.get(node, [])

    def of(self, layer: PlacedNode) -> OnnxNode | None:
        """Return the node that was lowered to this layer, and possibly others."""
        name = self._made_of.get(layer.id)
        return None if name is None else self._facts(self._nodes[name])

    def _facts(self, node: ListedNode) -> OnnxNode:
        return OnnxNode(
            name=node.name,
            type=node.type,
            domain=node.domain,
            body=node.body,
            attributes=node.attributes,
            inputs=_values((name, self._listing.type_of(name, self._inferred)) for name in node.inputs),
            outputs=_values((name, self._listing.type_of(name, self._inferred)) for name in node.outputs),
            layers=tuple(layer.id for layer in self.layers(node.name)),
        )


def _values(named: Iterable[tuple[str, str]]) -> tuple[OnnxValue, ...]:
    return tuple(OnnxValue(name=name, type=type) for name, type in named)


def shown_content(facts: OnnxFacts) -> list[Table | str]:
    """Return the summary as tables, with initializers by element type."""
    by = f", written by {printable(facts.producer)}" if facts.producer else ""
    head = f"{printable(facts.graph) or 'graph'}: ONNX, IR version {facts.ir_version}, {facts.nodes:,} nodes{by}"
    size = sum(initializer.bytes for initializer in facts.initializers)
    counts = {
        "opsets": ", ".join(f"{printable(name)} {version}" for name, version in facts.opsets.items()),
        "model version": str(facts.model_version) if facts.model_version else "",
        "domain": printable(facts.domain),
        "metadata": f"{facts.metadata:,} entries" if facts.metadata else "",
        "functions": ", ".join(
            f"{printable(function.type)} ({function.nodes:,} nodes)" for function in facts.functions
        ),
        "initializers": f"{len(facts.initializers):,} ({size:,} bytes)",
    }
    shown = {name: text for name, text in counts.items() if text}
    return [
        head,
        align_entries(shown),
        _ends("Inputs", facts.inputs),
        _ends("Outputs", facts.outputs),
        _operators(facts),
        _initializer_table(facts),
    ]


def shown_initializers(facts: OnnxFacts) -> Table:
    """Return a table of the initializers with type and size."""
    shown = table("Initializers", name="left", type="left", bytes="right", external="left")
    for initializer in facts.initializers:
        shown.add_row(initializer.name, initializer.type, f"{initializer.bytes:,}", initializer.external or "")
    return shown.without_empty_columns() if shown.rows else shown


def shown_nodes(listing: Listing, inferred: Mapping[str, str]) -> Table:
    """Return a table of the nodes with operator and output types."""
    shown = table("Nodes", name="left", operator="left", inputs="left", outputs="left", types="left")
    for node in listing.nodes:
        types = ", ".join(listing.type_of(name, inferred) or "?" for name in node.outputs if name)
        inputs, outputs = (printable(", ".join(names)) for names in (node.inputs, node.outputs))
        name = printable("/".join((*node.body, node.name)))
        shown.add_row(name, node.operator, inputs, outputs, types)
    return shown


def shown_node(node: OnnxNode, layers: Iterable[PlacedNode], source: CodeLocation | None = None) -> list[Table | str]:
    """Return the tables of a node and of the layers that it was lowered to, and the line of Python that it is from."""
    inside = f" in {' / '.join(node.body)}" if node.body else ""
    attributes = table("Attributes", name="left", value="left")
    for name, text in node.attributes.items():
        attributes.add_row(name, text)
    became = table("IR layers", id="right", type="left", name="left", outputs="left")
    for layer in layers:
        outputs = ", ".join(str(layer.types[value.number]) for value in layer.node.outputs)
        became.add_row(layer.id, layer.node.type, layer.node.name, outputs)
    head = printable(f'node "{node.name}" ({node.type} of {node.domain}{inside})')
    if source is not None:
        head += f"\n{describe_source(source)}"
    tables = [attributes, _ends("Inputs", node.inputs), _ends("Outputs", node.outputs), became]
    return [head, *(table for table in tables if table.rows)]


def _ends(title: str, values: Iterable[OnnxValue]) -> Table:
    shown = table(title, name="left", type="left")
    for value in values:
        shown.add_row(value.name, value.type)
    return shown


def _operators(facts: OnnxFacts) -> Table:
    shown = table("Operators", type="left", nodes="right")
    for operator in facts.operators:
        shown.add_row(operator.type, f"{operator.nodes:,}")
    return shown


def _initializer_table(facts: OnnxFacts) -> Table:
    """Return a table of the initializers by element type and file."""
    groups: dict[tuple[str, str], list[OnnxInitializer]] = {}
    for initializer in facts.initializers:
        groups.setdefault((initializer.type.partition("[")[0], initializer.external or ""), []).append(initializer)
    shown = table("Initializers", element_type="left", initializers="right", bytes="right", external="left")
    for (element_type, external), ones in sorted(
        groups.items(), key=lambda item: -sum(initializer.bytes for initializer in item[1])
    ):
        shown.add_row(element_type, f"{len(ones):,}", f"{sum(initializer.bytes for initializer in ones):,}", external)
    return shown.without_empty_columns() if shown.rows else shown
