"""Inputs, constants, outputs and variables of a model: Parameter, Const, Result, ReadValue and Assign."""

from __future__ import annotations

from functools import partial

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import ElementTypeName, NonNegative, ShapeText
from ir_exec.ops.base.bodies import State, WeightsReader
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = [
    "Assign",
    "Assign3",
    "AssignsVariable",
    "Const",
    "Parameter",
    "ReadValue",
    "ReadValue3",
    "ReadsVariable",
    "Result",
]


@op("Parameter", since=1)
class Parameter(Op):
    """An input of the model.

    Specification: infrastructure/parameter-1.

    Outputs:
        output: The type and shape in the attributes.
    """

    is_parameter = True
    is_data_movement = True
    redundant_attributes = "cacheable"

    element_type: ElementTypeName
    shape: ShapeText

    def infer(self) -> TensorType:
        return TensorType(self.element_type, self.shape)

    def evaluate(self) -> Array:
        raise EvaluationError("no value was given for this input")


@op("Const", since=1)
class Const(Op):
    """A value from the .bin: `size` bytes at `offset`, decoded on first use.

    Specification: infrastructure/constant-1.

    Outputs:
        output: The type and shape in the attributes. An empty constant of the type `dynamic` is a missing input:
            OpenVINO writes it for optional inputs of layers.
    """

    rounds = True
    is_data_movement = True

    element_type: ElementTypeName
    shape: ShapeText
    offset: NonNegative
    size: NonNegative

    def infer(self, *, weights: WeightsReader | None) -> TensorType:
        if not self.shape.is_static:
            raise ShapeError(f"the shape of a constant must be static, found {self.shape}")
        if weights is None or not self.element_type.is_known:
            return TensorType(self.element_type, self.shape)
        return TensorType(self.element_type, self.shape, source=partial(self._bounds, weights))

    def evaluate(self, *, weights: WeightsReader) -> Array:
        if not self.element_type.is_known:
            return np.empty(0, np.uint8)
        return weights.read(self.element_type, self.shape.static, self.offset, self.size)

    def _bounds(self, weights: WeightsReader) -> tuple[Array, Array]:
        value = self.evaluate(weights=weights)
        return value, value


@op("Result", since=1)
class Result(Op):
    """An output of the model.

    Specification: infrastructure/result-1.

    Inputs:
        value: Any shape, any type.

    Outputs:
        output: Like value.
    """

    inputs = (In("value"),)
    may_alias = True
    is_result = True
    is_data_movement = True

    def infer(self, value: TensorType) -> TensorType:
        return value

    def evaluate(self, value: Array) -> Array:
        return value


class ReadsVariable(Op):
    """The base of both versions of ReadValue.

    Inputs:
        init_value: Any shape and type.

    Outputs:
        output: The value assigned by the last run, of the same type.
    """

    may_alias = True
    is_data_movement = True
    deterministic = False

    variable_id: str


@op("ReadValue", since=3)
class ReadValue3(ReadsVariable):
    """The value of a variable; `init_value` in the first run and after a reset.

    Specification: infrastructure/read-value-3.
    """

    inputs = (In("init_value"),)

    def infer(self, init_value: TensorType) -> TensorType:
        return init_value.without_values()

    def evaluate(self, init_value: Array, *, state: State) -> Array:
        value = state.read(self.variable_id)
        return init_value if value is None else value


@op("ReadValue", since=6)
class ReadValue(ReadsVariable):
    """The value of a variable of a declared type; in the first run and after a reset `init_value`, or zeros without it.

    Dynamic dims of `variable_shape` are 0 in those zeros. As in OpenVINO, element type and shape are taken from
    `init_value` if `variable_type` or the rank of `variable_shape` is dynamic or missing.

    Specification: infrastructure/read-value-6.
    """

    inputs = (In("init_value", optional=True),)
    expected_attributes = ("variable_type", "variable_shape")

    variable_type: ElementTypeName = ElementType.dynamic
    variable_shape: ShapeText = Shape.unknown()

    def infer(self, init_value: TensorType | None = None) -> TensorType:
        declared = TensorType(self.variable_type, self.variable_shape)
        if init_value is None:
            return declared
        if declared.shape & init_value.shape is None:
            raise ShapeError(
                f"init_value has shape {init_value.shape}, the variable has {declared.shape}", port="init_value"
            )
        if not declared.element_type.is_known or declared.shape.dims is None:
            return init_value.without_values()
        if init_value.element_type.is_known and init_value.element_type is not declared.element_type:
            raise ElementTypeError(
                f"init_value is {init_value.element_type}, the variable is {declared.element_type}",
                code=Code.element_types_differ,
                port="init_value",
            )
        return declared

    def evaluate(self, init_value: Array | None = None, *, state: State) -> Array:
        value = state.read(self.variable_id)
        if value is not None:
            return value
        return self._zeros() if init_value is None else init_value

    def _zeros(self) -> Array:
        if not self.variable_type.is_known:
            raise EvaluationError(
                "the variable has no value and no known element type", expected="the input init_value"
            )
        dims = self.variable_shape.dims or ()
        return np.zeros([dim.lo if dim.is_static else 0 for dim in dims], self.variable_type.dtype)


class AssignsVariable(Op):
    """The base of both versions of Assign.

    Inputs:
        new_value: Any shape, any type, the value of the variable in the next run.

    Outputs:
        output: Like new_value.
    """

    inputs = (In("new_value"),)
    may_alias = True
    is_data_movement = True
    deterministic = False

    variable_id: str

    def infer(self, new_value: TensorType) -> TensorType:
        return new_value.without_values()

    def evaluate(self, new_value: Array, *, state: State) -> Array:
        state.write(self.variable_id, new_value)
        return new_value


@op("Assign", since=3)
class Assign3(AssignsVariable):
    """Assign a variable its value for the next run; the output is that value.

    Specification: infrastructure/assign-3.
    """


@op("Assign", since=6)
class Assign(AssignsVariable):
    """Assign a variable its value for the next run; the output is that value.

    Specification: infrastructure/assign-6.
    """
