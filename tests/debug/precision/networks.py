"""A small language model, and what quantization makes of it."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.model import Model

__all__ = ["TOKENS", "plain_model", "quantized_model", "ranged_model"]

TOKENS = {"tokens": np.arange(12, dtype=np.int64)[None]}


def plain_model(output: str = "logits", *, sensitive: bool = True) -> Model:
    """An embedding, four products in a row, and logits. sensitive: the third product has few large channels."""
    random = np.random.default_rng(0)
    table = random.standard_normal((40, 32)).astype(np.float32)
    hidden = build.gather(build.constant(table, name="table"), build.parameter([1, None], "i64", name="tokens"), 0)
    for number in range(4):
        weight = random.standard_normal((32, 32)).astype(np.float32) / 4
        if sensitive and number == 2:
            # Half of each group is negligible compared with the other half.
            weight[:, ::2] *= 0.04
            hidden = build.multiply(hidden, np.where(np.arange(32) % 2, 0.05, 25).astype(np.float32))
        product = build.matmul(
            hidden, build.constant(weight, name=f"w{number}"), transpose_b=True, name=f"product{number}"
        )
        hidden = build.tanh(product)
    head = random.standard_normal((40, 32)).astype(np.float32)
    logits = build.matmul(hidden, build.constant(head, name="head"), transpose_b=True, name="last")
    return build.model(build.result(logits, name=output))


def quantized_model(plain: Model, name: str = "int4_sym", **layers: str) -> Model:
    """All weights in groups of 16. layers: other formats, by names."""
    return compress_weights(plain, Compression(name, 16, all_layers=True, layers=layers))[0]


def ranged_model(end: float = 0.4) -> Model:
    """The plain model with the values of one layer quantized to a range."""
    editor = build.Editor(plain_model(sensitive=False))
    ends = [np.float32(limit) for limit in (-end, end, -end, end)]
    return editor.insert("product1", lambda value: build.fake_quantize(value, *ends, levels=16, name="range")).model()
