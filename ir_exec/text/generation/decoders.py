"""One interface for models that compute the logits of the next token, with every form of cache.

decoder = Decoder(model, compile)
logits = decoder.next_logits([1, 15, 7])   # of the prompt
logits = decoder.next_logits([9])          # after one more token
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.types import Array, Shape

__all__ = ["Compile", "Decoder"]

Compile = Callable[[Model], Any]
"""A function that compiles a model: `compile_model`, also with options."""


class Decoder:
    """The decoder of a language model, for one text or a batch of texts.

    The model's cache may be in variables, or in inputs and outputs (`past_key_values...`, `present...`). Without a
    cache all tokens are computed again for each new one. Shorter texts of a batch are padded on the left.

    Values of `inputs_embeds`, `position_ids`, `attention_mask` and `token_type_ids` in `fixed` are for the prompt only.

    Args:
        fixed: Inputs that are constant for a text: the states of an encoder.
        embed: Computes embeddings of tokens, for models with embeddings as input.
        images: Embeddings for the tokens `image_token` of the prompt, in order, [tokens, channels].
        pad_token: The token for padding of shorter texts.
        is_mask_short: True if the mask after the prompt covers the new token only, instead of the whole text.
    """

    def __init__(
        self,
        model: Model,
        compile: Compile,
        *,
        fixed: Mapping[str, Array] | None = None,
        embed: Callable[[Array], Array] | None = None,
        images: Array | None = None,
        image_token: int | None = None,
        pad_token: int = 0,
        is_mask_short: bool = False,
    ) -> None:
        self._run = compile(model)
        self._ports = {port.name: port for port in model.inputs}
        self._names = {name for port in model.inputs for name in (port.name, *port.names)}
        self._past = [port.name for port in model.inputs if port.name.startswith(_PAST)]
        variables = [node.op for node in model.graph.all_nodes() if isinstance(node.op, ReadsVariable)]
        self._has_state = bool(variables)
        self._conv_size = _conv_size(model)
        inputs = dict(fixed or {})
        self._first = {name: inputs.pop(name) for name in sorted(_OF_PROMPT & inputs.keys())}
        for name, value in self._first.items():
            least = 3 if name == "inputs_embeds" else 2
            if value.ndim < least or value.dtype.kind not in "biuf":
                raise EvaluationError(
                    f"{name} has shape {list(value.shape)} and type {value.dtype}",
                    expected=f"numbers with {least} axes",
                    code=Code.bad_value,
                )
        self._fixed = inputs
        self._embed = embed
        self._images, self._image_token, self._pad = images, image_token, pad_token
        self._is_mask_short = is_mask_short
        self._kept: dict[str, Array] = {}
        self._tokens = np.zeros((1, 0), np.int64)
        self._mask = np.zeros((1, 0), np.int64)
        self._embeddings: Array | None = None
        self._prompt_width = 0
        self._require_known(model)

    def _require_known(self, model: Model) -> None:
        supported = _KNOWN | self._fixed.keys() | self._first.keys() | set(self._past)
        if self._embed is None:
            supported -= {"inputs_embeds"} - self._first.keys()
        unknown = sorted(port.name for port in model.inputs if not supported & {port.name, *port.names})
        if unknown:
            message = f"values of the inputs {', '.join(unknown)} are missing"
            raise EvaluationError(message, code=Code.unknown_input, hint="pass them in `inputs`")

    @property
    def takes_padding(self) -> bool:
        """True if the model masks padding; models with convolutions over time do not."""
        return "attention_mask" in self._names and self._conv_size is None

    def reset(self) -> None:
        """Clear the text and the cache."""
        self._tokens = self._tokens[:, :0]
        self._mask = self._mask[:, :0]
        self._embeddings = None
        self._kept.clear()
        if self._has_state:
            self._run.reset_state()

    def first_inputs(self, tokens: Sequence[int]) -> dict[str, Array]:
        """Return the value of each input if these tokens are the whole text."""
        self.reset()
        self._append([tokens])
        return self._inputs(0)

    def next_logits(self, tokens: Sequence[int]) -> Array:
        """Append tokens to the text, and return the logits of the next token, f32, [vocabulary]."""
        last: Array = self.all_logits(tokens)[-1]
        return last

    def all_logits(self, tokens: Sequence[int]) -> Array:
        """Append tokens to the text, and return the logits after each of them, f32, [tokens, vocabulary]."""
        logits: Array = self._logits([tokens])[0, -len(tokens) :]
        return logits

    def next_logits_of(self, rows: Sequence[Sequence[int]]) -> Array:
        """Append a row of tokens to each text, and return the logits of the next tokens, f32, [texts, vocabulary]."""
        logits: Array = self._logits(rows)[:, -1]
        return logits

    def _logits(self, rows: Sequence[Sequence[int]]) -> Array:
        seen = self._tokens.shape[1]
        self._append(rows)
        outputs = self._run(self._inputs(seen if self._has_state or self._past else 0))
        for name in self._past:
            self._kept[name] = outputs[_present_of(name, outputs)]
        names = {name for names in outputs.names() for name in names}
        logits = np.asarray(outputs["logits"] if "logits" in names else outputs[0], np.float32)
        if logits.ndim == 2:
            # The logits of the last token only.
            logits = logits[:, None]
        if logits.ndim != 3 or logits.shape[0] != len(rows) or not logits.size:
            raise EvaluationError(
                "the logits have shape",
                actual=list(logits.shape),
                expected=f"[{len(rows)}, tokens, vocabulary]",
                code=Code.bad_value,
            )
        return logits

    def _append(self, rows: Sequence[Sequence[int]]) -> None:
        """Add tokens to each text; shorter rows are padded on the left."""
        prompt_embeddings = self._first.get("inputs_embeds") if not self._tokens.size else None
        width = max(map(len, rows)) if prompt_embeddings is None else prompt_embeddings.shape[1]
        tokens = np.full((len(rows), width), self._pad, np.int64)
        mask = np.zeros_like(tokens)
        for index, row in enumerate(rows):
            tokens[index, width - len(row) :] = row
            mask[index, width - len(row) :] = 1
        if prompt_embeddings is not None:
            mask[:] = 1
        if not self._tokens.size:
            self._prompt_width = width
            self._tokens, self._mask = np.zeros((2, len(rows), 0), np.int64)
        if "inputs_embeds" in self._names:
            new = prompt_embeddings if prompt_embeddings is not None else self._embed_tokens(tokens)
            old = self._embeddings
            self._embeddings = new if old is None else np.concatenate([old, new], 1)
        self._tokens = np.concatenate([self._tokens, tokens], 1)
        self._mask = np.concatenate([self._mask, mask], 1)

    def _embed_tokens(self, tokens: Array) -> Array:
        """The embeddings of tokens, with image embeddings at the image tokens."""
        assert self._embed is not None, "checked in __init__"
        embeddings = self._embed(tokens)
        places = tokens == self._image_token
        if self._images is not None and not self._tokens.size:
            if int(places.sum()) != len(self._images):
                raise EvaluationError(
                    "the prompt has",
                    actual=int(places.sum()),
                    detail=f"tokens {self._image_token} for images",
                    expected=len(self._images),
                    reason="one for each embedding",
                    code=Code.bad_value,
                )
            embeddings = np.array(embeddings)
            embeddings[places] = self._images
        return embeddings

    def _inputs(self, start: int) -> dict[str, Array]:
        """Return the value of each input for the tokens from position `start`."""
        tokens, mask = self._tokens[:, start:], self._mask
        positions = np.maximum(np.cumsum(mask, 1) - 1, 0)
        is_first = not start
        values: dict[str, Array] = {
            "input_ids": tokens,
            "decoder_input_ids": tokens,
            "attention_mask": mask,
            "decoder_attention_mask": mask,
            "position_ids": positions[:, start:],
            "cache_position": np.arange(start, mask.shape[1]),
            "beam_idx": np.arange(len(tokens)),
            "token_type_ids": np.zeros_like(tokens),
            "use_cache_branch": np.array([not is_first]),
        }
        if self._images is not None:
            values["token_type_ids"] = (tokens == self._image_token).astype(np.int64)
        if is_first and self._conv_size is not None:
            # In optimum's export of Mamba, the prompt fills all columns of the convolution.
            values["cache_position"] = np.arange(self._conv_size)
        if not is_first and self._is_mask_short:
            values["attention_mask"] = np.ones_like(tokens)
        if self._embeddings is not None:
            values["inputs_embeds"] = self._embeddings[:, start:]
        values |= self._fixed | self._kept
        self._add_first(values, start)
        for name in self._past:
            if name not in values:
                dims = self._ports[name].shape.dims or ()
                # The cache is empty.
                sizes = [dim.size if dim.is_static else 0 for dim in dims]
                values[name] = np.zeros([len(tokens), *sizes[1:]], self._ports[name].element_type.dtype)
        return self._by_port(values)

    def _add_first(self, values: dict[str, Array], start: int) -> None:
        """Add the values given for the prompt, extended to the tokens after it."""
        count = self._tokens.shape[1] - self._prompt_width
        for name, prompt_value in self._first.items():
            if name == "inputs_embeds":
                continue
            extension = np.full((*prompt_value.shape[:-1], count), int(name == "attention_mask"), prompt_value.dtype)
            if name == "position_ids":
                # Positions after the greatest one, equal for all axes of an image.
                axes = (0, -1) if prompt_value.ndim == 3 else -1
                extension = np.broadcast_to(
                    prompt_value.max(axis=axes, keepdims=True) + 1 + np.arange(count), extension.shape
                )
            extended = np.concatenate([prompt_value, extension], -1)
            values[name] = extended if name == "attention_mask" else extended[..., start:]

    def _by_port(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """The value of each input by name, with the element type and rank of the input."""
        arrays = {}
        for name, port in self._ports.items():
            value = next((values[port_name] for port_name in (name, *port.names) if port_name in values), None)
            if value is None:
                continue
            if name == "position_ids" and port.shape.rank == 3 and value.ndim == 2:
                # Positions in time, height and width, which are equal for text.
                axes = port.shape[0].size if port.shape[0].is_static else 3
                value = np.broadcast_to(value, (axes, *value.shape))
            # Values that are not numbers are rejected by the model.
            is_number = value.dtype.kind in "biuf"
            arrays[name] = value.astype(port.element_type.dtype, copy=False) if is_number else value
        return arrays


_KNOWN = frozenset(
    {
        "input_ids",
        "decoder_input_ids",
        "attention_mask",
        "decoder_attention_mask",
        "position_ids",
        "cache_position",
        "beam_idx",
        "token_type_ids",
        "use_cache_branch",
        "inputs_embeds",
    }
)
"""Inputs with computed values; all others must be passed."""

_OF_PROMPT = frozenset({"inputs_embeds", "position_ids", "attention_mask", "token_type_ids"})
"""Inputs whose passed values are for the prompt only."""

_PAST = ("past", "cache_params.past")
"""Prefixes of the names of inputs for the cache of previous tokens."""

_RECURRENT = "cache_params.past.conv"
"""The name in optimum of the state of models with convolutions over time (Mamba and hybrids)."""


def _conv_size(model: Model) -> int | None:
    """The number of columns in the convolution state of a recurrent model; None for other models."""
    for port in model.inputs:
        if port.name.startswith(_RECURRENT) and port.shape.rank:
            return port.shape[-1].size if port.shape[-1].is_static else None
    for node in model.graph.all_nodes():
        if isinstance(node.op, ReadsVariable) and _RECURRENT in str(getattr(node.op, "variable_id", "")):
            shape = getattr(node.op, "variable_shape", Shape.unknown())
            return shape[-1].size if shape.rank and shape[-1].is_static else None
    return None


def _present_of(past: str, outputs: Any) -> str:
    """The output that is the input `past` of the next run."""
    for name in (past.replace("past_key_values", "present"), past.replace("past", "present")):
        if any(name in names for names in outputs.names()):
            return name
    raise EvaluationError(f"no output matches the input {past}", code=Code.unknown_input)
