"""RNN, GRU and LSTM with the activations that ONNX has and the sequences of IR do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.onnx.cases.values import floats, integers
from tests.onnx.runtime import Node, node

__all__ = ["CASES"]

SIZE, HIDDEN = 4, 3

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}

LENGTHS = integers(1, 4, 2, dtype=np.int32)


def layer(name: str, *, directions: int = 1, lengths: Any = None, peepholes: Any = None, **attributes: Any) -> Node:
    gates = GATES[name] * HIDDEN
    inputs = [
        floats(3, 2, SIZE),
        floats(directions, gates, SIZE),
        floats(directions, gates, HIDDEN),
        floats(directions, gates * 2),
        lengths,
        floats(directions, 2, HIDDEN),
    ]
    if name == "LSTM":
        inputs += [floats(directions, 2, HIDDEN, seed=1), peepholes]
    if directions == 2:
        attributes["direction"] = "bidirectional"
    return node(name, *inputs, opset=14, hidden_size=HIDDEN, outputs=3 if name == "LSTM" else 2, **attributes)


def _one_by_one() -> list[Node]:
    """Every activation in every place, with its own numbers and with the defaults.

    Softplus overflows in onnxruntime where it is carried on, and its GRU has gates of its own for ThresholdedRelu.
    """
    tables: tuple[tuple[tuple[str, ...], dict[str, float]], ...] = (
        (("HardSigmoid", "LeakyRelu", "Elu", "Softsign", "Affine", "ScaledTanh"), {}),
        (("LeakyRelu", "Elu", "Affine", "HardSigmoid"), {"activation_alpha": 0.3}),
        (("HardSigmoid", "Affine", "ScaledTanh"), {"activation_alpha": 0.3, "activation_beta": 0.4}),
    )
    return [
        layer(name, activations=[activation] * count, **{key: [number] * count for key, number in numbers.items()})
        for name, count in ACTIVATIONS.items()
        for activations, numbers in tables
        for activation in activations
    ]


CASES: list[Node] = [
    *_one_by_one(),
    layer("RNN", directions=2, activations=["Relu", "Softsign"]),
    layer("RNN", directions=2, activations=["Tanh", "Sigmoid"], lengths=LENGTHS),
    layer("RNN", activations=["Softplus"]),
    layer("RNN", activations=["ThresholdedRelu"], clip=1.5),
    layer("GRU", activations=["Sigmoid", "ThresholdedRelu"], activation_alpha=[0.3]),
    layer("GRU", activations=["Sigmoid", "Softplus"]),
    layer("LSTM", activations=["Sigmoid", "ThresholdedRelu", "Softplus"]),
    layer("RNN", activations=["Softsign"], direction="reverse", lengths=LENGTHS),
    layer("GRU", activations=["HardSigmoid", "Softsign"], linear_before_reset=1, lengths=LENGTHS),
    layer("GRU", activations=["HardSigmoid", "Softsign"], linear_before_reset=0, direction="reverse"),
    layer(
        "GRU", directions=2, activations=["Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu"], activation_alpha=[0.1, 0.2]
    ),
    layer("LSTM", activations=["Sigmoid", "Elu", "LeakyRelu"], activation_alpha=[0.5, 0.1], lengths=LENGTHS),
    layer("LSTM", directions=2, activations=["HardSigmoid", "Tanh", "Tanh", "Sigmoid", "Softsign", "Tanh"]),
    layer("LSTM", activations=["HardSigmoid", "Tanh", "Tanh"], peepholes=floats(1, 3 * HIDDEN), clip=1.5),
    layer("LSTM", activations=["Sigmoid", "Softsign", "Tanh"], input_forget=1),
]
