"""The line of Python of a layer as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.printable import printable
from ir_exec.report.text import align_entries

if TYPE_CHECKING:
    from ir_exec.cli.output.model_facts import SourceFacts
    from ir_exec.ir.sources import CodeLocation

__all__ = ["describe_source"]


def describe_source(source: CodeLocation | SourceFacts) -> str:
    """Return the module, and the line of the model's code with its text."""
    module = source.module or ("(the exported module)" if source.module is not None else "")
    if source.module and source.module_class:
        module += f" ({source.module_class})"
    line = "" if source.file is None else f"{source.file}:{source.line} in {source.function}"
    entries = {"module": module, "source": line, "code": source.code or ""}
    return align_entries({name: printable(text) for name, text in entries.items() if text})
