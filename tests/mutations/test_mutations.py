"""A valid file that is broken in one place has one layer with errors, the one that was broken."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from tests.conformance.networks import COPIES, networks
from tests.mutations.meanings import MUTATIONS
from tests.mutations.runs import OF_BODIES, WITH_BODIES, outcomes

FILES_OF_A_KIND = 8
"""A sample, so that this takes seconds; `python -m tests.mutations 5000` breaks as many as one likes."""

OF_CONVOLUTIONS = frozenset({"wrong_pads"})

RARE = frozenset({"variable_without_pair"})
"""Kinds for which a sample may hold no network."""


def test_there_are_many_kinds() -> None:
    assert len(MUTATIONS) >= 25


def chosen(mutation: str) -> list[str]:
    """All small networks of the repository in an order per category, after one of the collection if it is at hand."""
    if mutation in OF_BODIES:
        return [*WITH_BODIES, *WITH_BODIES]
    if mutation in OF_CONVOLUTIONS:
        return ["conv_zoo"] * FILES_OF_A_KIND
    random = Random(mutation)
    small = [path.stem for path in sorted(COPIES.glob("*.xml")) if path.stat().st_size < 150_000]
    return [random.choice(sorted(networks())), *random.sample(small, len(small))]


@pytest.mark.broad
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_found_and_placed(mutation: str) -> None:
    results = list(islice(outcomes(mutation, chosen(mutation)), FILES_OF_A_KIND))
    assert results or mutation in RARE, "no network has a place for this kind of fault"
    wrong = [outcome for outcome in results if not outcome.is_right]
    assert not wrong, "\n\n".join(map(str, wrong))
    for outcome in results:
        warned = {(warning.location.layer_id, warning.location.layer_name) for warning in outcome.report.warnings}
        assert warned <= set(outcome.expected), "something else has a warning by it"
