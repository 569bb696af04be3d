"""Exports small models and their checkpoints: python -m tests.debug.weights.export FOLDER [NAME ...].

Needs torch, transformers, optimum-intel, timm, torchvision and nncf, which the tests do not. Each model is written as a
checkpoint (safetensors), as IR in f32, f16, int8 and int4, and as ONNX of both exporters of torch in f32 and int8;
`python -m tests.debug.weights.proof FOLDER` accounts for the weights of each. Each model is exported in its own
process, and those that are there are not exported again. `NAME.initial` is a model whose norms and biases have their
initial values, mostly ones and zeros; those of the others are drawn.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.text.families import FAMILIES, PAIRS, SIZES, SPEECH, VISION

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


HELD_OUT = {
    "olmo2": ("AutoModelForCausalLM", {**SIZES, "num_key_value_heads": 2}),
    "starcoder2": ("AutoModelForCausalLM", {**SIZES, "num_key_value_heads": 2, "use_bias": True}),
    "bloom": ("AutoModelForCausalLM", {**SIZES, "n_layer": 2, "n_head": 4}),
    "segformer": (
        "AutoModelForSemanticSegmentation",
        {"hidden_sizes": [16, 32, 80, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 64},
    ),
    "audio-spectrogram-transformer": (
        "AutoModelForAudioClassification",
        {
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_length": 64,
            "num_mel_bins": 32,
        },
    ),
    "shufflenet_v2_x0_5": ("torchvision", {"num_classes": 10}),
}
"""Models that the account was not developed with."""

_SAMPLES = {
    "vit": "pixels",
    "clip_vision_model": "pixels",
    "dinov2": "pixels",
    "wav2vec2": "wave",
    "hubert": "wave",
    "segformer": "image",
    "audio-spectrogram-transformer": "spectrogram",
    "shufflenet_v2_x0_5": "image",
    **dict.fromkeys(TIMM, "image"),
}
"""The inputs of traced models that do not read tokens."""

_MINUTES = 10
_INITIAL = ".initial"
_DONE = "exported"


def main(folder: Path, names: list[str]) -> None:
    """Export every model, or the named ones, each in its own process."""
    every = [*FAMILIES, *PAIRS, *SPEECH, *VISION, *HF, *TIMM, *HELD_OUT]
    for name in names or [*every, *(f"{name}{_INITIAL}" for name in every)]:
        if (folder / name / _DONE).exists():
            continue
        code = f"from tests.debug.weights.export import export; export({name!r}, {str(folder / name)!r})"
        try:
            subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=_MINUTES * 60)
        except subprocess.SubprocessError as error:
            sys.stderr.write(f"{name}: {str(error)[-300:]}\n")


def export(label: str, path: str) -> None:
    """Write the checkpoint of a model and its exports."""
    warnings.filterwarnings("ignore")
    folder, name = Path(path), label.removesuffix(_INITIAL)
    is_initial = label.endswith(_INITIAL)
    for part in ("f32", "int8"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    if name in TIMM or name in HF or (name in HELD_OUT and HELD_OUT[name][0] != "AutoModelForCausalLM"):
        _export_traced(_traced_model(name), _SAMPLES.get(name, "ids"), folder, is_initial=is_initial)
    else:
        _export_text(name, folder, is_initial=is_initial)
    (folder / _DONE).touch()


def _export_text(name: str, folder: Path, *, is_initial: bool) -> None:
    from tests.text.export import _model, _model_family, _processors

    model = _traced_model(name) if name in HELD_OUT else _model(name, 0, (0.15, 0.15))[0]
    if name == "bart":
        # Without ties, transformers saves no embeddings of the encoder and the decoder, and draws new ones.
        model.config.tie_word_embeddings = True
        model.tie_weights()
    if not is_initial:
        _randomize(model)
    checkpoint = folder / "checkpoint"
    model.save_pretrained(checkpoint)
    family = _model_family(name)
    if family == "vision":
        for processor in _processors(name):
            processor.save_pretrained(checkpoint)
    if family == "text" and not is_initial:
        import torch

        model.config.use_cache = False
        _export_onnx(model, torch.randint(2, 400, (1, 12)), folder)
        model.config.use_cache = True
    from optimum import intel  # it changes transformers, and torch.onnx cannot export the models any more

    classes = {
        "speech": intel.OVModelForSpeechSeq2Seq,
        "pair": intel.OVModelForSeq2SeqLM,
        "vision": intel.OVModelForVisualCausalLM,
    }
    exporter = classes.get(family, intel.OVModelForCausalLM)
    exporter.from_pretrained(checkpoint, export=True, compile=False, load_in_8bit=False).save_pretrained(folder / "f32")
    for path in sorted((folder / "f32").glob("openvino*.xml")):
        if "tokenizer" not in path.name:
            _write_formats(path, folder)


def _export_traced(model: Any, sample: str, folder: Path, *, is_initial: bool) -> None:
    import openvino as ov
    import torch
    from safetensors.torch import save_model

    if not is_initial:
        _randomize(model)
    (folder / "checkpoint").mkdir(parents=True, exist_ok=True)
    save_model(model, str(folder / "checkpoint" / "model.safetensors"))
    samples = {
        "image": lambda: torch.rand(1, 3, 224, 224),
        "pixels": lambda: torch.rand(1, 3, 32, 32),
        "wave": lambda: torch.rand(1, 4000),
        "ids": lambda: torch.randint(2, 400, (1, 12)),
        "spectrogram": lambda: torch.rand(1, 64, 32),
    }
    value = samples[sample]()
    converted = ov.convert_model(model, example_input=value)
    ov.save_model(converted, folder / "f32" / "openvino_model.xml", compress_to_fp16=False)
    _write_formats(folder / "f32" / "openvino_model.xml", folder)
    if not is_initial:
        _export_onnx(model, value, folder)


def _export_onnx(model: Any, value: Any, folder: Path) -> None:
    """Write the ONNX files of both exporters, as far as they export the model."""
    import nncf
    import onnx
    import torch

    def write(path: Path, action: Callable[[], object]) -> None:
        try:
            with torch.no_grad():
                action()
        except Exception as error:  # a release that cannot export a model is reported, and the others are exported
            sys.stderr.write(f"{path}: {type(error).__name__}: {str(error)[:200]}\n")
            path.unlink(missing_ok=True)

    for is_dynamo in (False, True):
        path = folder / "f32" / ("dynamo.onnx" if is_dynamo else "model.onnx")

        def export_file(path: Path = path, *, is_dynamo: bool = is_dynamo) -> None:
            torch.onnx.export(model, (value,), str(path), dynamo=is_dynamo, verbose=False)

        write(path, export_file)
        compressed = folder / "int8" / path.name

        def compress(path: Path = path, compressed: Path = compressed) -> None:
            network = nncf.compress_weights(onnx.load(path), mode=nncf.CompressWeightsMode.INT8_ASYM)
            onnx.save(network, compressed)

        if path.exists():
            write(compressed, compress)


def _write_formats(path: Path, folder: Path) -> None:
    """Write the IR in f16, int8 and int4."""
    import nncf
    import openvino as ov

    core = ov.Core()
    ov.save_model(core.read_model(path), folder / "f16" / path.name, compress_to_fp16=True)
    modes = nncf.CompressWeightsMode
    int8 = nncf.compress_weights(core.read_model(path), mode=modes.INT8_ASYM)
    ov.save_model(int8, folder / "int8" / path.name, compress_to_fp16=False)
    try:
        int4 = nncf.compress_weights(
            core.read_model(path), mode=modes.INT4_ASYM, group_size=32, ratio=1.0, all_layers=True
        )
    except Exception as error:  # groups of 32 do not divide all channels
        sys.stderr.write(f"{path}: {type(error).__name__}: {str(error)[:200]}\n")
        int4 = nncf.compress_weights(core.read_model(path), mode=modes.INT4_ASYM, group_size=-1, ratio=1.0)
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


def _traced_model(name: str) -> Any:
    import torch

    torch.manual_seed(0)
    if name in TIMM:
        import timm

        return timm.create_model(name, pretrained=False, num_classes=10, **TIMM[name]).eval()
    import transformers

    class_name, sizes = {**HF, **HELD_OUT}[name]
    if class_name == "torchvision":
        import torchvision

        return torchvision.models.get_model(name, weights=None, **sizes).eval()
    config = transformers.AutoConfig.for_model(name, **sizes)
    config.return_dict = name == "vit" or name in HELD_OUT
    return getattr(transformers, class_name).from_config(config).eval()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
