"""Models of OpenVINO in memory: an `openvino.Model`, also inside a model of optimum-intel.

OpenVINO writes the graph as .xml. The weights are not written: each constant of the .xml is a view of the memory of its
operator, in the order in which OpenVINO lists both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ParseError, ReportFault, SourceTypeError, UnsupportedError, WeightsError
from ir_exec.hints import install_hint
from ir_exec.ir.array_weights import ArrayWeights, reserve_offset, stored_size
from ir_exec.ir.document import Body, Layer
from ir_exec.ir.files import ModelFiles
from ir_exec.ir.reader import read_document
from ir_exec.ir.writer import serialize_document
from ir_exec.readers import is_compiled_by_openvino, is_of_optimum
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.model import Model

__all__ = ["read_openvino", "serialize_graph", "to_openvino"]

_BODY_GETTERS = {"body": "get_function", "then_body": "get_then_body", "else_body": "get_else_body"}
"""The methods of OpenVINO's operators that return a body, by the name of its element in the .xml."""


def read_openvino(model: Any, *, report: ReportFault) -> ModelFiles:
    """Return the document and the weights of an `openvino.Model`; constants share its memory.

    Args:
        model: An `openvino.Model`, or an object of optimum-intel with a single one.
    """
    if is_of_optimum(model):
        try:
            model = _single_model(model)
        except SourceTypeError as error:
            report(error)
            return ModelFiles()
    try:
        document = read_document(serialize_graph(model), report=report)
        if document is None:
            return ModelFiles()
        constants = _OperatorConstants()
        layers = constants.with_offsets(document.layers, model.get_ordered_ops())
    except ParseError as error:
        report(error)
        return ModelFiles()
    except (RuntimeError, IndexError) as error:
        # Errors of OpenVINO, for instance for constants without a type.
        report(ParseError(f"OpenVINO cannot write the model: {error}", code=Code.not_ir))
        return ModelFiles()
    weights = ArrayWeights(constants.arrays)
    return ModelFiles(document.model_copy(update={"layers": layers}), weights)


def _single_model(source: Any) -> Any:
    """Return the `openvino.Model` of an object of optimum-intel.

    Raises:
        SourceTypeError: If it has several, or none that is not compiled.
    """
    parts = dict(_parts_of(source))
    uncompiled = {name: model for name, model in parts.items() if not is_compiled_by_openvino(model)}
    name = type(source).__name__
    if not uncompiled:
        hint = "load it without compile_only=True"
        raise SourceTypeError(f"{name} has no openvino.Model", expected="one that is not compiled", hint=hint)
    if len(uncompiled) > 1:
        hint = f"pass one of them: {', '.join(f'model.{path}' for path in uncompiled)}"
        raise SourceTypeError(f"{name} has {len(uncompiled)} models", expected="one", hint=hint)
    return next(iter(uncompiled.values()))


def _parts_of(source: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the models of an object of optimum-intel by their attributes, each once."""
    seen: set[int] = set()
    models = getattr(source, "ov_models", None) or {"model": getattr(source, "model", None)}
    for name, model in models.items():
        if model is not None and id(model) not in seen:
            seen.add(id(model))
            yield prefix + name, model
    for name, part in (getattr(source, "components", None) or {}).items():
        for path, model in _parts_of(part, f"{prefix}{name}.") if is_of_optimum(part) else ():
            if id(model) not in seen:
                seen.add(id(model))
                yield path, model


def to_openvino(model: Model) -> Any:
    """Return a Model as an `openvino.Model`.

    Raises:
        UnsupportedError: If OpenVINO is not installed or cannot read the model.
        WeightsError: If the weights are missing or too short.
    """
    if find_spec("openvino") is None:
        message = "the package openvino is required for models of OpenVINO, but is not installed"
        raise UnsupportedError(message, hint=install_hint("openvino"))
    openvino = import_module("openvino")
    xml, layout = serialize_document(model.current_document())
    # OpenVINO does not keep the memory of a NumPy array alive, so the tensor has memory of its own.
    tensor = openvino.Tensor(openvino.Type.u8, openvino.Shape([layout.size]))
    for (offset, size), new_offset in layout.offsets.items():
        tensor.data[new_offset : new_offset + size] = _bytes_of(model, offset, size)
    try:
        return openvino.Core().read_model(model=xml, weights=tensor)
    except RuntimeError as error:
        raise UnsupportedError(f"OpenVINO cannot read the model: {error}") from error


def _bytes_of(model: Model, offset: int, size: int) -> Array:
    """Return the bytes of a constant; WeightsError if the weights lack them."""
    content = memoryview(b"") if model.weights is None else model.weights.slice(offset, size)
    if len(content) < size:
        raise WeightsError(
            "the constants have", actual=len(content), detail="bytes", expected=size, code=Code.weights_short
        )
    return np.frombuffer(content, np.uint8)


def serialize_graph(model: Any) -> bytes:
    """Return the .xml of a model, without writing its weights.

    Raises:
        RuntimeError: The errors of OpenVINO.
    """
    # The package of the model is imported; OpenVINO 2024 has the passes in another module.
    is_older = find_spec("openvino.passes") is None
    passes = import_module("openvino.runtime.passes" if is_older else "openvino.passes")
    with TemporaryDirectory(prefix="ir_exec-") as folder:
        path = Path(folder, "model.xml")
        manager = passes.Manager()
        manager.register_pass(passes.Serialize(os.fspath(path), os.devnull))
        manager.run_passes(model)
        return path.read_bytes()


class _OperatorConstants:
    """The constants of a model at their new offsets.

    Attributes:
        arrays: By offset: strings, or the bytes of any other constant.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, Array] = {}

    def with_offsets(self, layers: Sequence[Layer], operators: Sequence[Any]) -> tuple[Layer, ...]:
        """Return the layers, and those of their bodies, with the offsets of the constants of these operators.

        OpenVINO writes inputs first and outputs last, and all other layers in the order of the operators.

        Raises:
            ParseError: If the .xml has other constants or bodies than the model.
        """
        types_with_bodies = {layer.type for layer in layers if layer.bodies}
        stored = [
            operator
            for operator in operators
            if operator.get_type_name() == "Constant" or operator.get_type_name() in types_with_bodies
        ]
        written = [layer for layer in layers if layer.is_constant or layer.bodies]
        if len(written) != len(stored):
            raise _differing(f"{len(written)} constants and layers with bodies", f"{len(stored)}")
        changed = {
            layer.id: self._with_offset(layer, operator) for layer, operator in zip(written, stored, strict=True)
        }
        return tuple([changed.get(layer.id, layer) for layer in layers])

    def _with_offset(self, layer: Layer, operator: Any) -> Layer:
        # Names that occur twice are written with a suffix.
        if not layer.name.startswith(operator.get_friendly_name()):
            raise _differing(f"the layer {layer.name!r}", repr(operator.get_friendly_name()))
        if layer.bodies:
            return layer.model_copy(update={"bodies": tuple([self._body(body, operator) for body in layer.bodies])})
        array = _array_of(operator)
        size = stored_size(array)
        if array.dtype != object and size != max(int(layer.data["size"]), 1):
            raise _differing(f"a constant of {layer.data['size']} bytes", str(size))
        offset = reserve_offset(size)
        self.arrays[offset] = array
        return layer.model_copy(update={"data": {**layer.data, "offset": str(offset), "size": str(size)}})

    def _body(self, body: Body, operator: Any) -> Body:
        operators = getattr(operator, _BODY_GETTERS[body.name])().get_ordered_ops()
        return body.model_copy(update={"layers": self.with_offsets(body.layers, operators)})


def _array_of(constant: Any) -> Array:
    """Return the strings of a constant, or a view of its bytes."""
    if constant.get_element_type().get_type_name() == "string":
        return np.array(constant.get_value_strings(), object).reshape(constant.shape)
    data: Array = constant.data
    return data.reshape(-1).view(np.uint8)


def _differing(actual: str, expected: str) -> ParseError:
    hint = "write the model with openvino.save_model, and read the file"
    return ParseError("OpenVINO's .xml of the model has", actual=actual, expected=expected, code=Code.not_ir, hint=hint)
