"""The cases of the operator tables: single layers with attributes and inputs, stored in a file of the package."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from ir_exec.build.cutting import region_at
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node, build_graph
from ir_exec.hints import suggested
from ir_exec.ir import Document, Edge, Layer, Port, Weights, encode
from ir_exec.ir.packing import decode
from ir_exec.model import Loaded, Model
from ir_exec.types import Array, ElementType, Shape

__all__ = ["OperatorCase", "case_types", "cases_of", "node_of", "pack_cases", "unpack_cases"]

_FILE = "cases.xz"

_LENGTH = 8
"""Number of bytes of the size of the index."""


@dataclass(frozen=True, eq=False)
class OperatorCase:
    """A layer of one operator, and its inputs.

    Attributes:
        type: As in a file.
        opset: As in a file.
        attributes: As in a file.
        constants: The positions of inputs that are constants.
        outputs: The number of output ports.
        rtol: The tolerance for implementations of the operator.
        atol: The tolerance for implementations of the operator.
        note: The specific condition of the case, or a known fault.
        is_plugin_right: False if OpenVINO's CPU plugin is known to be wrong or to reject the case.
        may_be_open: True if OpenVINO accepts the layer with open dims.
    """

    type: str
    opset: int
    inputs: tuple[Array, ...]
    attributes: dict[str, str]
    constants: tuple[int, ...] = ()
    outputs: int = 1
    rtol: float = 0.0
    atol: float = 0.0
    note: str = ""
    is_plugin_right: bool = True
    may_be_open: bool = True

    @property
    def size(self) -> int:
        """Total bytes of the inputs."""
        return sum(array.nbytes for array in self.inputs)

    @property
    def operator(self) -> str:
        """Type and opset: `Gather-8`."""
        return f"{self.type}-{self.opset}"

    def __str__(self) -> str:
        inputs = " ".join(f"{ElementType.of(array)}{list(array.shape)}".replace(" ", "") for array in self.inputs)
        attributes = " ".join(f"{name}={text}" for name, text in self.attributes.items())
        return " ".join(part for part in (self.operator, inputs, attributes, self.note) if part)

    @property
    def arrays(self) -> list[Array]:
        """The inputs of the model: the inputs that are not constants."""
        return [array for position, array in enumerate(self.inputs) if position not in self.constants]

    def network(self, *, is_open: bool = False) -> Model:
        """Return the case as a model.

        Args:
            is_open: If True, every dim of the inputs is open.

        Raises:
            IRError: What reading a model raises.
        """
        parts = _Network(self, is_open)
        model = _load_model(parts.document, parts.weights)
        # Ports declare the inferred types, as in every file.
        layers = region_at(model).layers.values()
        ordered = tuple(sorted(layers, key=lambda layer: int(layer.id)))
        return _load_model(parts.document.changed(layers=ordered), parts.weights)


def node_of(model: Model) -> Node:
    """Return the layer of a case in its model."""
    return next(node for node in model.graph.nodes if node.name == "layer")


def _load_model(document: Document, weights: Weights) -> Model:
    return Model(Loaded(document, build_graph(document, weights), weights, document))


class _Network:
    """The document of a case: inputs and constants, the layer, a Result for each of its outputs."""

    def __init__(self, case: OperatorCase, is_open: bool) -> None:
        self._stored = bytearray()
        count = len(case.inputs)
        layers = [self._source(case, position, is_open) for position in range(count)]
        edges = [_edge(position, 0, count, position) for position in range(count)]
        ports = tuple([layer.outputs[0].changed(id=str(position)) for position, layer in enumerate(layers)])
        unknown = [Port(id=str(count + position), precision=None) for position in range(case.outputs)]
        layers.append(
            Layer(
                id=str(count),
                name="layer",
                type=case.type,
                version=f"opset{case.opset}",
                data=case.attributes,
                inputs=ports,
                outputs=tuple(unknown),
            )
        )
        for position in range(case.outputs):
            id = count + 1 + position
            port = Port(id="0", precision=None)
            layers.append(Layer(id=str(id), name=f"result{position}", type="Result", version="opset1", inputs=(port,)))
            edges.append(_edge(count, count + position, id, 0))
        self.document = Document(name="case", version=11, layers=tuple(layers), edges=tuple(edges))
        self.weights = Weights.of_bytes(bytes(self._stored))

    def _source(self, case: OperatorCase, position: int, is_open: bool) -> Layer:
        array = case.inputs[position]
        element_type = ElementType.of(array)
        is_constant = position in case.constants
        dims = tuple([-1] * array.ndim) if is_open and not is_constant else array.shape
        shape = str(Shape.of_rank(array.ndim))[1:-1] if is_open else ",".join(map(str, array.shape))
        port = Port(id="0", precision=element_type.precision, dims=dims)
        if not is_constant:
            data = {"shape": shape, "element_type": element_type.name}
            return Layer(
                id=str(position),
                name=f"input{position}",
                type="Parameter",
                version="opset1",
                data=data,
                outputs=(port,),
            )
        content = encode(array)
        data = {
            "element_type": element_type.name,
            "shape": ",".join(map(str, array.shape)),
            "offset": str(len(self._stored)),
        }
        data["size"] = str(max(len(content), 1))
        self._stored += content or b"\0"
        return Layer(
            id=str(position), name=f"constant{position}", type="Const", version="opset1", data=data, outputs=(port,)
        )


def _edge(source: int, source_port: int, target: int, target_port: int) -> Edge:
    return Edge(from_layer=str(source), from_port=str(source_port), to_layer=str(target), to_port=str(target_port))


def pack_cases(cases: Iterable[OperatorCase]) -> bytes:
    """Return cases as the bytes of a file before compression; equal arrays are stored once."""
    rows = []
    stored = bytearray()
    places: dict[bytes, int] = {}
    for case in cases:
        inputs = []
        for array in case.inputs:
            content = encode(array)
            if content not in places:
                places[content] = len(stored)
                stored += content
            inputs.append([ElementType.of(array).name, list(array.shape), places[content], len(content)])
        rows.append(
            [
                case.type,
                case.opset,
                inputs,
                case.attributes,
                list(case.constants),
                case.outputs,
                case.rtol,
                case.atol,
                case.note,
                case.is_plugin_right,
                case.may_be_open,
            ]
        )
    index = json.dumps(rows, separators=(",", ":")).encode()
    return len(index).to_bytes(_LENGTH, "little") + index + bytes(stored)


def unpack_cases(content: bytes, patterns: Sequence[str] = ()) -> Iterator[OperatorCase]:
    """Yield the cases in these bytes whose types match one of the patterns; all without patterns."""
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    stored = np.frombuffer(content, np.uint8, offset=start)
    for type, opset, inputs, attributes, constants, *others in json.loads(content[_LENGTH:start]):
        if patterns and not _matches(type, patterns):
            continue
        arrays = [
            decode(ElementType[type_name], tuple(shape), stored[offset : offset + size])
            for type_name, shape, offset, size in inputs
        ]
        yield OperatorCase(type, opset, tuple(arrays), attributes, tuple(constants), *others)


def _matches(type: str, patterns: Sequence[str]) -> bool:
    """Return True if a type matches a pattern, ignoring case."""
    return any(fnmatchcase(type.lower(), pattern.lower()) for pattern in patterns)


def cases_of(types: Sequence[str] = ()) -> list[OperatorCase]:
    """Return the cases of the package whose types match one of these patterns (`Gather*`); all without patterns.

    Raises:
        EvaluationError: For a pattern that no type matches.
    """
    available = case_types()
    for pattern in types:
        if not any(_matches(type, [pattern]) for type in available):
            message = f"no operator in the tables matches {pattern!r}"
            raise EvaluationError(message, code=Code.unknown_input, hint=suggested(pattern, available))
    return list(unpack_cases(_content(), types))


@lru_cache(maxsize=1)
def case_types() -> list[str]:
    """Return the types of operators in the tables."""
    content = _content()
    rows: list[list[Any]] = json.loads(content[_LENGTH : _LENGTH + int.from_bytes(content[:_LENGTH], "little")])
    return sorted({row[0] for row in rows})


@lru_cache(maxsize=1)
def _content() -> bytes:
    return lzma.decompress(files(__package__).joinpath(_FILE).read_bytes())
