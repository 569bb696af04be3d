"""Weights that have the numbers of a tensor, but not of the one that their names state, or not in its order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ir_exec.debug.comparison.pairing.structure import is_generated
from ir_exec.debug.weights.comparing_values import Relation
from ir_exec.debug.weights.exchanges import find_exchanged
from ir_exec.debug.weights.layouts import read_flat, squeeze_shape
from ir_exec.debug.weights.matching import Matcher, WeightMatch
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.names import generalize_name, split_name
from ir_exec.debug.weights.readers.tensors import CheckpointTensor
from ir_exec.debug.weights.records import WeightFault

__all__ = ["equal_tensors", "fault_of", "find_misplaced"]

_CHUNK = 2**22
_LEAST_LAYERS = 3
"""Minimum number of layers that show which names belong together."""

_LARGEST_EXCHANGE = 2
"""Maximum number of layers whose number is not that of their tensor, if there are few layers."""

_SIGN = 0.02
"""Maximum difference of a factor from -1 for a wrong sign."""

Matches = Mapping[ModelWeight, WeightMatch | None]


def find_misplaced(matches: Matches, matcher: Matcher, checkpoint_format: str) -> Iterator[WeightFault]:
    """Yield the faults of weights whose numbers are explained, but are in a wrong place or order."""
    explained = {weight: match for weight, match in matches.items() if match is not None and match.is_explained}
    yield from _find_other_tensors(explained, matcher)
    yield from _find_transposed(explained)
    for match in explained.values():
        yield from _find_orders(match, checkpoint_format)
    yield from _find_scaled(explained)


def fault_of(weight: ModelWeight, category: str, message: str, **details: object) -> WeightFault:
    """A fault of a weight."""
    layer = weight.readers[0].path if weight.readers else None
    return WeightFault.model_validate(
        {
            "category": category,
            "path": weight.name,
            "layer_ids": weight.layer_ids,
            "layer": layer,
            "bytes": weight.size,
            "elements": weight.elements,
            "message": message,
            **details,
        }
    )


def equal_tensors(a: CheckpointTensor, b: CheckpointTensor) -> bool:
    """Return True if two tensors have equal numbers."""
    size = int(np.prod(a.shape))
    if size != int(np.prod(b.shape)) or squeeze_shape(a.shape) != squeeze_shape(b.shape):
        return False
    return all(
        np.array_equal(read_flat(a, start, min(start + _CHUNK, size)), read_flat(b, start, min(start + _CHUNK, size)))
        for start in range(0, size, _CHUNK)
    )


def _find_other_tensors(explained: Mapping[ModelWeight, WeightMatch], matcher: Matcher) -> Iterator[WeightFault]:
    """Weights with the numbers of another tensor than their names state."""
    wrong: dict[ModelWeight, str] = {}
    single = {
        weight: match
        for weight, match in explained.items()
        if len(match.sources) == 1 and not match.sources[0].is_computed and not _is_part(match)
    }
    unnamed = {weight: match for weight, match in single.items() if matcher.find_expected(weight) is None}
    usual = _learn_names(unnamed, matcher)
    alone = {weight: match for weight, match in unnamed.items() if weight not in usual}
    wrong |= find_exchanged(alone, lambda a, b: equal_tensors(a.sources[0].tensor, b.sources[0].tensor))
    for weight, match in single.items():
        if weight in wrong:
            continue
        named = matcher.find_expected(weight)
        actual = match.sources[0]
        if weight in usual and usual[weight] != actual.name:
            if not equal_tensors(actual.tensor, matcher.by_name[usual[weight]].tensor):
                wrong[weight] = usual[weight]
            continue
        is_certain = named is not None and named.is_complete and named.is_parameter
        if named is not None and is_certain and actual.name not in named.tensors:
            others = [matcher.by_name[name] for name in sorted(named.tensors)]
            if not any(equal_tensors(actual.tensor, other.tensor) for other in others):
                wrong[weight] = others[0].name
            continue
        for name in _tensors_of_readers(weight, matcher, actual.name):
            if not equal_tensors(actual.tensor, matcher.by_name[name].tensor):
                message = f"the layer of {name} reads the values of {actual.name}, expected its own"
                yield fault_of(weight, "tied", message, tensors=(name,), actual_tensors=(actual.name,))
                break
    holders = {explained[weight].sources[0].name: weight for weight in wrong}
    swapped: dict[tuple[str, ...], list[ModelWeight]] = {}
    for weight, expected in wrong.items():
        actual_name = explained[weight].sources[0].name
        low, high = explained[weight].comparison.range
        if low == high:
            # Another tensor may be constant, too.
            category = "zero" if low == 0 else "constant"
            message = f"all {weight.elements:,} values are {low:.6g}, expected {expected}"
            yield fault_of(weight, category, message, tensors=(expected,))
            continue
        partner = holders.get(expected)
        if partner is not None and wrong[partner] == actual_name:
            swapped.setdefault(tuple(sorted(_numbers_that_differ(expected, actual_name))), []).append(weight)
            continue
        is_head = "embed" in actual_name and weight.is_read_as("matrix")
        category = "tied" if is_head else "other tensor"
        message = f"the values are those of {actual_name}, expected {expected}"
        yield fault_of(weight, category, message, tensors=(expected,), actual_tensors=(actual_name,))
    for numbers, members in swapped.items():
        yield from _describe_swaps(numbers, members, wrong, explained)


def _learn_names(unnamed: Mapping[ModelWeight, WeightMatch], matcher: Matcher) -> dict[ModelWeight, str]:
    """The tensors that weights should be if their layers have other names than the tensors, as in GGUF.

    The layers of a model show the tensor of a name: `layers.#.self_attn.q_proj` is `blk.#.attn_q.weight` in most.
    """
    pairs: dict[str, Counter[str]] = {}
    for weight, match in unnamed.items():
        pairs.setdefault(generalize_name(weight.name), Counter())[generalize_name(match.sources[0].name)] += 1
    expected: dict[str, dict[ModelWeight, str]] = {}
    for weight in unnamed:
        pattern = generalize_name(weight.name)
        template, count = pairs[pattern].most_common(1)[0]
        if count < _LEAST_LAYERS or count * 3 < 2 * pairs[pattern].total() or is_generated(weight.name):
            continue
        name = template
        for number in re.findall(r"\d+", weight.name):
            name = name.replace("#", number, 1)
        if name in matcher.by_name:
            expected.setdefault(pattern, {})[weight] = name
    return {
        weight: name
        for pattern, names in expected.items()
        if _have_equal_numbers(names, unnamed, pairs[pattern].total())
        for weight, name in names.items()
    }


def _have_equal_numbers(
    names: Mapping[ModelWeight, str], unnamed: Mapping[ModelWeight, WeightMatch], count: int
) -> bool:
    """Return True if the numbers of most layers are those of their tensors, apart from one exchanged pair.

    Names like `convolution_1` are numbered by the exporter.

    Args:
        names: The tensors that are expected, if they exist.
        count: The number of layers.
    """
    equal = sum(unnamed[weight].sources[0].name == name for weight, name in names.items())
    return equal > 0 and (count - equal <= _LARGEST_EXCHANGE or 2 * equal >= count)


def _is_part(match: WeightMatch) -> bool:
    """Return True for some rows of a tensor, such as positions."""
    return match.weight.elements != prod(match.sources[0].tensor.shape)


def _describe_swaps(
    numbers: tuple[str, ...],
    members: Sequence[ModelWeight],
    wrong: Mapping[ModelWeight, str],
    explained: Mapping[ModelWeight, WeightMatch],
) -> Iterator[WeightFault]:
    """One fault for two layers with all their weights, and else one for each pair."""
    pairs: dict[frozenset[str], ModelWeight] = {}
    holders = {explained[weight].sources[0].name: weight for weight in members}
    for weight in members:
        pairs.setdefault(frozenset((wrong[weight], explained[weight].sources[0].name)), weight)
    size = sum(weight.size for weight in members)
    if numbers and len(pairs) > 1:
        weight = members[0]
        message = (
            f"the weights of layers {' and '.join(numbers)} are swapped ({len(members):,} constants): the values are "
            f"those of {explained[weight].sources[0].name}, expected {wrong[weight]}"
        )
        names = tuple([wrong[weight] for weight in members])
        actual = tuple([explained[weight].sources[0].name for weight in members])
        yield fault_of(weight, "swapped", message, tensors=names, actual_tensors=actual, bytes=size)
        return
    for weight in pairs.values():
        actual_name = explained[weight].sources[0].name
        partner = holders[wrong[weight]].name
        message = f"swapped with {partner}: the values are those of {actual_name}, expected {wrong[weight]}"
        yield fault_of(weight, "swapped", message, tensors=(wrong[weight],), actual_tensors=(actual_name,))


def _numbers_that_differ(a: str, b: str) -> set[str]:
    """The numbers that differ in two names that are equal without numbers."""
    if generalize_name(a) != generalize_name(b):
        return set()
    pairs = zip(re.findall(r"\d+", a), re.findall(r"\d+", b), strict=True)
    return {number for pair in pairs if pair[0] != pair[1] for number in pair}


def _tensors_of_readers(weight: ModelWeight, matcher: Matcher, actual: str) -> Iterator[str]:
    """The tensors that single readers of a shared weight state."""
    if len(weight.readers) < 2:
        return
    for reader in weight.readers:
        named = matcher.find_named((reader.path,), weight.elements)
        if named is not None and named.is_complete and actual not in named.tensors and len(named.tensors) == 1:
            yield next(iter(named.tensors))


def _find_transposed(explained: Mapping[ModelWeight, WeightMatch]) -> Iterator[WeightFault]:
    """Square matrices in another orientation than the other weights of their kind."""
    orientations: dict[ModelWeight, bool] = {}
    # Parameters of other names than those of linear layers may have another orientation.
    for weight, match in explained.items():
        if match.layout is None or len(match.layout.shape) != 2 or match.sources[0].is_computed:
            continue
        flags = {reader.is_transposed for reader in weight.readers}
        if flags == {None} or len(flags) != 1:
            is_square = match.layout.shape[0] == match.layout.shape[1]
            is_unknown = is_square and not match.layout.is_row_major and flags == {None}
            if is_unknown and weight.is_read_as("table", "filters"):
                yield _describe_transposed(weight, match)
            continue
        orientations[weight] = match.layout.is_row_major == flags.pop()
    by_kind: dict[str, Counter[bool]] = {}
    by_leaf: dict[str, Counter[bool]] = {}
    for weight, orientation in orientations.items():
        layout = explained[weight].layout
        assert layout is not None, "only single tensors have an orientation"
        is_square = layout.shape[0] == layout.shape[1]
        by_kind.setdefault(_kind_of(explained[weight]), Counter())[orientation] += 1
        if not is_square and "embed" not in explained[weight].sources[0].name:
            by_leaf.setdefault(_leaf_of(explained[weight]), Counter())[orientation] += 1
    for weight, orientation in orientations.items():
        match = explained[weight]
        assert match.layout is not None, "only single tensors have an orientation"
        if match.layout.shape[0] != match.layout.shape[1]:
            continue
        votes = by_kind[_kind_of(match)]
        against = votes[not orientation] - votes[orientation]
        if against == 0 or sum(votes.values()) == 1:
            usual = by_leaf.get(_leaf_of(match), Counter())
            against = usual[not orientation] - usual[orientation]
        if against > 0:
            yield _describe_transposed(weight, match)


def _describe_transposed(weight: ModelWeight, match: WeightMatch) -> WeightFault:
    name = match.sources[0].name
    message = f"the square matrix is {name} transposed, expected the orientation of the other weights"
    return fault_of(weight, "transposed", message, tensors=(name,), actual_tensors=(name,))


def _leaf_of(match: WeightMatch) -> str:
    """The name of the parameter of a module."""
    return match.sources[0].name.rpartition(".")[2]


def _kind_of(match: WeightMatch) -> str:
    return generalize_name(match.sources[0].name)


def _find_orders(match: WeightMatch, checkpoint_format: str) -> Iterator[WeightFault]:
    """Rows in another order, and tensors of a mixture in another order than their numbers."""
    weight = match.weight
    names = tuple([source.name for source in match.sources])
    permuted = next((word for word in match.transformations if word.startswith("rows permuted")), None)
    # Converters to and from GGUF change the order of rows for rotary embeddings.
    if permuted is not None and (checkpoint_format != "gguf" or "rotary" not in permuted):
        message = f"the values are those of {names[0]} with its {permuted}, expected the order of the tensor"
        yield fault_of(weight, "permuted rows", message, tensors=names, actual_tensors=names)
    if len(names) > 1 and "concatenated" in match.transformations:
        members = [name for name in names if generalize_name(name) == generalize_name(names[0])]
        numbers = [tuple([int(word) for word in split_name(name) if word.isdigit()]) for name in members]
        if len(members) == len(names) and numbers != sorted(numbers):
            first = next(
                index for index, pair in enumerate(zip(numbers, sorted(numbers), strict=True)) if pair[0] != pair[1]
            )
            expected = members[numbers.index(sorted(numbers)[first])]
            message = f"part {first} has the values of {members[first]}, expected {expected}"
            yield fault_of(weight, "expert order", message, tensors=tuple(sorted(names)), actual_tensors=names)


def _find_scaled(explained: Mapping[ModelWeight, WeightMatch]) -> Iterator[WeightFault]:
    """Weights that are a multiple of a tensor, unless all weights of their kind are."""
    by_kind: dict[str, list[WeightMatch]] = {}
    factors: dict[str, list[float]] = {}
    for match in explained.values():
        by_kind.setdefault(_kind_of(match), []).append(match)
        if match.relation.form == "scaled":
            factors.setdefault(_module_name(match), []).append(match.relation.factor)
    for members in by_kind.values():
        scaled = [match for match in members if _is_scaled(match)]
        plus_one = [match for match in members if match.relation.form == "plus one"]
        is_usual = len(scaled) == len(members) > 1 and len({match.relation.form for match in scaled}) == 1
        for match in scaled:
            names = tuple([source.name for source in match.sources])
            if match.weight.is_unscaled:
                yield _describe_sign(match)
                continue
            if match.relation.form == "scaled":
                same = [factor for factor in factors[_module_name(match)] if _are_close(factor, match.relation.factor)]
                if is_usual or len(same) > 1 or _is_usual_factor(match.relation, match):
                    continue
                if abs(match.relation.factor + 1) < _SIGN:
                    yield _describe_sign(match)
                    continue
                message = f"the values are {match.relation.factor:.6g} times those of {names[0]}, expected 1 time"
            elif is_usual:
                continue
            else:
                axis = match.relation.form.removeprefix("scaled ")
                message = f"the {axis} are multiples of those of {names[0]}, expected its values"
            yield fault_of(match.weight, "scale", message, tensors=names, actual_tensors=names)
        if 0 < len(plus_one) * 2 < len(members):
            for match in plus_one:
                message = f"the values are those of {match.sources[0].name} plus one, expected its values"
                yield fault_of(match.weight, "scale", message, tensors=match.names, actual_tensors=match.names)


def _describe_sign(match: WeightMatch) -> WeightFault:
    names = tuple([source.name for source in match.sources])
    message = f"the sign of all values is wrong, expected {names[0]}"
    return fault_of(match.weight, "sign", message, tensors=names, actual_tensors=names)


def _module_name(match: WeightMatch) -> str:
    """The last word of the path of a module, such as that of all queries."""
    return split_name(match.sources[0].name)[-2:-1][0] if "." in match.sources[0].name else ""


def _are_close(a: float, b: float) -> bool:
    return abs(a - b) <= _SIGN * abs(b)


def _is_scaled(match: WeightMatch) -> bool:
    """Return True for a multiple of a tensor, unless the factors are those of another tensor, or of later layers."""
    relation = match.relation
    if not relation.form.startswith("scaled") or relation.factors is not None:
        return False
    return not match.weight.is_unscaled or _is_negated(match)


def _is_negated(match: WeightMatch) -> bool:
    """Return True if the factor is negative, or most of them are."""
    factors = match.comparison.factors
    return (match.relation.factor if factors is None else float(np.nanmedian(factors))) < 0


def _is_usual_factor(relation: Relation, match: WeightMatch) -> bool:
    """Return True for the square root of a dim, or its inverse, which models multiply embeddings and queries by."""
    square = relation.factor**2
    square = square if square >= 1 else 1 / max(square, 1e-30)
    nearest = round(square)
    dims = [size for source in match.sources for size in source.tensor.shape]
    return (
        nearest >= 32
        and abs(square - nearest) < 1e-3 * nearest
        and relation.factor > 0
        and any(size % nearest == 0 for size in dims)
    )
