"""Models of well-known sizes with random weights, built with OpenVINO's API and written as IR."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

__all__ = ["BUILT"]


class _Convolutional:
    """Layers of convolutional networks; a scale and a shift replace batch normalization, as after conversion."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def weights(self, *shape: int) -> ov.Node:
        fan_in = np.prod(shape[-3:])
        return ops.constant((self.random.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32))

    def shift(self, x: ov.Node, channels: int) -> ov.Node:
        return ops.add(x, ops.constant((self.random.standard_normal((1, channels, 1, 1)) * 0.1).astype(np.float32)))

    def convolution(self, x: ov.Node, inputs: int, outputs: int, size: int, stride: int = 1) -> ov.Node:
        pads = [size // 2] * 2
        result = ops.convolution(x, self.weights(outputs, inputs, size, size), [stride] * 2, pads, pads, [1, 1])
        return self.shift(result, outputs)

    def depthwise(self, x: ov.Node, channels: int, stride: int) -> ov.Node:
        filters = self.weights(channels, 1, 1, 3, 3)
        return self.shift(ops.group_convolution(x, filters, [stride] * 2, [1, 1], [1, 1], [1, 1]), channels)

    def classifier(self, x: ov.Node, channels: int) -> ov.Node:
        pooled = ops.reduce_mean(x, ops.constant(np.array([2, 3])), False)
        return ops.matmul(pooled, self.weights(1000, channels), False, True)


def resnet50() -> tuple[ov.Model, list[np.ndarray]]:
    """Build ResNet-50 for one image of 224 x 224."""
    build = _Convolutional()
    image = ops.parameter([1, 3, 224, 224], np.float32, name="image")
    x = ops.relu(build.convolution(image, 3, 64, 7, 2))
    x = ops.max_pool(x, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3], "floor", "explicit").output(0)
    inputs = 64
    for width, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            inner = ops.relu(build.convolution(x, inputs, width, 1))
            inner = ops.relu(build.convolution(inner, width, width, 3, stride))
            inner = build.convolution(inner, width, 4 * width, 1)
            skipped = build.convolution(x, inputs, 4 * width, 1, stride) if block == 0 else x
            x, inputs = ops.relu(ops.add(inner, skipped)), 4 * width
    model = ov.Model([build.classifier(x, inputs)], [image], "resnet50")
    return model, [np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)]


def mobilenet_v2() -> tuple[ov.Model, list[np.ndarray]]:
    """Build MobileNet-v2 for one image of 224 x 224."""
    build = _Convolutional()

    def relu6(x: ov.Node) -> ov.Node:
        return ops.clamp(x, 0.0, 6.0)

    image = ops.parameter([1, 3, 224, 224], np.float32, name="image")
    x, inputs = relu6(build.convolution(image, 3, 32, 3, 2)), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, outputs, blocks, first_stride in stages:
        for block in range(blocks):
            stride, width = first_stride if block == 0 else 1, expansion * inputs
            inner = relu6(build.convolution(x, inputs, width, 1)) if expansion > 1 else x
            inner = build.convolution(relu6(build.depthwise(inner, width, stride)), width, outputs, 1)
            x, inputs = ops.add(x, inner) if stride == 1 and inputs == outputs else inner, outputs
    x = relu6(build.convolution(x, inputs, 1280, 1))
    model = ov.Model([build.classifier(x, 1280)], [image], "mobilenet_v2")
    return model, [np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)]


def lstm() -> tuple[ov.Model, list[np.ndarray]]:
    """Build three LSTM layers, 512 wide, over 64 steps."""
    random = np.random.default_rng(0)
    width, steps = 512, 64

    def weights(*shape: int) -> ov.Node:
        return ops.constant((random.standard_normal(shape) / np.sqrt(width)).astype(np.float32))

    sequence = ops.parameter([1, steps, width], np.float32, name="sequence")
    lengths = ops.constant(np.array([steps], np.int32))
    start = ops.constant(np.zeros((1, 1, width), np.float32))
    x = sequence
    for _ in range(3):
        gates = (weights(1, 4 * width, width), weights(1, 4 * width, width), weights(1, 4 * width))
        states = ops.lstm_sequence(x, start, start, lengths, *gates, width, "FORWARD")
        x = ops.squeeze(states.output(0), ops.constant(np.array([1])))
    model = ov.Model([x], [sequence], "lstm")
    return model, [random.standard_normal((1, steps, width)).astype(np.float32)]


BUILT: dict[str, Callable[[], tuple[ov.Model, list[np.ndarray]]]] = {
    "ResNet-50 224": resnet50,
    "MobileNet-v2 224": mobilenet_v2,
    "LSTM 3 x 512, 64 steps": lstm,
}
"""Functions that build a model and inputs for it."""


def write(name: str, folder: Path) -> tuple[Path, list[np.ndarray]]:
    """Write the model into a folder, and return its path and its inputs."""
    model, inputs = BUILT[name]()
    path = folder / f"{BUILT[name].__name__}.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    return path, inputs
