"""Models: graphs with inputs, outputs and the type of every value."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, IRError, ReportFault, WeightsError, raise_error
from ir_exec.graph import Graph, Node, Value, build_graph
from ir_exec.graph.constants import Constants
from ir_exec.graph.sources import find_sources
from ir_exec.hub_cache import resolve_model
from ir_exec.infer import Types, explained_by_weights, infer_types, inferred_or_declared, redeclare
from ir_exec.ir import Document, Weights
from ir_exec.ir.files import ModelFiles, WeightsSource, opened_weights, read_files
from ir_exec.ir.files import Source as StoredSource
from ir_exec.ir.pairing import WeightsDigest
from ir_exec.ir.sources import CodeLocation
from ir_exec.notebook import with_page
from ir_exec.ops.infrastructure.values import Const
from ir_exec.ports import (
    ModelPort,
    PortKey,
    ShapeLike,
    ShapesByPort,
    as_shape,
    chosen_port,
    find_port,
    numbered,
    ports_of,
)
from ir_exec.readers import (
    OLDER_IR,
    ONNX_WRITER,
    OPENVINO,
    OPENVINO_WRITER,
    ModelObject,
    call_writer,
    class_of_object,
    reader_of,
)
from ir_exec.report.html import html_table
from ir_exec.report.numbers import format_count
from ir_exec.report.text import align_cells, format_remainder
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = [
    "Aspect",
    "Loaded",
    "Model",
    "ModelPort",
    "PortKey",
    "Runner",
    "ShapeLike",
    "ShapesByPort",
    "Source",
    "Specialized",
    "Specializer",
    "WeightsSource",
    "as_shape",
    "chosen_port",
    "count_constant_bytes",
    "describe",
    "described_in_html",
    "find_port",
    "load",
    "numbered",
    "opened_weights",
    "ports_of",
    "read_model",
]

Source: TypeAlias = StoredSource | ModelObject
"""A path, the content of a file, or a model of another package in memory."""

Aspect: TypeAlias = Literal["rank", "shape", "value"]

MOST_SHOWN = 20
"""Maximum number of inputs, and of outputs, that are shown: decoders have hundreds."""


class Loaded(NamedTuple):
    """The readable content of a file: the document, the graph, and the weights if there are any.

    Attributes:
        document: The document, converted to version 11.
        source: The document in the version of the file.
        left_out: The number of nodes of a file of another format that IR cannot express, and of nodes that depend on
            them.
        stand_ins: The ids of Parameters that replace values of unreadable nodes; the file does not have them.
        digest: The digest of the .bin in the .xml, for weights from the .bin next to it.
        lowered_from: The path of the file of another format; None for IR, and for content in memory.
    """

    document: Document
    graph: Graph
    weights: Weights | None
    source: Document
    left_out: int = 0
    stand_ins: frozenset[str] = frozenset()
    digest: WeightsDigest | None = None
    lowered_from: str | None = None

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return the content of a model that was read from a file of another format."""
        return cls(
            model.document,
            model.graph,
            model.weights,
            model.document,
            model.left_out,
            model.stand_ins,
            lowered_from=model.lowered_from,
        )

    @property
    def version(self) -> int:
        """The IR version of the file."""
        return self.source.version


class Specialized(NamedTuple):
    """A model that is valid for the inputs that it was specialized for, and for similar inputs.

    Attributes:
        depends: For each relevant input of the original model, by its name, the aspect that similar inputs share:
            "rank", "shape" (of a list: the shapes of its elements) or "value".
        arrays: Converts the inputs of a call of the original model to the inputs of `model`.
    """

    model: Model
    depends: tuple[tuple[str, Aspect], ...]
    arrays: Callable[[Mapping[str, Any]], list[Array]]


Runner: TypeAlias = "Callable[[Model, Mapping[str, Array]], Sequence[Array]]"
"""A function that runs a model on inputs by name, and returns the outputs in order."""


class Specializer(Protocol):
    """Conversions of a model for the inputs of calls. Readers implement it, and only the runtime uses it.

    Attributes:
        has_general_model: True if the model itself fits all inputs that do not contradict its assumptions. A
            specialized model makes no assumptions.
    """

    @property
    def has_general_model(self) -> bool: ...

    def bind(self, inputs: Any) -> dict[str, Any]:
        """Return the argument of a call for each input, by name: an array, a list, or None for an empty optional.

        Raises:
            EvaluationError: For unknown or missing inputs.
            ElementTypeError: For inputs with another element type.
            ShapeError: For inputs with another shape.
        """

    def specialize(self, bound: Mapping[str, Any], run: Runner | None = None) -> Specialized:
        """Return the complete model for these inputs.

        Args:
            bound: Arrays by input name; a type is sufficient in place of an array whose values are not needed.
            run: Computes the required values, within limits of the caller.

        Raises:
            NotKnownError: If a required value does not follow from the inputs.
        """


class Model:
    """A model with the inferred type of every value; `read_model` returns one.

    Models can be copied and pickled. A pickle refers to weights by path and digest, and contains weights that are not
    from a file. Unpickling imports the modules of the user's operators, and raises WeightsError if the .bin has
    changed.

    Attributes:
        original: The ONNX graph that the model was lowered from, for engines; None for other models, and for copies
            from a pickle.
    """

    def __init__(self, loaded: Loaded, types: Types | None = None) -> None:
        self.document = loaded.document
        self.graph = loaded.graph
        self.weights = loaded.weights
        self.left_out = loaded.left_out
        self.stand_ins = loaded.stand_ins
        self.lowered_from = loaded.lowered_from
        self.original: Any = None
        self.given: dict[Value, TensorType] = {}
        self.types: Types = self._infer() if types is None else types

    def _infer(self) -> Types:
        try:
            return infer_types(self.graph, weights=self.weights)
        except IRError as error:
            raise explained_by_weights(error, self.graph, self.weights) from None

    @property
    def name(self) -> str:
        """The name of the model in the file."""
        return self.graph.name

    @property
    def inputs(self) -> list[ModelPort]:
        """The inputs in the order of the file."""
        return ports_of(((node, node.outputs[0]) for node in self.graph.parameters), self.types)

    @property
    def outputs(self) -> list[ModelPort]:
        """The outputs in the order of the file."""
        return ports_of(((node, node.values_in[0]) for node in self.graph.results), self.types)

    @cached_property
    def constants(self) -> Mapping[str, Array]:
        """The constants by layer name (`loop/body/name` in bodies); each is read on access."""
        return Constants(self.graph, self.weights)

    @property
    def sources(self) -> dict[Node, CodeLocation]:
        """The line of Python of each node, also of nodes in bodies, where the file or a neighbor contains one."""
        return find_sources(self.graph, self.document)

    def input(self, key: PortKey | None = None) -> ModelPort:
        """Return the input with this name or position, or the only input.

        Raises:
            EvaluationError: IR705 if there is no such input.
        """
        return chosen_port(self.inputs, key, "input")

    @property
    def output_values(self) -> list[Value | None]:
        """The values of `outputs`, in their order; None for an output that only the inputs of a call determine."""
        return [node.values_in[0] for node in self.graph.results]

    def output(self, key: PortKey | None = None) -> ModelPort:
        """Return the output with this name or position, or the only output.

        Raises:
            EvaluationError: IR705 if there is no such output.
        """
        return chosen_port(self.outputs, key, "output")

    def reshape(self, shapes: ShapesByPort | ShapeLike) -> Self:
        """Set the shapes of inputs, infer all types again, and return the model itself.

        Args:
            shapes: A mapping from inputs, by name, position or port, to shapes (`"1..8,?,64"`, `[1, None, (1, 512)]`),
                or a single shape for the only input.

        Raises:
            ShapeError: If a layer does not accept the new shapes.
            EvaluationError: For an unknown input; the model is unchanged then.
        """
        if isinstance(shapes, Mapping):
            requested = {self._input(key): as_shape(shape) for key, shape in shapes.items()}
        elif len(self.graph.parameters) == 1:
            requested = {self.graph.parameters[0].outputs[0]: as_shape(shapes)}
        else:
            count = len(self.graph.parameters)
            raise EvaluationError(
                f"one shape is given for {count} inputs",
                expected="a mapping from inputs to shapes",
                code=Code.unknown_input,
            )
        input_types = dict(self.given)
        for value, shape in requested.items():
            input_types[value] = TensorType(self.types[value.number].element_type, shape)
        self.types = infer_types(self.graph, weights=self.weights, overrides=input_types)
        self.given = input_types
        return self

    @property
    def specializer(self) -> Specializer | None:
        """The conversions for the inputs of calls; None for a model that fits all inputs."""
        return None

    @property
    def is_partial(self) -> bool:
        """Return True if some layers depend on the inputs of a call, which is possible for ONNX files."""
        return self.specializer is not None and not self.specializer.has_general_model

    @property
    def list_inputs(self) -> list[str]:
        """The names of the inputs that are lists or optionals, which is possible for ONNX files."""
        return []

    def specialize_for(self, inputs: Any) -> Model:
        """Return the complete model for the inputs of a call, or the model itself if it is complete for all inputs.

        The result is valid for inputs with the same shapes and values.

        Args:
            inputs: As for a call of a compiled model.

        Raises:
            IRError: The errors of the call.
        """
        return self

    def specialised(self, inputs: Any) -> Model:
        """Return `specialize_for(inputs)`, by its former name."""
        warnings.warn("Model.specialised is called specialize_for now", DeprecationWarning, stacklevel=2)
        return self.specialize_for(inputs)

    def determine(self, shapes: ShapesByPort) -> Self:
        """Return the model itself, after a `reshape` if some layers depend on the shapes of inputs.

        Raises:
            IRError: The errors of `reshape`.
        """
        return self.reshape(shapes) if self.is_partial and shapes else self

    def require_complete(self) -> None:
        """Raise NotKnownError with the names of the operators if some layers depend on the inputs of a call."""

    def save(self, path: str | os.PathLike[str], *, compress_to_fp16: bool = False) -> None:
        """Write the model as IR version 11: the .xml at `path` and the .bin next to it.

        After a `reshape` the inputs have the new shapes, and every port declares the type that is inferred from them.

        Args:
            path: The path of the .xml.
            compress_to_fp16: Store f32 and f64 weights as f16, with a Convert to their type, unless an element is too
                large for f16.

        Raises:
            GraphError: IR108 if every output is an empty list of ONNX.
            IRError: IR009 if the path cannot be written.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise IRError(
                "the path is of type", actual=type(path).__name__, expected="a path to write to", code=Code.unwritable
            )
        # Reading does not import the modules of the writer.
        from ir_exec.ir.writer import write_document

        document = self.current_document()
        if not self.graph.results and any(layer.is_result for layer in document.layers):
            raise GraphError(
                "every output is an empty list", expected="a tensor", reason=": IR has no lists", code=Code.no_result
            )
        if not compress_to_fp16 or self.weights is None:
            write_document(document, self.weights, path)
            return
        from ir_exec.ir.halving import with_f16_weights

        write_document(*with_f16_weights(document, self.weights), path)

    def to_onnx(self, *, opset: int | None = None, target: str | None = None, partial: bool = False) -> Any:
        """Return the model as an `onnx.ModelProto` that contains every constant.

        `ir_exec.onnx.write_model` writes files without holding all constants in memory.

        Args:
            opset: The version of ONNX's standard domain, by default the newest that the oldest supported onnxruntime
                reads.
            target: "onnxruntime" to use the operators of onnxruntime's own domain as well.
            partial: Convert layers that ONNX cannot express to nodes of a custom domain.

        Raises:
            UnsupportedError: With the names of all layers that ONNX cannot express, or if onnx is not installed.
        """
        options = {} if opset is None else {"opset": opset}
        return call_writer(ONNX_WRITER, self, target=target, partial=partial, **options)

    def to_openvino(self) -> Any:
        """Return the model as an `openvino.Model`, without writing a file; it has its own copy of the constants.

        Raises:
            UnsupportedError: If OpenVINO is not installed or cannot read the model.
            WeightsError: If the weights are missing or too short.
        """
        return call_writer(OPENVINO_WRITER, self)

    def content(self) -> Iterator[bytes | memoryview]:
        """Yield the bytes that determine the model apart from new shapes: equal for equal models."""
        yield self.document.changed(path=None).model_dump_json().encode("utf-8", "surrogatepass")
        if self.weights is not None:
            yield self.weights.slice(0, self.weights.size)

    def with_weights_inside(self) -> Self:
        """Return a copy of the model whose pickle contains the weights, instead of referring to files."""
        model = copy(self)
        if (weights := model.weights) is not None:
            model.weights = Weights.of_bytes(bytes(weights.slice(0, weights.size)), order=weights.order)
        return model

    def all_types(self) -> dict[Value, TensorType]:
        """Return the type of every value of the graph and of its bodies; bodies that never run are omitted."""
        seen: dict[Value, TensorType] = {}
        infer_types(self.graph, weights=self.weights, overrides=self.given, seen=seen)
        return seen

    def current_document(self) -> Document:
        """Return the document; after a `reshape` it declares the new shapes and the types inferred from them."""
        if not self.given:
            return self.document
        before: dict[Value, TensorType] = {}
        infer_types(self.graph, weights=self.weights, seen=before)
        return redeclare(self.document, self.graph, before, self.all_types())

    def __repr__(self) -> str:
        return describe(type(self).__name__, self)

    def _repr_html_(self) -> str:
        return with_page(described_in_html(type(self).__name__, self), self)

    def __copy__(self) -> Self:
        # Reshaping replaces the types; it does not modify objects that copies share.
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # The document and the weights are immutable.
        function, arguments = self.__reduce__()
        copied: Self = function(*arguments)
        return copied

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # Nodes refer to their neighbors: pickling the graph would recurse to the depth of the model.
        inputs = [node.outputs[0] for node in self.graph.parameters]
        shapes = {index: self.given[value].shape for index, value in enumerate(inputs) if value in self.given}
        modules = {type(node.op).__module__ for node in self.graph.all_nodes() if node.op is not None}
        users = sorted(module for module in modules if not module.startswith("ir_exec."))
        return _unpickle, (type(self), self.document, self.weights, shapes, users, self.lowered_from)

    def _input(self, key: PortKey) -> Value:
        return self.graph.parameters[find_port(self.inputs, key)].outputs[0]


def describe(title: str, model: Model) -> str:
    """Return counts, and a line for each input and output: `input  image  f32[1,3,224,224]`."""
    rows = _shown_ports(model)
    return "\n".join([_counts(title, model), *(f"  {line}" for line in align_cells(rows))])


def described_in_html(title: str, model: Model) -> str:
    """Return counts, inputs and outputs of a model as an HTML table for notebooks."""
    return html_table(_counts(title, model), ("", "name", "type"), _shown_ports(model))


def count_constant_bytes(graph: Graph) -> int:
    """Return the stored bytes of all constants, in bodies too; constants that share bytes count once.

    The source of constants may be larger: that of a built model has gaps.
    """
    constants = [node.op for node in graph.all_nodes() if isinstance(node.op, Const)]
    return sum({(constant.offset, constant.size): constant.size for constant in constants}.values())


def _counts(title: str, model: Model) -> str:
    nodes = list(model.graph.all_nodes())
    count = sum(isinstance(node.op, Const) for node in nodes)
    missing = sum(node.op is None for node in nodes)
    parts = [
        format_count(len(nodes), "layer", ","),
        f"{format_count(count, 'constant', ',')} of {format_count(count_constant_bytes(model.graph), 'byte', ',')}",
    ]
    parts += [f"{format_count(missing, 'layer', ',')} without an operator"] if missing else []
    return f"{title} {model.name!r}: {', '.join(parts)}"


def _shown_ports(model: Model) -> list[tuple[str, str, str]]:
    shown: list[tuple[str, str, str]] = []
    for end, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports[:MOST_SHOWN]:
            name = port.name if port.name.isprintable() else repr(port.name)
            shown.append((end, name, f"{port.element_type}{port.shape}"))
        shown += [(end, line, "") for line in format_remainder(len(ports), MOST_SHOWN)]
    return shown


def _unpickle(
    cls: type[Model],
    document: Document,
    weights: Weights | None,
    shapes: Mapping[str | int, ShapeLike],
    modules: Sequence[str],
    lowered_from: str | None = None,
) -> Model:
    for module in modules:
        # The import registers the operators of the module.
        import_module(module)
    graph = build_graph(document, weights, report=raise_error)
    model = cls(Loaded(document, graph, weights, document, lowered_from=lowered_from))
    return model.reshape(shapes) if shapes else model


def read_model(source: Source, weights: WeightsSource | None = None) -> Model:
    """Read a model from an .xml or .onnx file, or from a model in memory, and infer the type of every value.

    Operators that ir_exec does not support are not an error here.

    Args:
        source: A path, a repository in the cache of Hugging Face on this machine (`org/name` or `org/name/file`), the
            content of the file as bytes, or an `onnx.ModelProto`, `onnx_ir.Model`,
            `torch.onnx.ONNXProgram` or `openvino.Model`. Constants of an `openvino.Model` are not copied.
        weights: The .bin as a path or bytes, by default the file next to the .xml.

    Raises:
        IRError: The first IRError that is found; `check_model` reports all of them.
    """
    source = resolve_model(source)  # type: ignore[assignment]  # a path, or the source itself
    reader = reader_of(source)
    if reader is not None:
        model: Model = reader.read(source, report=raise_error)
        return model
    loaded = _load_ir(source, weights, raise_error)
    assert loaded is not None, "a reader that raises leaves nothing unread"
    return Model(loaded)


def load(
    source: Source,
    weights: WeightsSource | None = None,
    *,
    report: ReportFault = raise_error,
    shapes: Mapping[str, Shape] | None = None,
) -> Loaded | None:
    """Read the document, weights and graph of a file, and report every fault. None if no document can be read.

    Args:
        shapes: The shapes of inputs by name, for files of other formats: nodes that depend on them can be read then.
    """
    source = resolve_model(source)  # type: ignore[assignment]  # a path, or the source itself
    reader = reader_of(source)
    if reader is not None:
        model: Model | None = reader.read(source, report=report, shapes=shapes)
        return None if model is None else Loaded.of(model)
    return _load_ir(source, weights, report)


def _load_ir(source: Source, weights: WeightsSource | None, report: ReportFault) -> Loaded | None:
    """Load IR: a source for which there is no other reader."""
    files = _read_ir(source, weights, report)
    if files.older is not None:
        markup, path = files.older
        loaded: Loaded | None = OLDER_IR.read(markup, path=path, weights=weights, report=report)
        return loaded
    document, opened = files.document, files.weights
    if document is None:
        return None
    source_document = document
    if document.version < 11:
        from ir_exec.ir.version_10 import upgrade, with_outputs_converted  # imported on demand: few files are so old

        document, opened = upgrade(document, opened, report)
        document = with_outputs_converted(document, _output_types(document, opened))
    graph = build_graph(document, opened, report=report)
    return Loaded(document, graph, opened, source_document, digest=files.digest)


def _read_ir(source: Source, weights: WeightsSource | None, report: ReportFault) -> ModelFiles:
    """Read the document and weights of a file, or of a model of OpenVINO in memory."""
    if class_of_object(source) not in OPENVINO.classes:
        return read_files(source, weights, report)  # type: ignore[arg-type]  # other objects have a reader, or no path
    if weights is not None:
        report(WeightsError("weights are given for a model in memory", expected="None", code=Code.weights_missing))
    files: ModelFiles = OPENVINO.read(source, report=report)
    return files


def _output_types(document: Document, weights: Weights | None) -> dict[str, ElementType]:
    """The inferred element types of the Results' values, by Result id; faults are reported by later passes."""
    graph = build_graph(document, weights, report=lambda fault: None)
    types = infer_types(graph, weights=weights, settle=inferred_or_declared)
    return {node.id: types[value.number].element_type for node in graph.results for value in node.values_in}
