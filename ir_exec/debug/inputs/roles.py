"""Roles of inputs, such as mask or index, and random values in the range of a role or of an element type.

A role is found from the layers that read an input, then from its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.inputs.flow import Flow
from ir_exec.debug.inputs.meanings import Kind, Use, Uses
from ir_exec.errors import ResourceError, ShapeError
from ir_exec.graph import Graph, Value
from ir_exec.ir import Weights
from ir_exec.model import ModelPort
from ir_exec.plan.memory import default_budget
from ir_exec.types import (
    BOOLEAN,
    MOST_AXES,
    STRING,
    Array,
    ElementType,
    Shape,
    TensorType,
    element_types,
    require_array_size,
)

__all__ = ["PLAIN", "Role", "draw", "drawn_shape", "roles_of"]

Reason = Literal["use", "name", "type"]
"""The evidence for a role: the layers that read the input, its name, or only its element type."""


@dataclass(frozen=True)
class Role:
    """The values of an input.

    Attributes:
        text: A description for messages.
        low: The least value, if the kind has them.
        high: The greatest value, if the kind has them.
        exact: The value itself, broadcast to the shape of the input.
        layer: The layer that is the evidence, "" if none is.
    """

    kind: Kind
    text: str
    low: float = 0.0
    high: float = 0.0
    exact: tuple[float, ...] = ()
    layer: str = ""
    reason: Reason = "use"


PLAIN = Role("plain", "", reason="type")

_ORDER: tuple[Kind, ...] = (
    "exact",
    "offsets",
    "sorted",
    "lengths",
    "mask",
    "corners",
    "index",
    "open index",
    "probabilities",
    "within",
    "image",
    "angle",
    "weak mask",
)
"""Precedence of kinds: an input that is a mask and is also added to positions is a mask."""

_NAMES: tuple[tuple[str, Kind], ...] = (
    (r"beam_?idx|beam_?index", "counting"),
    (r"position_?ids?|positions?$|pos_?ids?|cache_position", "counting"),
    (r"time_?steps?$|^t$", "timestep"),
    (r"token_?type|segment_?ids?$", "index"),
    (r"mask", "mask"),
    (r"lengths?$|_lens?$|seq_?lens?|^lens?$|seqlens?|num_valid|valid_", "lengths"),
    (r"^bbox|boxes$", "corners"),
    (r"image|pixel_values", "image"),
)

_NAMED: tuple[Kind, ...] = ("index", "open index", "angle", "weak mask", "probabilities")
"""Kinds that the name of an input may refine."""

_MOST_STEPS = 999
"""Maximum timestep of a diffusion model: timesteps usually are below 1000."""

_UNLIMITED = 2.0**30
"""Maximum position if no table limits it."""

_FEW = 9
"""Maximum element of integers without evidence."""

_SAFE = 1
"""Maximum element of integers that may become indices or sizes on paths that are not tracked."""


def roles_of(
    graph: Graph,
    weights: Weights | None,
    types: Mapping[Value, TensorType],
    ports: Sequence[ModelPort],
    shapes: Sequence[Shape],
    ends: Sequence[Value | None],
) -> tuple[list[bool], list[Role]]:
    """Return a list with True for each output that depends on values of inputs, and the role of each input.

    Args:
        types: The types of all values, bodies included, for inputs of these shapes.
        ends: The values of the outputs; None for one that depends on the inputs of a call.
    """
    uses = Uses(len(ports))
    flow = Flow(graph, weights, types, uses.visit)
    return [end is None or bool(flow.inputs_of(end)) for end in ends], [
        _role(port, shape, uses.of(number), uses.is_hidden_index(number), shapes)
        for number, (port, shape) in enumerate(zip(ports, shapes, strict=True))
    ]


def _role(port: ModelPort, shape: Shape, uses: Sequence[Use], hidden: bool, shapes: Sequence[Shape]) -> Role:
    element_type = port.element_type
    if element_type in STRING:
        return PLAIN
    is_whole = not element_type.is_float and element_type.is_known
    best = min(uses, key=lambda use: _ORDER.index(use.kind), default=None)
    named = _role_of_name(port, shape, shapes) if best is None or best.kind in _NAMED else None
    if best is not None:
        if best.kind == "probabilities" and (is_whole or (named is not None and named.kind == "mask")):
            return named or Role("mask", "mask whose elements are counted", 1, 1, layer=best.layer)
        if best.kind == "open index":
            return named if named is not None and named.kind == "counting" else Role("index", best.text)
        role = _of_uses(best, [use for use in uses if use.kind == best.kind])
        if best.kind == "index":
            return _named_index(role, named, port)
        if best.kind == "angle":
            if named is not None and named.kind in ("counting", "timestep"):
                return named
            return _angle(role, shape) if is_whole else PLAIN
        if best.kind == "weak mask":
            return replace(role, kind="mask") if is_whole or (named is not None and named.kind == "mask") else PLAIN
        return role
    if named is not None:
        return named
    if is_whole and element_type not in BOOLEAN and element_type.bits > 8:
        high = _SAFE if hidden else _FEW
        return Role("within", "small integers", 0, high, reason="type")
    return PLAIN


def _of_uses(best: Use, alike: Sequence[Use]) -> Role:
    """The role that satisfies all uses of one kind: an index into several tables is in range of the smallest."""
    low, high = max(use.low for use in alike), min(use.high for use in alike)
    if low > high:
        low, high = best.low, best.high
    first = next((use for use in alike if (use.low, use.high) == (low, high)), best)
    return Role(best.kind, first.text, low, high, first.exact, first.layer)


def _named_index(role: Role, named: Role | None, port: ModelPort) -> Role:
    """The role of an index, refined by its name: positions count up, boxes have ordered corners."""
    if role.text.startswith("ids ") and re.search(r"input_ids|tokens?$", port.name):
        return replace(role, text=f"token {role.text}")
    if named is None or named.kind not in ("counting", "corners"):
        return role
    return replace(role, kind=named.kind, text=named.text)


def _angle(role: Role, shape: Shape) -> Role:
    if (shape.rank or 0) > 1:
        return replace(role, kind="counting", text="positions", low=0, high=_UNLIMITED)
    return replace(role, kind="within", text="timesteps", low=1, high=_MOST_STEPS)


def _role_of_name(port: ModelPort, shape: Shape, shapes: Sequence[Shape]) -> Role | None:
    """The role that the name of an input suggests."""
    element_type = port.element_type
    is_whole = element_type.is_known and not element_type.is_float
    names = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in sorted({port.name, *port.names})]
    for pattern, role in _NAMES:
        if not any(re.search(pattern, name.split(":")[0]) for name in names):
            continue
        if role == "mask":
            return Role("mask", "mask by its name", 1, 1, reason="name")
        if role == "counting" and is_whole:
            text = "rows of beams" if "beam" in pattern else "positions"
            return Role("counting", text, 0, _UNLIMITED, reason="name")
        if role == "timestep" and element_type.is_known:
            return Role("within", "timesteps", 1, _MOST_STEPS, reason="name")
        if role == "index" and is_whole:
            return Role("index", "0 or 1 (types by their name)", 0, _SAFE, reason="name")
        if role == "lengths" and is_whole and (shape.rank or 0) <= 1:
            return Role("lengths", "lengths by their name", 1, _second_axis(shapes), reason="name")
        if role == "corners" and shape.dims and shape.dims[-1] == 4:
            return Role("corners", "corners of boxes", 0, 1 if element_type.is_float else _FEW, reason="name")
        if role == "image" and element_type.is_float and (shape.rank or 0) >= 3:
            return Role("image", "image", 0, 1, reason="name")
    return None


def _second_axis(shapes: Sequence[Shape]) -> int:
    """The least size of the second axis of all inputs: the limit of lengths without evidence from a layer."""
    sizes = [shape.dims[1].lo for shape in shapes if shape.dims is not None and len(shape.dims) > 1]
    return max(min(sizes, default=1), 1)


_RECORDS = element_types("u1 u3 u6 nf4")

_WORDS = ("alpha", "beta", "gamma", "delta")

_SCALES = (1.0, 0.1, 3.0)
"""Scale of floats without a range, by attempt. Integers without a range are 0 or 1 after the first attempt."""


def drawn_shape(port: ModelPort, requested: Shape | None) -> tuple[int, ...]:
    """The sizes of an input; dynamic dims have their least size, 1 or more.

    Raises:
        ShapeError: For an input of unknown rank without a shape.
        ResourceError: If the array does not fit into memory, or no array can have its shape.
    """
    shape = port.shape if requested is None else requested
    if shape.dims is None:
        raise ShapeError(
            f"input {port.name!r} has no known rank", expected="a shape for it", code=Code.input_array_shape
        )
    if len(shape.dims) > MOST_AXES:
        raise ResourceError(
            f"input {port.name!r} has",
            actual=len(shape.dims),
            detail="dims",
            expected=f"at most {MOST_AXES}",
            reason="as in NumPy",
        )
    sizes = tuple([max(dim.lo, 0 if dim.is_static else 1) for dim in shape.dims])
    require_array_size(sizes, 8)
    if math.prod(sizes) * 8 > default_budget():
        raise ResourceError(f"input {port.name!r} of shape {list(sizes)} does not fit into memory")
    return sizes


def draw(
    port: ModelPort, requested: Shape | None, random: np.random.Generator, role: Role = PLAIN, attempt: int = 0
) -> Array:
    """Random values for an input.

    Without a role, floats are normally distributed, integers of 16 bits or more are 0 or 1 (they usually are indices or
    masks), and narrower integers cover their whole range.

    Raises:
        IRError: The errors of `drawn_shape`.
    """
    sizes = drawn_shape(port, requested)
    element_type = port.element_type if port.element_type.is_known else ElementType.f32
    if element_type in STRING:
        return np.asarray(random.choice(_WORDS, sizes), object)
    if element_type in _RECORDS:
        return random.integers(0, 2**element_type.bits, sizes, np.uint8).view(element_type.dtype)
    if role.kind == "plain" or element_type is ElementType.f8e8m0:
        return _of_type(element_type, sizes, random, attempt)
    numbers = _DRAWN[role.kind](role, element_type, sizes, random)
    if attempt and role.text == "small integers":
        numbers = numbers % 2
    return np.asarray(numbers).astype(element_type.dtype)


def _of_type(element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator, attempt: int) -> Array:
    if element_type in BOOLEAN:
        return random.integers(0, 2, sizes).astype(np.bool_)
    if element_type is ElementType.f8e8m0:
        return np.exp2(random.integers(-4, 5, sizes)).astype(element_type.dtype)  # the type only has powers of two
    if element_type.is_float:
        return (random.standard_normal(sizes) * _SCALES[attempt % len(_SCALES)]).astype(element_type.dtype)
    if element_type.bits > 8:
        return random.integers(0, 2, sizes).astype(element_type.dtype)
    lowest = -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0
    return random.integers(lowest, lowest + 2**element_type.bits, sizes).astype(element_type.dtype)


def _between(
    low: float, high: float, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator
) -> Array:
    if element_type.is_float:
        return random.uniform(low, high, sizes)
    return random.integers(math.ceil(low), math.floor(high) + 1, sizes)


def _same(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    return np.full(sizes, role.low)


def _within(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    return _between(role.low, role.high, element_type, sizes, random)


def _indices(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    return random.integers(int(role.low), int(role.high) + 1, sizes)


def _counting(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    count = np.arange(sizes[-1] if sizes else 1) % int(role.high - role.low + 1) + int(role.low)
    return np.broadcast_to(count if sizes else count[0], sizes)


def _lengths(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    """Lengths in descending order, as packed sequences require; none is below half of the longest."""
    low, high = int(role.low), int(role.high)
    lengths = np.sort(random.integers(max(low, (high + 1) // 2), high + 1, math.prod(sizes)))[::-1]
    lengths[:1] = high
    return lengths.reshape(sizes)


def _offsets(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    count = math.prod(sizes)
    return (np.arange(count) * int(role.high) // max(count, 1)).reshape(sizes)


def _sorted_values(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    values = _between(role.low, role.high, element_type, sizes, random)
    return np.sort(values, axis=-1) if sizes else values


def _probabilities(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    weights = random.uniform(0.1, 1, sizes)
    return weights / weights.sum(axis=-1, keepdims=True) if sizes else np.ones(())


def _corners(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    """Corners of boxes: the first half of the last axis is below the second half."""
    middle = (role.low + role.high) / 2
    half = sizes[-1] // 2 if sizes else 0
    corners = np.asarray(_between(middle, role.high, element_type, sizes, random))
    if half:
        corners[..., :half] = _between(role.low, middle, element_type, (*sizes[:-1], half), random)
    return corners


def _exact(role: Role, element_type: ElementType, sizes: tuple[int, ...], random: np.random.Generator) -> Array:
    values = np.array(role.exact)
    return np.broadcast_to(values if sizes and values.size == sizes[-1] else values[:1].reshape(()), sizes)


_DRAWN: dict[str, Callable[[Role, ElementType, tuple[int, ...], np.random.Generator], Array]] = {
    "mask": _same,
    "index": _indices,
    "counting": _counting,
    "lengths": _lengths,
    "offsets": _offsets,
    "sorted": _sorted_values,
    "probabilities": _probabilities,
    "corners": _corners,
    "within": _within,
    "image": _within,
    "exact": _exact,
}
