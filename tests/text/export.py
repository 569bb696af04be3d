"""Exports small language models with random weights and compares their tokens: python -m tests.text.export FOLDER.

Needs transformers, torch and optimum-intel, which the tests do not. Each family is exported as people do it, with its
tokenizer, and the tokens that `ir_exec` chooses are compared with those of transformers' greedy search.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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
    "gemma": GROUPED,
    "gemma2": {**GROUPED, "sliding_window": 256, "query_pre_attn_scalar": 16},
    "phi": {},
    "phi3": {"num_key_value_heads": 2, "sliding_window": None},
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256},
    "gpt_neox": {},
    "opt": {"ffn_dim": 128, "word_embed_proj_dim": 64},
    "mixtral": {**GROUPED, **EXPERTS, "sliding_window": None},
    "qwen3_moe": {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64},
    "stablelm": {"num_key_value_heads": 2},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2},
    "mamba": {"state_size": 8, "num_heads": 4},
    "t5": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 1},
    "bart": {
        "d_model": 64,
        **{
            f"{part}_{name}": size
            for part in ("encoder", "decoder")
            for name, size in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 128))
        },
        "decoder_start_token_id": 1,
        "forced_eos_token_id": None,
    },
}
PROMPT = [0, 45, 120, 7, 300, 41, 41, 99]
COUNT = 24


def export(name: str, folder: Path) -> list[int]:
    """Write the folder of a family, and return the tokens of transformers."""
    import torch
    from optimum.intel import OVModelForCausalLM, OVModelForSeq2SeqLM
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, PreTrainedTokenizerFast

    torch.manual_seed(len(name))
    is_pair = name in ("t5", "bart")
    config = AutoConfig.for_model(name, **(SIZES | FAMILIES[name]))
    model = (AutoModelForSeq2SeqLM if is_pair else AutoModelForCausalLM).from_config(config).eval().float()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.15)
    source = folder / "transformers"
    model.save_pretrained(source)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(Path(__file__).parent / "tokenizers" / "llama3.json"),
        bos_token="<|begin_of_text|>",
        eos_token="<|end_of_text|>",
        pad_token="<|end_of_text|>",
    )
    tokenizer.save_pretrained(source)
    wrapper = OVModelForSeq2SeqLM if is_pair else OVModelForCausalLM
    exported = wrapper.from_pretrained(source, export=True, compile=False, load_in_8bit=False)
    exported.save_pretrained(folder / "openvino")
    # What follows an end token counts too.
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        found = model.generate(
            torch.tensor([PROMPT]),
            attention_mask=torch.ones(1, len(PROMPT), dtype=torch.int64),
            max_new_tokens=COUNT,
            do_sample=False,
        )
    return found[0, 1 if is_pair else len(PROMPT) :].tolist()


def main(folder: Path, names: list[str]) -> None:
    """Export every family, or the named ones, and write FOLDER/tokens.json."""
    path = folder / "tokens.json"
    folder.mkdir(parents=True, exist_ok=True)
    tokens = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for name in names or FAMILIES:
        try:
            tokens[name] = export(name, folder / name)
        except Exception as error:  # what a release cannot export is said, and the others are made
            sys.stderr.write(f"{name}: {type(error).__name__}: {str(error)[:300]}\n")
        path.write_text(json.dumps({"prompt": PROMPT} | tokens), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
