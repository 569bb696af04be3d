"""Operators that compute a model of 16-bit floats in f32.

f16 and bf16 are computed as f32: NumPy computes f16 in software, and every layer would round. The model and its graph
remain as in the file. Operators that name or produce a 16-bit float are replaced, and every value of a run is f32
where the file declares f16 or bf16. Values are rounded to the type of the file where a layer rounds on purpose
(`Op.rounds`), in variables, and in the outputs of the model. OpenVINO's CPU plugin computes f16 in f32 as well, and
omits the rounding of Convert too; bf16 is rounded on processors with bf16 arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import infer_outputs
from ir_exec.kernels.chunks import convert_by_chunks
from ir_exec.kernels.precision import type_limits
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.ops.base.facts import NumericFacts
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.plan.graph import convert_op, is_users
from ir_exec.types import Array, Bounds, ElementType, TensorType, element_types

__all__ = [
    "AS_IN_FILE",
    "Precision",
    "Widened",
    "as_declared",
    "as_f32",
    "checked_precision",
    "file_types",
    "run_as_f32",
    "widened_type",
]

Precision: TypeAlias = Literal["f32", "file"]
"""The type that 16-bit floats are computed in: f32, or the type of the file."""

_SHORT = element_types("f16 bf16")

_SMALL = 2**12
"""Maximum elements of an array that NumPy converts before a faster conversion could be chosen."""


class Widened(NamedTuple):
    """The differences of a run in f32.

    Attributes:
        ops: The operators that replace the operators of their nodes, in bodies too; empty for a model without 16-bit
            floats.
        variables: The element types of the variables that keep 16-bit floats.
    """

    ops: Mapping[Node, Op]
    variables: Mapping[str, ElementType]


AS_IN_FILE = Widened({}, {})
"""A model that is computed in the types of its file."""


def checked_precision(precision: Precision) -> Precision:
    """Return the precision; EvaluationError IR704 for an unknown one."""
    if precision not in get_args(Precision):
        raise EvaluationError("precision is", actual=repr(precision), expected="'f32' or 'file'")
    return precision


def widened_type(type: TensorType) -> TensorType:
    """Return the type of a value of this type during a run: f32 for a 16-bit float."""
    if type.element_type not in _SHORT:
        return type
    source = None if type.source is None else partial(_as_f32_bounds, type.source)
    return TensorType(ElementType.f32, type.shape, source)


def as_f32(array: Array) -> Array:
    """Return 16-bit floats as f32; other arrays unchanged."""
    if array.dtype == np.float16 and array.size <= _SMALL:
        return array.astype(np.float32)
    return convert_by_chunks(array, ElementType.f32) if ElementType.of(array) in _SHORT else array


def as_declared(array: Array, element_type: ElementType) -> Array:
    """Return an output of the model as 16-bit floats if its type declares them; other arrays unchanged."""
    if element_type not in _SHORT:
        return array
    return (
        array.astype(np.float16)
        if element_type is ElementType.f16 and array.size <= _SMALL
        else convert_by_chunks(array, element_type)
    )


def run_as_f32(model: Model) -> Widened:
    """Return the operators and variables of a model that runs in f32.

    A model with an input of undeclared element type runs unchanged: the 16-bit floats among its values are known only
    during a run. So does a model that does not compute with 16-bit floats, because the results are equal.
    """
    if not _has_short(model) or not all(port.element_type.is_known for port in model.inputs):
        return AS_IN_FILE
    types = file_types(model)
    if not any(_computes(node, types) for node in model.graph.all_nodes()):
        return AS_IN_FILE
    variables = {}
    for node in model.graph.all_nodes():
        if isinstance(node.op, AssignsVariable | ReadsVariable):
            for element_type in _kinds((*node.values_in, *node.outputs), types):
                if element_type in _SHORT:
                    variables[node.op.variable_id] = element_type
    return Widened(dict(_replace_ops(model.graph, types, model.weights)), variables)


def _computes(node: Node, types: Mapping[Value, TensorType]) -> bool:
    """Return True if a layer does more with 16-bit floats than moving them."""
    is_mover = node.op is not None and node.op.is_data_movement
    return not is_mover and any(
        element_type in _SHORT for element_type in _kinds((*node.values_in, *node.outputs), types)
    )


def _has_short(model: Model) -> bool:
    """Return True if a model may have 16-bit floats."""
    return any(type.element_type in _SHORT for type in model.types) or any(
        _names_short(node.op) or is_users(node.op) for node in model.graph.all_nodes() if node.op is not None
    )


def file_types(model: Model) -> Mapping[Value, TensorType]:
    """Return the types of the file, also for values in bodies; values of bodies that never run have none."""
    if not any(node.bodies for node in model.graph.nodes):
        return dict(zip(model.graph.values, model.types, strict=True))
    return model.all_types()


def _replace_ops(
    graph: Graph, types: Mapping[Value, TensorType], weights: WeightsReader | None
) -> Iterator[tuple[Node, Op]]:
    for node in graph.all_nodes():
        op = node.op
        assert op is not None, "the compiler rejects models with unsupported operators"
        inputs = [types.get(value, value.declared) for value in node.values_in]
        is_short = any(element_type in _SHORT for element_type in _kinds(node.outputs, types))
        if op.rounds and not _keeps_type(node, inputs, types):
            if is_short or _names_short(op):
                yield (
                    node,
                    _wide(
                        op,
                        {
                            position: element_type
                            for position, element_type in _short(inputs).items()
                            if _only_type(op, position)
                        },
                    ),
                )
        elif not is_users(op):
            if _names_short(op):
                yield node, _naming_f32(op)
            elif op.fills_with_lowest and is_short:
                (element_type,) = {
                    element_type for element_type in _kinds(node.outputs, types) if element_type in _SHORT
                }
                yield node, _fill_with_lowest(op, element_type)
        elif is_short or _short(inputs) or _names_short(op):
            yield node, _wide(op, {} if _takes_f32(op, inputs, weights) else _short(inputs))


def _kinds(values: Sequence[Value], types: Mapping[Value, TensorType]) -> list[ElementType]:
    return [types.get(value, value.declared).element_type for value in values]


def _keeps_type(node: Node, inputs: Sequence[TensorType], types: Mapping[Value, TensorType]) -> bool:
    """Return True if the input of a conversion already has the element type of the output."""
    return bool(inputs) and [inputs[0].element_type] == _kinds(node.outputs, types)


def _short(inputs: Sequence[TensorType]) -> dict[int, ElementType]:
    """Return the inputs that are 16-bit floats in the file, by position."""
    return {position: type.element_type for position, type in enumerate(inputs) if type.element_type in _SHORT}


def _only_type(op: Op, position: int) -> bool:
    return op.inputs[min(position, len(op.inputs) - 1)].only_type


def _names_short(op: Op) -> bool:
    """Return True if an attribute names a 16-bit float."""
    return any(isinstance(value, ElementType) and value in _SHORT for value in vars(op).values())


def _takes_f32(op: Op, inputs: Sequence[TensorType], weights: WeightsReader | None) -> bool:
    """Return True if a custom operator accepts f32 for the 16-bit floats of the file."""
    faults: list[IRError] = []
    infer_outputs(op, [widened_type(type) for type in inputs], {"weights": weights, "bodies": ()}, faults.append)
    return not faults


def _naming_f32(op: Op) -> Op:
    """Return the operator with attributes that name f32 instead of a 16-bit float."""
    named = {name: ElementType.f32 if value in _SHORT else value for name, value in _named_types(op).items()}
    return convert_op(op, type(op), named)


def _named_types(op: Op) -> dict[str, ElementType]:
    return {name: value for name, value in vars(op).items() if isinstance(value, ElementType)}


_FLAGS = (
    "input_name",
    "output_name",
    *(
        name
        for name in (*Op.__annotations__, *NumericFacts.__annotations__)
        if not name.startswith("_") and name not in ("infer", "evaluate", "inplace_inputs", "type_name", "since")
    ),
)
"""Names of flags that an operator copies from the operator that it replaces."""


def _wide(op: Op, narrow: Mapping[int, ElementType]) -> Op:
    """Return an operator that computes the same as `op` with f32 outputs instead of 16-bit floats.

    Args:
        narrow: Inputs, by position, that are still passed in these types of the file.
    """
    return _standing_for(op, _Wide, {"_narrow": narrow})


def _standing_for(op: Op, cls: type[_Wide], values: Mapping[str, Any]) -> Op:
    return convert_op(op, cls, {**{name: getattr(op, name) for name in _FLAGS}, "_op": op, **values})


class _Wide(Op):
    """Computes an operator `_op` with its attributes and flags; 16-bit floats become f32."""

    _op: Op
    _narrow: Mapping[int, ElementType]

    def check_inputs(self, types: list[TensorType], report: Callable[[IRError], None]) -> bool:
        return self._op.check_inputs(self._types(types), report)

    def infer(self, *types: TensorType, **context: Any) -> Any:
        outputs = self._op.infer(*self._types(types), **context)
        return tuple(map(widened_type, outputs)) if isinstance(outputs, tuple) else widened_type(outputs)

    def evaluate(self, *arrays: Array, **context: Any) -> Any:
        return self._call(self._op.evaluate, *arrays, **context)

    def evaluate_known(self, *arrays: Array) -> Any:
        return self._call(self._op.evaluate_known, *arrays)

    def evaluate_bounds(self, *inputs: Any) -> Bounds | None:
        return _as_f32_bounds(partial(self._op.evaluate_bounds, *inputs))

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        return self._op.multiply_adds(inputs, outputs)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return self._op.count_terms([self._array(position, array) for position, array in enumerate(inputs)])

    def count_positions(self, inputs: Sequence[Array]) -> int:
        return self._op.count_positions([self._array(position, array) for position, array in enumerate(inputs)])

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return partial(self._call, self._op.kernel(*self._types(types), unread=unread))

    def with_constants(self, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        better = self._op.with_constants(
            {position: self._array(position, array) for position, array in constants.items()}
        )
        return None if better is None else partial(self._call, better)

    def _values(self) -> tuple[Any, ...]:
        return self._op, tuple(sorted(self._narrow.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._op!r})"

    def _call(self, function: Callable[..., Any], *arrays: Array, **context: Any) -> Any:
        outputs = function(*[self._array(position, array) for position, array in enumerate(arrays)], **context)
        return tuple(map(as_f32, outputs)) if isinstance(outputs, tuple) else as_f32(outputs)

    def _types(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [
            TensorType(self._narrow[position], type.shape) if position in self._narrow else type
            for position, type in enumerate(types)
        ]

    def _array(self, position: int, array: Array) -> Array:
        element_type = self._narrow.get(position)
        if element_type is None:
            return array
        return (
            np.empty(0, element_type.dtype)
            if _only_type(self._op, position)
            else convert_by_chunks(array, element_type)
        )


def _fill_with_lowest(op: Op, element_type: ElementType) -> Op:
    """Return an operator with outputs that contain the lowest value of `element_type` instead of the lowest f32."""
    return _standing_for(op, _Filled, {"_narrow": {}, "_kind": element_type})


class _Filled(_Wide):
    """An operator that is computed in f32, with the lowest value of a 16-bit float instead of the lowest f32."""

    _kind: ElementType

    def _call(self, function: Callable[..., Any], *arrays: Array, **context: Any) -> Any:
        outputs = function(*arrays, **context)
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            lowest = type_limits(output.dtype)[0]
            if output.dtype == np.float32 and output.size and np.fmin.reduce(output, axis=None) <= lowest:
                output[output == lowest] = np.float32(type_limits(self._kind.dtype)[0])
        return outputs


def _as_f32_bounds(source: Callable[[], Bounds | None]) -> Bounds | None:
    bounds = source()
    if bounds is None:
        return None
    lower, upper = bounds
    wide = as_f32(lower)
    return wide, wide if lower is upper else as_f32(upper)
