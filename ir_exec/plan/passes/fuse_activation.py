"""Gelu, Swish, HSwish and Clamp, which exporters of ONNX files write as two to nine layers."""

from __future__ import annotations

from math import inf, isclose, isnan, pi, sqrt

from ir_exec.graph import Node, Value
from ir_exec.ops import Op
from ir_exec.plan.graph import Fusion, PlanGraph, beside, with_number
from ir_exec.types import element_types

__all__ = ["as_activation"]

_FLOATS = element_types("f32 f64")


def as_activation(draft: PlanGraph, node: Node) -> Fusion | None:
    """An Erf, Tanh, Sigmoid or HardSigmoid with what makes a Gelu, Swish or HSwish of it, and limits that are numbers.

    The results are rounded fewer times.
    """
    match = _MATCHES.get(draft.kind(node))
    found = None if match is None else match(draft, node)
    if found is None or draft.type(found.inputs[0]).element_type not in _FLOATS:
        return None
    # Numbers may have more axes than the data.
    same_rank = draft.type(found.inputs[0]).rank == draft.type(found.nodes[-1].outputs[0]).rank is not None
    return found if same_rank else None


def _as_swish(draft: PlanGraph, node: Node) -> Fusion | None:
    """x · sigmoid(x), or x · sigmoid(beta · x) with a beta that is known."""
    last = draft.only_reader(node.outputs[0])
    data = None if last is None else beside(last, node.outputs[0])
    if last is None or data is None or draft.kind(last) != "Multiply":
        return None
    if data is node.values_in[0]:
        return Fusion([node, last], _activation("Swish"), [data])
    scaled = draft.maker(node.values_in[0])
    beta = beside(scaled, data) if scaled is not None and with_number(draft, scaled, "Multiply") else None
    if scaled is None or beta is None or draft.type(beta).rank != 0:
        return None
    return Fusion([scaled, node, last], _activation("Swish"), [data, beta])


def _as_hswish(draft: PlanGraph, node: Node) -> Fusion | None:
    """x · max(0, min(1, x / 6 + 1 / 2))."""
    data, *numbers = node.values_in
    last = draft.only_reader(node.outputs[0])
    if last is None or draft.kind(last) != "Multiply" or beside(last, node.outputs[0]) is not data:
        return None
    slope, offset = map(draft.number, numbers)
    fits = slope is not None and isclose(slope, 1 / 6, rel_tol=1e-6) and offset == 0.5
    return Fusion([node, last], _activation("HSwish"), [data]) if fits else None


def _as_clamp(draft: PlanGraph, node: Node) -> Fusion | None:
    """max(x, least), min(x, most) or both in any order."""
    nodes, limits = [node], {"Maximum": -inf, "Minimum": inf}
    first = with_number(draft, node, *limits)
    if first is None or isnan(first[1]):
        return None
    limits[draft.kind(node)] = first[1]
    following = draft.only_reader(node.outputs[0])
    second = with_number(draft, following, *limits.keys() - {draft.kind(node)})
    if following is not None and second is not None:
        both = limits | {draft.kind(following): second[1]}
        if both["Maximum"] <= both["Minimum"]:
            nodes, limits = [node, following], both
    return Fusion(nodes, _activation("Clamp", min=limits["Maximum"], max=limits["Minimum"]), [first[0]])


def _as_gelu(draft: PlanGraph, node: Node) -> Fusion | None:
    """x / 2 · (1 + erf(x / √2)), x / 2 · (1 - erf(-x / √2)), or x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))),
    multiplied in any order."""
    is_exact = draft.kind(node) == "Erf"
    shifted = draft.only_reader(node.outputs[0])
    if shifted is None:
        return None
    is_opposite = is_exact and draft.kind(shifted) == "Subtract" and shifted.values_in[1] is node.outputs[0]
    one = with_number(draft, shifted, "Subtract" if is_opposite else "Add")
    factor = sqrt(0.5) if is_exact else sqrt(2 / pi)
    scaled = _scaled(draft, node.values_in[0], -factor if is_opposite else factor)
    if scaled is None or one is None or one[1] != 1:
        return None
    data, nodes = (scaled[0], []) if is_exact else _cubic(draft, scaled[0])
    if data is None:
        return None
    halved = _halved(draft, shifted.outputs[0], data)
    if halved is None:
        return None
    op = _activation("Gelu7", approximation_mode="erf" if is_exact else "tanh")
    return Fusion([*nodes, scaled[1], node, shifted, *halved], op, [data])


def _cubic(draft: PlanGraph, value: Value) -> tuple[Value | None, list[Node]]:
    """The x of x + 0.044715 · x³ with the nodes for it; None for anything else."""
    added = draft.maker(value)
    if added is None or draft.kind(added) != "Add":
        return None, []
    for data in added.values_in:
        other = beside(added, data)
        scaled = None if other is None else _scaled(draft, other, 0.044715)
        cubed = None if scaled is None else draft.maker(scaled[0])
        if scaled is None or cubed is None:
            continue
        nodes = [cubed, scaled[1], added]
        if with_number(draft, cubed, "Power") == (data, 3):
            return data, nodes
        square = beside(cubed, data) if draft.kind(cubed) == "Multiply" else None
        squared = None if square is None else draft.maker(square)
        if squared is not None and draft.kind(squared) == "Multiply" and squared.values_in == [data, data]:
            return data, [squared, *nodes]
    return None, []


def _halved(draft: PlanGraph, factor: Value, data: Value) -> list[Node] | None:
    """The nodes that multiply the data by a factor, and one of the three by 1/2."""
    first = draft.only_reader(factor)
    other = None if first is None else beside(first, factor)
    if first is None or other is None or draft.kind(first) != "Multiply":
        return None
    half = _scaled(draft, other, 0.5)
    if half is not None:
        return [half[1], first] if half[0] is data else None
    last = draft.only_reader(first.outputs[0])
    if last is None or draft.kind(last) != "Multiply":
        return None
    rest = {other, beside(last, first.outputs[0])} - {data}
    number = rest.pop() if len(rest) == 1 else None
    return [first, last] if number is not None and draft.number(number) == 0.5 else None


def _scaled(draft: PlanGraph, value: Value, factor: float) -> tuple[Value, Node] | None:
    """What is multiplied by a number to give a value, or divided by its reciprocal, and the node that does it.

    Files hold such numbers with seven digits and more.
    """
    node = draft.maker(value)
    found = with_number(draft, node, "Multiply", "Divide")
    if node is None or found is None:
        return None
    wanted = 1 / factor if draft.kind(node) == "Divide" else factor
    return (found[0], node) if isclose(found[1], wanted, rel_tol=1e-6) else None


def _activation(name: str, **attributes: str | float) -> Op:
    from ir_exec.ops.activation import functions  # most networks have none of these layers

    found: Op = getattr(functions, name)(**attributes)
    return found


_MATCHES = {
    "Erf": _as_gelu,
    "Tanh": _as_gelu,
    "Sigmoid": _as_swish,
    "HardSigmoid": _as_hswish,
    "Maximum": _as_clamp,
    "Minimum": _as_clamp,
}
