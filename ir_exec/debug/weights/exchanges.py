"""Weights in exchanged layers of a model without names: the structure states which tensor each layer should read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ir_exec.debug.weights.matching import WeightMatch
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.names import generalize_name, split_name

__all__ = ["find_exchanged"]

_LEAST_LAYERS = 3
"""Minimum number of layers that show the computation with a tensor."""

_LEAST_IN_ORDER = 4
"""Minimum number of layers of which an exchanged pair is no reversed order."""

_MOST_MEMBERS = 500
"""Maximum number of weights in other layers than usual: more of them are the structure of the model."""

_USES: Mapping[str, str] = {
    **dict.fromkeys(("q_proj", "query", "q_lin", "query_proj", "q_linear", "to_q", "wq", "q"), "query"),
    **dict.fromkeys(("k_proj", "key", "k_lin", "key_proj", "k_linear", "to_k", "wk", "k"), "key"),
    **dict.fromkeys(("v_proj", "value", "v_lin", "value_proj", "v_linear", "to_v", "wv", "v"), "value"),
    **dict.fromkeys(("gate_proj", "gate"), "gate"),
    **dict.fromkeys(("up_proj", "up"), "up"),
}
"""Words in the names of tensors that state the use of a weight."""

_ATTENTION = frozenset({"query", "key", "value"})

_BRANCHES = frozenset({"gate", "up"})


class _Member(NamedTuple):
    """A weight of one tensor, which no other weight has."""

    weight: ModelWeight
    tensor: str
    match: WeightMatch

    @property
    def named_use(self) -> str | None:
        """The use that the path of the tensor's module states; None unless exactly one word does."""
        uses = [_USES[word] for word in split_name(self.tensor)[:-1] if word in _USES]
        return uses[0] if len(uses) == 1 else None

    @property
    def use(self) -> str | None:
        """The use of the weight in the model."""
        return None if self.weight.role is None else self.weight.role.use

    @property
    def family(self) -> frozenset[str]:
        """The uses that may be exchanged with the one that the name states; empty if the model has another one."""
        for family in (_ATTENTION, _BRANCHES):
            if self.named_use in family and self.use in family:
                return family
        return frozenset()


Equality = Callable[[WeightMatch, WeightMatch], bool]


def find_exchanged(explained: Mapping[ModelWeight, WeightMatch], are_equal: Equality) -> dict[ModelWeight, str]:
    """The tensors that weights should be, for pairs of weights that are exchanged.

    A weight is only named if all evidence agrees: the uses of an attention, the computation with the same tensor of
    the other layers, and the order of layers.

    Args:
        explained: The weights that no name states a tensor for, and the tensors that they are.
        are_equal: Return True for tensors of equal numbers.
    """
    counts = Counter(match.sources[0].name for match in explained.values())
    members = [
        _Member(weight, match.sources[0].name, match)
        for weight, match in explained.items()
        if weight.role is not None and counts[match.sources[0].name] == 1
    ]
    by_tensor = {member.tensor: member for member in members}
    exchanged: set[str] = set()
    for a, b in (*_find_by_use(members), *_find_by_computation(members)):
        if not exchanged & {a.tensor, b.tensor} and not are_equal(a.match, b.match):
            exchanged |= {a.tensor, b.tensor}
            by_tensor[a.tensor], by_tensor[b.tensor] = b, a
    _order_layers(by_tensor, are_equal)
    return {member.weight: tensor for tensor, member in by_tensor.items() if tensor != member.tensor}


def _find_by_use(members: Iterable[_Member]) -> Iterator[tuple[_Member, _Member]]:
    """Pairs of an attention, and of the branches of a product, whose names state the use of each other."""
    related = [member for member in members if member.family]
    # Which factor is the query is a convention, as is the activated branch: other layers must adhere to it.
    totals = Counter(member.family for member in related)
    adhering = Counter(member.family for member in related if member.named_use == member.use)
    trusted = {family for family, total in totals.items() if 2 * adhering[family] >= total}
    other_uses = [
        member
        for member in related
        if member.named_use != member.use and (member.family in trusted or "value" in (member.use, member.named_use))
    ]

    def fits(a: _Member, b: _Member) -> bool:
        swapped_uses = (a.use, a.named_use) == (b.named_use, b.use)
        return swapped_uses and a.weight.elements == b.weight.elements

    yield from _pair(other_uses, fits, lambda member: _without_use(member.tensor))


def _without_use(tensor: str) -> tuple[str, ...]:
    """The words of a name without the one that states the use."""
    return tuple(["" if word in _USES else word for word in split_name(tensor)])


def _find_by_computation(members: Iterable[_Member]) -> Iterator[tuple[_Member, _Member]]:
    """Pairs with the computation that the tensors of the other have in most layers."""
    by_template: dict[str, list[_Member]] = {}
    for member in members:
        by_template.setdefault(generalize_name(member.tensor), []).append(member)
    usual: dict[str, object] = {}
    for template, layers in by_template.items():
        (signature, count), *others = Counter(map(_signature, layers)).most_common(2)
        # The first or the last layer may be another computation by itself.
        is_most_usual = count > 1 and 2 * count >= len(layers) and all(number < count for _, number in others)
        if len(layers) >= _LEAST_LAYERS and is_most_usual:
            usual[template] = signature
    other = [
        member
        for template, layers in by_template.items()
        for member in layers
        if template in usual and _signature(member) != usual[template]
    ]

    def fits(a: _Member, b: _Member) -> bool:
        uses = usual[generalize_name(a.tensor)], usual[generalize_name(b.tensor)]
        return (_signature(b), _signature(a)) == uses and a.weight.elements == b.weight.elements

    yield from _pair(other, fits, lambda member: _numbers(member.tensor))


def _signature(member: _Member) -> object:
    return None if member.weight.role is None else member.weight.role.signature


def _numbers(tensor: str) -> tuple[str, ...]:
    return tuple([word for word in split_name(tensor) if word.isdigit()])


def _pair(
    members: list[_Member], fits: Callable[[_Member, _Member], bool], layer_of: Callable[[_Member], object]
) -> Iterator[tuple[_Member, _Member]]:
    """Pairs in which each is the only one that fits the other, in the same layer or else in all."""
    if len(members) > _MOST_MEMBERS:
        return
    partners = {
        a.weight: [b for b in members if b is not a and fits(a, b) and layer_of(a) == layer_of(b)]
        or [b for b in members if b is not a and fits(a, b)]
        for a in members
    }
    for position, a in enumerate(members):
        for b in members[position + 1 :]:
            if partners[a.weight] == [b] and partners[b.weight] == [a]:
                yield a, b


def _order_layers(by_tensor: dict[str, _Member], are_equal: Equality) -> None:
    """Exchange the weights of two layers that the model computes with in exchanged order.

    Args:
        by_tensor: The weights that should be each tensor, which are changed.
    """
    lists: dict[tuple[str, ...], dict[tuple[str, ...], dict[int, str]]] = {}
    for tensor in by_tensor:
        words = split_name(tensor)
        for position, word in enumerate(words):
            if word.isdigit():
                of_list = lists.setdefault(words[:position], {})
                of_list.setdefault(words[position + 1 :], {})[int(word)] = tensor
    # Lists inside others (experts, blocks of a stage) are in order only after those that contain them.
    for prefix in sorted(lists, key=len):
        for first, second in _find_by_order(lists[prefix].values(), by_tensor):
            a, b = by_tensor[first], by_tensor[second]
            if a.weight.elements == b.weight.elements and not are_equal(a.match, b.match):
                by_tensor[first], by_tensor[second] = b, a


def _find_by_order(of_list: Iterable[dict[int, str]], by_tensor: Mapping[str, _Member]) -> Iterator[tuple[str, str]]:
    """Pairs of tensors of a list of layers in exchanged order."""
    orders = [
        (tensors, order)
        for tensors in of_list
        if len(tensors) > 1 and (order := _order(tensors, by_tensor)) is not None
    ]
    other = [(tensors, order) for tensors, order in orders if order != sorted(order)]
    pairs = [_exchanged_pair(order) for _, order in other]
    if None in pairs or not _is_certain(orders, len(other), {pair for pair in pairs if pair}, by_tensor):
        return
    for (tensors, _), pair in zip(other, pairs, strict=True):
        assert pair is not None, "lists with other orders are left out"
        yield tensors[pair[0]], tensors[pair[1]]


def _order(tensors: Mapping[int, str], by_tensor: Mapping[str, _Member]) -> list[int] | None:
    """The numbers in the order of the layers; None if the layers are not all one after another, or differ in kind."""
    roles = [(number, by_tensor[tensor].weight.role) for number, tensor in tensors.items()]
    ordered = [(number, role) for number, role in roles if role is not None]
    ordered.sort(key=lambda pair: (pair[1].depth, -pair[1].height))
    for (_, before), (_, after) in pairwise(ordered):
        if not before.precedes(after) or before.signature[:2] != after.signature[:2]:
            return None
    return [number for number, _ in ordered]


def _exchanged_pair(order: list[int]) -> tuple[int, int] | None:
    """The two numbers that are in the place of each other; None for any other order."""
    different = [number for number, usual in zip(order, sorted(order), strict=True) if number != usual]
    return (min(different), max(different)) if len(different) == 2 else None


def _is_certain(
    orders: list[tuple[dict[int, str], list[int]]],
    count: int,
    pairs: set[tuple[int, int]],
    by_tensor: Mapping[str, _Member],
) -> bool:
    """Return True if the order of layers is that of their numbers.

    Most tensors show it. If all are exchanged in the same way, at least four layers do, of which the others are in
    order; blocks with an attention are never computed in reversed order.
    """
    if 2 * count < len(orders):
        return True
    if count != len(orders) or len(pairs) != 1 or count < 2:
        return False
    uses = {"attention", *_ATTENTION}
    is_attention = any(by_tensor[tensor].use in uses for tensors, _ in orders for tensor in tensors.values())
    return is_attention or min(len(order) for _, order in orders) >= _LEAST_IN_ORDER
