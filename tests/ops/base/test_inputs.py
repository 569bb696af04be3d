"""The domains of the inputs of every operator, held against its behavior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ir_exec.ops import Op
from ir_exec.ops.base.elementwise import Binary, Unary
from ir_exec.ops.base.inputs import (
    AxisIndices,
    AxisOrder,
    BagOffsets,
    Domain,
    InputTypes,
    Lengths,
    SegmentIds,
    TargetShape,
    Usual,
    ValueRange,
)
from ir_exec.ops.base.registry import registered
from ir_exec.types import BOOLEAN, FLOAT, Array, ElementType, TensorType
from tests.ops.base.samples import Sample, all_samples_by_class, fill_like


class Port(NamedTuple):
    """An input with a domain."""

    cls: type[Op]
    position: int

    def __str__(self) -> str:
        return f"{self.cls.type_name}-{self.cls.since}-{self.cls.inputs[self.position].name}"

    @property
    def name(self) -> str:
        return self.cls.inputs[self.position].name

    @property
    def domain(self) -> Domain | None:
        return self.cls.inputs[self.position].domain

    def samples(self) -> list[Sample]:
        """Samples with elements in this input that the operator accepts."""
        samples = all_samples_by_class().get(self.cls, [])
        filled = [row for row in samples if len(row.inputs) > self.position and row.inputs[self.position].size]
        return filled[:: -(-len(filled) // 20)] if filled else []

    def accepts(self, sample: Sample, elements: Array | float) -> bool:
        """Return True if a run accepts these elements."""
        original = sample.inputs[self.position]
        array = elements if isinstance(elements, np.ndarray) else fill_like(original, elements)
        return sample.evaluate_with(self.position, array) is not None


def types_of(sample: Sample) -> InputTypes:
    return [TensorType.of(array) for array in sample.inputs]


def ports(domain_class: type[Domain]) -> list[Port]:
    return [
        Port(cls, position)
        for cls in registered()
        for position, declared in enumerate(cls.inputs)
        if isinstance(declared.domain, domain_class)
    ]


def parametrize_ports(domain_class: type[Domain]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("port", ports(domain_class), ids=str)


@parametrize_ports(Domain)
def test_names_in_a_domain_are_inputs_or_attributes(port: Port) -> None:
    names = {declared.name for declared in port.cls.inputs} | {field.name for field in port.cls.fields()}
    assert port.domain is not None
    assert {*port.domain.names()} <= names


IGNORED = {"CTCLoss-4", "Gather-8", "GatherTree-1", "OneHot-1", "OneHot-16"}
"""Operators that ignore indices out of range, or pad with them."""


@parametrize_ports(AxisIndices)
def test_indices_below_the_limit_suit_every_sample(port: Port) -> None:
    assert isinstance(port.domain, AxisIndices)
    rejected = []
    for sample in port.samples():
        limit = port.domain.limit(sample.layer, types_of(sample))
        if limit is None or limit == 0 or ElementType.of(sample.inputs[port.position]).bits < 8:
            continue
        if port.cls.type_name != "CTCLoss":  # its label lengths differ
            assert port.accepts(sample, limit.size - 1)
        rejected.append(not port.accepts(sample, limit.size + 100))
    assert any(rejected) or f"{port.cls.type_name}-{port.cls.since}" in IGNORED or not port.samples()


@parametrize_ports(Lengths)
def test_lengths_up_to_the_axis_suit_every_sample(port: Port) -> None:
    assert isinstance(port.domain, Lengths)
    for sample in port.samples():
        limit = port.domain.limit(sample.layer, types_of(sample))
        # Labels may not be longer than the logits of their sequence.
        assert port.accepts(sample, limit) or (port.name == "label_length" and limit > sample.inputs[1].min())


@parametrize_ports(SegmentIds)
def test_segment_ids_below_their_number_suit_every_sample(port: Port) -> None:
    assert isinstance(port.domain, SegmentIds)
    rejected = []
    for sample in port.samples():
        limit = port.domain.limit(sample.layer, types_of(sample))
        position = sample.positions([port.domain.count])
        if position and sample.inputs[position[0]].reshape(-1)[0] > 0:
            assert port.accepts(sample, limit - 1)
            rejected.append(not port.accepts(sample, limit))
    assert any(rejected)


@parametrize_ports(BagOffsets)
def test_offsets_are_positions_in_the_list(port: Port) -> None:
    assert isinstance(port.domain, BagOffsets)
    rejected = []
    for sample in port.samples():
        limit = port.domain.limit(sample.layer, types_of(sample))
        assert limit == sample.inputs[sample.positions([port.domain.of])[0]].size or limit == 1
        rejected.append(not port.accepts(sample, limit + 1))
    assert any(rejected)


@parametrize_ports(Usual)
def test_usual_values_suit_a_sample(port: Port) -> None:
    assert isinstance(port.domain, Usual)
    samples = port.samples()
    assert not samples or any(port.accepts(sample, port.domain.value) for sample in samples)


def is_function(cls: type[Op]) -> bool:
    """Return True if all numbers in a range have finite results."""
    return cls.is_elementwise or any(declared.name == "variance" for declared in cls.inputs)


@parametrize_ports(ValueRange)
def test_ends_of_ranges_suit_a_sample(port: Port) -> None:
    assert isinstance(port.domain, ValueRange)
    samples = port.samples()
    ends = (port.domain.low, port.domain.high)
    assert not samples or any(all(port.accepts(sample, end) for end in ends) for sample in samples)


@pytest.mark.parametrize("port", [port for port in ports(ValueRange) if is_function(port.cls)], ids=str)
def test_functions_are_defined_in_their_range(port: Port) -> None:
    assert isinstance(port.domain, ValueRange)
    numbers = np.linspace(port.domain.low, port.domain.high, 7, dtype=np.float32)
    above = () if port.domain.defined_above is None else port.domain.defined_above + np.float32([0.01, 1, 10])
    for value in (*numbers, *above):
        inputs = [np.full((2, 3), 0.5, np.float32) for _ in port.cls.inputs]
        inputs = [array[0] if is_vector(port.cls, position) else array for position, array in enumerate(inputs)]
        inputs[port.position] = np.full_like(inputs[port.position], value)
        layer = port.cls(**({"epsilon": 1e-5} if not port.cls.is_elementwise else {}))
        assert np.isfinite(layer.evaluate(*inputs)).all(), value


def is_vector(cls: type[Op], position: int) -> bool:
    return not cls.is_elementwise and cls.inputs[position].name != "data"


def has_finite_result(cls: type[Op], *numbers: float) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(cls().evaluate(*(np.float32([number]) for number in numbers))).all())


def has_number(cls: type[Op]) -> bool:
    return bool(cls.inputs[0].types & FLOAT) and not any(field.is_required for field in cls.fields())


@pytest.mark.parametrize("cls", [cls for cls in registered() if issubclass(cls, Unary) and has_number(cls)])
def test_partial_functions_declare_a_range(cls: type[Op]) -> None:
    is_total = all(has_finite_result(cls, number) for number in (-2.5, -1, -0.25, 0, 0.5, 1, 2.5))
    assert is_total != isinstance(cls.inputs[0].domain, ValueRange)


@pytest.mark.parametrize("cls", [cls for cls in registered() if issubclass(cls, Binary) and has_number(cls)])
def test_partial_pairs_declare_a_range(cls: type[Op]) -> None:
    is_total = all(has_finite_result(cls, a, b) for a in (-2.0, 0.5, 2.0) for b in (-1.5, 0.0, 1.5))
    assert is_total != any(isinstance(declared.domain, ValueRange) for declared in cls.inputs)


@parametrize_ports(AxisOrder)
def test_orders_of_axes_suit_every_sample(port: Port) -> None:
    for sample in port.samples():
        order = np.arange(sample.inputs[0].ndim)[::-1].astype(sample.inputs[port.position].dtype)
        assert port.accepts(sample, order)


@parametrize_ports(TargetShape)
def test_shapes_with_further_axes_suit_most_samples(port: Port) -> None:
    assert isinstance(port.domain, TargetShape)
    accepted = []
    for sample in port.samples():
        data, original = sample.inputs[0], sample.inputs[port.position]
        if original.size >= data.ndim and 0 not in data.shape:
            shape = np.array([*[port.domain.leading] * (original.size - data.ndim), *data.shape], original.dtype)
            accepted.append(port.accepts(sample, shape))
    assert sum(accepted) > len(accepted) / 2


def test_inputs_of_booleans_have_no_indices() -> None:
    assert [str(port) for port in ports(AxisIndices) if port.cls.inputs[port.position].types <= BOOLEAN] == []
