"""Facts about the numbers of an operator, and about the way of elements from its inputs to its outputs.

They are declared in the class of the operator, like its inputs and attributes, and have safe defaults: an operator
without them computes each element of its outputs from few elements of its inputs, exactly but for rounding, and nothing
is known about the elements themselves. Tolerances between two implementations follow from `NumericFacts`, generated
inputs from `ElementFacts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ir_exec.ops.base.inputs import In
from ir_exec.types import FLOAT, Array, TensorType

__all__ = [
    "BOUNDED",
    "GATED",
    "LINEAR",
    "ROUNDED",
    "SAMPLED",
    "SIGMOID",
    "Accuracy",
    "ElementFacts",
    "NumericFacts",
    "Steps",
]


@dataclass(frozen=True)
class Accuracy:
    """Error allowed for an operator in addition to the rounding of every layer, in ULP of the element type.

    It is at least twice the largest error measured in OpenVINO 2026.4 and onnxruntime 1.32 (f32, AMD EPYC with
    AVX-512). docs/explanation/tolerances.md lists the measurements.

    Attributes:
        absolute: ULP of 1, for any value.
        argument: ULP of the argument, for functions that multiply by it or lose its precision.
        positions: ULP of the greatest element per position of the longest sampled axis.
        reason: The reason, as printed in the documentation.
    """

    absolute: float = 0.0
    argument: float = 0.0
    positions: float = 0.0
    reason: str = ""


ROUNDED = Accuracy()
"""No error other than rounding."""

SIGMOID = Accuracy(
    absolute=4,
    reason="bounded by 1; rational approximations and 1 / (1 + exp(-x)) have an absolute error relative to 1",
)

BOUNDED = Accuracy(
    absolute=4, reason="bounded; polynomials after a range reduction have an absolute error relative to 1"
)

GATED = Accuracy(argument=4, reason="the argument times a bounded factor, which has an absolute error relative to 1")

LINEAR = Accuracy(
    absolute=4, reason="alpha * x + beta is rounded to the precision of beta before it is clamped to 0 and 1"
)

SAMPLED = Accuracy(
    positions=3,
    reason="a coordinate is rounded relative to the axis length, and the slope between two elements multiplies this "
    "error",
)


Steps: TypeAlias = Literal["integers", "halves", "zero", "multiples", "operands", "levels", "order"]
"""Places of steps: integers; numbers halfway between two of them; 0; multiples of the second input; equal operands;
halfway between the levels of a quantization; equal elements, whose order is a tie."""


class _DeclaredInputs:
    """The declarations of inputs that facts refer to by name."""

    inputs: ClassVar[tuple[In, ...]] = ()

    @classmethod
    def declared_input(cls, position: int) -> In:
        """The declaration of the input at this position; a variadic one covers all further positions."""
        return cls.inputs[min(position, len(cls.inputs) - 1)]


class NumericFacts(_DeclaredInputs):
    """The base of `Op` that declares its numeric facts.

    Attributes:
        accuracy: The error of correct approximations of the function, other than the rounding of sums.
        limits: The ends of the range of a bounded function that its values reach for large arguments; a layer with
            such values only shows no fault of the layers before it.
        steps: The arguments at which the function jumps, which correct implementations may round to either side.
        term_inputs: Inputs whose elements are factors of the terms of sums. If no element of these inputs is negative,
            nothing cancels, or little, as in cubic interpolation.
        subtracted_inputs: Those of them that are subtracted.
    """

    accuracy: ClassVar[Accuracy] = ROUNDED
    limits: ClassVar[tuple[float, ...]] = ()
    steps: ClassVar[Steps | None] = None
    term_inputs: ClassVar[tuple[str, ...]] = ()
    subtracted_inputs: ClassVar[tuple[str, ...]] = ()

    evaluate: ClassVar[Callable[..., Any]]

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The maximum number of terms in the sum of an output element; 1 without sums, 0 for empty ones.

        A term is an element or a product of elements of the inputs. If the terms of a sum are sums themselves, all of
        their terms count, except that an element sampled between its neighbors is one term. Recurrent operators count
        the terms of all gates of one hidden unit in every step. Elements that are only selected, as a maximum is, do
        not count.

        Args:
            inputs: The arrays of one run, whose types `infer` accepts.
        """
        return 1

    def count_positions(self, inputs: Sequence[Array]) -> int:
        """The length of the longest axis on which positions are computed, if `accuracy.positions` is not 0.

        By default it is the longest of the axes of the first input after batch and channels.
        """
        return max(inputs[0].shape[2:], default=1)

    def sum_magnitudes(self, inputs: Sequence[Array]) -> Array | None:
        """The sum of the magnitudes of the terms of each element of the first output; None without sums.

        A rounding error is relative to the magnitudes of the terms, which may cancel. By default the magnitudes are
        `evaluate` of the magnitudes of the `term_inputs`; if `accuracy.argument` is not 0, those of the argument.

        Args:
            inputs: The arrays of one run, whose types `infer` accepts, but with f64 for all floats.
        """
        if self.accuracy.argument:
            return np.abs(inputs[0])
        if not self.term_inputs:
            return None
        magnitudes = list(inputs)
        for position, array in enumerate(inputs):
            name = self.declared_input(position).name
            if name in self.term_inputs:
                magnitudes[position] = -np.abs(array) if name in self.subtracted_inputs else np.abs(array)
        output = self.evaluate(*magnitudes)
        return np.asarray(output[0] if isinstance(output, tuple) else output)


class ElementFacts(_DeclaredInputs):
    """The base of `Op` that declares the way of elements from the inputs to the outputs.

    Attributes:
        is_elementwise: An element of the output depends only on the elements at its position of the inputs, which are
            broadcast together.
        moved_inputs: Inputs whose elements are the elements of the outputs, also if operators select or blend them, as
            an average does. If an operator declares none, they are all inputs of `is_data_movement` that may be floats.
        changes_order: The output has the elements of the first input in another order; see `preserves_order`.
        is_distribution: The elements of the output along an axis are probabilities, or their logarithms.
        arranging_inputs: Inputs of axes or positions, which arrange or select elements, and must suit the shapes of
            other inputs. `sized_by` has the inputs of sizes.
        neutral: The value of the second of two inputs for which the output is the first one.
        absorbing: The value of either of two inputs for which the output is this value.
        is_idempotent: The output of two equal inputs is this input.
        is_cumulative: Sums of all elements up to each position along an axis.
        is_progression: The elements of the output ascend or descend by a constant step.
    """

    is_elementwise: ClassVar[bool] = False
    moved_inputs: ClassVar[tuple[str, ...]] = ()
    changes_order: ClassVar[bool] = False
    is_distribution: ClassVar[bool] = False
    arranging_inputs: ClassVar[tuple[str, ...]] = ()
    neutral: ClassVar[float | None] = None
    absorbing: ClassVar[float | None] = None
    is_idempotent: ClassVar[bool] = False
    is_cumulative: ClassVar[bool] = False
    is_progression: ClassVar[bool] = False

    is_data_movement: ClassVar[bool] = False

    @classmethod
    def reads_elements(cls, position: int) -> bool:
        """Return True unless only the type or the shape of an input matters."""
        if not cls.inputs:
            return True
        declared = cls.declared_input(position)
        return not (declared.only_type or declared.only_shape)

    def moves_input(self, position: int) -> bool:
        """Return True if elements of an input are the elements of the outputs; see `moved_inputs`."""
        declared = self.declared_input(position)
        if self.moved_inputs:
            return declared.name in self.moved_inputs
        return self.is_data_movement and self.reads_elements(position) and bool(declared.types & FLOAT)

    def channel_axis(self, position: int, rank: int) -> int | None:
        """The axis of an input along which products with weights, the other input, are summed; None without one.

        Args:
            rank: The rank of the input.
        """
        return None

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        """Pairs of sizes that `infer` requires to be equal, for a search of sizes that it accepts.

        By default they are the sizes of all inputs that are read, aligned at the last axis, except for sizes of 1.

        Args:
            types: The types of all inputs, whose sizes `infer` may reject.

        Raises:
            ValueError: If a size is dynamic.
            IndexError: If a rank is too small.
        """
        read = [input_type for position, input_type in enumerate(types) if self.reads_elements(position)]
        first, *others = [input_type.shape.static[::-1] for input_type in read]
        for sizes in others:
            yield from [pair for pair in zip(first, sizes, strict=False) if 1 not in pair]
