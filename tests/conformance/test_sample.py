"""The sample of each table: what rows of it differ in is in it, and it is small."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.conformance.checks import families, table
from tests.conformance.sample import features, part, sample


@pytest.mark.parametrize("family", families())
def test_every_feature_is_in_it(family: str) -> None:
    sampled, others = part(family, True), part(family, False)
    assert sampled
    assert len(sampled) == len(sample(family))
    assert sorted(map(id, [*sampled, *others])) == sorted(map(id, table(family)))
    assert set(chain(*map(features, others))) <= set(chain(*map(features, sampled)))


def test_it_is_less_than_half() -> None:
    assert sum(len(sample(family)) for family in families()) < sum(len(table(family)) for family in families()) / 2
