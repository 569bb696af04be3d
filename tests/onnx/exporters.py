"""Modules of several families as today's exporters write them, and the share of their layers with a source.

    PYTHONPATH=. python -m tests.onnx.exporters FOLDER [NAME...]

exports each module with torch.onnx (`dynamo` and traced) and OpenVINO (from the module and from an exported program),
and prints how many layers have a line and a module, in the file and after a conversion to the other format and back.
It needs torch, onnxscript, onnx and openvino, and torchvision, timm and transformers for their models.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ir_exec import read_model
from ir_exec.model import Model
from tests.helpers.sources import EXPORTS

__all__ = ["MODULES", "Share", "export_dynamo", "export_program", "export_traced", "export_traced_ir", "measure"]

Maker = Callable[[], tuple[Any, tuple[Any, ...]]]
"""Returns a module and its inputs."""

MODULES: dict[str, Maker] = {}


def _module(function: Maker) -> Maker:
    MODULES[function.__name__] = function
    return function


def _own_module(name: str) -> Any:
    sys.path.insert(0, str(EXPORTS))
    try:
        return getattr(import_module("net"), name)()
    finally:
        sys.path.remove(str(EXPORTS))


def _image(size: int = 32) -> Any:
    import torch

    return torch.rand(1, 3, size, size)


def _tokens(length: int = 6) -> Any:
    import torch

    return torch.arange(length)[None] + 3


@_module
def nested_blocks() -> tuple[Any, tuple[Any, ...]]:
    return _own_module("Nested"), (_image(9),)


@_module
def small_encoder() -> tuple[Any, tuple[Any, ...]]:
    return _own_module("Encoder"), (_tokens(),)


@_module
def data_branch() -> tuple[Any, tuple[Any, ...]]:
    import torch

    return _own_module("Choice"), (torch.rand(2, 4),)


@_module
def plain_sequential() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from torch import nn

    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (torch.rand(2, 4),)


@_module
def lstm_module() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from torch import nn

    return nn.LSTM(4, 5, batch_first=True), (torch.rand(1, 3, 4),)


@_module
def torch_encoder() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2), (torch.rand(1, 4, 8),)


def _add_vision_model(name: str, **options: Any) -> None:
    def make() -> tuple[Any, tuple[Any, ...]]:
        models = import_module("torchvision.models")
        return getattr(models, name)(weights=None, **options), (_image(),)

    MODULES[f"torchvision_{name}"] = make


def _add_timm_model(name: str, size: int, **options: Any) -> None:
    def make() -> tuple[Any, tuple[Any, ...]]:
        return import_module("timm").create_model(name, pretrained=False, **options), (_image(size),)

    MODULES[f"timm_{name}"] = make


def _add_transformer(name: str, config: str, options: dict[str, Any], inputs: Callable[[], Any]) -> None:
    def make() -> tuple[Any, tuple[Any, ...]]:
        library = import_module("transformers")
        settings = getattr(library, config)(**options)
        settings.return_dict = False
        settings.use_cache = False
        return getattr(library, name)(settings), (inputs(),)

    MODULES[f"transformers_{name}"] = make


_SMALL = {"vocab_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 16}

_add_vision_model("resnet18")
_add_vision_model("mobilenet_v3_small")
_add_vision_model("squeezenet1_1")
_add_vision_model("shufflenet_v2_x0_5")
_add_timm_model("convnext_atto", 32)
_add_timm_model("vit_tiny_patch16_224", 32, img_size=32)
_add_timm_model("efficientnet_lite0", 32)
_add_timm_model("mixer_s32_224", 224)
_add_transformer("BertModel", "BertConfig", _SMALL, _tokens)
_add_transformer("GPT2Model", "GPT2Config", {"vocab_size": 32, "n_embd": 8, "n_layer": 2, "n_head": 2}, _tokens)
_add_transformer("LlamaModel", "LlamaConfig", {**_SMALL, "num_key_value_heads": 1}, _tokens)
_add_transformer(
    "DistilBertModel",
    "DistilBertConfig",
    {"vocab_size": 32, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    _tokens,
)
_add_transformer(
    "T5EncoderModel",
    "T5Config",
    {"vocab_size": 32, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 2},
    _tokens,
)
_add_transformer("ViTModel", "ViTConfig", {**_SMALL, "image_size": 32, "patch_size": 16}, _image)


def make_module(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Return a module with random weights in evaluation mode, and its inputs."""
    import torch

    torch.manual_seed(7)
    module, inputs = MODULES[name]()
    return module.eval(), inputs


def is_available(name: str) -> bool:
    """Return True if the library of a module is installed."""
    library, _, model = name.partition("_")
    return not model or library == "torch" or find_spec(library) is not None


def export_dynamo(module: Any, inputs: tuple[Any, ...], path: Path) -> None:
    import torch

    torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, verbose=False)


def export_traced(module: Any, inputs: tuple[Any, ...], path: Path) -> None:
    import torch

    torch.onnx.export(module, inputs, path, dynamo=False)


def export_program(module: Any, inputs: tuple[Any, ...], path: Path) -> None:
    import openvino
    import torch

    model = openvino.convert_model(torch.export.export(module, inputs))
    openvino.save_model(model, path.with_suffix(".xml"), compress_to_fp16=False)


def export_traced_ir(module: Any, inputs: tuple[Any, ...], path: Path) -> None:
    import openvino

    model = openvino.convert_model(module, example_input=inputs)
    openvino.save_model(model, path.with_suffix(".xml"), compress_to_fp16=False)


class Share(NamedTuple):
    """The layers of a model apart from inputs and outputs, and how many of them have a line or a module."""

    layers: int
    lines: int
    modules: int

    def __str__(self) -> str:
        return f"{self.layers:5} {self.lines / self.layers:7.1%} {self.modules / self.layers:7.1%}"


def measure(model: Model) -> Share:
    """Return the share of the layers with a source."""
    nodes = [node for node in model.graph.all_nodes() if not (node.op_class.is_parameter or node.op_class.is_result)]
    sources = [source for node in nodes if (source := model.sources.get(node)) is not None]
    lines = sum(source.file is not None for source in sources)
    return Share(len(nodes), lines, sum(source.module is not None for source in sources))


def measure_conversions(path: Path, folder: Path) -> Iterator[Share]:
    """Yield the shares of a file, of its conversion to IR and ONNX, and of the way back to IR."""
    model = read_model(path)
    yield measure(model)
    model.save(folder / "converted.xml")
    converted = read_model(folder / "converted.xml")
    yield measure(converted)
    (folder / "converted.onnx").write_bytes(converted.to_onnx().SerializeToString())
    exported = read_model(folder / "converted.onnx")
    yield measure(exported)
    exported.save(folder / "back.xml")
    yield measure(read_model(folder / "back.xml"))


def main() -> None:
    folder, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    exporters = (export_dynamo, export_traced, export_traced_ir, export_program)
    Path(folder).mkdir(parents=True, exist_ok=True)
    print("file, layers, with a line, with a module; after conversion to IR, to ONNX, back to IR")
    for name in names or MODULES:
        module, inputs = make_module(name)
        for exporter in exporters:
            title = f"{name}_{exporter.__name__.removeprefix('export_')}"
            path = Path(folder, f"{title}{'.xml' if exporter in exporters[2:] else '.onnx'}")
            try:
                if not path.exists():
                    exporter(module, inputs, path)
                with tempfile.TemporaryDirectory() as temporary:
                    print(f"{title:50}", *measure_conversions(path, Path(temporary)), flush=True)
            except Exception as error:
                print(f"{title:50} {type(error).__name__}: {str(error)[:90]!r}", flush=True)


if __name__ == "__main__":
    main()
