"""What an IR file says, word for word: immutable records of net, layer, port, edge and body.

Nothing here knows what a layer computes. Attributes stay the text they are in the file and are parsed by the
operator's class; ids stay text because broken files hold ids that are no numbers. Ids that are numbers have one
spelling (`007` is `7`), so that ids compare as text. `line` is the line of an element's start tag, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

__all__ = ["NO_RT_INFO", "BackEdge", "Body", "Document", "Edge", "Layer", "Port", "PortMapEntry", "RtInfo"]


class RtInfo(NamedTuple):
    """An element whose content only its writer understands, kept as it is: name, attributes, text and children.

    `rt_info` of a model, layer or port is one; `meta_data`, `quantization_parameters` and `pre-process` of version 10
    are others. It is false where it says nothing.
    """

    name: str
    attributes: Mapping[str, str] = {}
    text: str = ""
    children: tuple[RtInfo, ...] = ()
    line: int = 0

    def __bool__(self) -> bool:
        return bool(self.attributes or self.children or self.text)

    def child(self, name: str) -> RtInfo | None:
        """The first child of this name; names that XML does not allow are written `<info name="...">`."""
        for child in self.children:
            if child.name == name or (child.name == "info" and child.attributes.get("name") == name):
                return child
        return None

    def value(self, *path: str) -> str | None:
        """The `value` attribute at the end of a path of names: `value("conversion_parameters", "framework")`."""
        found: RtInfo | None = self
        for name in path:
            found = found.child(name) if found is not None else None
        return found.attributes.get("value") if found is not None else None


NO_RT_INFO = RtInfo(name="rt_info")
"""The rt_info of whatever has none."""


class Port(NamedTuple):
    """An input or output of a layer; `dims` holds -1 for a dynamic dim, and other negative numbers as they are.

    A port without dims is a scalar's or of unknown rank. Only inputs and outputs of a layer that the file lists are
    here; ids of ports count through a layer, and only their order matters.
    """

    id: str
    precision: str | None
    dims: tuple[int, ...]
    names: tuple[str, ...]
    line: int
    rt_info: RtInfo = NO_RT_INFO


class Edge(NamedTuple):
    """A connection from an output port to an input port."""

    from_layer: str
    from_port: str
    to_layer: str
    to_port: str
    line: int


class PortMapEntry(NamedTuple):
    """How a port of a layer with a body is tied to a Parameter or Result inside the body.

    `external_port_id` is a port id of the layer, or -1 where it is not connected. With an `axis` the value is sliced
    (input) or concatenated (output) over the iterations, from `start` to `end` in steps of `stride`.
    """

    direction: Literal["input", "output"]
    external_port_id: int
    internal_layer_id: str
    internal_port_id: str | None
    axis: int | None
    start: int | None
    end: int | None
    stride: int | None
    part_size: int | None
    purpose: str | None
    line: int


class BackEdge(NamedTuple):
    """A value of one iteration (`from_layer`, a Result) that the next one starts with (`to_layer`, a Parameter)."""

    from_layer: str
    to_layer: str
    line: int


class Body(NamedTuple):
    """A network inside a layer; `name` is the element's: body, then_body, else_body.

    `then_port_map` belongs to then_body, `else_port_map` to else_body, `port_map` and `back_edges` to body.
    """

    name: str
    port_map: tuple[PortMapEntry, ...]
    back_edges: tuple[BackEdge, ...]
    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    line: int
    rt_info: RtInfo = NO_RT_INFO


class Layer(NamedTuple):
    """One layer; `data` holds the attributes of its `<data>` in the order of the file.

    `version` is the opset, None where a damaged file has none. `output_names` are the tensor names that a Result may
    give to the model's output. `data_line` is the line of `<data>`, or that of the layer where it has none.
    """

    id: str
    name: str
    type: str
    version: str | None
    data: Mapping[str, str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    bodies: tuple[Body, ...]
    output_names: tuple[str, ...]
    rt_info: RtInfo
    line: int
    data_line: int


class Document(NamedTuple):
    """A whole file of IR version 10 or 11; `is_complete` is false where the reader had to leave something out."""

    name: str
    version: int
    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    rt_info: RtInfo = NO_RT_INFO
    meta_data: RtInfo | None = None
    quantization_parameters: RtInfo | None = None
    pre_process: RtInfo | None = None
    path: str | None = None
    is_complete: bool = True

    def all_layers(self) -> Iterator[Layer]:
        """Every layer, those of bodies right after the layer that holds the body."""
        pending = list(reversed(self.layers))
        while pending:
            layer = pending.pop()
            yield layer
            for body in reversed(layer.bodies):
                pending.extend(reversed(body.layers))

    @property
    def runtime_version(self) -> tuple[int, int] | None:
        """Year and release of the OpenVINO that wrote the file, `(2026, 4)`, or None where the file does not say."""
        text = self.rt_info.value("Runtime_version") or self.rt_info.value("OpenVINO Runtime") or ""
        year, _, rest = text.strip().partition(".")
        release = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        # The fields are short in every real file; a longer one is no version.
        if not (year.isascii() and year.isdigit() and len(year) == 4 and 0 < len(release) <= 4):
            return None
        return int(year), int(release)
