"""Numbers as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.report.numbers import (
    format_bytes,
    format_count,
    format_number,
    format_number_pair,
    format_seconds,
    pluralize,
)


@pytest.mark.parametrize(
    ("ours", "reference", "shown"),
    [
        (-2147483648.0, -2147483520.0, ("-2147483648", "-2147483520")),
        (1.0, 2.0, ("1", "2")),
        (0.1, 0.1000001, ("0.1", "0.1000001")),
        (float("nan"), 1.0, ("nan", "1")),
        (float("inf"), 1e30, ("inf", "1e+30")),
        ("a", "b", ("a", "b")),
        (None, 1.0, ("-", "1")),
    ],
)
def test_numbers_have_digits_until_they_differ(ours: object, reference: object, shown: tuple[str, str]) -> None:
    assert format_number_pair(ours, reference) == shown  # type: ignore[arg-type]  # what a Difference holds


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_different_numbers_are_shown_differently(left: float, right: float) -> None:
    pair = format_number_pair(left, right)
    assert (pair[0] != pair[1]) or left == right


@pytest.mark.parametrize(("count", "shown"), [(0, "0 layers"), (1, "1 layer"), (2, "2 layers"), (2048, "2048 layers")])
def test_count_agrees_with_its_noun(count: int, shown: str) -> None:
    assert format_count(count, "layer") == shown


def test_counts_with_separators_and_irregular_nouns() -> None:
    assert format_count(2048, "byte", ",") == "2,048 bytes"
    assert [pluralize(count, "layer has", "layers have") for count in (0, 1, 2)] == [
        "layers have",
        "layer has",
        "layers have",
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0 µs"),
        (2.5e-7, "0.25 µs"),
        (9.99e-4, "999 µs"),
        (1e-3, "1 ms"),
        (0.25, "250 ms"),
        (1.0, "1 s"),
        (3725.4, "3725 s"),
        (-2e-3, "-2 ms"),
    ],
)
def test_seconds(seconds: float, shown: str) -> None:
    assert format_seconds(seconds) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1_234_567, "1.23 MB"), (5 * 10**9, "5 GB"), (10**13, "1e+04 GB")],
)
def test_bytes(size: int, shown: str) -> None:
    assert format_bytes(size) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), ("text", "text"), (1234567.0, "1.235e+06"), (0.5, "0.5"), (float("inf"), "inf")]
)
def test_numbers(value: float | str | None, shown: str) -> None:
    assert format_number(value) == shown
