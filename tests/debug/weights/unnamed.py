"""Transformers whose constants and layers have generated names, with the checkpoints that they come from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ir_exec import build
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["draw_blocks", "transformer"]

SIZE = 32
TOKENS = 4
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
BRANCHES = ("gate_proj", "up_proj", "down_proj")


def draw_blocks(layers: int) -> dict[str, Array]:
    """The tensors of blocks with an attention and a product of two branches; all matrices are square."""
    random = np.random.default_rng(layers)
    return {
        f"model.layers.{layer}.{module}.{name}.weight": random.standard_normal((SIZE, SIZE)).astype(np.float32)
        for layer in range(layers)
        for module, names in (("self_attn", PROJECTIONS), ("mlp", BRANCHES))
        for name in names
    }


def transformer(tensors: Mapping[str, Array], layers: int, *, is_fused: bool = True) -> Model:
    """A transformer whose constants are numbered.

    Args:
        is_fused: True for one layer of attention, False for products and a Softmax.
    """
    hidden: build.Value = build.parameter([1, TOKENS, SIZE], name="hidden")
    for layer in range(layers):
        query, key, value = (_project(hidden, layer, f"self_attn.{name}", tensors) for name in PROJECTIONS[:3])
        if is_fused:
            attention = build.scaled_dot_product_attention(query, key, value, causal=False)
        else:
            scores = build.multiply(build.matmul(query, key, transpose_b=True), np.float32(0.2))
            attention = build.matmul(build.softmax(scores, axis=-1), value)
        hidden = build.add(hidden, _project(attention, layer, "self_attn.o_proj", tensors))
        gate, up = (_project(hidden, layer, f"mlp.{name}", tensors) for name in BRANCHES[:2])
        product = build.multiply(build.swish(gate), up)
        hidden = build.add(hidden, _project(product, layer, "mlp.down_proj", tensors))
    return build.model(build.result(hidden, name="output"))


def _project(data: build.Value, layer: int, module: str, tensors: Mapping[str, Array]) -> build.Value:
    weight = tensors[f"model.layers.{layer}.{module}.weight"]
    return build.matmul(data, build.constant(weight), transpose_b=True)
