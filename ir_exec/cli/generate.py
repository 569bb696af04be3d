"""`ir-exec generate`: text from a folder that holds a language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ir_exec.cli.arrays import write_arrays
from ir_exec.cli.engine import engine_options
from ir_exec.cli.files import read_text
from ir_exec.cli.folder import tokens_of
from ir_exec.cli.terminal import Unusable, echo, errors_as_messages, show_json
from ir_exec.runtime import compile_model

if TYPE_CHECKING:
    from ir_exec.text.generation import Generation

__all__ = ["command"]


@click.command("generate")
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.option("--prompt", metavar="TEXT", help="The text to go on.")
@click.option("--chat", metavar="FILE.json", type=click.Path(), help="Messages for the chat template.")
@click.option("--ids", metavar="1,2,3", help="Tokens instead of text.")
@click.option("--inputs", metavar="FILE.npz", type=click.Path(), help="Arrays that the networks need besides tokens.")
@click.option("--max-new-tokens", type=click.IntRange(min=0), default=100, show_default=True, help="At most so many.")
@click.option("--ignore-eos", is_flag=True, help="Do not stop at the end token.")
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, help="Draw tokens.  [default: the likeliest]")
@click.option("--top-k", type=click.IntRange(min=0), default=0, help="Draw among so many tokens.")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Draw among tokens of this sum.")
@click.option("--seed", type=int, default=0, help="Of the draws.")
@click.option("--logits", "logits_path", metavar="OUT.npz", type=click.Path(), help="Write the logits.")
@click.option(
    "--format", "format_name", type=click.Choice(["text", "json"]), default="text", help="json: with tokens and times."
)
@engine_options
def command(
    folder: str,
    prompt: str | None,
    chat: str | None,
    ids: str | None,
    inputs: str | None,
    max_new_tokens: int,
    ignore_eos: bool,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
    logits_path: str | None,
    format_name: str,
    engine: dict[str, Any],
) -> None:
    """Generate text by the networks of a folder, as a reference.

    It is exact, and the same every time: the most likely token is taken, unless a temperature is given. Text comes as
    it is generated. Without --engine it is slow.

    Exit code: 0 when it was generated, 1 where a network fails, 2 for arguments that cannot be used.
    """
    if sum(one is not None for one in (prompt, chat, ids)) != 1:
        raise Unusable("give one of --prompt, --chat and --ids")
    is_text = format_name == "text"
    with errors_as_messages():
        from ir_exec.text.generation import load  # other commands do without it

        pipeline = load(folder, partial(compile_model, **engine))
        start: str | list[int] = prompt or ""
        if ids is not None:
            start = tokens_of(ids)
        elif chat is not None:
            start = pipeline.encode(pipeline.chat(_messages(chat)), special_tokens=False)
        has_text = "detokenizer" in pipeline.folder.parts
        generation = pipeline.generate(
            start,
            max_new_tokens=max_new_tokens,
            ignore_eos=ignore_eos,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            inputs=None if inputs is None else dict(np.load(inputs, allow_pickle=False)),
            keep_logits=logits_path is not None,
            on_text=_tell if is_text and has_text else None,
        )
    if logits_path is not None and generation.logits is not None:
        write_arrays(logits_path, {"logits": generation.logits, "ids": np.array(generation.ids)})
    if not is_text:
        show_json(json.dumps(_record(generation), indent=1))
        return
    click.echo("" if has_text else ", ".join(map(str, generation.ids)))
    times = f"first after {generation.first_seconds:.2f} s, {generation.tokens_per_second:.1f} tokens a second"
    echo(f"{len(generation.ids)} tokens, {generation.stopped_by}; {times}", to_stderr=True)


def _tell(text: str) -> None:
    click.echo(text, nl=False)


def _messages(path: str) -> Sequence[dict[str, Any]]:
    try:
        messages = json.loads(read_text(path, "the chat"))
    except ValueError as error:
        raise Unusable(f"{path} is no JSON: {error}") from None
    if not isinstance(messages, list) or not all(isinstance(one, dict) and "role" in one for one in messages):
        raise Unusable(f"{path} holds no list of messages with role and content")
    return messages


def _record(generation: Generation) -> dict[str, Any]:
    return {
        "format": 1,
        "prompt_ids": list(generation.prompt_ids),
        "ids": list(generation.ids),
        "text": generation.text,
        "stopped_by": generation.stopped_by,
        "first_seconds": round(generation.first_seconds, 6),
        "tokens_per_second": round(generation.tokens_per_second, 3),
    }
