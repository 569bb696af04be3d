"""What `shapes` answers: the sizes that each dim of the inputs may have, and what follows for the outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ir_exec.debug.facts import Record

__all__ = ["InputDim", "Kind", "Limit", "OutputDim", "ShapesReport"]

Kind = Literal["fixed", "any", "range", "multiple", "listed", "tied"]
"""fixed: no other size was found. any: every size. range: from `least` to `most`. multiple: every `step`-th size,
within a range, and others by `offsets`. listed: those of `also`, of all up to `most`. tied: what `formula` says of
other dims."""


class Limit(Record):
    """Why a size is refused. size: the one that was tried. layer_id, layer_name, type: the layer that refuses it, with
    its `message`. cause: the constant or input that holds the size it expects, and the way from there."""

    size: int
    layer_id: str | None
    layer_name: str | None
    type: str | None
    message: str
    cause: str | None = None


class InputDim(Record):
    """One dim of an input.

    name: `input[axis]`, as formulas name it. declared: what the file says. size: one that fits, together with those of
    all other dims. least, most: the limits of the sizes; None where there is none that was found. step, offset: sizes
    are offset + n * step. one: whether size 1 fits as well, though it is outside of all that. formula: of a tied dim.
    smaller, larger, other_one: whether a tied dim may also be less, more, or anything where the other is 1.
    limits: what sets least, most and step, or fixes the dim, or ties it.
    """

    name: str
    input: str
    axis: int
    declared: str
    kind: Kind
    size: int
    least: int | None = None
    most: int | None = None
    step: int = 1
    offset: int = 0
    offsets: tuple[int, ...] = ()
    also: tuple[int, ...] = ()
    one: bool = False
    smaller: bool = False
    larger: bool = False
    other_one: bool = False
    formula: str | None = None
    limits: tuple[Limit, ...] = ()

    def __str__(self) -> str:
        """What sizes there are, in words."""
        or_one = ", or 1" if self.one else ""
        if self.kind == "fixed":
            return f"{self.size}{or_one}"
        if self.kind == "tied":
            if self.other_one:
                or_one = ", or one of both is 1" if self.one else f", unless {self.formula} is 1"
            if self.smaller or self.larger:
                return f"{'at most' if self.smaller else 'at least'} {self.formula}"
            return f"= {self.formula}{or_one}"
        if self.kind == "any":
            return "any"
        if self.kind == "listed":
            return f"{_either(list(_runs(self.also)))}, of those up to {self.most}"
        text = f"multiples of {self.step}" if self.step > 1 else ""
        if len(self.offsets) > 1:
            text += f" plus {_either(list(_runs(self.offsets)))}"
        else:
            text += f" plus {self.offset}" if self.offset else ""
        parts = [text] if text else []
        if self.least is not None and self.most is not None:
            parts.append(f"{self.least} to {self.most}")
        elif self.least is not None:
            parts.append(f"from {self.least}")
        elif self.most is not None:
            parts.append(f"at most {self.most}")
        also = list(_runs(tuple([size for size in self.also if size > 1 or not self.one])))
        return " ".join(parts) + or_one + (f", or {_either(also)}" if also else "")


def _either(texts: list[str]) -> str:
    """`1, 2 or 3`."""
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _runs(numbers: tuple[int, ...]) -> Iterator[str]:
    """Numbers in rising order, those that follow each other as `0 to 3`."""
    start = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] > numbers[end - 1] + 1:
            run = numbers[start:end]
            yield from [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
            start = end


class OutputDim(Record):
    """One dim of an output. size: for the sizes of the inputs that the report names. formula: of the input dims, None
    where it is not linear in them or depends on values."""

    output: str
    axis: int
    size: int | None
    formula: str | None


class ShapesReport(Record):
    """The answer of `shapes`.

    inputs, outputs: their dims in order; those of inputs of unknown rank are left out. probes: how often shapes were
    inferred. complete: whether that was enough to look at every dim. notes: what else a reader should know.
    """

    format: Literal[1] = 1
    model: str
    inputs: tuple[InputDim, ...]
    outputs: tuple[OutputDim, ...]
    probes: int
    complete: bool
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for dim in self.inputs:
            yield f"{dim.name}: {dim}"
            for limit in dim.limits:
                where = f' at {limit.type} "{limit.layer_name}"' if limit.layer_name is not None else ""
                yield f"  {limit.size}{where}: {limit.message}" + (f" ({limit.cause})" if limit.cause else "")
        for out in self.outputs:
            yield f"{out.output}[{out.axis}] = {out.formula or '?'}"
        yield from self.notes
