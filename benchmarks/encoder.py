"""An encoder of BERT-base's size with random weights, built with OpenVINO's API and written as IR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

__all__ = ["write_encoder"]

WIDTH, HEADS, LAYERS, VOCABULARY, LONGEST = 768, 12, 12, 30_522, 512


class _Builder:
    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def weights(self, *shape: int) -> ov.Node:
        return ops.constant((self.random.standard_normal(shape, np.float32) / np.sqrt(shape[0])).astype(np.float32))

    def linear(self, x: ov.Node, rows: int, columns: int) -> ov.Node:
        return ops.add(ops.matmul(x, self.weights(columns, rows), False, True), self.weights(1, 1, columns))

    def normalize(self, x: ov.Node) -> ov.Node:
        centered = ops.mvn(x, ops.constant(np.array([-1])), True, 1e-12, "inside_sqrt")
        return ops.add(ops.multiply(centered, self.weights(1, 1, WIDTH)), self.weights(1, 1, WIDTH))

    def heads(self, x: ov.Node) -> ov.Node:
        split = ops.reshape(x, ops.constant(np.array([0, 0, HEADS, WIDTH // HEADS])), True)
        return ops.transpose(split, ops.constant(np.array([0, 2, 1, 3])))

    def layer(self, x: ov.Node, mask: ov.Node) -> ov.Node:
        query, key, value = (self.heads(self.linear(x, WIDTH, WIDTH)) for _ in range(3))
        attended = ops.transpose(ops.scaled_dot_product_attention(query, key, value, mask), ops.constant([0, 2, 1, 3]))
        merged = ops.reshape(attended, ops.constant(np.array([0, 0, WIDTH])), True)
        x = self.normalize(ops.add(x, self.linear(merged, WIDTH, WIDTH)))
        return self.normalize(
            ops.add(x, self.linear(ops.gelu(self.linear(x, WIDTH, 4 * WIDTH), "erf"), 4 * WIDTH, WIDTH))
        )


def write_encoder(path: Path) -> None:
    """Write the encoder, from token ids and attention mask (1 x length) to the last hidden state."""
    build = _Builder()
    ids = ops.parameter([1, -1], np.int64, name="input_ids")
    attended = ops.parameter([1, -1], np.int64, name="attention_mask")
    zero, one = ops.constant(np.int64(0)), ops.constant(np.int64(1))
    length = ops.gather(ops.shape_of(ids), one, zero)
    positions = ops.gather(build.weights(LONGEST, WIDTH), ops.range(zero, length, one, "i64"), zero)
    x = build.normalize(ops.add(ops.gather(build.weights(VOCABULARY, WIDTH), ids, zero), positions))
    mask = ops.convert(ops.unsqueeze(attended, ops.constant(np.array([1, 2]))), "boolean")
    for _ in range(LAYERS):
        x = build.layer(x, mask)
    ov.save_model(ov.Model([x], [ids, attended], "encoder"), path, compress_to_fp16=False)
