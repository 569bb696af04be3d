"""From a case to an IR file: Parameters and constants, the layer, one Result for each of its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import quoteattr

from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.conformance.case import Case
from tests.conformance.packing import pack

__all__ = ["FORMS", "Form", "IRFile", "build", "parameter_shape"]

Form = Literal["static", "any dims", "any rank"]
"""Shapes that the Parameters of a file declare for the case's inputs."""

FORMS: tuple[Form, ...] = ("static", "any dims", "any rank")


@dataclass(frozen=True)
class IRFile:
    """The two halves of an IR, and the arrays that its Parameters take, in their order."""

    xml: bytes
    weights: bytes
    inputs: tuple[Array, ...]


def parameter_shape(array: Array, form: Form) -> Shape:
    """The shape that a Parameter for this array declares."""
    if form == "static":
        return Shape(array.shape)
    return Shape.of_rank(array.ndim) if form == "any dims" else Shape.unknown()


def build(case: Case, form: Form = "static", outputs: Sequence[TensorType] | None = None) -> IRFile:
    """The file of a case. `outputs` are the types that the ports of the layer declare; None declares nothing."""
    weights = bytearray()
    layers, edges, parameters = [], [], []
    for position, array in enumerate(case.inputs):
        constant = position in case.constants
        shape = parameter_shape(array, "static" if constant else form)
        port = _port(0, TensorType(ElementType.of(array), shape))
        if constant:
            data = pack(array)
            attributes = {"element_type": ElementType.of(array).name, "shape": _dims(shape)}
            # An empty constant has a byte of its own in the file.
            attributes |= {"offset": str(len(weights)), "size": str(max(len(data), 1))}
            weights += data or b"\0"
            layers.append(_layer(position, f"constant{position}", "Const", 1, attributes, "", port))
        else:
            attributes = {"shape": _dims(shape), "element_type": ElementType.of(array).name}
            layers.append(_layer(position, f"input{position}", "Parameter", 1, attributes, "", port))
            parameters.append(array)
        edges.append((position, 0, len(case.inputs), position))
    count, middle = len(case.inputs), len(case.inputs)
    inputs = "".join(
        _port(i, TensorType(ElementType.of(array), parameter_shape(array, "static" if i in case.constants else form)))
        for i, array in enumerate(case.inputs)
    )
    declared = outputs or [TensorType.unknown()] * case.outputs
    ports = "".join(_port(count + i, type_) for i, type_ in enumerate(declared))
    layers.append(_layer(middle, "layer", case.type, case.opset, case.attribute_texts(), inputs, ports))
    for i, type_ in enumerate(declared):
        layers.append(_layer(middle + 1 + i, f"result{i}", "Result", 1, {}, _port(0, type_), ""))
        edges.append((middle, count + i, middle + 1 + i, 0))
    xml = "".join(_document(layers, edges)).encode()
    return IRFile(xml, bytes(weights), tuple(parameters))


def _document(layers: list[str], edges: list[tuple[int, int, int, int]]) -> Iterator[str]:
    yield '<?xml version="1.0"?>\n<net name="case" version="11">\n<layers>\n'
    yield from layers
    yield "</layers>\n<edges>\n"
    for source, source_port, target, target_port in edges:
        yield f'<edge from-layer="{source}" from-port="{source_port}" to-layer="{target}" to-port="{target_port}"/>\n'
    yield "</edges>\n</net>\n"


def _layer(id: int, name: str, type: str, opset: int, attributes: dict[str, str], inputs: str, outputs: str) -> str:
    data = "".join(f" {key}={quoteattr(text)}" for key, text in attributes.items())
    return (
        f'<layer id="{id}" name="{name}" type="{type}" version="opset{opset}">'
        + (f"<data{data}/>" if data else "")
        + (f"<input>{inputs}</input>" if inputs else "")
        + (f"<output>{outputs}</output>" if outputs else "")
        + "</layer>\n"
    )


def _port(id: int, type_: TensorType) -> str:
    dims = "".join(f"<dim>{dim.lo if dim.is_static else -1}</dim>" for dim in type_.shape.dims or ())
    return f'<port id="{id}" precision="{type_.element_type.precision}">{dims}</port>'


def _dims(shape: Shape) -> str:
    return "..." if shape.dims is None else ",".join(map(str, shape))
