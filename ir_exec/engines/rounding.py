"""Products with compressed weights that round activations to 8 bits, where the first run shows a small error.

onnxruntime's kernels then multiply integers, in a fraction of the time. Each block of activations has its own scale, so
one large element makes the others of its block inexact. That depends on the layer, and may change the tokens of a
decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import numpy as np

from ir_exec.engines.interface import CompiledPart, LayerTime, PartForm
from ir_exec.kernels.limits import Limits
from ir_exec.onnx.export.compressed_products import ProductLevels
from ir_exec.types import Array

__all__ = ["LARGEST_ERROR", "RoundingPart"]

LARGEST_ERROR = 0.01
"""Maximum error of a product whose activations are rounded: the root of the sum of squares of its differences, divided
by that of its elements. Normally distributed activations have 0.007."""


class RoundingPart:
    """A part whose first run measures the errors of rounding; later runs round where they are small.

    Args:
        compile: Makes the part for these levels.
        has_bytes: The engine has a kernel that rounds for weights of 8 bits.

    Attributes:
        errors: The error of each layer in the first run, empty before it.
    """

    def __init__(self, compile: Callable[[ProductLevels], CompiledPart], *, has_bytes: bool) -> None:
        self._compile = compile
        self._has_bytes = has_bytes
        self._lock = Lock()
        self.errors: dict[str, float] = {}
        levels = ProductLevels(is_measured=True, has_bytes=has_bytes)
        self._part = compile(levels)
        self._measured = tuple(levels.errors)

    @property
    def form(self) -> PartForm | None:
        """The form in which the engine got the part."""
        form: PartForm | None = getattr(self._part, "form", None)
        return form

    @property
    def small_errors(self) -> Mapping[str, float]:
        """The errors of the layers that round activations."""
        return {name: error for name, error in self.errors.items() if error <= LARGEST_ERROR}

    def run(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        """Return the outputs of the part."""
        if not self._measured:
            return self._part.run(arrays, limits)
        with self._lock:
            if not self._measured:
                return self._part.run(arrays, limits)
            outputs = self._part.run(arrays, limits)
            count = len(outputs) - len(self._measured)
            self.errors = dict(zip(self._measured, map(_relative, outputs[count:]), strict=True))
            part = self._compile(ProductLevels(frozenset(self.small_errors), has_bytes=self._has_bytes))
            self._part.close()
            self._part, self._measured = part, ()
        return outputs[:count]

    def times(self) -> list[LayerTime]:
        return self._part.times()

    def close(self) -> None:
        self._part.close()


def _relative(sums: Array) -> float:
    """Return the error from the sums of squares of a difference and of a product; inf if it cannot be measured."""
    difference, product = (float(number) for number in sums)
    if difference == 0:
        return 0.0
    error = np.sqrt(difference / product) if product else np.inf
    return float(error) if np.isfinite(error) else np.inf
