"""A folder of files that are one model: its parts, its settings, and what kind of pipeline they are.

    folder = open_folder("llama_int4")
    folder.kind                                # "language model"
    folder.parts["tokenizer"].path             # "llama_int4/openvino_tokenizer.xml"
    folder.settings["config.json"].value("eos_token_id")

Folders are as optimum-intel and openvino_tokenizers write them: `openvino_model.xml`, `openvino_tokenizer.xml`,
`openvino_detokenizer.xml` with a .bin each, `config.json`, `generation_config.json`, `tokenizer_config.json`,
`tokenizer.json`, `chat_template.jinja`; several networks (`openvino_encoder_model.xml`, ...) of others; or
`model_index.json` and a folder for each part of a diffusion pipeline.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ir_exec.errors import IRError, Location
from ir_exec.graph import Node, Value
from ir_exec.infer import Types, infer_types
from ir_exec.ir import default_weights_path
from ir_exec.model import Loaded, load
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, TensorType

__all__ = ["Folder", "FolderPart", "SettingsFile", "constant_of", "open_folder", "read_part"]

PART_FILES = {
    "model": "openvino_model.xml",
    "language model": "openvino_language_model.xml",
    "text embeddings": "openvino_text_embeddings_model.xml",
    "vision embeddings": "openvino_vision_embeddings_model.xml",
    "encoder": "openvino_encoder_model.xml",
    "decoder": "openvino_decoder_model.xml",
    "decoder with past": "openvino_decoder_with_past_model.xml",
    "tokenizer": "openvino_tokenizer.xml",
    "detokenizer": "openvino_detokenizer.xml",
}
"""The networks of a folder by their part in it."""

SETTINGS_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "openvino_config.json",
    "processor_config.json",
    "preprocessor_config.json",
    "chat_template.json",
    "special_tokens_map.json",
    "model_index.json",
)

_LARGEST_SETTINGS = 2**28
"""Bytes of a file of settings; `tokenizer.json` has tens of megabytes."""


@dataclass
class SettingsFile:
    """A file of JSON.

    data: its content, an object; empty where it cannot be read. error: why it cannot, and where.
    """

    path: str
    data: Mapping[str, Any]
    text: str = ""
    error: str | None = None
    error_line: int | None = None

    def value(self, *keys: str) -> Any:
        """The value at the end of a path of keys; None where there is none."""
        found: Any = self.data
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def place(self, key: str | None = None) -> Location:
        """The place of the file, and the line where the key first stands."""
        at = self.text.find(f'"{key}"') if key is not None else -1
        return Location(path=self.path, line=self.text.count("\n", 0, at) + 1 if at >= 0 else self.error_line)


@dataclass
class FolderPart:
    """A network of the folder: what could be read of it, and the faults that reading reported."""

    name: str
    path: str
    loaded: Loaded | None
    faults: list[IRError] = field(default_factory=list)

    @property
    def place(self) -> Location:
        """The place of the file."""
        return Location(path=self.path)

    @property
    def weights_path(self) -> str:
        """The path of the .bin."""
        return default_weights_path(self.path)

    @cached_property
    def nodes(self) -> list[Node]:
        """Every layer, those of bodies and those that no output needs included."""
        return [] if self.loaded is None else list(self.loaded.graph.all_nodes(unreachable=True))

    @cached_property
    def types(self) -> Types | None:
        """The type of every value; None where the network is broken."""
        if self.loaded is None or self.faults:
            return None
        try:
            return infer_types(self.loaded.graph, weights=self.loaded.weights)
        except IRError:
            return None

    def type_of(self, value: Value) -> TensorType | None:
        """The type of a value of the network itself."""
        types = self.types
        return None if types is None else types[value.number]

    @cached_property
    def inputs(self) -> dict[str, tuple[Node, tuple[str, ...]]]:
        """The layer of each input by its first name, with all its names."""
        nodes = [] if self.loaded is None else self.loaded.graph.parameters
        return {(names := _names(node, node.outputs[0]))[0]: (node, names) for node in nodes if node.outputs}

    @cached_property
    def outputs(self) -> dict[str, tuple[Node, tuple[str, ...]]]:
        """The layer of each output by its first name, with all its names."""
        nodes = [] if self.loaded is None else self.loaded.graph.results
        found = {}
        for node in nodes:
            for value in node.values_in[:1]:
                names = _names(node, value)
                found[names[0]] = (node, names)
        return found

    def rt_info(self, *path: str) -> str | None:
        """The value that the writer of the file left at this path."""
        return None if self.loaded is None else self.loaded.document.rt_info.value(*path)

    def of_type(self, *types: str) -> Iterator[Node]:
        """The layers of these types."""
        return (node for node in self.nodes if node.type in types)

    def constants_end(self) -> int:
        """Where the last constant ends in the .bin."""
        ends = [node.op.offset + node.op.size for node in self.nodes if isinstance(node.op, Const)]
        return max(ends, default=0)


@dataclass
class Folder:
    """A folder that holds the parts of one model.

    kind: what the parts are: `language model`, `language model with vision`, `encoder and decoder`, `speech`,
        `embeddings`, `diffusion`, `tokenizer`; `model` for one of images or sound alone; `part` for the folders below
        that of a diffusion pipeline.
    """

    path: str
    kind: str
    parts: dict[str, FolderPart]
    settings: dict[str, SettingsFile]
    template: str | None
    below: list[Folder] = field(default_factory=list)

    def setting(self, file: str, *keys: str) -> Any:
        """A value of a file of settings; None where the file or the value is missing."""
        found = self.settings.get(file)
        return None if found is None else found.value(*keys)

    @property
    def decoder(self) -> FolderPart | None:
        """The network that gives logits."""
        return next((self.parts[name] for name in ("model", "language model", "decoder") if name in self.parts), None)


def open_folder(path: str | os.PathLike[str]) -> Folder | None:
    """The folder with all of its parts read; None for a folder that holds no pipeline."""
    path = os.fspath(path)
    names = set(os.listdir(path)) if os.path.isdir(path) else set()
    is_pipeline = "model_index.json" in names or (
        bool(names & set(PART_FILES.values())) and bool(names & {*SETTINGS_FILES, "openvino_tokenizer.xml"})
    )
    if not is_pipeline:
        return None
    settings = {name: _read_settings(os.path.join(path, name)) for name in SETTINGS_FILES if name in names}
    parts = {name: read_part(name, os.path.join(path, file)) for name, file in PART_FILES.items() if file in names}
    template = _read_text(os.path.join(path, "chat_template.jinja")) if "chat_template.jinja" in names else None
    below = []
    if "model_index.json" in names:
        folders = sorted(name for name in names if os.path.isdir(os.path.join(path, name)) and not name.startswith("."))
        below = [found for name in folders if (found := open_folder(os.path.join(path, name))) is not None]
        for one in below:
            one.kind = "part"
    return Folder(path, _kind(parts, settings), parts, settings, template, below)


def constant_of(part: FolderPart, value: Value | None) -> Array | None:
    """The array of a constant, also of one that is converted or unpacked; None where it depends on inputs."""
    assert part.loaded is not None, "the value is one of its graph"
    node = None if value is None else value.node
    if node is None or node.op is None or value is None:
        return None
    try:
        if isinstance(node.op, Const):
            weights = part.loaded.weights
            return None if weights is None else node.op.evaluate(weights=weights)
        if node.type not in ("StringTensorUnpack", "Convert", "Reshape", "Squeeze", "Unsqueeze"):
            return None
        arrays = [constant_of(part, one) for one in node.inputs]
        if any(array is None for array in arrays):
            return None
        found = node.op.evaluate(*arrays)
    except (IRError, ValueError):
        return None
    return found[value.position] if isinstance(found, tuple) else found  # type: ignore[no-any-return]  # of any operator


def _names(node: Node, value: Value) -> tuple[str, ...]:
    return (*sorted(value.names), node.name) if value.names else (node.name,)


def read_part(name: str, path: str) -> FolderPart:
    """The network of a file, as far as it can be read."""
    faults: list[IRError] = []
    try:
        loaded = load(path, report=faults.append)
    except IRError as error:
        faults.append(error)
        loaded = None
    return FolderPart(name, path, loaded, [fault for fault in faults if fault.severity == "error"])


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_LARGEST_SETTINGS)


def _read_settings(path: str) -> SettingsFile:
    try:
        if os.path.getsize(path) > _LARGEST_SETTINGS:
            return SettingsFile(path, {}, error=f"it has more than {_LARGEST_SETTINGS} bytes")
        text = _read_text(path)
        data = json.loads(text)
    except OSError as error:
        return SettingsFile(path, {}, error=error.strerror or str(error))
    except json.JSONDecodeError as error:
        return SettingsFile(path, {}, text, f"{error.msg} in column {error.colno}", error.lineno)
    except (ValueError, RecursionError) as error:
        return SettingsFile(path, {}, error=str(error))
    if not isinstance(data, Mapping):
        return SettingsFile(path, {}, text, f"it holds {type(data).__name__}, expected an object")
    return SettingsFile(path, data, text)


_SPEECH = frozenset({"whisper", "speech_to_text", "moonshine", "speecht5"})


_STATES = frozenset({"last_hidden_state", "token_embeddings", "sentence_embedding"})
"""Outputs of models that give embeddings, those that were trained as language models included."""


_TOKENIZER_FILES = frozenset({"tokenizer.json", "tokenizer_config.json"})


def _is_causal(architectures: str) -> bool:
    return "CausalLM" in architectures or "LMHead" in architectures


def _kind(parts: Mapping[str, FolderPart], settings: Mapping[str, SettingsFile]) -> str:
    """What the parts are, by their names and by the settings."""
    config = settings.get("config.json")
    model_type = str(config.value("model_type") or "") if config is not None else ""
    if "model_index.json" in settings:
        return "diffusion"
    if "language model" in parts or "vision embeddings" in parts:
        return "language model with vision"
    if {"encoder", "decoder", "decoder with past"} & parts.keys():
        return "speech" if model_type in _SPEECH else "encoder and decoder"
    model = parts.get("model")
    architectures = " ".join(map(str, config.value("architectures") or ())) if config is not None else ""
    if model is None:
        # The settings say that there should be one.
        return "tokenizer" if not architectures else "language model" if _is_causal(architectures) else "embeddings"
    if _STATES & model.outputs.keys() and "beam_idx" not in model.inputs:
        return "embeddings"
    # The architecture comes first: a fault may be that an output has lost its name.
    if _is_causal(architectures):
        return "language model"
    if architectures:
        is_language = {"logits", "beam_idx"} <= {*model.outputs, *model.inputs}
    else:
        is_language = "logits" in model.outputs and "attention_mask" in model.inputs
    if is_language:
        return "language model"
    has_text = "tokenizer" in parts or _TOKENIZER_FILES & settings.keys() or "input_ids" in model.inputs
    return "embeddings" if has_text else "model"
