"""Values computed from constants alone."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import build
from ir_exec.build import Value
from ir_exec.graph.compressed import WeightMismatch, describe_weight
from ir_exec.graph.constant_parts import (
    constant_shape,
    is_constant_part,
    largest_constant,
    nodes_above,
    read_numbers,
    stored_constant,
)
from ir_exec.model import Model
from ir_exec.types import ElementType, convert

ROW = np.arange(1, 5, dtype=np.float32)


def output_of(value: Value) -> Model:
    return build.model(build.result(value, name="y"))


def through(name: str, *types: str) -> Value:
    """A constant of a type after conversions."""
    value = build.constant(convert(ROW, ElementType[name]))
    for target in types:
        value = build.convert(value, target)
    return value


@pytest.mark.parametrize(
    ("name", "types", "is_stored"),
    [
        ("f16", (), True),
        ("f16", ("f32",), True),
        ("u4", ("f16", "f32"), True),
        ("f8e4m3", ("bf16", "f32"), True),
        ("i32", ("f32",), True),
        ("f32", ("f16",), False),
        ("bf16", ("f16", "f32"), False),
        ("i32", ("f16",), False),
        ("nf4", ("f16",), False),
        ("f8e8m0", ("f16",), False),
        ("f32", ("u8", "f32"), False),
    ],
)
def test_conversions_that_keep_numbers(name: str, types: tuple[str, ...], is_stored: bool) -> None:
    value = output_of(through(name, *types)).graph.results[0].values_in[0]
    constant = stored_constant(value)
    assert (constant is not None) == is_stored
    assert constant is None or constant.element_type.name == name


def test_numbers_of_products_differences_and_shapes() -> None:
    product = build.multiply(build.subtract(through("u8", "f16"), np.float16(2)), build.constant([[3], [5]], "f16"))
    model = output_of(build.reshape(product, [4, 2], special_zero=False))
    value = model.graph.results[0].values_in[0]
    assert model.weights is not None
    assert is_constant_part(value)
    assert read_numbers(value, model.weights).tolist() == [[-3, 0], [3, 6], [-5, 0], [5, 10]]
    assert constant_shape(value) == (4, 2)
    assert constant_shape(value.node.values_in[0]) == (2, 4)
    assert largest_constant(value) == (4, -8)


def test_inputs_are_no_constant_parts() -> None:
    value = output_of(build.multiply(build.parameter([4], "f32", name="x"), ROW)).graph.results[0].values_in[0]
    assert not is_constant_part(value)


def test_layers_that_read_one_value_several_times() -> None:
    """Each layer is visited once: 5^12 paths lead to the constant."""
    value = build.constant(ROW)
    for _ in range(14):
        value = build.fake_quantize(value, value, value, value, value, levels=4)
    node = output_of(build.multiply(value, value)).graph.results[0].values_in[0].node
    assert largest_constant(node.values_in[0]) == (0, 0)
    assert isinstance(describe_weight(node.outputs[0]), WeightMismatch)


def test_the_layers_of_a_constant_part_in_order() -> None:
    scale = build.constant(ROW, name="scale")
    product = build.multiply(build.convert(scale, "f32", name="wide"), scale, name="product")
    value = output_of(build.subtract(product, scale, name="difference")).graph.results[0].values_in[0]
    assert [node.name for node in nodes_above(value)] == ["difference", "product", "wide", "scale"]
