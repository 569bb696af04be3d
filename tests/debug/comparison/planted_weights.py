"""Faults in the weights of a network: one element, a sign, a row. Each changes one stored constant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from lxml import etree

from ir_exec.types import Array
from tests.debug.comparison.planted import Element, Planted, _id, _path, layers_of

__all__ = ["WEIGHT_KINDS", "weight_faults"]

_FLOATS = {"f32": "<f4", "f16": "<f2"}


def _one_by_one(values: Array, random: Random) -> None:
    values.reshape(-1)[random.randrange(values.size)] += np.asarray(1, values.dtype)


def _one_by_little(values: Array, random: Random) -> None:
    """0.1 % of the root mean square, as far as the type has such a number there."""
    flat = values.reshape(-1)
    rms = np.sqrt(np.mean(flat.astype(np.float64) ** 2))
    flat[int(np.argmax(np.abs(flat) <= rms))] += np.asarray(1e-3 * rms, values.dtype)


def _sign(values: Array, random: Random) -> None:
    flat = values.reshape(-1)
    position = int(np.argmax(np.abs(flat)))
    flat[position] = -flat[position]


def _row(values: Array, random: Random) -> None:
    rows = values.reshape(values.shape[0], -1)
    rows[random.randrange(len(rows))] *= np.asarray(-0.5, values.dtype)


def _swapped_rows(values: Array, random: Random) -> None:
    rows = values.reshape(values.shape[0], -1)
    rows[[0, -1]] = rows[[-1, 0]]


WEIGHT_KINDS: dict[str, Callable[[Array, Random], None]] = {
    "one weight by 1": _one_by_one,
    "one weight by 0.1 %": _one_by_little,
    "the sign of one weight": _sign,
    "a row": _row,
    "two rows": _swapped_rows,
}


def weight_faults(xml: bytes, weights: bytes, seed: int, tries: int = 8) -> Iterator[Planted]:
    """One fault of each kind, where a constant of floats has one."""
    random = Random(seed)
    for change_type, change in WEIGHT_KINDS.items():
        for _ in range(tries):
            fault = _plant_fault(xml, weights, change_type, change, random)
            if fault is not None:
                yield fault
                break


def _plant_fault(
    xml: bytes, weights: bytes, change_type: str, change: Callable[[Array, Random], None], random: Random
) -> Planted | None:
    root = etree.fromstring(xml)
    constants = [layer for layer in layers_of(root) if layer.get("type") == "Const"]
    choices = [layer for layer in constants if layer.find("data").get("element_type") in _FLOATS]
    if not choices:
        return None
    data = random.choice(choices).find("data")
    start, size = int(data.get("offset")), int(data.get("size"))
    shape = [int(dim) for dim in data.get("shape").split(",") if dim.strip()] or [1]
    dtype = np.dtype(_FLOATS[data.get("element_type")])
    values = np.frombuffer(weights, dtype, size // dtype.itemsize, start).reshape(shape).copy()
    if not values.size or not np.isfinite(values).all():
        return None
    before = values.copy()
    change(values, random)
    # A number that the type rounds to the old one, or rows of zeros, are no fault.
    error = np.abs(values.astype(np.float64) - before)
    if not (error > 1e-4 * np.sqrt(np.mean(before.astype(np.float64) ** 2))).any():
        return None
    changed = bytearray(weights)
    changed[start : start + size] = values.tobytes()
    layers = [layer for layer in constants if _overlaps(layer, start, size)]
    ids, paths = frozenset(map(_id, layers)), frozenset(map(_path, layers))
    return Planted(xml, bytes(changed), ids, paths, change_type)


def _overlaps(layer: Element, start: int, size: int) -> bool:
    first, count = (int(layer.find("data").get(name)) for name in ("offset", "size"))
    return first < start + size and start < first + count
