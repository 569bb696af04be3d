"""The pass that types every value of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ir_exec.errors import IRError, Report, internal_error, raise_error
from ir_exec.graph import BodyGraph, Graph, Node, Value
from ir_exec.infer.known import with_known_values
from ir_exec.ops import Op
from ir_exec.ops.sources import WeightsReader
from ir_exec.ops.ties import Ties
from ir_exec.types import OpenShapeError, TensorType

__all__ = ["Settle", "Types", "infer_body", "infer_node", "infer_outputs", "infer_types"]

Types: TypeAlias = list[TensorType]
"""The type of every value of a graph, at the value's number."""

Settle: TypeAlias = Callable[[Node, list[TensorType] | None], list[TensorType]]
"""Chooses the types that the layers below a node go on with, from the inferred ones (None after a fault)."""


def infer_types(
    graph: Graph,
    *,
    weights: WeightsReader | None = None,
    given: Mapping[Value, TensorType] | None = None,
    report: Report = raise_error,
    settle: Settle | None = None,
) -> Types:
    """The type of every value of the graph, from its Parameters down.

    given: types that take the place of what the operator would infer: new input shapes, inputs of a body.
    report: takes every fault, which by then knows its layer; the outputs of a layer with a fault, and those of a
        layer that cannot be checked, go on with the declared types.
    """
    settle = settle or _keep_inferred
    given = given or {}
    told = {value.node for value in given}
    context: dict[str, Any] = {"weights": weights, "bodies": ()}
    types: Types = [value.declared for value in graph.values]
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            inferred: list[TensorType] | None
            if node in told:
                inferred = [given.get(value, value.declared) for value in node.outputs]
            else:
                inferred = _infer(node, types, context, report)
            for value, type in zip(node.outputs, settle(node, inferred), strict=False):
                types[value.number] = type
    return types


def infer_node(op: Op, inputs: list[TensorType], context: Mapping[str, Any], report: Report) -> list[TensorType] | None:
    """The types of an operator's outputs; every fault is reported, and None returned after a fault.

    The last type stands for all further outputs where their number is not known. An exception that is no IRError is a
    fault of the operator's class, and is reported as IR999.
    """
    outputs = infer_outputs(op, inputs, context, report)
    return None if outputs is None else with_known_values(op, inputs, outputs)


def infer_outputs(
    op: Op, inputs: list[TensorType], context: Mapping[str, Any], report: Report
) -> list[TensorType] | None:
    """As `infer_node`, without what follows for the values of the outputs."""
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


def infer_body(graph: Graph, parameters: list[TensorType], weights: WeightsReader | None) -> list[TensorType]:
    """The types of a body's Results from those of its Parameters; raises what is wrong inside.

    A Parameter of which nothing is known keeps the type that the file declares.
    """
    given = {
        node.outputs[0]: type
        for node, type in zip(graph.parameters, parameters, strict=True)
        if type.element_type.is_known or type.rank is not None
    }
    types = infer_types(graph, weights=weights, given=given)
    return [types[node.values_in[0].number] for node in graph.results]


class _Body:
    """A body whose types are inferred; the TypedBody of the operator that holds it."""

    def __init__(self, body: BodyGraph, weights: WeightsReader | None) -> None:
        assert body.ties is not None, "a node with bodies that are not tied is not whole"
        self.ties: Ties = body.ties
        self.depth = body.depth
        self._graph = body.graph
        self._weights = weights

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        return infer_body(self._graph, types, self._weights)


def _infer(node: Node, types: Types, context: Mapping[str, Any], report: Report) -> list[TensorType] | None:
    op = node.op
    if op is None or not node.is_whole:
        return None
    inputs = [types[value.number] for value in node.inputs if value is not None]
    if node.bodies:
        context = {**context, "bodies": tuple([_Body(body, context["weights"]) for body in node.bodies])}
    return infer_node(op, inputs, context, lambda error: report(error.located(node.location)))


def _keep_inferred(node: Node, inferred: list[TensorType] | None) -> list[TensorType]:
    return [value.declared for value in node.outputs] if inferred is None else inferred
