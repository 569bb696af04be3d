"""Element-wise data flow from the inputs: the images of a few samples at each value of a model.

A mask computed as (1 - mask) * -3e38 is 0 where the input is 1 and -3e38 where it is 0, independent of the types of the
layers in between. Each value therefore has one trail for each input that it derives from: the images of the samples 0,
1, 2 and -1, as long as only constants are involved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import BodyGraph, Graph, Node, Value
from ir_exec.ir import Weights
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["SAMPLES", "Flow", "Trail"]

SAMPLES = (0.0, 1.0, 2.0, -1.0)
"""Input elements whose images are tracked; an unsigned or boolean input has no sample below 0."""

_MOST_CONSTANTS = 2**20
"""Maximum elements of a constant whose extent is computed: larger constants are weights."""

_WIDEST = 4
"""Maximum images of one sample that are tracked; constants with several elements produce several images."""


@dataclass(frozen=True, eq=False)
class Trail:
    """The element-wise dependence of a value on an input.

    Attributes:
        points: The images of the samples, with one column for each of a few elements of constants; NaN if unknown.
        is_sum: True if elements are summed along axes.
        is_scaled: True if products with constant factors are summed, as in an angle.
    """

    points: Array
    is_sum: bool = False
    is_scaled: bool = False

    @property
    def is_identity(self) -> bool:
        """Return True if the elements are those of the input."""
        samples = np.array(SAMPLES)[: len(self.points), None]
        return not self.is_sum and not self.is_scaled and bool((self.points == samples).all())

    def lines(self, samples: int = len(SAMPLES)) -> list[tuple[float, float]] | None:
        """Offset and slope of each column; None if an image is not linear.

        Args:
            samples: The number of samples used.
        """
        points = self.points[:samples]
        if self.is_scaled or len(points) < 3 or not np.isfinite(points).all():
            return None
        offset, slope = points[0], points[1] - points[0]
        scale = np.abs(points).max(initial=1.0) * 1e-5
        at = np.array(SAMPLES)[: len(points), None]
        if (np.abs(points - offset - slope * at) > scale).any():
            return None
        return [(float(first), float(step)) for first, step in zip(offset, slope, strict=True)]


class Flow:
    """The trails of all values, bodies included.

    Args:
        types: The types of all values, for the shapes of the generated inputs.
        visit: Called with each node before its outputs are known.
    """

    def __init__(
        self,
        graph: Graph,
        weights: Weights | None,
        types: Mapping[Value, TensorType],
        visit: Callable[[Flow, Node], None],
    ) -> None:
        self._weights = weights
        self._types = types
        self._visit = visit
        self._trails: dict[Value, dict[int, Trail]] = {}
        self._extents: dict[Value, Array] = {}
        self._counting: set[Value] = set()
        self._reached: dict[Value, int] = {}
        for number, node in enumerate(graph.parameters):
            value = node.outputs[0]
            self._trails[value] = {number: Trail(_samples(self.type(value).element_type))}
            self._reached[value] = 1 << number
        self._walk(graph)

    def type(self, value: Value) -> TensorType:
        return self._types.get(value, value.declared)

    def trails(self, value: Value | None) -> dict[int, Trail]:
        """The trails of a value, by the numbers of the inputs."""
        return self._trails.get(value, {}) if value is not None else {}

    def extent(self, value: Value | None) -> Array | None:
        """The least and the greatest element of a value that derives from constants; one element if they are equal."""
        return self._extents.get(value) if value is not None else None

    def counts(self, value: Value | None) -> bool:
        """Return True if a value counts up along an axis."""
        return value in self._counting

    def inputs_of(self, value: Value | None) -> list[int]:
        """The numbers of all inputs whose elements a value depends on."""
        bits = self._reached.get(value, 0) if value is not None else 0
        return [number for number in range(bits.bit_length()) if bits >> number & 1]

    def known(self, value: Value | None) -> Array | None:
        """The elements of a value, if inference computes them."""
        if value is None:
            return None
        elements = self.type(value).value
        return None if elements is None else np.asarray(elements)

    def _walk(self, graph: Graph) -> None:
        for node in graph.nodes:
            if node.op_class.is_parameter:
                continue
            if isinstance(node.op, Const):
                self._constant(node)
                continue
            bits = 0
            for value in node.values_read:
                bits |= self._reached.get(value, 0)
            self._visit(self, node)
            if node.bodies:
                self._bodies(node, bits)
                continue
            if node.outputs:
                if bits:
                    self._reached.update(dict.fromkeys(node.outputs, bits))
                self._follow(node)

    def _constant(self, node: Node) -> None:
        op, value = node.op, node.outputs[0]
        assert isinstance(op, Const), "the caller passes constants only"
        element_type = op.element_type
        if self._weights is None or not op.shape.is_static or not 0 < prod(op.shape.static) <= _MOST_CONSTANTS:
            return
        if not (element_type.is_float or element_type.bits >= 8) or element_type.dtype.kind in "OV":
            return
        try:
            array = op.evaluate(weights=self._weights)
        except IRError:
            return  # a run reports the error
        with np.errstate(all="ignore"):
            numbers = np.asarray(array).reshape(-1).astype(np.float64)
            is_counting = numbers.size > 1 and bool((np.diff(numbers) == 1).all())
        self._extents[value] = np.unique([numbers.min(), numbers.max()])
        if is_counting:
            self._counting.add(value)

    def _bodies(self, node: Node, bits: int) -> None:
        outputs: dict[int, dict[int, Trail]] = {}
        for body in node.bodies:
            if body.ties is None:
                continue
            self._enter(node, body, bits)
            self._walk(body.graph)
            for tie in body.ties.outputs:
                if tie.position is not None and not tie.is_condition:
                    inner = body.graph.results[tie.result].values_in
                    outputs.setdefault(tie.position, {}).update(self.trails(inner[0]) if inner else {})
        for value in node.outputs:
            self._trails[value] = outputs.get(value.position, {})
            self._reached[value] = bits

    def _enter(self, node: Node, body: BodyGraph, bits: int) -> None:
        assert body.ties is not None, "the caller passes bodies with ties only"
        for tie in body.ties.inputs:
            inner = body.graph.parameters[tie.parameter].outputs[0]
            self._reached[inner] = bits
            outer = node.inputs[tie.position] if tie.position is not None else None
            if outer is None:
                continue
            self._reached[inner] = self._reached.get(outer, 0)
            self._trails[inner] = self.trails(outer)
            if (extent := self.extent(outer)) is not None and tie.parameter in body.ties.invariant_parameters:
                self._extents[inner] = extent
            if outer in self._counting and tie.part is None:
                self._counting.add(inner)

    def _follow(self, node: Node) -> None:
        op = node.op
        if op is None:
            return
        moved = [value for position, value in enumerate(node.inputs) if value is not None and op.moves_input(position)]
        if op.is_elementwise:
            self._apply(node, op)
        elif op.is_progression:
            self._counting.add(node.outputs[0])
        elif op.is_cumulative:
            if not self._reached.get(node.outputs[0]):
                self._counting.add(node.outputs[0])
        elif moved:
            self._move(moved, node.outputs if op.varies_outputs else node.outputs[:1])
        elif op.term_inputs:
            self._sum(node, op)

    def _move(self, sources: list[Value], outputs: Sequence[Value]) -> None:
        trails: dict[int, Trail] = {}
        for source in sources:
            trails |= self.trails(source)
        self._trails.update(dict.fromkeys(outputs, trails))
        extents = [self.extent(source) for source in sources]
        if not self._reached.get(outputs[0]) and all(extent is not None for extent in extents):
            joined = np.concatenate([extent for extent in extents if extent is not None])
            self._extents.update(dict.fromkeys(outputs, np.unique([joined.min(), joined.max()])))
        if sources[0] in self._counting:
            self._counting.update(outputs)

    def _sum(self, node: Node, op: Op) -> None:
        terms = [
            value for position, value in enumerate(node.inputs) if op.declared_input(position).name in op.term_inputs
        ]
        if len(terms) > 1:
            self._scale(node)
        else:
            trails = self.trails(terms[0]).items()
            self._trails[node.outputs[0]] = {number: Trail(trail.points, is_sum=True) for number, trail in trails}

    def _scale(self, node: Node) -> None:
        """Track products whose other factor is constant, or derives from shapes only."""
        scaled: dict[int, Trail] = {}
        for value in node.values_in:
            others = [other for other in node.values_in if other is not value]
            if not any(self._reached.get(other) for other in others):
                scaled |= {number: Trail(trail.points, is_scaled=True) for number, trail in self.trails(value).items()}
        self._trails[node.outputs[0]] = scaled

    def _apply(self, node: Node, op: Op) -> None:
        value = node.outputs[0]
        operands = node.values_read
        results = {}
        for number in dict.fromkeys(number for operand in operands for number in self.trails(operand)):
            points, is_pure = self.image(node, number)
            if points is None or not (is_pure or op.is_idempotent or self._is_truth(op, points, value)):
                continue
            trails = [self.trails(operand)[number] for operand in operands if number in self.trails(operand)]
            is_sum, is_scaled = any(trail.is_sum for trail in trails), any(trail.is_scaled for trail in trails)
            results[number] = Trail(points, is_sum, is_scaled)
        if results:
            self._trails[value] = results
        elif not self._reached.get(value):
            points, is_pure = self.image(node, None)
            if points is not None and is_pure:
                self._extents[value] = np.unique([points.min(), points.max()])
        if any(operand in self._counting for operand in operands) and self._is_shifted(op, operands):
            self._counting.add(value)

    def _is_truth(self, op: Op, points: Array, value: Value) -> bool:
        """Return True for a product of integers that are 0 or 1: two masks combined."""
        is_product = op.neutral == 1 and op.absorbing == 0 and not self.type(value).element_type.is_float
        return is_product and bool(np.isin(points[:2], (0.0, 1.0)).all())

    def _is_shifted(self, op: Op, operands: Sequence[Value]) -> bool:
        """Return True for conversions, and for arithmetic with values that do not depend on inputs."""
        others = [value for value in operands if value not in self._counting]
        is_arithmetic = op.saturates and op.neutral is not None
        return op.rounds or (is_arithmetic and not any(self._reached.get(other) for other in others))

    def image(self, node: Node, number: int | None) -> tuple[Array | None, bool]:
        """The images of the samples after an element-wise layer, and True if all other operands are constant.

        Args:
            number: The position of the input; None for the extent of constants. An unknown operand is replaced by the
                neutral element.
        """
        op = node.op
        assert op is not None, "the caller passes layers with an operator"
        operands = node.values_read
        arrays: list[Array | None] = []
        is_pure = True
        for value in operands:
            trail = self.trails(value).get(number) if number is not None else None
            if trail is not None:
                arrays.append(trail.points)
            elif (extent := self.extent(value)) is not None:
                arrays.append(extent[None])
            elif number is not None and self._reached.get(value, 0) >> number & 1:
                return None, False
            else:
                arrays.append(None)
                is_pure = False
        may_fill = op.neutral is not None or op.is_idempotent or op.is_data_movement
        if not is_pure and not (may_fill and any(array is not None for array in arrays)):
            return None, False
        return self._evaluate_images(node, op, operands, arrays), is_pure

    def _evaluate_images(self, node: Node, op: Op, operands: list[Value], arrays: list[Array | None]) -> Array | None:
        """The result of the layer for the images of its operands; NaN where it depends on unknown operands."""
        rows = max(len(array) for array in arrays if array is not None)
        known_images = [array for array in arrays if array is not None]
        # One of several operands is selected: the result is known where another one is.
        fills = (0.0, 1.0) if op.is_data_movement else (op.neutral,)
        results = []
        for fill in fills:
            columns = []
            for position, (value, array) in enumerate(zip(operands, arrays, strict=True)):
                if array is None:
                    # Without a neutral value, the operation is idempotent.
                    array = known_images[0] if fill is None else np.full((1, 1), fill)
                shape = [len(array), *[1] * len(operands)]
                shape[position + 1] = array.shape[1]
                columns.append(_convert_points(array[:rows], self.type(value).element_type, shape))
            if any(column is None for column in columns):
                return None
            try:
                with np.errstate(all="ignore"):
                    result = op.evaluate(*self._with_types(node, op, columns))
            except Exception:
                return None  # the images are unknown if the samples cannot be computed
            numbers = np.asarray(result).astype(np.float64)
            results.append(np.broadcast_to(numbers, (rows, *numbers.shape[1:])).reshape(rows, -1))
        images = results[0]
        for other in results[1:]:
            images = np.where(images == other, images, np.nan)
        unknown = [array for array in known_images if np.isnan(array).any()]
        if unknown and not op.is_data_movement:
            images = np.where(np.isnan(unknown[0][:rows]).any(axis=1, keepdims=True), np.nan, images)
        return _narrow_columns(images)

    def _with_types(self, node: Node, op: Op, columns: list[Any]) -> Iterator[Any]:
        """The arguments of an element-wise layer, with zeros for the inputs of which only the type matters."""
        remaining = iter(columns)
        for position, value in enumerate(node.inputs):
            if value is not None and op.reads_elements(position):
                yield next(remaining)
            elif value is not None:
                yield np.zeros(1, self.type(value).element_type.dtype)


def _samples(element_type: ElementType) -> Array:
    """The samples that an element type can represent, as a column."""
    if element_type is ElementType.boolean:
        count = 2
    elif element_type.is_known and not element_type.is_float and not element_type.is_signed:
        count = 3
    else:
        count = len(SAMPLES)
    return np.array(SAMPLES[:count])[:, None]


def _convert_points(points: Array, element_type: ElementType, shape: list[int]) -> Any:
    """Points converted to an element type; None for a type without numbers."""
    if not element_type.is_known or element_type.dtype.kind in "OV":
        return None
    with np.errstate(all="ignore"):
        # Integers wrap: a cast of a negative float to an unsigned type is undefined.
        clean = points if element_type.is_float else np.where(np.isfinite(points), points, 0).astype(np.int64)
        return clean.astype(element_type.dtype).reshape(shape)


def _narrow_columns(images: Array) -> Array:
    """The images, reduced to the columns with the extremes of the second sample if there are too many."""
    if images.shape[1] <= _WIDEST:
        return images
    row = images[min(1, len(images) - 1)]
    return images[:, [int(np.argmin(row)), int(np.argmax(row))]]
