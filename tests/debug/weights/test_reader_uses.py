"""Uses of weights by the layers that read them."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug.weights.model_weights import find_model_weights
from ir_exec.debug.weights.reader_uses import ReaderUse
from ir_exec.model import Model


def _constant(*shape: int) -> build.Value:
    return build.constant(np.ones(shape, np.float32), name="w")


def _conv(weight: build.Value, *, in_groups: bool) -> build.Value:
    data = build.parameter([1, 4, 8, 8], name="data")
    layer = build.group_convolution if in_groups else build.convolution
    return layer(data, weight, strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1])


def _data(*shape: int) -> build.Value:
    return build.parameter(shape, name="data")


CASES: list[tuple[ReaderUse, int, build.Value]] = [
    ("matrix", 1, build.matmul(_data(1, 8), _constant(4, 8), transpose_b=True)),
    ("filters", 1, _conv(_constant(4, 4, 3, 3), in_groups=False)),
    ("filters", 2, _conv(_constant(2, 2, 2, 3, 3), in_groups=True)),
    ("table", 1, build.gather(_constant(4, 8), build.parameter([1], "i64", name="ids"), 0)),
    ("elements", 1, build.add(_data(4, 8), _constant(4, 8))),
    ("elements", 1, build.concat([_data(4, 8), _constant(4, 8)], 0)),
    ("matrix", 1, build.matmul(_data(1, 8), build.transpose(_constant(4, 8), [1, 0]))),
]


@pytest.mark.parametrize(("use", "output_axes", "output"), CASES)
def test_use_of_a_weight(use: ReaderUse, output_axes: int, output: build.Value) -> None:
    model: Model = build.model(output)
    assert model.weights is not None
    (weight,) = find_model_weights(model.graph, model.weights)
    assert [reader.use for reader in weight.readers] == [use]
    assert weight.output_axes == output_axes
    assert weight.is_read_as(use)
