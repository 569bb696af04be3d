"""The report of an account of weights, as data, rows and lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from ir_exec.printable import printable
from ir_exec.report.numbers import format_bytes, format_count, format_number, pluralize
from ir_exec.report.records import Number, Record, TableRecord
from ir_exec.report.text import join_counts, list_names

__all__ = ["AccountedTensor", "AccountedWeight", "FaultCategory", "TensorStatus", "WeightFault", "WeightsDiff"]

FaultCategory = Literal[
    "other checkpoint",
    "not finite",
    "zero",
    "constant",
    "swapped",
    "other tensor",
    "tied",
    "untied",
    "transposed",
    "permuted rows",
    "expert order",
    "sign",
    "scale",
    "stale",
    "other values",
    "rows",
    "columns",
    "values",
    "missing",
    "adapter",
    "adapter scale",
]
"""Categories of faults of weights and tensors, the most certain ones first."""

TensorStatus = Literal["used", "neutral", "unused", "no layer", "not compared"]
"""`neutral`: ones or zeros that an exporter leaves out; `no layer`: no part of the model has its name."""

_MOST_NAMES = 3


class AccountedWeight(Record):
    """A weight of the model.

    Attributes:
        path: The path of the constant.
        layer_ids: The layers of the weight, the constant first.
        readers: The layers that read it.
        format: The element type, or the name of the compressed format.
        bytes: The bytes of its constants.
        tensors: The tensors that it consists of; empty if it is like none.
        transformations: The changes of the tensors: transposed, reshaped, concatenated, plus one, ...
        different: The number of elements that differ by more than the formats allow.
        beyond_half: The number of elements of a quantized weight beyond half a step, within a step.
        clipped: The number of elements of a quantized weight beyond the last level.
        sqnr_db: The signal to noise ratio; None for equal numbers.
        is_computed: True for a constant of no tensor whose numbers follow a rule, such as sines of positions.
    """

    path: str
    layer_ids: tuple[str, ...]
    readers: tuple[str, ...] = ()
    shape: tuple[int, ...]
    format: str
    bytes: int
    tensors: tuple[str, ...] = ()
    transformations: tuple[str, ...] = ()
    different: int = 0
    beyond_half: int = 0
    clipped: int = 0
    sqnr_db: Number | None = None
    is_explained: bool = False
    is_computed: bool = False

    @property
    def how(self) -> str:
        """The transformations as words."""
        return ", ".join(self.transformations) or "as it is"


class AccountedTensor(Record):
    """A tensor of the checkpoint.

    Attributes:
        weights: The paths of the constants with its numbers.
        reason: Why it is not used.
    """

    name: str
    shape: tuple[int, ...]
    format: str
    bytes: int
    status: TensorStatus
    weights: tuple[str, ...] = ()
    reason: str | None = None


class WeightFault(Record):
    """A weight or a tensor that is wrong.

    Attributes:
        path: The path of the constant; None for a tensor that is not in the model, and for the checkpoint itself.
        layer_ids: The layers of the weight.
        layer: The layer that reads the weight, or whose name the tensor has.
        tensors: The tensors that the names state, or that are missing.
        actual_tensors: The tensors that the numbers are those of.
        bytes: The bytes of the weight, or of the missing tensors.
        different: The number of elements that differ.
        elements: The number of elements.
        message: The fault, with the expected values.
    """

    category: FaultCategory
    path: str | None = None
    layer_ids: tuple[str, ...] = ()
    layer: str | None = None
    tensors: tuple[str, ...] = ()
    actual_tensors: tuple[str, ...] = ()
    bytes: int = 0
    different: int = 0
    elements: int = 0
    message: str

    @property
    def line(self) -> str:
        """The fault in one line."""
        name = self.path if self.path is not None else ", ".join(self.tensors[:_MOST_NAMES])
        return printable(f"{name}: {self.message}" if name else self.message)


class WeightsDiff(TableRecord):
    """An account of the weights of a model and the tensors of a checkpoint.

    Attributes:
        format: The file format of the checkpoint.
        faults: The faults, the most important one first.
        weights: All weights of the model, and constants that exporters compute, in the order of the file.
        tensors: All tensors of the checkpoint.
        bytes: The bytes of all weights.
        explained_bytes: The bytes of weights that are tensors of the checkpoint.
    """

    model: str
    checkpoint: str
    format: str
    faults: tuple[WeightFault, ...] = ()
    weights: tuple[AccountedWeight, ...] = ()
    tensors: tuple[AccountedTensor, ...] = ()
    bytes: int = 0
    explained_bytes: int = 0

    @property
    def agrees(self) -> bool:
        """Return True without faults."""
        return not self.faults

    @property
    def headline(self) -> str:
        """The first fault, or the account in one line."""
        if self.faults:
            more = len(self.faults) - 1
            return self.faults[0].line + (f" ({format_count(more, 'more fault', ',')})" if more else "")
        return self.account

    @property
    def account(self) -> str:
        """The weights, the tensors and the transformations, as counts."""
        explained = [weight for weight in self.weights if weight.is_explained]
        counted = len(explained), sum(not weight.is_computed for weight in self.weights)
        share = self.explained_bytes / self.bytes if self.bytes else 1.0
        used = sum(tensor.status == "used" for tensor in self.tensors)
        subject = (
            f"all {counted[0]:,} constants"
            if counted[0] == counted[1]
            else f"{counted[0]:,} of {counted[1]:,} constants"
        )
        shown = f"{share:.2%}" if share == 1 or share < 0.9999 else "99.99%"
        text = f"{subject} ({shown} of {format_bytes(self.bytes)}) come from {format_count(used, 'tensor', ',')}"
        kinds = Counter(_generalize(weight.transformations) for weight in explained)
        return f"{text}: {join_counts(dict(kinds.most_common()), ',')}" if kinds else text

    def lines(self, *, most: int | None = None) -> Iterator[str]:
        """Yield the report: the headline, the faults, the constants without a tensor, the unused tensors.

        Args:
            most: Maximum number of entries of each list.
        """
        yield self.headline
        for fault in self.faults[1:][: None if most is None else max(most - 1, 0)]:
            yield fault.line
        if self.faults:
            yield self.account
        unexplained = [weight for weight in self.weights if not weight.tensors]
        faulty = {fault.path for fault in self.faults}
        unknown = [weight for weight in unexplained if weight.path not in faulty]
        for is_computed, text in ((False, "of no tensor"), (True, "computed by a rule, not read from a tensor")):
            constants = [weight for weight in unknown if weight.is_computed == is_computed]
            if constants:
                names = list_names([printable(weight.path) for weight in constants], _MOST_NAMES)
                size = format_bytes(sum(weight.bytes for weight in constants))
                count = len(constants)
                yield f"{format_count(count, 'constant', ',')} ({size}) {pluralize(count, 'is', 'are')} {text}: {names}"
        for status, text in (
            ("neutral", "ones or zeros that the model does not need"),
            ("unused", "not used"),
            ("no layer", "of no layer of the model"),
            ("not compared", "without numbers to compare"),
        ):
            names_of = [printable(tensor.name) for tensor in self.tensors if tensor.status == status]
            if names_of:
                count = len(names_of)
                be = pluralize(count, "is", "are")
                yield f"{format_count(count, 'tensor', ',')} {be} {text}: {list_names(names_of, _MOST_NAMES)}"
        noisy = sorted(
            (weight for weight in self.weights if weight.sqnr_db is not None and _is_quantized(weight.format)),
            key=lambda weight: float(weight.sqnr_db or 0),
        )
        if noisy:
            worst = ", ".join(
                f"{printable(weight.path)} {format_number(weight.sqnr_db)} dB" for weight in noisy[:_MOST_NAMES]
            )
            yield f"rounding, the worst first: {worst}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each weight."""
        faults = {fault.path: fault for fault in reversed(self.faults)}
        return [
            {
                "constant": weight.path,
                "shape": "x".join(map(str, weight.shape)),
                "format": weight.format,
                "bytes": weight.bytes,
                "tensors": " ".join(weight.tensors),
                "transformations": weight.how if weight.tensors else "",
                "sqnr_db": weight.sqnr_db,
                "different": weight.different,
                "fault": faults[weight.path].message if weight.path in faults else "",
            }
            for weight in self.weights
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _is_quantized(name: str) -> bool:
    return name not in ("f64", "f32", "f16", "bf16")


def _generalize(transformations: tuple[str, ...]) -> str:
    """The transformations without their numbers and names."""
    words = []
    for transformation in transformations:
        word = transformation.split(",", maxsplit=1)[0].split(" to ", maxsplit=1)[0]
        if word.startswith(("times", "scaled", "columns scaled")):
            word = "scaled"
        elif word.startswith("rows ") and word.removeprefix("rows ").isdigit():
            word = "split"
        words.append(word)
    return " and ".join(dict.fromkeys(words)) or "as they are"
