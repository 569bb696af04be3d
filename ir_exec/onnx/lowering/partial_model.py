"""ONNX models with nodes that are lowered for the inputs of a call, because IR has no attribute for their needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, Location, NotKnownError, WeightsError
from ir_exec.graph import Value
from ir_exec.model import (
    Aspect,
    Loaded,
    Model,
    ModelPort,
    Runner,
    ShapeLike,
    ShapesByPort,
    Specialized,
    as_shape,
    find_port,
)
from ir_exec.onnx.lowering.demands import Demands
from ir_exec.onnx.lowering.models import Converted, Given, Layout, convert_model, elements_of
from ir_exec.onnx.lowering.registry import modules_of_users
from ir_exec.onnx.reading.tensors import tensor_type_of
from ir_exec.types import Array, Dim, Shape, TensorType

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto

    from ir_exec.onnx.lowering.graphs import Arrays

__all__ = ["OnnxFile", "OnnxModel", "model_of", "run_once"]


class OnnxFile(NamedTuple):
    """A message, the folder of its external data, and the path of its file, each if available."""

    proto: ModelProto
    folder: str | None = None
    path: str | None = None


class OnnxModel(Model):
    """An ONNX model whose nodes need shapes or values of inputs that the file does not declare.

    Its graph has Parameters in place of values that are not yet known. `reshape` to shapes that determine all nodes
    completes it, and so does `specialize_for` for the inputs of a call. A complete model may make
    assumptions about the inputs.

    Args:
        found: The result of its conversion, if the caller has it.
    """

    def __init__(
        self,
        file: OnnxFile,
        shapes: Mapping[str, Shape] | None = None,
        converted: Converted | NotKnownError | None = None,
    ) -> None:
        self._file = file
        self._shapes = dict(shapes or {})
        self._decoded: Arrays = {}
        self._is_by_shapes = False
        self._missing = converted if isinstance(converted, NotKnownError) else None
        if self._missing is None:
            try:
                self._take(converted if isinstance(converted, Converted) else self._convert(self._requested_types()))
                return
            except NotKnownError as error:
                self._missing = error
        try:
            lenient = convert_model(
                file.proto, folder=file.folder, given=self._requested_types(), report=_ignore, is_lenient=True
            )
        except IRError:
            raise self._missing from None
        self._take(lenient)

    def _take(self, converted: Converted) -> None:
        model = converted.model
        loaded = Loaded(
            model.document,
            model.graph,
            model.weights,
            model.document,
            model.left_out,
            model.stand_ins,
            lowered_from=self._file.path,
        )
        super().__init__(loaded, model.types)
        self.original = model.original
        self._places = converted.outputs
        self._has_assumptions = self._is_by_shapes = converted.has_assumptions and not self.is_partial
        if self.is_partial:
            # Inputs and outputs are those of the file.
            graph, ends = model.graph, max(_flat(list(converted.outputs.values())), default=-1) + 1
            graph.parameters = graph.parameters[: len(converted.inputs)]
            graph.results = graph.results[:ends]
            self._of_file = graph

    def _convert(self, input_types: Mapping[str, Given], demands: Demands | None = None) -> Converted:
        proto, folder, path = self._file
        try:
            return convert_model(proto, folder=folder, given=input_types, demands=demands, arrays=self._decoded)
        except IRError as error:
            raise error.located(Location(path=path)) from error.__cause__

    def _requested_types(self) -> dict[str, TensorType]:
        types = self._declared_types()
        return {name: TensorType(tensor_type_of(types[name]).element_type, to) for name, to in self._shapes.items()}

    def _declared_types(self) -> dict[str, TypeProto]:
        """The types of the inputs, in the order of the file."""
        graph = self._file.proto.graph
        initialized = {tensor.name for tensor in graph.initializer}
        initialized |= {sparse.values.name for sparse in graph.sparse_initializer}
        return {declared.name: declared.type for declared in graph.input if declared.name not in initialized}

    @property
    def specializer(self) -> OnnxModel | None:
        return self if self.is_partial or self._has_assumptions else None

    @property
    def has_general_model(self) -> bool:
        return not self.is_partial

    @property
    def list_inputs(self) -> list[str]:
        declared = self._declared_types().items() if self.is_partial else ()
        return [name for name, type in declared if type.WhichOneof("value") != "tensor_type"]

    @property
    def is_partial(self) -> bool:
        return self._missing is not None

    @property
    def outputs(self) -> list[ModelPort]:
        """The outputs in the order of the file; an output that is not yet known has its declared type."""
        lowered_ports = super().outputs
        if not self.is_partial or self.graph is not self._of_file:
            return lowered_ports
        ports: list[ModelPort] = []
        for declared in self._file.proto.graph.output:
            places = _flat([self._places.get(declared.name)])
            ports += [lowered_ports[position] for position in places] or [
                _undetermined_port(declared.name, declared.type)
            ]
        return ports

    @property
    def output_values(self) -> list[Value | None]:
        lowered_values = super().output_values
        if not self.is_partial or self.graph is not self._of_file:
            return lowered_values
        values: list[Value | None] = []
        for declared in self._file.proto.graph.output:
            places = _flat([self._places.get(declared.name)])
            values += [lowered_values[position] for position in places] or [None]
        return values

    def reshape(self, shapes: ShapesByPort | ShapeLike) -> Self:
        """Set new input shapes, convert the file again, and return the model itself; complete if the shapes suffice."""
        if not isinstance(shapes, Mapping):
            self.input()
            shapes = {0: shapes}
        ports = self.inputs
        requested = {ports[find_port(ports, key)].name: as_shape(shape) for key, shape in shapes.items()}
        reshaped = type(self)(self._file, {**self._shapes, **requested})
        vars(self).clear()
        vars(self).update(vars(reshaped))
        return self

    def require_complete(self) -> None:
        if self._missing is not None:
            raise self._missing

    def save(self, path: Any, *, compress_to_fp16: bool = False) -> None:
        """Write the model as `Model.save` does.

        Raises:
            NotKnownError: If the model is partial.
        """
        self.require_complete()
        super().save(path, compress_to_fp16=compress_to_fp16)

    def specialize_for(self, inputs: Any) -> Model:
        if not self.is_partial:
            return self
        return self.specialize(self.bind(inputs)).model

    def bind(self, inputs: Any) -> dict[str, Any]:
        from ir_exec.runtime.arguments import bind_values  # not needed for reading a file

        types = self._declared_types()
        ports = self.inputs
        if isinstance(inputs, Mapping):
            inputs = _collect_lists(inputs, types)
        values = bind_values(inputs, ports)
        return {port.name: _bind(value, port, types[port.name]) for value, port in zip(values, ports, strict=True)}

    def specialize(self, bound: Mapping[str, Any], run: Runner | None = None) -> Specialized:
        arrays = dict(_arrays(bound))
        for has_shapes in (True,) if self._is_by_shapes else (False, True):
            demands = Demands(arrays, run or run_once, has_shapes=has_shapes)
            try:
                converted = self._convert(self._types_of_call(bound, has_shapes), demands)
            except NotKnownError as error:
                if has_shapes:
                    raise error.changed(hint=_HINT if len(arrays) >= len(bound) else error.hint) from None
                continue
            # If values alone were insufficient, they usually are for other inputs too.
            self._is_by_shapes = has_shapes
            depends = self._depends(bound, has_shapes, demands.used)
            converted.model.lowered_from = self._file.path
            return Specialized(converted.model, depends, partial(_order_by_parameter, converted.inputs))
        raise AssertionError("the last attempt raises what it lacks")

    def _types_of_call(self, bound: Mapping[str, Any], has_shapes: bool) -> dict[str, Given]:
        """The types of the inputs for a conversion: from the file if they have a rank, or from the call."""
        ports = {port.name: port for port in self.inputs}
        types: dict[str, Given] = {}
        for name, value in bound.items():
            exact = _type_of(value)
            if has_shapes or not isinstance(exact, TensorType):
                types[name] = exact
            elif ports[name].shape.rank is None:
                types[name] = TensorType(exact.element_type, Shape([Dim.any()] * len(exact.shape.static)))
            else:
                types[name] = TensorType(exact.element_type, ports[name].shape)
        return types

    def _depends(self, bound: Mapping[str, Any], has_shapes: bool, used: set[str]) -> tuple[tuple[str, Aspect], ...]:
        aspects: list[tuple[str, Aspect]] = []
        for port in self.inputs:
            is_tensor = isinstance(_type_of(bound[port.name]), TensorType)
            if not used.isdisjoint(dict(_arrays(bound[port.name], port.name))):
                aspects.append((port.name, "value"))
            elif has_shapes or not is_tensor:
                aspects.append((port.name, "shape"))
            elif port.shape.rank is None:
                aspects.append((port.name, "rank"))
        return tuple(aspects)

    def content(self) -> Iterator[bytes | memoryview]:
        yield from super().content()
        yield self._file.proto.SerializeToString(deterministic=True)
        stats = [os.stat(path) for path in _files_of(self._file)]
        yield repr([(file.st_size, file.st_mtime_ns) for file in stats]).encode()

    def with_weights_inside(self) -> Self:
        from onnx.external_data_helper import load_external_data_for_model

        model = super().with_weights_inside()
        if _files_of(self._file):
            proto = type(self._file.proto)()
            proto.CopyFrom(self._file.proto)
            load_external_data_for_model(proto, self._file.folder or "")
            model._file = OnnxFile(proto, None, self._file.path)
        return model

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _unpickled, (type(self), self._file, self._shapes, self._missing, modules_of_users())


def model_of(file: OnnxFile) -> Model:
    """The model of an ONNX file; an `OnnxModel` if nodes need values that the file does not declare.

    Raises:
        UnsupportedError: For operators that cannot be lowered to IR, and otherwise the IRError of the first fault.
    """
    try:
        converted = convert_model(file.proto, folder=file.folder)
    except NotKnownError as error:
        return OnnxModel(file, converted=error.located(Location(path=file.path)))
    converted.model.lowered_from = file.path
    return OnnxModel(file, converted=converted) if converted.has_assumptions else converted.model


_HINT = "inspect the node with ir-exec inspect MODEL.onnx --layer NODE: no value of an input determines it"


def _ignore(error: IRError) -> None:
    """Ignore the faults of a conversion that is completed later."""


def _unpickled(
    cls: type[OnnxModel],
    file: OnnxFile,
    shapes: Mapping[str, Shape],
    missing: NotKnownError | None,
    modules: Sequence[str],
) -> OnnxModel:
    missing_files = [path for path in _files_of(file) if not os.path.exists(path)]
    if missing_files:
        raise WeightsError(f"the tensors in {missing_files[0]} are missing", code=Code.weights_missing)
    for module in modules:
        # Registers the operators of the module.
        import_module(module)
    return cls(file, shapes, missing)


def _files_of(file: OnnxFile) -> list[str]:
    """The files with external data of initializers."""
    external = (tensor for tensor in file.proto.graph.initializer if tensor.data_location == tensor.EXTERNAL)
    names = {entry.value for tensor in external for entry in tensor.external_data if entry.key == "location"}
    return [os.path.join(file.folder or "", name) for name in sorted(names)]


def run_once(model: Model, arrays: Mapping[str, Array]) -> Sequence[Array]:
    """The outputs of a model that is run for values of a conversion."""
    from ir_exec.runtime import compile_model  # most conversions need no run

    return compile_model(model)(arrays).to_tuple()


def _undetermined_port(name: str, declared: TypeProto) -> ModelPort:
    """The port of an output without a source so far."""
    type = elements_of(declared)
    if declared.WhichOneof("value") == "tensor_type":
        type = tensor_type_of(declared)
    return ModelPort(name, frozenset([name]), type.element_type, type.shape)


def _collect_lists(inputs: Mapping[Any, Any], types: Mapping[str, TypeProto]) -> dict[Any, Any]:
    """The inputs, with list elements given as "name/0" collected into lists, and missing optionals as None."""
    collected = dict(inputs)
    for name, type in types.items():
        if type.WhichOneof("value") == "tensor_type" or name in collected:
            continue
        parts: list[Any] = []
        while f"{name}/{len(parts)}" in collected:
            parts.append(collected.pop(f"{name}/{len(parts)}"))
        if parts:
            collected[name] = parts
        elif type.WhichOneof("value") == "optional_type" and not any(isinstance(key, int) for key in collected):
            collected[name] = None
    return collected


def _bind(value: Any, port: ModelPort, declared: TypeProto) -> Any:
    from ir_exec.runtime.arguments import check_value

    while declared.WhichOneof("value") == "optional_type":
        if value is None:
            return None
        declared = declared.optional_type.elem_type
    if declared.WhichOneof("value") == "sequence_type":
        if not isinstance(value, (list, tuple)):
            raise EvaluationError(
                f"input {port.name!r} is",
                actual=type(value).__name__,
                expected="a list of tensors",
                code=Code.unknown_input,
            )
        inner = declared.sequence_type.elem_type
        return [_bind(element, port._replace(name=f"{port.name}/{at}"), inner) for at, element in enumerate(value)]
    expected = tensor_type_of(declared)
    # A `reshape` may have changed the shape of a tensor.
    shape = port.shape if port.shape.rank is not None else expected.shape
    return check_value(value, port._replace(element_type=expected.element_type, shape=shape))


def _type_of(value: Any) -> Given:
    if isinstance(value, list):
        return [_type_of(element) for element in value]
    return TensorType.of(value) if isinstance(value, np.ndarray) else value


def _arrays(bound: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    """The arrays of a call, by the names of the Parameters in a conversion."""
    if isinstance(bound, np.ndarray):
        yield name, bound
    elif isinstance(bound, list):
        for position, element in enumerate(bound):
            yield from _arrays(element, f"{name}/{position}")
    elif isinstance(bound, Mapping):
        for key, element in bound.items():
            yield from _arrays(element, key)


def _flat(layouts: Sequence[Layout]) -> list[int]:
    positions: list[int] = []
    for layout in layouts:
        positions += [layout] if isinstance(layout, int) else _flat(layout or [])
    return positions


def _order_by_parameter(layouts: Mapping[str, Layout], bound: Mapping[str, Any]) -> list[Array]:
    """The arrays in the order of the Parameters."""
    by_position: dict[int, Array] = {}
    for name, layout in layouts.items():
        places = _flat([layout])
        arrays = [array for _, array in _arrays(bound[name])]
        by_position.update(zip(places, arrays, strict=True))
    return [by_position[position] for position in range(len(by_position))]
