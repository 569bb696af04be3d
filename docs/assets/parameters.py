"""Convert docstrings for the reference: a line `name: text` becomes an item of a list of parameters.

Functions of `ir_exec.build` get the complete description of their operator, as in `help`.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

from ir_exec.build.functions import function_names
from ir_exec.build.operators import operator_class
from ir_exec.ops.base.operator import description_of

_TERM = re.compile(r"([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*): (?=\S)")
_ENDS_A_LIST = ("Raises ", "Returns ", "Without ")


class Parameters(Extension):
    """The extension of griffe that `mkdocs.yml` names."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_lists(_of_operator(obj.path) or obj.docstring.value)


def _of_operator(path: str) -> str | None:
    """Return the description of an operator by the path of its function."""
    module, _, name = path.rpartition(".")
    type_name = function_names().get(name) if module == "ir_exec.build" else None
    return None if type_name is None else description_of(operator_class(type_name))


def with_lists(text: str) -> str:
    """Return a docstring as Markdown."""
    lines: list[str] = []
    is_code = is_item = False
    for line in text.split("\n"):
        is_code ^= line.startswith("```")
        if not is_code and (term := _TERM.match(line)):
            lines += [] if is_item or not lines or not lines[-1] else [""]
            lines.append(f"- **{term[1]}**: {line[term.end() :]}")
            is_item = True
        elif is_item and line and not line.startswith(_ENDS_A_LIST):
            lines.append(f"    {line.strip()}")
        else:
            lines += [""] if is_item and line else []
            lines.append(line)
            is_item = False
    return "\n".join(lines)
