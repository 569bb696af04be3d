"""Inference of the type of every value of a graph, and the update of a document's declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ReportFault, ShapeError, internal_error, raise_error
from ir_exec.graph import BodyGraph, Graph, Node, Value
from ir_exec.infer.known import with_known_values
from ir_exec.ir import Body, Document, Layer, Port
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import Ties, TypedBody, WeightsReader
from ir_exec.types import ElementType, OpenShapeError, Shape, TensorType

__all__ = [
    "InferredBody",
    "OuterTypes",
    "Settle",
    "Types",
    "declared_port",
    "infer_body",
    "infer_node",
    "infer_outputs",
    "infer_types",
    "inferred_or_declared",
    "redeclare",
    "retain_equal",
    "stop_at_fault",
    "tells_outputs",
    "typed_bodies",
]

Types: TypeAlias = list[TensorType]
"""The type of every value of a graph, indexed by the value's number."""

TypesOfAll: TypeAlias = Mapping[Value, TensorType]
"""The type of every value of a graph and of its bodies."""

Settle: TypeAlias = Callable[[Node, list[TensorType] | None, list[IRError]], list[TensorType]]
"""A function that returns the types of a node's outputs for the following layers.

It is called with the node, its inferred types and its faults. The types are None after a fault, and for a node that
cannot be inferred. The faults include their layer.
"""


def inferred_or_declared(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
    """The Settle that ignores faults: the inferred types, or the declared ones if there are none."""
    return [value.declared for value in node.outputs] if inferred is None else inferred


def stop_at_fault(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
    """The Settle that raises the first error; layers that cannot be inferred keep their declared types."""
    for fault in faults:
        raise_error(fault)
    return inferred_or_declared(node, inferred, faults)


def infer_types(
    graph: Graph,
    *,
    weights: WeightsReader | None = None,
    overrides: Mapping[Value, TensorType] | None = None,
    settle: Settle = stop_at_fault,
    ops: Mapping[Node, Op] | None = None,
    seen: dict[Value, TensorType] | None = None,
    earlier: Types | None = None,
) -> Types:
    """Infer the type of every value of the graph, starting at its Parameters.

    Args:
        overrides: Types that replace the types inferred by operators: new input shapes, inputs of a body.
        settle: Handles faults, and returns the types for the layers after each node.
        ops: Operators that replace the operators of nodes, in bodies too.
        seen: Receives the type of every inferred value, in bodies too.
        earlier: The types of an earlier pass of the same graph and operators. Nodes whose inputs, if any, have
            identical types keep the types of their outputs, and `settle` is not called for them. Layers whose types
            cannot change may be missing in the graph.
    """
    overrides = overrides or {}
    given_nodes = {value.node for value in overrides}
    outer = OuterTypes(weights, ops or {}, seen)
    types: Types = [value.declared for value in graph.values] if earlier is None else earlier.copy()
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if earlier is not None and node not in given_nodes and _stands(node, types, earlier):
                continue
            inferred: list[TensorType] | None
            faults: list[IRError] = []
            if node in given_nodes:
                inferred = [overrides.get(value, value.declared) for value in node.outputs]
            else:
                inferred = _infer(node, types, outer, faults)
                if inferred is not None and len(inferred) != len(node.outputs) and tells_outputs(node, types):
                    faults += _output_faults(node, types, len(inferred))
            settled = settle(node, inferred, faults)
            for value in node.outputs[: len(settled)]:
                type = settled[value.position]
                types[value.number] = type if earlier is None else retain_equal(earlier[value.number], type)
    if seen is not None:
        seen.update(zip(graph.values, types, strict=True))
    return types


def _stands(node: Node, types: Types, earlier: Types) -> bool:
    return all(types[value.number] is earlier[value.number] for value in node.values_in)


def retain_equal(earlier: TensorType, new: TensorType) -> TensorType:
    """Return the earlier type if the new one is equal, with the known elements, to skip the following layers."""
    if earlier != new:
        return new
    if earlier.source is None and new.source is None:
        return earlier
    before, after = earlier.bounds, new.bounds
    if before is None or after is None:
        return earlier if before is after else new
    return earlier if all(map(np.array_equal, before, after)) else new


def tells_outputs(node: Node, types: Types) -> bool:
    """Return True if inference determines the number of the node's outputs.

    Args:
        types: The types of all values before the node.
    """
    op = node.op
    if op is None or node.bodies:
        return False
    if not op.counts_outputs:
        return True
    return types[_counting(node).number].shape.is_static


def _output_faults(node: Node, types: Types, actual: int) -> list[IRError]:
    """The fault of a node whose operator has a different number of outputs than the file declares.

    Outputs without a port are lost. OpenVINO allows this if constants determine their number.
    """
    op, count = node.op, len(node.outputs)
    assert op is not None, "the types of its outputs were inferred"
    if actual < count:
        location = Location(line=node.layer.outputs[actual].line, port=op.output_name(actual))
        error = ShapeError(
            "the layer declares",
            actual=count,
            detail="outputs",
            expected=actual,
            reason=f"the outputs of {node.type}",
            code=Code.too_many_outputs,
            location=location.filled_from(node.location),
        )
        return [error]
    if op.counts_outputs and types[_counting(node).number].value is None:
        reason = "the outputs of the layer"
        error = ShapeError(f"{op.counts_outputs} has", actual=actual, detail="elements", expected=count, reason=reason)
        return [error.located(Location(port=op.counts_outputs)).located(node.location)]
    return []


def _counting(node: Node) -> Value:
    """The input whose number of elements is the number of outputs."""
    assert node.op is not None, "only operators name such an input"
    position = [declared.name for declared in node.op.inputs].index(node.op.counts_outputs)
    value = node.inputs[position]
    assert value is not None, "nodes with missing inputs are not inferred"
    return value


def infer_node(
    op: Op, inputs: list[TensorType], context: Mapping[str, Any], report: ReportFault
) -> list[TensorType] | None:
    """The types of an operator's outputs, None after a fault; every fault is reported.

    If the number of outputs is not known, the last type applies to all further ones. An exception that is not an
    IRError is a fault of the operator's class and is reported as IR999.
    """
    outputs = infer_outputs(op, inputs, context, report)
    return None if outputs is None else with_known_values(op, inputs, outputs)


def infer_outputs(
    op: Op, inputs: list[TensorType], context: Mapping[str, Any], report: ReportFault
) -> list[TensorType] | None:
    """Infer the outputs like `infer_node`, but without known elements."""
    try:
        if not op.check_inputs(inputs, report):
            return None
        if op.infer_context:
            result = op.infer(*inputs, **{name: context[name] for name in op.infer_context})
        else:
            result = op.infer(*inputs)
    except OpenShapeError as error:
        report(internal_error(error))
        return None
    except IRError as error:
        report(error)
        return None
    except Exception as error:
        report(internal_error(error))
        return None
    return list(result) if isinstance(result, tuple) else [result]


def infer_body(
    graph: Graph,
    parameters: list[TensorType],
    weights: WeightsReader | None,
    *,
    ops: Mapping[Node, Op] | None = None,
    seen: dict[Value, TensorType] | None = None,
) -> list[TensorType]:
    """The types of a body's Results for these types of its Parameters.

    A Parameter of unknown type keeps the type that the file declares.

    Args:
        ops: As for `infer_types`.
        seen: As for `infer_types`.

    Raises:
        IRError: The first error inside.
    """
    input_types = {
        node.outputs[0]: type
        for node, type in zip(graph.parameters, parameters, strict=True)
        if type.element_type.is_known or type.rank is not None
    }
    types = infer_types(graph, weights=weights, overrides=input_types, ops=ops, seen=seen)
    # A Result without an edge is reported as a fault of the graph.
    unknown = TensorType(ElementType.dynamic, Shape.unknown())
    return [types[node.values_in[0].number] if node.values_in else unknown for node in graph.results]


def typed_bodies(bodies: Sequence[BodyGraph], weights: WeightsReader | None) -> tuple[TypedBody, ...]:
    """The bodies of a layer for the `infer` of its operator; their ties must be known."""
    outer = OuterTypes(weights, {}, None)
    return tuple([InferredBody(body, outer) for body in bodies])


class OuterTypes(NamedTuple):
    """The types that one pass over a graph passes to the passes over its bodies."""

    weights: WeightsReader | None
    ops: Mapping[Node, Op]
    seen: dict[Value, TensorType] | None


class InferredBody:
    """A body whose types are inferred; the TypedBody of the operator that holds it."""

    def __init__(self, body: BodyGraph, outer: OuterTypes) -> None:
        assert body.ties is not None, "a graph with bodies without ties is rejected when it is built"
        self.ties: Ties = body.ties
        self.depth = body.depth
        self.graph = body.graph
        self.outer = outer

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        weights, ops, seen = self.outer
        return infer_body(self.graph, types, weights, ops=ops, seen=seen)


def _infer(node: Node, types: Types, outer: OuterTypes, faults: list[IRError]) -> list[TensorType] | None:
    """The inferred types of a node's outputs; its faults are added to `faults`."""
    op = outer.ops.get(node, node.op)
    if op is None or not node.is_whole:
        return None
    inputs = [types[value.number] for value in node.inputs if value is not None]
    bodies = tuple([InferredBody(body, outer) for body in node.bodies]) if node.bodies else ()
    outputs = infer_node(op, inputs, {"weights": outer.weights, "bodies": bodies}, faults.append)
    if faults:
        faults[:] = [fault.located(node.location) for fault in faults]
    return outputs


def redeclare(document: Document, graph: Graph, before: TypesOfAll, after: TypesOfAll) -> Document:
    """The document of a graph whose values had the types `before` and have the types `after`.

    Ports and the attributes of Parameters are updated if the type has changed; everything else, including wrong
    declarations, remains as in the file.
    """
    changed = {value for value, type in after.items() if type != before.get(value)}
    return (
        document
        if not changed
        else document.model_copy(update={"layers": _layers(document.layers, graph, after, changed)})
    )


def declared_port(port: Port, type: TensorType) -> Port:
    """The port of a value of this type; an input port without a declared element type remains without one."""
    dims = type.shape.dims
    sizes = () if dims is None else tuple([dim.lo if dim.is_static else -1 for dim in dims])
    precision = None if port.precision is None else type.element_type.precision
    return port.model_copy(update={"dims": sizes, "precision": precision})


def _layers(layers: Iterable[Layer], graph: Graph, types: TypesOfAll, changed: set[Value]) -> tuple[Layer, ...]:
    nodes = {node.id: node for node in (*graph.nodes, *graph.unreachable)}
    return tuple([_layer(layer, nodes[layer.id], types, changed) if layer.id in nodes else layer for layer in layers])


def _layer(layer: Layer, node: Node, types: TypesOfAll, changed: set[Value]) -> Layer:
    update: dict[str, object] = {}
    if not changed.isdisjoint(node.values_in):
        # The graph may have omitted an input of the document.
        update["inputs"] = _ports(layer.inputs, node.inputs, types, changed)
    if not changed.isdisjoint(node.outputs):
        update["outputs"] = _ports(layer.outputs, node.outputs, types, changed)
        if layer.is_parameter:
            type = types[node.outputs[0]]
            update["data"] = {**layer.data, "shape": _shape(type), "element_type": type.element_type.name}
    if node.bodies:
        graphs = {body.name: body.graph for body in node.bodies}
        update["bodies"] = tuple([_body(body, graphs[body.name], types, changed) for body in layer.bodies])
    return layer.model_copy(update=update) if update else layer


def _body(body: Body, graph: Graph, types: TypesOfAll, changed: set[Value]) -> Body:
    return body.model_copy(update={"layers": _layers(body.layers, graph, types, changed)})


def _ports(
    ports: tuple[Port, ...], values: Iterable[Value | None], types: TypesOfAll, changed: set[Value]
) -> tuple[Port, ...]:
    declared_ports = list(ports)
    for position, value in enumerate(values):
        if value in changed:
            declared_ports[position] = declared_port(ports[position], types[value])
    return tuple(declared_ports)


def _shape(type: TensorType) -> str:
    return "..." if type.shape.dims is None else ",".join(map(str, type.shape.dims))
