"""The writer of a Document and the bytes of its constants to an .xml and a .bin.

The document is written unchanged, with one exception: constants are contiguous in the new .bin, and constants with
equal bytes share them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from lxml import etree

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, WeightsError
from ir_exec.ir.document import Body, Document, Edge, Layer, Port, PortMapEntry, RtInfo, join_names
from ir_exec.ir.pairing import seal, without_digest
from ir_exec.ir.storage import reason_of, replacing_all
from ir_exec.ir.weights import Weights, default_weights_path
from ir_exec.ir.weights_writer import ByteRanges, ConstantLayout, WeightsWriter, are_in_order

__all__ = ["ByteRanges", "serialize_document", "write_document"]

_PORT_MAP_NUMBERS = ("axis", "start", "end", "stride", "part_size")


def write_document(document: Document, weights: ByteRanges | None, path: str | os.PathLike[str]) -> None:
    """Write `path`, which ends in .xml, and the .bin next to it.

    The file has the document's own IR version, and the digest of the .bin in its rt_info. Both files are complete
    before they replace older ones. The .xml is replaced first: if the process is killed before the .bin is replaced,
    readers see the digest of another .bin, even if the older .xml has none.

    Raises:
        WeightsError: IR201 constants without weights, IR202 a constant reaches past their end, IR205 its offset or size
            is not a number.
        IRError: IR009 if the files cannot be written.
    """
    xml_path = os.fsdecode(path)
    if not xml_path.lower().endswith(".xml"):
        raise IRError(
            "the name of the file to write must end in .xml", code=Code.unwritable, location=Location(path=xml_path)
        )
    targets = [(xml_path, "IR"), (default_weights_path(xml_path), "weights")]
    try:
        with replacing_all(targets) as (xml_file, bin_file), WeightsWriter(weights, bin_file) as writer:
            if isinstance(weights, Weights) and weights.written is not None and _keeps_offsets(document, weights):
                writer.copy(weights.size, weights.written)
            xml_file.write(_DocumentWriter(writer).net(document))
    except (OSError, ValueError) as error:
        # A ValueError is raised by lxml for text that XML cannot contain, or by the system for a path.
        message = f"cannot write the file: {reason_of(error)}"
        raise IRError(message, code=Code.unwritable, location=Location(path=xml_path)) from None


def serialize_document(document: Document) -> tuple[bytes, ConstantLayout]:
    """Return the bytes of the .xml, and the layout of the constants in its .bin.

    Raises:
        WeightsError: IR205 for a constant whose offset or size is not a number.
        IRError: IR009 for text that XML cannot contain.
    """
    layout = ConstantLayout()
    try:
        return _DocumentWriter(layout).net(document), layout
    except ValueError as error:
        raise IRError(f"cannot write the model: {error}", code=Code.unwritable) from None


def _keeps_offsets(document: Document, weights: Weights) -> bool:
    """Return True if the new .bin is a copy of the weights, as after edits of names."""
    try:
        return are_in_order(_ranges(document.layers), weights.size)
    except WeightsError:
        return False


def _ranges(layers: Iterable[Layer]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of all constants in the order of writing.

    Raises:
        WeightsError: For a range that is written in another way: without elements, or without numbers.
    """
    for layer in layers:
        if layer.is_constant and ("offset" in layer.data or "size" in layer.data):
            if _is_empty(layer.data):
                raise WeightsError("the constant has no elements")
            yield _range(layer.data)
        for body in layer.bodies:
            yield from _ranges(body.layers)


class _DocumentWriter:
    """A writer that builds the elements, and writes the bytes of each constant on the way."""

    def __init__(self, weights: WeightsWriter | ConstantLayout) -> None:
        self._weights = weights

    def net(self, document: Document) -> bytes:
        """Write the bytes of all constants, and return the text of the .xml."""
        net = etree.Element("net", {"name": document.name, "version": str(document.version)})
        self._network(net, document.layers, document.edges)
        for tree in (document.meta_data, document.quantization_parameters, document.pre_process):
            if tree is not None:
                _tree(net, tree)
        rt_info = without_digest(document.rt_info)
        digest = self._weights.finish()
        if digest is not None:
            rt_info = rt_info.model_copy(update={"children": (*rt_info.children, digest.entry())})
        if rt_info:
            _tree(net, rt_info)
        etree.indent(net, "\t")
        return seal(etree.tostring(net, encoding="UTF-8", xml_declaration=True))

    def _network(self, parent: etree._Element, layers: Iterable[Layer], edges: Iterable[Edge]) -> None:
        element = etree.SubElement(parent, "layers")
        for layer in layers:
            self._layer(element, layer)
        element = etree.SubElement(parent, "edges")
        for edge in edges:
            ends = (edge.from_layer, edge.from_port, edge.to_layer, edge.to_port)
            etree.SubElement(
                element, "edge", dict(zip(("from-layer", "from-port", "to-layer", "to-port"), ends, strict=True))
            )

    def _layer(self, parent: etree._Element, layer: Layer) -> None:
        element = etree.SubElement(parent, "layer", {"id": layer.id, "name": layer.name, "type": layer.type})
        if layer.version is not None:
            element.set("version", layer.version)
        if layer.output_names:
            element.set("output_names", join_names(layer.output_names))
        data = self._with_new_offset(layer) if layer.is_constant else layer.data
        if data:
            etree.SubElement(element, "data", dict(data))
        if layer.rt_info:
            _tree(element, layer.rt_info)
        for body in layer.bodies:
            self._port_map(element, body)
        for tag, ports in (("input", layer.inputs), ("output", layer.outputs)):
            if ports:
                _ports(etree.SubElement(element, tag), ports)
        for body in layer.bodies:
            content = etree.SubElement(element, body.name)
            self._network(content, body.layers, body.edges)
            if body.rt_info:
                _tree(content, body.rt_info)

    def _port_map(self, parent: etree._Element, body: Body) -> None:
        port_map = etree.SubElement(parent, body.name.removesuffix("body") + "port_map")
        for entry in body.port_map:
            etree.SubElement(port_map, entry.direction, _port_map_attributes(entry))
        if body.back_edges:
            back_edges = etree.SubElement(parent, "back_edges")
            for edge in body.back_edges:
                etree.SubElement(back_edges, "edge", {"from-layer": edge.from_layer, "to-layer": edge.to_layer})

    def _with_new_offset(self, layer: Layer) -> Mapping[str, str]:
        """The attributes of a constant after its bytes are written to the new .bin."""
        data = layer.data
        if "offset" not in data and "size" not in data:
            return data
        try:
            offset, size = _range(data)
            blank = _is_empty(data)
            new_offset = self._weights.add_blank(min(size, 1)) if blank else self._weights.add(offset, size)
        except WeightsError as error:
            where = Location(None, layer.data_line or None, layer.id, layer.name, layer.type)
            raise error.located(where) from error.__cause__
        return {**data, "offset": str(new_offset)}


def _is_empty(data: Mapping[str, str]) -> bool:
    return "0" in data.get("shape", "").replace(" ", "").split(",")


def _range(data: Mapping[str, str]) -> tuple[int, int]:
    texts = [data.get(name, "") for name in ("offset", "size")]
    # Nineteen digits are enough for every 64-bit number, and Python rejects very long ones.
    if not all(text.isascii() and text.isdigit() and len(text) <= 19 for text in texts):
        shown = ", ".join(repr(text[:40]) for text in texts)
        raise WeightsError(
            f"offset and size of the constant are not numbers of 0 or more: {shown}", code=Code.constant_offset
        )
    return int(texts[0]), int(texts[1])


def _port_map_attributes(entry: PortMapEntry) -> dict[str, str]:
    attributes = {
        "external_port_id": str(entry.external_port_id),
        "internal_layer_id": entry.internal_layer_id,
    }
    if entry.internal_port_id is not None:
        attributes["internal_port_id"] = entry.internal_port_id
    for name in _PORT_MAP_NUMBERS:
        number = getattr(entry, name)
        if number is not None:
            attributes[name] = str(number)
    if entry.purpose is not None:
        attributes["purpose"] = entry.purpose
    return attributes


def _ports(parent: etree._Element, ports: Iterable[Port]) -> None:
    for port in ports:
        element = etree.SubElement(parent, "port", {"id": port.id})
        if port.precision is not None:
            element.set("precision", port.precision)
        if port.names:
            element.set("names", join_names(port.names))
        for dim in port.dims:
            etree.SubElement(element, "dim").text = str(dim)
        if port.rt_info:
            _tree(element, port.rt_info)


def _tree(parent: etree._Element, tree: RtInfo) -> None:
    try:
        element = etree.SubElement(parent, tree.name, dict(tree.attributes))
    except ValueError:
        # Names that XML does not allow are written in an attribute.
        element = etree.SubElement(parent, "info", {"name": tree.name, **tree.attributes})
    element.text = tree.text or None
    for child in tree.children:
        _tree(element, child)
