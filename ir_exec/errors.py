"""The errors of ir_exec, in one flat tree.

IRError
 ├── ParseError             the file is not IR, or not well-formed
 ├── GraphError             layers, ports and edges do not form a graph
 ├── WeightsError           the .bin is missing, short, or does not fit a constant
 ├── InvalidAttributeError  an attribute is missing, unreadable or out of range
 ├── ElementTypeError       an operator does not accept this element type
 ├── ShapeError             shapes contradict an operator's rule
 ├── EvaluationError        a value is wrong: an index out of range, an input array of the wrong type
 ├── UnsupportedError       an operator, opset or element type that ir_exec does not support
 └── ResourceError          a size exceeds a limit or the memory budget

The content of an error is an immutable `Fault`. An operator raises an error with only the name of the faulty input
(`port`); its caller raises `error.located(...)`, with layer, file and line. The code of each error names the rule that
was broken (`ir_exec.codes`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

from ir_exec.codes import Code
from ir_exec.printable import printable

__all__ = [
    "Citation",
    "ElementTypeError",
    "EvaluationError",
    "Fault",
    "GraphError",
    "IRError",
    "InvalidAttributeError",
    "Location",
    "NoSuchKeyError",
    "NotKnownError",
    "ParseError",
    "ReferenceTypeError",
    "ReportFault",
    "ResourceError",
    "Severity",
    "ShapeError",
    "SourceLine",
    "SourceTypeError",
    "UnsupportedError",
    "WeightsError",
    "array_limit_error",
    "internal_error",
    "raise_error",
]

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The line of Python that a layer was exported from; unknown parts are None.

    Attributes:
        file: The path on the machine of the export.
        module: The path of the called module, empty for the exported module itself.
        code: The text of the line at the time of the export.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None
    module: str | None = None
    code: str | None = None

    @property
    def file_and_line(self) -> str:
        """The name of the file and the line, `net.py:11`; "" if they are unknown."""
        name = re.split(r"[/\\]", self.file or "")[-1]
        return f"{name}:{self.line}" if name else ""

    def __str__(self) -> str:
        """Return `blocks.0.norm, net.py:11 in forward`, without unknown parts."""
        line = f"{self.file_and_line} in {self.function}" if self.file is not None else ""
        return ", ".join(filter(None, (self.module, line)))

    def describe(self, layer_name: str | None) -> str:
        """Return the text that follows the name of the layer in messages; "" if the name contains all of it."""
        is_named = self.file is None and (not self.module or self.module in (layer_name or ""))
        return "" if is_named else str(self)


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; unknown parts are None.

    Attributes:
        line: Counts from 1.
        layer_id: As text, because ids in broken files may not be numbers.
        port: The name of an input or output of the layer (`indices`, `output`), or its id if it has no name.
        kind: "layer" if `layer_id`, `layer_name` and `layer_type` describe a layer of IR; "node" if they are the
            position, name and type of a node of an ONNX graph.
        source: The line of Python that the layer was exported from; equal locations may differ in it.
    """

    path: str | None = None
    line: int | None = None
    layer_id: str | None = None
    layer_name: str | None = None
    layer_type: str | None = None
    port: str | None = None
    kind: Literal["layer", "node"] = "layer"
    source: SourceLine | None = field(default=None, compare=False)

    def filled_from(self, other: Location) -> Location:
        """Return this location, with unknown parts filled in from the other one."""
        return Location(
            path=self.path if self.path is not None else other.path,
            line=self.line if self.line is not None else other.line,
            layer_id=self.layer_id if self.layer_id is not None else other.layer_id,
            layer_name=self.layer_name if self.layer_name is not None else other.layer_name,
            layer_type=self.layer_type if self.layer_type is not None else other.layer_type,
            port=self.port if self.port is not None else other.port,
            kind=self.kind if self.layer_id is not None else other.kind,
            source=self.source if self.source is not None else other.source,
        )

    def __str__(self) -> str:
        """Return `model.xml:42: layer 7 "gather" (GatherElements), port indices`, without unknown parts."""
        where = self.path or ""
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        layer = ""
        if self.layer_id is not None or self.layer_type is not None:
            # A layer of a model under construction has no id yet.
            layer = f"{self.kind} {self.layer_id}" if self.layer_id is not None else self.kind
            layer += f' "{self.layer_name}"' if self.layer_name is not None else ""
            layer += f" ({self.layer_type})" if self.layer_type is not None else ""
        port = f"port {self.port}" if self.port is not None else ""
        source = self.source.describe(self.layer_name) if self.source is not None else ""
        what = ", ".join(part for part in (layer, port, source) if part)
        return printable(": ".join(part for part in (where, what) if part))


@dataclass(frozen=True, slots=True)
class Citation:
    """A public document: its title, the release of the software that it describes, and its URL."""

    title: str
    release: str
    url: str

    def __str__(self) -> str:
        return f"{self.title} ({self.release}), {self.url}"


@dataclass(frozen=True, slots=True)
class Fault:
    """The content of an error.

    Attributes:
        message: What is wrong, without the location.
        code: The rule that was broken.
        hint: A likely fix.
        related: Further locations that explain the fault, in reading order.
        source: The document that states a limit of other software.
        actual: The faulty value, as the message states it; None if the fault is not a value.
        expected: The allowed values, as the message states them; None if the message states none.
    """

    message: str
    code: str
    hint: str | None = None
    severity: Severity = "error"
    location: Location = Location()
    related: tuple[Location, ...] = ()
    source: Citation | None = None
    actual: str | None = None
    expected: str | None = None


class IRError(Exception):
    """The base class of all errors of ir_exec; `str(error)` is location, message and hint, as printable text.

    The message is composed of its parts: `ShapeError("pads has", actual=3, detail="elements", expected=4,
    reason="two for each axis")` has the message "pads has 3 elements, expected 4, two for each axis".

    Errors are immutable: `located` and `changed` return a new error of the same class.

    Args:
        message: What is wrong; with `actual`, the text before it.
        actual: The faulty value.
        detail: The text after the actual value, such as its unit.
        expected: The allowed values.
        reason: The text after the expected values, such as their origin. It follows a comma, unless it begins with
            other punctuation or a space.
    """

    default_code: ClassVar[str] = Code.unspecified

    def __init__(
        self,
        message: str,
        *,
        actual: object = None,
        detail: str | None = None,
        expected: object = None,
        reason: str | None = None,
        code: str | None = None,
        port: str | None = None,
        hint: str | None = None,
        severity: Severity = "error",
        location: Location | None = None,
        related: tuple[Location, ...] = (),
    ) -> None:
        actual = None if actual is None else str(actual)
        expected = None if expected is None else str(expected)
        if actual is not None:
            message = f"{message} {actual} {detail}" if detail else f"{message} {actual}"
        if expected is not None:
            message = f"{message}, expected {expected}"
            if reason:
                message += f", {reason}" if reason[0].isalnum() else reason
        super().__init__(message)
        complete_location = location or Location()
        if port is not None:
            complete_location = replace(complete_location, port=port)
        self._fault = Fault(
            message,
            code or self.default_code,
            hint,
            severity,
            complete_location,
            related,
            actual=actual,
            expected=expected,
        )

    @classmethod
    def of(cls, fault: Fault) -> Self:
        """Return an error of this class with this content."""
        error = cls.__new__(cls, fault.message)
        error._fault = fault
        return error

    @property
    def fault(self) -> Fault:
        """The content of the error as a value."""
        return self._fault

    @property
    def message(self) -> str:
        """The description of the fault, without its location."""
        return self._fault.message

    @property
    def actual(self) -> str | None:
        """The faulty value, as the message states it; None if the fault is not a value."""
        return self._fault.actual

    @property
    def expected(self) -> str | None:
        """The allowed values, as the message states them; None if the message states none."""
        return self._fault.expected

    @property
    def code(self) -> str:
        """The code of the rule, such as `IR601`; `ir-exec explain` describes it."""
        return self._fault.code

    @property
    def hint(self) -> str | None:
        """A likely fix, or None."""
        return self._fault.hint

    @property
    def severity(self) -> Severity:
        """The severity: "error", "warning" or "info"."""
        return self._fault.severity

    @property
    def location(self) -> Location:
        """The location of the fault: path, line, layer and port, as far as they are known."""
        return self._fault.location

    @property
    def related(self) -> tuple[Location, ...]:
        """Other locations that are related to the fault."""
        return self._fault.related

    def changed(self, **parts: Any) -> Self:
        """Return a new error with these parts of the fault replaced, and the same traceback, cause, context and notes.

        A new message contains the values in `actual` and `expected`, or these are replaced as well.

        To replace a caught error: `raise error.changed(...) from error.__cause__`.
        """
        other = type(self).__new__(type(self), *self.args)
        vars(other).update(vars(self), _fault=replace(self._fault, **parts))
        if hasattr(self, "__notes__"):
            other.__notes__ = list(self.__notes__)
        other.__cause__ = self.__cause__
        other.__context__ = self.__context__
        other.__suppress_context__ = self.__suppress_context__
        other.__traceback__ = self.__traceback__
        return other

    def located(self, location: Location) -> Self:
        """Return a new error with unknown parts of its location filled in from this one."""
        return self.changed(location=self.location.filled_from(location))

    def __str__(self) -> str:
        where = str(self.location)
        message = printable(self.message)
        hint = f"\nhint: {printable(self.hint)}" if self.hint else ""
        return f"{where}: {message}{hint}" if where else f"{message}{hint}"


class ParseError(IRError):
    """Raised for a file that is not IR, or not well-formed."""

    default_code = Code.not_well_formed


class SourceTypeError(ParseError, TypeError):
    """Raised if an object is not a model; a TypeError as well."""

    default_code = Code.unreadable_path


class GraphError(IRError):
    """Raised if layers, ports and edges do not form a graph."""

    default_code = Code.graph


class WeightsError(IRError):
    """Raised if the weights are missing, short, or do not fit a constant."""

    default_code = Code.weights


class InvalidAttributeError(IRError):
    """Raised for an attribute that is missing, unreadable, or out of range."""

    default_code = Code.invalid_attribute


class ElementTypeError(IRError):
    """Raised if an operator does not accept an element type."""

    default_code = Code.element_type_not_taken


class ShapeError(IRError):
    """Raised if shapes contradict an operator's rule."""

    default_code = Code.impossible_shape


class EvaluationError(IRError):
    """Raised for a wrong value: an index out of range, an input array that does not fit the model."""

    default_code = Code.bad_value


class NoSuchKeyError(EvaluationError, KeyError):
    """Raised if a mapping has no such key; a KeyError as well, as for Python's own mappings."""

    default_code = Code.unknown_input


class ReferenceTypeError(EvaluationError, TypeError):
    """Raised if an object is not a reference of a comparison; a TypeError as well."""

    default_code = Code.unknown_input


class UnsupportedError(IRError):
    """Raised for an operator, opset or element type that ir_exec does not support."""

    default_code = Code.unsupported


class NotKnownError(UnsupportedError):
    """Raised if conversion needs a value, rank or size that only the inputs of a run may determine."""


class ResourceError(IRError):
    """Raised if a size exceeds a limit or the memory budget."""

    default_code = Code.limit_exceeded


_ARRAY_LIMITS = re.compile(
    "array is too big|Maximum allowed (size|dimension) exceeded|maximum supported dimension|iterator is too large"
    "|number of dimensions must be within|ndmin must be|dimensions are too large|too (large|big) to convert"
    "|out of bounds for u?int|cannot fit 'int'"
)
"""Parts of the messages of NumPy and Python for arrays and numbers beyond their limits."""


def array_limit_error(error: BaseException) -> ResourceError | None:
    """Return the error for an exception about a limit of NumPy or the memory; None for all others.

    Sizes in files may exceed what an array can have: 64 axes, 2**63 - 1 bytes, elements of 64 bits.
    """
    if isinstance(error, MemoryError):
        return ResourceError(f"out of memory: {error}" if str(error) else "out of memory")
    if isinstance(error, (ValueError, IndexError, OverflowError)) and _ARRAY_LIMITS.search(str(error)):
        return ResourceError(f"a tensor or a number is beyond the limits of NumPy's arrays: {str(error)[:200]}")
    return None


def internal_error(error: Exception) -> IRError:
    """Return the error for an exception that is caused by a fault of ir_exec itself, or by a limit of NumPy."""
    limit = array_limit_error(error)
    if limit is not None:
        return limit
    message = f"ir_exec failed with {type(error).__name__}: {str(error)[:500]}"
    return IRError(message, code=Code.internal_error, hint="report this fault of ir_exec, with the file")


ReportFault: TypeAlias = Callable[[IRError], None]
"""The function to call with a fault: `list.append` collects faults, `raise_error` stops at the first error."""


def raise_error(error: IRError) -> None:
    """Raise an error, and ignore warnings and infos; a `ReportFault` that stops at the first error."""
    if error.severity == "error":
        raise error


def __getattr__(name: str) -> object:
    if name != "Report":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("ir_exec.errors.Report is called ReportFault now", DeprecationWarning, stacklevel=2)
    return ReportFault
