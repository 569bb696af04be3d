"""Facts about the numbers of an operator, from which tolerances between two implementations follow.

They are declared in the class of the operator, like its inputs and attributes, and have safe defaults: an operator
without them computes each element of its outputs from few elements of its inputs, exactly but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from ir_exec.types import Array

__all__ = ["BOUNDED", "GATED", "LINEAR", "ROUNDED", "SAMPLED", "SIGMOID", "Accuracy", "NumericFacts", "Steps"]


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


class NumericFacts:
    """The base of `Op` that declares its numeric facts.

    Attributes:
        accuracy: The error of correct approximations of the function, other than the rounding of sums.
        limits: The ends of the range of a bounded function that its values reach for large arguments; a layer with
            such values only shows no fault of the layers before it.
        steps: The arguments at which the function jumps, which correct implementations may round to either side.
    """

    accuracy: ClassVar[Accuracy] = ROUNDED
    limits: ClassVar[tuple[float, ...]] = ()
    steps: ClassVar[Steps | None] = None

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
