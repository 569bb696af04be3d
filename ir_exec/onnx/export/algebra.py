"""Arithmetic of ONNX tensors in Python's notation, for lowerings to several nodes.

    x = given(node)[0]
    y = (x * x).sum([1]).sqrt()

An `Expr` is the name of a value with its dtype; each operation emits one node. Numbers become constants of the dtype of
the other operand. Shapes are i64 vectors: one composition serves static and dynamic shapes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper

from ir_exec.kernels.precision import accumulator, type_limits
from ir_exec.types import Array, ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

__all__ = [
    "BOOL",
    "I64",
    "Expr",
    "Number",
    "Sheet",
    "concat",
    "convert_output",
    "either",
    "input_tensors",
    "loop",
    "maximum",
    "minimum",
    "onnx_type",
    "tensor_names",
    "widen",
]

Number: TypeAlias = "float | int | bool | np.generic | Array"

I64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)


def onnx_type(dtype: Any) -> int:
    """The number of ONNX's element type for a NumPy dtype."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


class Sheet:
    """The graph that receives the nodes of a layer during lowering."""

    def __init__(self, node: ExportNode) -> None:
        self.node = node

    def emit(self, op: str, *inputs: str, dtypes: Sequence[Any], **attributes: Any) -> list[Expr]:
        """The outputs of a new node, with these dtypes."""
        kinds = [ElementType.of_dtype(np.dtype(dtype)) for dtype in dtypes]
        outputs = self.node.emit(op, *inputs, outputs=len(kinds), kinds=kinds, **attributes)
        names = (outputs,) if isinstance(outputs, str) else outputs
        return [Expr(self, name, dtype) for name, dtype in zip(names, dtypes, strict=True)]

    def constant(self, value: Any, dtype: Any = None) -> Expr:
        """A constant; `dtype` defaults to the dtype of the value."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
        return Expr(self, self.node.constant(array), array.dtype)

    def call(self, op: str, *inputs: Expr | None, dtype: Any = None, **attributes: Any) -> Expr:
        """The first output of a node; its dtype defaults to the dtype of the first input."""
        names = ["" if input is None else input.name for input in inputs]
        while names and not names[-1]:
            names.pop()
        if dtype is None:
            dtype = next(input.dtype for input in inputs if input is not None)
        return self.emit(op, *names, dtypes=[dtype], **attributes)[0]

    def ints(self, *parts: int | Expr) -> Expr:
        """A vector of i64 from numbers and tensors of one or more elements."""
        if all(isinstance(part, int) for part in parts):
            return self.constant(np.array(parts, np.int64))
        vectors = [
            part.to(I64).reshape(-1) if isinstance(part, Expr) else self.constant(np.array([part], np.int64))
            for part in parts
        ]
        return concat(vectors, 0) if len(vectors) > 1 else vectors[0]

    def zeros(self, shape: Expr, dtype: Any, value: Number = 0) -> Expr:
        """A tensor filled with one value; `shape` is a vector of i64."""
        element_dtype = np.dtype(dtype)
        if element_dtype.name == "bfloat16" or element_dtype.itemsize < 1:
            return self.zeros(shape, np.float32, value).to(element_dtype)
        fill = onnx.numpy_helper.from_array(np.array([value]).astype(element_dtype))
        return self.call("ConstantOfShape", shape, dtype=element_dtype, value=fill)

    def arange(self, stop: int | Expr, start: int | Expr = 0, step: int = 1) -> Expr:
        """i64 from start to stop, exclusive."""
        if isinstance(stop, int) and isinstance(start, int):
            return self.constant(np.arange(start, stop, step, dtype=np.int64))
        ends = [end.to(I64).reshape() if isinstance(end, Expr) else self.constant(end, I64) for end in (start, stop)]
        return self.call("Range", ends[0], ends[1], self.constant(step, I64))


class Expr:
    """A value of a graph with its dtype."""

    __slots__ = ("dtype", "name", "sheet")

    def __init__(self, sheet: Sheet, name: str, dtype: Any) -> None:
        self.sheet, self.name, self.dtype = sheet, name, np.dtype(dtype)

    def call(self, op: str, *inputs: Expr | None, dtype: Any = None, **attributes: Any) -> Expr:
        """The first output of a node with this value as its first input."""
        return self.sheet.call(op, self, *inputs, dtype=dtype or self.dtype, **attributes)

    def like(self, other: Expr | Number) -> Expr:
        """A number as a constant of this dtype; a tensor unchanged."""
        return other if isinstance(other, Expr) else self.sheet.constant(other, self.dtype)

    def _with(self, op: str, other: Expr | Number, dtype: Any = None) -> Expr:
        return self.call(op, self.like(other), dtype=dtype)

    def _against(self, op: str, other: Number) -> Expr:
        return self.like(other).call(op, self)

    def __add__(self, other: Expr | Number) -> Expr:
        return self._with("Add", other)

    def __radd__(self, other: Number) -> Expr:
        return self._with("Add", other)

    def __sub__(self, other: Expr | Number) -> Expr:
        return self._with("Sub", other)

    def __rsub__(self, other: Number) -> Expr:
        return self._against("Sub", other)

    def __mul__(self, other: Expr | Number) -> Expr:
        return self._with("Mul", other)

    def __rmul__(self, other: Number) -> Expr:
        return self._with("Mul", other)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return self._with("Div", other)

    def __rtruediv__(self, other: Number) -> Expr:
        return self._against("Div", other)

    def __floordiv__(self, other: Expr | Number) -> Expr:
        """The quotient of non-negative integers."""
        return self._with("Div", other)

    def __mod__(self, other: Expr | Number) -> Expr:
        """The remainder of integers, with the sign of the divisor."""
        return self._with("Mod", other)

    def __pow__(self, other: Expr | Number) -> Expr:
        return self._with("Pow", other)

    def __matmul__(self, other: Expr) -> Expr:
        return self.call("MatMul", other)

    def __neg__(self) -> Expr:
        return self.call("Neg")

    def __lt__(self, other: Expr | Number) -> Expr:
        return self._with("Less", other, BOOL)

    def __le__(self, other: Expr | Number) -> Expr:
        return self._with("LessOrEqual", other, BOOL)

    def __gt__(self, other: Expr | Number) -> Expr:
        return self._with("Greater", other, BOOL)

    def __ge__(self, other: Expr | Number) -> Expr:
        return self._with("GreaterOrEqual", other, BOOL)

    def equals(self, other: Expr | Number) -> Expr:
        """A boolean tensor, true for equal elements."""
        return self._with("Equal", other, BOOL)

    def __and__(self, other: Expr) -> Expr:
        return self.call("And", other)

    def __or__(self, other: Expr) -> Expr:
        return self.call("Or", other)

    def __invert__(self) -> Expr:
        return self.call("Not")

    def to(self, dtype: Any) -> Expr:
        """The tensor in another dtype; the tensor itself if it has this dtype."""
        target = np.dtype(dtype)
        return self if target == self.dtype else self.call("Cast", dtype=target, to=onnx_type(target))

    def where(self, yes: Expr | Number, no: Expr | Number) -> Expr:
        """Elements of `yes` where this is true, else of `no`; one of the two is a tensor."""
        operand = yes if isinstance(yes, Expr) else no
        assert isinstance(operand, Expr)
        return self.call("Where", operand.like(yes), operand.like(no), dtype=operand.dtype)

    def sqrt(self) -> Expr:
        return self.call("Sqrt")

    def exp(self) -> Expr:
        return self.call("Exp")

    def log(self) -> Expr:
        return self.call("Log")

    def floor(self) -> Expr:
        return self.call("Floor")

    def ceil(self) -> Expr:
        return self.call("Ceil")

    def rint(self) -> Expr:
        """Round to the nearest integer, ties to even."""
        return self.call("Round")

    def abs(self) -> Expr:
        return self.call("Abs")

    def trunc(self) -> Expr:
        """Round towards zero, as a float."""
        return self.call("Sign") * self.abs().floor()

    def clip(self, lowest: Number | Expr, highest: Number | Expr) -> Expr:
        """Limit to the range between two scalars."""
        return self.call("Clip", self.like(lowest), self.like(highest))

    def at_least(self, other: Expr | Number) -> Expr:
        return self._with("Max", other)

    def at_most(self, other: Expr | Number) -> Expr:
        return self._with("Min", other)

    def sum(self, axes: Sequence[int], keep: bool = True) -> Expr:
        return self.call("ReduceSum", self.sheet.ints(*axes), keepdims=int(keep))

    def mean(self, axes: Sequence[int], keep: bool = True) -> Expr:
        return self._by_attribute("ReduceMean", axes, keep)

    def max(self, axes: Sequence[int], keep: bool = True) -> Expr:
        return self._by_attribute("ReduceMax", axes, keep)

    def min(self, axes: Sequence[int], keep: bool = True) -> Expr:
        return self._by_attribute("ReduceMin", axes, keep)

    def _by_attribute(self, op: str, axes: Sequence[int], keep: bool) -> Expr:
        """Reductions other than ReduceSum, whose axes are an attribute before opset 18."""
        if self.sheet.node.opset < 18:
            return self.call(op, axes=list(axes), keepdims=int(keep))
        return self.call(op, self.sheet.ints(*axes), keepdims=int(keep))

    def cumsum(self, axis: int, exclusive: bool = False) -> Expr:
        return self.call("CumSum", self.sheet.constant(axis, I64), exclusive=int(exclusive))

    def argmax(self, axis: int, keep: bool = True) -> Expr:
        return self.call("ArgMax", dtype=I64, axis=axis, keepdims=int(keep))

    def topk(self, k: int | Expr, axis: int = -1, largest: bool = True) -> tuple[Expr, Expr]:
        """The k largest or smallest values, best first, and their indices."""
        count = self.sheet.ints(k)
        values, indices = self.sheet.emit(
            "TopK", self.name, count.name, dtypes=[self.dtype, I64], axis=axis, largest=int(largest), sorted=1
        )
        return values, indices

    def shape(self) -> Expr:
        """The dims as a vector of i64."""
        return self.call("Shape", dtype=I64)

    def dim(self, axis: int) -> Expr:
        """The size of one axis as a vector of one element."""
        return self.call("Shape", dtype=I64, start=axis, end=None if axis == -1 else axis + 1)

    def reshape(self, *dims: int | Expr) -> Expr:
        """Reshape to these dims, vectors or numbers; 0 is a size and copies no dim."""
        shape = self.sheet.ints(*dims) if dims else self.sheet.constant(np.array([], np.int64))
        return self.call("Reshape", shape, allowzero=1) if -1 not in dims else self.call("Reshape", shape)

    def transpose(self, *order: int) -> Expr:
        return self if list(order) == sorted(order) else self.call("Transpose", perm=list(order))

    def unsqueeze(self, *axes: int) -> Expr:
        return self.call("Unsqueeze", self.sheet.ints(*axes))

    def squeeze(self, *axes: int) -> Expr:
        return self.call("Squeeze", self.sheet.ints(*axes))

    def expand(self, *dims: int | Expr) -> Expr:
        return self.call("Expand", self.sheet.ints(*dims))

    def expand_to(self, shape: Expr) -> Expr:
        return self.call("Expand", shape)

    def tile(self, *times: int | Expr) -> Expr:
        return self.call("Tile", self.sheet.ints(*times))

    def gather(self, indices: Expr | int | Sequence[int], axis: int = 0) -> Expr:
        """Slices along an axis; a number as index removes the axis."""
        which = indices if isinstance(indices, Expr) else self.sheet.constant(indices, I64)
        return self.call("Gather", which, axis=axis)

    def take_along(self, indices: Expr, axis: int) -> Expr:
        return self.call("GatherElements", indices, axis=axis)

    def gather_nd(self, indices: Expr, batch: int = 0) -> Expr:
        return self.call("GatherND", indices, batch_dims=batch)

    def slice(self, axis: int, start: int | Expr, stop: int | Expr, step: int = 1) -> Expr:
        """Elements from start to stop, exclusive, of one axis."""
        ints = self.sheet.ints
        return self.call("Slice", ints(start), ints(stop), ints(axis), ints(step))

    def flip(self, axis: int) -> Expr:
        return self.slice(axis, -1, -(2**62), -1)

    def pad(self, begins: Sequence[int | Expr], ends: Sequence[int | Expr], value: Number = 0) -> Expr:
        """Pad with a constant value."""
        return self.call(
            "Pad", self.sheet.ints(*begins, *ends), self.sheet.constant(value, self.dtype), mode="constant"
        )

    def split(self, sizes: Sequence[int], axis: int) -> list[Expr]:
        """Slices of these sizes along an axis."""
        starts = [0, *np.cumsum(sizes).tolist()]
        return [self.slice(axis, start, stop) for start, stop in itertools.pairwise(starts)]


def concat(parts: Sequence[Expr], axis: int) -> Expr:
    """Concatenate tensors of one dtype along an axis."""
    return parts[0] if len(parts) == 1 else parts[0].call("Concat", *parts[1:], axis=axis)


def minimum(left: Expr, right: Expr) -> Expr:
    """The element-wise minimum."""
    return left.call("Min", right)


def maximum(left: Expr, right: Expr) -> Expr:
    """The element-wise maximum."""
    return left.call("Max", right)


def loop(
    trips: Expr,
    carried: Sequence[Expr],
    body: Callable[
        ...,
        tuple[Sequence[Expr], Sequence[Expr]] | tuple[Sequence[Expr], Sequence[Expr], Expr],
    ],
    stacked_ranks: Sequence[int] = (),
) -> list[Expr]:
    """The carried values after all iterations, and the stacked values of each iteration.

    Args:
        trips: The number of iterations.
        body: Computes the next carried values, the values to stack and, if the loop may end early, the condition to
            continue, from the index of the iteration and the carried values. It may read any tensor created before.
    """
    sheet, writer = trips.sheet, trips.sheet.node.writer
    number, going = _fresh(sheet, "i", I64), _fresh(sheet, "going", BOOL)
    before = [_fresh(sheet, "carried", tensor.dtype) for tensor in carried]
    with writer.inside() as scope:
        after, stacked, *more = body(number, *before)
        # An output of a body must not be its input or an outer value.
        ends = [tensor.call("Identity") for tensor in (*after, *stacked)]
        keep = (more[0].reshape() if more else going).call("Identity")
    inputs = [_info(number, []), _info(going, []), *[_info(tensor) for tensor in before]]
    unknown = len(ends) - len(stacked_ranks)
    shapes = [*([None] * unknown), *([None] * rank for rank in stacked_ranks)]
    outputs = [_info(keep), *[_info(tensor, shape) for tensor, shape in zip(ends, shapes, strict=True)]]
    graph = writer.graph("body", scope, inputs, outputs)
    names = [trips.reshape().name, "", *[tensor.name for tensor in carried]]
    return sheet.emit("Loop", *names, dtypes=[end.dtype for end in ends], body=graph)


def either(condition: Expr, yes: Callable[[], Sequence[Expr]], no: Callable[[], Sequence[Expr]]) -> list[Expr]:
    """The tensors of one of two functions; only the selected ones are computed."""
    sheet, writer, graphs = condition.sheet, condition.sheet.node.writer, []
    dtypes: list[Any] = []
    for name, function in (("yes", yes), ("no", no)):
        with writer.inside() as scope:
            ends = [tensor.call("Identity") for tensor in function()]
        graphs.append(writer.graph(name, scope, [], [_info(end) for end in ends]))
        dtypes = [end.dtype for end in ends]
    return sheet.emit("If", condition.reshape().name, dtypes=dtypes, then_branch=graphs[0], else_branch=graphs[1])


def _fresh(sheet: Sheet, name: str, dtype: Any) -> Expr:
    """An input of a body."""
    writer = sheet.node.writer
    tensor = Expr(sheet, writer.unique(f"{sheet.node.name}/{name}"), dtype)
    writer.codes[tensor.name] = writer.code(ElementType.of_dtype(tensor.dtype))
    return tensor


def _info(value: Expr, shape: Sequence[int | None] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, onnx_type(value.dtype), shape)


def input_tensors(node: ExportNode) -> list[Expr]:
    """The inputs of a node as tensors, including missing ones; use `node.types` for their shapes."""
    sheet = Sheet(node)
    return [
        Expr(sheet, name, tensor_type.element_type.dtype)
        for name, tensor_type in zip(node.inputs, node.types, strict=True)
    ]


def tensor_names(*values: Expr) -> tuple[str, ...]:
    """The names of tensors."""
    return tuple(value.name for value in values)


def widen(value: Expr) -> Expr:
    """The tensor in the dtype of its sums and products."""
    return value.to(accumulator(value.dtype))


def convert_output(value: Expr, dtype: np.dtype[Any]) -> Expr:
    """The tensor in the dtype of an output; conversion to integers truncates, 8-bit integers saturate."""
    element_type = ElementType.of_dtype(np.dtype(dtype))
    if value.dtype == dtype or not element_type.is_integer:
        return value.to(dtype)
    if element_type.bits <= 8:
        lowest, highest = type_limits(np.dtype(dtype))
        return value.clip(int(lowest), int(highest)).to(np.int32).to(dtype)
    return value.to(np.int64 if element_type.is_signed else np.uint64).to(dtype)
