"""Attributes that differ between two files although the values of a run agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ir_exec.debug.comparison.known import Place
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.graph import Node
from ir_exec.model import Model
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const, Parameter

__all__ = ["other_attributes"]


def other_attributes(model: Model, reference: Model, partners: Mapping[Key, Entry]) -> dict[Place, tuple[str, ...]]:
    """Return the names of the attributes that both files specify with different values, by layer.

    A layer of another type has the name `type`.
    """
    theirs = dict(_nodes(reference))
    differing = {}
    for (scope, layer_id), node in _nodes(model):
        partner = partners.get((scope, layer_id, 0))
        other = None if partner is None else theirs.get(partner.key[:2])
        if other is None or isinstance(node.op, (Const, Parameter)) or isinstance(other.op, Const):
            continue
        names = ("type",) if canonical(other.type) != canonical(node.type) else tuple(_differing(node, other))
        if names:
            differing[scope, layer_id] = names
    return differing


def _nodes(model: Model) -> Iterator[tuple[Place, Node]]:
    for scope, graph in model.graph.scopes():
        for node in graph.nodes:
            yield (scope, node.id), node


def _differing(node: Node, other: Node) -> Iterator[str]:
    for name, text in node.layer.data.items():
        if name in other.layer.data and _numbers(text) != _numbers(other.layer.data[name]):
            yield name


def _numbers(text: str) -> tuple[float | str, ...]:
    """Return the elements of an attribute, so that `1.0` equals `1`."""
    return tuple([_number(part.strip().lower()) for part in text.split(",")])


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
