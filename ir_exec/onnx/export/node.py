"""A layer during lowering: its operator, its inputs, known facts about them, and the emission of ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import numpy as np

from ir_exec.errors import UnsupportedError
from ir_exec.onnx.export.carriers import is_carried, table_of
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.onnx.export.writer import Writer
from ir_exec.ops import Op
from ir_exec.types import Array, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.graph import BodyGraph, Value

__all__ = ["ExportNode"]


class ExportNode:
    """A layer during lowering.

    Attributes:
        op: The operator; its fields are the attributes.
        inputs: The names of the inputs, "" for a missing one.
        types: The inferred types of the inputs.
        out_types: The inferred types of the outputs.
        bodies: The graphs inside the layer.
        values: The values of the graph that it reads, None for a missing one.
    """

    def __init__(
        self,
        writer: Writer,
        op: Op,
        name: str,
        inputs: Sequence[str],
        types: Sequence[TensorType],
        out_types: Sequence[TensorType],
        bodies: Sequence[BodyGraph] = (),
        lowerer: GraphLowerer | None = None,
        values: Sequence[Value | None] = (),
    ) -> None:
        self.writer = writer
        self.op: Any = op
        self.name = name
        self.inputs = list(inputs)
        self.types = list(types)
        self.out_types = list(out_types)
        self.bodies = list(bodies)
        self._lowerer = lowerer
        self.values = list(values)

    @property
    def opset(self) -> int:
        return self.writer.opset

    @property
    def target(self) -> str:
        return self.writer.target

    @property
    def lowerer(self) -> GraphLowerer:
        """The lowerer for the graphs inside the layer."""
        assert self._lowerer is not None
        return self._lowerer

    def has(self, position: int) -> bool:
        """Return True if the input exists."""
        return position < len(self.inputs) and bool(self.inputs[position])

    def kind(self, position: int = 0) -> ElementType:
        """The element type of an input."""
        return self.types[position].element_type

    @property
    def out_kind(self) -> ElementType:
        """The element type of the first output."""
        return self.out_types[0].element_type

    def rank(self, position: int = 0) -> int | None:
        """The rank of an input, None if unknown."""
        return self.types[position].rank

    def known_rank(self, position: int = 0) -> int:
        """The rank of an input; refuses the layer if it is unknown."""
        rank = self.types[position].rank
        if rank is None:
            self.refuse(f"the rank of input {self.op.input_name(position)} is unknown")
        return rank

    def dims(self, position: int = 0) -> Shape:
        """The shape of an input."""
        return self.types[position].shape

    def known(self, position: int) -> Array | None:
        """The value of an input, if known before a run."""
        return self.types[position].value if self.has(position) else None

    def known_ints(self, position: int) -> list[int] | None:
        """The elements of an integer input, if known before a run."""
        value = self.known(position)
        return None if value is None else [int(element) for element in np.atleast_1d(value).reshape(-1)]

    def required(self, position: int) -> Array:
        """The value of an input; refuses the layer if it is known only at run time."""
        value = self.known(position)
        if value is None:
            self.refuse(f"input {self.op.input_name(position)} is known only at run time")
        return value

    def refuse(self, reason: str) -> NoReturn:
        """Raise UnsupportedError: ONNX, or this opset of it, cannot express the layer."""
        raise UnsupportedError(reason)

    @overload
    def emit(
        self,
        operator: str,
        *inputs: str,
        outputs: Literal[1] = 1,
        domain: str = "",
        kinds: Any = None,
        **attributes: Any,
    ) -> str: ...

    @overload
    def emit(
        self, operator: str, *inputs: str, outputs: int, domain: str = "", kinds: Any = None, **attributes: Any
    ) -> tuple[str, ...]: ...

    def emit(
        self, operator: str, *inputs: str, outputs: int = 1, domain: str = "", kinds: Any = None, **attributes: Any
    ) -> str | tuple[str, ...]:
        """Append a node; the name of its output, or a tuple of names if `outputs` is not 1.

        Inputs of a type that onnxruntime's CPU kernel does not support are cast, and outputs cast back.

        Args:
            kinds: The element types of the outputs, one or a sequence, if they differ from the first input.
        """
        codes = None
        if kinds is not None:
            codes = [
                self.writer.code(element_type)
                for element_type in (kinds if isinstance(kinds, (list, tuple)) else [kinds])
            ]
        names = self.writer.emit(
            operator, inputs, outputs, name=self.name, domain=domain, codes=codes, attributes=attributes
        )
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, kind: ElementType | None = None, name: str = "") -> str:
        """The name of a constant of this element type, by default i64 for Python integers."""
        array = np.asarray(value) if kind is None else np.asarray(value).astype(kind.dtype)
        return self.writer.constant(array, f"{self.name}/{name or 'constant'}")

    def scalar_like(self, value: Any, input_name: str) -> str:
        """A scalar constant with the element type of a tensor."""
        from onnx import helper

        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(self.writer.codes[input_name]))
        return self.constant(np.asarray(value).astype(dtype))

    def code_of(self, value: str) -> int:
        """The TensorProto.DataType of a tensor."""
        return self.writer.codes[value]

    def cast(self, value: str, kind: ElementType) -> str:
        """ONNX's Cast to an element type; the tensor itself if it has this type."""
        return self.writer.cast(value, self.writer.code(kind), self.name)

    def cast_code(self, value: str, code: int) -> str:
        """ONNX's Cast to a TensorProto.DataType; the tensor itself if it has this type."""
        return self.writer.cast(value, code, self.name)

    def numbers(self, position: int, kind: ElementType = ElementType.f32) -> str:
        """An input as numbers: the input itself, or the values of a type missing in the opset, in another type."""
        own = self.kind(position)
        if not is_carried(own, self.opset) or own in (ElementType.i4, ElementType.u4, ElementType.u2):
            return self.inputs[position]
        return self.decoded(self.inputs[position], own, kind)

    def decoded(self, value: str, own: ElementType, kind: ElementType = ElementType.f32) -> str:
        """The numbers that the codes of a carried type represent."""
        codes = self.cast(value, ElementType.i64)
        return self.cast(self.emit("Gather", self.constant(table_of(own)), codes, axis=0), kind)

    def shape_of(self, value: str) -> str:
        """The shape of a tensor, i64 of rank 1."""
        return self.emit("Shape", value)

    def dim_of(self, value: str, axis: int) -> str:
        """A dim of a tensor, i64 with one element."""
        if axis == -1:
            return self.emit("Shape", value, start=-1)
        return self.emit("Shape", value, start=axis, end=axis + 1)

    def shape_input(self, position: int) -> str:
        """The shape of an input: a constant if it is static."""
        shape = self.dims(position)
        if shape.is_static:
            return self.ints(shape.static)
        return self.shape_of(self.inputs[position])

    def ints(self, values: Sequence[int]) -> str:
        """A constant of rank 1 and i64."""
        return self.constant(np.array(list(values), np.int64))

    def i64(self, position: int) -> str:
        """An input of integers as i64."""
        return self.cast(self.inputs[position], ElementType.i64)

    def reshape(self, value: str, dims: Sequence[int] | str, *, allow_zero: bool = False) -> str:
        """Reshape to dims, or to a tensor of dims."""
        shape = dims if isinstance(dims, str) else self.ints(dims)
        return self.emit("Reshape", value, shape, allowzero=1 if allow_zero else None)

    def dim(self, axis: int, position: int = 0) -> int | str:
        """A dim of an input: a number if it is static, else the name of an i64 tensor of one element."""
        shape = self.dims(position)
        if shape.dims is not None and shape[axis].is_static:
            return shape[axis].size
        return self.dim_of(self.inputs[position], axis)

    def times(self, dim: int | str, factor: int | str) -> int | str:
        """The product of dims."""
        if isinstance(dim, int) and isinstance(factor, int):
            return dim * factor
        return self.emit("Mul", self.dim_name(dim), self.dim_name(factor))

    def over(self, dim: int | str, divisor: int | str) -> int | str:
        """The quotient of a dim."""
        if isinstance(dim, int) and isinstance(divisor, int):
            return dim // divisor
        return dim if divisor == 1 else self.emit("Div", self.dim_name(dim), self.dim_name(divisor))

    def product(self, dims: Sequence[int | str]) -> int | str:
        """The product of dims."""
        result: int | str = 1
        for dim in dims:
            result = dim if result == 1 else self.times(result, dim)
        return result

    def plus(self, dim: int | str, other: int | str) -> int | str:
        """The sum of dims."""
        if isinstance(dim, int) and isinstance(other, int):
            return dim + other
        return self.emit("Add", self.dim_name(dim), self.dim_name(other))

    def dim_name(self, dim: int | str) -> str:
        """A dim as an i64 tensor of one element."""
        return self.ints([dim]) if isinstance(dim, int) else dim

    def shape_from(self, dims: Sequence[int | str]) -> str:
        """A shape from dims: numbers, and i64 tensors of rank 1."""
        parts: list[str] = []
        numbers: list[int] = []
        for dim in dims:
            if isinstance(dim, int):
                numbers.append(dim)
                continue
            parts += [self.ints(numbers)] if numbers else []
            parts, numbers = [*parts, dim], []
        parts += [self.ints(numbers)] if numbers or not parts else []
        return self.concat(parts)

    def reshape_to(self, value: str, dims: Sequence[int | str]) -> str:
        """Reshape to dims, each a number or an i64 tensor of rank 1; 0 is a size."""
        is_known = all(isinstance(dim, int) for dim in dims)
        zero = 0 in dims if is_known else True
        return self.emit("Reshape", value, self.shape_from(dims), allowzero=1 if zero else None)

    def range_of(self, size: int | str) -> str:
        """0, 1, 2, ... as i64 of rank 1."""
        if isinstance(size, int):
            return self.ints(range(size))
        zero, step = self.constant(0, ElementType.i64), self.constant(1, ElementType.i64)
        return self.emit("Range", zero, self.reshape(size, []), step)

    def unsqueeze(self, value: str, axes: Sequence[int]) -> str:
        return self.emit("Unsqueeze", value, self.ints(axes)) if axes else value

    def squeeze(self, value: str, axes: Sequence[int]) -> str:
        return self.emit("Squeeze", value, self.ints(axes)) if axes else value

    def flat(self, value: str) -> str:
        """The tensor flattened to rank 1."""
        return self.reshape(value, [-1])

    def transpose(self, value: str, order: Sequence[int]) -> str:
        return value if list(order) == sorted(order) else self.emit("Transpose", value, perm=list(order))

    def concat(self, values: Sequence[str], axis: int = 0) -> str:
        return values[0] if len(values) == 1 else self.emit("Concat", *values, axis=axis)

    def slice(self, value: str, start: int, end: int, axis: int, step: int = 1) -> str:
        """Elements `start` to `end`, exclusive, of an axis."""
        return self.emit("Slice", value, self.ints([start]), self.ints([end]), self.ints([axis]), self.ints([step]))

    def axis(self, axis: int, position: int = 0) -> int:
        """An axis of an input, not negative if the rank is known."""
        rank = self.rank(position)
        return axis + rank if axis < 0 and rank is not None else axis
