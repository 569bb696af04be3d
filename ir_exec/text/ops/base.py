"""Base of the operators of openvino_tokenizers: registration, inputs by generation, and strings in tensors.

A string tensor is three tensors: `begins` and `ends` (i32, the shape of the strings) and `chars` (u8, UTF-8). String i
is `chars[begins[i]:ends[i]]`. A ragged tensor has two more tensors in front, `ragged_begins` and `ragged_ends` (i32):
row i contains the elements from `ragged_begins[i]` to `ragged_ends[i]`.

Releases of openvino_tokenizers added inputs to operators. The number of inputs determines the generation of a layer.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, GraphError, IRError, ReportFault
from ir_exec.kernels.limits import MemoryMeter, current_limits, owner_of
from ir_exec.kernels.strings import STRING_BYTES
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.ops.base.registry import provide_extension
from ir_exec.ops.base.shapes import require_rank
from ir_exec.text.tokenizers.patterns import refusal
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "RAGGED_STRINGS",
    "STRINGS",
    "GrowingVector",
    "TextOp",
    "bytes_of",
    "kept_with",
    "ragged_type",
    "strings_of",
    "strings_type",
    "text_op",
]

STRINGS = ("begins", "ends", "chars")
RAGGED_STRINGS = ("ragged_begins", "ragged_ends", *STRINGS)

I32, U8, BOOLEAN = ElementType.i32, ElementType.u8, ElementType.boolean

_KINDS = {"chars": U8, "pattern": U8, "replacement": U8, "skips": BOOLEAN}
"""The element type of an input by the last word of its name; all others are i32."""

Class = TypeVar("Class", bound=type[Op])
Made = TypeVar("Made")


def text_op(type_name: str, *, version: str = "extension") -> Callable[[Class], Class]:
    """Use the class for layers of this type and version, unless a user registers another class."""

    def decorate(cls: Class) -> Class:
        check_contract(cls, type_name)
        provide_extension(cls, type_name, version)
        return cls

    return decorate


class TextOp(Op):
    """An operator whose inputs depend on its generation.

    Attributes:
        generations: The names of the inputs of each generation; the numbers of inputs differ. `infer_inputs` and
            `evaluate_inputs` receive them as keywords; inputs that a generation does not have are None.
        any_kind: Inputs whose element type is not checked here.
        algorithm: The name of the algorithm that finds the tokens of strings; "" for other operators.
        token_input: The input with the tokens of the vocabulary; "" if the index of an entry is its token.
    """

    inputs = (In("inputs", variadic=True, mixed=True),)
    generations: ClassVar[tuple[tuple[str, ...], ...]]
    any_kind: ClassVar[frozenset[str]] = frozenset()
    algorithm: ClassVar[str] = ""
    token_input: ClassVar[str] = ""

    infer_inputs: ClassVar[Callable[..., Any]]
    evaluate_inputs: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: TensorType) -> Any:
        return self.infer_inputs(**self.inputs_by_name(inputs))

    def evaluate(self, *inputs: Array) -> Any:
        return self.evaluate_inputs(**self.inputs_by_name(inputs))

    @classmethod
    def generation(cls, count: int) -> tuple[str, ...]:
        """Return the names of `count` inputs; empty if no generation has this number of inputs."""
        return next((names for names in cls.generations if len(names) == count), ())

    def inputs_by_name(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """Return the inputs by name; None for inputs that only other generations have."""
        every = dict.fromkeys(name for names in self.generations for name in names)
        return every | dict(zip(self.generation(len(inputs)), inputs, strict=True))

    def check_values(self, *types: TensorType) -> list[IRError]:
        pattern = self.inputs_by_name(types).get("pattern")
        value = None if pattern is None else pattern.value
        reason = None if value is None else refusal(bytes_of(value))
        if reason is None:
            return []
        message = f"the pattern cannot be compiled, and OpenVINO ignores it: {reason}"
        return [EvaluationError(message, code=Code.ignored_pattern, port="pattern", severity="warning")]

    def check_inputs(self, types: list[TensorType], report: ReportFault) -> bool:
        names = self.generation(len(types))
        if not names:
            counts = " or ".join(str(count) for count in sorted({len(names) for names in self.generations}))
            code = Code.wrong_number_of_inputs
            report(GraphError("the layer has", actual=len(types), detail="inputs", expected=counts, code=code))
            return False
        sound = True
        for name, tensor in zip(names, types, strict=True):
            expected = _KINDS.get(name.rpartition("_")[2], I32)
            if name not in self.any_kind and tensor.element_type not in (expected, ElementType.dynamic):
                report(ElementTypeError(f"{name} is", actual=tensor.element_type, expected=expected, port=name))
                sound = False
        return sound


def strings_type(shape: Shape) -> tuple[TensorType, TensorType, TensorType]:
    """Return the types of `begins`, `ends` and `chars` for strings of this shape."""
    places = TensorType(I32, shape)
    return places, places, TensorType(U8, Shape([Dim.any()]))


def ragged_type(shape: Shape, element_type: ElementType) -> tuple[TensorType, TensorType, TensorType]:
    """Return the types of a ragged tensor with rows of this shape and elements of this element type."""
    places = TensorType(I32, shape)
    return places, places, TensorType(element_type, Shape([Dim.any()]))


def require_vector(tensor: TensorType | None, name: str) -> None:
    """Raise ShapeError for a tensor that is not a vector, such as patterns and characters."""
    if tensor is not None:
        require_rank(tensor, 1, name)


def bytes_of(array: Array) -> bytes:
    """Return the bytes of a vector of u8."""
    return array.tobytes()


def strings_of(begins: Array, ends: Array, chars: Array, name: str = "begins") -> list[bytes]:
    """Return the strings in the order of memory.

    Strings may overlap, so that together they may be far longer than `chars`.

    Raises:
        EvaluationError: IR701 if one is not within `chars`, IR704 for different numbers of begins and ends.
        ResourceError: If they exceed the memory budget.
    """
    size = chars.size
    for places, which in ((begins, name), (ends, name.replace("begins", "ends"))):
        if places.size and (int(places.min()) < 0 or int(places.max()) > size):
            outside = int(places.min()) if int(places.min()) < 0 else int(places.max())
            raise EvaluationError(
                f"{which} contains",
                actual=outside,
                expected=f"0 to {size}",
                reason="the length of chars",
                code=Code.index_out_of_range,
                port=which,
            )
    if begins.size != ends.size:
        raise EvaluationError(
            "the sizes of begins and ends are",
            actual=f"{begins.size} and {ends.size}",
            expected="equal sizes",
            code=Code.bad_value,
            port=name,
        )
    lengths = ends.ravel().astype(np.int64) - begins.ravel()
    current_limits().require(int(lengths[lengths > 0].sum()) + STRING_BYTES * lengths.size)
    data = bytes_of(chars)
    return [data[begin:end] for begin, end in zip(begins.ravel().tolist(), ends.ravel().tolist(), strict=True)]


def rows_of(ragged_begins: Array, ragged_ends: Array, count: int) -> list[tuple[int, int]]:
    """Return begin and end of each row; EvaluationError (IR701) if one is not within the `count` elements."""
    current_limits().require(_ROW_BYTES * ragged_begins.size)
    rows = list(zip(ragged_begins.ravel().tolist(), ragged_ends.ravel().tolist(), strict=False))
    if ragged_begins.size != ragged_ends.size:
        raise EvaluationError(
            "the sizes of ragged_begins and ragged_ends are",
            actual=f"{ragged_begins.size} and {ragged_ends.size}",
            expected="equal sizes",
            code=Code.bad_value,
            port="ragged_ends",
        )
    for begin, end in rows:
        if not (0 <= begin <= end <= count) and begin < end:
            raise EvaluationError(
                "a row is from",
                actual=f"{begin} to {end}",
                expected=f"0 to {count}",
                reason="the number of elements",
                code=Code.index_out_of_range,
                port="ragged_begins",
            )
    return rows


_ROW_BYTES = 128
"""Bytes of a row in a list: a pair of integers."""


class GrowingVector:
    """A vector of i32 that grows within the memory budget of the run.

    Args:
        meter: Counts the memory of the vectors of a layer; its memory is counted alone by default.
    """

    __slots__ = ("_elements", "_meter")

    def __init__(self, meter: MemoryMeter | None = None) -> None:
        self._elements = array("i")
        self._meter = meter or MemoryMeter()

    def __len__(self) -> int:
        return len(self._elements)

    def append(self, element: int) -> None:
        """Append an element."""
        self._meter.add(_ELEMENT_BYTES)
        self._elements.append(element)

    def extend(self, elements: Sequence[int]) -> None:
        """Append elements."""
        self._meter.add(_ELEMENT_BYTES * len(elements) + 1)
        self._elements.extend(elements)

    def array(self, shape: tuple[int, ...] = (-1,)) -> Array:
        """Return the vector, without a copy; it cannot grow afterwards."""
        return np.frombuffer(self._elements, np.int32).reshape(shape)


_ELEMENT_BYTES = 5
"""Bytes of an element of a growing vector, with its reserve."""


def vector(values: Sequence[int], dtype: Any = np.int32) -> Array:
    """Return a vector of these values."""
    return np.array(values, dtype)


_made: dict[tuple[object, ...], tuple[list[weakref.ref[Array]], Any]] = {}
"""Objects made from constant inputs, by the addresses of their memory, and the arrays that own this memory."""


def kept_with(arrays: Sequence[Array | None], key: object, make: Callable[[], Made]) -> Made:
    """Return the result of `make`, cached for immutable inputs: a vocabulary is read once.

    The result is cached as long as the memory of the arrays exists.
    """
    present = [array for array in arrays if array is not None]
    owners = [owner_of(array) for array in present]
    if any(array.flags.writeable for array in present) or any(owner.flags.writeable for owner in owners):
        return make()
    places = (key, *[(array.__array_interface__["data"][0], array.shape, array.strides) for array in present])
    entry = _made.get(places)
    if entry is not None and all(reference() is not None for reference in entry[0]):
        return entry[1]  # type: ignore[no-any-return]  # the key determines the type
    result = make()
    _made[places] = ([weakref.ref(owner, lambda _: _made.pop(places, None)) for owner in owners], result)
    return result
