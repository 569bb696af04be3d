"""The magnitudes of the terms of sums, held against the behavior of every operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ir_exec.ops import Op
from ir_exec.types import Array
from tests.ops.base.samples import Sample, samples_by_class

_MOST_PERTURBED = 80
"""Elements of an input that are perturbed one by one."""

CONSERVING = {"DFT", "IDFT", "IRDFT", "ISTFT", "RDFT", "STFT"}
"""Transforms: by Parseval's theorem the greatest element of an output is not small if its terms are not, too."""


def widen(inputs: Sequence[Array]) -> list[Array]:
    return [array.astype(np.float64) if array.dtype == np.float32 else array for array in inputs]


def float_samples(cls: type[Op]) -> list[Sample]:
    rows = samples_by_class()[cls]
    return [row for row in rows if any(array.dtype == np.float32 and array.size for array in row.inputs)]


def magnitudes_of(sample: Sample, inputs: Sequence[Array]) -> Array | None:
    with np.errstate(all="ignore"):
        try:
            return sample.layer.sum_magnitudes(widen(inputs))
        except ValueError:
            return None


def run(sample: Sample, position: int, array: Array) -> Array | None:
    """The first output in f64, with another array for one input."""
    inputs = widen([array if i == position else original for i, original in enumerate(sample.inputs)])
    outputs = sample.try_inputs(inputs)
    return None if outputs is None else outputs[0].astype(np.float64)


def is_linear(sample: Sample, position: int) -> bool:
    random = np.random.default_rng(0)
    shape = sample.inputs[position].shape
    left, right = random.normal(size=shape), random.normal(size=shape)
    outputs = [run(sample, position, array) for array in (left, right, 2 * left + right)]
    a, b, both = [np.empty(0) if output is None else output for output in outputs]
    if not a.any() or not a.shape == b.shape == both.shape or not np.isfinite([a, b, both]).all():
        return False
    return bool(np.allclose(both, 2 * a + b, rtol=1e-6, atol=1e-6))


def sum_of_responses(sample: Sample, position: int) -> tuple[Array, Array]:
    """The magnitudes of the output for each element of an input alone, summed, and the number that are not 0."""
    data = sample.inputs[position].astype(np.float64)
    total, count = 0.0, 0
    for index in np.ndindex(data.shape):
        alone = np.zeros_like(data)
        alone[index] = data[index]
        response = run(sample, position, alone)
        assert response is not None
        total, count = total + np.abs(response), count + (np.abs(response) > 1e-12)
    return np.asarray(total), np.asarray(count)


def linear_positions(sample: Sample) -> list[int]:
    return [
        position
        for position, array in enumerate(sample.inputs)
        if array.dtype == np.float32 and 1 < array.size <= _MOST_PERTURBED and is_linear(sample, position)
    ]


def has_negative_coefficients(sample: Sample) -> bool:
    """Return True for cubic interpolation."""
    return "cubic" in getattr(sample.layer, "mode", "")


@pytest.mark.parametrize("cls", list(samples_by_class()), ids=lambda cls: f"{cls.type_name}-{cls.since}")
def test_magnitudes_are_those_of_all_responses(cls: type[Op]) -> None:
    for sample in float_samples(cls)[:4]:
        magnitudes = magnitudes_of(sample, sample.inputs)
        for position in linear_positions(sample):
            total, count = sum_of_responses(sample, position)
            if magnitudes is not None:
                assert (magnitudes >= (1 - 1e-5) * total - 1e-9).all() or has_negative_coefficients(sample)
                if len(sample.positions(sample.layer.term_inputs)) == 1 and not has_negative_coefficients(sample):
                    assert (magnitudes <= (1 + 1e-5) * total + 1e-9).all()
            elif cls.type_name not in CONSERVING:
                assert count.max(initial=0) <= 1


@pytest.mark.parametrize(
    "cls", [cls for cls in samples_by_class() if cls.sum_magnitudes is not Op.sum_magnitudes or cls.term_inputs]
)
def test_outputs_are_not_greater_than_the_magnitudes_of_their_terms(cls: type[Op]) -> None:
    for sample in float_samples(cls):
        inputs = [np.nan_to_num(array) if array.dtype == np.float32 else array for array in sample.inputs]
        magnitudes = magnitudes_of(sample, inputs)
        outputs = sample.try_inputs(widen(inputs))
        if magnitudes is not None and outputs is not None and not has_negative_coefficients(sample):
            output = np.abs(outputs[0].astype(np.float64))
            assert (output <= magnitudes * (1 + 1e-5) + 1e-6).all()


@pytest.mark.parametrize("cls", [cls for cls in samples_by_class() if cls.term_inputs])
def test_magnitudes_do_not_depend_on_signs(cls: type[Op]) -> None:
    random = np.random.default_rng(0)
    for sample in float_samples(cls):
        positions = sample.positions(sample.layer.term_inputs)
        signed = [
            array * random.choice([-1, 1], array.shape).astype(array.dtype)
            if position in positions and array.dtype == np.float32
            else array
            for position, array in enumerate(sample.inputs)
        ]
        before, after = magnitudes_of(sample, sample.inputs), magnitudes_of(sample, signed)
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            np.testing.assert_allclose(before, after, rtol=1e-5)
