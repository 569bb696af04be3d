"""The facts about the elements of every operator, held against its behavior."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from ir_exec.errors import IRError
from ir_exec.ops import Op
from ir_exec.ops.base.elementwise import Binary
from ir_exec.ops.base.registry import registered
from ir_exec.types import BOOLEAN, FLOAT, Array, ElementType, TensorType
from tests.helpers.operators import infer_types
from tests.ops.base.samples import Sample, all_samples_by_class, are_equal, fill_like, samples_by_class, shift_elements


def name_class(cls: type[Op]) -> str:
    return f"{cls.type_name}-{cls.since}"


parametrize_classes = partial(pytest.mark.parametrize, "cls", ids=name_class)

sampled = list(samples_by_class())


# Element-wise operators


def broadcast_inputs(sample: Sample) -> list[Array] | None:
    """The inputs that are read, in the shape of the output; None if they are not broadcast to it."""
    (output, *_) = sample.evaluate(sample.inputs)
    read = [sample.layer.reads_elements(position) for position in range(len(sample.inputs))]
    shapes = [array.shape for array, is_read in zip(sample.inputs, read, strict=True) if is_read]
    try:
        if output.size < 3 or np.broadcast_shapes(*shapes) != output.shape:
            return None
    except ValueError:
        return None
    return [
        np.broadcast_to(array, output.shape).copy() if is_read else array
        for array, is_read in zip(sample.inputs, read, strict=True)
    ]


def is_elementwise(sample: Sample) -> bool | None:
    """Return True if changed elements of inputs change no elements of the output elsewhere; None if undecided."""
    inputs = broadcast_inputs(sample)
    before = None if inputs is None else sample.try_inputs(inputs)
    if inputs is None or before is None:
        return None
    others = np.ones(before[0].shape, np.bool_)
    index = tuple(size // 2 for size in others.shape)
    others[index] = False
    has_changed = False
    for position in range(len(inputs)):
        if not sample.layer.reads_elements(position):
            continue
        changed = inputs[position].copy()
        changed[index] = shift_elements(np.array([changed[index]], changed.dtype))[0]
        after = sample.try_inputs([changed if i == position else array for i, array in enumerate(inputs)])
        if after is None or after[0].shape != others.shape:
            continue
        if not are_equal([before[0][others]], [after[0][others]]):
            return False
        has_changed |= not are_equal(before, after)
    return True if has_changed else None


ALONG_NO_AXES = {"DFT", "IDFT", "ExperimentalDetectronPriorGridGenerator"}
"""Operators that are element-wise for the few elements of a sample."""


@parametrize_classes(
    [cls for cls in sampled if not (cls.is_data_movement or cls.moved_inputs or cls.type_name in ALONG_NO_AXES)]
)
def test_elements_depend_on_their_position_alone(cls: type[Op]) -> None:
    results = [is_elementwise(sample) for sample in samples_by_class()[cls]]
    # Windows and transforms of one element are element-wise.
    is_always = False not in results and results.count(True) > len(results) / 2
    assert False not in results if cls.is_elementwise else not is_always


def test_a_selection_is_elementwise() -> None:
    assert [cls.type_name for cls in sampled if cls.is_elementwise and cls.is_data_movement is True] == ["Select"]


# Neutral and absorbing values


def arrays_of(cls: type[Op]) -> Iterator[Array]:
    """A few different numbers in each element type."""
    for element_type in sorted(cls.inputs[0].types & cls.inputs[1].types, key=lambda element_type: element_type.name):
        if element_type in BOOLEAN:
            yield np.array([False, True])
        elif element_type.dtype.kind in "iufV" and element_type.bits >= 8 and not element_type.name.startswith("f8"):
            yield np.array([3, 1, 0, 5] if not element_type.is_signed else [3, 1, -2, 5]).astype(element_type.dtype)


def keeps(cls: type[Op], value: float) -> bool:
    """Return True if the value as the second input leaves all numbers unchanged."""
    return all(are_equal([evaluate(cls, array, fill_like(array, value))], [array]) for array in arrays_of(cls))


def evaluate(cls: type[Op], a: Array, b: Array) -> Array:
    try:
        with np.errstate(all="ignore"):
            return np.asarray(cls().evaluate(a, b))
    except IRError:
        return np.empty(0)


binaries = [cls for cls in registered() if issubclass(cls, Binary) and cls.inputs[1].like]


@parametrize_classes(binaries)
def test_neutral_values(cls: type[Op]) -> None:
    assert (cls.neutral is not None) == any(keeps(cls, value) for value in (0, 1, -1))
    assert cls.neutral is None or keeps(cls, cls.neutral)


def absorbs(cls: type[Op], value: float) -> bool:
    return all(
        are_equal([evaluate(cls, *pair)], [fill_like(array, value)])
        for array in arrays_of(cls)
        for pair in ((array, fill_like(array, value)), (fill_like(array, value), array))
    )


@parametrize_classes(binaries)
def test_absorbing_values(cls: type[Op]) -> None:
    assert (cls.absorbing is not None) == any(absorbs(cls, value) for value in (0, 1, -1))
    assert cls.absorbing is None or absorbs(cls, cls.absorbing)


@parametrize_classes(binaries)
def test_idempotent_operators(cls: type[Op]) -> None:
    is_idempotent = all(are_equal([evaluate(cls, array, array)], [array]) for array in arrays_of(cls))
    assert cls.is_idempotent == is_idempotent


# Moved elements


def moved_positions(sample: Sample) -> list[int]:
    return [i for i in range(len(sample.inputs)) if sample.layer.moves_input(i)]


def filled_outputs(sample: Sample, positions: list[int], value: float) -> tuple[Array, ...] | None:
    """The outputs for inputs with one number in every element."""
    inputs = [fill_like(array, value) if i in positions else array for i, array in enumerate(sample.inputs)]
    outputs = sample.try_inputs(inputs)
    return outputs if outputs is None or sample.layer.varies_outputs else outputs[:1]


def has_wide_types(sample: Sample) -> bool:
    return all(ElementType.of(array).bits not in (1, 2, 3) and array.size for array in sample.inputs)


def count_matches(sample: Sample, positions: list[int], value: float = 3) -> tuple[int, int]:
    """The elements of the outputs that are this number, and those that are neither this number nor fill values."""
    moved = others = 0
    for output in filled_outputs(sample, positions, value) or ():
        if output.dtype.kind in "OV" or ElementType.of(output).name.startswith(("f8", "f4", "nf")):
            continue
        expected = fill_like(output, value)
        numbers = output.astype(np.float64)
        is_moved = np.isclose(numbers, expected.astype(np.float64), rtol=1e-3)
        # Fill values are 0, or at the end of the range; an average includes them.
        is_filled = numbers == 0 if sample.layer.is_data_movement else (numbers > -1) & (numbers < 4)
        moved += int(np.count_nonzero(is_moved))
        others += int(np.count_nonzero(~is_moved & ~is_filled & (np.abs(numbers) < 100)))
    return moved, others


@parametrize_classes([cls for cls in sampled if any(map(moved_positions, samples_by_class()[cls]))])
def test_outputs_of_movements_have_elements_of_inputs(cls: type[Op]) -> None:
    rows = [sample for sample in samples_by_class()[cls] if has_wide_types(sample) and moved_positions(sample)]
    counts = [count_matches(sample, moved_positions(sample)) for sample in rows]
    assert [others for _, others in counts if others] == []
    assert not rows or any(moved for moved, _ in counts)


def may_move(cls: type[Op]) -> bool:
    """Return True if equal floats in all inputs are the elements of most outputs."""
    results = []
    for sample in samples_by_class()[cls]:
        positions = [i for i, array in enumerate(sample.inputs) if ElementType.of(array).is_float]
        (output, *_) = sample.evaluate(sample.inputs)
        if positions and has_wide_types(sample) and output.dtype == sample.inputs[positions[0]].dtype:
            results += [count_matches(sample, positions, value) for value in (3, 0.25)]
    return sum(moved > 0 for moved, _ in results) > len(results) / 2 and not any(others for _, others in results)


def declares_way(cls: type[Op]) -> bool:
    """Return True if the class declares how elements become elements of the output, other than by a movement."""
    has_terms = bool(cls.term_inputs) or cls.sum_magnitudes is not Op.sum_magnitudes
    is_known = cls.is_elementwise or has_terms or cls.is_progression
    return is_known or cls.type_name in ALONG_NO_AXES or cls.__module__.startswith(SELECTING_BOXES)


SELECTING_BOXES = ("ir_exec.ops.detection", "ir_exec.ops.sort")
"""Modules of operators whose outputs are rows of scores, boxes and numbers of classes."""


@parametrize_classes([cls for cls in sampled if not declares_way(cls)])
def test_order_preserving_operators_declare_movement(cls: type[Op]) -> None:
    moves = any(map(moved_positions, samples_by_class()[cls]))
    assert moves or not may_move(cls)


@parametrize_classes([cls for cls in sampled if not cls.varies_outputs])
def test_elements_in_another_order_are_all_elements(cls: type[Op]) -> None:
    are_kept, are_reordered = [], []
    for sample in samples_by_class()[cls]:
        (output, *others) = sample.evaluate(sample.inputs)
        data = sample.inputs[0] if sample.inputs else np.empty(0)
        before, after = data.reshape(-1).tolist(), output.reshape(-1).tolist()
        if not others and len(set(map(str, before))) > 2 and output.dtype == data.dtype:
            are_kept.append(sorted(before) == sorted(after))
            are_reordered.append(before != after)
    is_reordering = bool(are_kept) and all(are_kept) and any(are_reordered)
    assert is_reordering == cls.changes_order


@parametrize_classes([cls for cls in sampled if cls.inputs and cls.inputs[0].types & FLOAT])
def test_distributions_sum_to_1(cls: type[Op]) -> None:
    results = []
    for sample in samples_by_class()[cls]:
        data = np.random.default_rng(0).normal(size=sample.inputs[0].shape).astype(sample.inputs[0].dtype)
        (output, *_) = sample.evaluate_with(0, data) or (data,)
        if output.dtype == np.float32 and output.ndim and output.size > 2:
            numbers = np.exp(np.minimum(output, 9)) if (output < 0).any() else output
            is_distributed = (np.allclose(numbers.sum(axis), 1, atol=1e-4) for axis in range(numbers.ndim))
            results.append(any(is_distributed) and bool((numbers >= 0).all()))
    assert cls.is_distribution == (bool(results) and all(results))


# Inputs whose elements do not matter, or determine shapes


@parametrize_classes(sampled)
def test_elements_of_all_other_inputs_matter(cls: type[Op]) -> None:
    never = {declared.name for declared in cls.inputs if declared.only_shape or declared.only_type}
    ignored, read = split_inputs(samples_by_class()[cls])
    if ignored != never:
        ignored, read = split_inputs(all_samples_by_class()[cls])
    assert ignored == never
    assert read & never == set()


def split_inputs(samples: list[Sample]) -> tuple[set[str], set[str]]:
    """The names of inputs whose elements never matter, and of those that do."""
    ignored, read = set(), set()
    for sample in samples:
        outputs = sample.try_inputs(sample.inputs)
        for position, array in enumerate(sample.inputs):
            changed = [shift_elements(array), fill_like(array, 0), array[..., ::-1] if array.ndim else array]
            has_changed = any(not are_equal(sample.evaluate_with(position, other), outputs) for other in changed)
            (read if has_changed else ignored).add(sample.layer.declared_input(position).name)
    return ignored - read, read


DATA = {
    "NonZero": {"data"},
    "SegmentMax": {"segment_ids"},
    "SparseFillEmptyRows": {"indices"},
    "StringTensorUnpack": {"data"},
    "Unique": {"data"},
}
"""Inputs of data whose elements determine how many of them are selected, or how long texts are."""


def get_shape_inputs(cls: type[Op]) -> set[str]:
    return {*cls.sized_by, *cls.arranging_inputs}


def inputs_of_shapes(cls: type[Op]) -> set[str]:
    """The inputs without whose elements inference does not find the shapes of the outputs."""
    names = set()
    for sample in samples_by_class().get(cls, []):
        types = [TensorType.of(array) for array in sample.inputs]
        for position, input_type in enumerate(types):
            others = [input_type.without_values() if i == position else other for i, other in enumerate(types)]
            try:
                is_static = [
                    all(output.shape.is_static for output in infer_types(sample.layer, *row)) for row in (types, others)
                ]
            except IRError:
                continue
            if is_static == [True, False]:
                names.add(cls.declared_input(position).name)
    return names


@parametrize_classes(registered())
def test_no_other_inputs_determine_shapes(cls: type[Op]) -> None:
    assert inputs_of_shapes(cls) - DATA.get(cls.type_name, set()) <= get_shape_inputs(cls)


@parametrize_classes([cls for cls in sampled if get_shape_inputs(cls) and cls.type_name not in DATA])
def test_large_shape_elements_are_rejected_or_change_shape(cls: type[Op]) -> None:
    tested = find_sizing_inputs(samples_by_class()[cls])
    if tested != get_shape_inputs(cls):
        tested = find_sizing_inputs(all_samples_by_class()[cls])
    assert tested == get_shape_inputs(cls)


def find_sizing_inputs(samples: list[Sample]) -> set[str]:
    tested = set()
    for sample in samples:
        shapes = [output.shape for output in sample.evaluate(sample.inputs)]
        for position in sample.positions([*get_shape_inputs(type(sample.layer))]):
            array = sample.inputs[position]
            if not array.size or ElementType.of(array).bits < 8:
                continue
            outputs = sample.evaluate_with(position, fill_like(array, 11))
            if outputs is None or [output.shape for output in outputs] != shapes:
                tested.add(sample.layer.declared_input(position).name)
    return tested


# Sizes that must be equal


@parametrize_classes([cls for cls in sampled if cls.equal_sizes is not Op.equal_sizes or issubclass(cls, Binary)])
def test_equal_sizes_are_equal_in_every_sample(cls: type[Op]) -> None:
    for sample in samples_by_class()[cls]:
        types = [TensorType.of(array) for array in sample.inputs]
        try:
            pairs = list(sample.layer.equal_sizes(*types))
        except ValueError:
            continue
        if getattr(sample.layer, "auto_broadcast", "numpy") != "pdpd":
            assert all(left == right for left, right in pairs)


@parametrize_classes([cls for cls in sampled if cls.equal_sizes is not Op.equal_sizes])
def test_infer_rejects_other_sizes(cls: type[Op]) -> None:
    sample = max(samples_by_class()[cls], key=lambda sample: sum(array.size for array in sample.inputs))
    first, *others = sample.inputs
    longer = [np.concatenate([first, first], axis) for axis in range(first.ndim)]
    rejected = []
    for data in longer:
        types = [TensorType.of(array) for array in (data, *others)]
        if any(left != right for left, right in sample.layer.equal_sizes(*types)):
            with pytest.raises(IRError):
                infer_types(sample.layer, *types)
            rejected.append(data)
    assert rejected


@parametrize_classes([cls for cls in sampled if cls.channel_axis is not Op.channel_axis])
def test_products_are_summed_along_the_channels(cls: type[Op]) -> None:
    for sample in samples_by_class()[cls]:
        sizes = []
        for position, array in enumerate(sample.inputs[:2]):
            axis = sample.layer.channel_axis(position, array.ndim)
            sizes += [] if axis is None else [array.shape[axis]]
        terms = sample.layer.count_terms(sample.inputs)
        if len(sizes) == 2 and not type(sample.layer).__name__.startswith("Convolution"):
            assert sizes == [terms, terms]
        elif sizes and sizes[0]:
            assert terms % sizes[0] == 0
