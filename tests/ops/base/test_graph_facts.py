"""The facts about files and graphs of every operator, held against the classes and their behavior."""

from __future__ import annotations

import contextlib
from functools import cache
from math import prod
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, raise_error
from ir_exec.ops import Op, registered, resolve
from ir_exec.ops.base.elementwise import Binary
from ir_exec.ops.base.inputs import Divisor
from ir_exec.ops.base.registry import names_of_types
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array, ElementType, TensorType, convert, element_types
from tests.conformance import ours
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.ours import operator
from tests.helpers.operators import infer_types, make
from tests.ops.base.samples import Sample, all_samples_by_class, samples_by_class

STRING = element_types("string")


def name_class(cls: type[Op]) -> str:
    return f"{cls.type_name}-{cls.since}"


@cache
def cases_by_class() -> dict[type[Op], list[Case]]:
    cases: dict[type[Op], list[Case]] = {}
    for family in families():
        for case in table(family):
            cases.setdefault(resolve(case.type, f"opset{case.opset}"), []).append(case)
    return cases


def replaceable() -> list[type[Op]]:
    return [cls for cls in registered() if cls.older is not None]


def get_older_class(cls: type[Op]) -> type[Op]:
    assert cls.older is not None
    return resolve(cls.type_name, f"opset{cls.older.since}")


def list_choices(cls: type[Op], name: str) -> set[str]:
    """The texts that an attribute accepts; none for attributes of other types."""
    declared = get_type_hints(cls, include_extras=True)[name]
    while get_origin(declared) not in (None, Literal):
        declared = get_args(declared)[0]
    return set(get_args(declared)) if get_origin(declared) is Literal else set()


@pytest.mark.parametrize("cls", replaceable(), ids=name_class)
def test_the_older_version_is_the_previous_one(cls: type[Op]) -> None:
    versions = [version.since for version in registered() if version.type_name == cls.type_name]
    assert get_older_class(cls).since == max(since for since in versions if since < cls.since)


@pytest.mark.parametrize("cls", replaceable(), ids=name_class)
def test_facts_list_attributes_missing_in_older_version(cls: type[Op]) -> None:
    older = get_older_class(cls)
    assert cls.older is not None
    fields, older_fields = ({field.name for field in version.fields()} for version in (cls, older))
    assert fields - older_fields == {name for name, _ in cls.older.without}
    assert older_fields <= fields
    refused = {(name, text) for name in fields & older_fields for text in list_choices(cls, name)}
    assert {row for row in refused if row[1] not in list_choices(older, row[0])} == set(cls.older.refused)


@pytest.mark.parametrize("cls", replaceable(), ids=name_class)
def test_facts_list_inputs_missing_in_older_version(cls: type[Op]) -> None:
    older = get_older_class(cls)
    assert cls.older is not None
    count = len(cls.inputs) if cls.older.inputs is None else cls.older.inputs
    assert len(older.inputs) == count + bool(cls.older.separated)
    assert {*cls.older.nonnegative, cls.older.separated} <= {declared.name for declared in cls.inputs} | {""}


def is_replaceable(cls: type[Op], case: Case) -> bool:
    """Return True if the attributes and inputs of a case have the same meaning in the older version."""
    layer, older = operator(case), cls.older
    assert older is not None
    names = [declared.name for declared in cls.inputs]
    return (
        all(getattr(layer, name) in harmless for name, harmless in older.without)
        and all(getattr(layer, name) != text for name, text in older.refused)
        and (older.inputs is None or len(case.inputs) <= older.inputs)
        and all(case.inputs[names.index(name)].min(initial=0) >= 0 for name in older.nonnegative)
    )


def add_unread_input(cls: type[Op], case: Case) -> tuple[Array, ...]:
    """The inputs for the older version, with an input for the sizes or scales that it does not read."""
    assert cls.older is not None
    if not cls.older.separated:
        return case.inputs
    position = [declared.name for declared in cls.inputs].index(cls.older.separated)
    separated = case.inputs[position]
    unread = np.ones(separated.shape, np.int64 if separated.dtype.kind not in "iu" else np.float32)
    pair = (separated, unread) if separated.dtype.kind in "iu" else (unread, separated)
    return (*case.inputs[:position], *pair, *case.inputs[position + 1 :])


@pytest.mark.parametrize("cls", replaceable(), ids=name_class)
def test_the_older_version_computes_the_same(cls: type[Op]) -> None:
    assert cls.older is not None
    older, lacking = get_older_class(cls), {name for name, _ in cls.older.without}
    cases = [case for case in cases_by_class()[cls] if is_replaceable(cls, case)]
    assert cases
    for case in cases:
        renamed = {field.attribute for field in cls.fields() if field.name in lacking}
        texts = {name: text for name, text in case.attribute_texts().items() if name not in renamed}
        layer = older.parse(texts, raise_error)
        assert layer is not None
        with RunThreads(1), np.errstate(all="ignore"):
            actual = layer.evaluate(*add_unread_input(cls, case))
        for left, right in zip(ours.evaluate(case), actual if isinstance(actual, tuple) else (actual,), strict=True):
            np.testing.assert_array_equal(left, right)


def refused_values() -> list[tuple[type[Op], str, str]]:
    return [(cls, name, text) for cls in replaceable() for name, text in (cls.older.refused if cls.older else ())]


@pytest.mark.parametrize(("cls", "name", "text"), refused_values())
def test_the_older_version_refuses_these_values(cls: type[Op], name: str, text: str) -> None:
    case = next(case for case in cases_by_class()[cls] if is_replaceable(cls, case))
    changed = case.attribute_texts() | {name: text}
    assert cls.parse(changed, raise_error) is not None
    with pytest.raises(InvalidAttributeError):
        get_older_class(cls).parse(changed, raise_error)


def with_redundant_attributes() -> list[type[Op]]:
    return [cls for cls in registered() if cls.redundant_attributes]


@pytest.mark.parametrize("type_name", names_of_types())
def test_versions_share_their_notation(type_name: str) -> None:
    versions = [cls for cls in registered() if cls.type_name == type_name]
    assert len({cls.redundant_attributes for cls in versions}) <= 1
    assert len({cls.declared_as_f32 for cls in versions if len(cls.outputs) == len(versions[-1].outputs)}) <= 1


@pytest.mark.parametrize("cls", with_redundant_attributes(), ids=name_class)
def test_redundant_attributes_are_missing_in_a_family_member(cls: type[Op]) -> None:
    names = cls.redundant_attributes.split()
    names_of_family = cls.redundant_attributes
    family = [member for member in with_redundant_attributes() if member.redundant_attributes == names_of_family]
    fields = [{field.attribute for field in member.fields()} for member in family]
    assert len(set(names)) == len(names)
    assert [name for name in names if all(name in attributes for attributes in fields)] == []


@pytest.mark.parametrize("cls", registered(), ids=name_class)
def test_outputs_and_inputs_of_facts_exist(cls: type[Op]) -> None:
    assert set(cls.declared_as_f32) <= set(cls.outputs)
    assert set(cls.sized_by) <= {declared.name for declared in cls.inputs}


_UNBOUNDED = 2**40
"""More elements than any case has."""

_ARRANGING = frozenset(
    {"axis", "axes", "block_shape", "crops_begin", "crops_end", "input_order", "kernel_size", "shape"}
)
"""Inputs that arrange elements: outputs have no more elements than inputs, or than all pairs of elements of two."""


def sizing_inputs(cls: type[Op]) -> set[str]:
    """The inputs whose values inference needs for a bound of the number of elements of the outputs."""
    names = set()
    for case in cases_by_class().get(cls, []):
        layer, types = operator(case), [TensorType.of(array) for array in case.inputs]
        for position, input_type in enumerate(types):
            unknown = TensorType(input_type.element_type, input_type.shape)
            with contextlib.suppress(IRError):
                outputs = infer_types(layer, *types[:position], unknown, *types[position + 1 :])
                if any(output.shape.dims is None or output.shape.size.hi > _UNBOUNDED for output in outputs):
                    names.add(cls.input_name(position))
    return names


def deterministic_classes() -> list[type[Op]]:
    """The operators whose outputs follow from their inputs."""
    return [cls for cls in cases_by_class() if cls.deterministic]


@pytest.mark.parametrize("cls", cases_by_class(), ids=name_class)
def test_facts_list_size_inputs(cls: type[Op]) -> None:
    sizing = sizing_inputs(cls)
    assert set(cls.sized_by) <= sizing
    is_of_characters = all(declared.types == STRING for declared in cls.inputs)
    assert is_of_characters or sizing - set(cls.sized_by) <= _ARRANGING


@pytest.mark.parametrize("cls", deterministic_classes(), ids=name_class)
def test_outputs_of_other_inputs_are_bounded_by_size(cls: type[Op]) -> None:
    for case in cases_by_class()[cls] if not cls.sized_by and sizing_inputs(cls) & _ARRANGING else ():
        bound = prod(max(size, 1) for array in case.inputs for size in array.shape)
        assert all(output.size <= bound for output in ours.evaluate(case))


def find_values(cls: type[Op], case: Case) -> tuple[list[object], list[object]] | None:
    """The elements of the first input and of the only output; None for several outputs or another number of them."""
    outputs = ours.evaluate(case)
    if len(outputs) > 1 or not case.inputs or outputs[0].size != case.inputs[0].size:
        return None
    left, right = (
        (array if array.dtype == object else convert(array, ElementType.f64)).ravel().tolist()
        for array in (case.inputs[0], outputs[0])
    )
    return left, right


@pytest.mark.parametrize("cls", deterministic_classes(), ids=name_class)
def test_facts_list_order_preserving_operators(cls: type[Op]) -> None:
    pairs = [find_values(cls, case) for case in cases_by_class()[cls] if len(cls.outputs) == 1]
    if cls.preserves_order:
        # 1 is the same number in each element type.
        assert all(pair and all(right == 1 for left, right in zip(*pair, strict=True) if left == 1) for pair in pairs)
    else:
        assert not pairs or any(pair is None or repr(pair[0]) != repr(pair[1]) for pair in pairs)


def integer_pairs() -> list[type[Op]]:
    return [cls for cls in registered() if issubclass(cls, Binary) and ElementType.i32 in cls.inputs[0].types]


@pytest.mark.parametrize("cls", integer_pairs(), ids=name_class)
def test_integers_divided_by_zero_are_an_error(cls: type[Op]) -> None:
    ones, zeros = np.ones(2, np.int32), np.zeros(2, np.int32)
    is_divisor = isinstance(cls.inputs[1].domain, Divisor)
    with pytest.raises(EvaluationError) if is_divisor else contextlib.nullcontext():
        make(cls.type_name, cls.since).evaluate(ones, zeros)


_MOST_WEIGHTS = 64
"""Elements of weights, each of which is changed."""


def weighted_samples(cls: type[Op]) -> list[tuple[Sample, int, tuple[int, ...]]]:
    """Small samples of floats, with the position of weights and the axes along which products are summed."""
    rows = []
    for sample in all_samples_by_class()[cls]:
        for position, array in enumerate(sample.inputs):
            axes = sample.layer.weight_axes(position, array.ndim)
            if axes is not None and ElementType.of(array).is_float and 0 < array.size <= _MOST_WEIGHTS:
                rows.append((sample, position, axes))
    return rows


def with_weights() -> list[type[Op]]:
    return [cls for cls in samples_by_class() if weighted_samples(cls)]


def reached_outputs(sample: Sample, position: int, index: tuple[int, ...]) -> frozenset[int]:
    """The elements of the output that change with an element of the weights."""
    arrays = [np.ones_like(array) if ElementType.of(array).is_float else array for array in sample.inputs]
    changed = arrays[position].copy()
    changed[index] = 3
    before, after = (
        sample.evaluate([*arrays[:position], weights, *arrays[position + 1 :]])
        for weights in (arrays[position], changed)
    )
    return frozenset(np.flatnonzero(before[0] != after[0]).tolist())


@pytest.mark.parametrize("cls", with_weights(), ids=name_class)
def test_products_are_summed_along_the_axes_of_weights(cls: type[Op]) -> None:
    summed, all_axes = set(), set()
    for sample, position, axes in weighted_samples(cls):
        weights = sample.inputs[position]
        channels: dict[tuple[int, ...], set[int]] = {}
        rows: dict[tuple[int, tuple[int, ...]], list[frozenset[int]]] = {}
        for index in np.ndindex(weights.shape):
            outputs = reached_outputs(sample, position, index)
            channel = tuple(number for axis, number in enumerate(index) if axis not in axes)
            channels.setdefault(channel, set()).update(outputs)
            for axis in axes:
                rows.setdefault((axis, index[:axis] + index[axis + 1 :]), []).append(outputs)
        assert sum(map(len, channels.values())) == len(set().union(*channels.values()))
        all_axes |= {(position, axis) for axis in axes if weights.shape[axis] > 1}
        summed |= {
            (position, axis) for (axis, _), sets in rows.items() if sum(map(len, sets)) > len(set().union(*sets))
        }
    assert summed == all_axes


def test_products_of_constants_have_weight_axes() -> None:
    product = [cls for cls in with_weights() if cls.multiply_adds is not Op.multiply_adds]
    assert set(product) == set(with_weights())
    assert {cls for cls in samples_by_class() if cls.channel_axis is not Op.channel_axis} <= set(product)
