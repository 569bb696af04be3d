"""Rules for contradictions between the files of a folder; each rule yields errors."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, Severity
from ir_exec.graph.weight_encodings import types_of_mode
from ir_exec.hints import closest_names
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.text.folders.compression import packed_weights
from ir_exec.text.folders.folder import PART_FILES, Folder, FolderPart
from ir_exec.text.folders.vocabularies import embedding_of, json_tokens
from ir_exec.text.folders.vocabulary_rules import folder_fault, rt_info_location, special_tokens, vocabularies
from ir_exec.text.generation.templates_child import template_environment
from ir_exec.types import ElementType

__all__ = ["MOST_TEMPLATE", "faults_of", "templates_of"]


def faults_of(folder: Folder) -> list[IRError]:
    """Return all faults of a folder, including the subfolders of a diffusion pipeline."""
    faults = [fault for rule in RULES for fault in rule(folder)]
    return faults + [fault for subfolder in folder.below for fault in faults_of(subfolder)]


_NEEDED = {
    "language model": ("model",),
    "language model with vision": ("language model", "text embeddings", "vision embeddings"),
    "encoder and decoder": ("encoder", "decoder"),
    "speech": ("encoder", "decoder"),
    "embeddings": ("model",),
    "diffusion": (),
    "tokenizer": (),
    "model": (),
    "part": (),
}
"""The models that a pipeline of each kind requires."""

_WANTED: dict[str, Severity] = {
    "config.json": "error",
    "generation_config.json": "warning",
    "tokenizer_config.json": "warning",
}

_HAS_TEXT = frozenset({"language model", "language model with vision", "encoder and decoder", "speech"})
"""Kinds that generate text, and require a detokenizer."""


def missing_parts(folder: Folder) -> Iterator[IRError]:
    """IR801: missing models and settings that the pipeline requires."""
    folder_location = Location(path=folder.path)
    needed = [*_NEEDED[folder.kind], *(("tokenizer", "detokenizer") if folder.kind in _HAS_TEXT else ())]
    if folder.kind == "embeddings":
        needed.append("tokenizer")
    for name in needed:
        if name not in folder.parts:
            hint = "create it with convert_tokenizer of openvino_tokenizers" if name.endswith("tokenizer") else None
            message = f"{PART_FILES[name]} is missing, but {_article(folder.kind)} requires this file"
            yield folder_fault(Code.missing_part, message, folder_location, hint=hint)
    for file, severity in _WANTED.items():
        is_generation = file == "generation_config.json"
        if folder.kind in ("diffusion", "tokenizer", "model", "part") or file in folder.settings:
            continue
        if is_generation and folder.kind not in _HAS_TEXT:
            continue
        message = f"{file} is missing, but {_article(folder.kind)} requires this file"
        yield folder_fault(Code.missing_part, message, folder_location, severity)
    index = folder.settings.get("model_index.json")
    for name, value in (index.data if index is not None else {}).items():
        is_part = isinstance(value, list) and len(value) == 2 and value[0] is not None
        if is_part and not os.path.isdir(os.path.join(folder.path, name)) and name not in ("safety_checker",):
            yield folder_fault(
                Code.missing_part, f"the folder {name} is missing", index.location(name) if index else folder_location
            )


def _article(pipeline_type: str) -> str:
    return (
        f"an {pipeline_type} pipeline"
        if pipeline_type[0] in "aeiou"
        else f"a {pipeline_type}"
        if "model" in pipeline_type
        else f"a {pipeline_type} pipeline"
    )


def unreadable_settings(folder: Folder) -> Iterator[IRError]:
    """IR810: unreadable settings, and values of an impossible type."""
    for settings in folder.settings.values():
        if settings.error is not None:
            message = f"{os.path.basename(settings.path)} cannot be read: {settings.error}"
            yield folder_fault(Code.unreadable_settings, message, settings.location())
        for key, message in settings.wrong:
            yield folder_fault(Code.unreadable_settings, message, settings.location(key))


def foreign_weights(folder: Folder) -> Iterator[IRError]:
    """IR802: a .bin that belongs to another .xml of the folder."""
    sizes = {name: _size(part.weights_path) for name, part in folder.parts.items()}
    for name, part in folder.parts.items():
        expected = part.constants_end()
        if part.loaded is None or sizes[name] == expected or not expected:
            continue
        owner = next(
            (other for other, candidate in folder.parts.items() if candidate.constants_end() == sizes[name]), None
        )
        if owner is not None and owner != name:
            yield folder_fault(
                Code.foreign_part,
                f"{os.path.basename(part.weights_path)} has",
                part.location,
                actual=sizes[name],
                detail="bytes",
                expected=expected,
                reason=f": it is the .bin of {os.path.basename(folder.parts[owner].path)}",
            )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return -1


_LANGUAGE = frozenset({"language model", "language model with vision"})

_INPUTS = {
    "input_ids": ElementType.i64,
    "attention_mask": ElementType.i64,
    "position_ids": ElementType.i64,
    "beam_idx": ElementType.i32,
}
"""The inputs that pipelines pass to a language model, by name."""


def pipeline_ports(folder: Folder) -> Iterator[IRError]:
    """IR805: missing inputs and outputs that the pipeline finds by name, and wrong element types."""
    decoder = folder.decoder
    if decoder is not None and decoder.loaded is not None and folder.kind in _LANGUAGE:
        first = "inputs_embeds" if folder.kind == "language model with vision" else "input_ids"
        has_state = any(isinstance(node.op, ReadsVariable) for node in decoder.nodes)
        needed = [first, "attention_mask", *(["beam_idx"] if has_state else [])]
        yield from _absent(decoder, needed, decoder.inputs, "input", {*_INPUTS, first})
        yield from _absent(decoder, ["logits"], decoder.outputs, "output", {"logits"})
        yield from _wrong_types(decoder, _INPUTS)
    if decoder is not None and decoder.loaded is not None and folder.kind == "embeddings":
        optional = {*_INPUTS, "token_type_ids"}
        yield from _absent(decoder, ["input_ids", "attention_mask"], decoder.inputs, "input", optional)
    tokenizer, detokenizer = folder.parts.get("tokenizer"), folder.parts.get("detokenizer")
    if tokenizer is not None and tokenizer.loaded is not None:
        yield from _absent(tokenizer, ["input_ids", "attention_mask"], tokenizer.outputs, "output", {"token_type_ids"})
    if detokenizer is not None and detokenizer.loaded is not None:
        yield from _absent(detokenizer, ["string_output"], detokenizer.outputs, "output", set())


def _absent(
    part: FolderPart, needed: list[str], ports: Mapping[str, tuple[Any, tuple[str, ...]]], what: str, accepted: set[str]
) -> Iterator[IRError]:
    names = {name for _, names in ports.values() for name in names}
    # Only names that no pipeline uses may be renamed ports.
    others = [name for name in ports if name not in accepted | set(needed) and not name.startswith(("past", "present"))]
    for name in needed:
        if name in names:
            continue
        near = closest_names(name, others, similarity=0.5) or (others if len(others) == 1 else [])
        location = ports[near[0]][0].location if near else part.location
        hint = f"rename {near[0]} to {name}" if near else None
        message = f"there is no {what} {name}, which pipelines find by this name"
        yield folder_fault(Code.pipeline_ports, message, location, hint=hint)


def _wrong_types(part: FolderPart, expected: Mapping[str, ElementType]) -> Iterator[IRError]:
    for node, names in part.inputs.values():
        element_type = next((expected[name] for name in names if name in expected), None)
        declared = getattr(node.op, "element_type", None)
        if (
            element_type is not None
            and isinstance(declared, ElementType)
            and declared.is_known
            and declared is not element_type
        ):
            name = next(name for name in names if name in expected)
            yield folder_fault(
                Code.pipeline_ports, f"the input {name} is", node.location, actual=declared, expected=element_type
            )


_PAST = re.compile(r"^(?P<stem>.*?\.\d+\.)(?P<what>key|value)(?P<rest>.*)$")


def pipeline_state(folder: Folder) -> Iterator[IRError]:
    """IR806: variables of the cache that are not pairs, or have the same id."""
    for part in folder.parts.values():
        reads = [node for node in part.nodes if isinstance(node.op, ReadsVariable)]
        assigns = [node for node in part.nodes if isinstance(node.op, AssignsVariable)]
        for nodes, what in ((reads, "read"), (assigns, "assigned")):
            seen: dict[str, Any] = {}
            for node in nodes:
                variable = node.op.variable_id  # type: ignore[union-attr]  # both classes have it
                if variable in seen:
                    message = f"the variable {variable!r} is {what} by"
                    related = (seen[variable].location,)
                    yield folder_fault(
                        Code.pipeline_state,
                        message,
                        node.location,
                        related=related,
                        actual="two layers",
                        expected="one",
                    )
                seen[variable] = node
        ids = {node.op.variable_id: node for node in reads}  # type: ignore[union-attr]
        kinds = {
            (match["stem"], match["what"]): node
            for variable_id, node in ids.items()
            if (match := _PAST.match(variable_id))
        }
        for (stem, what), node in kinds.items():
            other = "value" if what == "key" else "key"
            if (stem, other) not in kinds:
                message = f"the cache has {stem}{what} without {stem}{other}"
                yield folder_fault(Code.pipeline_state, message, node.location, expected="both")
    decoder = folder.decoder
    layers = folder.setting("config.json", "num_hidden_layers")
    if decoder is None or folder.kind != "language model" or not isinstance(layers, int):
        return
    keys = sum(1 for node in decoder.nodes if isinstance(node.op, ReadsVariable) and ".key" in node.op.variable_id)
    keys = keys or sum(1 for name in decoder.inputs if name.startswith("past_key_values") and name.endswith("key"))
    has_attention_everywhere = folder.setting("config.json", "layer_types") is None
    if keys and keys != layers and has_attention_everywhere:
        location = folder.settings["config.json"].location("num_hidden_layers")
        message = f"num_hidden_layers is {layers}, but the model has a cache of {keys} layers"
        yield folder_fault(Code.settings_contradict, message, location, related=(decoder.location,))


_CHAT_MARKS = ("<|im_start|>", "<|start_header_id|>", "<|eot", "<|user|>", "<start_of_turn>", "[INST]", "<|assistant")


def chat_templates(folder: Folder) -> Iterator[IRError]:
    """IR807: missing, different or invalid chat templates."""
    if folder.kind not in _LANGUAGE:
        return
    templates = list(templates_of(folder))
    if not templates:
        marks = [mark for mark in _CHAT_MARKS if any(mark in text for text in json_tokens(folder).values())]
        if marks:
            message = f"the chat template is missing, but the vocabulary has {marks[0]}, a token of chat models"
            yield folder_fault(Code.chat_template, message, Location(path=folder.path), "warning")
        return
    last = templates[-1]
    for name, location, text in templates:
        reason = _refusal(text)
        if reason is not None:
            yield folder_fault(
                Code.chat_template, f"the chat template of {name} cannot be compiled: {reason}", location
            )
        elif text.strip() != last[2].strip():
            message = f"the chat template of {name} differs from the one of {last[0]}, which is used"
            yield folder_fault(Code.chat_template, message, location, "warning", related=(last[1],))
        elif not text.strip():
            yield folder_fault(Code.chat_template, f"the chat template of {name} is empty", location, "warning")


def templates_of(folder: Folder) -> Iterator[tuple[str, Location, str]]:
    """Yield the chat templates in order; a later template replaces an earlier one."""
    for name in ("tokenizer", "detokenizer"):
        part = folder.parts.get(name)
        text = part.rt_info("chat_template") if part is not None else None
        if part is not None and text:
            yield os.path.basename(part.path), rt_info_location(part, "chat_template"), text
    for file in ("tokenizer_config.json", "processor_config.json", "chat_template.json"):
        text = folder.setting(file, "chat_template")
        if isinstance(text, str):
            yield file, folder.settings[file].location("chat_template"), text
    if folder.template is not None:
        name = "chat_template.jinja"
        yield name, Location(path=os.path.join(folder.path, name)), folder.template


MOST_TEMPLATE = 2**20
"""Maximum characters of a chat template: the longest known ones have 20,000."""


def _refusal(text: str) -> str | None:
    """Return the reason why jinja2 does not compile a template; None if it does, or is not installed."""
    if find_spec("jinja2") is None:
        return None
    from jinja2 import TemplateSyntaxError

    if len(text) > MOST_TEMPLATE:
        return f"it has {len(text):,} characters, expected at most {MOST_TEMPLATE:,}"
    try:
        template_environment().parse(text)
    except TemplateSyntaxError as error:
        return f"{error.message} in line {error.lineno}"
    except RecursionError:
        return "it is nested too deeply"
    return None


def versions(folder: Folder) -> Iterator[IRError]:
    """IR808: parts written by different releases."""
    releases: dict[str, tuple[str, FolderPart]] = {}
    for name, part in folder.parts.items():
        text = part.rt_info("Runtime_version") or part.rt_info("openvino_version")
        match = re.match(r"(\d{4}\.\d+)", text or "")
        if match:
            releases[name] = match[1], part
    common = Counter(release for release, _ in releases.values()).most_common(1)
    for name, (release, part) in releases.items():
        if release != common[0][0]:
            others = next(other for other in releases.values() if other[0] == common[0][0])
            message = f"the {name} was written by OpenVINO {release}, but other parts by {common[0][0]}"
            yield folder_fault(Code.part_versions, message, part.location, "warning", related=(others[1].location,))
    tokenizer, detokenizer = folder.parts.get("tokenizer"), folder.parts.get("detokenizer")
    for name in ("openvino_tokenizers_version", "transformers_version", "original_tokenizer_class"):
        first = tokenizer.rt_info(name) if tokenizer is not None else None
        second = detokenizer.rt_info(name) if detokenizer is not None else None
        if first and second and first != second and tokenizer is not None and detokenizer is not None:
            message = f"{name} is {second} in the detokenizer, but {first} in the tokenizer"
            yield folder_fault(
                Code.part_versions,
                message,
                rt_info_location(detokenizer, name),
                "warning",
                related=(tokenizer.location,),
            )


def settings_against_network(folder: Folder) -> Iterator[IRError]:
    """IR809: sizes of config.json, and weight formats of rt_info, that the model does not have."""
    config, decoder = folder.settings.get("config.json"), folder.decoder
    embedding = embedding_of(folder.parts.get("text embeddings") or decoder)
    size = folder.setting("config.json", "hidden_size") or folder.setting("config.json", "n_embd")
    own = folder.setting("config.json", "embedding_size") or folder.setting("config.json", "word_embed_proj_dim")
    if config is not None and embedding is not None and isinstance(own or size, int) and (own or size) != embedding[2]:
        yield folder_fault(
            Code.settings_contradict,
            "hidden_size is",
            config.location("hidden_size"),
            related=(embedding[0].location,),
            actual=own or size,
            expected=embedding[2],
            reason="the columns of the embedding",
        )
    if config is not None and decoder is not None and decoder.types is not None:
        heads = folder.setting("config.json", "num_key_value_heads")
        for node in decoder.nodes:
            is_key = isinstance(node.op, ReadsVariable) and ".key" in node.op.variable_id
            if not is_key or not isinstance(heads, int):
                continue
            shape = getattr(node.op, "variable_shape", None)
            if shape is not None and shape.rank == 4 and shape[1].is_static and shape[1].size != heads:
                yield folder_fault(
                    Code.settings_contradict,
                    "num_key_value_heads is",
                    config.location("num_key_value_heads"),
                    related=(node.location,),
                    actual=heads,
                    expected=shape[1].size,
                    reason="the heads of the cache",
                )
            break
    architectures = folder.architectures
    if config is not None and folder.kind == "language model" and architectures:
        has_cache = any(isinstance(node.op, ReadsVariable) for node in decoder.nodes) if decoder is not None else False
        if has_cache and not any(re.search("LM|Generation", class_name) for class_name in architectures):
            yield folder_fault(
                Code.settings_contradict,
                "the architecture is",
                config.location("architectures"),
                actual=architectures[0],
                expected="a language model",
                reason="as the model has a cache",
            )
    for part in folder.parts.values():
        yield from _weight_format(part)


def _weight_format(part: FolderPart) -> Iterator[IRError]:
    mode = part.rt_info("nncf", "weight_compression", "mode")
    expected_types = types_of_mode(mode)
    if expected_types is None or part.loaded is None:
        return
    actual_types = {weight.type_name for weight in packed_weights(part)}
    if not expected_types & actual_types:
        kinds = ", ".join(sorted(actual_types))
        message = f"rt_info declares {mode} weights, but the constants of the model are {kinds}"
        yield folder_fault(Code.settings_contradict, message, part.location, "warning")


RULES: tuple[Callable[[Folder], Iterator[IRError]], ...] = (
    missing_parts,
    unreadable_settings,
    foreign_weights,
    vocabularies,
    special_tokens,
    pipeline_ports,
    pipeline_state,
    chat_templates,
    versions,
    settings_against_network,
)
"""Every rule, in the order of the codes."""
