"""Names that OpenVINO refuses: those of inputs and outputs that collide in version 10, and repeated rt_info."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, Location
from ir_exec.ir import Document, Layer, Port, RtInfo

__all__ = ["colliding_names", "repeated_rt_info"]

_KNOWN = frozenset(
    (
        *("decompression", "fused_names", "layout", "memory_type", "old_api_map_element_type", "old_api_map_order"),
        *("precise", "preprocessing", "primitives_priority"),
    )
)
"""The attributes of `<rt_info>` of which OpenVINO 2026.4 refuses a second one."""


def repeated_rt_info(document: Document) -> Iterator[IRError]:
    """IR120 for each attribute that a layer or one of its ports repeats with the same version.

    OpenVINO does not read those of version 10.
    """
    if document.version < 11:
        return
    for layer in document.all_layers():
        for tree in [layer.rt_info, *[port.rt_info for port in layer.inputs + layer.outputs]]:
            if len(tree.children) > 1:
                yield from _repeated(tree, layer, document.path)


def _repeated(tree: RtInfo, layer: Layer, path: str | None) -> Iterator[IRError]:
    seen: set[tuple[str, str | None]] = set()
    for mark in tree.children:
        key = mark.attributes.get("name", ""), mark.attributes.get("version")
        if mark.name != "attribute" or key[0] not in _KNOWN:
            continue
        if key in seen:
            message = f"<rt_info> holds the attribute {key[0]} of version {key[1]} twice"
            place = Location(path, mark.line, layer.id, layer.name, layer.type)
            yield GraphError(message, code=Code.repeated_rt_info, location=place)
        seen.add(key)


def colliding_names(document: Document) -> Iterator[IRError]:
    """IR121 for each input and output of version 10 with a name of another one, as OpenVINO finds them.

    They have the tensor names of their port. To these comes the name of the layer, with the number of the output where
    the layer has several, which must not be a name of another input or output.
    """
    if document.version > 10:
        return
    layers = {layer.id: layer for layer in reversed(document.layers)}
    inputs = [(layer, layer.outputs[0]) for layer in document.layers if layer.is_parameter and len(layer.outputs) == 1]
    outputs = list(_outputs(document, layers))
    renamed = Counter(name for layer in document.layers for port in layer.outputs for name in set(port.names))
    # A tensor name that two values have is given a new one for the second, so that it collides with nothing.
    taken = {name: layer for layer, port in inputs for name in port.names if renamed[name] == 1}
    said: set[str] = set()
    for layer, port, _ in outputs:
        for name in port.names:
            if renamed[name] == 1 and name in taken and layer.id not in said:
                said.add(layer.id)
                yield _collision(f"the tensor name {name!r}", taken[name], layer, document.path)
            taken.setdefault(name, layer)
    own = [(layer, port, name) for layer, port, name in outputs] + [(layer, port, layer.name) for layer, port in inputs]
    for layer, port, name in own:
        other = taken.setdefault(name, layer)
        if other is not layer and name not in port.names:
            yield _collision(f"the name {name!r}", other, layer, document.path)


def _outputs(document: Document, layers: dict[str, Layer]) -> Iterator[tuple[Layer, Port, str]]:
    """The layer, the port and the name of every output, in the order of the Results."""
    sources = {edge.to_layer: (edge.from_layer, edge.from_port) for edge in document.edges}
    for result in document.layers:
        if not result.is_result or result.id not in sources:
            continue
        layer_id, port_id = sources[result.id]
        layer = layers.get(layer_id)
        for index, port in enumerate(layer.outputs if layer is not None else ()):
            if layer is not None and port.id == port_id:
                yield layer, port, layer.name if len(layer.outputs) == 1 else f"{layer.name}.{index}"


def _collision(name: str, other: Layer, layer: Layer, path: str | None) -> IRError:
    if other is layer:
        message = f"the value with {name} is two inputs or outputs"
    else:
        message = f'{name} is that of layer {other.id} "{other.name}" ({other.type}) too'
    place = Location(path, layer.line, layer.id, layer.name, layer.type)
    hint = "inputs and outputs of version 10 are known by the names of their layers and tensors"
    return GraphError(message, code=Code.colliding_names, hint=hint, location=place)
