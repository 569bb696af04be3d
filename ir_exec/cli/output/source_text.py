"""The line of Python that a layer was exported from: a record, and its text."""

from __future__ import annotations

from ir_exec.ir.sources import CodeLocation
from ir_exec.printable import printable
from ir_exec.report.records import Record
from ir_exec.report.text import align_entries

__all__ = ["SourceFacts", "describe_source"]


class SourceFrame(Record):
    """A frame of the stack trace.

    Attributes:
        code: The text of the line.
    """

    file: str
    line: int
    function: str
    code: str


class SourceFacts(Record):
    """The line of Python that a layer was exported from; unknown parts are null.

    Attributes:
        module: The path of the module, empty for the exported module itself.
        module_class: The class of this module.
        code: The text of the line.
        trace: All frames, the outermost first.
        is_inferred: true if the file contains no source of the layer, but of layers connected with it.
    """

    file: str | None
    line: int | None
    function: str | None
    module: str | None
    module_class: str | None = None
    code: str | None = None
    trace: tuple[SourceFrame, ...] = ()
    is_inferred: bool = False

    @classmethod
    def of(cls, source: CodeLocation, *, is_inferred: bool = False) -> SourceFacts:
        return cls(
            is_inferred=is_inferred,
            file=source.file,
            line=source.line,
            function=source.function,
            module=source.module,
            module_class=source.module_class,
            code=source.code,
            trace=tuple(
                SourceFrame(file=frame.file, line=frame.line, function=frame.function, code=frame.code)
                for frame in source.trace
            ),
        )


def describe_source(source: CodeLocation | SourceFacts) -> str:
    """Return the module, and the line of the model's code with its text."""
    module = source.module or ("(the exported module)" if source.module is not None else "")
    if source.module and source.module_class:
        module += f" ({source.module_class})"
    line = "" if source.file is None else f"{source.file}:{source.line} in {source.function}"
    entries = {"module": module, "source": line, "code": source.code or ""}
    return align_entries({name: printable(text) for name, text in entries.items() if text})
