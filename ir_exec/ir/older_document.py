"""The element structure of IR versions 2 to 7: layers with `<blobs>` instead of Const, and no opsets.

A layer has attributes in `<data>` (`<convolution_data>` and the like in the oldest files), ports with dims, and blobs:
named ranges of the .bin whose shape depends on the layer type. There are no Results: outputs without readers are
outputs of the model. Ports may have no ids, and edges no ports; both are then counted, inputs first. Sources: the
parsers of the Inference Engine of 2018 to 2020 (`ie_format_parser.cpp`, `ie_layer_parsers.cpp`).
"""

from __future__ import annotations

from typing import Annotated, Any

from lxml import etree
from pydantic import Field
from pydantic_core import ValidationError

from ir_exec.codes import Code
from ir_exec.errors import Location, ReportFault, ResourceError
from ir_exec.ir.document import Edge, PortMapEntry, RtInfo, _Id, _Int, _Line, _Model, _Number
from ir_exec.ir.faults import Plain, mend_plain
from ir_exec.ir.markup import Markup
from ir_exec.ir.reader import MAX_BODY_DEPTH

__all__ = [
    "Blob",
    "OlderBackEdge",
    "OlderBody",
    "OlderDocument",
    "OlderLayer",
    "OlderPort",
    "read_older_document",
]

_OLDEST, _NEWEST = 2, 7

_NOT_DATA = frozenset(("input", "output", "blobs", "body", "port_map", "back_edges", "rt_info"))


class OlderPort(_Model):
    """An input or output of a layer; `dims` contains -1 for text that is not a number."""

    id: _Id
    dims: tuple[_Int, ...] = ()
    precision: str | None = None
    line: _Line = 0


class Blob(_Model):
    """A named range of the .bin: `weights`, `biases`, `custom`.

    `precision` is None if the layer's precision applies.
    """

    name: str
    offset: _Int
    size: _Int
    precision: str | None = None
    line: _Line = 0


class OlderBackEdge(_Model):
    """A port of the body whose value the next iteration starts with, at another port of the body."""

    from_layer: _Id
    from_port: _Id | None = None
    to_layer: _Id
    to_port: _Id | None = None
    line: _Line = 0


class OlderBody(_Model):
    """The graph inside a TensorIterator."""

    name: str = "body"
    port_map: tuple[PortMapEntry, ...] = ()
    back_edges: tuple[OlderBackEdge, ...] = ()
    layers: tuple[OlderLayer, ...]
    edges: tuple[Edge, ...]
    line: _Line = 0


class OlderLayer(_Model):
    """One layer; `data` contains its attributes, from all elements other than ports and blobs."""

    id: _Id
    name: str
    type: str
    precision: str | None = None
    data: dict[str, str] = Field(default_factory=dict)
    inputs: tuple[OlderPort, ...] = ()
    outputs: tuple[OlderPort, ...] = ()
    blobs: tuple[Blob, ...] = ()
    bodies: tuple[OlderBody, ...] = ()
    line: _Line = 0
    data_line: _Line = 0


class OlderDocument(_Model):
    """A whole file; `is_complete` is false if the reader omitted faulty content."""

    name: str
    version: Annotated[int, _Number(_OLDEST, _NEWEST)]
    precision: str | None = None
    layers: tuple[OlderLayer, ...]
    edges: tuple[Edge, ...]
    pre_process: RtInfo | None = None
    statistics: RtInfo | None = None
    meta_data: RtInfo | None = None
    path: str | None = None
    is_complete: bool = True


def read_older_document(markup: Markup, path: str | None, report: ReportFault) -> OlderDocument:
    """The document without faulty elements. Reports IR006, IR007 and IR008 with layer and line."""
    walk = _OlderWalk(markup, path, report)
    plain = walk.net()
    try:
        return OlderDocument.model_validate(plain, strict=False)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
    faults = mend_plain(plain, errors, markup)
    for fault in sorted(faults, key=lambda fault: fault.location.line or 0):
        report(fault)
    return OlderDocument.model_validate({**plain, "is_complete": False}, strict=False)


class _OlderWalk:
    """A single walk over the elements; numbers remain text."""

    def __init__(self, markup: Markup, path: str | None, report: ReportFault) -> None:
        self._root = markup.root
        self._line = markup.line_of
        self._path = path
        self._report = report
        self._depth = 0

    def net(self) -> Plain:
        root = self._root
        plain: Plain = {"name": root.get("name", ""), "path": self._path, **self._network(root)}
        plain |= {"version": root.get("version"), "precision": root.get("precision")}
        for tag in ("pre-process", "statistics", "meta_data"):
            if (tree := root.find(tag)) is not None:
                plain[tag.replace("-", "_")] = self._tree(tree)
        return plain

    def _network(self, element: etree._Element) -> Plain:
        layers, edges = element.find("layers"), element.find("edges")
        plain: Plain = {"layers": None, "edges": []}
        if layers is not None:
            plain["layers"] = [self._layer(child) for child in layers.iterchildren("layer")]
        if edges is not None:
            plain["edges"] = [self._edge(child) for child in edges.iterchildren("edge")]
        elif plain["layers"] and len(plain["layers"]) > 1:
            plain["edges"] = None
        return plain

    def _layer(self, element: etree._Element) -> Plain:
        line = self._line(element)
        plain: Plain = {name: element.get(name) for name in ("id", "name", "type", "precision")}
        plain |= {"line": line, "data_line": line, "data": {}, "blobs": []}
        first = 0
        for tag in ("input", "output"):
            if (ports := element.find(tag)) is not None:
                plain[f"{tag}s"] = self._ports(ports, first)
                first += len(plain[f"{tag}s"])
        for child in element.iterchildren(tag=etree.Element):
            if child.tag == "blobs":
                plain["blobs"] += [self._blob(blob) for blob in child.iterchildren(tag=etree.Element)]
            elif child.tag in ("weights", "biases"):
                plain["blobs"].append(self._blob(child))
            elif child.tag not in _NOT_DATA:
                self._attributes(plain, child)
        if (body := element.find("body")) is not None:
            plain["bodies"] = self._bodies(element, body, plain)
        return plain

    def _attributes(self, plain: Plain, element: etree._Element) -> None:
        """Add the attributes of an element; attributes of repeated elements, such as `<crop>`, become lists."""
        if not plain["data"]:
            plain["data_line"] = self._line(element)
        data = plain["data"]
        for name, value in element.items():
            name, value = str(name), str(value)
            data[name] = f"{data[name]},{value}" if name in data else value
        for child in element.iterchildren(tag=etree.Element):
            self._attributes(plain, child)

    def _ports(self, element: etree._Element, first: int) -> list[Plain]:
        ports = []
        for position, child in enumerate(element.iterchildren("port")):
            dims = [dim.text for dim in child.iterchildren("dim")]
            id = child.get("id")
            ports.append(
                {
                    "id": str(first + position) if id is None else id,
                    "dims": dims,
                    "precision": child.get("precision"),
                    "line": self._line(child),
                }
            )
        return ports

    def _blob(self, element: etree._Element) -> Plain:
        plain: Plain = {name: element.get(name) for name in ("offset", "size", "precision")}
        return {**plain, "name": str(element.tag), "line": self._line(element)}

    def _bodies(self, element: etree._Element, body: etree._Element, layer: Plain) -> list[Plain]:
        if self._depth == MAX_BODY_DEPTH:
            message = f"bodies are nested deeper than {MAX_BODY_DEPTH}"
            location = Location(self._path, layer["line"], layer["id"], layer["name"], layer["type"])
            self._report(ResourceError(message, code=Code.limit_exceeded, location=location))
            return []
        self._depth += 1
        plain: Plain = {"name": "body", "line": self._line(body), **self._network(body)}
        self._depth -= 1
        if (port_map := element.find("port_map")) is not None:
            plain["port_map"] = [
                self._port_map_entry(child) for child in port_map.iterchildren() if child.tag in ("input", "output")
            ]
        if (back_edges := element.find("back_edges")) is not None:
            plain["back_edges"] = [self._back_edge(child) for child in back_edges.iterchildren("edge")]
        return [plain]

    def _port_map_entry(self, element: etree._Element) -> Plain:
        names = ("external_port_id", "internal_layer_id", "internal_port_id", "axis", "start", "end", "stride")
        plain: Plain = {name: element.get(name) for name in (*names, "part_size")}
        return {**plain, "direction": str(element.tag), "line": self._line(element)}

    def _edge(self, element: etree._Element) -> Plain:
        return {**self._back_edge(element), **{port: element.get(port.replace("_", "-")) for port in _PORTS}}

    def _back_edge(self, element: etree._Element) -> Plain:
        plain: Plain = {name: element.get(name.replace("_", "-")) for name in ("from_layer", "to_layer", *_PORTS)}
        return {**plain, "line": self._line(element)}

    def _tree(self, element: etree._Element) -> Plain:
        attributes: dict[str, Any] = {str(name): str(value) for name, value in element.items()}
        return {
            "name": str(element.tag),
            "attributes": attributes,
            "text": (element.text or "").strip(),
            "children": [self._tree(child) for child in element.iterchildren(tag=etree.Element)],
            "line": self._line(element),
        }


_PORTS = ("from_port", "to_port")
