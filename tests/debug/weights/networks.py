"""Small models with the checkpoints that they come from."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ir_exec import build
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.debug.weights.readers.tensors import Checkpoint, MemoryTensor
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["PROJECTIONS", "compress", "decoder", "draw_tensors", "network", "save_safetensors"]

SIZE = 32
LAYERS = 2
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


def draw_tensors(seed: int = 0) -> dict[str, Array]:
    """The tensors of a decoder: embeddings, and for each layer a norm, four square projections and a wider one."""
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    tensors = {"model.embed_tokens.weight": draw(64, SIZE)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        tensors[f"{prefix}.norm.weight"] = draw(SIZE) * np.float32(0.1) + 1
        for name in PROJECTIONS:
            tensors[f"{prefix}.self_attn.{name}.weight"] = draw(SIZE, SIZE)
        tensors[f"{prefix}.mlp.up_proj.weight"] = draw(2 * SIZE, SIZE)
        tensors[f"{prefix}.mlp.up_proj.bias"] = draw(2 * SIZE)
        tensors[f"{prefix}.mlp.down_proj.weight"] = draw(SIZE, 2 * SIZE)
    tensors["lm_head.weight"] = draw(64, SIZE)
    return tensors


def decoder(tensors: Mapping[str, Array]) -> Model:
    """A decoder with these weights, each with the name of its tensor."""
    tokens = build.parameter([1, 4], "i64", name="tokens")
    hidden = build.gather(_weight("model.embed_tokens.weight", tensors), tokens, 0, name="embed")
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        norm = _weight(f"{prefix}.norm.weight", tensors)
        hidden = build.multiply(hidden, norm, name=f"__module.{prefix}.norm/aten::mul/Multiply")
        for name in PROJECTIONS:
            hidden = _linear(hidden, f"{prefix}.self_attn.{name}", tensors)
        wide = _linear(hidden, f"{prefix}.mlp.up_proj", tensors)
        wide = build.add(
            wide, _weight(f"{prefix}.mlp.up_proj.bias", tensors), name=f"__module.{prefix}.mlp.up_proj/aten::linear/Add"
        )
        hidden = _linear(build.relu(wide), f"{prefix}.mlp.down_proj", tensors)
    return build.model(build.result(_linear(hidden, "lm_head", tensors), name="logits"))


def network(weight: Array, *, name: str = "w", reader: str = "product") -> Model:
    """A model with one matrix product."""
    data = build.parameter([1, weight.shape[-1]], name="data")
    return build.model(build.matmul(data, build.constant(weight, name=name), transpose_b=True, name=reader))


def compress(model: Model, weight_format: str) -> Model:
    """The model with compressed weights."""
    if weight_format == "f32":
        return model
    group_size = 16 if weight_format.startswith("int4") else None
    return compress_weights(model, Compression(weight_format, group_size, all_layers=True))[0]


def memory_checkpoint(tensors: Mapping[str, Array], **settings: object) -> Checkpoint:
    """A checkpoint in memory."""
    members = {
        name: MemoryTensor(name, np.asarray(array, np.float32), "f32", array.nbytes) for name, array in tensors.items()
    }
    return Checkpoint("checkpoint", "safetensors", members, settings=settings)


def save_safetensors(path: Path, tensors: Mapping[str, Array], types: Mapping[str, str] | None = None) -> Path:
    """Write a file of safetensors.

    Args:
        types: The names of types in the file; by default those of NumPy.
    """
    names = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int8": "I8", "uint8": "U8"}
    names |= {"int32": "I32"}
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, array in tensors.items():
        stored = np.ascontiguousarray(array).tobytes()
        type_name = (types or {}).get(name) or names[array.dtype.name]
        header[name] = {
            "dtype": type_name,
            "shape": [*array.shape],
            "data_offsets": [len(content), len(content) + len(stored)],
        }
        content += stored
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def _weight(name: str, tensors: Mapping[str, Array]) -> build.Value:
    return build.constant(np.asarray(tensors[name], np.float32), name=f"self.{name}")


def _linear(data: build.Value, module: str, tensors: Mapping[str, Array]) -> build.Value:
    weight = _weight(f"{module}.weight", tensors)
    return build.matmul(data, weight, transpose_b=True, name=f"__module.{module}/aten::linear/MatMul")
