"""A folder with the files of a model: its parts, its settings, and the kind of the pipeline.

    folder = open_folder("llama_int4")
    folder.kind                                # "language model"
    folder.parts["tokenizer"].path             # "llama_int4/openvino_tokenizer.xml"
    folder.settings["config.json"].value("eos_token_id")

The layout is that of optimum-intel and openvino_tokenizers: `openvino_model.xml`, `openvino_tokenizer.xml` and
`openvino_detokenizer.xml`, each with a .bin, `config.json`, `generation_config.json`, `tokenizer_config.json`,
`tokenizer.json`, `chat_template.jinja`. Other pipelines have several models (`openvino_encoder_model.xml`, ...), and
diffusion pipelines have `model_index.json` and a folder for each part.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError
from ir_exec.graph import Node, Value
from ir_exec.hub_cache import cached_path
from ir_exec.infer import Types, infer_types
from ir_exec.ir import default_weights_path
from ir_exec.ir.regular_files import open_regular
from ir_exec.kernels.limits import limited_memory
from ir_exec.model import Loaded, load
from ir_exec.ops.infrastructure.values import Const
from ir_exec.ops.type import StringTensorUnpack
from ir_exec.text.ops.strings import OldStringTensorUnpack
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
"""The file names of the models of a folder, by part."""

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

MOST_CONSTANT_BYTES = 2**31
"""Maximum bytes of the strings of a vocabulary: a million tokens take a tenth of it."""

_LARGEST_SETTINGS = 2**28
"""Maximum bytes of a settings file; `tokenizer.json` may have tens of megabytes."""


@dataclass
class SettingsFile:
    """A JSON file.

    Attributes:
        data: The content, an object; empty for an unreadable file. Values of an impossible type are omitted.
        error: The reason why the file is unreadable.
        error_line: The line of the fault in an unreadable file.
        wrong: For each omitted value, its key and what is wrong with it.
    """

    path: str
    data: Mapping[str, Any]
    text: str = ""
    error: str | None = None
    error_line: int | None = None
    wrong: tuple[tuple[str, str], ...] = ()

    def value(self, *keys: str) -> Any:
        """Return the value at a path of keys, or None if it does not exist."""
        item: Any = self.data
        for key in keys:
            item = item.get(key) if isinstance(item, Mapping) else None
        return item

    def location(self, key: str | None = None) -> Location:
        """Return the location of the file, with the line of the first occurrence of the key."""
        at = self.text.find(f'"{key}"') if key is not None else -1
        return Location(path=self.path, line=self.text.count("\n", 0, at) + 1 if at >= 0 else self.error_line)


@dataclass
class FolderPart:
    """A model of the folder: its readable content, and the faults that reading reported."""

    name: str
    path: str
    loaded: Loaded | None
    faults: list[IRError] = field(default_factory=list)

    @property
    def location(self) -> Location:
        """The location of the file."""
        return Location(path=self.path)

    @property
    def weights_path(self) -> str:
        """The path of the .bin."""
        return default_weights_path(self.path)

    @cached_property
    def nodes(self) -> list[Node]:
        """All layers, including unreachable layers and layers of bodies."""
        return [] if self.loaded is None else list(self.loaded.graph.all_nodes(unreachable=True))

    @cached_property
    def types(self) -> Types | None:
        """The type of every value; None if the model has faults."""
        if self.loaded is None or self.faults:
            return None
        try:
            return infer_types(self.loaded.graph, weights=self.loaded.weights)
        except IRError:
            return None

    def type_of(self, value: Value) -> TensorType | None:
        """Return the type of a value of the model's main graph."""
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
        layers = {}
        for node in nodes:
            for value in node.values_in[:1]:
                names = _names(node, value)
                layers[names[0]] = (node, names)
        return layers

    def rt_info(self, *path: str) -> str | None:
        """Return the rt_info value at this path, written by the producer of the file."""
        return None if self.loaded is None else self.loaded.document.rt_info.value(*path)

    def constants_end(self) -> int:
        """Return the offset of the end of the last constant in the .bin."""
        ends = [node.op.offset + node.op.size for node in self.nodes if isinstance(node.op, Const)]
        return max(ends, default=0)


@dataclass
class Folder:
    """A folder with the parts of a model.

    Attributes:
        kind: The kind of the pipeline: `language model`, `language model with vision`, `encoder and decoder`, `speech`,
            `embeddings`, `diffusion`, `tokenizer`; `model` for a model of images or sound only; `part` for subfolders
            of a diffusion pipeline.
    """

    path: str
    kind: str
    parts: dict[str, FolderPart]
    settings: dict[str, SettingsFile]
    template: str | None
    below: list[Folder] = field(default_factory=list)

    def setting(self, file: str, *keys: str) -> Any:
        """Return a value of a settings file, or None if the file or the value is missing."""
        settings_file = self.settings.get(file)
        return None if settings_file is None else settings_file.value(*keys)

    @property
    def model_type(self) -> str | None:
        """The type of the model in config.json; None if it declares none."""
        declared = self.setting("config.json", "model_type")
        return declared if isinstance(declared, str) else None

    @property
    def architectures(self) -> tuple[str, ...]:
        """The classes of the model in config.json; empty if it declares none."""
        return _texts(self.setting("config.json", "architectures"))

    @property
    def decoder(self) -> FolderPart | None:
        """The model that computes logits."""
        return next((self.parts[name] for name in ("model", "language model", "decoder") if name in self.parts), None)


def open_folder(path: str | os.PathLike[str]) -> Folder | None:
    """Read a folder with all its parts; None for a folder without a pipeline.

    Args:
        path: A folder, or a repository in the cache of Hugging Face on this machine, `org/name`.

    Raises:
        ParseError: IR001 if the folder cannot be read.
    """
    return _open(cached_path(path) or os.fspath(path), _DEEPEST)


_DEEPEST = 2
"""Maximum depth of subfolders: a link to a folder above would lead to itself."""

_TEMPLATE = "chat_template.jinja"


def _open(path: str, depth: int) -> Folder | None:
    try:
        names = set(os.listdir(path)) if os.path.isdir(path) else set()
    except OSError as error:
        message = f"cannot read the folder: {error.strerror or error}"
        raise ParseError(message, code=Code.unreadable_path, location=Location(path=path)) from None
    is_pipeline = "model_index.json" in names or (
        bool(names & set(PART_FILES.values())) and bool(names & {*SETTINGS_FILES, "openvino_tokenizer.xml"})
    )
    if not is_pipeline:
        return None
    settings = {name: _read_settings(os.path.join(path, name)) for name in SETTINGS_FILES if name in names}
    parts = {name: read_part(name, os.path.join(path, file)) for name, file in PART_FILES.items() if file in names}
    template = None
    if _TEMPLATE in names:
        try:
            template = _read_text(os.path.join(path, _TEMPLATE))
        except OSError as error:
            unreadable = os.path.join(path, _TEMPLATE)
            settings[_TEMPLATE] = SettingsFile(unreadable, {}, error=error.strerror or str(error))
    below = []
    if "model_index.json" in names and depth:
        folders = sorted(name for name in names if os.path.isdir(os.path.join(path, name)) and not name.startswith("."))
        below = [inner for name in folders if (inner := _open(os.path.join(path, name), depth - 1)) is not None]
        for subfolder in below:
            subfolder.kind = "part"
    return Folder(path, _find_kind(parts, settings), parts, settings, template, below)


def constant_of(part: FolderPart, value: Value | None) -> Array | None:
    """The array of a constant, also after conversion or unpacking; None if it depends on inputs."""
    assert part.loaded is not None, "the value belongs to the part's graph"
    node = None if value is None else value.node
    if node is None or node.op is None or value is None:
        return None
    try:
        if isinstance(node.op, Const):
            weights = part.loaded.weights
            return None if weights is None else node.op.evaluate(weights=weights)
        if not node.op.preserves_order and not isinstance(node.op, StringTensorUnpack | OldStringTensorUnpack):
            return None
        arrays = [constant_of(part, input) for input in node.inputs]
        if any(array is None for array in arrays):
            return None
        with limited_memory(MOST_CONSTANT_BYTES):
            result = node.op.evaluate(*arrays)
    except (IRError, ValueError):
        return None
    return result[value.position] if isinstance(result, tuple) else result  # type: ignore[no-any-return]  # of any operator


def _names(node: Node, value: Value) -> tuple[str, ...]:
    return (*sorted(value.names), node.name) if value.names else (node.name,)


def read_part(name: str, path: str) -> FolderPart:
    """Read the model of a file, as far as possible."""
    faults: list[IRError] = []
    try:
        loaded = load(path, report=faults.append)
    except IRError as error:
        faults.append(error)
        loaded = None
    return FolderPart(name, path, loaded, [fault for fault in faults if fault.severity == "error"])


def _read_text(path: str) -> str:
    with open_regular(path) as file:
        return file.read(_LARGEST_SETTINGS).decode("utf-8", "replace").replace("\r\n", "\n")


def _read_settings(path: str) -> SettingsFile:
    try:
        if os.path.getsize(path) > _LARGEST_SETTINGS:
            return SettingsFile(path, {}, error=f"it has more than {_LARGEST_SETTINGS:,} bytes")
        text = _read_text(path)
        data = json.loads(text)
    except OSError as error:
        return SettingsFile(path, {}, error=error.strerror or str(error))
    except json.JSONDecodeError as error:
        return SettingsFile(path, {}, text, f"{error.msg} in column {error.colno}", error.lineno)
    except (ValueError, RecursionError) as error:
        return SettingsFile(path, {}, error=str(error))
    if not isinstance(data, Mapping):
        return SettingsFile(path, {}, text, f"it contains {type(data).__name__}, expected an object")
    wrong = [
        (key, f"{key} is {repr(data[key])[:60]}, expected {expected}")
        for key, (is_possible, expected) in _TYPES.get(os.path.basename(path), {}).items()
        if data.get(key) is not None and not is_possible(data[key])
    ]
    omitted = {key for key, _ in wrong}
    return SettingsFile(path, {key: data[key] for key in data if key not in omitted}, text, wrong=tuple(wrong))


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_TYPES: Mapping[str, Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "config.json": {
        "architectures": (_are_texts, "a list of texts"),
        "model_type": (_is_text, "a text"),
        "text_config": (_is_object, "an object"),
    },
    "tokenizer.json": {"model": (_is_object, "an object")},
    "chat_template.json": {"chat_template": (_is_text, "a text")},
}
"""The types of the values that every program reads in the same way, by file and key; values may be null."""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) and _are_texts(value) else ()


_SPEECH = frozenset({"whisper", "speech_to_text", "moonshine", "speecht5"})


_STATES = frozenset({"last_hidden_state", "token_embeddings", "sentence_embedding"})
"""Outputs of embedding models, including models that were trained as language models."""


_TOKENIZER_FILES = frozenset({"tokenizer.json", "tokenizer_config.json"})


def _is_causal(architectures: str) -> bool:
    return "CausalLM" in architectures or "LMHead" in architectures


def _find_kind(parts: Mapping[str, FolderPart], settings: Mapping[str, SettingsFile]) -> str:
    """The kind of the pipeline, by the names of the parts and by the settings."""
    config = settings.get("config.json")
    model_type = config.value("model_type") if config is not None else None
    if "model_index.json" in settings:
        return "diffusion"
    if "language model" in parts or "vision embeddings" in parts:
        return "language model with vision"
    if {"encoder", "decoder", "decoder with past"} & parts.keys():
        return "speech" if model_type in _SPEECH else "encoder and decoder"
    model = parts.get("model")
    architectures = " ".join(_texts(config.value("architectures"))) if config is not None else ""
    if model is None:
        # The settings declare an architecture, so a model is missing.
        return "tokenizer" if not architectures else "language model" if _is_causal(architectures) else "embeddings"
    if _STATES & model.outputs.keys() and "beam_idx" not in model.inputs:
        return "embeddings"
    # The architecture has priority: the name of an output may be missing by a fault.
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
