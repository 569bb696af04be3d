"""Model folders (model, tokenizers, settings) as text and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

from ir_exec.cli.files import write_text
from ir_exec.cli.output.terminal import (
    UNUSABLE,
    Unusable,
    echo,
    errors_as_messages,
    print_report,
    show,
    show_json,
    style_text,
)
from ir_exec.printable import printable
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table
from ir_exec.report.text import align_entries

if TYPE_CHECKING:
    from ir_exec.text.folders.describing import FolderFacts
    from ir_exec.text.generation.comparing import TokenComparison
    from ir_exec.text.generation.generating import Pipeline

__all__ = ["TokenOptions", "compare_folder", "show_folder", "tokens_of"]


def tokens_of(text: str, option: str = "--ids") -> list[int]:
    """Parse tokens, `1,2,3`."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise Unusable(f"{option} is {text!r}, expected a list of tokens such as 1,2,3") from None


@dataclass(frozen=True, slots=True)
class TokenOptions:
    """The options of `compare` for a folder: the prompt as text or tokens, the number of new tokens, the runtime."""

    prompt: str | None
    ids: str | None
    count: int
    device: str
    source: str | None
    timeout: float


def compare_folder(
    path: str, reference: str | None, options: TokenOptions, output_format: str, output: str | None
) -> NoReturn:
    """Compare the tokens of a folder with those of a reference, and exit with 0 if they are equal, else 1."""
    if reference is None:
        raise Unusable("expected --with openvino, genai, transformers, FOLDER or FILE.json")
    if output_format not in ("text", "json"):
        raise Unusable(f"--format is {output_format}, expected text or json for a folder")
    is_stored = reference.lower().endswith(".json")
    if options.prompt is not None and options.ids is not None:
        raise Unusable("--prompt and --ids are both given, expected one of them")
    if options.prompt is None and options.ids is None and not is_stored:
        raise Unusable("expected --prompt TEXT or --ids 1,2,3")
    with errors_as_messages(exit_code=UNUSABLE):
        from ir_exec.text.generation.comparing import compare_tokens  # imported for folders only
        from ir_exec.text.generation.generating import load

        pipeline = load(path)
        comparison = compare_tokens(
            pipeline,
            reference,
            options.prompt if options.prompt is not None else tokens_of(options.ids) if options.ids else [],
            count=options.count,
            device=options.device,
            source=options.source,
            timeout=options.timeout,
        )
        lines = _describe(comparison, pipeline)
        text = to_json(comparison, indent=2) if output_format == "json" else lines
    if output is not None:
        write_text(text + "\n", output)
        echo(lines.split("\n", 1)[0])
    else:
        print_report(text)
    raise click.exceptions.Exit(0 if comparison.equal else 1)


def _describe(comparison: TokenComparison, pipeline: Pipeline) -> str:
    """Return the verdict, the first token that differs, and the explanation."""
    if comparison.first is None:
        verdict = style_text(
            "message", f"equal: all {len(comparison.ours)} tokens of {printable(comparison.reference)}"
        )
        return "\n".join([verdict, *(f"  note: {note}" for note in comparison.notes)])
    first = comparison.first
    lines = [f"different from {comparison.reference} at token {first.position + 1} of {len(comparison.theirs)}"]
    if first.is_tie:
        lines = [f"equal up to a tie at token {first.position + 1} of {len(comparison.theirs)}"]
    has_text = "detokenizer" in pipeline.folder.parts
    for name, token in (("ours", first.ours), ("theirs", first.theirs)):
        lines.append(f"  {name:6}   {token}" + (f"   {printable(pipeline.decode([token]))!r}" if has_text else ""))
    lines.append(f"  our logit is {first.margin:.3g} above that of their token, {first.gap:.3g} above the second best")
    if first.their_margin is not None:
        lines.append(f"  their logit of their token is {first.their_margin:.3g} above that of ours")
    lines += [f"  note: {note}" for note in comparison.notes]
    for trial in comparison.trials:
        result = trial.error or ("equal" if trial.position is None else f"different at token {trial.position + 1}")
        lines.append(f"  {trial.name}: {printable(result)}")
    if comparison.explanation is not None:
        lines.append(f"explained by: {comparison.explanation}")
    elif comparison.layer is not None and comparison.layer_note is not None:
        lines.append(f"explained by: layer {printable(comparison.layer)} ({printable(comparison.layer_note)})")
    elif comparison.layer is not None:
        lines.append(
            f"no setting explains it; first layer with a different result in OpenVINO: {printable(comparison.layer)}"
        )
    elif not first.is_tie and comparison.trials:
        lines.append("no setting explains it: compare the models, `ir-exec compare openvino_model.xml --with openvino`")
    return "\n".join(lines)


def show_folder(path: str, *, is_json: bool) -> None:
    """Show a summary of a model folder.

    Raises:
        Unusable: For other folders.
    """
    from ir_exec.text.folders.describing import facts_of_folder  # imported for folders only
    from ir_exec.text.folders.folder import open_folder

    folder = open_folder(path)
    if folder is None:
        raise Unusable(f"{path} is not a model folder, expected openvino_model.xml and config.json in it")
    facts = facts_of_folder(folder)
    if is_json:
        show_json(to_json(facts, indent=2))
    else:
        show(_heading(facts), _parts(facts), *_weights(facts), *_differences(facts))


def _heading(facts: FolderFacts) -> str:
    cache = None if facts.cache_bytes is None else f"{facts.cache_bytes:,} bytes per token"
    words = None if facts.tokens is None else f"{facts.tokens:,} tokens, {facts.tokenizer}"
    rows = {
        "model": facts.model_type,
        "context": None if facts.context_length is None else f"{facts.context_length:,} tokens",
        "cache": cache,
        "tokenizer": words or facts.tokenizer,
        "embedding": None if facts.rows is None else f"{facts.rows:,} rows",
        "chat template": facts.templates[-1] if facts.templates else None,
        **{f"weights of the {name}": text for name, text in facts.declared_formats.items()},
    }
    shown = align_entries({name: printable(text) for name, text in rows.items() if text is not None})
    return f"{printable(facts.path)}: {facts.kind}\n\n{shown}"


def _parts(facts: FolderFacts) -> Table:
    shown = table("Parts", part="left", file="left", layers="right", bytes="right", written_by="left")
    for part in facts.parts:
        by = printable(part.written_by or "") if part.readable else "cannot be read"
        shown.add_row(part.name, part.file, f"{part.layers:,}", f"{part.bytes:,}", by)
    return shown


def _weights(facts: FolderFacts) -> list[Table]:
    if not facts.weights:
        return []
    shown = table(
        "Weights", part="left", format="left", group_size="right", symmetric="right", elements="right", share="right"
    )
    for row in facts.weights:
        group = "channel" if row.group_size is None and row.symmetric is not None else str(row.group_size or "-")
        symmetric = "-" if row.symmetric is None else "yes" if row.symmetric else "no"
        shown.add_row(row.part, row.format, group, symmetric, f"{row.elements:,}", f"{row.share:.1%}")
    return [shown]


def _differences(facts: FolderFacts) -> list[str]:
    """Return the differences between rt_info and the graph, one per line."""
    lines = [f"{part}: {printable(text)}" for part, texts in facts.differences.items() for text in texts]
    return ["\n".join(["rt_info of NNCF differs from the graph", *[f"  {line}" for line in lines]])] if lines else []
