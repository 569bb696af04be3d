"""Declarative constraints of ONNX operators on their inputs and attributes.

    CONSTRAINTS = {"Gemm": [rank("A", 2), rank("B", 2)], "LpNormalization": [one_of("p", 1, 2)]}

A declaration refers to inputs and attributes by their names in ONNX's text, and returns the error for a node that
violates it. It returns None if a shape or a constant that it needs is unknown, or an attribute has another type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, InvalidAttributeError, IRError, ShapeError
from ir_exec.onnx.lowering.values import GraphValue
from ir_exec.report.numbers import format_count
from ir_exec.types import Array, Shape

__all__ = [
    "Constraint",
    "NodeFacts",
    "at_least",
    "between",
    "each_at_least",
    "elements",
    "exactly_one",
    "expected",
    "from_opset",
    "indices_within",
    "least_rank",
    "length",
    "one_of",
    "output_for",
    "permutation",
    "positive",
    "rank",
    "same_rank",
    "same_shape",
    "same_size",
    "scalars",
    "together",
    "until_opset",
    "vectors",
    "when_computed",
    "zero_point",
]


class NodeFacts:
    """A node, as seen by its constraints.

    Attributes:
        inputs: The inputs by ONNX's names.
        attributes: The attributes of the node, and the defaults of its version.
    """

    def __init__(
        self, type: str, opset: int, inputs: Mapping[str, GraphValue], attributes: Mapping[str, Any], outputs: int
    ) -> None:
        self.type = type
        self.opset = opset
        self.inputs = inputs
        self.attributes = attributes
        self.outputs = outputs

    def tensor(self, name: str) -> Value | None:
        """The input of this name; None if it is missing, or not a tensor of an element type of IR."""
        value = self.inputs.get(name)
        return value if isinstance(value, Value) else None

    def has(self, name: str) -> bool:
        """Return True if the node has this input or attribute; an empty tensor counts as missing."""
        value = self.inputs.get(name)
        if isinstance(value, Value):
            return not (value.type.shape.is_static and value.type.shape.static == (0,))
        return value is not None or name in self.attributes

    def rank(self, name: str) -> int | None:
        tensor = self.tensor(name)
        return None if tensor is None else tensor.type.rank

    def size(self, name: str, axis: int) -> int | None:
        """The size of an axis of an input, if known."""
        tensor, rank = self.tensor(name), self.rank(name)
        if tensor is None or rank is None or not -rank <= axis < rank:
            return None
        dim = tensor.type.shape[axis]
        return dim.size if dim.is_static else None

    def constant(self, name: str) -> Array | None:
        tensor = self.tensor(name)
        return None if tensor is None else tensor.constant

    def shown(self, name: str) -> str:
        """The shape of an input for messages."""
        tensor = self.tensor(name)
        return "?" if tensor is None else str(tensor.type.shape)


Constraint: TypeAlias = Callable[[NodeFacts], IRError | None]


def from_opset(least: int, *constraints: Constraint) -> Constraint:
    """Constraints for versions since this opset."""
    return lambda facts: _first(constraints, facts) if facts.opset >= least else None


def until_opset(most: int, *constraints: Constraint) -> Constraint:
    """Constraints for versions up to this opset."""
    return lambda facts: _first(constraints, facts) if facts.opset <= most else None


def _first(constraints: Iterable[Constraint], facts: NodeFacts) -> IRError | None:
    return next((error for error in (constraint(facts) for constraint in constraints) if error is not None), None)


def expected(*constraints: Constraint) -> Constraint:
    """Constraints whose violation is a warning: the meaning of the node is clear, but onnxruntime rejects the file."""

    def check(facts: NodeFacts) -> IRError | None:
        error = _first(constraints, facts)
        if error is None:
            return None
        return error.changed(severity="warning", hint="reshape the input: onnxruntime rejects this file")

    return check


def scalars(*names: str) -> list[Constraint]:
    """Inputs are scalars by ONNX's text; another rank is a warning."""
    return [expected(rank(name, 0)) for name in names]


def vectors(*names: str) -> list[Constraint]:
    """Inputs are vectors by ONNX's text; another rank is a warning."""
    return [expected(rank(name, 1)) for name in names]


def when_computed(name: str, *constraints: Constraint) -> Constraint:
    """Constraints on an input that is no constant: onnxruntime accepts constants that violate them."""
    return lambda facts: _first(constraints, facts) if facts.constant(name) is None else None


def one_of(name: str, *allowed: Any) -> Constraint:
    """An attribute is one of these values, or a list of them."""

    def check(facts: NodeFacts) -> IRError | None:
        value = facts.attributes.get(name)
        for element in _as_list(value):
            if isinstance(element, type(allowed[0])) and element not in allowed:
                return _attribute(f"{name} is", actual=repr(value), expected=", ".join(map(repr, allowed)))
        return None

    return check


def at_least(name: str, least: float) -> Constraint:
    """An attribute, or each element of it, is at least this number."""

    def check(facts: NodeFacts) -> IRError | None:
        value = facts.attributes.get(name)
        for element in _as_list(value):
            if isinstance(element, (int, float)) and not element >= least:
                return _attribute(f"{name} is", actual=_as_text(value), expected=f"at least {least}")
        return None

    return check


def positive(*names: str) -> Constraint:
    """Integers, or lists of integers, are positive."""
    checks = [at_least(name, 1) for name in names]
    return lambda facts: _first(checks, facts)


def length(name: str, like: str, *, less: int = 0, times: int = 1) -> Constraint:
    """An attribute, or a constant or an input of known size, has as many elements as an input has axes.

    Args:
        less: The number of axes that are not counted.
        times: The number of elements for each axis.
    """

    def check(facts: NodeFacts) -> IRError | None:
        rank = facts.rank(like)
        count = len(facts.attributes[name]) if name in facts.attributes else facts.size(name, 0)
        if rank is None or not count or count == (rank - less) * times:
            return None
        is_attribute = name in facts.attributes
        error = InvalidAttributeError if is_attribute else ShapeError
        return error(
            f"{name} has",
            actual=count,
            detail="elements",
            expected=(rank - less) * times,
            reason=f" for {like} of rank {rank}",
            code=Code.invalid_attribute if is_attribute else Code.dims_differ,
            port=None if is_attribute else name,
        )

    return check


def permutation(name: str, like: str) -> Constraint:
    """An attribute lists each axis of an input once."""

    def check(facts: NodeFacts) -> IRError | None:
        axes, rank = facts.attributes.get(name), facts.rank(like)
        if not axes or (sorted(axes) == list(range(len(axes))) and rank in (None, len(axes))):
            return None
        expected = f"each of 0 to {len(axes) - 1 if rank is None else rank - 1} once"
        return _attribute(f"{name} is", actual=_as_text(axes), expected=expected)

    return check


def exactly_one(*names: str) -> Constraint:
    """Exactly one of these inputs and attributes is given."""

    def check(facts: NodeFacts) -> IRError | None:
        present = [name for name in names if facts.has(name)]
        if len(present) == 1:
            return None
        state = "both are given" if present else "neither is given"
        return GraphError(f"of {' and '.join(names)} {state}", expected="one", code=Code.wrong_number_of_inputs)

    return check


def together(*names: str) -> Constraint:
    """All of these inputs are given, or none."""

    def check(facts: NodeFacts) -> IRError | None:
        present = [name for name in names if facts.inputs.get(name) is not None]
        if len(present) in (0, len(names)):
            return None
        lacking = next(name for name in names if name not in present)
        return GraphError(
            f"{present[0]} is given without {lacking}",
            expected="both or neither",
            code=Code.wrong_number_of_inputs,
            port=lacking,
        )

    return check


def output_for(name: str, position: int, output: str) -> Constraint:
    """A node with this input has the output at this position."""

    def check(facts: NodeFacts) -> IRError | None:
        if facts.inputs.get(name) is None or facts.outputs > position:
            return None
        return GraphError(
            f"{name} is given", expected=f"the output {output} too", code=Code.wrong_number_of_inputs, port=name
        )

    return check


def rank(name: str, *allowed: int) -> Constraint:
    """An input has one of these ranks."""

    def check(facts: NodeFacts) -> IRError | None:
        actual = facts.rank(name)
        if actual is None or actual in allowed:
            return None
        return _rank(facts, name, " or ".join(map(str, allowed)))

    return check


def least_rank(name: str, least: int) -> Constraint:
    """An input has at least this rank."""

    def check(facts: NodeFacts) -> IRError | None:
        actual = facts.rank(name)
        return None if actual is None or actual >= least else _rank(facts, name, f"{least} or more")

    return check


def same_rank(name: str, like: str) -> Constraint:
    """Two inputs have the same rank."""

    def check(facts: NodeFacts) -> IRError | None:
        actual, expected = facts.rank(name), facts.rank(like)
        if actual is None or expected is None or actual == expected:
            return None
        return _rank(facts, name, str(expected), f"the rank of {like} of shape {facts.shown(like)}")

    return check


def same_size(name: str, axis: int, like: str, other: int) -> Constraint:
    """An axis of an input has the size of an axis of another input."""

    def check(facts: NodeFacts) -> IRError | None:
        actual, expected = facts.size(name, axis), facts.size(like, other)
        if actual is None or expected is None or actual == expected:
            return None
        return ShapeError(
            f"axis {axis} of {name} has size",
            actual=actual,
            expected=expected,
            reason=f"the size of axis {other} of {like}",
            code=Code.dims_differ,
            port=name,
        )

    return check


def same_shape(name: str, like: str) -> Constraint:
    """Two inputs have the same shape."""

    def check(facts: NodeFacts) -> IRError | None:
        actual, expected = facts.tensor(name), facts.tensor(like)
        if actual is None or expected is None or (actual.type.shape & expected.type.shape) is not None:
            return None
        return ShapeError(
            f"{name} has shape",
            actual=facts.shown(name),
            expected=facts.shown(like),
            reason=f"the shape of {like}",
            code=Code.dims_differ,
            port=name,
        )

    return check


def zero_point(name: str, scale: str) -> Constraint:
    """A zero point has the shape of its scale; either may have rank 0 or 1 if it has one element."""
    alike = same_shape(name, scale)

    def check(facts: NodeFacts) -> IRError | None:
        return None if _is_one(facts.tensor(name)) and _is_one(facts.tensor(scale)) else alike(facts)

    return check


def _is_one(value: Value | None) -> bool:
    """Return True for a tensor that may have one element and rank 0 or 1."""
    return value is not None and any((value.type.shape & Shape(dims)) is not None for dims in ((), (1,)))


def elements(name: str, count: int) -> Constraint:
    """An input has this number of elements."""

    def check(facts: NodeFacts) -> IRError | None:
        tensor = facts.tensor(name)
        if tensor is None or not tensor.type.shape.is_static or math.prod(tensor.type.shape.static) == count:
            return None
        return ShapeError(
            f"{name} has shape",
            actual=facts.shown(name),
            expected=format_count(count, "element"),
            code=Code.dims_differ,
            port=name,
        )

    return check


def between(name: str, least: float, most: float) -> Constraint:
    """Every element of a constant input is in this range."""

    def check(facts: NodeFacts) -> IRError | None:
        array = facts.constant(name)
        if array is None or array.dtype.kind not in "iuf" or ((array >= least) & (array <= most)).all():
            return None
        worst = array[~((array >= least) & (array <= most))][0]
        return EvaluationError(
            f"{name} is", actual=worst, expected=f"{least} to {most}", code=Code.bad_value, port=name
        )

    return check


def each_at_least(name: str, least: float) -> Constraint:
    """Every element of a constant input is at least this number."""
    return between(name, least, float("inf"))


def indices_within(name: str, data: str, *, axis: str | None = None) -> Constraint:
    """Every element of constant indices is within an axis of the data; negative ones count from the end.

    Args:
        axis: The attribute that selects the axis. Without it the last axis of the indices has tuples, one index for
            each of the first axes of the data, after the axes of `batch_dims`.
    """

    def check(facts: NodeFacts) -> IRError | None:
        indices, data_rank = facts.constant(name), facts.rank(data)
        if indices is None or data_rank is None or indices.dtype.kind not in "iu" or not indices.size:
            return None
        if axis is not None:
            return _outside(facts, name, data, indices, facts.attributes.get(axis, 0))
        first = facts.attributes.get("batch_dims", 0)
        columns = (_outside(facts, name, data, indices[..., at], first + at) for at in range(indices.shape[-1]))
        return next((error for error in columns if error is not None), None) if indices.ndim else None

    return check


def _outside(facts: NodeFacts, name: str, data: str, indices: Array, axis: int) -> IRError | None:
    size = facts.size(data, axis)
    if size is None:
        return None
    wrong = (indices < -size) | (indices >= size)
    if not wrong.any():
        return None
    return EvaluationError(
        f"{name} contains",
        actual=indices[wrong][0],
        expected=f"{-size} to {size - 1}",
        reason=f" for axis {axis} of {data}",
        code=Code.index_out_of_range,
        port=name,
    )


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else () if value is None else (value,)


def _as_text(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, (tuple, list)) else str(value)


def _attribute(text: str, actual: object, expected: object, reason: str | None = None) -> InvalidAttributeError:
    return InvalidAttributeError(text, actual=actual, expected=expected, reason=reason, code=Code.invalid_attribute)


def _rank(facts: NodeFacts, name: str, expected: str, reason: str | None = None) -> ShapeError:
    return ShapeError(
        f"{name} has shape",
        actual=facts.shown(name),
        expected=f"rank {expected}",
        reason=reason,
        code=Code.wrong_rank,
        port=name,
    )
