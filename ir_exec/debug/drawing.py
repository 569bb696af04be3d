"""Inputs that nobody gave: sizes that the network takes, and values at random."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.fitting import smallest
from ir_exec.debug.probing import Prober
from ir_exec.errors import EvaluationError, IRError
from ir_exec.model import Model, ShapeLike, as_shape
from ir_exec.runtime.drawing import draw
from ir_exec.types import Array, Shape

__all__ = ["drawn_inputs", "fitting_shapes"]


def drawn_inputs(
    model: Model,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None = None,
    given: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """All inputs by name: those that are given, and the others at random; those of one seed are the same everywhere.

    shapes: by name; dims that they and the file leave open have the sizes of `fitting_shapes`.
    Raises EvaluationError for shapes of what is no input, ShapeError for an input of unknown rank without a shape, and
    ResourceError for one that would not fit into memory.
    """
    given = given or {}
    wanted = {name: as_shape(shape) for name, shape in (shapes or {}).items()}
    if unknown := sorted(wanted.keys() - {port.name for port in model.inputs}):
        names = ", ".join(port.name for port in model.inputs)
        raise EvaluationError(f"there is no input {unknown[0]!r}; the inputs are: {names}", code=Code.unknown_input)
    known = {name: Shape(array.shape) for name, array in given.items()}
    wanted |= fitting_shapes(model, wanted | known)
    random = np.random.default_rng(seed)
    return {
        port.name: given[port.name] if port.name in given else draw(port, wanted.get(port.name), random)
        for port in model.inputs
    }


def fitting_shapes(model: Model, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Shapes, by name, for the inputs of which dims are open: small sizes with which inference accepts the network.

    shapes: those that are known, in place of the file's. Where a network takes integers, which are drawn from 0 and 1
    and may be indices, sizes are from 2 on if that fits, else from 1 on. Empty where no dim is open, or where no sizes
    were found: what is wrong then a run tells best.
    """
    ports = model.inputs
    known = [shapes.get(port.name, port.shape) for port in ports]
    if all(shape.is_static for shape in known) or any(shape.rank is None for shape in known):
        return {}
    indices = [port.element_type for port in ports if port.element_type.is_known and not port.element_type.is_float]
    least = 2 if any(kind.bits > 8 for kind in indices) else 1
    try:
        prober = Prober(model, dict(enumerate(known)))
    except IRError:
        return {}
    sizes = smallest(prober, least)
    if sizes is None:
        return {}
    found = prober.given(sizes)
    return {port.name: found[number] for number, port in enumerate(ports) if not known[number].is_static}
