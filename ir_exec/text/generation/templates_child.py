"""Chat templates in a process with limits of memory and processor time, because a template is a program.

Started by `debug.references.child.Child`; other modules import its environment. It needs no other module of ir_exec.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["template_environment"]


def template_environment() -> Any:
    """Return jinja2's sandbox with the tags and the functions of transformers."""
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationTag(Extension):
        """The tag `{% generation %}`, which marks generated text for training and leaves it unchanged."""

        tags = {"generation"}  # noqa: RUF012  # the attribute of jinja2

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

        def _text(self, caller: Callable[[], str]) -> str:
            return caller()

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, "jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _raise
    return environment


def _raise(message: str) -> None:
    raise ValueError(message)


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # Nothing that a template prints may be mixed with the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        answers.write(json.dumps(_answer(json.loads(line))).encode() + b"\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    _limit(request["seconds"], request["memory"])
    most: int = request["characters"]
    pieces: list[str] = []
    size = 0
    try:
        for piece in template_environment().from_string(request["template"]).generate(request["values"]):
            size += len(piece)
            if size > most:
                return {"exceeded": f"more than {most:,} characters"}
            pieces.append(piece)
        return {"text": "".join(pieces)}
    except MemoryError:
        pieces.clear()
        return {"exceeded": f"more than {request['memory']:,} bytes of memory"}
    except Exception as error:  # a template is a program that can raise any exception
        return {"refused": str(error)[:2000] or type(error).__name__}


def _limit(seconds: float, memory: int) -> None:
    """Limit this process: it ends even if the process that started it does not exist any more."""
    try:
        import resource
    except ImportError:  # on Windows the other process limits the time
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime + seconds) + 2
    for name, value in (("RLIMIT_CPU", end), ("RLIMIT_AS", memory)):
        resource_number = getattr(resource, name, None)
        # macOS has no limit of the address space.
        with suppress(ValueError, OSError):
            if resource_number is not None:
                resource.setrlimit(resource_number, (value, resource.getrlimit(resource_number)[1]))


if __name__ == "__main__":
    main()
