"""Small models of many families, and their tokens against transformers': python -m tests.text.families FOLDER.

FOLDER is one that `python -m tests.text.export FOLDER` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

SIZES: dict[str, Any] = {
    "vocab_size": 500,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
}
GROUPED = {"num_key_value_heads": 2, "head_dim": 16}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": GROUPED,
    "qwen2": {"num_key_value_heads": 2},
    "qwen3": GROUPED,
    "mistral": {**GROUPED, "sliding_window": None},
    "gemma": {**GROUPED, "tie_word_embeddings": False},
    "gemma2": {**GROUPED, "tie_word_embeddings": False, "sliding_window": 256, "query_pre_attn_scalar": 16},
    "phi": {},
    "phi3": {"num_key_value_heads": 2, "sliding_window": None},
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256},
    "gpt_neox": {},
    "opt": {"ffn_dim": 128, "word_embed_proj_dim": 64, "tie_word_embeddings": False},
    "mixtral": {**GROUPED, **EXPERTS, "sliding_window": None},
    "qwen3_moe": {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64},
    "stablelm": {"num_key_value_heads": 2},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2},
    "mamba": {"state_size": 8},
    "lfm2": {
        "num_key_value_heads": 2,
        "block_auto_adjust_ff_dim": False,
        "full_attn_idxs": [1],
        "layer_types": ["conv", "full_attention"],
    },
    "zamba2": {
        "num_key_value_heads": 4,
        "attention_head_dim": 32,
        "mamba_d_state": 8,
        "mamba_headdim": 16,
        "n_mamba_heads": 8,
        "mamba_ngroups": 1,
        "num_mem_blocks": 1,
        "hybrid_layer_ids": [1],
        "layers_block_type": ["mamba", "hybrid"],
    },
    "granitemoehybrid": {
        "num_key_value_heads": 2,
        "layer_types": ["mamba", "attention"],
        "mamba_n_heads": 8,
        "mamba_d_head": 16,
        "mamba_d_state": 16,
        "mamba_n_groups": 1,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "shared_intermediate_size": 64,
    },
}
"""Decoders, with the settings that differ from SIZES."""

_LAYERS = {
    f"{part}_{name}": size
    for part in ("encoder", "decoder")
    for name, size in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 128))
}
PAIRS: dict[str, dict[str, Any]] = {
    "t5": {
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 128,
        "num_layers": 2,
        "num_heads": 4,
        "decoder_start_token_id": 1,
        "tie_word_embeddings": False,
    },
    "bart": {
        "d_model": 64,
        **_LAYERS,
        "decoder_start_token_id": 1,
        "forced_eos_token_id": None,
        "tie_word_embeddings": False,
    },
}
"""Encoders with decoders."""

SPEECH: dict[str, dict[str, Any]] = {
    "whisper": {
        "d_model": 64,
        **_LAYERS,
        "num_mel_bins": 80,
        "max_source_positions": 1500,
        "max_target_positions": 64,
        "decoder_start_token_id": 0,
        "suppress_tokens": None,
        "begin_suppress_tokens": None,
    }
}
"""Encoders of features of audio."""

_EYES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "patch_size": 14,
}
VISION: dict[str, dict[str, Any]] = {
    "llava": {
        "text": "llama",
        "vision": "clip_vision_model",
        "sizes": {**_EYES, "image_size": 28, "patch_size": 14},
        "image_token": 499,
        "tokens": 4,
        "settings": {"image_token_index": 499, "vision_feature_select_strategy": "default", "vision_feature_layer": -2},
    },
    "gemma3": {
        "text": "gemma3_text",
        "vision": "siglip_vision_model",
        "sizes": {**_EYES, "image_size": 28, "patch_size": 7},
        "image_token": 499,
        "tokens": 4,
        "settings": {
            "image_token_index": 499,
            "mm_tokens_per_image": 4,
            "boi_token_index": 498,
            "eoi_token_index": 497,
        },
    },
}
"""Decoders with an encoder of images; tokens: how many an image takes."""

PROMPT = [0, 45, 120, 7, 300, 41, 41, 99]
COUNT = 24


def compare(folder: Path) -> tuple[int, int, int]:
    """The number of tokens that agree with transformers', of all tokens, and of different ones."""
    from ir_exec.text import load

    stored = json.loads((folder / "tokens.json").read_text("utf-8"))
    inputs = {}
    if (folder / "inputs.npz").exists():
        with np.load(folder / "inputs.npz") as arrays:
            inputs = dict(arrays)
    audio = inputs.pop("audio", None)
    prompt = [] if audio is not None else stored["prompt_ids"]
    generation = load(folder / "openvino").generate(
        prompt, max_new_tokens=COUNT, ignore_eos=True, inputs=inputs, audio=audio
    )
    expected = stored["ids"]
    equal = next(
        (at for at, pair in enumerate(zip(generation.ids, expected, strict=True)) if pair[0] != pair[1]), COUNT
    )
    return equal, COUNT, len(set(expected))


def main(folder: Path) -> None:
    """Print a line for each family."""
    for path in sorted(folder.glob("*/tokens.json")):
        equal, count, different = compare(path.parent)
        sys.stdout.write(f"{path.parent.name:18} {equal} of {count} tokens equal, {different} different ones\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
