"""Exports small models and their checkpoints: python -m tests.debug.weights.export FOLDER [NAME ...].

Needs torch, transformers, optimum-intel, timm, torchvision and nncf, which the tests do not. Each model is written as a
checkpoint (safetensors), as IR in f32, f16, int8 and int4, and vision models also as ONNX;
`python -m tests.debug.weights.proof FOLDER` accounts for the weights of each.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from tests.text.families import FAMILIES, PAIRS, SPEECH

TIMM = {
    "resnet18": {},
    "mobilenetv3_small_050": {},
    "efficientnet_b0": {},
    "vit_tiny_patch16_224": {},
    "convnext_atto": {},
    "regnetx_002": {},
    "swin_tiny_patch4_window7_224": {"embed_dim": 32, "num_heads": (1, 2, 4, 8)},
    "mixer_s32_224": {"embed_dim": 64, "num_blocks": 2},
    "densenet121": {"block_config": (2, 2, 2, 2)},
    "ghostnet_050": {},
    "repvgg_a0": {},
    "deit_tiny_patch16_224": {},
}
"""Vision models of timm, with settings that make some of them smaller."""

HF = {
    "bert": (
        "AutoModelForMaskedLM",
        {
            "vocab_size": 500,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
        },
    ),
    "roberta": (
        "AutoModelForMaskedLM",
        {
            "vocab_size": 500,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
        },
    ),
    "distilbert": (
        "AutoModelForSequenceClassification",
        {"vocab_size": 500, "dim": 64, "hidden_dim": 128, "n_layers": 2, "n_heads": 4},
    ),
    "vit": (
        "AutoModelForImageClassification",
        {
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
        },
    ),
    "wav2vec2": (
        "AutoModelForCTC",
        {
            "vocab_size": 32,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "conv_dim": (32, 32),
            "conv_stride": (5, 2),
            "conv_kernel": (10, 3),
            "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 16,
            "num_conv_pos_embedding_groups": 4,
        },
    ),
    "clip_vision_model": (
        "AutoModel",
        {
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
        },
    ),
    "dinov2": (
        "AutoModel",
        {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8},
    ),
    "hubert": (
        "AutoModelForCTC",
        {
            "vocab_size": 32,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "conv_dim": (32, 32),
            "conv_stride": (5, 2),
            "conv_kernel": (10, 3),
            "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 16,
            "num_conv_pos_embedding_groups": 4,
        },
    ),
}
"""Models of transformers that are traced directly, with their class and sizes."""


def main(folder: Path, names: list[str]) -> None:
    """Export every model, or the named ones."""
    warnings.filterwarnings("ignore")
    for name in names or [*FAMILIES, *PAIRS, *SPEECH, *HF, *TIMM]:
        try:
            export(name, folder / name)
        except Exception as error:  # a release that cannot export a model is reported, and the others are exported
            sys.stderr.write(f"{name}: {type(error).__name__}: {str(error)[:300]}\n")


def export(name: str, folder: Path) -> None:
    """Write the checkpoint of a model and its exports."""
    if name in TIMM:
        _export_traced(_timm_model(name), "image", folder)
    elif name in HF:
        _export_traced(
            _traced_model(name),
            "pixels"
            if name in ("vit", "clip_vision_model", "dinov2")
            else "wave"
            if name in ("wav2vec2", "hubert")
            else "ids",
            folder,
        )
    else:
        _export_text(name, folder)


def _export_text(name: str, folder: Path) -> None:
    from optimum import intel

    from tests.text.export import _model, _model_family

    model, _ = _model(name, 0, (0.15, 0.15))
    _randomize(model)
    checkpoint = folder / "checkpoint"
    model.save_pretrained(checkpoint)
    classes = {"speech": intel.OVModelForSpeechSeq2Seq, "pair": intel.OVModelForSeq2SeqLM}
    exporter = classes.get(_model_family(name), intel.OVModelForCausalLM)
    exporter.from_pretrained(checkpoint, export=True, compile=False, load_in_8bit=False).save_pretrained(folder / "f32")
    for path in sorted((folder / "f32").glob("openvino*.xml")):
        if "tokenizer" not in path.name:
            _write_formats(path, folder)


def _export_traced(model: Any, sample: str, folder: Path) -> None:
    import openvino as ov
    import torch
    from safetensors.torch import save_model

    _randomize(model)
    (folder / "checkpoint").mkdir(parents=True, exist_ok=True)
    (folder / "f32").mkdir(exist_ok=True)
    save_model(model, str(folder / "checkpoint" / "model.safetensors"))
    samples = {
        "image": lambda: torch.rand(1, 3, 224, 224),
        "pixels": lambda: torch.rand(1, 3, 32, 32),
        "wave": lambda: torch.rand(1, 4000),
        "ids": lambda: torch.randint(2, 400, (1, 12)),
    }
    value = samples[sample]()
    converted = ov.convert_model(model, example_input=value)
    ov.save_model(converted, folder / "f32" / "openvino_model.xml", compress_to_fp16=False)
    with torch.no_grad():
        torch.onnx.export(model, (value,), str(folder / "f32" / "model.onnx"), dynamo=False, verbose=False)
    _write_formats(folder / "f32" / "openvino_model.xml", folder)


def _write_formats(path: Path, folder: Path) -> None:
    """Write the IR in f16, int8 and int4."""
    import nncf
    import openvino as ov

    core = ov.Core()
    ov.save_model(core.read_model(path), folder / "f16" / path.name, compress_to_fp16=True)
    modes = nncf.CompressWeightsMode
    int8 = nncf.compress_weights(core.read_model(path), mode=modes.INT8_ASYM)
    ov.save_model(int8, folder / "int8" / path.name, compress_to_fp16=False)
    int4 = nncf.compress_weights(core.read_model(path), mode=modes.INT4_ASYM, group_size=32, ratio=1.0, all_layers=True)
    ov.save_model(int4, folder / "int4" / path.name, compress_to_fp16=False)


def _randomize(model: Any) -> None:
    """Give vectors (norms, biases, statistics) random values around their initial ones, as training does."""
    import torch

    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for label, parameter in [*model.named_parameters(), *model.named_buffers()]:
            if (
                parameter.dim() <= 1
                and parameter.dtype == torch.float32
                and parameter.numel() > 1
                and "inv_freq" not in label
            ):
                parameter.add_(torch.rand(parameter.shape, generator=generator) * 0.2)


def _timm_model(name: str) -> Any:
    import timm
    import torch

    torch.manual_seed(0)
    return timm.create_model(name, pretrained=False, num_classes=10, **TIMM[name]).eval()


def _traced_model(name: str) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    class_name, sizes = HF[name]
    config = transformers.AutoConfig.for_model(name, **sizes)
    config.return_dict = False
    return getattr(transformers, class_name).from_config(config).eval()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
