"""Removal of layers that return their input."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ir_exec.graph import Node
from ir_exec.ops.base.registry import type_key
from ir_exec.rewrite.network import EditedNetwork
from ir_exec.rewrite.sizes import Sizes

__all__ = ["remove_identities"]


def remove_identities(network: EditedNetwork, sizes: Sizes) -> None:
    """Redirect the readers of every layer that changes nothing to its input."""
    for node in network.graph.nodes:
        rule = _RULES.get(type_key(node.type))
        if rule is None or node in network.removed or not node.is_whole or len(node.outputs) != 1:
            continue
        value = node.values_in[0]
        if (
            rule(network, sizes, node)
            and network.type(value).element_type is network.type(node.outputs[0]).element_type
        ):
            network.replace(node.outputs[0], network.current(value))


def _always(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
    """Return True: a Convert is an identity if the types are equal, which is checked for all rules."""
    return True


def _has_one_input(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
    return len(node.inputs) == 1


def _keeps_dims(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
    """Return True if the dims are equal, for layers that preserve the order of all elements."""
    dims = sizes.dims(node.values_in[0])
    return dims is not None and dims == sizes.dims(node.outputs[0])


def _keeps_all(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
    """Return True for a slice as long as the axis, with steps in its direction."""
    steps = network.constant_value(node.values_in[3]) if len(node.values_in) > 3 else None
    return steps is not None and bool((steps > 0).all()) and _keeps_dims(network, sizes, node)


def _keeps_order(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
    order, rank = network.constant_value(node.values_in[1]), network.type(node.values_in[0]).rank
    return order is not None and rank is not None and order.tolist() == list(range(rank))


def _pads_nothing(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
    pads = [network.constant_value(value) for value in node.values_in[1:3]]
    return all(pad is not None and not pad.any() for pad in pads)


def _neutral(element: int) -> Callable[[EditedNetwork, Sizes, Node], bool]:
    def is_neutral(network: EditedNetwork, sizes: Sizes, node: Node) -> bool:
        other = node.values_in[1]
        array = network.constant_value(other)
        if array is None or array.dtype == object or not bool(np.all(array == array.dtype.type(element))):
            return False
        return _keeps_dims(network, sizes, node)

    return is_neutral


_RULES: Mapping[str, Callable[[EditedNetwork, Sizes, Node], bool]] = {
    "broadcast": _keeps_dims,
    "concat": _has_one_input,
    "convert": _always,
    "divide": _neutral(1),
    "multiply": _neutral(1),
    "pad": _pads_nothing,
    "reshape": _keeps_dims,
    "slice": _keeps_all,
    "squeeze": _keeps_dims,
    "subtract": _neutral(0),
    "tile": _keeps_dims,
    "transpose": _keeps_order,
    "unsqueeze": _keeps_dims,
}
"""By type: return True if the output equals the first input. Add of 0 is not an identity: -0 becomes 0."""
