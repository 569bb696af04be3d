"""The reader of an .xml of IR version 10 or 11 to a Document; it reports all faults of its form.

Unknown elements and attributes are legal and ignored. The elements become plain nested data, which the models of
`ir.document` validate layer by layer. If something is missing or unreadable, a second walk collects data of the whole
file; the fault is reported with its line, the faulty element is omitted, and reading continues.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, TypeAlias

from lxml import etree
from pydantic import BaseModel
from pydantic_core import ErrorDetails, ValidationError

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError, ReportFault, ResourceError, raise_error
from ir_exec.ir.document import Document, Edge, Layer, compact, split_names
from ir_exec.ir.faults import Plain, mend_plain, quote
from ir_exec.ir.markup import Markup, load, parse, recognize_root
from ir_exec.ir.pairing import WeightsDigest, digest_in, without_digest

__all__ = ["MAX_BODY_DEPTH", "read_document"]

MAX_BODY_DEPTH = 32
"""Maximum depth of nested bodies; real models have two or three."""

_BODIES = ("body", "then_body", "else_body")
_BODY_PARTS = frozenset((*_BODIES, "port_map", "then_port_map", "else_port_map", "back_edges"))
_EXECUTION_GRAPH_MARKS = frozenset(("execOrder", "execTimeMcs", "outputLayouts"))
"""Attributes of executed layers. Model Optimizer also wrote `originalLayersNames` into models."""

_PORT_MAP = (
    *("external_port_id", "internal_layer_id", "internal_port_id"),
    *("axis", "start", "end", "stride", "part_size"),
)


_children: Callable[[etree._Element], list[etree._Element]] = itemgetter(slice(None))
"""The children of an element, all at once: iterating over them is slower in lxml."""


def read_document(
    source: str | os.PathLike[str] | bytes,
    *,
    report: ReportFault = raise_error,
    on_older: Callable[[Markup, str | None], None] | None = None,
    on_digest: Callable[[WeightsDigest], None] | None = None,
) -> Document | None:
    """Read an IR file from a path or from its bytes; the weights are not touched.

    Faults go to `report`, which by default raises the first one. The result is None only if reading cannot continue: no
    file, no XML, another kind of file, an IR version other than 10 and 11.

    Codes: IR001 unreadable path, IR002 not well-formed, IR003 refused markup, IR004 not IR, IR005 unsupported version,
    IR006 limits exceeded, IR007 a number or id that cannot be read, IR008 something required is missing.

    Args:
        on_older: Called with the elements and the path of a file of versions 2 to 7, instead of IR005.
        on_digest: Called with the digest of the .bin, if ir_exec wrote the file. The document does not contain it.
    """
    path = None
    try:
        path, raw = load(source)
        markup = parse(raw)
        _refuse_other_kinds(markup)
        if on_older is not None and is_older(markup.root):
            on_older(markup, path)
            return None
        document, faults = _read(markup, path)
    except IRError as error:
        fatal = error.located(Location(path=path))
    else:
        for warning in markup.warnings:
            report(warning.located(Location(path=path)))
        for fault in sorted(faults, key=lambda fault: fault.location.line or 0):
            report(fault)
        digest = digest_in(document.rt_info, raw)
        if digest is not None and on_digest is not None:
            on_digest(digest)
        rt_info = without_digest(document.rt_info)
        return document if rt_info is document.rt_info else document.model_copy(update={"rt_info": rt_info})
    report(fatal)
    return None


_OLDER = range(2, 8)
"""Versions with a different layout, read by `ir_exec.ir.older_document`."""


def is_older(root: etree._Element) -> bool:
    """Return True for the root of an IR of versions 2 to 7."""
    version = (root.get("version") or "").strip()
    return root.tag == "net" and version.isascii() and version.isdigit() and int(version[:4]) in _OLDER


def _refuse_other_kinds(markup: Markup) -> None:
    """Raise ParseError IR004 for XML that is not a model."""
    root = markup.root
    if root.tag != "net":
        raise recognize_root(str(root.tag)).located(Location(line=markup.line_of(root)))
    # Execution graphs have the root, the version and the layout of IR, but cannot be run.
    for layer in root.iterfind("layers/layer"):
        data = layer.find("data")
        if layer.get("version") is None and data is not None and _EXECUTION_GRAPH_MARKS.intersection(data.keys()):
            message = "not an IR file: it is an execution graph, a description of a model compiled by OpenVINO"
            location = Location(line=markup.line_of(root))
            raise ParseError(message, code=Code.not_ir, hint="check the .xml of the model itself", location=location)
        if layer.get("version") is not None:
            break


def _read(markup: Markup, path: str | None) -> tuple[Document, list[IRError]]:
    """The document without faulty elements, and the faults.

    Raises:
        ParseError: IR005 for unsupported versions.
    """
    walk = _ElementWalk(markup, path, _validating(Layer), _validating(Edge))
    try:
        document = Document.model_validate(walk.net(), strict=False)
        faults = walk.faults
    except ValidationError:
        document, faults = _read_damaged(markup, path)
    return document.model_copy(update={"is_complete": False}) if faults else document, faults


def _read_damaged(markup: Markup, path: str | None) -> tuple[Document, list[IRError]]:
    walk = _ElementWalk(markup, path)
    plain, faults = walk.net(), walk.faults
    try:
        Document.model_validate(plain, strict=False)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        _refuse_other_versions(markup, errors)
        faults += mend_plain(plain, errors, markup)
    return Document.model_validate(plain, strict=False), faults


def _refuse_other_versions(markup: Markup, errors: Iterable[ErrorDetails]) -> None:
    wrong = next((error["type"] for error in errors if error["loc"] == ("version",)), None)
    location = Location(line=markup.line_of(markup.root))
    if wrong in ("greater_than_equal", "less_than_equal"):
        older = wrong == "greater_than_equal"
        hint = "convert the original model again: version 7 and older have a different layout" if older else None
        raise ParseError(
            "the version of the IR is",
            actual=quote(markup.root.get("version"))[1:-1],
            expected="10 or 11",
            code=Code.ir_version,
            hint=hint,
            location=location,
        )
    if wrong is not None and markup.root.find(".//blobs") is not None:
        raise ParseError("an IR of version 7 or older is not supported", code=Code.ir_version, location=location)


_Make: TypeAlias = Callable[[Plain], Any]


def _validating(model: type[BaseModel]) -> _Make:
    """`model_validate` without its Python wrapper, for models in large numbers."""
    model.model_rebuild()  # has an effect only the first time
    validate = model.__pydantic_validator__.validate_python
    return lambda plain: compact(validate(plain, strict=False))


class _ElementWalk:
    """Goes once through the elements; numbers stay text.

    A missing required attribute is None, or absent if the model may contain None.

    Args:
        layer: Create the model of the data of each layer, immediately, while the data is in the cache and before its
            memory is reused.
        edge: Create the model of the data of each edge in the same way.

    Attributes:
        faults: The faults of bodies that are omitted because they are nested too deep.
    """

    def __init__(self, markup: Markup, path: str | None, layer: _Make = dict, edge: _Make = dict) -> None:
        self._made_layer, self._made_edge = layer, edge
        self._root = markup.root
        self._line = markup.line_of
        self._path = path
        self._depth = 0
        self.faults: list[IRError] = []

    def net(self) -> Plain:
        root = self._root
        plain = {"name": root.get("name", ""), "path": self._path, **self._network(root)}
        if (version := root.get("version")) is not None:
            plain["version"] = version
        for tag in ("rt_info", "meta_data", "quantization_parameters", "pre-process"):
            if (tree := root.find(tag)) is not None:
                plain[tag.replace("-", "_")] = self._tree(tree)
        return plain

    def _network(self, element: etree._Element) -> Plain:
        """The layers and edges of a net or a body."""
        plain: Plain = {}
        if (layers := element.find("layers")) is not None:
            make, layer = self._made_layer, self._layer
            plain["layers"] = [make(layer(child)) for child in _children(layers) if child.tag == "layer"]
        if (edges := element.find("edges")) is not None:
            make, edge = self._made_edge, self._edge
            plain["edges"] = [make(edge(child)) for child in _children(edges) if child.tag == "edge"]
        return plain

    def _layer(self, element: etree._Element) -> Plain:
        get, line = element.get, self._line(element)
        plain: Plain = {"id": get("id"), "name": get("name"), "type": get("type"), "line": line, "data_line": line}
        if (version := get("version")) is not None:
            plain["version"] = version
        if names := get("output_names"):
            plain["output_names"] = split_names(names)
        for child in _children(element):
            tag = child.tag
            if tag == "input":
                plain["inputs"] = self._ports(child, are_outputs=False)
            elif tag == "output":
                plain["outputs"] = self._ports(child, are_outputs=True)
            elif tag == "data":
                plain["data"] = attributes_of(child)
                plain["data_line"] = self._line(child)
            elif tag == "rt_info":
                plain["rt_info"] = self._tree(child)
            elif tag in _BODY_PARTS and "bodies" not in plain:
                plain["bodies"] = self._bodies(element, plain)
        return plain

    def _ports(self, element: etree._Element, *, are_outputs: bool) -> list[Plain]:
        line, ports = self._line, []
        for child in _children(element):
            if child.tag != "port":
                continue
            get = child.get
            dims = [dim.text for dim in _children(child) if dim.tag == "dim"]
            port: Plain = {"id": get("id"), "dims": dims, "line": line(child)}
            if (precision := get("precision")) is not None or not are_outputs:
                port["precision"] = precision
            if names := get("names"):
                port["names"] = split_names(names)
            if len(dims) < len(child) and (tree := child.find("rt_info")) is not None:
                port["rt_info"] = self._tree(tree)
            ports.append(port)
        return ports

    def _bodies(self, element: etree._Element, layer: Plain) -> list[Plain]:
        """The bodies of a layer, collected from its children, which may be in any order."""
        if self._depth == MAX_BODY_DEPTH:
            message = f"bodies are nested deeper than {MAX_BODY_DEPTH}"
            location = Location(self._path, layer["line"], layer.get("id"), layer.get("name"), layer.get("type"))
            self.faults.append(ResourceError(message, code=Code.limit_exceeded, location=location))
            return []
        self._depth += 1
        # The operator determines the required bodies of a layer.
        bodies = [self._body(element, name, body) for name in _BODIES if (body := element.find(name)) is not None]
        self._depth -= 1
        return bodies

    def _body(self, layer: etree._Element, name: str, element: etree._Element) -> Plain:
        plain = {"name": name, "line": self._line(element), **self._network(element)}
        if (port_map := layer.find(name.removesuffix("body") + "port_map")) is not None:
            plain["port_map"] = [self._port_map_entry(child) for child in port_map if child.tag in ("input", "output")]
        if name == "body" and (back_edges := layer.find("back_edges")) is not None:
            plain["back_edges"] = [self._back_edge(child) for child in back_edges if child.tag == "edge"]
        if (tree := element.find("rt_info")) is not None:
            plain["rt_info"] = self._tree(tree)
        return plain

    def _port_map_entry(self, element: etree._Element) -> Plain:
        plain: Plain = {name: element.get(name) for name in _PORT_MAP}
        plain["direction"] = element.tag
        plain["purpose"] = element.get("purpose") or None
        plain["line"] = self._line(element)
        return plain

    def _edge(self, element: etree._Element) -> Plain:
        get = element.get
        return {
            "from_layer": get("from-layer"),
            "from_port": get("from-port"),
            "to_layer": get("to-layer"),
            "to_port": get("to-port"),
            "line": self._line(element),
        }

    def _back_edge(self, element: etree._Element) -> Plain:
        get = element.get
        return {"from_layer": get("from-layer"), "to_layer": get("to-layer"), "line": self._line(element)}

    def _tree(self, element: etree._Element) -> Plain:
        return {
            "name": str(element.tag),
            "attributes": attributes_of(element),
            "text": (element.text or "").strip(),
            "children": [self._tree(child) for child in element],
            "line": self._line(element),
        }


_MANY = 256
"""Minimum number of attributes for listing them by XPath instead of `items`, which takes quadratic time."""


def attributes_of(element: etree._Element) -> dict[str, str]:
    if len(element.attrib) > _MANY:
        attributes: Any = element.xpath("@*")
        return {value.attrname: str(value) for value in attributes}
    return dict(element.items())  # type: ignore[arg-type]  # bytes are for Python 2
