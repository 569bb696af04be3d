"""A network that was read: its inputs, its outputs, and the type of every value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

from ir_exec.collector import paused_collector
from ir_exec.errors import EvaluationError, Location, Report, ShapeError, WeightsError, raise_error
from ir_exec.graph import Graph, Node, Value, build_graph
from ir_exec.infer import Types, infer_types
from ir_exec.ir import BitOrder, Document, Weights, default_weights_path, read_document
from ir_exec.types import Dim, ElementType, Shape, TensorType

__all__ = ["Loaded", "Model", "ModelPort", "ShapeLike", "Source", "WeightsSource", "as_shape", "load", "read_model"]

Source: TypeAlias = str | os.PathLike[str] | bytes
WeightsSource: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview
ShapeLike: TypeAlias = str | Shape | Sequence[int | tuple[int, int] | Dim | None]


class ModelPort(NamedTuple):
    """An input or output of a network.

    name: the layer's name where that is one of its tensor names, else the first of them, else the name of the layer
        that computes it.
    names: every name by which it can be asked for.
    """

    name: str
    names: frozenset[str]
    element_type: ElementType
    shape: Shape

    def __str__(self) -> str:
        return f"{self.name} {self.element_type}{self.shape}"


class Loaded(NamedTuple):
    """A file as far as it could be read: the document, the graph, and the weights if there are any.

    version: the IR version of the file; the document says the same in version 11.
    """

    document: Document
    graph: Graph
    weights: Weights | None
    version: int


class Model:
    """A network with the type of every value inferred; `read_model` makes one."""

    def __init__(self, loaded: Loaded) -> None:
        self.document = loaded.document
        self.graph = loaded.graph
        self.weights = loaded.weights
        self.given: dict[Value, TensorType] = {}
        self.types: Types = infer_types(self.graph, weights=self.weights)

    @property
    def name(self) -> str:
        """The name of the network in the file."""
        return self.graph.name

    @property
    def inputs(self) -> list[ModelPort]:
        """The inputs in the order of the file."""
        taken: set[str] = set()
        return [self._port(node, node.outputs[0], taken) for node in self.graph.parameters]

    @property
    def outputs(self) -> list[ModelPort]:
        """The outputs in the order of the file."""
        return self.ports_of(self.graph.results)

    def ports_of(self, results: Sequence[Node]) -> list[ModelPort]:
        """The outputs that these Results stand for."""
        taken: set[str] = set()
        return [self._port(node, node.values_in[0], taken) for node in results]

    def reshape(self, shapes: Mapping[str | int, ShapeLike] | ShapeLike) -> Self:
        """Give inputs new shapes, infer every type anew, and return the model itself.

        `shapes` goes from names or positions of inputs to shapes (`"1..8,?,64"`, `[1, None, (1, 512)]`); a shape alone
        is that of the only input. Raises ShapeError where a layer cannot take the new shapes: the model then stays as
        it was; and EvaluationError where there is no such input.
        """
        if isinstance(shapes, Mapping):
            wanted = {self._input(key): as_shape(shape) for key, shape in shapes.items()}
        elif len(self.graph.parameters) == 1:
            wanted = {self.graph.parameters[0].outputs[0]: as_shape(shapes)}
        else:
            count = len(self.graph.parameters)
            raise EvaluationError(f"one shape for {count} inputs: say which input it is for", code="IR705")
        given = dict(self.given)
        for value, shape in wanted.items():
            given[value] = TensorType(self.types[value.number].element_type, shape)
        self.types = infer_types(self.graph, weights=self.weights, given=given)
        self.given = given
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network as IR version 11: the .xml at `path` and the .bin beside it."""
        # The writer needs modules that nobody who reads does.
        from ir_exec.ir.writer import write_document

        write_document(self.document, self.weights, path)

    def _input(self, key: str | int) -> Value:
        if isinstance(key, int):
            if not 0 <= key < len(self.graph.parameters):
                count = len(self.graph.parameters)
                raise EvaluationError(f"there is no input {key}; the network has {count}", code="IR705")
            return self.graph.parameters[key].outputs[0]
        for node, port in zip(self.graph.parameters, self.inputs, strict=True):
            if key == port.name or key in port.names:
                return node.outputs[0]
        names = ", ".join(port.name for port in self.inputs)
        raise EvaluationError(f"there is no input {key!r}; the inputs are: {names}", code="IR705")

    def _port(self, node: Node, value: Value, taken: set[str]) -> ModelPort:
        """Outputs of one value share its names; each keeps one by which no other goes."""
        tensor_names = (*node.layer.output_names, *value.names)
        choices = (*([node.name] if node.name in tensor_names else []), *tensor_names, value.name, node.name)
        name = next((name for name in choices if name not in taken), f"{node.name}#{node.id}")
        taken.add(name)
        type = self.types[value.number]
        return ModelPort(name, frozenset((*choices, name)), type.element_type, type.shape)


@paused_collector()
def read_model(source: Source, *, weights: WeightsSource | None = None) -> Model:
    """Read a network from an .xml, by its path or as bytes, and infer the type of every value.

    `weights` is another .bin than the one beside the .xml, by its path or as bytes. Raises the first IRError that is
    found; `check_model` finds all of them. Operators that ir_exec does not have are no error here.
    """
    loaded = load(source, weights)
    assert loaded is not None, "a reader that raises leaves nothing unread"
    return Model(loaded)


def load(source: Source, weights: WeightsSource | None = None, *, report: Report = raise_error) -> Loaded | None:
    """Document, weights and graph of a file; every fault is reported. None where there is nothing to go on with."""
    document = read_document(source, report=report)
    if document is None:
        return None
    opened = _open_weights(document, weights, report)
    version = document.version
    if version < 11:
        from ir_exec.graph.legacy import upgrade  # few files are so old

        document, opened = upgrade(document, opened, report)
    return Loaded(document, build_graph(document, opened, report=report), opened, version)


def _open_weights(document: Document, weights: WeightsSource | None, report: Report) -> Weights | None:
    order = BitOrder.of(document)
    if isinstance(weights, (bytes, bytearray, memoryview)):
        return Weights.of_bytes(weights, order=order)
    if weights is None and document.path is None:
        return None
    path = default_weights_path(document.path or "") if weights is None else os.fspath(weights)
    if weights is None and not any(layer.type.lower() in ("const", "constant") for layer in document.all_layers()):
        return Weights.of_bytes(b"") if not os.path.exists(path) else Weights.open(path, order=order)
    try:
        return Weights.open(path, order=order)
    except WeightsError as error:
        report(error.located(Location(path=path)))
        return None


def as_shape(shape: ShapeLike) -> Shape:
    """A shape in any of the forms that a caller may give it; ShapeError where it is none."""
    if isinstance(shape, Shape):
        return shape
    try:
        return Shape.parse(shape) if isinstance(shape, str) else Shape(shape)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"{shape!r} is not a shape: {error}") from None
