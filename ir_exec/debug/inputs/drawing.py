"""Generated inputs of a model, with plausible shapes and values, and the reason for them.

Inputs whose outputs are NaN, infinite or constant are drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.inputs.roles import PLAIN, Role, draw, drawn_shape, roles_of
from ir_exec.debug.inputs.sizes import fitting_shapes
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.graph import Value
from ir_exec.infer import infer_types, inferred_or_declared
from ir_exec.model import Model, ShapeLike, as_shape
from ir_exec.report.records import Record
from ir_exec.runtime import compile_model
from ir_exec.runtime.precision import Precision
from ir_exec.runtime.weight_modes import weight_mode_of_one_run
from ir_exec.types import BOOLEAN, STRING, Array, ElementType, Shape, TensorType

__all__ = ["Drawer", "Drawn", "DrawnInput", "Redraw", "checked_inputs", "drawn_inputs"]


class DrawnInput(Record):
    """One generated input.

    Attributes:
        values: A description of the elements.
        reason: The evidence for `role`: the layers that read the input (the first of them is `layer`), its name, or
            only its element type.
        low: The least element, None for an empty array.
        high: The greatest element, None for an empty array.
    """

    name: str
    element_type: str
    shape: tuple[int, ...]
    role: str
    values: str
    reason: Literal["use", "name", "type"]
    layer: str | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        """`input_ids i64[2,8] token ids below 119`."""
        return f"{self.name} {self.element_type}[{','.join(map(str, self.shape))}] {self.values}".rstrip()


class Drawn(Record):
    """The generated inputs of one seed.

    Attributes:
        rejected: Problems in the outputs of earlier draws.
        problem: The problem in the outputs of this draw, None if they are usable.
        checked: True if the model was run with these inputs.
    """

    seed: int
    inputs: tuple[DrawnInput, ...] = ()
    rejected: tuple[str, ...] = ()
    problem: str | None = None
    checked: bool = False

    def __str__(self) -> str:
        """One line for the values, and one each for rejected draws and for a remaining problem."""
        lines = []
        if self.inputs:
            lines.append(f"drawn with seed {self.seed}: {'; '.join(map(str, self.inputs))}")
        if self.rejected:
            lines.append(f"drawn {len(self.rejected) + 1} times: {'; '.join(dict.fromkeys(self.rejected))}")
        if self.problem:
            lines.append(f"with these inputs {self.problem}; pass other values with --input")
        return "\n".join(lines)


def _input_record(name: str, array: Array, role: Role) -> DrawnInput:
    """The record of one input."""
    is_number = array.dtype.kind in "biuf" and array.size
    return DrawnInput(
        name=name,
        element_type=str(ElementType.of(array)),
        shape=array.shape,
        role=role.kind,
        values=_values(role, array),
        reason=role.reason,
        layer=role.layer or None,
        low=float(array.min()) if is_number else None,
        high=float(array.max()) if is_number else None,
    )


def _values(role: Role, array: Array) -> str:
    if role.kind == "mask":
        return f"{'ones' if role.low else 'zeros'} ({role.text})"
    if role.kind == "counting":
        return f"counting up ({role.text})"
    if role.kind == "exact":
        shown = ",".join(f"{value:g}" for value in role.exact[:8])
        return f"{shown} ({role.text})"
    if role.kind == "index":
        return role.text
    if role.kind in ("within", "image", "corners", "sorted"):
        return f"{role.low:.4g} to {role.high:.4g} ({role.text})"
    if role.kind == "plain":
        element_type = ElementType.of(array)
        if element_type in STRING:
            return "words"
        if element_type in BOOLEAN:
            return "false and true"
        return "normal" if element_type.is_float else "the whole range" if element_type.bits <= 8 else "0 and 1"
    return role.text


def drawn_inputs(
    model: Model,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None = None,
    given: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """All inputs by name: the given ones, and random arrays for the others, reproducible by seed on every machine.

    Values are plausible for the model: masks are 1, indices are in range, lengths are at most the size of the axis. The
    model is not run; `checked_inputs` draws again if the outputs are NaN.

    Args:
        shapes: Shapes by name; dims that are dynamic in these and in the file get the sizes of `fitting_shapes`.

    Raises:
        EvaluationError: For a shape of an unknown input.
        ShapeError: For an input of unknown rank without a shape.
        ResourceError: For an input that does not fit into memory.
    """
    return Drawer(model, seed, shapes, given).arrays(0)


class Drawer:
    """A generator of inputs of a model, for several attempts. The arguments are those of `drawn_inputs`.

    Attributes:
        names: The names of the outputs.
        depends: For each output, True if it depends on values of the inputs, not only on shapes.
    """

    def __init__(
        self,
        model: Model,
        seed: int,
        shapes: Mapping[str, ShapeLike] | None = None,
        arrays: Mapping[str, Array] | None = None,
    ) -> None:
        self._ports = model.inputs
        self._seed = seed
        self._given = dict(arrays or {})
        requested = {name: as_shape(shape) for name, shape in (shapes or {}).items()}
        if unknown := sorted(requested.keys() - {port.name for port in self._ports}):
            names = ", ".join(port.name for port in self._ports)
            raise EvaluationError(f"there is no input {unknown[0]!r}; the inputs are: {names}", code=Code.unknown_input)
        from_arrays = {name: Shape(array.shape) for name, array in self._given.items()}
        self._shapes = requested | fitting_shapes(model, requested | from_arrays)
        self.names = [port.name for port in model.outputs]
        self.depends, self._roles = self._find_roles(model)

    @property
    def is_random(self) -> bool:
        """Return True if another attempt yields different arrays."""
        return len(self._given) < len(self._ports)

    def arrays(self, attempt: int) -> dict[str, Array]:
        """All inputs by name, with different values for each attempt."""
        return {
            port.name: self._given[port.name]
            if port.name in self._given
            else draw(port, self._shapes.get(port.name), self._random(number, attempt), role, attempt)
            for number, (port, role) in enumerate(zip(self._ports, self._roles, strict=True))
        }

    def record(self, arrays: Mapping[str, Array]) -> Drawn:
        """The record of the generated inputs, without the given ones."""
        inputs = [
            _input_record(port.name, arrays[port.name], role)
            for port, role in zip(self._ports, self._roles, strict=True)
            if port.name not in self._given
        ]
        return Drawn(seed=self._seed, inputs=tuple(inputs))

    def _random(self, number: int, attempt: int) -> np.random.Generator:
        """The random stream of an input, independent of the other inputs."""
        return np.random.default_rng([self._seed, number, attempt])

    def _find_roles(self, model: Model) -> tuple[Sequence[bool], Sequence[Role]]:
        if not self.is_random:
            return [True] * len(self.names), [PLAIN] * len(self._ports)
        shapes = []
        for port in self._ports:
            array = self._given.get(port.name)
            sizes = array.shape if array is not None else drawn_shape(port, self._shapes.get(port.name))
            shapes.append(Shape(sizes))
        values = [node.outputs[0] for node in model.graph.parameters]
        input_types = {
            value: TensorType(model.types[value.number].element_type, shape)
            for value, shape in zip(values, shapes, strict=True)
        }
        types: dict[Value, TensorType] = {}
        infer_types(model.graph, weights=model.weights, overrides=input_types, settle=inferred_or_declared, seen=types)
        return roles_of(model.graph, model.weights, types, self._ports, shapes, model.output_values)


_MOST_DRAWS = 3
"""Maximum draws of one set of inputs, the first included."""

_MOST_SECONDS = 5.0
"""Maximum seconds of all runs of one set of inputs: a slower model is not run again."""

_LONGEST = 20.0
"""Maximum seconds of a run whose outputs are only judged."""


class Redraw:
    """Generated inputs that the caller runs, drawn again if their outputs are unusable.

    After each run, the caller passes its outputs to `again`, or its error to `again_after`, and runs again if the
    result is True. `arrays` and `drawn` are then those of the best draw.

    Attributes:
        arrays: The inputs of the next run.
    """

    def __init__(self, drawer: Drawer) -> None:
        self._drawer = drawer
        self._attempt = 0
        self._seconds = 0.0
        self._rejected: list[str] = []
        self._best: tuple[int, dict[str, Array], str | None] | None = None
        self.arrays = self._last = drawer.arrays(0)

    @property
    def is_best(self) -> bool:
        """Return True if the last run was that of the best draw."""
        return self._best is not None and self._best[1] is self._last

    @property
    def drawn(self) -> Drawn:
        """The record of the best draw."""
        record = self._drawer.record(self.arrays)
        problem = None if self._best is None else self._best[2]
        rejected = self._rejected if problem is None else self._rejected[:-1]
        return record.model_copy(
            update={"rejected": tuple(rejected), "problem": problem, "checked": self._best is not None}
        )

    def again(self, outputs: Sequence[Array], seconds: float) -> bool:
        """Return True if the inputs were drawn again and are to be run.

        Args:
            outputs: Those of the model in order.
        """
        if not self._drawer.is_random:
            return False
        depends, names = self._drawer.depends, self._drawer.names
        if len(outputs) != len(names):
            # A list whose length the inputs of the run determine.
            depends, names = [True] * len(outputs), [f"out{position}" for position in range(len(outputs))]
        return self._judge_draw(*judge(outputs, depends, names), seconds)

    def again_after(self, error: IRError, seconds: float) -> bool:
        """Return True if the inputs were drawn again, after a run that ended with an error."""
        return self._drawer.is_random and self._judge_draw(_FAILED, f"the run fails: {error.message}", seconds)

    def _judge_draw(self, score: int, problem: str | None, seconds: float) -> bool:
        self._last = self.arrays
        self._seconds += seconds
        if problem is not None:
            self._rejected.append(problem)
        if self._best is None or score < self._best[0]:
            self._best = score, self.arrays, problem
        self._attempt += 1
        if problem is None or self._attempt >= _MOST_DRAWS or self._seconds + seconds > _MOST_SECONDS:
            self.arrays = self._best[1]
            return False
        self.arrays = self._drawer.arrays(self._attempt)
        return True


_FAILED = 2**60
"""The score of a run that ended with an error."""


def judge(outputs: Sequence[Array], depends: Sequence[bool], names: Sequence[str]) -> tuple[int, str | None]:
    """The score of outputs, 0 if they are usable and higher if they are worse, and a description of the problem.

    An output is constant if it has several elements that are all equal. Constant integers and booleans count only if
    every output is constant.

    Args:
        depends: For each output, True if it depends on values of the inputs.
    """
    nans: list[str] = []
    infinite: list[str] = []
    constant: list[str] = []
    integers: list[str] = []
    for output, name, follows in zip(outputs, names, depends, strict=True):
        if not follows or not output.size or ElementType.of(output) in STRING:
            continue
        is_float = ElementType.of(output).is_float
        numbers = output.astype(np.float64) if is_float else output
        if is_float and np.isnan(numbers).any():
            nans.append(f"{name!r} is NaN{_share(np.isnan(numbers))}")
        elif is_float and np.isinf(numbers).any():
            infinite.append(f"{name!r} is infinite{_share(np.isinf(numbers))}")
        elif output.size > 1 and (output == output.reshape(-1)[0]).all():
            (constant if is_float else integers).append(f"{name!r} is constant")
    count = sum(depends)
    if len(constant) + len(integers) == count:
        constant += integers
    problems = [*nans, *infinite, *constant]
    score = len(nans) * 10**6 + len(infinite) * 10**3 + len(constant)
    return score, f"output {', '.join(problems[:3])}{' and others' if len(problems) > 3 else ''}" if problems else None


def _share(mask: Any) -> str:
    count = int(np.count_nonzero(mask))
    return "" if count == mask.size else f" in {count:,} of {mask.size:,} elements"


def checked_inputs(
    model: Model,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None = None,
    given_arrays: Mapping[str, Array] | None = None,
    *,
    threads: int | None = None,
    precision: Precision = "f32",
) -> tuple[dict[str, Array], Drawn]:
    """All inputs as by `drawn_inputs`, drawn again if their outputs are unusable, and their record.

    The outputs of a run that exceeds some seconds are not judged. A run that fails is not an error here: the caller's
    own run reports it.

    Args:
        threads: The number of threads of a run, as for `compile_model`.
        precision: The precision of the runs, as for `compile_model`.

    Raises:
        IRError: The errors of `drawn_inputs`.
    """
    drawer = Drawer(model, seed, shapes, given_arrays)
    redraw = Redraw(drawer)
    if not drawer.is_random:
        return redraw.arrays, redraw.drawn
    try:
        mode = weight_mode_of_one_run(model, "auto", precision)
        compiled = compile_model(model, max_seconds=_LONGEST, threads=threads, precision=precision, weight_mode=mode)
    except IRError:
        return redraw.arrays, redraw.drawn
    goes_on = True
    while goes_on:
        start = perf_counter()
        try:
            compiled.reset_state()
            outputs = list(compiled(dict(redraw.arrays)).values())
        except ResourceError:
            break  # the run takes too much time or memory for outputs that are only judged
        except IRError as error:
            goes_on = redraw.again_after(error, perf_counter() - start)
        else:
            goes_on = redraw.again(outputs, perf_counter() - start)
    return redraw.arrays, redraw.drawn
