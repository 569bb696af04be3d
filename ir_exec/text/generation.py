"""Text from a folder of files: a reference that one can read and trust, not a fast one.

pipeline = load("llama_int4")
generation = pipeline.generate("Hello", max_new_tokens=20)
print(generation.ids, generation.text)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, Location
from ir_exec.model import read_model
from ir_exec.runtime import compile_model
from ir_exec.text.decoders import Compile, Decoder, decoder_of
from ir_exec.text.folder import Folder, open_folder
from ir_exec.text.libraries import library
from ir_exec.text.pipeline_rules import templates_of
from ir_exec.types import Array

__all__ = ["Generation", "Pipeline", "load"]


@dataclass(frozen=True, slots=True)
class Generation:
    """What was generated.

    ids: the new tokens. text: of these alone; None for a folder without a detokenizer. stopped_by: `end token` or
    `length`. first_seconds: until the first token. seconds: all. logits: f32, [new tokens, vocabulary], if asked for.
    """

    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    text: str | None
    stopped_by: Literal["end token", "length"]
    first_seconds: float
    seconds: float
    logits: Array | None = None

    @property
    def tokens_per_second(self) -> float:
        """New tokens a second after the first one; 0 where there are none."""
        rest = self.seconds - self.first_seconds
        return (len(self.ids) - 1) / rest if rest > 0 and len(self.ids) > 1 else 0.0


class Pipeline:
    """A model of a folder with its tokenizers; `load` makes one.

    folder: the parts and settings. compile: makes what runs of each network.
    """

    def __init__(self, folder: Folder, compile: Compile) -> None:
        self.folder = folder
        self._compile = compile

    def encode(self, text: str, *, special_tokens: bool = True) -> list[int]:
        """The tokens of a text, with the special tokens that the tokenizer puts around it.

        special_tokens: False leaves those at its ends out, as for a text of a chat template, which has its own.
        """
        found = self._tokenizer([_strings(text)])["input_ids"][0].tolist()
        if not special_tokens:
            empty = self._tokenizer([_strings("")])["input_ids"][0].tolist()
            found = _without_ends(found, empty)
        return [int(token) for token in found]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens; special ones are left out."""
        return str(self._detokenizer([np.array([list(ids)], np.int64)])[0][0])

    @cached_property
    def _tokenizer(self) -> Any:
        return self._part("tokenizer")

    @cached_property
    def _detokenizer(self) -> Any:
        return self._part("detokenizer")

    def _part(self, name: str) -> Any:
        part = self.folder.parts.get(name)
        if part is None:
            message = f"{self.folder.path} has no {name}: give tokens instead of text"
            raise GraphError(message, code=Code.missing_part).located(Location(path=self.folder.path))
        return compile_model(read_model(part.path))

    @property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that end a text: of generation_config.json, of config.json, or of the tokenizer."""
        for file in ("generation_config.json", "config.json"):
            value = self.folder.setting(file, "eos_token_id")
            if isinstance(value, int):
                return frozenset({value})
            if isinstance(value, list) and value:
                return frozenset(value)
        part = self.folder.parts.get("tokenizer")
        text = part.rt_info("eos_token_id") if part is not None else None
        return frozenset({int(text)}) if text is not None and text.isdecimal() else frozenset()

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The text that the chat template makes of messages (`role`, `content`), by jinja2 in a sandbox.

        Raises GraphError (IR807) for a folder without a template, and EvaluationError (IR704) where it fails.
        """
        found = list(templates_of(self.folder))
        if not found:
            message = f"{self.folder.path} has no chat template"
            raise GraphError(message, code=Code.chat_template).located(Location(path=self.folder.path))
        jinja2 = library("jinja2", "a chat template")
        sandbox = library("jinja2.sandbox", "a chat template")
        environment = sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise
        values = {f"{kind}_token": self._special(kind) for kind in ("bos", "eos", "pad", "unk")}
        try:
            template = environment.from_string(found[-1][2])
            return str(template.render(messages=list(messages), add_generation_prompt=True, **values))
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError) as error:
            message = f"the chat template of {found[-1][0]} fails: {error}"
            raise EvaluationError(message, code=Code.bad_value).located(found[-1][1]) from None

    def _special(self, kind: str) -> str:
        found = self.folder.setting("tokenizer_config.json", f"{kind}_token")
        return str(found.get("content") if isinstance(found, Mapping) else found or "")

    def generate(
        self,
        prompt: str | Sequence[int],
        *,
        max_new_tokens: int = 100,
        ignore_eos: bool = False,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        inputs: Mapping[str, Array] | None = None,
        keep_logits: bool = False,
        on_text: Callable[[str], None] | None = None,
    ) -> Generation:
        """Go on a text, or tokens, by the most likely token each time, or by drawn ones with a temperature.

        temperature: 0 takes the most likely token. top_k: draw among so many. top_p: draw among those that together
            have this probability. seed: of the draws.
        inputs: arrays that the folder's networks need besides tokens, by name.
        on_text: called with each new piece of text.

        An encoder reads the prompt, and the decoder begins with its start token.
        """
        start = perf_counter()
        ids = self.encode(prompt) if isinstance(prompt, str) else [int(token) for token in prompt]
        decoder, first = self._decoder(ids, dict(inputs or {}))
        choose = _Chooser(temperature, top_k, top_p, seed)
        ends = frozenset() if ignore_eos else self.end_tokens
        stream = _Stream(self, on_text) if on_text is not None else None
        new: list[int] = []
        kept: list[Array] = []
        first_seconds = 0.0
        stopped_by: Literal["end token", "length"] = "length"
        given = first
        for logits in _steps(decoder, given, new, max_new_tokens):
            token = choose(logits)
            new.append(token)
            first_seconds = first_seconds or perf_counter() - start
            if keep_logits:
                kept.append(logits)
            if stream is not None:
                stream.add(token)
            if token in ends:
                stopped_by = "end token"
                break
        seconds = perf_counter() - start
        text = self.decode(new) if "detokenizer" in self.folder.parts and new else "" if not new else None
        if stream is not None:
            stream.end()
        every = np.stack(kept) if kept else None
        return Generation(tuple(ids), tuple(new), text, stopped_by, first_seconds, seconds, every)

    def _decoder(self, ids: list[int], inputs: dict[str, Array]) -> tuple[Decoder, list[int]]:
        """The decoder, and the tokens that it is given first."""
        if "encoder" not in self.folder.parts:
            return decoder_of(self.folder, inputs, self._compile), ids
        is_speech = "input_features" in inputs
        if not is_speech:
            inputs["input_ids"] = np.array([ids], np.int64)
        begin = next(
            (
                value
                for file in ("generation_config.json", "config.json")
                for value in [self.folder.setting(file, "decoder_start_token_id")]
                if isinstance(value, int)
            ),
            0,
        )
        return decoder_of(self.folder, inputs, self._compile), (ids or [begin]) if is_speech else [begin]


def _steps(decoder: Decoder, first: list[int], new: list[int], most: int) -> Iterator[Array]:
    """The logits for each new token; the tokens that were chosen are taken from `new`."""
    if not first:
        raise EvaluationError("the prompt has no tokens", code=Code.bad_value)
    decoder.reset()
    given: Sequence[int] = first
    for _ in range(most):
        yield decoder.next_logits(given)
        given = new[-1:]


class _Chooser:
    """Chooses a token by its logits."""

    def __init__(self, temperature: float, top_k: int, top_p: float, seed: int) -> None:
        if temperature < 0 or top_k < 0 or not 0 < top_p <= 1:
            message = (
                f"temperature {temperature}, top_k {top_k} and top_p {top_p}: expected 0 or more, and 0 < top_p <= 1"
            )
            raise EvaluationError(message, code=Code.bad_value)
        self._temperature, self._top_k, self._top_p = temperature, top_k, top_p
        self._random = np.random.default_rng(seed)

    def __call__(self, logits: Array) -> int:
        if not self._temperature:
            return int(np.argmax(logits))
        scaled = logits.astype(np.float64) / self._temperature
        order = np.argsort(-scaled, kind="stable")
        if self._top_k:
            order = order[: self._top_k]
        weights = np.exp(scaled[order] - scaled[order[0]])
        weights /= weights.sum()
        count = int(np.searchsorted(np.cumsum(weights), self._top_p)) + 1
        weights = weights[:count] / weights[:count].sum()
        return int(self._random.choice(order[:count], p=weights))


class _Stream:
    """Tells new text as soon as its characters are whole."""

    def __init__(self, pipeline: Pipeline, tell: Callable[[str], None]) -> None:
        self._pipeline = pipeline
        self._tell = tell
        self._ids: list[int] = []
        self._told = ""

    def add(self, token: int) -> None:
        self._ids.append(token)
        text = self._pipeline.decode(self._ids)
        if not text.endswith("\ufffd") and text.startswith(self._told):
            self._tell_new(text)

    def end(self) -> None:
        if self._ids:
            self._tell_new(self._pipeline.decode(self._ids))

    def _tell_new(self, text: str) -> None:
        if len(text) > len(self._told):
            self._tell(text[len(self._told) :])
            self._told = text


def _raise(message: str) -> None:
    raise ValueError(message)


def _strings(text: str) -> Array:
    found = np.empty(1, object)
    found[0] = text
    return found


def _without_ends(tokens: list[int], empty: list[int]) -> list[int]:
    """The tokens without those that stand at the ends of an empty text too."""
    first = 0
    while first < min(len(tokens), len(empty)) and tokens[first] == empty[first]:
        first += 1
    rest = len(empty) - first
    return tokens[first : len(tokens) - rest] if rest else tokens[first:]


def load(path: str | os.PathLike[str], compile: Compile = compile_model) -> Pipeline:
    """The pipeline of a folder.

    compile: what makes a network run, by default `ir_exec.compile_model`; with other options or another engine, say
        `partial(compile_model, engine="onnxruntime")`.

    Raises GraphError (IR801) for a folder that holds no pipeline.
    """
    folder = open_folder(path)
    if folder is None:
        message = f"{os.fspath(path)} is no folder of a pipeline"
        raise GraphError(message, code=Code.missing_part).located(Location(path=os.fspath(path)))
    return Pipeline(folder, compile)
