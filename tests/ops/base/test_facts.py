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


class Sample(NamedTuple):
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


def changed_elements(sample: Sample, position: int, index: tuple[int, ...]) -> list[Array]:
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


def count_read_elements(sample: Sample) -> int:
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


def samples_of_extensions() -> list[Sample]:
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
        Sample(RMS(epsilon=1e-5), (numbers(2, 6), numbers(6))),
        Sample(GLU(axis=-1, split_lengths=4), (numbers(2, 8),)),
        Sample(rope, (new, table, table)),
        Sample(
            GatedDeltaNet(), (*[numbers(*row)] * 3, numbers(1, heads, channels, channels), *[numbers(*row[:3])] * 2)
        ),
        Sample(
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
        Sample(attention, (new, new, new, past, past, np.int32([7]), np.int32([8]))),
        Sample(NumericToString(), (numbers(3),)),
        Sample(pooling, (numbers(1, 1, 8, 9), np.float32([[0, 1, 1, 6, 6]]), numbers(1, 2, 1, 1))),
        Sample(extractor, (np.float32([[2, 3, 22, 19]]), numbers(1, 1, 6, 7))),
        Sample(grid, (numbers(3, 4), numbers(1, 2, 2, 3), numbers(1, 3, 8, 12))),
    ]


@cache
def small_samples() -> dict[type[Op], list[Sample]]:
    """A few samples of each class with floating point inputs, by size."""
    samples: dict[type[Op], list[Sample]] = defaultdict(list)
    for family in families():
        for case in table(family):
            sample = Sample(operator(case), tuple(map(_as_f32, case.inputs)))
            if sample.size:
                samples[type(sample.layer)].append(sample)
    for sample in samples_of_extensions():
        samples[type(sample.layer)].append(sample)
    return {cls: select_samples(rows) for cls, rows in samples.items()}


def select_samples(samples: list[Sample]) -> list[Sample]:
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


def test_every_operator_that_computes_floats_is_sampled() -> None:
    assert [cls for cls in classes() if _computes_floats(cls) and cls not in small_samples()] == []


@pytest.mark.parametrize("cls", small_samples(), ids=lambda cls: f"{cls.__module__.rsplit('.', 1)[-1]}-{cls.__name__}")
def test_an_element_depends_on_as_many_elements_as_it_has_terms(cls: type[Op]) -> None:
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
def test_a_function_whose_ends_are_whole_numbers_declares_its_limits(cls: type[Op]) -> None:
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
    one = np.ones(2)
    results = [cls().evaluate(array, one).tolist() for array in (numbers_below, one * [1, 3], numbers_above)]
    assert len({first for first, _ in results}) == 2
    assert len({second for _, second in results}) == 1


@pytest.mark.parametrize("cls", [cls for cls in registered() if cls.steps == "multiples"], ids=lambda cls: cls.__name__)
def test_remainders_jump_at_multiples(cls: type[Op]) -> None:
    below, above = (cls().evaluate(np.float64([6, 7]) + sign * 1e-9, np.float64([3, 3])) for sign in (-1, 1))
    assert (np.abs(above - below) > 1).tolist() == [True, False]
