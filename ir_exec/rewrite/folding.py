"""Constant folding of models before they are written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ir_exec.build.draft import LayerDraft, LayerPort
from ir_exec.errors import raise_error
from ir_exec.graph import Graph, Node, Value, build_graph
from ir_exec.infer import infer_types
from ir_exec.ir import Layer, Port
from ir_exec.ir.array_weights import ArrayWeights, reserve_offset, stored_size
from ir_exec.model import Loaded, Model
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.ops.type import Convert
from ir_exec.plan.constant_values import SMALL, constant_values, foldable
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["fold_constants"]


_LEAST_COMPRESSED = 2**6
"""Minimum bytes of a constant that is kept in its compressed type."""


def fold_constants(model: Model) -> Model:
    """Return the same model with a constant in place of every value that is independent of the inputs.

    Values that follow from the shapes of inputs are folded too. Values that take more memory than their weights, such
    as f32 from f16 or u4, remain computed; bodies are unchanged. Names of tensors and layers are kept.

    Raises:
        IRError: The errors of evaluating the constant layers.
    """
    document = model.current_document()
    graph = build_graph(document, model.weights, report=raise_error)
    types = infer_types(graph, weights=model.weights)
    draft = LayerDraft(document.layers, document.edges)
    stored_arrays: dict[int, Array] = {}
    for node, outputs in _computed_nodes(graph, types, model):
        layer = draft.layers[node.id]
        constants = [
            _constant(layer, port, array, stored_arrays) for port, array in zip(layer.outputs, outputs, strict=True)
        ]
        for input_port in draft.inputs(layer):
            draft.sources.pop(input_port, None)
        draft.put(constants[0])
        for port, constant in zip(layer.outputs[1:], constants[1:], strict=True):
            replacement = constant.model_copy(update={"id": str(draft.new_id()), "name": draft.new_name(layer.name)})
            draft.put_after([replacement], [layer.id])
            for target in draft.readers(LayerPort(layer.id, port.id)):
                draft.sources[target] = LayerPort(replacement.id, port.id)
    layers, edges = draft.content()
    changed = document.model_copy(update={"layers": layers, "edges": edges})
    weights = ArrayWeights(stored_arrays, model.weights)
    return Model(Loaded(changed, build_graph(changed, weights, report=raise_error), weights, changed))


def _computed_nodes(graph: Graph, types: list[TensorType], model: Model) -> Iterator[tuple[Node, list[Array]]]:
    """Yield the nodes to replace by constants, with their outputs: only nodes that other, remaining nodes read."""
    constant = foldable(graph, types, expand_weights=False, small=_most_expanded)
    stored = constant_values(graph) - constant
    inferred = {value for value in graph.values if value not in stored and _is_known(value, types)}
    folding = constant | inferred
    left: dict[Value, int] = {}
    retained: set[Value] = set()
    for node in graph.nodes:
        stays = isinstance(node.op, Result) or not (node.outputs and all(value in folding for value in node.outputs))
        for value in node.values_in:
            left[value] = left.get(value, 0) + 1
            if stays:
                retained.add(value)
    arrays: dict[Value, Array] = {}
    for node in graph.nodes:
        if not node.outputs or not all(value in folding for value in node.outputs):
            continue
        outputs = _outputs(node, types, arrays, model)
        arrays.update(zip(node.outputs, outputs, strict=True))
        for value in node.values_in:
            left[value] -= 1
            if not left[value]:
                arrays.pop(value, None)
        if not isinstance(node.op, Const) and any(value in retained for value in node.outputs):
            yield node, outputs


def _most_expanded(node: Node) -> int:
    """Return the maximum bytes of the outputs of a node with smaller inputs: few for decompressed weights."""
    is_decompression = isinstance(node.op, Convert) and node.outputs[0].declared.element_type.is_float
    return _LEAST_COMPRESSED if is_decompression else SMALL


def _is_known(value: Value, types: list[TensorType]) -> bool:
    op = value.node.op
    if op is None or isinstance(op, (Const, Parameter)) or not op.deterministic:
        return False
    constant = types[value.number].value
    return constant is not None and constant.nbytes <= SMALL


def _outputs(node: Node, types: list[TensorType], arrays: dict[Value, Array], model: Model) -> list[Array]:
    values = [types[value.number].value for value in node.outputs]
    if all(array is not None for array in values):
        return [np.asarray(array) for array in values if array is not None]
    op = node.op
    assert op is not None, "every folded node has an operator"
    if isinstance(op, Const):
        assert model.weights is not None, "an inferred constant has weights"
        return [op.evaluate(weights=model.weights)]
    result = op.evaluate(*(arrays[value] for value in node.values_in))
    return [np.asarray(array) for array in result] if isinstance(result, (tuple, list)) else [np.asarray(result)]


def _constant(layer: Layer, port: Port, array: Array, stored_arrays: dict[int, Array]) -> Layer:
    """Return a constant with the id and the name of a layer, for one of its output ports."""
    size = stored_size(array)
    offset = reserve_offset(size)
    stored_arrays[offset] = array
    data = {
        "element_type": ElementType.of(array).name,
        "shape": ",".join(map(str, array.shape)),
        "offset": str(offset),
        "size": str(size),
    }
    shown = port.model_copy(update={"dims": array.shape})
    return layer.model_copy(
        update={"type": "Const", "version": "opset1", "data": data, "inputs": (), "outputs": (shown,), "bodies": ()}
    )
