"""Chat templates, rendered by jinja2 in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, Location
from ir_exec.text.folder import Folder
from ir_exec.text.libraries import library
from ir_exec.text.pipeline_rules import templates_of

__all__ = ["render_chat"]


def render_chat(folder: Folder, messages: Sequence[Mapping[str, Any]]) -> str:
    """Render messages with the chat template, followed by the assistant's prompt.

    Raises:
        GraphError: IR807 for a folder without a template.
        EvaluationError: IR704 if the template fails.
    """
    found = list(templates_of(folder))
    if not found:
        message = f"{folder.path} has no chat template"
        raise GraphError(message, code=Code.chat_template).located(Location(path=folder.path))
    library("jinja2", "a chat template")
    sandbox = library("jinja2.sandbox", "a chat template")
    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _raise
    values = {f"{kind}_token": _special(folder, kind) for kind in ("bos", "eos", "pad", "unk")}
    try:
        template = environment.from_string(found[-1][2])
        return str(template.render(messages=list(messages), add_generation_prompt=True, **values))
    except Exception as error:  # a template is a program that can raise any exception
        message = f"the chat template of {found[-1][0]} fails: {error or type(error).__name__}"
        raise EvaluationError(message, code=Code.bad_value).located(found[-1][1]) from None


def _special(folder: Folder, kind: str) -> str:
    found = folder.setting("tokenizer_config.json", f"{kind}_token")
    return str(found.get("content") if isinstance(found, Mapping) else found or "")


def _raise(message: str) -> None:
    raise ValueError(message)
