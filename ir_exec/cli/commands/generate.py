"""`ir-exec generate`: text from a folder with a language model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ir_exec.cli.arrays import read_named_arrays, write_arrays
from ir_exec.cli.engine import engine_options
from ir_exec.cli.files import read_json
from ir_exec.cli.options import weight_mode_option
from ir_exec.cli.output.folder_text import tokens_of
from ir_exec.cli.output.terminal import Unusable, echo, errors_as_messages, show_json, write
from ir_exec.cli.output.writing import arrays_output, output_option
from ir_exec.printable import PrintableStream
from ir_exec.runtime import compile_model
from ir_exec.runtime.weight_modes import WeightMode

if TYPE_CHECKING:
    from ir_exec.text.generation.generating import Generation
    from ir_exec.text.generation.sampling import GenerationOptions
    from ir_exec.text.tokenizers.offsets import Offsets

__all__ = ["command"]

_COUNT = click.IntRange(min=0)

_OPTIONS: dict[str, tuple[str, Any, str]] = {
    "max_new_tokens": (
        "--max-new-tokens",
        _COUNT,
        "Generate at most N tokens.  [default: generation_config.json, or 100]",
    ),
    "min_new_tokens": ("--min-new-tokens", _COUNT, "Exclude end tokens from the first N tokens."),
    "repetition_penalty": ("--repetition-penalty", float, "Divide the logits of tokens in the text by X."),
    "presence_penalty": ("--presence-penalty", float, "Subtract X from the logits of generated tokens."),
    "frequency_penalty": ("--frequency-penalty", float, "Subtract X per occurrence of a generated token."),
    "no_repeat_ngram_size": ("--no-repeat-ngram-size", _COUNT, "Do not repeat a sequence of N tokens."),
    "do_sample": ("--sample", None, "Sample tokens, with the settings of generation_config.json."),
    "temperature": ("--temperature", float, "Divide the logits by X and sample; 0 selects the most likely token."),
    "top_k": ("--top-k", _COUNT, "Sample from the N most likely tokens, 0 for all."),
    "top_p": ("--top-p", float, "Sample from the most likely tokens with a total probability of X."),
    "min_p": ("--min-p", float, "Sample from tokens with at least X times the maximum probability."),
}
"""Options by name in `generation_config.json`: flag, type, help."""


def _settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add options that override `generation_config.json`, as the argument `settings`."""

    @wraps(command)
    def with_settings(*args: Any, stop: tuple[str, ...], eos: str | None, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in _OPTIONS}
        settings = {name: value for name, value in values.items() if value is not None and value is not False}
        if stop:
            settings["stop_strings"] = list(stop)
        if eos is not None:
            settings["eos_token_id"] = tokens_of(eos, "--eos")
        return command(*args, settings=settings, **kwargs)

    decorated: Callable[..., None] = with_settings
    decorated = click.option("--eos", metavar="1,2", help="End tokens.  [default: generation_config.json]")(decorated)
    decorated = click.option("--stop", metavar="TEXT", multiple=True, help="Stop at this text; repeatable.")(decorated)
    for name, (flag, value_type, help) in reversed(_OPTIONS.items()):
        if value_type is None:
            decorated = click.option(flag, name, is_flag=True, help=help)(decorated)
        else:
            decorated = click.option(
                flag, name, type=value_type, metavar="N" if value_type is _COUNT else "X", help=help
            )(decorated)
    return decorated


@click.command("generate")
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.option("--prompt", "prompts", metavar="TEXT", multiple=True, help="Text to continue; repeatable for a batch.")
@click.option("--chat", metavar="FILE.json", type=click.Path(), help="Messages for the chat template.")
@click.option("--ids", "rows", metavar="1,2,3", multiple=True, help="Tokens instead of a text; repeatable for a batch.")
@click.option("--audio", metavar="FILE.wav", type=click.Path(), help="For speech models: audio file.")
@click.option(
    "--language", metavar="NAME", help="For speech models: language of the speech, such as en.  [default: detected]"
)
@click.option(
    "--task",
    type=click.Choice(["transcribe", "translate"]),
    help="For speech models: transcribe, or translate to English.",
)
@click.option(
    "--inputs", metavar="FILE.npz", type=click.Path(), help="Arrays named after the inputs, in addition to the tokens."
)
@click.option("--ignore-eos", is_flag=True, help="Do not stop at end tokens.")
@_settings_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random numbers.")
@output_option(
    "--logits", "logits_path", outputs=arrays_output, metavar="FILE.npz", help="Write the logits to this file."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the output; json has tokens, their offsets in bytes, and times.",
)
@weight_mode_option
@engine_options
def command(
    folder: str,
    prompts: tuple[str, ...],
    chat: str | None,
    rows: tuple[str, ...],
    audio: str | None,
    language: str | None,
    task: str | None,
    inputs: str | None,
    ignore_eos: bool,
    settings: GenerationOptions,
    seed: int,
    logits_path: str | None,
    format_name: str,
    weight_mode: WeightMode,
    engine: dict[str, Any],
) -> None:
    """Generate reference text with the language model in a folder.

    The result is reproducible: each step selects the most likely token, unless --sample or --temperature is given.
    Penalties, end tokens and lengths are those of generation_config.json, unless an option overrides them. Text is
    printed while it is generated. Use --engine for speed.

    For speech models, --audio computes the log-mel spectrogram of Whisper if preprocessor_config.json describes it.
    Specify other features with --inputs, also the resized and normalized pixel_values of images.

    Exit code: 0 on success, 1 if a model cannot be read or run, 2 for an invalid argument.
    """
    kinds = sum([bool(prompts), chat is not None, bool(rows)])
    has_arrays = audio is not None or inputs is not None
    if kinds > 1 or not (kinds or has_arrays):
        raise Unusable("expected one of --prompt, --chat and --ids, or --audio")
    if len(prompts) + len(rows) > 1 and (has_arrays or language or task):
        raise Unusable("--audio, --language, --task and --inputs require a single prompt")
    tokens = [tokens_of(row) for row in rows]
    messages = None if chat is None else _messages(chat)
    arrays = None if inputs is None else read_named_arrays(inputs)
    is_text = format_name == "text"
    with errors_as_messages():
        from ir_exec.text.generation.generating import load  # not needed for the help

        pipeline = load(folder, partial(compile_model, weight_mode=weight_mode, **engine))
        starts: list[str | list[int]] = [*prompts, *tokens]
        stream = _TextStream() if is_text and "detokenizer" in pipeline.folder.parts else None
        if messages is not None:
            starts = [pipeline.encode(pipeline.chat(messages), special_tokens=False)]
        keep_logits = logits_path is not None
        if len(starts) > 1:
            generations = pipeline.generate_batch(
                starts, ignore_eos=ignore_eos, seed=seed, keep_logits=keep_logits, **settings
            )
        else:
            generation = pipeline.generate(
                starts[0] if starts else [],
                ignore_eos=ignore_eos,
                seed=seed,
                inputs=arrays,
                audio=audio,
                language=language,
                task=task,
                keep_logits=keep_logits,
                on_text=stream.add if stream is not None else None,
                **settings,
            )
            generations = [generation]
    if logits_path is not None:
        write_arrays(logits_path, _logits(generations))
    if is_text:
        _show(generations, stream)
        return
    with errors_as_messages():
        records = [
            _record(generation, pipeline.offsets(start, generation.prompt_ids) if isinstance(start, str) else None)
            for generation, start in zip(generations, starts or [[]], strict=True)
        ]
    show_json(json.dumps(records[0] if len(records) == 1 else {"format": 1, "generations": records}, indent=1))


def _show(generations: Sequence[Generation], stream: _TextStream | None) -> None:
    """End the streamed text, or print the texts of a batch line by line; print times on stderr."""
    for generation in generations:
        if stream is None:
            write(", ".join(map(str, generation.ids)))
        else:
            if len(generations) > 1 and generation.text is not None:
                stream.add(generation.text)
            stream.end()
        times = f"first after {generation.first_seconds:.2f} s, {generation.tokens_per_second:.1f} tokens/s"
        echo(f"{len(generation.ids)} tokens, stopped by {generation.stopped_by}; {times}", to_stderr=True)


def _logits(generations: Sequence[Generation]) -> dict[str, Any]:
    """Return the arrays of --logits; in a batch, names end in the number of the prompt."""
    arrays = {}
    for number, generation in enumerate(generations):
        ending = f".{number}" if len(generations) > 1 else ""
        if generation.logits is not None:
            arrays[f"logits{ending}"] = generation.logits
        arrays[f"ids{ending}"] = np.array(generation.ids, np.int64)
    return arrays


class _TextStream:
    """Text on stdout as it is generated, with escapes as in all output; line ends and tabs are kept."""

    def __init__(self) -> None:
        self._printer = PrintableStream()

    def add(self, text: str) -> None:
        write(self._printer.add(text), nl=False)

    def end(self) -> None:
        """End the line."""
        write(self._printer.end())


def _messages(path: str) -> Sequence[dict[str, Any]]:
    messages = read_json(path, "the chat")
    if not isinstance(messages, list) or not all(
        isinstance(message, dict) and "role" in message for message in messages
    ):
        raise Unusable(f"{path} contains other JSON, expected a list of messages with role and content")
    return messages


def _record(generation: Generation, offsets: Offsets | None) -> dict[str, Any]:
    return {
        "format": 1,
        "prompt_ids": list(generation.prompt_ids),
        "prompt_offsets": offsets,
        "ids": list(generation.ids),
        "text": generation.text,
        "stopped_by": generation.stopped_by,
        "first_seconds": round(generation.first_seconds, 6),
        "tokens_per_second": round(generation.tokens_per_second, 3),
    }
