"""Facts about the numbers of an operator; tolerances between two implementations follow from them.

They are declared in the class of the operator, like its inputs and attributes, and have safe defaults: an operator
without them computes each element of its outputs from few elements of its inputs, exactly but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ir_exec.ops.base.inputs import In
from ir_exec.types import Array

__all__ = [
    "BOUNDED",
    "GATED",
    "LINEAR",
    "ROUNDED",
    "SAMPLED",
    "SIGMOID",
    "Accuracy",
    "DeclaredInputs",
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


class DeclaredInputs:
    """The declarations of inputs that facts refer to by name."""

    inputs: ClassVar[tuple[In, ...]] = ()

    @classmethod
    def declared_input(cls, position: int) -> In:
        """The declaration of the input at this position; a variadic one covers all further positions."""
        return cls.inputs[min(position, len(cls.inputs) - 1)]


class NumericFacts(DeclaredInputs):
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
