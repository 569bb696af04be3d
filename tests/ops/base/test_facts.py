"""The numeric facts of every operator, held against its behavior."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from ir_exec.errors import IRError
from ir_exec.ops import Op
from ir_exec.ops.base.elementwise import Unary
from ir_exec.ops.base.facts import NumericFacts
from ir_exec.ops.base.registry import provided_extensions, registered
from ir_exec.ops.sequence.recurrent import Recurrence
from ir_exec.text.ops.grouped_attention import GroupQueryAttention
from ir_exec.text.ops.internal import GLU, RMS, RoPE
from ir_exec.text.ops.recurrences import GatedDeltaNet, SelectiveSSM
from ir_exec.text.ops.strings import NumericToString
from ir_exec.types import ALL, FLOAT, Array, ElementType
from tests.conformance.checks import families, table
from tests.conformance.ours import operator
from tests.helpers.operators import make
from tests.ops.base.samples import Sample, samples_by_class

_MOST_ELEMENTS = 240
"""Of the floating point inputs of a case that is run once for each of them."""

_CASES = 6
"""Cases of a class whose inputs are changed one by one."""

_ELEMENTS_OF_TERMS = {
    "DeformableConvolution": 4,
    "DeformablePSROIPooling": 4,
    "ExperimentalDetectronROIFeatureExtractor": 4,
    "GLU": 2,
    "GridSample": 16,
    "Interpolate": 64,
    "PSROIPooling": 4,
    "ROIAlign": 4,
    "ROIAlignRotated": 5,
    "ROIPooling": 4,
}
"""Elements of a term: factors, the elements between which it is interpolated, or the numbers of its box."""


class LayerRun(NamedTuple):
    """A layer with the arrays of one run."""

    layer: Op
    inputs: tuple[Array, ...]

    @property
    def size(self) -> int:
        """The number of floating point elements of the inputs."""
        return sum(array.size for array in self.inputs if ElementType.of(array).is_float)

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            outputs = self.layer.evaluate(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)


def changed_elements(sample: LayerRun, position: int, index: tuple[int, ...]) -> list[Array]:
    """Masks of the elements of each output that follow an element of an input up and down.

    An element that is only selected among equal ones does not follow it in both directions.
    """
    data = sample.inputs[position]
    outputs = sample.evaluate(sample.inputs)
    step = 2.0**-10 * max(abs(float(data[index])), float(np.abs(data[np.isfinite(data)]).max(initial=0)) / 8)
    masks = [np.ones(output.shape, np.bool_) for output in outputs]
    for sign in (1, -1):
        moved = data.copy()
        moved[index] += sign * step
        try:
            others = sample.evaluate([moved if i == position else array for i, array in enumerate(sample.inputs)])
        except IRError:  # a step of 0 or a scale below it
            return [np.zeros(output.shape, np.bool_) for output in outputs]
        for mask, output, other in zip(masks, outputs, others, strict=True):
            if output.shape != other.shape or output.dtype.kind != "f":
                mask[...] = False
            else:
                mask &= ~((output == other) | (np.isnan(output) & np.isnan(other)))
    return masks


def count_read_elements(sample: LayerRun) -> int:
    """The maximum number of elements of one input that an element of an output depends on."""
    most = 0
    for position, data in enumerate(sample.inputs):
        # Weights of other hidden units reach a unit over the previous step or the reset gate, not by its sums.
        layer = sample.layer
        is_weight = isinstance(layer, Recurrence) and layer.inputs[position].name in ("w", "r", "b")
        if data.dtype.kind != "f" or not data.size or is_weight:
            continue
        totals: list[Array] = []
        for index in np.ndindex(data.shape):
            if np.isfinite(data[index]):
                masks = changed_elements(sample, position, index)
                totals = [total + mask for total, mask in zip(totals or [0] * len(masks), masks, strict=True)]
        most = max([most, *(int(np.max(total, initial=0)) for total in totals)])
    return most


def _as_f32(array: Array) -> Array:
    return array.astype(np.float32) if ElementType.of(array).is_float and array.dtype != np.float64 else array


def numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).uniform(0.1, 1, shape).astype(np.float32)


def samples_of_extensions() -> list[LayerRun]:
    """Operators without tables of cases, and those whose cases are large."""
    tokens, heads, channels = 2, 2, 4
    row = (1, tokens, heads, channels)
    past = numbers(1, heads, 6, channels)
    new = numbers(1, heads, tokens, channels)
    attention = GroupQueryAttention(num_heads=heads, kv_num_heads=heads)
    table = numbers(1, 1, tokens, channels)
    extractor = make("ExperimentalDetectronROIFeatureExtractor", 6, output_size=1, sampling_ratio=2, pyramid_scales="4")
    grid = make("ExperimentalDetectronPriorGridGenerator", 6, flatten="true", h=0, w=0, stride_x=4, stride_y=4)
    pooling = make(
        "DeformablePSROIPooling", output_dim=1, spatial_scale=1.0, spatial_bins_x=2, spatial_bins_y=3, trans_std=0.1
    )
    rope = RoPE(rotary_ndims=channels)
    return [
        LayerRun(RMS(epsilon=1e-5), (numbers(2, 6), numbers(6))),
        LayerRun(GLU(axis=-1, split_lengths=4), (numbers(2, 8),)),
        LayerRun(rope, (new, table, table)),
        LayerRun(
            GatedDeltaNet(), (*[numbers(*row)] * 3, numbers(1, heads, channels, channels), *[numbers(*row[:3])] * 2)
        ),
        LayerRun(
            SelectiveSSM(),
            (
                -numbers(heads),
                numbers(*row[:3]),
                numbers(1, tokens, heads, 3),
                numbers(*row),
                numbers(1, tokens, heads, 3),
                numbers(1, heads, channels, 3),
            ),
        ),
        LayerRun(attention, (new, new, new, past, past, np.int32([7]), np.int32([8]))),
        LayerRun(NumericToString(), (numbers(3),)),
        LayerRun(pooling, (numbers(1, 1, 8, 9), np.float32([[0, 1, 1, 6, 6]]), numbers(1, 2, 1, 1))),
        LayerRun(extractor, (np.float32([[2, 3, 22, 19]]), numbers(1, 1, 6, 7))),
        LayerRun(grid, (numbers(3, 4), numbers(1, 2, 2, 3), numbers(1, 3, 8, 12))),
    ]


@cache
def small_samples() -> dict[type[Op], list[LayerRun]]:
    """A few samples of each class with floating point inputs, by size."""
    samples: dict[type[Op], list[LayerRun]] = defaultdict(list)
    for family in families():
        for case in table(family):
            sample = LayerRun(operator(case), tuple(map(_as_f32, case.inputs)))
            if sample.size:
                samples[type(sample.layer)].append(sample)
    for sample in samples_of_extensions():
        samples[type(sample.layer)].append(sample)
    return {cls: select_samples(rows) for cls, rows in samples.items()}


def select_samples(samples: list[LayerRun]) -> list[LayerRun]:
    """A few of the small samples, and at least the smallest one."""
    by_size = sorted(samples, key=lambda sample: sample.size)
    small = [sample for sample in by_size if sample.size <= _MOST_ELEMENTS] or by_size[:1]
    return small[:: -(-len(small) // _CASES)]


def classes() -> Iterator[type[Op]]:
    yield from registered()
    yield from (cls for _, cls in provided_extensions())


def declares_terms(cls: type[Op]) -> bool:
    return cls.count_terms is not NumericFacts.count_terms


def _selects_boxes(cls: type[Op]) -> bool:
    """Return True for operators whose numbers depend on all boxes that overlap, without being sums over them."""
    return cls.__module__.startswith(("ir_exec.ops.detection", "ir_exec.ops.sort")) and not declares_terms(cls)


def _computes_floats(cls: type[Op]) -> bool:
    """Return True unless an operator moves values, runs bodies, or takes every type, strings included."""
    takes_floats = any(declared.types & FLOAT and declared.types < ALL for declared in cls.inputs)
    return takes_floats and cls.is_data_movement is not True and not cls.body_names


def test_float_operators_are_sampled() -> None:
    assert [cls for cls in classes() if _computes_floats(cls) and cls not in small_samples()] == []


@pytest.mark.parametrize("cls", small_samples(), ids=lambda cls: f"{cls.__module__.rsplit('.', 1)[-1]}-{cls.__name__}")
def test_element_dependencies_equal_terms(cls: type[Op]) -> None:
    tightest = np.inf
    for sample in small_samples()[cls]:
        terms, count = sample.layer.count_terms(sample.inputs), count_read_elements(sample)
        if not _selects_boxes(cls):
            assert count <= max(terms, 1) * _ELEMENTS_OF_TERMS.get(cls.type_name, 1), str(sample)
        if count:
            tightest = min(tightest, max(terms, 1) / count)
    # Gates multiply an element several times.
    assert tightest <= (8 if issubclass(cls, Recurrence) else 2) or tightest == np.inf


def functions() -> list[type[Op]]:
    """The functions of one floating point input without required attributes."""
    return [
        cls
        for cls in registered()
        if issubclass(cls, Unary)
        and cls.inputs[0].types & FLOAT
        and not any(field.is_required for field in cls.fields())
    ]


@pytest.mark.parametrize("cls", functions(), ids=lambda cls: f"{cls.__name__}")
def test_a_function_jumps_at_its_steps_and_nowhere_else(cls: type[Op]) -> None:
    places = np.array([2.0, 2.5, 0.0])
    with np.errstate(all="ignore"):
        below, above = (cls().evaluate(places + sign * 1e-9) for sign in (-1, 1))
        jumps = np.abs(above - below) > 0.1
    expected = {"integers": [True, False, True], "halves": [False, True, False], "zero": [False, False, True]}
    assert jumps.tolist() == expected.get(cls.steps or "", [False] * 3)


@pytest.mark.parametrize("cls", functions(), ids=lambda cls: f"{cls.__name__}")
def test_bounded_function_declares_integer_limits(cls: type[Op]) -> None:
    with np.errstate(all="ignore"):
        low, nearly, middle, high = cls().evaluate(np.float32([-1e30, -1e20, 0.25, 1e30])).tolist()
    is_bounded = low == nearly and {low, high} <= {-1.0, 0.0, 1.0} and low < middle < high
    assert cls.limits == ((low, high) if is_bounded else ())


@pytest.mark.parametrize("cls", [cls for cls in registered() if cls.limits], ids=lambda cls: f"{cls.__name__}")
def test_large_arguments_reach_the_limits(cls: type[Op]) -> None:
    others = [np.float32(0.5)] * (len(cls.inputs) - 1)
    with np.errstate(all="ignore"):
        output = cls().evaluate(np.float32([[-1e30, 0.25, 1e30]]), *others)
    assert (output.min(), output.max()) == cls.limits


@pytest.mark.parametrize("cls", [cls for cls in registered() if cls.steps == "operands"], ids=lambda cls: cls.__name__)
def test_comparisons_jump_at_equal_operands(cls: type[Op]) -> None:
    numbers_below, numbers_above = np.float64([1 - 1e-9, 3]), np.float64([1 + 1e-9, 3])
    ones = np.ones(2)
    results = [cls().evaluate(array, ones).tolist() for array in (numbers_below, ones * [1, 3], numbers_above)]
    assert len({first for first, _ in results}) == 2
    assert len({second for _, second in results}) == 1


@pytest.mark.parametrize("cls", [cls for cls in registered() if cls.steps == "multiples"], ids=lambda cls: cls.__name__)
def test_remainders_jump_at_multiples(cls: type[Op]) -> None:
    below, above = (cls().evaluate(np.float64([6, 7]) + sign * 1e-9, np.float64([3, 3])) for sign in (-1, 1))
    assert (np.abs(above - below) > 1).tolist() == [True, False]


# Magnitudes of the terms of sums

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
def test_outputs_are_bounded_by_term_magnitudes(cls: type[Op]) -> None:
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
