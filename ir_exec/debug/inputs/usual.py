"""Typical sizes of dynamic dims, tried before it is known whether the model accepts them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ir_exec.model import ModelPort
from ir_exec.types import Shape

__all__ = ["usual_sizes", "with_past"]

_ROWS, _LENGTH, _SIDE, _COLOURS = 2, 8, 32, 3
"""Sizes of dynamic dims, if the model accepts them: of the first axis, of other axes, of images, and their channels."""


_LISTS = re.compile(r"(^|_)(ids|indices|tokens)\d*$", re.IGNORECASE)
"""Names of vectors whose length is independent of the number of rows."""


def usual_sizes(ports: Sequence[ModelPort], shapes: Sequence[Shape]) -> list[int]:
    """Typical sizes of all dims. A mask of an image has the size of the image; a matrix of features has many rows."""
    usual = [_usual(port, shape) for port, shape in zip(ports, shapes, strict=True)]
    matrices = [
        number
        for number, (port, shape) in enumerate(zip(ports, shapes, strict=True))
        if _is_float(port) and shape.dims is not None and len(shape.dims) == 2
    ]
    if max(map(len, usual), default=0) <= 2:
        for number in matrices:
            # A single matrix with two dynamic dims may be audio.
            if len(matrices) > 1 or shapes[number][1].is_static:
                usual[number] = [_LENGTH, _LENGTH]
    if any(_SIDE in sizes for sizes in usual):
        usual = [[_ROWS, _SIDE, _SIDE] if len(sizes) == 3 else sizes for sizes in usual]
    return [size for sizes in usual for size in sizes]


def _usual(port: ModelPort, shape: Shape) -> list[int]:
    """Typical sizes of each axis: two rows of eight elements, or two images of 32 by 32."""
    dims = shape.dims or ()
    if len(dims) == 1:
        return [_LENGTH if _LISTS.search(port.name) else _ROWS]
    sizes = [_ROWS if axis == 0 else _LENGTH for axis in range(len(dims))]
    element_type = port.element_type
    if len(dims) != 4 or not (element_type.is_known and (element_type.is_float or element_type.bits == 8)):
        return sizes
    few = [not dim.is_static or dim.lo in (1, _COLOURS) for dim in dims]
    is_open = [not dim.is_static for dim in dims]
    is_coloured = not is_open[1] and dims[1].lo == _COLOURS
    if is_coloured or (few[3] and not is_open[3] and any(is_open[1:3])) or (is_open[3] and few[1]):
        channels = 1 if is_coloured or is_open[3] else 3
        sizes = [_ROWS, *[_COLOURS if axis == channels else _SIDE for axis in (1, 2, 3)]]
    return sizes


def with_past(ports: Sequence[ModelPort], shapes: Mapping[int, Shape]) -> dict[int, Shape] | None:
    """Shapes with attention masks as long as the past and the new tokens together; None if the model has no past.

    A mask that is too short may be accepted as well, because elements gathered past its end are 0.

    Args:
        shapes: The shapes of all inputs, by number.
    """
    if len(shapes) < len(ports):
        return None
    names = [port.name.lower() for port in ports]
    pasts = [
        shapes[number][axis].lo
        for number, port in enumerate(ports)
        if "past" in names[number] and _is_float(port) and len(shapes[number]) == 4
        for axis in (1, 2, 3)
        if port.shape.dims is None or not port.shape[axis].is_static
    ]
    # Vectors of tokens have one sequence.
    tokens = [
        shapes[number][-1].lo
        for number, name in enumerate(names)
        if name in ("input_ids", "decoder_input_ids") and shapes[number].rank in (1, 2)
    ]
    masks = [number for number, name in enumerate(names) if name in ("attention_mask", "decoder_attention_mask")]
    longer = dict(shapes)
    for number in masks:
        if pasts and tokens and len(shapes[number]) == 2:
            longer[number] = Shape([shapes[number][0], tokens[0] + pasts[0]])
    return None if longer == shapes else longer


def _is_float(port: ModelPort) -> bool:
    return port.element_type.is_known and port.element_type.is_float
