"""Reads an .xml of IR version 10 or 11 into a Document, and says everything that is wrong with its form.

Elements and attributes that are not known are legal and ignored. Where something is missing or unreadable the fault
is reported with its line, the piece is left out, and reading goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

from lxml import etree

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError, Report, ResourceError, raise_error
from ir_exec.ir.document import (
    NO_RT_INFO,
    BackEdge,
    Body,
    Document,
    Edge,
    Layer,
    Port,
    PortMapEntry,
    RtInfo,
)
from ir_exec.ir.lookalikes import recognise_root
from ir_exec.ir.markup import Markup, load, parse
from ir_exec.ir.names import split_names

__all__ = ["MAX_BODY_DEPTH", "VERSIONS", "read_document"]

VERSIONS = (10, 11)

MAX_BODY_DEPTH = 32
"""Bodies nested deeper than this are refused; real networks nest two or three."""

_LONGEST_NUMBER = 40
"""Characters; leading zeros are legal, and 19 digits are enough for any number of 64 bits."""

_STRUCTURAL = {name.lower(): name for name in ("Parameter", "Result", "Const")}
"""The types that make a graph of a list of layers, whose case does not matter, as that of all others."""

_BODY_PARTS = frozenset(("body", "then_body", "else_body", "port_map", "then_port_map", "else_port_map", "back_edges"))
_Read = TypeVar("_Read")
_EXECUTION_GRAPH_MARKS = frozenset(("execOrder", "originalLayersNames"))


def read_document(source: str | os.PathLike[str] | bytes, *, report: Report = raise_error) -> Document | None:
    """Read an IR file from a path or from its bytes; the weights are not touched.

    Faults go to `report`, which raises the first one unless the caller passes another. The result is None only where
    there is nothing to go on with: no file, no XML, another kind of file, an IR version that is not 10 or 11.
    Codes: IR001 unreadable path, IR002 not well-formed, IR003 refused markup, IR004 not IR, IR005 unsupported version,
    IR006 limits exceeded, IR007 a number or id that cannot be read, IR008 something required is missing.
    """
    path = None
    try:
        path, raw = load(source)
        markup = parse(raw)
        version = _live_version(markup)
    except IRError as error:
        fatal = error.located(Location(path=path))
    else:
        return _Reader(markup, path, report).document(version)
    report(fatal)
    return None


def _int64(text: str | None) -> int | None:
    """The number, or None where the text is not a decimal number of 64 bits."""
    text = (text or "").strip()
    # Python refuses to convert very long numbers with an error of its own.
    if len(text) > _LONGEST_NUMBER or not text.isascii() or not text[text[:1] in ("-", "+") :].isdigit():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _canonical(id: str) -> str | None:
    """The one spelling of an id that is a number, None for all other ids; blanks are no part of a number here."""
    if id.isdigit() and id.isascii() and id[0] != "0" and len(id) < 19:
        return id
    number = _int64(id) if id == id.strip() else None
    return None if number is None or number < 0 else str(number)


def _live_version(markup: Markup) -> int | None:
    """The version of the file, None where it is missing or unreadable; raises for versions that are not read."""
    root = markup.root
    if root.tag != "net":
        raise recognise_root(str(root.tag)).located(Location(line=markup.line_of(root)))
    version = _int64(root.get("version", ""))
    location = Location(line=markup.line_of(root))
    if version is not None and version not in VERSIONS:
        older = version < VERSIONS[0]
        hint = "version 7 and older have another layout: convert the original model again" if older else None
        message = f"IR version {version} is not supported; versions 10 and 11 are"
        raise ParseError(message, code=Code.ir_version, hint=hint, location=location)
    if version is None and root.find(".//blobs") is not None:
        raise ParseError("an IR of version 7 or older is not supported", code=Code.ir_version, location=location)
    # Execution graphs have the root, the version and the layout of IR, and describe no network that could be run.
    for layer in root.iterfind("layers/layer"):
        data = layer.find("data")
        if layer.get("version") is None and data is not None and _EXECUTION_GRAPH_MARKS.intersection(data.keys()):
            message = "not an IR file: it is an execution graph, a description of what OpenVINO made of a network"
            raise ParseError(message, code=Code.not_ir, hint="check the .xml of the network itself", location=location)
        if layer.get("version") is not None:
            break
    return version


class _Reader:
    """Reads element by element; `_layer` is the id, name and type of the layer that is being read.

    A file holds the same few numbers again and again, so each is read once: `_int64` and `_canonical` remember.
    """

    def __init__(self, markup: Markup, path: str | None, report: Report) -> None:
        self._root = markup.root
        self._line = markup.line_of
        self._path = path
        self._report = report
        self._layer: tuple[str | None, str | None, str | None] = (None, None, None)
        self._depth = 0
        self._is_complete = True
        self._int64 = cache(_int64)
        self._canonical = cache(_canonical)

    def document(self, version: int | None) -> Document:
        root = self._root
        if version is None and self._required(root, "version") is not None:
            self._no_number(f"the version {_shown(root.get('version'))}", root)
        layers, edges = self._read_network(root)
        return Document(
            name=root.get("name", ""),
            version=version or VERSIONS[-1],
            layers=layers,
            edges=edges,
            rt_info=self._tree_in(root, "rt_info") or NO_RT_INFO,
            meta_data=self._tree_in(root, "meta_data"),
            quantization_parameters=self._tree_in(root, "quantization_parameters"),
            pre_process=self._tree_in(root, "pre-process"),
            path=self._path,
            is_complete=self._is_complete,
        )

    def _read_network(self, element: etree._Element) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        """The layers and edges of a net or a body."""
        layers, edges = element.find("layers"), element.find("edges")
        for tag, found in (("layers", layers), ("edges", edges)):
            if found is None:
                self._fault(Code.missing_markup, f"<{element.tag}> has no <{tag}>", element)
        return (
            tuple(_all(layers, "layer", self._read_layer)) if layers is not None else (),
            tuple(_all(edges, "edge", self._read_edge)) if edges is not None else (),
        )

    def _read_layer(self, element: etree._Element) -> Layer | None:
        outer = self._layer
        id, name, type = element.get("id"), element.get("name"), element.get("type")
        if id is not None:
            id = self._canonical(id) or id
        self._layer = (id, name, type)
        version = element.get("version")
        if id is None or name is None or type is None or version is None:
            for attribute in ("id", "name", "type", "version"):
                self._required(element, attribute)
        elif self._canonical(id) is None:
            self._no_id(id, "the layer's id", element)
        inputs: tuple[Port, ...] = ()
        outputs: tuple[Port, ...] = ()
        bodies: tuple[Body, ...] | None = None
        data: dict[str, str] = {}
        rt_info = NO_RT_INFO
        line = data_line = self._line(element)
        for child in element:
            tag = child.tag
            if tag == "input":
                inputs = tuple([self._read_port(port, is_output=False) for port in child if port.tag == "port"])
            elif tag == "output":
                outputs = tuple([self._read_port(port, is_output=True) for port in child if port.tag == "port"])
            elif tag == "data":
                data = _attributes(child)
                data_line = self._line(child)
            elif tag == "rt_info":
                rt_info = self._read_tree(child)
            elif tag in _BODY_PARTS and bodies is None:
                bodies = self._read_bodies(element)
        self._layer = outer
        if id is None:
            return None
        output_names = element.get("output_names")
        return Layer(
            id=id,
            name=name or "",
            type=_STRUCTURAL.get(type.lower(), type) if type else "",
            version=version,
            data=data,
            inputs=inputs,
            outputs=outputs,
            bodies=bodies or (),
            output_names=split_names(output_names) if output_names else (),
            rt_info=rt_info,
            line=line,
            data_line=data_line,
        )

    def _read_port(self, element: etree._Element, *, is_output: bool) -> Port:
        text = element.get("id")
        id = self._canonical(text) if text is not None else self._required(element, "id")
        if id is None and text is not None:
            self._no_id(text, "a port's id", element)
        dims: list[int] = []
        rt_info = NO_RT_INFO
        int64 = self._int64
        for child in element:
            if child.tag == "dim":
                dim = int64(child.text)
                if dim is None:
                    self._no_number(f"dim {len(dims)} of port {id}, {_shown(child.text)},", child)
                    dim = -1
                dims.append(dim)
            elif child.tag == "rt_info":
                rt_info = self._read_tree(child)
        precision, names = element.get("precision"), element.get("names")
        if is_output and precision is None:
            self._required(element, "precision")
        tensor_names = split_names(names) if names else ()
        return Port(id or text or "", precision, tuple(dims), tensor_names, self._line(element), rt_info)

    def _read_edge(self, element: etree._Element) -> Edge | None:
        get, canonical = element.get, self._canonical
        from_layer, from_port = canonical(get("from-layer", "")), canonical(get("from-port", ""))
        to_layer, to_port = canonical(get("to-layer", "")), canonical(get("to-port", ""))
        if from_layer is None or from_port is None or to_layer is None or to_port is None:
            ends = [self._required_id(element, name) for name in ("from-layer", "from-port", "to-layer", "to-port")]
            from_layer, from_port, to_layer, to_port = ends
            if from_layer is None or from_port is None or to_layer is None or to_port is None:
                return None
        return Edge(from_layer, from_port, to_layer, to_port, self._line(element))

    def _read_bodies(self, element: etree._Element) -> tuple[Body, ...]:
        """The bodies of a layer, put together from its children, which may stand in any order."""
        if self._depth == MAX_BODY_DEPTH:
            error = ResourceError(f"bodies are nested deeper than {MAX_BODY_DEPTH}", code=Code.limit_exceeded)
            self._report_at(error, element)
            return ()
        self._depth += 1
        bodies = []
        for name in ("body", "then_body", "else_body"):
            content = element.find(name)
            port_map = element.find(name.removesuffix("body") + "port_map")
            back_edges = element.find("back_edges") if name == "body" else None
            if content is None:
                # Which bodies a layer has to have, its operator knows.
                continue
            layers, edges = self._read_network(content)
            body = Body(
                name=name,
                port_map=tuple(self._read_port_map(port_map)) if port_map is not None else (),
                back_edges=tuple(_all(back_edges, "edge", self._read_back_edge)) if back_edges is not None else (),
                layers=layers,
                edges=edges,
                rt_info=self._tree_in(content, "rt_info") or NO_RT_INFO,
                line=self._line(content),
            )
            bodies.append(body)
        self._depth -= 1
        return tuple(bodies)

    def _read_port_map(self, element: etree._Element) -> Iterator[PortMapEntry]:
        for child in element:
            if child.tag not in ("input", "output"):
                continue
            self._required(child, "external_port_id")
            external = self._number(child, "external_port_id")
            internal = self._required_id(child, "internal_layer_id")
            if external is None or internal is None:
                continue
            port = child.get("internal_port_id")
            yield PortMapEntry(
                direction="input" if child.tag == "input" else "output",
                external_port_id=external,
                internal_layer_id=internal,
                internal_port_id=self._canonical(port) or port if port is not None else None,
                axis=self._number(child, "axis"),
                start=self._number(child, "start"),
                end=self._number(child, "end"),
                stride=self._number(child, "stride"),
                part_size=self._number(child, "part_size"),
                purpose=child.get("purpose") or None,
                line=self._line(child),
            )

    def _read_back_edge(self, element: etree._Element) -> BackEdge | None:
        source, target = self._required_id(element, "from-layer"), self._required_id(element, "to-layer")
        if source is None or target is None:
            return None
        return BackEdge(from_layer=source, to_layer=target, line=self._line(element))

    def _tree_in(self, element: etree._Element, tag: str) -> RtInfo | None:
        found = element.find(tag)
        return self._read_tree(found) if found is not None else None

    def _read_tree(self, element: etree._Element) -> RtInfo:
        return RtInfo(
            name=str(element.tag),
            attributes=_attributes(element),
            text=(element.text or "").strip(),
            children=tuple([self._read_tree(child) for child in element]),
            line=self._line(element),
        )

    def _required(self, element: etree._Element, name: str) -> str | None:
        value = element.get(name)
        if value is None:
            self._fault(Code.missing_markup, f"<{element.tag}> has no attribute {name}", element)
        return value

    def _required_id(self, element: etree._Element, name: str) -> str | None:
        """An attribute that refers to a layer or port: in one spelling if it is a number, else as it is."""
        text = element.get(name)
        if text is None:
            return self._required(element, name)
        id = self._canonical(text)
        if id is None:
            self._no_id(text, name, element)
        return id or text

    def _number(self, element: etree._Element, name: str) -> int | None:
        """An optional attribute; None where it is missing or unreadable."""
        text = element.get(name)
        if text is None:
            return None
        number = self._int64(text)
        if number is None:
            self._no_number(f"{name} is {_shown(text)}, which", element)
        return number

    def _no_id(self, text: str, what: str, element: etree._Element) -> None:
        self._fault(Code.unreadable_number, f"{what} is {_shown(text)}, not a number from 0 on", element)

    def _no_number(self, what: str, element: etree._Element) -> None:
        self._fault(Code.unreadable_number, f"{what} is no integer of 64 bits", element)

    def _fault(self, code: str, message: str, element: etree._Element) -> None:
        self._report_at(ParseError(message, code=code), element)

    def _report_at(self, error: IRError, element: etree._Element) -> None:
        self._is_complete = False
        id, name, type = self._layer
        self._report(error.located(Location(self._path, self._line(element), id, name, type)))


def _all(element: etree._Element, tag: str, read: Callable[[etree._Element], _Read | None]) -> list[_Read]:
    """What `read` makes of the children with this tag; others are legal and ignored."""
    found = [read(child) for child in element if child.tag == tag]
    return [item for item in found if item is not None]


def _attributes(element: etree._Element) -> dict[str, str]:
    return dict(element.items())  # type: ignore[arg-type]  # bytes are of Python 2


def _shown(text: str | None) -> str:
    """The text as a message quotes it: broken files hold texts of any length."""
    text = text or ""
    return repr(text if len(text) <= 40 else text[:40] + "...")
