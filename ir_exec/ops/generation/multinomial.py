"""Multinomial: classes drawn at random with given probabilities."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.kernels.random_bits import mersenne_twister, words_of_sequence
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, IndexTypeName
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import known_size, require_rank
from ir_exec.ops.generation.random_uniform import Seed
from ir_exec.types import INTEGER, Array, Shape, TensorType

__all__ = ["Multinomial"]


@op("Multinomial", since=13)
class Multinomial(Op):
    """Indices of classes, num_samples drawn for every row of probs.

    A number x from 0 to 1 selects the first class whose cumulative probability is x or more; without replacement, the
    probability of that class is then removed. As in OpenVINO's CPU plugin, the numbers are those of the C++ Mersenne
    twister with the seed sequence (global_seed, op_seed; both 0 by default), divided by 2**32 - 1 in f32, every run
    starts with the same state, and probabilities are f32 too (in the plugin bf16 for bf16 probs). The specification
    requires f64. If both seeds are 0, every run gives different classes.

    Specification: generation/multinomial-13.

    Inputs:
        probs: A float type, shape [batch, classes]: probabilities up to a common factor, or with `log_probs` their
            logarithms; not negative, not all 0.
        num_samples: An integer, a scalar or a vector of one element. Without `with_replacement` no class is drawn
            twice.

    Outputs:
        output: Shape [batch, num_samples], type `convert_type` (i32 or i64).

    Raises:
        IRError: IR501 for probs of another rank, IR505 and IR704 for a negative num_samples, IR704 if no class is left
            to draw, for which the plugin leaves the output unchanged.
    """

    inputs = (
        In("probs", types=CALCULABLE_FLOAT, domain=ValueRange(0.1, 1, "probabilities")),
        In("num_samples", types=INTEGER, domain=ValueRange(2, 4, "the number of samples")),
    )
    deterministic = False
    sized_by = ("num_samples",)

    convert_type: IndexTypeName
    with_replacement: Bool
    log_probs: Bool
    global_seed: Seed = 0
    op_seed: Seed = 0

    def infer(self, probs: TensorType, num_samples: TensorType) -> TensorType:
        require_rank(probs, 2, "probs")
        count = known_size(num_samples, "num_samples")
        if probs.shape.dims is None:
            return TensorType(self.convert_type, Shape.unknown())
        return TensorType(self.convert_type, Shape([probs.shape[0], count]))

    def evaluate(self, probs: Array, num_samples: Array) -> Array:
        count = int(as_integers(num_samples).reshape(-1)[0])
        if count < 0:
            raise EvaluationError("num_samples is", actual=count, expected="0 or more", port="num_samples")
        if count > probs.shape[1] and not self.with_replacement:
            raise EvaluationError(
                "num_samples is",
                actual=count,
                expected=f"at most the {probs.shape[1]} classes without replacement",
                port="num_samples",
            )
        shares = probs.astype(np.float32)
        if self.log_probs:
            shares = np.exp(shares)
        cumulative = np.cumsum(shares, axis=1, dtype=np.float32)
        cumulative /= np.maximum(cumulative[:, -1:], np.finfo(np.float32).tiny)
        seeds = (self.global_seed, self.op_seed) if self.global_seed or self.op_seed else (secrets.randbits(32),)
        numbers = mersenne_twister(words_of_sequence(seeds)).random_raw(len(probs) * count)
        samples = numbers.astype(np.float32).reshape(len(probs), count) / np.float32(2**32 - 1)
        draw = _draw_any if self.with_replacement else _draw_others
        return draw(cumulative, samples).astype(self.convert_type.dtype)


def _draw_any(cumulative: Array, samples: Array) -> Array:
    chosen = np.empty(samples.shape, np.int64)
    if samples.size:
        _require_left((cumulative > 0).any(axis=1))
    for row, (limits, numbers) in enumerate(zip(cumulative, samples, strict=True)):
        chosen[row] = np.searchsorted(limits, numbers)
    return chosen


def _draw_others(cumulative: Array, samples: Array) -> Array:
    """Draw without replacement; overwrites `cumulative`."""
    chosen = np.empty(samples.shape, np.int64)
    places = np.arange(cumulative.shape[1])
    rows = np.arange(len(cumulative))
    is_left = np.ones(cumulative.shape, np.bool_)
    for index in range(samples.shape[1]):
        # Rounding may leave the last probability a little below 1, and a sample above it.
        category = np.argmax(np.minimum(samples[:, index], cumulative[:, -1])[:, None] <= cumulative, axis=1)
        _require_left(is_left[rows, category] & (cumulative[:, -1] > 0))
        chosen[:, index] = category
        is_left[rows, category] = False
        before = np.where(category > 0, cumulative[rows, category - 1], 0)
        share = (cumulative[rows, category] - before)[:, None]
        np.subtract(cumulative, share, out=cumulative, where=places >= category[:, None])
        cumulative /= 1 - share
    return chosen


def _require_left(is_left: Any) -> None:
    if not np.all(is_left):
        raise EvaluationError(
            f"row {int(np.argmin(is_left))} of probs has no class left with a probability above 0", port="probs"
        )
