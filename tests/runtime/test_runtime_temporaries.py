"""Intermediate arrays that attributes make far larger than inputs and outputs, within the memory of a run."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

import ir_exec
from ir_exec import ResourceError
from ir_exec.types import Array, ElementType
from tests.helpers.facts import coded
from tests.helpers.network_text import NetworkText

BUDGET = 2**23


def ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def index(*values: int) -> Array:
    return np.array(values, np.int64)


class Layer(NamedTuple):
    """A layer with small inputs and a small output."""

    type: str
    opset: int
    inputs: list[Array]
    attributes: dict[str, object]

    def __str__(self) -> str:
        return f"{self.type}-{self.opset}"


SLIDING = {"strides": "5000,5000", "pads_begin": "10000,10000", "pads_end": "10000,10000", "dilations": "1,1"}
DILATED = {"strides": "1,1", "pads_begin": "9000,9000", "pads_end": "9000,9000", "dilations": "6000,6000"}
RESIZED = {
    "mode": "nearest",
    "shape_calculation_mode": "sizes",
    "pads_begin": "0,0,9000,9000",
    "pads_end": "0,0,0,0",
}
POOLED = {"pooled_h": 512, "pooled_w": 512, "sampling_ratio": 2, "spatial_scale": 1.0, "mode": "max"}
LAYERS = [
    Layer("Convolution", 1, [ones(1, 1, 8, 8), ones(1, 1, 3, 3)], SLIDING),
    Layer("Convolution", 1, [ones(1, 1, 8, 8), ones(1, 1, 4, 4)], DILATED),
    Layer("GroupConvolution", 1, [ones(1, 2, 8, 8), ones(2, 1, 1, 3, 3)], SLIDING),
    Layer("Interpolate", 4, [ones(1, 1, 4, 4), index(2, 2), ones(2), index(2, 3)], RESIZED),
    Layer("Pad", 1, [ones(2**18), index(2**18 - 1), index(2**18 - 1)], {"pad_mode": "reflect"}),
    Layer("ROIAlign", 3, [ones(1, 1, 4, 4), np.float32([[0, 0, 3, 3]]), index(0)], POOLED),
    Layer("ISTFT", 16, [ones(9, 4, 2), ones(16), index(16)[0], index(2**22)[0], index(9)], {"center": "false"}),
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_intermediate_arrays_beyond_budget_are_refused_in_advance(layer: Layer) -> None:
    net = NetworkText()
    shapes = [",".join("?" * array.ndim) for array in layer.inputs]
    ports = [
        net.parameter(shape, ElementType.of(array).name) for shape, array in zip(shapes, layer.inputs, strict=True)
    ]
    net.result(net.op(layer.type, *ports, opset=layer.opset, **layer.attributes))
    file = net.file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights), max_memory=BUDGET)
    tracemalloc.start()
    try:
        with pytest.raises(ResourceError, check=coded("IR006", layer_type=layer.type)):
            compiled(layer.inputs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * BUDGET
