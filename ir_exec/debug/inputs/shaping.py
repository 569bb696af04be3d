"""`shapes`: a report of the accepted input sizes, with the names of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from ir_exec.check.blame import Blame
from ir_exec.debug.inputs.input_shapes import Free, SizeFindings, explore
from ir_exec.debug.inputs.probing import Outcome, OutOfProbesError, Prober
from ir_exec.errors import IRError
from ir_exec.model import Model, Source, read_model
from ir_exec.report.records import Record

__all__ = ["InputDim", "Kind", "Limit", "OutputDim", "ShapesReport", "shapes"]


Kind = Literal["fixed", "any", "range", "multiple", "listed", "tied", "unexplored"]
"""fixed: no other size was found. any: every size. range: from `least` to `most`. multiple: every `step`-th size within
a range, or several of each step by `offsets`. listed: the sizes in `also`, of all sizes up to `most`. tied: the value
of `formula`, computed from other dims. unexplored: the number of probes was not sufficient."""


class Limit(Record):
    """The reason why a size is rejected.

    Attributes:
        size: The size that was tried.
        layer_id: The id of the failing layer.
        layer_name: The name of the failing layer.
        type: The type of the failing layer.
        message: The error of the failing layer.
        cause: The constant or input with the size that the layer expects, and the path from there to the layer.
    """

    size: int
    layer_id: str | None
    layer_name: str | None
    type: str | None
    message: str
    cause: str | None = None


class InputDim(Record):
    """One dim of an input.

    Attributes:
        name: `input[axis]`, as in formulas.
        declared: The dim that the file declares.
        size: An accepted size, in combination with the `size` of all other dims.
        least: The limits of the sizes, None if unlimited.
        most: The limits of the sizes, None if unlimited.
        step: Accepted sizes are offset + n * step.
        offset: Accepted sizes are offset + n * step.
        offsets: Several offsets within a step.
        also: Further accepted sizes.
        one: True if size 1 is accepted although the other fields exclude it.
        smaller: True if a tied dim may also be smaller.
        larger: True if a tied dim may also be larger.
        other_one: True if a tied dim may have any size where the other dim is 1.
        formula: The size of a tied dim.
        limits: The reasons for least, most and step, or for a fixed or tied dim.
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
        """A description of the accepted sizes."""
        or_one = ", or 1" if self.one else ""
        if self.kind == "unexplored":
            return "not explored"
        if self.kind == "fixed":
            return f"{self.size}{or_one}"
        if self.kind == "tied":
            if self.other_one:
                or_one = ", or either is 1" if self.one else f", unless {self.formula} is 1"
            if self.smaller or self.larger:
                return f"{'at most' if self.smaller else 'at least'} {self.formula}"
            return f"= {self.formula}{or_one}"
        if self.kind == "any":
            return "any"
        if self.kind == "listed":
            return f"{_either(list(_runs(self.also)))} (of sizes up to {self.most})"
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
    """Ascending numbers as texts, consecutive ones as `0 to 3`."""
    start = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] > numbers[end - 1] + 1:
            run = numbers[start:end]
            yield from [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
            start = end


class OutputDim(Record):
    """One dim of an output.

    Attributes:
        size: The size if every input dim has the size `size`; None for an unexplored dim.
        formula: A linear expression in the input dims; None if the size is not linear in them or depends on values.
        is_explored: False if the number of probes was not sufficient for a formula.
    """

    output: str
    axis: int
    size: int | None
    formula: str | None
    is_explored: bool = True

    def __str__(self) -> str:
        """The formula, or the reason why there is none."""
        if self.formula is not None or not self.is_explored:
            return self.formula or "not explored"
        return f"not linear, or dependent on values{f' ({self.size} here)' if self.size is not None else ''}"


class ShapesReport(Record):
    """The result of `shapes`.

    Attributes:
        inputs: Their dims in order, without inputs of unknown rank.
        outputs: Their dims in order, without inputs of unknown rank.
        probes: The number of inferences.
        complete: True if the number of probes was sufficient for every dim.
        notes: Limitations of the result.
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
            yield f"{out.output}[{out.axis}]" + (f" = {out.formula or '?'}" if out.is_explored else f": {out}")
        yield from self.notes


_LARGEST_PERIOD = 256
"""Maximum steps of an input dim per step of an output dim, in the search for a formula."""


def shapes(model: Model | Source) -> ShapesReport:
    """Return the input sizes that a model accepts, and the sizes of its outputs as formulas of these.

    Every dim of the inputs is explored, static dims included: `Model.reshape` accepts other sizes. The model is
    inferred with at most a thousand sets of sizes and never run. Errors of a run are not found, unless they follow from
    values that inference computes. A dim that accepts 131,072 counts as unlimited.

    Raises:
        IRError: The errors of `read_model`.
    """
    model = model if isinstance(model, Model) else read_model(model)
    return _Shaping(model).report()


class _Shaping:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._prober = Prober(model)
        ports = model.inputs
        self._names = [f"{ports[input_axis.input].name}[{input_axis.axis}]" for input_axis in self._prober.dims]

    def report(self) -> ShapesReport:
        findings = explore(self._prober)
        notes = [f"input {port.name} has an unknown rank" for port in self._model.inputs if port.shape.rank is None]
        outputs: tuple[OutputDim, ...] = ()
        complete = findings.complete
        if findings.base is None:
            if findings.refusal is not None and findings.refusal.error is not None:
                notes.append(f"no accepted sizes were found: {_error_text(findings.refusal.error)}")
        else:
            outputs, has_all = self._outputs(findings, findings.base)
            complete = complete and has_all
        if self._model.is_partial:
            complete = False
            notes.append(
                "layers that depend on the inputs of a run were not explored; pass input shapes to check with --shape"
            )
        elif not complete:
            notes.append("the model exceeds the limit of probes; some dims or formulas were not explored")
        return ShapesReport(
            model=self._model.graph.path or self._model.name,
            inputs=() if findings.base is None else tuple(self._inputs(findings, findings.base)),
            outputs=outputs,
            probes=self._prober.probes,
            complete=complete,
            notes=tuple(notes),
        )

    def _inputs(self, findings: SizeFindings, base: Outcome) -> Iterator[InputDim]:
        for dim, input_axis in enumerate(self._prober.dims):
            size = base.sizes[dim]
            about: dict[str, Any] = {}
            refused: Sequence[Outcome] = ()
            dim_kind: Kind = "fixed"
            if dim in findings.free:
                free = findings.free[dim]
                dim_kind, about = _along(free, size)
                about["one"] = dim in findings.ones and (about.get("least") or 1) > 1
                refused = free.refused
            elif dim in findings.directions.tied and findings.has_directions:
                dim_kind = "tied"
                parts = findings.directions.tied[dim]
                formula = self._formula(parts, Fraction(size), base)
                about = {"formula": formula, "one": dim in findings.ones}
                about |= {"smaller": dim in findings.at_most, "larger": dim in findings.at_least}
                if not findings.ones.isdisjoint(parts) and list(parts.values()) == [1]:
                    about["other_one"] = True
                refused = [findings.because[dim]] if dim in findings.because else ()
            elif dim in findings.fixed:
                about, refused = {"one": dim in findings.ones}, [findings.fixed[dim]]
            elif not findings.complete:
                dim_kind = "unexplored"
            yield InputDim(
                name=self._names[dim],
                input=self._model.inputs[input_axis.input].name,
                axis=input_axis.axis,
                declared=str(self._prober.declared_dim(dim)),
                kind=dim_kind,
                size=size,
                limits=tuple([self._limit(base, outcome, dim, is_tied=dim_kind == "tied") for outcome in refused]),
                **about,
            )

    def _formula(self, parts: Mapping[int, Fraction], size: Fraction, base: Outcome) -> str:
        constant = size - sum(slope * base.sizes[other] for other, slope in parts.items())
        return sum_text({self._names[other]: slope for other, slope in parts.items()}, constant)

    def _limit(self, base: Outcome, outcome: Outcome, dim: int, *, is_tied: bool) -> Limit:
        error, node = outcome.error, outcome.node
        assert error is not None, "a limit follows from rejected sizes only"
        assert node is not None, "a layer rejected the sizes"
        new = {size for size, old in zip(outcome.sizes, base.sizes, strict=True) if size != old}
        # The cause of a tie is the other dim, which the formula names, and the size of an input can change.
        cause = None if node.bodies or is_tied else Blame(base.types, outcome.types, new).cause(node)
        if cause is not None and cause.path[0].op_class.is_parameter:
            cause = None
        return Limit(
            size=outcome.sizes[dim],
            layer_id=error.location.layer_id,
            layer_name=error.location.layer_name,
            type=error.location.layer_type,
            message=error.message,
            cause=None if cause is None else cause.sentence(node),
        )

    def _outputs(self, findings: SizeFindings, base: Outcome) -> tuple[tuple[OutputDim, ...], bool]:
        """The dims of the outputs, and True if the number of probes was sufficient for their formulas."""
        if not findings.has_directions or findings.free.keys() != set(findings.directions.free):
            return tuple(self._dims_out(base, None, None)), False
        try:
            lines = [_Line(self._prober, base, free) for free in findings.free.values()]
            mixed = self._step_all_directions(base, list(findings.free.values()))
        except OutOfProbesError:
            return tuple(self._dims_out(base, None, None)), False
        return tuple(self._dims_out(base, lines, mixed)), True

    def _step_all_directions(self, base: Outcome, free: Sequence[Free]) -> Outcome | None:
        """The outcome of a step in all directions at once, to verify that sizes are additive."""
        if len(free) < 2:
            return None
        sizes = list(base.sizes)
        for direction in free:
            sign = -1 if direction.most == 0 else 1
            sizes = [size + sign * part for size, part in zip(sizes, direction.along, strict=True)]
        outcome = self._prober(tuple(sizes)) if min(sizes) >= 1 else None
        return outcome if outcome is not None and outcome.fits else None

    def _dims_out(self, base: Outcome, lines: list[_Line] | None, mixed: Outcome | None) -> Iterator[OutputDim]:
        for value, port in zip(self._model.output_values, self._model.outputs, strict=True):
            if value is None:
                continue
            number = value.number
            for axis in range(base.types[number].shape.rank or 0):
                if lines is None:
                    yield OutputDim(output=port.name, axis=axis, size=None, formula=None, is_explored=False)
                    continue
                size = _size(base, number, axis)
                formula = None if size is None else self._output_formula(base, lines, mixed, number, axis, size)
                yield OutputDim(output=port.name, axis=axis, size=size, formula=formula)

    def _output_formula(
        self, base: Outcome, lines: list[_Line], mixed: Outcome | None, number: int, axis: int, size: int
    ) -> str | None:
        moving = [line for line in lines if line.moves(number, axis)]
        if not moving:
            return str(size)
        slopes = {line.dim: line.slope(number, axis) for line in moving}
        if len(moving) == 1 and slopes[moving[0].dim] is None:
            return moving[0].stairs(self._names[moving[0].dim], number, axis)
        parts = {dim: slope for dim, slope in slopes.items() if slope is not None}
        if len(parts) < len(slopes):
            return None
        if mixed is not None:
            steps = {line.dim: mixed.sizes[line.dim] - base.sizes[line.dim] for line in moving}
            expected = size + sum(slope * steps[dim] for dim, slope in parts.items())
            if _size(mixed, number, axis) != expected:
                return None
        return self._formula(parts, Fraction(size), base)


def _along(free: Free, size: int) -> tuple[Kind, dict[str, Any]]:
    pattern = free.pattern
    if pattern is not None and not pattern.period:
        return "listed", {"also": pattern.also, "most": pattern.reach}
    step = abs(free.along[free.dim])
    signed = free.along[free.dim] // step if step else 1
    ends = [None if steps is None else size + steps * step * signed for steps in (free.least, free.most)]
    least, most = ends if signed > 0 else ends[::-1]
    if least is not None and least - step < 1:
        least = None
    if least is not None and least == most:
        return "fixed", {}
    about: dict[str, Any] = {"least": least, "most": most, "step": step, "offset": size % step}
    if pattern is not None:
        about |= {"least": pattern.least, "offset": pattern.remainders[0], "also": pattern.also}
        about["offsets"] = pattern.remainders if len(pattern.remainders) > 1 else ()
    dim_kind: Kind = "multiple" if step > 1 else "any" if least is None and most is None else "range"
    return dim_kind, about


class _Line:
    """The sizes of outputs along the direction of a free dim."""

    def __init__(self, prober: Prober, base: Outcome, free: Free) -> None:
        self._prober = prober
        self._base = base
        self._along = free.along
        self._between = free.pattern.seen if free.pattern is not None else ()
        self.dim = free.dim
        self._sign = -1 if free.most == 0 else 1
        room = free.least if self._sign < 0 else free.most
        self._room = _LARGEST_PERIOD if room is None else min(abs(room), _LARGEST_PERIOD)
        self._near = self._at(1)
        self._far = self._at(2) if self._room >= 2 else None
        self._farther = self._at(self._room)

    def _at(self, steps: int) -> Outcome:
        pairs = zip(self._base.sizes, self._along, strict=True)
        sizes = [size + self._sign * steps * part for size, part in pairs]
        return self._prober(tuple(sizes)) if min(sizes) >= 1 else self._base

    def moves(self, number: int, axis: int) -> bool:
        size = _size(self._base, number, axis)
        seen = (self._near, self._far, self._farther)
        return any(_size(outcome, number, axis) != size for outcome in seen if outcome is not None and outcome.fits)

    def slope(self, number: int, axis: int) -> Fraction | None:
        """The growth of an output per unit of the dim, None if it is not linear."""
        before = _size(self._base, number, axis)
        slopes = set()
        for outcome in (self._near, self._far, self._farther):
            if outcome is not None and outcome.fits and outcome is not self._base:
                after = _size(outcome, number, axis)
                if before is None or after is None:
                    return None
                slopes.add(Fraction(after - before, outcome.sizes[self.dim] - self._base.sizes[self.dim]))
        if len(slopes) != 1:
            return None
        (slope,) = slopes
        run = [
            (outcome.sizes[self.dim] - self._base.sizes[self.dim], _size(outcome, number, axis))
            for outcome in self._between
        ]
        return slope if all(after == (before or 0) + steps * slope for steps, after in run) else None

    def stairs(self, name: str, number: int, axis: int) -> str | None:
        """The formula `floor((dim + a) / n) + b`, if the output satisfies it."""
        if self._between:
            return self._stairs_between(name, number, axis)
        step = self._along[self.dim] * self._sign
        if step != 1 or self._room < 2:
            return None
        base, start = self._base.sizes[self.dim], _size(self._base, number, axis)
        rise = _size(self._farther, number, axis)
        if start is None or rise is None or rise <= start:
            return None
        period = next((n for n in _powers() if abs((rise - start) * n - self._room) < n), None)
        if period is None or period >= self._room:
            return None
        first = self._first_rise(number, axis, start, period)
        if first is None:
            return None
        # At `base + first` the quotient is an integer.
        shift = -(base + first) % period
        constant = start + 1 - (base + first + shift) // period
        for steps in {self._room, self._room // 2, self._room // 3, first - 1, first + period, 1, 2}:
            if 0 < steps <= self._room:
                outcome = self._at(steps)
                if not outcome.fits or _size(outcome, number, axis) != (base + steps + shift) // period + constant:
                    return None
        return _floor(name, shift, period, constant)

    def _stairs_between(self, name: str, number: int, axis: int) -> str | None:
        """The formula with floor, found from probed sizes with several remainders."""
        outcomes = (self._base, self._near, self._far, self._farther, *self._between)
        probed = {
            (outcome.sizes[self.dim], _size(outcome, number, axis))
            for outcome in outcomes
            if outcome is not None and outcome.fits
        }
        pairs = [(size, out) for size, out in probed if out is not None]
        (low, least), (high, most) = min(pairs), max(pairs)
        if len(pairs) < len(probed) or most <= least:
            return None
        period = round((high - low) / (most - least))
        for shift in range(period):
            rests = {out - (size + shift) // period for size, out in pairs}
            if len(rests) == 1:
                return _floor(name, shift, period, rests.pop())
        return None

    def _first_rise(self, number: int, axis: int, start: int, period: int) -> int | None:
        """The least number of steps with a larger output."""
        low, high = 0, period
        while high - low > 1:
            middle = (low + high) // 2
            size = _size(self._at(middle), number, axis)
            if size is None:
                return None
            if size > start:
                high = middle
            else:
                low = middle
        return high


def _floor(name: str, shift: int, period: int, constant: int) -> str:
    inner = f"({name} + {shift})" if shift else name
    return f"floor({inner} / {period})" + (f" {'+' if constant > 0 else '-'} {abs(constant)}" if constant else "")


def _powers() -> Iterator[int]:
    n = 2
    while n < _LARGEST_PERIOD:
        yield n
        n *= 2


def _size(outcome: Outcome, number: int, axis: int) -> int | None:
    dims = outcome.types[number].shape.dims
    return dims[axis].lo if dims is not None and axis < len(dims) and dims[axis].is_static else None


def sum_text(parts: Mapping[str, Fraction], constant: Fraction) -> str:
    """`2 * a + b / 32 - 1`."""
    terms = []
    for name, slope in parts.items():
        size = abs(slope)
        text = name if size.numerator == 1 else f"{size.numerator} * {name}"
        text += f" / {size.denominator}" if size.denominator > 1 else ""
        terms.append((slope < 0, text))
    if constant or not terms:
        terms.append((constant < 0, str(abs(constant))))
    text = ("-" if terms[0][0] else "") + terms[0][1]
    return text + "".join(f" {'-' if negative else '+'} {term}" for negative, term in terms[1:])


def _error_text(error: IRError) -> str:
    location = error.location
    return f'{location.layer_type} "{location.layer_name}": {error.message}' if location.layer_name else error.message
