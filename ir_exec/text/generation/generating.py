"""Text generation from a folder: a readable reference, not optimized for speed.

pipeline = load("llama_int4")
generation = pipeline.generate("Hello", max_new_tokens=20)
print(generation.ids, generation.text)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Literal, Unpack

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, Location
from ir_exec.model import read_model
from ir_exec.runtime import compile_model
from ir_exec.text.folders.folder import Folder, open_folder
from ir_exec.text.generation.audio import Wave, log_mel, read_wav
from ir_exec.text.generation.chat import render_chat
from ir_exec.text.generation.decoders import Compile, Decoder
from ir_exec.text.generation.folder_decoder import (
    decoder_of,
    image_embeddings_of,
    image_token_of,
    pad_rows,
    with_image_tokens,
)
from ir_exec.text.generation.limits import context_of, require_prompt
from ir_exec.text.generation.sampling import Chooser, GenerationOptions, GenerationSettings, settings_from
from ir_exec.text.generation.speech import start_tokens
from ir_exec.text.generation.streaming import TextStream
from ir_exec.text.tokenizers.offsets import Offsets, byte_offsets, ends_in_common
from ir_exec.types import Array

__all__ = ["Generation", "Pipeline", "load"]

StoppedBy = Literal["end token", "length", "stop string", "context"]


@dataclass(frozen=True, slots=True)
class Generation:
    """New tokens and their text.

    Attributes:
        ids: The new tokens.
        text: The text of the new tokens, up to a stop string; None for a folder without a detokenizer.
        stopped_by: `end token`, `length`, `stop string`, or `context` if the context length of the model was reached.
        first_seconds: The time until the first token.
        seconds: The total time.
        logits: f32, [new tokens, vocabulary], if requested: the logits of the model, before penalties and temperature.
    """

    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    text: str | None
    stopped_by: StoppedBy
    first_seconds: float
    seconds: float
    logits: Array | None = None

    @property
    def tokens_per_second(self) -> float:
        """New tokens per second after the first one; 0 without further tokens."""
        remaining_seconds = self.seconds - self.first_seconds
        return (len(self.ids) - 1) / remaining_seconds if remaining_seconds > 0 and len(self.ids) > 1 else 0.0


class Pipeline:
    """The model of a folder with its tokenizers; `load` returns one.

    Args:
        folder: The parts and settings.
        compile: Compiles each model of the folder.
    """

    def __init__(self, folder: Folder, compile: Compile) -> None:
        self.folder = folder
        self._compile = compile

    def encode(self, text: str, *, special_tokens: bool = True) -> list[int]:
        """Return the tokens of a text, with the special tokens that the tokenizer adds.

        Args:
            special_tokens: False omits them at both ends, for example for a chat template, which contains them already.
        """
        tokens = self._tokenizer([_strings(text)])["input_ids"][0].tolist()
        if not special_tokens:
            first, last = ends_in_common(tokens, self._tokenizer([_strings("")])["input_ids"][0].tolist())
            tokens = tokens[first : len(tokens) - last]
        return [int(token) for token in tokens]

    def offsets(self, text: str, ids: Sequence[int] | None = None) -> Offsets:
        """Return begin and end of each token in a text, in bytes of UTF-8.

        The first token that is not found, and all tokens after it, are None. Special tokens at both ends are empty.

        Args:
            ids: The result of `encode`; computed by default.
        """
        ids = self.encode(text) if ids is None else ids
        part = self.folder.parts.get("tokenizer")
        if part is None:
            return [None] * len(ids)
        return byte_offsets(part, text, ids, ends_in_common(ids, self.encode("")))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without special tokens."""
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
            hint = "pass tokens instead of text"
            error = GraphError(f"{self.folder.path} has no {name}", code=Code.missing_part, hint=hint)
            raise error.located(Location(path=self.folder.path))
        return compile_model(read_model(part.path))

    @property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that end a text, from generation_config.json, config.json, or the tokenizer.

        Raises:
            EvaluationError: IR704 for a list with other values than tokens.
        """
        for file in ("generation_config.json", "config.json"):
            value = self.folder.setting(file, "eos_token_id")
            if isinstance(value, int):
                return frozenset({value})
            if isinstance(value, list) and value:
                if not all(isinstance(token, int) for token in value):
                    raise EvaluationError(
                        "eos_token_id is",
                        actual=repr(value)[:60],
                        expected="a list of tokens",
                        code=Code.bad_value,
                        location=self.folder.settings[file].location("eos_token_id"),
                    )
                return frozenset(value)
        part = self.folder.parts.get("tokenizer")
        text = part.rt_info("eos_token_id") if part is not None else None
        return frozenset({int(text)}) if text is not None and text.isdecimal() and len(text) < 19 else frozenset()

    def settings(self) -> GenerationSettings:
        """Return the settings of generation_config.json, or of config.json if it is missing, without `do_sample`.

        Raises:
            EvaluationError: IR704 for values of the wrong type or out of range.
            GraphError: IR810 for a file that is not JSON.
        """
        files = self.folder.settings
        for name in ("config.json", "generation_config.json"):
            if name in files and files[name].error is not None:
                message = f"{name} cannot be read: {files[name].error}"
                raise GraphError(message, code=Code.unreadable_settings).located(files[name].location())
        file = next((name for name in ("generation_config.json", "config.json") if name in files), None)
        values = dict(files[file].data) if file is not None else {}
        return settings_from(file or "", values | {"eos_token_id": sorted(self.end_tokens)})

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Render messages (`role`, `content`) with the chat template, by jinja2 in a sandbox.

        Raises:
            GraphError: IR807 for a folder without a template.
            EvaluationError: IR704 if the template fails, or for messages that are not like JSON.
            ResourceError: IR006 if the template takes more time, memory or characters than permitted.
        """
        return render_chat(self.folder, messages)

    def features(self, audio: str | os.PathLike[str] | Array) -> Array:
        """Return the features of audio for the encoder, as described by preprocessor_config.json.

        Args:
            audio: The path of a .wav file, or samples of one channel at the model's rate, -1 to 1.
        """
        if isinstance(audio, str | os.PathLike):
            return log_mel(read_wav(audio), self.folder)
        rate = self.folder.setting("preprocessor_config.json", "sampling_rate")
        return log_mel(Wave(np.asarray(audio, np.float32).ravel(), rate or 16000), self.folder)

    def generate(
        self,
        prompt: str | Sequence[int] = (),
        *,
        ignore_eos: bool = False,
        seed: int = 0,
        inputs: Mapping[str, Array] | None = None,
        audio: str | os.PathLike[str] | Array | None = None,
        language: str | None = None,
        task: str | None = None,
        keep_logits: bool = False,
        on_text: Callable[[str], None] | None = None,
        follow_settings: bool = True,
        **options: Unpack[GenerationOptions],
    ) -> Generation:
        """Continue a text, or tokens, with the most likely token at each step, or with sampled tokens.

        An encoder reads the prompt or the features, and the decoder begins with its start token.

        Penalties, forbidden tokens, end tokens and lengths are read from generation_config.json unless `options`
        (`GenerationOptions`) replaces them. The `do_sample` of the file is ignored: sampling needs a temperature, or
        `do_sample=True`.

        Args:
            prompt: Text, or tokens.
            ignore_eos: Continue after end tokens.
            seed: The seed for sampling.
            inputs: Arrays by name, in addition to tokens: `input_features`, `pixel_values`, `inputs_embeds` of the
                prompt.
            audio: The path of a .wav file, or samples, for a speech model.
            language: The language of a speech model; by default the model detects it. Tokens as prompt replace language
                and task.
            task: The task of a speech model.
            keep_logits: Return the logits of all new tokens.
            on_text: Called with the new text of each step.
            follow_settings: False ignores all values of generation_config.json except end tokens.
        """
        arrays = {name: np.asarray(value) for name, value in (inputs or {}).items()}
        start = perf_counter()
        if audio is not None:
            arrays["input_features"] = self.features(audio)
        ids = self.encode(prompt) if isinstance(prompt, str) else [int(token) for token in prompt]
        settings = self.settings() if follow_settings else GenerationSettings(eos_token_id=tuple(self.end_tokens))
        settings = settings.with_options(options)
        images = image_embeddings_of(self.folder, arrays, self._compile)
        if images is not None:
            ids = with_image_tokens(ids, image_token_of(self.folder), images)
        decoder, begin = self.decoder(ids, arrays, images=images, language=language, task=task)
        stream = TextStream(self.decode, on_text, settings.stop_strings) if on_text is not None else None
        texts = [_Text(self, ids, begin, settings, seed, ignore_eos, keep_logits, stream, start)]
        _run(decoder, texts, context_of(self.folder))
        return texts[0].result()

    def generate_batch(
        self,
        prompts: Sequence[str | Sequence[int]],
        *,
        ignore_eos: bool = False,
        seed: int = 0,
        keep_logits: bool = False,
        **options: Unpack[GenerationOptions],
    ) -> list[Generation]:
        """Continue several texts in a batch; each has the same tokens as in a separate run.

        Shorter prompts are padded on the left, and the padding is masked. Models without a mask, models with
        convolutions over time (Mamba, hybrids), and models that compute NaN with padding run the prompts one by one.
        The parameters are the same as for `generate`.
        """
        start = perf_counter()
        rows = [
            self.encode(prompt) if isinstance(prompt, str) else [int(token) for token in prompt] for prompt in prompts
        ]
        if not rows:
            return []
        settings = self.settings().with_options(options)
        if "encoder" in self.folder.parts:
            decoder, first = self._with_encoder(rows, {}, None, None)
        else:
            rows = [require_prompt(self.folder, ids, {}) for ids in rows]
            decoder, first = decoder_of(self.folder, {}, self._compile, pad_token=self._pad_token), rows
        texts = [
            _Text(self, ids, begin, settings, seed, ignore_eos, keep_logits, None, start)
            for ids, begin in zip(rows, first, strict=True)
        ]
        is_one_run = decoder.takes_padding or len({len(begin) for begin in first}) == 1
        for group in [texts] if is_one_run else [[text] for text in texts]:
            _run(decoder, group, context_of(self.folder))
        return [text.result() for text in texts]

    def decoder(
        self,
        ids: list[int],
        inputs: Mapping[str, Array] | None = None,
        *,
        images: Array | None = None,
        language: str | None = None,
        task: str | None = None,
    ) -> tuple[Decoder, list[int]]:
        """Run the encoder if there is one, and return the decoder for a prompt with its first tokens.

        The other parameters are the same as for `generate`.

        Args:
            images: The result of `image_embeddings_of`.
        """
        arrays = dict(inputs or {})
        if (language or task) and self.folder.kind != "speech":
            raise EvaluationError(
                f"a language or task is given for the kind {self.folder.kind!r}",
                expected="a speech model",
                code=Code.bad_value,
            )
        if "encoder" in self.folder.parts:
            decoder, first = self._with_encoder([ids], arrays, language, task)
            return decoder, first[0]
        ids = require_prompt(self.folder, ids, arrays)
        return decoder_of(self.folder, arrays, self._compile, images=images), ids

    @property
    def _pad_token(self) -> int:
        for file in ("generation_config.json", "config.json"):
            value = self.folder.setting(file, "pad_token_id")
            if isinstance(value, int) and value >= 0:
                return value
        return min(self.end_tokens, default=0)

    def _with_encoder(
        self, rows: list[list[int]], arrays: dict[str, Array], language: str | None, task: str | None
    ) -> tuple[Decoder, list[list[int]]]:
        """The decoder after a run of the encoder, and its first tokens."""
        is_speech = self.folder.kind == "speech" or "input_features" in arrays
        if not is_speech and "input_ids" not in arrays:
            for ids in rows:
                require_prompt(self.folder, ids, arrays)
            arrays |= pad_rows(rows, self._pad_token)
        begin = next(
            (
                value
                for file in ("generation_config.json", "config.json")
                for value in [self.folder.setting(file, "decoder_start_token_id")]
                if isinstance(value, int)
            ),
            0,
        )
        decoder = decoder_of(self.folder, arrays, self._compile)
        if not is_speech:
            return decoder, [[begin]] * len(rows)
        if rows[0]:
            return decoder, [require_prompt(self.folder, rows[0], arrays)]

        def logits(tokens: Sequence[int]) -> Array:
            decoder.reset()
            return decoder.next_logits(tokens)

        return decoder, [start_tokens(self.folder, begin, logits, language, task)]


class _Text:
    """A text of a batch during generation."""

    def __init__(
        self,
        pipeline: Pipeline,
        prompt: list[int],
        begin: list[int],
        settings: GenerationSettings,
        seed: int,
        ignore_eos: bool,
        keep_logits: bool,
        stream: TextStream | None,
        start: float,
    ) -> None:
        self.begin = begin
        self.new: list[int] = []
        self.stopped_by: StoppedBy | None = None if settings.max_new_tokens else "length"
        self._pipeline, self._prompt, self._settings = pipeline, prompt, settings
        self._ends = frozenset() if ignore_eos else frozenset(settings.eos_token_id)
        self._choose = Chooser(settings, seed, has_encoder="encoder" in pipeline.folder.parts)
        self._stream, self._keeps_logits, self._start = stream, keep_logits, start
        self._kept: list[Array] = []
        self._first_seconds = self._seconds = 0.0

    def add(self, logits: Array) -> None:
        """Select the next token, and stop at the end of the text."""
        token = self._choose([*self.begin, *self.new], len(self.begin), logits)
        self.new.append(token)
        self._first_seconds = self._first_seconds or perf_counter() - self._start
        if self._keeps_logits:
            self._kept.append(logits)
        if self._stream is not None:
            self._stream.add(token)
        if token in self._ends:
            self.stop("end token")
        elif self._settings.stop_strings and self._end_of_text(self._pipeline.decode(self.new)) is not None:
            self.stop("stop string")
        elif len(self.new) == self._settings.max_new_tokens:
            self.stop("length")

    def stop(self, reason: StoppedBy) -> None:
        """End the text."""
        self.stopped_by = reason
        self._seconds = perf_counter() - self._start

    def _end_of_text(self, text: str) -> int | None:
        """The position of the first stop string; None without one."""
        return min((at for string in self._settings.stop_strings if (at := text.find(string)) >= 0), default=None)

    def result(self) -> Generation:
        """Return the tokens and the text."""
        assert self.stopped_by is not None, "the run has stopped"
        text = self._pipeline.decode(self.new) if self.new and "detokenizer" in self._pipeline.folder.parts else None
        if text is not None:
            text = text[: self._end_of_text(text)]
        if self._stream is not None:
            self._stream.end()
        logits = np.stack(self._kept) if self._kept else None
        prompt, new = tuple(self._prompt), tuple(self.new)
        times = self._first_seconds, self._seconds
        return Generation(prompt, new, text if new else "", self.stopped_by, *times, logits)


def _run(decoder: Decoder, texts: Sequence[_Text], context: int | None) -> None:
    """Add tokens to all texts until each has stopped; stopped texts are extended with tokens that are discarded."""
    decoder.reset()
    rows = [text.begin for text in texts]
    if all(text.stopped_by is not None for text in texts):
        return
    while True:
        logits = decoder.next_logits_of(rows)
        if len(texts) > 1 and not any(text.new for text in texts) and np.isnan(logits).any():
            # In models that mask with -inf (OPT), fully masked padding is NaN, which spreads to other texts.
            for text in texts:
                _run(decoder, [text], context)
            return
        for text, row in zip(texts, logits, strict=True):
            if text.stopped_by is None:
                text.add(row)
                if text.stopped_by is None and context is not None and len(text.begin) + len(text.new) >= context:
                    text.stop("context")
        if all(text.stopped_by is not None for text in texts):
            return
        rows = [text.new[-1:] or text.begin[-1:] for text in texts]


def _strings(text: str) -> Array:
    strings = np.empty(1, object)
    strings[0] = text
    return strings


def load(path: str | os.PathLike[str], compile: Compile = compile_model) -> Pipeline:
    """Load the pipeline of a folder.

    Args:
        compile: Compiles a model, by default `ir_exec.compile_model`; for another engine, use for example
            `partial(compile_model, engine="onnxruntime")`.

    Raises:
        GraphError: IR801 for a folder without a pipeline.
    """
    folder = open_folder(path)
    if folder is None:
        message = f"{os.fspath(path)} is not a folder with a pipeline"
        raise GraphError(message, code=Code.missing_part).located(Location(path=os.fspath(path)))
    return Pipeline(folder, compile)
