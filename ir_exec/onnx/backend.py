"""ONNX's own interface of runtimes, `onnx.backend.base.Backend`, over ir_exec.

```python
prepared = ir_exec.onnx.backend.prepare(onnx.load("model.onnx"))
outputs = prepared.run([image])
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from ir_exec.errors import EvaluationError, UnsupportedError
from ir_exec.onnx.model import Converted, Given, Layout, convert_model
from ir_exec.onnx.tensors import is_narrow, wider_type_of
from ir_exec.runtime import CompiledModel, compile_model
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["Prepared", "Runtime", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]

_MOST_VALUES = 2**10
"""Elements of an input that a conversion may know: axes, shapes and positions have few."""


class Prepared(BackendRep):
    """A model that is ready to run.

    Where a graph has lists or optionals as inputs, or needs the value of an input to be known, it is converted anew for
    inputs of other lengths or values.
    """

    def __init__(self, proto: ModelProto, folder: str | None = None) -> None:
        self._proto = proto
        self._folder = folder
        initialized = {tensor.name for tensor in proto.graph.initializer}
        self._names = [one.name for one in proto.graph.input if one.name not in initialized]
        self._plans: dict[str, tuple[Converted, CompiledModel]] = {}
        self._general = all(one.type.HasField("tensor_type") for one in proto.graph.input)
        if self._general:
            try:
                self._plan({})
            except UnsupportedError:
                # With the values of a run more may be known; what cannot be converted then is an error of the run.
                self._general = False

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the order of the graph, from the inputs in its order, or by their names.

        kwargs: ONNX's interface has them; they are not looked at.
        Raises EvaluationError where an input is missing, and what a run raises.
        """
        named = dict(inputs) if isinstance(inputs, dict) else dict(zip(self._names, inputs, strict=False))
        named = {name: _normal(value) for name, value in named.items()}
        unknown = [name for name in self._names if name not in named]
        if unknown:
            raise EvaluationError(f"no value is given for the input {unknown[0]!r}")
        converted, compiled = self._plan({}) if self._general else self._plan_for(named)
        arrays: dict[int, Array] = {}
        for name, layout in converted.inputs.items():
            _place(named[name], layout, arrays)
        results = list(compiled(arrays).values()) if converted.model.outputs else []
        taken = [_taken(layout, results) for layout in converted.outputs.values()]
        return tuple(_as_declared(value, one) for value, one in zip(taken, self._proto.graph.output, strict=True))

    def _plan_for(self, named: dict[str, Any]) -> tuple[Converted, CompiledModel]:
        try:
            return self._plan({name: _structure(value) for name, value in named.items() if not _is_tensor(value)})
        except UnsupportedError:
            return self._plan({name: _small(value) for name, value in named.items()})

    def _plan(self, given: dict[str, Given]) -> tuple[Converted, CompiledModel]:
        key = repr(sorted((name, _key(value)) for name, value in given.items()))
        found = self._plans.get(key)
        if found is None:
            converted = convert_model(self._proto, folder=self._folder, given=given)
            found = self._plans[key] = converted, compile_model(converted.model)
        return found


class Runtime(Backend):
    """ir_exec as a backend of ONNX; the only device is the CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether every operator of the model can be said in IR."""
        try:
            Prepared(model)
        except UnsupportedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """The model, ready to run; the IRError of its first fault where it has one."""
        return Prepared(model)

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model for these inputs: `prepare`, then `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of one node of the newest opset, or of that in `opset_version`."""
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
        """Whether it runs there: on "CPU" alone."""
        return device == "CPU"


def _normal(value: Any) -> Any:
    """Inputs as arrays, lists of arrays, or None."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_normal(one) for one in value]
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        array = array.astype(str).astype(object)
    elif array.dtype.kind == "O":
        texts = [one.decode() if isinstance(one, bytes) else str(one) for one in array.ravel()]
        array = np.array(texts, object).reshape(array.shape)
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return array.astype(wider_type_of(code).dtype) if is_narrow(code) else array


def _as_declared(value: Any, declared: onnx.ValueInfoProto) -> Any:
    """In the element type of the file, where IR held the values in a wider one."""
    code = declared.type.tensor_type.elem_type
    if isinstance(value, np.ndarray) and is_narrow(code):
        return value.astype(onnx.helper.tensor_dtype_to_np_dtype(code))
    return value


def _is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _structure(value: Any) -> Given:
    if isinstance(value, list):
        return [_structure(one) for one in value]
    return None if value is None else TensorType(ElementType.of(value), Shape(value.shape))


def _small(value: Any) -> Given:
    """Values of small integers and booleans, types of everything else."""
    if isinstance(value, list):
        return [_structure(one) for one in value]
    if isinstance(value, np.ndarray) and value.size <= _MOST_VALUES and (value.dtype.kind in "bi" or value.size == 1):
        return value
    return _structure(value)


def _key(given: Given) -> str:
    if isinstance(given, np.ndarray):
        return f"{given.dtype}{given.shape}{given.tobytes()!r}"
    return f"[{','.join(map(_key, given))}]" if isinstance(given, list) else str(given)


def _place(value: Any, layout: Layout, arrays: dict[int, Array]) -> None:
    if isinstance(layout, int):
        arrays[layout] = value
    elif isinstance(layout, list):
        for one, inner in zip(value, layout, strict=True):
            _place(one, inner, arrays)


def _taken(layout: Layout, results: Sequence[Array]) -> Any:
    if layout is None:
        return None
    return [_taken(one, results) for one in layout] if isinstance(layout, list) else results[layout]


is_compatible = Runtime.is_compatible
prepare = Runtime.prepare
run_model = Runtime.run_model
run_node = Runtime.run_node
supports_device = Runtime.supports_device
