"""The connection of a body to its layer: the port map and the back edges of the file, checked and resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ir_exec.codes import Code
from ir_exec.errors import GraphError, Location
from ir_exec.graph.graph import Graph, Node
from ir_exec.ir import Body, Layer, PortMapEntry
from ir_exec.ops.base.bodies import BodyInput, BodyOutput, FedBackValue, Part, Ties

__all__ = ["check_port_map", "tie_body", "with_port_ids"]


def check_port_map(node: Node, body: Body, graph: Graph) -> Iterator[GraphError]:
    """Return every fault (IR112): ends that do not exist or have the wrong kind, Parameters and ports without an entry.

    If an entry names a Parameter or an output that does not exist, missing entries are not reported as well.
    """
    layer = node.layer
    parameters = {parameter.id for parameter in graph.parameters}
    results = {result.id for result in graph.results}
    ids = {"input": {port.id for port in layer.inputs}, "output": {port.id for port in layer.outputs}}
    # A layer without an operator may be a misspelled Parameter or Result, which is reported elsewhere.
    unknown = {unknown_node.id for unknown_node in (*graph.nodes, *graph.unreachable) if unknown_node.op is None}
    parameters |= unknown
    results |= unknown
    for entry in body.port_map:
        fault = _entry_fault(entry, ids[entry.direction], parameters if entry.direction == "input" else results)
        if fault is not None:
            yield fault
    for edge in body.back_edges:
        if edge.from_layer not in results:
            yield _fault(
                "a back edge leaves layer", edge.line, actual=edge.from_layer, expected=f"a Result of {body.name}"
            )
        if edge.to_layer not in parameters:
            yield _fault(
                "a back edge enters layer", edge.line, actual=edge.to_layer, expected=f"a Parameter of {body.name}"
            )
    fed = Counter(entry.internal_layer_id for entry in body.port_map if entry.direction == "input")
    is_lost = not fed.keys() <= parameters
    for parameter in graph.parameters:
        if fed[parameter.id] > 1 or not (fed[parameter.id] or is_lost):
            what = "nothing feeds" if not fed[parameter.id] else "more than one entry of the port map feeds"
            message = f'{what} Parameter {parameter.id} "{parameter.name}" of {body.name}'
            message += ": no entry of the port map names it" if not fed[parameter.id] else ""
            yield _fault(message, parameter.layer.line)
    yield from _input_faults(node, body)
    yield from _output_faults(node, body)


def _input_faults(node: Node, body: Body) -> Iterator[GraphError]:
    """The faults of inputs that no entry reads. Inputs of a layer with several bodies may be for another one."""
    layer = node.layer
    mapped = {str(entry.external_port_id) for entry in body.port_map if entry.direction == "input"}
    is_lost = not mapped <= {"-1", *(port.id for port in layer.inputs)}
    if len(node.op_class.body_names) > 1 or is_lost:
        return
    for port in layer.inputs[node.op_class.own_inputs :]:
        if port.id not in mapped:
            yield _fault(f"input port {port.id}: no entry of the port map of {body.name} reads it", port.line)


def _output_faults(node: Node, body: Body) -> Iterator[GraphError]:
    layer = node.layer
    counts = Counter(str(entry.external_port_id) for entry in body.port_map if entry.direction == "output")
    is_lost = not counts.keys() <= {"-1", *(port.id for port in layer.outputs)}
    for port in layer.outputs:
        if counts[port.id] > 1 or not (counts[port.id] or is_lost):
            count = "no entry" if not counts[port.id] else "more than one entry"
            yield _fault(f"output port {port.id}: {count} of the port map of {body.name} writes it", port.line)
    purposes = [entry.purpose for entry in body.port_map if entry.direction == "output"]
    if node.op_class.has_condition and "execution_condition" not in purposes:
        yield _fault("the port map has no output with the purpose execution_condition", body.line, expected="one")


def _entry_fault(entry: PortMapEntry, ports: set[str], inside: set[str]) -> GraphError | None:
    operator_type = "Parameter" if entry.direction == "input" else "Result"
    connected = entry.external_port_id != -1
    if connected and str(entry.external_port_id) not in ports:
        message = f"the port map names {entry.direction} port {entry.external_port_id}, which the layer does not have"
        return _fault(message, entry.line)
    if not connected and entry.purpose is None:
        layer = entry.internal_layer_id
        return _fault(
            f"the port map's {entry.direction} for layer {layer} is not connected and has no purpose", entry.line
        )
    if entry.internal_layer_id not in inside:
        return _fault(
            f"the port map ties {entry.direction} {entry.external_port_id} to layer",
            entry.line,
            actual=entry.internal_layer_id,
            expected=f"a {operator_type} of the body",
        )
    if entry.stride == 0 or (entry.part_size is not None and entry.part_size < 1):
        size = 1 if entry.part_size is None else entry.part_size
        stride = 1 if entry.stride is None else entry.stride
        return _fault(
            "the size and stride of slices in the port map are",
            entry.line,
            actual=f"{size} and {stride}",
            expected="size >= 1 and stride != 0",
        )
    return None


def _fault(message: str, line: int, *, actual: object = None, expected: object = None) -> GraphError:
    location = Location(line=line)
    return GraphError(message, actual=actual, expected=expected, code=Code.body_port_map, location=location)


def with_port_ids(layer: Layer, body: Body) -> Body | None:
    """The body whose port map names the layer's output ports by their ids, if the file counts them from 0.

    None if the file's ids are already port ids, or not a count. OpenVINO interprets them as an order.
    """
    outputs = [entry.external_port_id for entry in body.port_map if entry.direction == "output"]
    named = sorted({id for id in outputs if id != -1})
    if named != list(range(len(layer.outputs))) or {str(id) for id in named} == {port.id for port in layer.outputs}:
        return None
    entries = tuple(
        entry.changed(external_port_id=int(layer.outputs[entry.external_port_id].id))
        if entry.direction == "output" and entry.external_port_id != -1
        else entry
        for entry in body.port_map
    )
    return body.changed(port_map=entries)


def tie_body(layer: Layer, body: Body, graph: Graph) -> Ties | None:
    """The ties of a body whose port map has no faults, by positions; None if it names unknown layers."""
    parameters = {node.id: index for index, node in enumerate(graph.parameters)}
    results = {node.id: index for index, node in enumerate(graph.results)}
    tied_in = {entry.internal_layer_id for entry in body.port_map if entry.direction == "input"}
    tied_out = {entry.internal_layer_id for entry in body.port_map if entry.direction == "output"}
    tied_in |= {edge.to_layer for edge in body.back_edges}
    tied_out |= {edge.from_layer for edge in body.back_edges}
    if not (tied_in <= parameters.keys() and tied_out <= results.keys()):
        return None
    inputs = {port.id: position for position, port in enumerate(layer.inputs)}
    outputs = {port.id: position for position, port in enumerate(layer.outputs)}
    return Ties(
        parameters=len(parameters),
        inputs=tuple(
            BodyInput(
                parameter=parameters[entry.internal_layer_id],
                position=inputs.get(str(entry.external_port_id)),
                part=_part(entry),
                counts_iterations=entry.purpose == "current_iteration",
            )
            for entry in body.port_map
            if entry.direction == "input"
        ),
        outputs=tuple(
            BodyOutput(
                result=results[entry.internal_layer_id],
                position=outputs.get(str(entry.external_port_id)),
                part=_part(entry),
                is_condition=entry.purpose == "execution_condition",
            )
            for entry in body.port_map
            if entry.direction == "output"
        ),
        back_edges=tuple(FedBackValue(results[edge.from_layer], parameters[edge.to_layer]) for edge in body.back_edges),
    )


def _part(entry: PortMapEntry) -> Part | None:
    if entry.axis is None:
        return None
    return Part(
        axis=entry.axis,
        start=0 if entry.start is None else entry.start,
        end=-1 if entry.end is None else entry.end,
        stride=1 if entry.stride is None else entry.stride,
        part_size=1 if entry.part_size is None else entry.part_size,
    )
