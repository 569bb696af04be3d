"""Exports small models with random weights and their greedy tokens: python -m tests.text.export FOLDER [FAMILY ...].

Needs transformers, torch and optimum-intel, which the tests do not. Each family is exported as people do it, with its
tokenizer, and the tokens of transformers' greedy search are written next to it; `python -m tests.text.families FOLDER`
compares those of `ir_exec`.

optimum-intel 2.2.0 exports all but these with transformers 5.5.4: `gemma`, `gemma2`, `mamba`, `zamba2` and `lfm2` ("The
current version of Transformers does not allow for the export of the model. Maximum required is" 5.0, 5.0, 5.3.0, 4.57.6
and 5.4.0). They are exported with transformers 4.57.6.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.text.families import COUNT, FAMILIES, GROUPED, PAIRS, PROMPT, SIZES, SPEECH, VISION

TOKENIZER = Path(__file__).parent / "tokenizers" / "llama3.json"
FEWEST = 12
"""Different tokens among the new ones: weights with fewer show little."""

SPREADS = ((0.15, 0.15), (0.2, 0.4), (0.5, 0.3), (1.0, 0.15))
"""Standard deviations of embeddings and of other weights, tried after each other."""


def export(name: str, folder: Path) -> dict[str, Any]:
    """Write the folder of a family, and return its prompt and the tokens of transformers."""
    from optimum import intel

    best: dict[str, Any] = {}
    best_weights = (0, SPREADS[0])
    for weights in product(range(6), SPREADS):
        model, request = _model(name, *weights)
        tokens = _tokens(model, request)
        if len(set(tokens)) > len(set(best.get("ids", ()))):
            best, best_weights = {"prompt_ids": request["ids"], "ids": tokens}, weights
        if len(set(tokens)) >= FEWEST:
            break
    model, request = _model(name, *best_weights)
    source = folder / "transformers"
    model.save_pretrained(source)
    for processor in _processors(name):
        processor.save_pretrained(source)
    kinds = {"speech": intel.OVModelForSpeechSeq2Seq, "vision": intel.OVModelForVisualCausalLM}
    kinds |= {"pair": intel.OVModelForSeq2SeqLM, "text": intel.OVModelForCausalLM}
    exported = kinds[_model_family(name)].from_pretrained(source, export=True, compile=False, load_in_8bit=False)
    exported.save_pretrained(folder / "openvino")
    for processor in _processors(name):
        processor.save_pretrained(folder / "openvino")
    if request["arrays"]:
        np.savez(folder / "inputs.npz", **{key: value.numpy() for key, value in request["arrays"].items()})

    return best


def _model_family(name: str) -> str:
    return "pair" if name in PAIRS else "speech" if name in SPEECH else "vision" if name in VISION else "text"


def _model(name: str, seed: int, spread: tuple[float, float]) -> tuple[Any, dict[str, Any]]:
    """The model of a family with random weights, and what it is given."""
    import torch
    import transformers as hf

    torch.manual_seed(seed)
    random = np.random.default_rng(0)
    family, arrays, prompt = _model_family(name), {}, PROMPT
    if family == "vision":
        settings = VISION[name]
        text = hf.AutoConfig.for_model(settings["text"], **(SIZES | GROUPED), tie_word_embeddings=False)
        vision = hf.AutoConfig.for_model(settings["vision"], **settings["sizes"])
        config = hf.AutoConfig.for_model(
            name, text_config=text, vision_config=vision, tie_word_embeddings=False, **settings["settings"]
        )
        size = settings["sizes"]["image_size"]
        arrays["pixel_values"] = torch.tensor(random.normal(size=(1, 3, size, size)).astype(np.float32))
        prompt = [*PROMPT[:3], *[settings["image_token"]] * settings["tokens"], *PROMPT[3:]]
        model = hf.AutoModelForImageTextToText.from_config(config)
    else:
        sizes = {**PAIRS, **SPEECH, **FAMILIES}[name]
        config = hf.AutoConfig.for_model(name, **(SIZES | sizes))
        makers = {"pair": hf.AutoModelForSeq2SeqLM, "text": hf.AutoModelForCausalLM}
        model = makers.get(family, hf.AutoModelForSpeechSeq2Seq).from_config(config)
    if family == "speech":
        wave = np.sin(np.arange(32000) ** 1.1 * 0.02) * 0.4 + random.normal(size=32000) * 0.1
        arrays["audio"] = torch.tensor(wave.astype(np.float32))
    model = model.eval().float()
    for label, parameter in model.named_parameters():
        # optimum-intel exports the scan of Mamba so that large steps give other logits, in OpenVINO as here.
        if parameter.dim() > 1 and not any(word in label for word in ("A_log", "dt_proj")):
            is_embedding = any(word in label for word in ("embed_tokens", "shared", "embed_positions"))
            torch.nn.init.normal_(parameter, std=spread[0 if is_embedding else 1])
    # What follows an end token counts too.
    model.generation_config.eos_token_id = None
    model.generation_config.max_length = None
    return model, {"ids": list(prompt), "arrays": arrays}


def _processors(name: str) -> list[Any]:
    import transformers as hf

    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_file=str(TOKENIZER),
        bos_token="<|begin_of_text|>",
        eos_token="<|end_of_text|>",
        pad_token="<|end_of_text|>",
    )
    features = [hf.WhisperFeatureExtractor(feature_size=80)] if name in SPEECH else []
    return [tokenizer, *features]


def _tokens(model: Any, request: dict[str, Any]) -> list[int]:
    """Greedy tokens of transformers."""
    import torch
    import transformers as hf

    arrays, ids, model_type = request["arrays"], request["ids"], model.config.model_type
    settings = {"max_new_tokens": COUNT, "do_sample": False}
    with torch.no_grad():
        if "audio" in arrays:
            features = hf.WhisperFeatureExtractor(feature_size=80)
            heard = features(arrays["audio"].numpy(), sampling_rate=16000, return_tensors="pt").input_features
            return model.generate(heard, **settings)[0].tolist()[-COUNT:]  # type: ignore[no-any-return]
        prompt = torch.tensor([ids])
        more = (
            {"token_type_ids": (prompt == VISION[model_type]["image_token"]).long()} if model_type == "gemma3" else {}
        )
        tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), **arrays, **more, **settings)[
            0
        ].tolist()
    return tokens[1 if model.config.is_encoder_decoder else len(ids) :]  # type: ignore[no-any-return]


def main(folder: Path, names: list[str]) -> None:
    """Export every family, or the named ones, and write FOLDER/NAME/tokens.json."""
    for name in names or [*FAMILIES, *PAIRS, *SPEECH, *VISION]:
        try:
            best = export(name, folder / name)
        except Exception as error:  # what a release cannot export is reported, and the others are made
            sys.stderr.write(f"{name}: {type(error).__name__}: {str(error)[:300]}\n")
            continue
        (folder / name / "tokens.json").write_text(json.dumps(best), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
