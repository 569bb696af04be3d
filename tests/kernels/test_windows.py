"""Windows: intervals as OpenVINO infers them, blocks that cover everything, and hostile sizes."""

from __future__ import annotations

import time
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels.windows import SlidingAxis, block_sizes, blocks, padded_part, window_view
from ir_exec.ops import Op
from ir_exec.ops.pooling.windows import AvgPool1, MaxPool1, MaxPool8
from ir_exec.types import ElementType, Shape, TensorType
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.indexing import make
from tests.helpers.intervals import inferred
from tests.helpers.ir_text import layer, net, port


def openvino(oracle: Oracle, operator: Op, opset: int, attributes: dict[str, object], shapes: list[str]) -> list[Shape]:
    """The shapes of the outputs that OpenVINO infers for inputs of these shapes."""
    count, last = len(shapes), len(operator.outputs)
    layers = [
        layer(i, "Parameter", data=f'shape="{shape}" element_type="f32"', outputs=[port(0)])
        for i, shape in enumerate(shapes)
    ]
    data = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    inputs, outputs = [port(i) for i in range(count)], [port(count + i) for i in range(last)]
    kind = operator.type_name
    layers.append(layer(count, kind, name="layer", opset=f"opset{opset}", data=data, inputs=inputs, outputs=outputs))
    layers += [layer(count + 1 + i, "Result", inputs=[port(0)]) for i in range(last)]
    edges = [(i, 0, count, i) for i in range(count)] + [(count, count + i, count + 1 + i, 0) for i in range(last)]
    answer = oracle.types(IRFile(net(layers, edges), b"", ()))
    assert not isinstance(answer, Refused), answer.reason
    return [kind.shape for node in answer if node.name == "layer" for kind in node.outputs]


DATA = ["?,?,?,?", "1..3,4,5..9,7..", "2,4,..6,3..30", "2,4,9,1..8", "2,4,7,8", "..."]
STEPS: list[dict[str, object]] = [
    {"strides": "1,1", "pads_begin": "0,0", "pads_end": "0,0"},
    {"strides": "2,3", "pads_begin": "1,0", "pads_end": "0,2"},
    {"strides": "3,2", "pads_begin": "0,0", "pads_end": "0,0", "auto_pad": "same_upper"},
    {"strides": "2,2", "pads_begin": "1,1", "pads_end": "1,1", "auto_pad": "valid"},
]


@pytest.mark.parametrize("type", ["Convolution", "GroupConvolution", "ConvolutionBackpropData"])
def test_intervals_of_convolutions(type: str, oracle: Oracle) -> None:
    filters = {
        "Convolution": ["3,4,3,2", "?,?,?,?", "1..3,..9,2..4,3", "..."],
        "GroupConvolution": ["2,3,2,3,2", "?,?,?,?,?", "1..3,5,2,2..4,3", "2,?,2,..2,1", "..."],
        "ConvolutionBackpropData": ["4,3,3,2", "?,?,?,?", "..9,1..3,2..4,3", "..."],
    }
    for data, kernel, steps, dilations in product(DATA, filters[type], STEPS, ["1,1", "2,1"]):
        attributes = steps | {"dilations": dilations}
        if type == "ConvolutionBackpropData":
            attributes |= {"output_padding": "0,1"}
        operator = make(type, 1, **attributes)
        types = [TensorType(ElementType.f32, Shape.parse(text)) for text in (data, kernel)]
        wanted = openvino(oracle, operator, 1, attributes, [data, kernel])
        assert [kind.shape for kind in inferred(operator, *types)] == wanted, (data, kernel, attributes)


@pytest.mark.parametrize(("type", "opset"), [("MaxPool", 1), ("MaxPool", 14), ("AvgPool", 14), ("AvgPool", 16)])
def test_intervals_of_pooling(type: str, opset: int, oracle: Oracle) -> None:
    rounding = ["floor", "ceil"] + (["ceil_torch"] if opset > 1 else [])
    for data, steps, mode in product(DATA, STEPS, rounding):
        attributes = steps | {"kernel": "3,2", "rounding_type": mode}
        attributes |= {"exclude-pad": "false"} if type == "AvgPool" else {}
        attributes |= {"dilations": "1,1"} if opset != 1 else {}
        operator = make(type, opset, **attributes)
        found = [kind.shape for kind in inferred(operator, TensorType(ElementType.f32, Shape.parse(data)))]
        assert found == openvino(oracle, operator, opset, attributes, [data]), (data, attributes)


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=3), target=st.integers(0, 60))
def test_blocks_cover_all_windows_in_their_order(counts: list[int], target: int) -> None:
    numbers = np.arange(np.prod(counts, dtype=int)).reshape(counts)
    sizes = block_sizes(counts, target)
    flat = [number for block in blocks(counts, sizes) for number in numbers[block].ravel().tolist()]
    assert flat == list(range(numbers.size))
    assert np.prod(sizes) <= max(target, 1)


@st.composite
def sliding(draw: st.DrawFn) -> SlidingAxis:
    size, kernel, stride, dilation = [draw(st.integers(1, most)) for most in (9, 12, 4, 3)]
    pad = draw(st.integers(-2, 20))
    return SlidingAxis(size, kernel, stride, dilation, pad, draw(st.integers(1, 8)))


@given(axis=sliding())
def test_what_windows_reach(axis: SlidingAxis) -> None:
    covered: dict[int, list[tuple[int, int]]] = {k: [] for k in range(axis.kernel)}
    for i, k in product(range(axis.count), range(axis.kernel)):
        place = i * axis.stride + k * axis.dilation - axis.pad
        if 0 <= place < axis.size:
            covered[k].append((i, place))
    positions = list(axis.positions())
    assert positions == sorted(set(positions))
    assert set(positions) >= {k for k, pairs in covered.items() if pairs}
    for k, pairs in covered.items():
        reach = axis.reach(k)
        found = [] if reach is None else [list(range(axis.count))[reach[0]], list(range(axis.size))[reach[1]]]
        assert (list(zip(*found, strict=True)) if found else []) == pairs


@given(axes=st.lists(sliding(), min_size=1, max_size=2))
def test_the_view_of_all_windows(axes: list[SlidingAxis]) -> None:
    data = np.arange(1, 1 + np.prod([axis.size for axis in axes])).reshape([axis.size for axis in axes])
    windows = window_view(padded_part(data, axes), axes)
    for place in np.ndindex(*windows.shape):
        elements, numbers = place[: len(axes)], place[len(axes) :]
        source = [
            i * axis.stride + k * axis.dilation - axis.pad for axis, i, k in zip(axes, numbers, elements, strict=True)
        ]
        inside = all(0 <= index < axis.size for index, axis in zip(source, axes, strict=True))
        assert windows[place] == (data[tuple(source)] if inside else 0)


FAR = 10**9


@pytest.mark.parametrize(
    "operator",
    [
        MaxPool1(kernel_sizes=(FAR,), strides=(FAR,), pads_begin=(FAR - 1,), pads_end=(FAR,)),
        MaxPool8(kernel_sizes=(FAR,), strides=(FAR,), pads_begin=(FAR - 1,), pads_end=(FAR,)),
        AvgPool1(kernel_sizes=(FAR,), strides=(FAR,), pads_begin=(FAR - 1,), pads_end=(FAR,), exclude_pad=False),
    ],
)
def test_a_kernel_beyond_all_data_costs_no_time_and_no_memory(operator: Op) -> None:
    data = np.array([[[1, 2, 5, 3]]], np.float32)
    tracemalloc.start()
    start = time.process_time()
    found = operator.evaluate(data)
    elapsed = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert elapsed < 1
    assert peak < 2**20
    values = found[0] if isinstance(found, tuple) else found
    assert values.shape == (1, 1, 2)
    if isinstance(operator, MaxPool1):
        assert values.tolist() == [[[1, 5]]]
