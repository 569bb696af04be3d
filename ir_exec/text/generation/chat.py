"""Chat templates, rendered by jinja2 in a sandbox, in a process with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.child import Child, ChildCrashed, ChildRefused
from ir_exec.errors import EvaluationError, GraphError, Location, ResourceError
from ir_exec.text.folders.folder import Folder
from ir_exec.text.folders.pipeline_rules import MOST_TEMPLATE, templates_of
from ir_exec.text.libraries import library

__all__ = ["render_chat"]

RENDER_SECONDS = 10.0
"""Seconds for a template, including the start of its process."""

MOST_CHARACTERS = 2**24
"""Maximum characters of a rendered chat: far more than any model reads."""

RENDER_MEMORY = 2**30
"""Maximum bytes of the process, where the system can limit it."""


def render_chat(folder: Folder, messages: Sequence[Mapping[str, Any]]) -> str:
    """Render messages with the chat template, followed by the assistant's prompt.

    Raises:
        GraphError: IR807 for a folder without a template.
        EvaluationError: IR704 if the template fails, or for messages that are not like JSON.
        ResourceError: IR006 if the template takes more time, memory or characters than permitted.
    """
    templates = list(templates_of(folder))
    if not templates:
        message = f"{folder.path} has no chat template"
        raise GraphError(message, code=Code.chat_template).located(Location(path=folder.path))
    name, location, template = templates[-1]
    library("jinja2.sandbox", "a chat template")
    if len(template) > MOST_TEMPLATE:
        raise ResourceError(
            f"the chat template of {name} has",
            actual=f"{len(template):,}",
            detail="characters",
            expected=f"at most {MOST_TEMPLATE:,}",
        ).located(location)
    special: dict[str, Any] = {
        f"{token_name}_token": _special(folder, token_name) for token_name in ("bos", "eos", "pad", "unk")
    }
    values = {"messages": _plain(messages), "add_generation_prompt": True, **special}
    answer = _render(template, values, name, location)
    if "exceeded" in answer:
        raise ResourceError(f"the chat template of {name} makes {answer['exceeded']}").located(location)
    return str(answer["text"])


def _render(template: str, values: dict[str, Any], name: str, location: Location) -> dict[str, Any]:
    limits = {"seconds": RENDER_SECONDS, "memory": RENDER_MEMORY, "characters": MOST_CHARACTERS}
    # An absolute path is used unchanged; the other scripts of the child are in another package.
    child = Child(str(Path(__file__).parent / "templates_child.py"), RENDER_SECONDS)
    try:
        return child.ask(template=template, values=values, **limits)
    except ChildRefused as error:
        message = f"the chat template of {name} fails: {error}"
        raise EvaluationError(message, code=Code.bad_value).located(location) from None
    except ChildCrashed as error:
        reason = f"takes longer than {RENDER_SECONDS:g} seconds" if error.is_late else f"fails: its process {error}"
        raise ResourceError(f"the chat template of {name} {reason}").located(location) from None
    finally:
        child.close()


_DEEPEST = 64
"""Maximum depth of messages."""


def _plain(value: Any, depth: int = _DEEPEST) -> Any:
    """Return a value as JSON can represent it: templates read messages as JSON has them.

    Raises:
        EvaluationError: IR704 for a value that is nested too deeply.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if not depth:
        raise EvaluationError("the messages have too many levels", expected=f"at most {_DEEPEST}", code=Code.bad_value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        return [_plain(item, depth - 1) for item in value]
    return str(value)


def _special(folder: Folder, token_name: str) -> str:
    token = folder.setting("tokenizer_config.json", f"{token_name}_token")
    return str(token.get("content") if isinstance(token, Mapping) else token or "")
