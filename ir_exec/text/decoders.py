"""Networks that give the logits of the next token, whatever they keep of the tokens before: one interface for all.

decoder = decoder_of(folder)
logits = decoder.next_logits([1, 15, 7])   # of the prompt
logits = decoder.next_logits([9])          # of one token more
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, Location
from ir_exec.model import Model, read_model
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.runtime import compile_model
from ir_exec.text.folder import Folder, FolderPart
from ir_exec.types import Array

__all__ = ["Compile", "Decoder", "decoder_of"]

Compile = Callable[[Model], Any]
"""Makes what runs of a network: `compile_model`, also with options."""


class Decoder:
    """A network of a language model, one text at a time.

    The cache is where the network has it: in variables, in inputs and outputs (`past_key_values...`, `present...`), or
    nowhere; then all tokens are computed again for each new one.

    fixed: inputs that stay the same for a text: the states of an encoder, embeddings of images.
    embed: makes embeddings of tokens, for networks that take these.
    """

    def __init__(
        self,
        model: Model,
        compile: Compile,
        *,
        fixed: Mapping[str, Array] | None = None,
        embed: Callable[[Array], Array] | None = None,
    ) -> None:
        self._run = compile(model)
        self._ports = {port.name: port for port in model.inputs}
        self._names = {name for port in model.inputs for name in (port.name, *port.names)}
        self._past = [port.name for port in model.inputs if port.name.startswith("past")]
        self._has_state = any(isinstance(node.op, ReadsVariable) for node in model.graph.all_nodes())
        self._fixed = dict(fixed or {})
        self._embed = embed
        self._kept: dict[str, Array] = {}
        self._tokens: list[int] = []
        unknown = self._names - _KNOWN - set(self._fixed) - set(self._past)
        unknown = {name for port in model.inputs for name in [port.name] if {port.name, *port.names} <= unknown}
        if unknown:
            names = ", ".join(sorted(unknown))
            hint = "give them in `inputs`"
            raise EvaluationError(
                f"it is not known what to give to the inputs {names}", code=Code.unknown_input, hint=hint
            )

    def reset(self) -> None:
        """Forget the text."""
        self._tokens.clear()
        self._kept.clear()
        if self._has_state:
            self._run.reset_state()

    def first_inputs(self, tokens: Sequence[int]) -> dict[str, Array]:
        """What each input gets where these tokens are the whole text."""
        self.reset()
        return self._inputs(tokens, 0)

    def next_logits(self, tokens: Sequence[int]) -> Array:
        """The logits of the token after the text so far and these tokens, f32, [vocabulary]."""
        last: Array = self.all_logits(tokens)[-1]
        return last

    def all_logits(self, tokens: Sequence[int]) -> Array:
        """The logits after each of these tokens, which go on the text, f32, [tokens, vocabulary]."""
        seen = len(self._tokens)
        self._tokens += tokens
        given = list(tokens) if self._has_state or self._past else self._tokens
        start = seen if self._has_state or self._past else 0
        outputs = self._run(self._inputs(given, start))
        for name in self._past:
            self._kept[name] = outputs[_present_of(name, outputs)]
        logits = np.asarray(outputs["logits"] if "logits" in self._output_names(outputs) else outputs[0], np.float32)
        return logits[0, -len(tokens) :]

    def _output_names(self, outputs: Any) -> set[str]:
        return {name for names in outputs.names() for name in names}

    def _inputs(self, tokens: Sequence[int], start: int) -> dict[str, Array]:
        """What each input gets for these tokens, which begin at position `start`."""
        row = np.array([tokens], np.int64)
        length = start + len(tokens)
        values: dict[str, Array] = {
            "input_ids": row,
            "decoder_input_ids": row,
            "attention_mask": np.ones((1, length), np.int64),
            "decoder_attention_mask": np.ones((1, length), np.int64),
            "position_ids": np.arange(start, length)[None],
            "cache_position": np.arange(start, length),
            "beam_idx": np.zeros(1, np.int64),
            "token_type_ids": np.zeros_like(row),
            "use_cache_branch": np.array([start > 0]),
        }
        if "inputs_embeds" in self._names and self._embed is not None:
            values["inputs_embeds"] = self._embed(row)
        values |= self._fixed | self._kept
        for name in self._past:
            if name not in values:
                dims = self._ports[name].shape.dims or ()
                # A batch of one text, and no positions yet.
                sizes = [dim.size if dim.is_static else 0 for dim in dims]
                values[name] = np.zeros([1, *sizes[1:]], self._ports[name].element_type.dtype)
        given = {}
        for name, port in self._ports.items():
            found = next((values[one] for one in (name, *port.names) if one in values), None)
            if found is not None:
                given[name] = found.astype(port.element_type.dtype, copy=False)
        return given


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
"""Inputs for which there is a value; any other must be given."""


def _present_of(past: str, outputs: Any) -> str:
    """The output that is the past of the next token."""
    for name in (past.replace("past_key_values", "present"), past.replace("past", "present")):
        if any(name in names for names in outputs.names()):
            return name
    raise EvaluationError(f"no output goes on the input {past}", code=Code.unknown_input)


def decoder_of(folder: Folder, inputs: Mapping[str, Array] | None = None, compile: Compile = compile_model) -> Decoder:
    """The decoder of a folder, ready for a text.

    inputs: what the folder's networks cannot know: `input_features` of speech, `input_ids` of the text for an encoder,
        embeddings of images.

    Raises GraphError (IR801) for a folder without one.
    """
    given = {name: np.asarray(value) for name, value in (inputs or {}).items()}
    part = folder.decoder
    if part is None:
        message = f"{folder.path} has no network that gives logits: it is {folder.kind}"
        raise GraphError(message, code=Code.missing_part).located(Location(path=folder.path))
    embed = None
    if "text embeddings" in folder.parts:
        embeddings = compile(read_model(folder.parts["text embeddings"].path))
        embed = lambda row: embeddings([row])[0]  # noqa: E731  # one line, and used once
    if "encoder" in folder.parts:
        given = _encoded(folder.parts["encoder"], given, compile) | {
            name: value for name, value in given.items() if name not in ("input_ids", "attention_mask")
        }
    return Decoder(read_model(part.path), compile, fixed=given, embed=embed)


def _encoded(part: FolderPart, given: Mapping[str, Array], compile: Compile) -> dict[str, Array]:
    """The states of an encoder, by the names that decoders have for them."""
    model = read_model(part.path)
    values = dict(given)
    if "input_ids" in values:
        values["input_ids"] = np.atleast_2d(values["input_ids"]).astype(np.int64)
        values.setdefault("attention_mask", np.ones_like(values["input_ids"]))
    wanted = {}
    for port in model.inputs:
        found = next((values[name] for name in (port.name, *port.names) if name in values), None)
        if found is None:
            raise EvaluationError(f"the encoder needs the input {port.name}", code=Code.unknown_input)
        wanted[port.name] = found
    states = compile(model)(wanted)[0]
    mask = values.get("attention_mask", np.ones(states.shape[:2], np.int64))
    return {"encoder_hidden_states": states, "encoder_attention_mask": mask, "encoder_outputs": states}
