"""The first tokens of the decoder of a speech model: the language and the task.

Source: `WhisperForConditionalGeneration._retrieve_init_tokens` in transformers, without timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.text.folders.folder import Folder
from ir_exec.types import Array

__all__ = ["start_tokens"]


def start_tokens(
    folder: Folder, first: int, logits: Callable[[Sequence[int]], Array], language: str | None, task: str | None
) -> list[int]:
    """Return the tokens before the text.

    Args:
        first: The decoder's start token.
        logits: Computes the logits after tokens, to detect the language if it is None.
        language: `en` or `<|en|>`.
        task: `transcribe` or `translate`.

    Raises:
        EvaluationError: IR704 for languages and tasks that the model does not support.
    """
    languages = _table(folder, "lang_to_id")
    tasks = _table(folder, "task_to_id")
    language = language or _text(_value(folder, "language"))
    task = task or _text(_value(folder, "task"))
    tokens: list[int | None] = [first]
    if language is None and task is None:
        tokens += _forced_tokens(folder)
    spoken = None
    if language is not None:
        spoken = _lookup(languages, f"<|{language.strip('<|>').lower()}|>", "language")
    elif languages and (len(tokens) == 1 or tokens[1] is None):
        allowed = np.array(sorted(languages.values()))
        spoken = int(allowed[np.argmax(logits([first])[allowed])])
    if spoken is not None:
        tokens[1:2] = [spoken]
    if task is not None:
        tokens.append(_lookup(tasks, task, "task"))
    elif language is not None and "transcribe" in tasks:
        tokens.append(tasks["transcribe"])
    plain = _value(folder, "no_timestamps_token_id")
    if isinstance(plain, int) and tokens[-1] != plain:
        tokens.append(plain)
    return [token for token in tokens if token is not None]


def _value(folder: Folder, name: str) -> Any:
    return folder.setting("generation_config.json", name)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _table(folder: Folder, name: str) -> dict[str, int]:
    table = _value(folder, name)
    pairs = table.items() if isinstance(table, Mapping) else ()
    return {str(key): value for key, value in pairs if isinstance(value, int)}


def _lookup(table: Mapping[str, int], name: str, role: str) -> int:
    if name not in table:
        names = ", ".join(sorted(table)[:100]) or "none"
        raise EvaluationError(f"the {role} is", actual=name, expected=f"one of: {names}", code=Code.bad_value)
    return table[name]


def _forced_tokens(folder: Folder) -> list[int | None]:
    """The tokens that older files force at the positions 1, 2, ... of the decoder."""
    rows = _value(folder, "forced_decoder_ids") or folder.setting("config.json", "forced_decoder_ids")
    tokens: list[int | None] = []
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, list) or len(row) != 2 or row[0] != len(tokens) + 1:
            break
        tokens.append(row[1] if isinstance(row[1], int) else None)
    return tokens
