"""The graph of a document.

The structure of the file is checked here, and each fault is reported. Faulty layers remain in the graph: a node with an
unknown type or invalid attributes has no operator, an input without an edge is None. Later passes then find faults that
are independent of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ir_exec.codes import Code
from ir_exec.errors import (
    GraphError,
    InvalidAttributeError,
    IRError,
    Location,
    ReportFault,
    Severity,
    UnsupportedError,
    WeightsError,
    raise_error,
)
from ir_exec.graph.bodies import check_port_map, tie_body, with_port_ids
from ir_exec.graph.graph import BodyGraph, Graph, Node, Value
from ir_exec.graph.order import reachable, topological_order
from ir_exec.ir import MAX_BODY_DEPTH, Body, Document, Edge, Layer, Port, Weights, spare_bytes
from ir_exec.ir.document import id_number
from ir_exec.ops import Op, resolve
from ir_exec.ops.base.known_extensions import internal_operator
from ir_exec.ops.base.registry import newest, type_key
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, ReadsVariable
from ir_exec.types import Dim, ElementType, Shape, TensorType

__all__ = ["build_graph", "declared_type"]


_OF_VARIABLES = (ReadsVariable, AssignsVariable)

_MISSING_INPUT = ": it represents a missing input; OpenVINO writes such files, but does not read them"
_UNTYPED_HINT = "keep the source of this file: OpenVINO does not read constants without an element type"

_OF_ATTRIBUTES = {Code.invalid_attribute, Code.unknown_attribute}
"""Faults of attributes in the file: they are on the line of `<data>`."""


def build_graph(document: Document, weights: Weights | None, *, report: ReportFault = raise_error) -> Graph:
    """The graph of a document; constants are compared with the size of the weights, without reading their bytes.

    Args:
        weights: None if there is no .bin; if the model has constants, this is reported once (IR201).
    """
    builder = _Builder(document.path, weights, report)
    graph = builder.build(document.name, document.layers, document.edges)
    builder.check_variables(graph)
    return graph


@dataclass
class _Builder:
    path: str | None
    weights: Weights | None
    report: ReportFault
    weights_missed: bool = False
    level: int = 0
    shared: dict[tuple[object, ...], Op] = field(default_factory=dict)

    def build(self, name: str, layers: tuple[Layer, ...], edges: tuple[Edge, ...], *, is_body: bool = False) -> Graph:
        nodes = self.nodes(layers)
        self.connect(nodes, edges)
        listed = list(nodes.values())
        self.check_untyped_constants(listed)
        parameters = [node for node in listed if node.op_class.is_parameter]
        results = [node for node in listed if node.op_class.is_result]
        sinks = [*results, *(node for node in listed if isinstance(node.op, AssignsVariable))]
        if not sinks and not is_body:
            self.report(
                GraphError("the model has no Result", expected="at least one", code=Code.no_result).located(
                    Location(path=self.path)
                )
            )
        order = topological_order(listed, self.report)
        needed = reachable(sinks) if sinks else set(listed)
        needed.update(parameters)
        values = self.number(order)
        return Graph(
            name=name,
            nodes=[node for node in order if node in needed],
            parameters=parameters,
            results=results,
            values=values,
            unreachable=[node for node in listed if node not in needed],
            path=self.path,
        )

    def nodes(self, layers: tuple[Layer, ...]) -> dict[str, Node]:
        nodes: dict[str, Node] = {}
        places: dict[str, int] = {}
        for index, layer in enumerate(layers):
            node = Node(layer, None, self.path)
            if layer.id in nodes:
                first, first_place = nodes[layer.id], places[layer.id]
                is_first_odd = _is_in_order(layers, index) and not _is_in_order(layers, first_place)
                odd, other = (first, node) if is_first_odd else (node, first)
                message = f'id {layer.id} is taken by layer "{other.name}" ({other.type}) of line {other.layer.line}'
                self.report(GraphError(message, code=Code.duplicate_layer_id).located(odd.location))
                continue
            node.declared_inputs = tuple([_declared_type(port.precision, port.dims) for port in layer.inputs])
            node.inputs = [None] * len(layer.inputs)
            node.outputs = tuple(
                [
                    Value(node, position, -1, _declared_type(port.precision, port.dims), port.names)
                    for position, port in enumerate(layer.outputs)
                ]
            )
            nodes[layer.id] = node
            places[layer.id] = index
            node.op = self.operator(node)
            if layer.bodies:
                node.bodies = tuple([self.body(node, body) for body in layer.bodies])
            # The reader reports and omits bodies that are nested too deep.
            missing = node.missing_bodies() if self.level < MAX_BODY_DEPTH else ()
            if missing:
                what = " and no ".join(f"<{name}>" for name in missing)
                message = f"the layer has no {what}, as every {layer.type} has"
                self.report(GraphError(message, code=Code.body_port_map).located(node.location))
        return nodes

    def operator(self, node: Node) -> Op | None:
        """The operator of a node; layers with equal attributes share one, unless it is random or stateful."""
        layer = node.layer
        if layer.version is None:
            return None
        # Each constant has a separate offset.
        key = None if layer.is_constant else (layer.type, layer.version, *layer.data.items())
        op = None if key is None else self.shared.get(key)
        if op is None:
            faults: list[IRError] = []
            op = self.parse(layer, faults.append)
            for fault in faults:
                self.report(fault.located(node.location))
            if key is not None and op is not None and op.deterministic and not faults:
                self.shared[key] = op
        node.op_class = type(op) if op is not None else newest(layer.type) or Op
        if isinstance(op, Const):
            self.check_constant(op, node)
        return op

    def parse(self, layer: Layer, report: ReportFault) -> Op | None:
        try:
            cls = resolve(layer.type, layer.version or "")
        except IRError as error:
            report(error.changed(severity="info" if error.code.startswith("IR9") else "error"))
            return None
        internal = internal_operator(type_key(layer.type), layer.version or "")
        if internal is not None:
            message = f"{layer.type} of {layer.version!r} is {internal.description}; OpenVINO's reader rejects it"
            report(UnsupportedError(message, code=Code.extension_operator, severity="info", hint=internal.hint))

        def report_attribute(error: IRError) -> None:
            report(error.located(Location(line=layer.data_line)) if error.code in _OF_ATTRIBUTES else error)

        for name in cls.unknown_attributes(layer.data):
            message = f"{layer.type} has no attribute {name}; it is ignored"
            report_attribute(InvalidAttributeError(message, code=Code.unknown_attribute, severity="warning"))
        for name in cls.expected_attributes:
            if name not in layer.data:
                message = f"attribute {name} is missing; its value is taken from the input"
                report(InvalidAttributeError(message, code=Code.missing_attribute, severity="warning"))
        return cls.parse(layer.data, report_attribute)

    def check_untyped_constants(self, nodes: list[Node]) -> None:
        """Report constants of the type `dynamic`, which OpenVINO writes for missing optional inputs."""
        untyped = {node: "" for node in nodes if isinstance(node.op, Const) and not node.op.element_type.is_known}
        if not untyped:
            return
        for node in nodes:
            for position, value in enumerate(node.inputs):
                if value is not None and value.node in untyped and not _takes_nothing(node.op, position):
                    untyped[value.node] = f", and {node.type} {node.name!r} needs this input"
        for node, reader in untyped.items():
            assert isinstance(node.op, Const), "only constants are selected"
            holds = "" if 0 in node.op.shape.size else f", and it has {node.op.shape.size} elements"
            severity: Severity = "error" if reader or holds else "warning"
            message = f"the element type of the constant is dynamic{holds or reader or _MISSING_INPUT}"
            error = InvalidAttributeError(message, code=Code.untyped_constant, severity=severity, hint=_UNTYPED_HINT)
            self.report(error.located(Location(line=node.layer.data_line)).located(node.location))
            if severity == "error":
                node.op = None

    def check_constant(self, op: Const, node: Node) -> None:
        if not op.shape.is_static or not op.element_type.is_known:
            return
        shape = op.shape.static
        check = spare_bytes if self.weights is None else self.weights.check
        try:
            spare = check(op.element_type, shape, op.offset, op.size)
            if spare:
                message = f"{op.element_type}{list(shape)} takes {op.size - spare} bytes, but the size is "
                message += f"{op.size}: the last {spare} are not read"
                error = WeightsError(message, code=Code.constant_size, severity="warning")
                # Baselines of findings contain this message.
                error = error.changed(actual=str(op.size), expected=str(op.size - spare))
                self.report(error.located(node.location))
        except IRError as error:
            self.report(error.located(node.location))
        if self.weights is None and not self.weights_missed:
            self.weights_missed = True
            missing = WeightsError(
                "the model has constants",
                expected="a weights file",
                code=Code.weights_missing,
                hint="put the weights next to the .xml, with the extension .bin",
            )
            self.report(missing.located(node.location))

    def connect(self, nodes: dict[str, Node], edges: tuple[Edge, ...]) -> None:
        """Connect inputs to outputs; edges name ports by id, the graph by position."""
        inputs = {
            (id, port.id): (node, position)
            for id, node in nodes.items()
            for position, port in enumerate(node.layer.inputs)
        }
        outputs = {
            (id, port.id): node.outputs[position]
            for id, node in nodes.items()
            for position, port in enumerate(node.layer.outputs)
        }
        refused: set[tuple[str, str]] = set()
        faults: list[tuple[Edge, GraphError]] = []
        for edge in edges:
            source = outputs.get((edge.from_layer, edge.from_port))
            target = inputs.get((edge.to_layer, edge.to_port))
            if source is None or target is None:
                refused.add((edge.to_layer, edge.to_port))
                faults.append((edge, _edge_fault(edge, nodes)))
                continue
            node, position = target
            if node.inputs[position] is not None:
                message = f"input port {edge.to_port} has more than one edge"
                port = _port_name(node, position)
                error = GraphError(message, code=Code.two_edges, location=Location(line=edge.line, port=port))
                faults.append((edge, error.located(node.location)))
                continue
            node.inputs[position] = source
        astray = {edge.to_port for edge, _ in faults}
        open_nodes = [node for node in nodes.values() if None in node.inputs]
        for node in open_nodes:
            if _is_last_left_out(node) and node.layer.inputs[-1].id not in astray:
                self.leave_out_last_input(node)
        unfed: dict[str, list[tuple[Node, int]]] = {}
        for node in open_nodes:
            for position, value in enumerate(node.inputs):
                if value is None and (node.id, port_id := node.layer.inputs[position].id) not in refused:
                    unfed.setdefault(port_id, []).append((node, position))
        for edge, fault in faults:
            if edge.from_layer in nodes and len(unfed.get(edge.to_port, ())) == 1:
                ((node, position),) = unfed.pop(edge.to_port)
                fault = _add_hint(edge, fault, node, position, is_placed=edge.to_layer in nodes)
            self.report(fault.located(Location(self.path, edge.line)))
        for node, position in (input_port for ports in unfed.values() for input_port in ports):
            message = f"input port {node.layer.inputs[position].id} has no edge"
            name = _port_name(node, position)
            self.report(GraphError(message, code=Code.input_without_edge, port=name).located(node.location))

    def leave_out_last_input(self, node: Node) -> None:
        """Continue as if the layer did not have its last input port, which has no edge."""
        port = node.layer.inputs[-1]
        name = _port_name(node, len(node.inputs) - 1)
        message = f"input port {port.id} has no edge; the layer is read without this optional input"
        location = Location(line=port.line, port=name)
        error = GraphError(message, code=Code.input_without_edge, severity="warning", location=location)
        self.report(error.located(node.location))
        node.layer = node.layer.changed(inputs=node.layer.inputs[:-1])
        node.inputs.pop()
        node.declared_inputs = node.declared_inputs[:-1]

    def number(self, order: list[Node]) -> list[Value]:
        values = [value for node in order for value in node.outputs]
        for number, value in enumerate(values):
            value.number = number
        return values

    def body(self, node: Node, body: Body) -> BodyGraph:
        self.level += 1
        graph = self.build(body.name, body.layers, body.edges, is_body=True)
        self.level -= 1
        counted = with_port_ids(node.layer, body)
        if counted is not None:
            line = next(entry.line for entry in body.port_map if entry.direction == "output")
            message = f"the port map of {body.name} counts the output ports from 0; their ids in the layer are others"
            error = GraphError(message, code=Code.body_port_map, severity="warning", location=Location(line=line))
            self.report(error.located(node.location))
            body = counted
        faults = list(check_port_map(node, body, graph))
        for fault in faults:
            self.report(fault.located(node.location))
        depth = 1 + max((inner.depth for node in graph.nodes for inner in node.bodies), default=0)
        return BodyGraph(body.name, graph, None if faults else tie_body(node.layer, body, graph), depth)

    def check_variables(self, graph: Graph) -> None:
        """Report variables that are not both read and assigned, as OpenVINO requires (IR113).

        Layers with other faults, which have no operator, may be the other half of a pair.
        """
        nodes = list(graph.all_nodes(unreachable=True))
        variables = [node for node in nodes if isinstance(node.op, _OF_VARIABLES)]
        read = {node.op.variable_id for node in variables if isinstance(node.op, ReadsVariable)}
        assigned = {node.op.variable_id for node in variables if isinstance(node.op, AssignsVariable)}
        lost = [node for node in nodes if node.op is None]
        if any(issubclass(node.op_class, _OF_VARIABLES) and "variable_id" not in node.layer.data for node in lost):
            return
        named = {node.layer.data["variable_id"] for node in lost if "variable_id" in node.layer.data}
        read |= named
        assigned |= named
        faults: list[GraphError] = []
        for node in variables:
            if isinstance(node.op, ReadsVariable) and node.op.variable_id not in assigned:
                message = f"variable {node.op.variable_id!r} is read, but no layer assigns it"
                faults.append(GraphError(message, code=Code.variable_without_pair).located(node.location))
            elif isinstance(node.op, AssignsVariable) and node.op.variable_id not in read:
                message = f"variable {node.op.variable_id!r} is assigned, but no layer reads it"
                faults.append(GraphError(message, code=Code.variable_without_pair).located(node.location))
        if len(read - assigned) == len(assigned - read) == 1 and len(faults) == 2:
            # One of the two was renamed, which is one fault.
            (written,) = assigned - read
            hint = f"variable {written!r} is the only other one without a pair: check if one of the two was renamed"
            faults = [faults[0].changed(hint=hint)]
        for fault in faults:
            self.report(fault)


def _is_in_order(layers: tuple[Layer, ...], position: int) -> bool:
    """Return True if the id of a layer is between its neighbors' ids: writers number layers in file order."""
    neighbors = layers[max(position - 1, 0) : position + 2]
    ids = [number for neighbor in neighbors if (number := id_number(neighbor.id)) is not None]
    return ids == sorted(set(ids))


def declared_type(port: Port) -> TensorType:
    """The type that a port declares; without dims the rank is unknown: the value may have any rank."""
    return _declared_type(port.precision, port.dims)


@lru_cache(maxsize=2**14)
def _declared_type(precision: str | None, dims: tuple[int, ...]) -> TensorType:
    # A model has few types, and each at many ports.
    try:
        element_type = ElementType.parse(precision or "")
    except ValueError:
        element_type = ElementType.dynamic
    if not dims:
        return TensorType(element_type, Shape.unknown())
    return TensorType(element_type, Shape([Dim.any() if size < 0 else Dim.of(size) for size in dims]))


def _is_last_left_out(node: Node) -> bool:
    """Return True if only the last input has no edge, and the operator does not require it."""
    if node.op is None or not node.inputs or node.inputs[-1] is not None or None in node.inputs[:-1]:
        return False
    last = len(node.inputs) - 1
    return last < len(node.op.inputs) and node.op.inputs[last].optional and not node.op.inputs[last].variadic


def _port_name(node: Node, position: int) -> str:
    return node.op.input_name(position) if node.op is not None else node.layer.inputs[position].id


def _add_hint(edge: Edge, fault: GraphError, node: Node, position: int, *, is_placed: bool) -> GraphError:
    """The fault of an edge with a wrong end, with a hint about the only input without an edge, as one fault."""
    hint = (
        f'input port {edge.to_port} of layer {node.id} "{node.name}" ({node.type}) has no edge: '
        "check if this edge belongs there"
    )
    location = Location(line=edge.line, port=_port_name(node, position)).filled_from(node.location)
    return fault.changed(hint=hint, location=fault.location if is_placed else location)


def _edge_fault(edge: Edge, nodes: dict[str, Node]) -> GraphError:
    """The fault of an edge with a missing end, located at an existing layer."""
    arrow = f"the edge from layer {edge.from_layer} port {edge.from_port} to layer {edge.to_layer} port {edge.to_port}"
    source, target = nodes.get(edge.from_layer), nodes.get(edge.to_layer)
    if source is None or target is None:
        missing = edge.from_layer if source is None else edge.to_layer
        message = f"{arrow}: there is no layer {missing}"
        other = target or source
        location = Location() if other is None else Location(line=edge.line).filled_from(other.location)
        return GraphError(message, code=Code.dangling_edge, location=location)
    if all(port.id != edge.from_port for port in source.layer.outputs):
        ids = _ids(source.layer.outputs)
        message = f'{arrow}: layer {source.id} "{source.name}" has no output port {edge.from_port} (it has: {ids})'
        return GraphError(message, code=Code.wrong_port, location=Location(line=edge.line)).located(target.location)
    ids = _ids(target.layer.inputs)
    message = f'{arrow}: layer {target.id} "{target.name}" has no input port {edge.to_port} (it has: {ids})'
    return GraphError(message, code=Code.wrong_port, location=Location(line=edge.line)).located(target.location)


def _ids(ports: tuple[Port, ...]) -> str:
    return ", ".join(dict.fromkeys(port.id for port in ports)) or "none"


def _takes_nothing(op: Op | None, position: int) -> bool:
    """Return True if an operator accepts an empty constant without a type at this input, or is unknown."""
    if op is None:
        return True
    return op.takes_untyped and position < len(op.inputs) and op.inputs[position].optional
