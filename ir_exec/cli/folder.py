"""Folders whose files are one model, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.check import printable
from ir_exec.cli.terminal import Table, Unusable, show, show_json, table

if TYPE_CHECKING:
    from ir_exec.text.describing import FolderFacts

__all__ = ["show_folder"]


def show_folder(path: str, *, is_json: bool) -> None:
    """Show what a folder is; Unusable for a folder that holds no pipeline."""
    from ir_exec.text.describing import facts_of_folder  # networks alone do without it
    from ir_exec.text.folder import open_folder

    folder = open_folder(path)
    if folder is None:
        raise Unusable(f"{path} is a folder without the files of a pipeline (openvino_model.xml and config.json)")
    facts = facts_of_folder(folder)
    if is_json:
        show_json(facts.model_dump_json(indent=2))
    else:
        show(_heading(facts), _parts(facts), *_weights(facts))


def _heading(facts: FolderFacts) -> str:
    cache = None if facts.cache_bytes is None else f"{facts.cache_bytes:,} bytes a token"
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
    width = max(map(len, rows))
    lines = [f"{name:{width}}   {printable(text)}" for name, text in rows.items() if text is not None]
    return "\n".join([f"{printable(facts.path)}: {facts.kind}", "", *lines])


def _parts(facts: FolderFacts) -> Table:
    shown = table("Parts", part="left", file="left", layers="right", bytes="right", written_by="left")
    for part in facts.parts:
        by = printable(part.written_by or "") if part.readable else "cannot be read"
        shown.add_row(part.name, printable(part.file), f"{part.layers:,}", f"{part.bytes:,}", by)
    return shown


def _weights(facts: FolderFacts) -> list[Table]:
    if not facts.weights:
        return []
    shown = table("Weights", part="left", format="left", group_size="right", elements="right", share="right")
    for row in facts.weights:
        group = "-" if row.group_size is None else str(row.group_size)
        shown.add_row(row.part, row.format, group, f"{row.elements:,}", f"{row.share:.1%}")
    return [shown]
