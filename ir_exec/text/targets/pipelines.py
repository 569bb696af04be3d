"""Requirements of the pipelines of OpenVINO GenAI for a folder, on any device and on NPUs."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.errors import IRError, Location
from ir_exec.hints import closest_names
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.text.folders.folder import Folder, FolderPart
from ir_exec.text.targets.documents import (
    GENAI_MODELS,
    GENAI_STATE,
    GENAI_STATIC_PIPELINE,
    GENAI_VISION,
    STATEFUL_TO_STATELESS,
    finding,
    names_in_documents,
)

__all__ = ["LANGUAGE", "in_genai", "language_model_on_npu"]

LANGUAGE = frozenset({"language model", "language model with vision"})


def in_genai(folder: Folder) -> Iterator[IRError]:
    """Report features of a folder that GenAI's pipeline rejects, and folders with an unknown pipeline."""
    folder_location = Location(path=folder.path)
    if folder.kind in LANGUAGE:
        yield from language_model(folder)
        model_type = folder.model_type
        if (
            folder.kind == "language model with vision"
            and model_type is not None
            and model_type not in names_in_documents("genai", "model types with vision")
        ):
            location = folder.settings["config.json"].location("model_type")
            expected = "a type that the pipeline for models with vision supports"
            yield finding("model_type is", location, GENAI_VISION, "warning", actual=model_type, expected=expected)
    elif folder.kind in ("embeddings", "speech", "diffusion"):
        class_name = folder.setting("model_index.json", "_class_name")
        names = folder.architectures or ((class_name,) if isinstance(class_name, str) else ())
        listed = names_in_documents("genai", folder.kind)
        if not any(name in listed for name in names):
            what = ", ".join(names)
            message = f"it is not known whether GenAI has a pipeline for {what or 'this model'}: no document lists it"
            yield finding(message, folder_location, GENAI_MODELS, "info")
    elif folder.kind in ("encoder and decoder", "model"):
        what = "encoder-decoder models of text" if folder.kind == "encoder and decoder" else "models without text"
        message = f"it is not known whether GenAI has a pipeline for {what}: no document lists one"
        yield finding(message, folder_location, GENAI_MODELS, "info")


_OPTIONAL = frozenset({"position_ids", "token_type_ids"})


def language_model(folder: Folder) -> Iterator[IRError]:
    """Report missing inputs, outputs and state that the pipeline for language models requires, except missing parts."""
    decoder = folder.decoder
    if decoder is None:
        return
    if decoder.loaded is None:
        message = "the file cannot be read: it is not known whether GenAI supports it"
        yield finding(message, decoder.location, GENAI_MODELS, "info")
        return
    has_vision = folder.kind == "language model with vision"
    yield from _inputs(decoder, "inputs_embeds" if has_vision else "input_ids", allows_others=has_vision)
    yield from _outputs(decoder)
    yield from _state(decoder)


def _inputs(decoder: FolderPart, first: str, *, allows_others: bool) -> Iterator[IRError]:
    names = {name for _, several in decoder.inputs.values() for name in several}
    needed = (first, "attention_mask", "beam_idx")
    others = [
        name
        for name, (_, several) in decoder.inputs.items()
        if not {*needed, *_OPTIONAL} & {*several} and not _is_cache(name)
    ]
    missing = [name for name in needed if name not in names]
    renamed: set[str] = set()
    for name in missing:
        near = closest_names(name, others, similarity=0.5)
        renamed |= {*near}
        location = decoder.inputs[near[0]][0].location if near else decoder.location
        hint = f"rename {near[0]} to {name}" if near else None
        yield finding(f"there is no input {name}, which the pipeline sets", location, GENAI_MODELS, hint=hint)
    for name in () if allows_others else others:
        if name not in renamed:
            yield finding(
                "the pipeline does not set the input",
                decoder.inputs[name][0].location,
                GENAI_MODELS,
                "warning",
                actual=name,
                expected="only input_ids, attention_mask, position_ids and beam_idx",
            )


def _outputs(decoder: FolderPart) -> Iterator[IRError]:
    if not any("logits" in several for _, several in decoder.outputs.values()):
        others = [name for name in decoder.outputs if not _is_cache(name)]
        location = decoder.outputs[others[0]][0].location if len(others) == 1 else decoder.location
        yield finding("the model has no output logits, which the pipeline reads", location, GENAI_MODELS)
        return
    for name, (node, several) in decoder.outputs.items():
        if "logits" not in several and not _is_cache(name):
            text = "the model has the additional output"
            yield finding(text, node.location, GENAI_MODELS, "warning", actual=name, expected="only logits")


def _is_cache(name: str) -> bool:
    return name.startswith(("past_key_values", "present", "past.", "cache_params"))


def _state(decoder: FolderPart) -> Iterator[IRError]:
    """Report a cache that is not in variables."""
    if any(isinstance(node.op, ReadsVariable) for node in decoder.nodes):
        return
    past = next((node for name, (node, _) in decoder.inputs.items() if _is_cache(name)), None)
    hint = "export the model with its state, the default of optimum-intel"
    if past is not None:
        message = "the cache is in inputs and outputs (past_key_values, present)"
        yield finding(message, past.location, GENAI_STATE, hint=hint, expected="variables of the model")
    else:
        message = "the model has no cache, but the pipeline passes one token at a time after the prompt"
        yield finding(message, decoder.location, GENAI_STATE, hint=hint)


def language_model_on_npu(folder: Folder) -> Iterator[IRError]:
    """Report features that only the pipeline for NPUs rejects."""
    for key, most in (("num_beams", 1), ("num_return_sequences", 1)):
        value = folder.setting("generation_config.json", key)
        if isinstance(value, int) and value > most:
            yield finding(
                f"{key} is",
                folder.settings["generation_config.json"].location(key),
                GENAI_STATIC_PIPELINE,
                "warning",
                actual=value,
                expected=most,
                reason=" for NPUs, whose pipeline generates one sequence",
            )
    decoder = folder.decoder
    if decoder is None or decoder.loaded is None:
        return
    others = [
        node
        for node in decoder.nodes
        if isinstance(node.op, ReadsVariable) and not _is_key_or_value(node.op.variable_id)
    ]
    if others:
        message = (
            f"{len(others)} variables have other states than keys and values of attention: "
            "it is not known whether the pipeline for NPUs supports these"
        )
        yield finding(message, others[0].location, STATEFUL_TO_STATELESS, "info")


def _is_key_or_value(variable: str) -> bool:
    return variable.startswith("past_key_values") and (".key" in variable or ".value" in variable)
