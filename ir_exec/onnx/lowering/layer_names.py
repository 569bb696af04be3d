"""Names of the layers made from a node of an ONNX graph.

The layer of the first output has the name of the node, the others have it as a prefix: `conv/Reshape` for a Reshape of
the node `conv`. A product is named `conv/WithoutBiases` if a bias is added to it, as in OpenVINO's converter. Both
conversions therefore name layers equally.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ir_exec.build.values import BuiltLayer, Value
from ir_exec.onnx.lowering.values import Appended, GraphValue, Narrow, Sequence, Stack
from ir_exec.ops import Op
from ir_exec.ops.arithmetic.binary import Add

__all__ = ["WITHOUT_BIASES", "layers_since", "name_layers", "node_of_layer"]

WITHOUT_BIASES = "WithoutBiases"


def name_layers(outputs: Iterable[GraphValue], node: str, mark: int) -> None:
    """Name the unnamed layers of a node after it; repeated names are numbered later.

    Args:
        outputs: The outputs of the node.
        mark: A serial; layers with larger serials belong to the node.
    """
    values = [value for output in outputs for value in _values_of(output)]
    if not node or not values:
        return
    first = values[0].layer
    product = _product_of(first, mark)
    for layer in layers_since(mark, outputs):
        if not layer.name:
            layer.name = node if layer is first else f"{node}/{WITHOUT_BIASES if layer is product else layer.type}"


def _values_of(value: GraphValue) -> Iterator[Value]:
    if isinstance(value, Value):
        yield value
    elif isinstance(value, (Narrow, Stack)):
        yield value.value
    elif isinstance(value, (Sequence, Appended)):
        for item in value.items:
            yield from _values_of(item)


def layers_since(mark: int, outputs: Iterable[GraphValue]) -> list[BuiltLayer]:
    """Return the layers after a serial that lead to the outputs of a node, in the order of creation."""
    pending = [value.layer for output in outputs for value in _values_of(output)]
    layers: set[BuiltLayer] = set()
    while pending:
        layer = pending.pop()
        if layer.serial > mark and layer not in layers:
            layers.add(layer)
            pending += [value.layer for value in layer.inputs]
    return sorted(layers, key=lambda layer: layer.serial)


def _product_of(layer: BuiltLayer, mark: int) -> BuiltLayer | None:
    """The product to which a layer adds a bias, if both belong to the node."""
    if not isinstance(layer.op, Add):
        return None
    below = layer.inputs[0].layer
    is_product = type(below.op).multiply_adds is not Op.multiply_adds
    return below if is_product and below.serial > mark else None


def node_of_layer(name: str, nodes: Container[str]) -> str | None:
    """The name among `nodes` of the ONNX node from which a layer of this name was made; None if there is none."""
    end = len(name)
    while end > 0:
        if name[:end] in nodes:
            return name[:end]
        end = name.rfind("/", 0, end)
    return None
