"""Minimal subsets compared with plain loops over all subsets, for monotone and for arbitrary predicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.debug.reduction.minimizing import SearchEnded, minimize, smallest_count

Predicate = Callable[[Sequence[str]], bool]
LETTERS = "abcdefgh"


def subsets(items: Sequence[str]) -> list[tuple[str, ...]]:
    return [subset for count in range(len(items) + 1) for subset in combinations(items, count)]


class Recorder:
    """A predicate that records the subsets with which it is called."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, subset: Sequence[str]) -> bool:
        self.calls.append(tuple(subset))
        return self.predicate(subset)


@st.composite
def monotone(draw: st.DrawFn) -> tuple[str, Predicate]:
    """A predicate that holds for every set that contains one of several sets."""
    items = LETTERS[: draw(st.integers(1, 8))]
    causes = draw(st.lists(st.sets(st.sampled_from(items), min_size=1), min_size=1, max_size=3))
    return items, lambda subset: any(cause <= set(subset) for cause in causes)


@st.composite
def arbitrary(draw: st.DrawFn) -> tuple[str, Predicate]:
    """A predicate that holds for the complete sequence and any other subsets."""
    items = LETTERS[: draw(st.integers(1, 6))]
    accepted = set(draw(st.lists(st.sampled_from(subsets(items))))) | {tuple(items)}
    return items, lambda subset: tuple(subset) in accepted


Importance = Callable[[str], int] | None
IMPORTANCES = st.sampled_from([None, ord, lambda item: -ord(item), lambda item: ord(item) * 5 % 8])


@given(monotone() | arbitrary(), IMPORTANCES, st.integers(0, 1))
def test_the_result_holds_and_no_smaller_one_does(
    problem: tuple[str, Predicate], importance: Importance, min_items: int
) -> None:
    items, predicate = problem
    minimum = minimize(items, predicate, importance=importance, min_items=min_items)
    assert minimum.is_minimal
    assert predicate(minimum.items)
    assert minimum.items == [item for item in items if item in minimum.items]
    smaller = [[remaining for remaining in minimum.items if remaining != item] for item in minimum.items]
    assert not any(predicate(subset) for subset in smaller if len(subset) >= min_items)


@given(st.sets(st.integers(0, 299), min_size=1, max_size=6))
def test_needed_items_are_found_in_few_trials(needed: set[int]) -> None:
    minimum = minimize(range(300), lambda subset: needed <= set(subset))
    assert minimum.items == sorted(needed)
    # Each needed item costs at most two trials in each of ten passes.
    assert minimum.trials <= 2 * 10 * len(needed)


@given(monotone() | arbitrary(), IMPORTANCES, st.integers(0, 12))
def test_a_search_ends_at_its_limit(problem: tuple[str, Predicate], importance: Importance, limit: int) -> None:
    items, predicate = problem
    recorder = Recorder(predicate)
    limited = minimize(items, recorder, importance=importance, limit=limit)
    complete = minimize(items, predicate, importance=importance)
    assert len(recorder.calls) == limited.trials == min(limit, complete.trials)
    assert limited.is_minimal == (complete.trials <= limit)
    assert predicate(limited.items)
    assert len(limited.items) >= len(complete.items)


@given(monotone() | arbitrary(), IMPORTANCES)
def test_a_subset_is_tried_once(problem: tuple[str, Predicate], importance: Importance) -> None:
    items, predicate = problem
    recorder = Recorder(predicate)
    minimum = minimize(items, recorder, importance=importance)
    assert len(set(recorder.calls)) == len(recorder.calls) == minimum.trials
    # The predicate is known to hold for the complete sequence, and the last success is the result.
    assert tuple(items) not in recorder.calls
    successes = [subset for subset in recorder.calls if predicate(subset)]
    assert list(successes[-1] if successes else items) == minimum.items


def test_the_most_important_items_are_searched_first() -> None:
    needed = {3, 5, 998}
    numbers = range(1000)
    minimum = minimize(numbers, lambda subset: needed <= set(subset), importance=lambda number: number in needed)
    assert minimum.items == [3, 5, 998]
    # Ten steps of bisection, and each of them.
    assert minimum.trials <= 13


def test_items_need_not_be_hashable_or_different() -> None:
    items = [[1], [2], [1], [2]]
    assert minimize(items, lambda subset: subset.count([2]) == 2).items == [[2], [2]]


@pytest.mark.parametrize(("min_items", "expected"), [(0, []), (1, ["a"])])
def test_the_empty_set_is_tried_on_request(min_items: int, expected: list[str]) -> None:
    assert minimize("abc", lambda subset: True, min_items=min_items).items == expected


def test_predicate_ends_search_with_smallest_subset() -> None:
    def predicate(subset: Sequence[int]) -> bool:
        if len(subset) < 30:
            raise SearchEnded
        return 5 in subset

    minimum = minimize(range(100), predicate)
    assert not minimum.is_minimal
    assert 5 in minimum.items
    assert 30 <= len(minimum.items) < 100


def test_other_exceptions_of_a_predicate_leave_the_search() -> None:
    def predicate(subset: Sequence[str]) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minimize("ab", predicate)


@given(st.integers(0, 300), st.integers(0, 300))
def test_smallest_count_equals_plain_loop(threshold: int, most: int) -> None:
    calls: list[int] = []

    def predicate(count: int) -> bool:
        calls.append(count)
        return count >= threshold

    expected = next((count for count in range(most + 1) if count >= threshold), None)
    assert smallest_count(predicate, most) == expected
    assert len(set(calls)) == len(calls) <= 2 * most.bit_length() + 2
    if expected is not None:
        assert [count for count in calls if count >= threshold][-1] == expected
