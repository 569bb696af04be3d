"""ONNX's interface of runtimes, `onnx.backend.base.Backend`, implemented by ir_exec.

```python
prepared = ir_exec.onnx.backend.prepare(onnx.load("model.onnx"))
outputs = prepared.run([image])
```
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from ir_exec.errors import EvaluationError, UnsupportedError
from ir_exec.onnx.lowering.partial_model import OnnxFile, model_of
from ir_exec.onnx.reading.tensors import is_narrow, wider_type_of
from ir_exec.runtime import Results, compile_model

__all__ = ["Prepared", "Runtime", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class Prepared(BackendRep):
    """A model that is ready to run: `compile_model` with ONNX's lists and optionals."""

    def __init__(self, proto: ModelProto, folder: str | None = None) -> None:
        self._proto = proto
        initialized = {tensor.name for tensor in proto.graph.initializer}
        self._names = [declared.name for declared in proto.graph.input if declared.name not in initialized]
        self._compiled = compile_model(model_of(OnnxFile(proto, folder)))

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the outputs in the order of the graph; inputs are given in its order, or by name.

        Args:
            **kwargs: Part of ONNX's interface; ignored.

        Raises:
            EvaluationError: If an input is missing, or if the run fails.
        """
        named = dict(inputs) if isinstance(inputs, dict) else dict(zip(self._names, inputs, strict=False))
        named = {name: _normal(value) for name, value in named.items()}
        unknown = [name for name in self._names if name not in named]
        if unknown:
            raise EvaluationError(f"the input {unknown[0]!r} is missing")
        results = self._compiled({name: named[name] for name in self._names})
        return tuple(
            _as_declared(_collect_output(results, declared.name, declared.type), declared)
            for declared in self._proto.graph.output
        )


class Runtime(Backend):
    """The backend of ir_exec for ONNX; the only device is the CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Return True if every operator of the model can be lowered to IR."""
        try:
            Prepared(model)
        except UnsupportedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """The model, ready to run.

        Raises:
            IRError: The first fault of the model.
        """
        return Prepared(model)

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model for these inputs: `prepare`, then `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of one node of the newest opset, or of the opset in `opset_version`."""
        arrays = [_normal(value) for value in inputs]
        declared = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip([name for name in node.input if name], arrays, strict=True)
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], node.op_type, declared, outputs)
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
        return cls.run_model(model, arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return True for "CPU", the only device."""
        return device == "CPU"


def _normal(value: Any) -> Any:
    """Inputs as arrays, lists of arrays, or None."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_normal(element) for element in value]
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        array = array.astype(str).astype(object)
    elif array.dtype.kind == "O":
        texts = [element.decode() if isinstance(element, bytes) else str(element) for element in array.ravel()]
        array = np.array(texts, object).reshape(array.shape)
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return array.astype(wider_type_of(code).dtype) if is_narrow(code) else array


def _as_declared(value: Any, declared: onnx.ValueInfoProto) -> Any:
    """Convert to the element type of the file, if IR has the values in a wider one."""
    code = declared.type.tensor_type.elem_type
    if isinstance(value, np.ndarray) and is_narrow(code):
        return value.astype(onnx.helper.tensor_dtype_to_np_dtype(code))
    return value


def _collect_output(results: Results, name: str, declared: onnx.TypeProto) -> Any:
    """An output: a tensor, the list of the results named "name/0", ..., or None for an empty optional."""
    field = declared.WhichOneof("value")
    if field == "optional_type":
        is_there = name in results or f"{name}/0" in results
        return _collect_output(results, name, declared.optional_type.elem_type) if is_there else None
    if field != "sequence_type":
        return results[name]
    inner = declared.sequence_type.elem_type
    elements: list[Any] = []
    while f"{name}/{len(elements)}" in results:
        elements.append(_collect_output(results, f"{name}/{len(elements)}", inner))
    return elements


is_compatible = Runtime.is_compatible
prepare = Runtime.prepare
run_model = Runtime.run_model
run_node = Runtime.run_node
supports_device = Runtime.supports_device
