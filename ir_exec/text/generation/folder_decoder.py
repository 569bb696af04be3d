"""The decoder of a folder, with the outputs of other models: states of an encoder, embeddings of tokens and images.

decoder = decoder_of(folder, {"input_features": features})
decoder.next_logits([50258])
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, Location, UnsupportedError
from ir_exec.model import Model, read_model
from ir_exec.runtime import compile_model
from ir_exec.text.folders.folder import PART_FILES, Folder
from ir_exec.text.generation.decoders import Compile, Decoder
from ir_exec.types import Array

__all__ = ["decoder_of", "image_embeddings_of", "image_token_of", "pad_rows", "with_image_tokens"]


def decoder_of(
    folder: Folder,
    inputs: Mapping[str, Array] | None = None,
    compile: Compile = compile_model,
    *,
    pad_token: int = 0,
    images: Array | None = None,
) -> Decoder:
    """Return the decoder of a folder, ready for a text.

    Args:
        inputs: Arrays for the models of the folder: `input_features` of speech, `input_ids` of the text for an encoder,
            `pixel_values` of images, or inputs of the decoder, such as `inputs_embeds` of the prompt.
        images: The result of `image_embeddings_of`, if it was computed before.

    Raises:
        GraphError: IR801 for a folder with a missing model.
        EvaluationError: IR705 for arrays that are not an input of any model.
        UnsupportedError: IR900 for images whose embedding needs more than the known models.
    """
    arrays = {name: np.asarray(value) for name, value in (inputs or {}).items()}
    part = folder.decoder
    if part is None:
        message = f"{folder.path} has no model with logits (its kind: {folder.kind})"
        raise GraphError(message, code=Code.missing_part).located(Location(path=folder.path))
    model = read_model(part.path)
    names = {name for port in model.inputs for name in (port.name, *port.names)}
    used = set(names)
    embed = None
    if "text embeddings" in folder.parts:
        embeddings = compile(read_model(folder.parts["text embeddings"].path))
        embed = lambda row: embeddings([row])[0]  # noqa: E731  # a single expression, used once
    elif "inputs_embeds" in names and "inputs_embeds" not in arrays:
        raise _missing(folder, "text embeddings", "the decoder reads embeddings")
    if "vision embeddings" in folder.parts:
        used |= _names(read_model(folder.parts["vision embeddings"].path))
        images = image_embeddings_of(folder, arrays, compile) if images is None else images
    if "encoder" in folder.parts:
        encoder = read_model(folder.parts["encoder"].path)
        used |= _names(encoder) | {"attention_mask"}
        arrays = _run_encoder(encoder, arrays, compile) | {
            name: value for name, value in arrays.items() if name not in ("input_ids", "attention_mask")
        }
        used |= arrays.keys() & {"encoder_hidden_states", "encoder_attention_mask", "encoder_outputs"}
    elif any(name.startswith("encoder_") for name in names - arrays.keys()):
        raise _missing(folder, "encoder", "the decoder reads its states")
    _require_used(arrays, used)
    fixed = {name: value for name, value in arrays.items() if name in names}
    return Decoder(
        model,
        compile,
        fixed=fixed,
        embed=embed,
        images=None if images is None else images.reshape(-1, images.shape[-1]),
        image_token=image_token_of(folder),
        pad_token=pad_token,
        is_mask_short=folder.model_type in _SHORT_MASK,
    )


_SHORT_MASK = frozenset({"mamba", "falcon_mamba", "zamba2"})
"""Models in optimum's export whose mask after the prompt covers the new token only."""


def _names(model: Model) -> set[str]:
    return {name for port in model.inputs for name in (port.name, *port.names)}


def _missing(folder: Folder, name: str, reason: str) -> GraphError:
    message = f"{PART_FILES[name]} is missing: {reason}"
    return GraphError(message, code=Code.missing_part).located(Location(path=folder.path))


def _require_used(arrays: Mapping[str, Array], used: set[str]) -> None:
    unused = sorted(arrays.keys() - used)
    if unused:
        message = f"no model of the folder has the inputs {', '.join(unused)}"
        raise EvaluationError(message, code=Code.unknown_input)


def image_token_of(folder: Folder) -> int | None:
    """Return the placeholder token of images; None for folders without images."""
    for name in ("image_token_id", "image_token_index"):
        token = folder.setting("config.json", name)
        if isinstance(token, int):
            return token
    return None


def image_embeddings_of(folder: Folder, arrays: Mapping[str, Array], compile: Compile) -> Array | None:
    """Return the embeddings of images, f32, [images, tokens, channels] or another shape; None without images.

    The outputs of `openvino_vision_embeddings_model.xml` must be the embeddings that replace the image tokens. Folders
    that split, merge or reorder its outputs with further models or code (Qwen2-VL, MiniCPM-V, LLaVA-NeXT) need
    `inputs_embeds` instead.

    Args:
        arrays: The inputs of the model.
    """
    if "vision embeddings" not in folder.parts:
        return None
    model = read_model(folder.parts["vision embeddings"].path)
    names = [
        next((port_name for port_name in (port.name, *port.names) if port_name in arrays), None)
        for port in model.inputs
    ]
    if all(name is None for name in names):
        return None
    lacking = [port.name for port, name in zip(model.inputs, names, strict=True) if name is None]
    if lacking:
        message = f"the vision embeddings need the inputs {', '.join(lacking)}"
        raise EvaluationError(message, code=Code.unknown_input, hint="pass them in `inputs`")
    others = sorted(name for name in os.listdir(folder.path) if name.endswith(".xml") and name not in _OWN)
    if others:
        message = f"embeddings of images need {', '.join(others)} as well, which is not supported"
        hint = "pass `inputs_embeds` of the prompt, and `position_ids` if they differ from positions of text"
        raise UnsupportedError(message, code=Code.unsupported, hint=hint)
    feeds = {port.name: arrays[name] for port, name in zip(model.inputs, names, strict=True) if name is not None}
    return np.asarray(compile(model)(feeds)[0], np.float32)


def with_image_tokens(ids: list[int], image_token: int | None, images: Array) -> list[int]:
    """Repeat the token of each image by the number of its embeddings, if the prompt has one token for each image."""
    if images.ndim != 3 or ids.count(image_token or -1) != len(images):
        return ids
    expanded: list[int] = []
    for token in ids:
        expanded += [token] * (images.shape[1] if token == image_token else 1)
    return expanded


_OWN = frozenset(PART_FILES.values())


def _run_encoder(model: Model, arrays: Mapping[str, Array], compile: Compile) -> dict[str, Array]:
    """The states of an encoder, by the names of the decoders' inputs."""
    values = dict(arrays)
    if "input_ids" in values:
        values["input_ids"] = np.atleast_2d(values["input_ids"]).astype(np.int64)
        values.setdefault("attention_mask", np.ones_like(values["input_ids"]))
    feeds = {}
    for port in model.inputs:
        value = next((values[name] for name in (port.name, *port.names) if name in values), None)
        if value is None:
            hint = "pass `audio`, or the features in `inputs`" if "features" in port.name else "pass it in `inputs`"
            raise EvaluationError(f"the encoder needs the input {port.name}", code=Code.unknown_input, hint=hint)
        feeds[port.name] = value
    states = compile(model)(feeds)[0]
    mask = values.get("attention_mask")
    if mask is None or mask.shape != states.shape[:2]:
        mask = np.ones(states.shape[:2], np.int64)
    return {"encoder_hidden_states": states, "encoder_attention_mask": mask, "encoder_outputs": states}


def pad_rows(rows: Sequence[Sequence[int]], pad_token: int) -> dict[str, Any]:
    """Return the texts of a batch as inputs of an encoder; shorter texts are padded on the right."""
    width = max(map(len, rows))
    ids = np.full((len(rows), width), pad_token, np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}
