"""Write the smallest file for each fault found in OpenVINO's CPU plugin: `python docs/faults/make.py`.

NAME.xml, NAME.inputs.npz with in0, in1, ..., and NAME.outputs.npz with the correct out0. The page
docs/explanation/faults-in-runtimes.md describes them, tests/test_faults.py runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ir_exec
from ir_exec import build

HERE = Path(__file__).resolve().parent
F32 = np.float32
NAN = F32("nan")
ONES = np.ones(2, F32)


@dataclass(frozen=True)
class Fault:
    """A model of one operator and inputs for which OpenVINO 2026.4.1 on a CPU returns a wrong output.

    ends_the_process: OpenVINO does not return at all.
    """

    name: str
    model: Callable[[], ir_exec.Model]
    inputs: Sequence[Any]
    ends_the_process: bool = False


def _unary(name: str, function: Callable[[Any], Any], *values: float) -> Fault:
    def model() -> ir_exec.Model:
        data = build.parameter([len(values)], "f32", name="data")
        return build.model(build.result(function(data), name="output"))

    return Fault(name, model, [np.array(values, F32)])


def _u8(name: str, function: Callable[[Any], Any], *values: int, dynamic: bool = False) -> Fault:
    def model() -> ir_exec.Model:
        data = build.parameter([None if dynamic else len(values)], "u8", name="data")
        return build.model(build.result(function(data), name="output"))

    return Fault(name, model, [np.array(values, np.uint8)])


def _sequence_lengths() -> ir_exec.Model:
    random = np.random.default_rng(0)
    data, state = build.parameter([None, 3, 2], name="data"), build.parameter([None, 1, 2], name="state")
    lengths = build.parameter([None], "i32", name="lengths")
    weights = [random.normal(size=(1, 6, 2)).astype(F32) for _ in range(2)]
    sequence, _ = build.gru_sequence(
        data, state, lengths, *weights, np.zeros((1, 6), F32), hidden_size=2, direction="forward"
    )
    return build.model([build.result(sequence, name="output")], [data, state, lengths])


def _convolution(data: Any, weights: Any) -> Any:
    return build.convolution(data, weights, strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1])


def _zero_between_levels() -> ir_exec.Model:
    data = build.parameter([1, 4, 2, 2], name="data")
    quantized = build.fake_quantize(data, F32(-3), F32(3), F32(-3), F32(3), levels=256)
    stored = build.constant(np.arange(-8, 8, dtype=np.int8).reshape(4, 4, 1, 1))
    weights = build.multiply(build.convert(stored, destination_type="f32"), np.full((4, 1, 1, 1), 0.125, F32))
    return build.model(build.result(_convolution(quantized, weights), name="output"))


def _antialias() -> ir_exec.Model:
    data = build.parameter([1, 1, 4], name="data")
    options = {"mode": "linear", "shape_calculation_mode": "sizes", "antialias": True}
    resized = build.interpolate(data, np.array([2], np.int64), np.array([2], np.int64), **options)
    return build.model(build.result(resized, name="output"))


def _average_pooling() -> ir_exec.Model:
    data = build.parameter([1, 1, 2, 2], name="data")
    window = {"kernel": [2, 2], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
    return build.model(build.result(build.avg_pool(data, **window, exclude_pad=False), name="output"))


FAULTS = [
    _unary("relu-nan", build.relu, NAN, 1),
    _unary("hsigmoid-nan", build.hsigmoid, NAN, 1),
    _unary("hard-sigmoid-nan", lambda data: build.hard_sigmoid(data, F32(0.25), F32(0.5)), NAN, 1),
    _unary("exp-nan", build.exp, NAN, 0),
    _unary("clamp-nan", lambda data: build.clamp(data, 0.0, 1.0), NAN, 1),
    _unary(
        "fake-quantize-nan", lambda data: build.fake_quantize(data, F32(0), F32(1), F32(0), F32(1), levels=3), NAN, 1
    ),
    _unary("maximum-nan", lambda data: build.maximum(data, ONES), NAN, 2),
    _unary("minimum-nan", lambda data: build.minimum(data, ONES), NAN, 0),
    _unary("greater-nan", lambda data: build.greater(data, ONES), NAN, 2),
    _unary("greater-equal-nan", lambda data: build.greater_equal(data, ONES), NAN, 2),
    _unary("is-finite-subnormal", build.is_finite, 1e-40, 1),
    _unary("erf-inv", build.erfinv, 0.999999, 0.5),
    _u8("multiply-u8", lambda data: build.multiply(data, np.array([200, 2], np.uint8)), 3, 3),
    _u8("squared-difference-u8", lambda data: build.squared_difference(data, np.ones(2, np.uint8)), 100, 3),
    _u8("reduce-mean-u8", lambda data: build.reduce_mean(data, [0]), 200, 200, 200, 200),
    _u8("divide-u8-dynamic", lambda data: build.divide(data, np.full(2, 2, np.uint8)), 3, 5, dynamic=True),
    Fault(
        "sequence-lengths",
        _sequence_lengths,
        [np.linspace(-1, 1, 6, dtype=F32).reshape(1, 3, 2), np.zeros((1, 1, 2), F32), np.array([1], np.int32)],
    ),
    Fault("zero-between-levels", _zero_between_levels, [np.linspace(-2, 2, 16, dtype=F32).reshape(1, 4, 2, 2)]),
    Fault("avg-pool-16", _average_pooling, [np.ones((1, 1, 2, 2), F32)], ends_the_process=True),
    Fault("interpolate-antialias", _antialias, [np.array([[[1, 5, 2, 8]]], F32)]),
]


def main() -> None:
    for fault in FAULTS:
        path = HERE / f"{fault.name}.xml"
        fault.model().save(path)
        # The attribute may be missing, and only then does the process end.
        if fault.ends_the_process:
            path.write_text(path.read_text("utf-8").replace(' dilations="1,1"', ""), "utf-8")
        outputs = ir_exec.compile_model(path)(list(fault.inputs)).to_tuple()
        np.savez(HERE / f"{fault.name}.inputs.npz", **{f"in{place}": one for place, one in enumerate(fault.inputs)})
        np.savez(HERE / f"{fault.name}.outputs.npz", **{f"out{place}": one for place, one in enumerate(outputs)})


if __name__ == "__main__":
    main()
