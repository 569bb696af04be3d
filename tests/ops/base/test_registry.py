"""The class of a type, and the suggestions for an unknown type."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import pytest

import ir_exec
from ir_exec.errors import GraphError
from ir_exec.ops.base import registry
from ir_exec.ops.base.registry import resolve
from tests.helpers.facts import mentions
from tests.helpers.network_text import NetworkText


@pytest.mark.parametrize(
    ("unknown", "meant"),
    [("Gathr", "Gather"), ("Convolutoin", "Convolution"), ("ef", "Erf"), ("matmull", "MatMul"), ("NonZer0", "NonZero")],
)
def test_similar_type_is_suggested(unknown: str, meant: str) -> None:
    with pytest.raises(GraphError) as caught:
        resolve(unknown, "opset13")
    assert caught.value.hint == mentions(meant)


def test_no_suggestion_for_dissimilar_names() -> None:
    with pytest.raises(GraphError) as caught:
        resolve("Qqqqqqqqqqq", "opset13")
    assert caught.value.hint is None


def test_suggestions_are_searched_once_among_few(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    search = difflib.get_close_matches

    def count_searches(word: str, possibilities: Iterable[str], **options: Any) -> list[str]:
        asked.append([*possibilities])
        return search(word, asked[-1], **options)

    monkeypatch.setattr(difflib, "get_close_matches", count_searches)
    registry.nearest_types.cache_clear()
    net = NetworkText()
    value = net.parameter("2")
    for _ in range(50):
        value = net.op("Convolutionn", value)
    net.result(value)
    assert len(ir_exec.check_model(net.file().xml).diagnostics) >= 50
    assert len(asked) == 1
    assert len(asked[0]) <= registry.MOST_COMPARED
