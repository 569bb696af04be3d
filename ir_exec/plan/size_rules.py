"""Rules for the sizes of outputs, from an inference with traced sizes.

An inference need not be repeated for other sizes to which its rule applies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

import numpy as np

from ir_exec.errors import IRError
from ir_exec.types import Array, Bounds, Dim, ElementType, Shape, TensorType
from ir_exec.types.traced_size import SizeTrace, TracedSize

__all__ = ["SizeRule", "SizeRules", "trace_rule"]

MOST_RULES = 8
"""Maximum number of rules of a layer. Sizes of 0 and 1 often have separate ones."""

MOST_ELEMENTS = 32
"""Maximum elements of an input whose values are traced."""

MOST_GUARDS = 64
"""Maximum comparisons of a rule."""

_Evaluate: TypeAlias = Callable[..., int]


@dataclass(slots=True)
class SizeRule:
    """The sizes for which an inference takes the same branches.

    Attributes:
        evaluate: Returns the bytes of the outputs for input arrays; -1 if the rule does not apply to them.
        elements: The inputs whose elements the inference uses.
        is_verified: An inference of other arrays had the predicted result.
    """

    evaluate: _Evaluate
    elements: frozenset[int]
    is_verified: bool = False


class SizeRules:
    """The rules of a layer, the latest first.

    Args:
        fixed: The types of the inputs, by position, that are the same arrays in every call.
        infer_bytes: Infers the outputs for types of the inputs, and returns their bytes.
    """

    __slots__ = ("_fixed", "_has_inferred", "_infer_bytes", "_may_trace", "_rules")

    def __init__(self, fixed: Mapping[int, TensorType], infer_bytes: Callable[[list[TensorType]], int]) -> None:
        self._fixed = fixed
        self._infer_bytes = infer_bytes
        self._rules: list[SizeRule] = []
        self._has_inferred = False
        self._may_trace = True

    def match(self, arrays: Sequence[Array]) -> tuple[int, SizeRule] | None:
        """Return the bytes of the outputs and the verified rule for these arrays; None without a rule."""
        for rule in self._rules:
            size = rule.evaluate(*arrays)
            if size >= 0 and rule.is_verified:
                return size, rule
        return None

    def verify(self, arrays: Sequence[Array], size: int) -> None:
        """Compare the rules with the bytes of an ordinary inference."""
        self._has_inferred = True
        for rule in self._rules.copy():
            predicted = rule.evaluate(*arrays)
            if predicted == size:
                rule.is_verified = True
            elif predicted >= 0:
                self._rules.remove(rule)
                self._may_trace = False

    def trace(self, arrays: Sequence[Array]) -> tuple[int, SizeRule] | None:
        """Return the bytes of the outputs and a new rule; None if the layer needs an ordinary inference.

        The first inference, and the first one to which a rule applies, are ordinary ones.
        """
        if not (self._has_inferred and self._may_trace) or len(self._rules) >= MOST_RULES:
            return None
        if any(rule.evaluate(*arrays) >= 0 for rule in self._rules):
            return None
        rule = trace_rule(arrays, self._fixed, self._infer_bytes)
        size = -1 if rule is None else rule.evaluate(*arrays)
        if rule is None or size < 0:
            self._may_trace = False
            return None
        self._rules.insert(0, rule)
        return size, rule


def trace_rule(
    arrays: Sequence[Array], fixed: Mapping[int, TensorType], infer_bytes: Callable[[list[TensorType]], int]
) -> SizeRule | None:
    """Infer with traced sizes; None if the inference cannot be traced, or fails."""
    if not all(map(_has_traceable_type, arrays)):
        return None
    trace = SizeTrace()
    elements: set[int] = set()
    types = [
        fixed.get(position) or _traced_type(trace, array, position, elements) for position, array in enumerate(arrays)
    ]
    try:
        size: int | TracedSize = infer_bytes(types)
    except (IRError, TypeError):
        return None
    if len(trace.guards) > MOST_GUARDS:
        return None
    tests = [
        _test_of_type(array, position, has_elements=position in elements)
        for position, array in enumerate(arrays)
        if position not in fixed
    ]
    code = size.code if isinstance(size, TracedSize) else str(size)
    evaluate = _compile_rule(len(arrays), " and ".join([*tests, *trace.guards]) or "True", code)
    return SizeRule(evaluate, frozenset(elements))


def _traced_type(trace: SizeTrace, array: Array, position: int, elements: set[int]) -> TensorType:
    """The type of an array with traced dims, which records in `elements` that its elements were used."""

    def bounds() -> Bounds:
        if array.size > MOST_ELEMENTS or array.dtype.kind not in "iu":
            raise TypeError("elements cannot be traced")
        elements.add(position)
        traced = np.empty(array.size, object)
        for index, element in enumerate(array.ravel().tolist()):
            traced[index] = TracedSize(trace, element, f"v{position}[{index}]", is_natural=False)
        values = traced.reshape(array.shape)
        return values, values

    sizes = [TracedSize(trace, size, f"s{position}[{axis}]", is_natural=True) for axis, size in enumerate(array.shape)]
    # Dims compute with traced sizes as with integers.
    return TensorType(ElementType.of(array), Shape([Dim(cast(int, size)) for size in sizes]), bounds)


def _test_of_type(array: Array, position: int, *, has_elements: bool) -> str:
    """The condition that an input has the dtype and the rank of an array, with names for its sizes and elements."""
    test = f"a{position}.dtype == {_dtype_name(array.dtype)} and len(s{position} := a{position}.shape) == {array.ndim}"
    if not has_elements:
        return test
    return f"{test} and s{position} == {array.shape} and (v{position} := a{position}.ravel().tolist()) is not None"


def _has_traceable_type(array: Array) -> bool:
    """Return True for numbers of a native type, which its number in NumPy identifies."""
    return array.dtype.isnative and array.dtype.kind in "biufcV" and array.dtype.names is None


def _dtype_name(dtype: np.dtype[Any]) -> str:
    name = f"dtype{dtype.num}"
    _NAMES[name] = dtype
    return name


_NAMES: dict[str, Any] = {"__builtins__": {}, "len": len}
"""The names in rules."""


@lru_cache(2**10)
def _compile_rule(inputs: int, condition: str, size: str) -> _Evaluate:
    """Compile a rule; layers of the same operator often have the same one."""
    parameters = ", ".join(f"a{position}" for position in range(inputs))
    # The source has sizes, comparisons and arithmetic only, none of it from the file.
    evaluate: _Evaluate = eval(f"lambda {parameters}: {size} if {condition} else -1", _NAMES)
    return evaluate
