"""Networks with one fault: an attribute, a constant or an operator that was changed, with a visible effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
from lxml import etree

from ir_exec import IRError, Model, read_model
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.types import Array

__all__ = ["Planted", "layers_of", "plant_fault", "visible"]

Element = etree._Element

SWAPS = {
    "Add": "Subtract",
    "Subtract": "Add",
    "Multiply": "Add",
    "Divide": "Multiply",
    "Maximum": "Minimum",
    "Minimum": "Maximum",
    "ReLU": "Tanh",
    "Sigmoid": "Tanh",
    "Tanh": "Sigmoid",
    "Exp": "Sin",
    "Sqrt": "Abs",
    "Floor": "Ceiling",
    "Less": "GreaterEqual",
    "Greater": "LessEqual",
    "Equal": "NotEqual",
    "LogicalAnd": "LogicalOr",
    "LogicalOr": "LogicalAnd",
    "ReduceMean": "ReduceMax",
    "ReduceSum": "ReduceMax",
    "ReduceMax": "ReduceMin",
    "Swish": "Mish",
    "Cos": "Sin",
    "Sin": "Cos",
}
WORDS = {
    "true": "false",
    "false": "true",
    "max": "min",
    "min": "max",
    "ERF": "TANH",
    "half_to_even": "half_away_from_zero",
    "sum": "prod",
    "numpy": "pdpd",
    "reflect": "edge",
    "constant": "edge",
    "linear_onnx": "nearest",
    "nearest": "linear_onnx",
    "half_pixel": "asymmetric",
}


@dataclass(frozen=True)
class Planted:
    """The changed files; `ids` and `paths` are those of the layers that hold the fault: one of them is to be named."""

    xml: bytes
    weights: bytes
    ids: frozenset[str]
    paths: frozenset[str]
    kind: str


def layers_of(root: Element) -> list[Element]:
    """Layers of the network and of its bodies."""
    return list(root.iter("layer"))


def plant_fault(xml: bytes, weights: bytes, random: Random, *, bodies: bool = False) -> Planted | None:
    """One random change; None where the place that was chosen has nothing to change. bodies: only inside of bodies."""
    root = etree.fromstring(xml)
    layers = [layer for layer in layers_of(root) if not bodies or _is_inside(layer)]
    change_type = random.choice(["attribute", "attribute", "constant", "operator", "operator"])
    change = {"attribute": _attribute, "constant": _constant, "operator": _operator}[change_type]
    changed = bytearray(weights)
    faulty = change(layers, changed, random)
    if faulty is None:
        return None
    ids, paths = (frozenset(map(name_of, faulty)) for name_of in (_id, _path))
    return Planted(etree.tostring(root), bytes(changed), ids, paths, change_type)


def _id(layer: Element) -> str:
    return layer.get("id", "")


def _path(layer: Element) -> str:
    """`loop/body/name`."""
    ancestors = [
        iterancestor
        for iterancestor in layer.iterancestors()
        if iterancestor.tag == "layer" or iterancestor.tag.endswith("body")
    ]
    return "/".join(
        element.get("name", "") if element.tag == "layer" else element.tag for element in (*reversed(ancestors), layer)
    )


def _is_inside(layer: Element) -> bool:
    return any(ancestor.tag == "layer" for ancestor in layer.iterancestors())


def _operator(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
    choices = [layer for layer in layers if layer.get("type") in SWAPS]
    if not choices:
        return None
    layer = random.choice(choices)
    layer.set("type", SWAPS[layer.get("type", "")])
    return [layer]


def _attribute(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
    choices = [
        (layer, name)
        for layer in layers
        if layer.get("type") not in ("Const", "Parameter", "Result", "ReadValue", "Assign")
        for name in (layer.find("data").attrib if layer.find("data") is not None else ())
    ]
    if not choices:
        return None
    layer, name = random.choice(choices)
    data = layer.find("data")
    text = data.get(name, "")
    new = _change_text(text, random)
    if new is None:
        return None
    data.set(name, new)
    return [layer]


def _change_text(text: str, random: Random) -> str | None:
    if text in WORDS:
        return WORDS[text]
    parts = text.split(",")
    index = random.randrange(len(parts))
    part = parts[index].strip()
    try:
        parts[index] = str(int(part) + random.choice([-1, 1]))
    except ValueError:
        try:
            parts[index] = str(float(part) * 3 + 0.5)
        except ValueError:
            return None
    return ",".join(parts)


def _constant(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
    constants = [layer for layer in layers if layer.get("type") == "Const"]
    kinds = {"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32}
    choices = [layer for layer in constants if layer.find("data").get("element_type") in kinds]
    if not choices:
        return None
    layer = random.choice(choices)
    data = layer.find("data")
    dtype = np.dtype(kinds[data.get("element_type", "")])
    count = int(data.get("size", "0")) // dtype.itemsize
    if not count:
        return None
    start = int(data.get("offset", "0")) + random.randrange(count) * dtype.itemsize
    value = np.frombuffer(weights, dtype, 1, start).copy()
    value += np.asarray(random.choice([1, -1, 2]), dtype)
    weights[start : start + dtype.itemsize] = value.tobytes()
    return [
        other
        for other in constants
        if int(other.find("data").get("offset", "0")) <= start
        and start < int(other.find("data").get("offset", "0")) + int(other.find("data").get("size", "0"))
    ]


def visible(good: Model, fault: Planted, inputs: list[Array]) -> bool:
    """Return True if the changed network runs, and its layer gives other values: no fault is elsewhere."""
    try:
        bad = read_model(fault.xml, weights=fault.weights)
        mine, theirs = _values(good, inputs, fault.paths), _values(bad, inputs, fault.paths)
    except IRError:
        return False
    return any(_differs(mine[key], theirs[key]) for key in mine if key in theirs)


def _values(model: Model, inputs: list[Array], paths: frozenset[str]) -> dict[tuple[str, int], Array]:
    values: dict[tuple[str, int], Array] = {}

    def keep(visit: Visit) -> None:
        # The first iteration: later ones differ in what the changed layer gave before.
        if visit.path in paths and not any(visit.where.iterations):
            values.update({(visit.path, position): array for position, array in enumerate(visit.outputs)})

    Walker(model, threads=1).run(inputs, keep)
    return values


def _differs(mine: Array, theirs: Array) -> bool:
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return True
    if mine.dtype.kind != "f":
        return bool((mine != theirs).any())
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        return bool((np.nan_to_num(np.abs(a - b), nan=0.0) > 1e-3 * (1 + np.abs(b).max(initial=0))).any())


def faults(
    xml: bytes, weights: bytes, inputs: list[Array], *, count: int, seed: int, bodies: bool = False
) -> Iterator[Planted]:
    """This number of faults with a visible effect."""
    random = Random(seed)
    good = read_model(xml, weights=weights)
    correct = 0
    for _ in range(40 * count):
        fault = plant_fault(xml, weights, random, bodies=bodies)
        if fault is not None and visible(good, fault, inputs):
            yield fault
            correct += 1
            if correct == count:
                return
