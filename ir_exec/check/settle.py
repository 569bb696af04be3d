"""The type of a value for the layers below, if the declared and the inferred type differ.

The input ports of the layers below declare the same value, and show which type is wrong. If they agree with the
declared type, this layer was changed; if they agree with the inferred type, the declaration of this port was changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ir_exec.check.declarations import (
    End,
    check_edges,
    check_readers,
    contradiction,
    contradiction_error,
    difference,
    fault_at,
    fits,
    layer_of,
    merge_types,
    readers_of_values,
    severity_at_source,
    source_of,
)
from ir_exec.check.findings import Findings
from ir_exec.errors import IRError
from ir_exec.graph import Graph, Value
from ir_exec.infer import Types, infer_node
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import TensorType

__all__ = ["Settler", "is_declared_as_stored"]


class Settler:
    """Determines the final types of the values of a graph in order, and reports ports that contradict these types.

    Attributes:
        types: The types for the layers below, by the number of the value: the final types, or the declared types for
            values that have not been reached.
    """

    def __init__(
        self, graph: Graph, weights: Weights | None, findings: Findings, joined: Mapping[Value, TensorType]
    ) -> None:
        self.types: Types = [value.declared for value in graph.values]
        self._graph = graph
        self._weights = weights
        self._findings = findings
        self._joined = joined
        # Ports with equal declarations share one TensorType.
        self._disputed = {
            value
            for node in graph.nodes
            for position, value in enumerate(node.inputs)
            if value is not None and node.declared_inputs[position] is not value.declared
        }

    @cached_property
    def readers(self) -> dict[Value, list[End]]:
        """The input ports that read each value."""
        return readers_of_values(self._graph)

    def settle(self, value: Value, inferred: TensorType | None) -> TensorType:
        """Return the final type of a value.

        Args:
            inferred: The inferred type; None if inference failed.
        """
        declared = value.declared
        if inferred is not None and value not in self._disputed and fits(declared, inferred):
            # The common case: nothing to report.
            return self._without_lost_values(value, inferred)
        readers = self.readers[value]
        if inferred is not None and is_declared_as_stored(value, readers, inferred, self.types):
            return inferred
        if inferred is None:
            settled = self._from_ports(value)
        elif fits(declared, inferred):
            settled = self._from_inferred(value, inferred)
        else:
            settled = self._from_contradiction(value, inferred)
            # A reader that agrees with either type is not faulty itself.
            readers = [
                reader
                for reader in readers
                if not fits(reader.declared, inferred) and not fits(reader.declared, declared)
            ]
        check_readers(value, readers, settled, self._findings)
        check_edges(value, self.readers[value], settled, self._findings)
        return self._without_lost_values(value, settled)

    def _from_contradiction(self, value: Value, inferred: TensorType) -> TensorType:
        """Report a contradiction of declared and inferred type, and return the type on which most readers agree."""
        declared, source = value.declared, source_of(value)
        sides = [(fits(reader.declared, declared), fits(reader.declared, inferred)) for reader in self.readers[value]]
        for_declared = sum(mine and not theirs for mine, theirs in sides)
        for_inferred = sum(theirs and not mine for mine, theirs in sides)
        hint = None
        if for_inferred > for_declared:
            hint = f"correct the declaration of this port: the layers that read it expect {inferred}"
        elif for_declared:
            hint = f"check the attributes, constants and edges of this layer: the layers that read it expect {declared}"
        code = contradiction(declared, inferred)
        severity = severity_at_source(value, self.readers[value], code, self._joined)
        error = contradiction_error(source, inferred, "the layer", hint if severity == "error" else None)
        error = error.changed(severity=severity)
        self._findings(error)
        if for_inferred >= for_declared:
            self._findings.repair(error, source.port, inferred)
        return inferred if for_inferred > for_declared else merge_types(declared, inferred)

    def _from_inferred(self, value: Value, inferred: TensorType) -> TensorType:
        """Return the inferred type, unless all of several readers declare the same other type.

        This is reported as one fault, and the layers below continue with the type of the readers.
        """
        readers = self.readers[value]
        shared = readers[0].declared if readers else inferred
        if any(fits(reader.declared, inferred) or not fits(reader.declared, shared) for reader in readers):
            return inferred
        nodes = list(dict.fromkeys(reader.node for reader in readers))
        if len(nodes) < 2 or self._findings.is_faulty(value.node):
            return inferred
        source = source_of(value)
        message = (
            f"{source.name} is {inferred}, but the {len(nodes)} layers that read it ({layer_of(nodes[0])} is the "
            f"first) declare {shared}: {difference(shared, inferred)}"
        )
        hint = "check the attributes, constants and edges of this layer"
        related = tuple(node.location for node in nodes)
        self._findings(fault_at(source, contradiction(shared, inferred), message, hint=hint, related=related))
        return merge_types(shared, inferred)

    def _from_ports(self, value: Value) -> TensorType:
        """Return the declared type of a value without an inferred type, unless the readers agree on another one.

        Readers with an error, such as a layer that reads itself, are ignored.
        """
        readers = [reader for reader in self.readers[value] if not self._findings.is_faulty(reader.node)]
        declared = value.declared
        for reader in readers:
            if fits(declared, reader.declared):
                declared = merge_types(declared, reader.declared)
        against = [reader for reader in readers if not fits(declared, reader.declared)]
        if not against:
            return declared
        other = against[0].declared
        if not all(fits(reader.declared, other) for reader in readers):
            return declared
        if len(against) == 1 and not _speaks_for(against[0], value, other, self.types, self._weights):
            return declared
        source = source_of(value)
        message = (
            f"{source.name} is declared as {value.declared}, but {layer_of(against[0].node)}, which reads it, declares "
            f"{other}: {difference(value.declared, other)}"
        )
        error = fault_at(source, contradiction(value.declared, other), message)
        self._findings(error)
        self._findings.repair(error, source.port, other)
        return merge_types(other, value.declared)

    def _without_lost_values(self, value: Value, settled: TensorType) -> TensorType:
        """Return the type, without known elements for a constant whose bytes cannot be read."""
        if isinstance(value.node.op, Const) and (self._weights is None or self._findings.is_faulty(value.node)):
            return settled.without_values()
        return settled


def _speaks_for(reader: End, value: Value, type: TensorType, types: Types, weights: Weights | None) -> bool:
    """Return True if the type that the only reader of a value declares is more likely than the type of its source."""
    mine, theirs = (_takes(reader, candidate, types, weights) for candidate in (type, value.declared))
    if mine is not theirs:
        return mine
    # Most layers keep the element type or the shape of an input, so their other ports show which type is wrong.
    neighbors = [
        *value.node.declared_inputs,
        *(other.declared for other in value.node.outputs if other is not value),
        *(other.declared for other in reader.node.outputs),
        *(port for index, port in enumerate(reader.node.declared_inputs) if index != reader.position),
    ]
    return sum(_likeness(port, type) - _likeness(port, value.declared) for port in neighbors) > 0


def _takes(reader: End, type: TensorType, types: Types, weights: Weights | None) -> bool:
    """Return True if the inferred outputs of a layer match its declared outputs when this input has this type."""
    node = reader.node
    if node.op is None or node.bodies or not node.is_whole:
        return False
    inputs = [types[value.number] for value in node.values_in]
    inputs[reader.position] = type
    faults: list[IRError] = []
    context: dict[str, Any] = {"weights": weights, "bodies": ()}
    inferred = infer_node(node.op, inputs, context, faults.append)
    if inferred is None or faults:
        return False
    return all(
        fits(value.declared, inferred_type) for value, inferred_type in zip(node.outputs, inferred, strict=False)
    )


def _likeness(left: TensorType, other: TensorType) -> int:
    return (left.element_type is other.element_type) + (left.shape == other.shape)


def is_declared_as_stored(value: Value, readers: list[End], inferred: TensorType, types: Types) -> bool:
    """Return True if a decompressed constant is declared with its stored precision.

    OpenVINO's writer does this for all readers of the constant if the constant is an output of the model.
    """
    node = value.node
    marks = [mark.attributes.get("name") for mark in node.layer.rt_info.children]
    if not node.op_class.is_conversion or "decompression" not in marks:
        return False
    stored = TensorType(types[node.values_in[0].number].element_type, inferred.shape)
    ports = [value.declared, *(reader.declared for reader in readers)]
    return any(reader.node.op_class.is_result for reader in readers) and all(fits(port, stored) for port in ports)
