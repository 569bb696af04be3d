"""The nodes of an ONNX graph, with the layers that they were lowered to.

An engine that reads ONNX runs the nodes themselves where it computes the same as the layers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ir_exec.build import Value
from ir_exec.graph import Value as GraphValue
from ir_exec.model import Model
from ir_exec.onnx.lowering.differences import find_difference
from ir_exec.onnx.lowering.layer_names import layers_since
from ir_exec.onnx.lowering.registry import MICROSOFT, ML, STANDARD, canonical_domain, find, is_own
from ir_exec.onnx.lowering.states import DOMAIN as STATES
from ir_exec.onnx.reading.order import needed_names
from ir_exec.onnx.reading.tensors import is_narrow
from ir_exec.ops.base.inputs import Divisor
from ir_exec.types import Array, Shape

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, NodeProto

    from ir_exec.build.values import BuiltLayer
    from ir_exec.onnx.lowering.graphs import ConvertedNode, Converter, NameScope
    from ir_exec.onnx.reading.functions import Functions

__all__ = ["LoweredTensor", "OriginalGraph", "OriginalNode", "record_original"]

_MOST_DEPTH = 64
"""Maximum nesting of bodies and functions, as in a conversion."""


class LoweredTensor(NamedTuple):
    """An output of a layer, by the id of the layer and the position."""

    layer: str
    position: int


@dataclass(frozen=True, eq=False)
class OriginalNode:
    """A node of the graph.

    Attributes:
        layers: The ids of its layers, without constants; empty if nothing is computed for it.
        is_safe: True if no layer that was made for it needs a guard of its own, also of unread ones.
    """

    proto: NodeProto
    layers: frozenset[str]
    is_safe: bool

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The names that the node and its bodies read."""
        return tuple(sorted(needed_names(self.proto)))


@dataclass(frozen=True, eq=False)
class OriginalGraph:
    """The graph of an ONNX file, with the layers of the model that it was lowered to.

    Attributes:
        nodes: The nodes in the order of their conversion.
        ports: The layers of the tensors, by name.
        constants: Tensors with known elements, by name.
        opsets: The imported version of each domain.
        shapes: The shapes of the inputs of the model.
        dims: The names of the dims of each input, "" for a dim without a name.
    """

    nodes: tuple[OriginalNode, ...]
    ports: Mapping[str, LoweredTensor]
    constants: Mapping[str, Array]
    opsets: Mapping[str, int]
    functions: tuple[FunctionProto, ...]
    ir_version: int
    shapes: Mapping[GraphValue, Shape]
    dims: Mapping[str, tuple[str, ...]]
    definitions: Functions = field(repr=False)

    def fits(self, model: Model) -> bool:
        """Return True if the inputs of a model have shapes that the graph was lowered for."""
        return all(
            (shape := self.shapes.get(value)) is not None and shape & type.shape == type.shape
            for value, type in model.given.items()
        )

    def reason(self, node: NodeProto, opset: int) -> str | None:
        """Return the reason why onnxruntime computes something else for a node; None if it computes the same.

        Args:
            opset: The version of the standard domain in the model of the engine.
        """
        opsets = dict(self.opsets)
        return next(self._reasons(node, opsets, {**opsets, STANDARD: opset}, 0), None)

    def _reasons(
        self, node: NodeProto, opsets: Mapping[str, int], target: Mapping[str, int], depth: int
    ) -> Iterator[str]:
        domain, name = canonical_domain(node.domain), node.op_type
        function = self.definitions.local(node)
        if depth > _MOST_DEPTH or domain == STATES:
            yield f"{name} is an input and an output of the model in turn"
        elif function is not None:
            if opsets != target:
                yield f"{name} is a function of the file, for another opset"
            imported = {canonical_domain(entry.domain): entry.version for entry in function.opset_import}
            inner = {**opsets, **imported}
            for called in function.node:
                yield from self._reasons(called, inner, inner, depth + 1)
        else:
            difference = find_difference(node)
            if difference is not None:
                yield f"{name}: {difference}"
            yield from _operator_reasons(domain, name, opsets.get(domain, 0), target.get(domain, 0))
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                for called in graph.node:
                    yield from self._reasons(called, opsets, target, depth + 1)


def _operator_reasons(domain: str, name: str, opset: int, target: int) -> Iterator[str]:
    version = find(domain, name, opset)
    if domain not in (STANDARD, ML, MICROSOFT) or (version is not None and not is_own(version)):
        yield f"{name} is an operator of an extension"
    elif opset != target and (version is None or version is not find(domain, name, target)):
        yield f"{name} changed after opset {opset}"


def _is_safe(converted: ConvertedNode) -> bool:
    """Return True if the layers of a node are repeatable, bounded, and divide no integers."""
    return not any(map(_needs_guard, layers_since(converted.start, converted.outputs)))


def _needs_guard(layer: BuiltLayer) -> bool:
    op = layer.op
    if layer.bodies or not op.deterministic or op.sized_by or op.has_condition or op.evaluate_context - {"weights"}:
        return True
    ports = zip(op.inputs, layer.inputs, strict=False)
    divisors = [value.element_type for declared, value in ports if isinstance(declared.domain, Divisor)]
    return not all(element_type.is_known and element_type.is_float for element_type in divisors)


def record_original(
    proto: ModelProto, model: Model, converter: Converter, scope: NameScope, ids: Mapping[BuiltLayer, str]
) -> OriginalGraph:
    """Return the graph of a file with the layers of its model.

    Args:
        scope: The values of the graph.
        ids: The ids of the layers of the model.
    """
    starts = [converted.start for converted in converter.converted]
    layers: list[set[str]] = [set() for _ in starts]
    for layer, id in ids.items():
        if layer.constant is None and not layer.is_parameter and not layer.is_result:
            position = bisect_left(starts, layer.serial) - 1
            if position >= 0 and layer.serial < converter.converted[position].end:
                layers[position].add(id)
    nodes = [
        OriginalNode(converted.node, frozenset(own), _is_safe(converted))
        for converted, own in zip(converter.converted, layers, strict=True)
    ]
    tensors = {name: value for name, value in scope.values().items() if isinstance(value, Value)}
    ports = {
        name: LoweredTensor(ids[value.layer], value.position) for name, value in tensors.items() if value.layer in ids
    }
    constants = {
        name: array
        for name, tensor in scope.initializers().items()
        if not is_narrow(tensor.data_type) and (array := converter.find_decoded(tensor)) is not None
    }
    constants |= {name: array for name, value in tensors.items() if (array := value.constant) is not None}
    inputs = [node.outputs[0] for node in model.graph.parameters]
    return OriginalGraph(
        nodes=tuple(nodes),
        ports=ports,
        constants=constants,
        opsets=dict(scope.opsets),
        functions=tuple(proto.functions),
        ir_version=proto.ir_version,
        shapes={value: model.types[value.number].shape for value in inputs},
        dims={
            declared.name: tuple([dim.dim_param for dim in declared.type.tensor_type.shape.dim])
            for declared in proto.graph.input
        },
        definitions=converter.functions,
    )
