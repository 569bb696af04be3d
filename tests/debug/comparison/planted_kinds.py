"""Ten kinds of faults as converters and people make them, one at a time in a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from lxml import etree

from ir_exec import Model, read_model
from ir_exec.types import Array
from tests.debug.comparison.planted import Element, Planted, _id, _path, layers_of, visible

__all__ = ["KINDS", "one_of_each"]

_ACTIVATIONS = {
    "Gelu": "ReLU",
    "ReLU": "Tanh",
    "Sigmoid": "Tanh",
    "Tanh": "Sigmoid",
    "Erf": "Tanh",
    "Mish": "SoftPlus",
    "SoftPlus": "Mish",
    "HSwish": "HSigmoid",
    "HSigmoid": "Sigmoid",
    "Exp": "Sinh",
    "Sqrt": "Abs",
    "Sin": "Cos",
    "Cos": "Sin",
    "SoftMax": "LogSoftmax",
    "LogSoftmax": "SoftMax",
    "Log": "Abs",
    "Abs": "ReLU",
    "Floor": "Ceiling",
    "Ceiling": "Floor",
}
_BINARY = {
    "Add": "Subtract",
    "Subtract": "Add",
    "Multiply": "Add",
    "Divide": "Multiply",
    "Maximum": "Minimum",
    "Minimum": "Maximum",
    "Power": "Multiply",
    "SquaredDifference": "Subtract",
}
_REDUCTIONS = {
    "ReduceMean": "ReduceMax",
    "ReduceSum": "ReduceMean",
    "ReduceMax": "ReduceMin",
    "ReduceMin": "ReduceMax",
    "ReduceProd": "ReduceSum",
    "ReduceL2": "ReduceL1",
    "MaxPool": "AvgPool",
}
_LOGIC = {
    "Less": "GreaterEqual",
    "Greater": "LessEqual",
    "LessEqual": "Greater",
    "GreaterEqual": "Less",
    "Equal": "NotEqual",
    "NotEqual": "Equal",
    "LogicalAnd": "LogicalOr",
    "LogicalOr": "LogicalAnd",
}
_FLAGS = {"true": "false", "false": "true", "ERF": "TANH", "max": "min", "min": "max", "sum": "prod"}
_NOT_CHANGED = ("Const", "Parameter", "Result", "ReadValue", "Assign")

Change = Callable[[list[Element], bytearray, Random], "list[Element] | None"]
"""Changes one layer or constant, and returns the layers that hold the fault; None without a place for a change."""


def _rename_operators(types: dict[str, str]) -> Change:
    def change(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
        choices = [layer for layer in layers if layer.get("type") in types]
        if not choices:
            return None
        layer = random.choice(choices)
        layer.set("type", types[layer.get("type", "")])
        return [layer]

    return change


def _attributes(layers: list[Element], accept: Callable[[str, str], bool]) -> list[tuple[Element, str]]:
    return [
        (layer, name)
        for layer in layers
        if layer.get("type") not in _NOT_CHANGED and layer.find("data") is not None
        for name, text in layer.find("data").attrib.items()
        if accept(name, text)
    ]


def _flag(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
    choices = _attributes(layers, lambda name, text: text in _FLAGS)
    if not choices:
        return None
    layer, name = random.choice(choices)
    layer.find("data").set(name, _FLAGS[layer.find("data").get(name)])
    return [layer]


def _number(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
    """A stride, a pad, an axis, an epsilon or a limit."""

    def is_number(name: str, text: str) -> bool:
        return all(part.strip().lstrip("-").replace(".", "").replace("e-", "").isdigit() for part in text.split(","))

    choices = _attributes(layers, is_number)
    if not choices:
        return None
    layer, name = random.choice(choices)
    parts = layer.find("data").get(name).split(",")
    index = random.randrange(len(parts))
    is_whole = parts[index].strip().lstrip("-").isdigit()
    parts[index] = str(int(parts[index]) + random.choice([-1, 1]) if is_whole else float(parts[index]) * 3 + 0.5)
    layer.find("data").set(name, ",".join(parts))
    return [layer]


def _swap_operands(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
    """The operands of a layer that is not commutative."""
    choices = [
        layer for layer in layers if layer.get("type") in ("Subtract", "Divide", "Power", "MatMul", "Less", "Greater")
    ]
    if not choices:
        return None
    layer = random.choice(choices)
    edges = [edge for edge in layer.getparent().getparent().find("edges") if edge.get("to-layer") == layer.get("id")]
    if len(edges) != 2:
        return None
    first, second = (edge.get("to-port") for edge in edges)
    edges[0].set("to-port", second)
    edges[1].set("to-port", first)
    return [layer]


def _constant(kinds: dict[str, str], alter: Callable[[Array, Random], None]) -> Change:
    def change(layers: list[Element], weights: bytearray, random: Random) -> list[Element] | None:
        constants = [layer for layer in layers if layer.get("type") == "Const"]
        choices = [layer for layer in constants if layer.find("data").get("element_type") in kinds]
        if not choices:
            return None
        data = random.choice(choices).find("data")
        start, size = int(data.get("offset")), int(data.get("size"))
        values = np.frombuffer(bytes(weights[start : start + size]), kinds[data.get("element_type")]).copy()
        if not values.size:
            return None
        alter(values, random)
        weights[start : start + size] = values.tobytes()
        return [
            other
            for other in constants
            if int(other.find("data").get("offset")) < start + size
            and start < int(other.find("data").get("offset")) + int(other.find("data").get("size"))
        ]

    return change


def _one_element(values: Array, random: Random) -> None:
    values[random.randrange(values.size)] += np.asarray(random.choice([1, -1, 2]), values.dtype)


def _scale(values: Array, random: Random) -> None:
    values *= np.asarray(random.choice([0.5, 1.5, -1]), values.dtype)


def _shift(values: Array, random: Random) -> None:
    """The fault of a converter that reads a block from another place."""
    values[:] = np.roll(values, random.randrange(1, max(values.size, 2)))


_FLOATS = {"f32": "f4", "f16": "f2"}

KINDS: dict[str, Change] = {
    "activation": _rename_operators(_ACTIVATIONS),
    "binary operator": _rename_operators(_BINARY),
    "reduction": _rename_operators(_REDUCTIONS),
    "logic": _rename_operators(_LOGIC),
    "flag": _flag,
    "number": _number,
    "operands": _swap_operands,
    "scaled weights": _constant(_FLOATS, _scale),
    "shifted weights": _constant(_FLOATS, _shift),
    "integer constant": _constant({"i64": "<i8", "i32": "<i4"}, _one_element),
}


def one_of_each(xml: bytes, weights: bytes, inputs: list[Array], seed: int, tries: int = 12) -> Iterator[Planted]:
    """A fault of each kind that changes a value of its layer with these inputs, where one is found."""
    random = Random(seed)
    good: Model = read_model(xml, weights=weights)
    for change_type, change in KINDS.items():
        for _ in range(tries):
            root, changed = etree.fromstring(xml), bytearray(weights)
            faulty = change(layers_of(root), changed, random)
            if faulty is None:
                continue
            ids, paths = frozenset(map(_id, faulty)), frozenset(map(_path, faulty))
            fault = Planted(etree.tostring(root), bytes(changed), ids, paths, change_type)
            if visible(good, fault, inputs):
                yield fault
                break
