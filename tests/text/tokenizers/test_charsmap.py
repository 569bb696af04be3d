"""Unicode's normal forms of texts with many combining marks."""

from __future__ import annotations

import unicodedata
from random import Random
from types import SimpleNamespace
from typing import get_args

import pytest

from ir_exec import ResourceError
from ir_exec.kernels.limits import limited_memory
from ir_exec.text.ops.normalization import NormalizeUnicode
from ir_exec.text.tokenizers import charsmap
from ir_exec.text.tokenizers.charsmap import CharsMap, Form, normalize_text

CHARACTERS = "aé\u0301\u0327\u0344\u0f73\u0f71\u0f72\u093c\u0301\u1100\u1161\u11a8\ufb01\ufdfa\U0001d15f\ud800\u0345"


@pytest.mark.parametrize("form", get_args(Form))
def test_long_runs_of_marks_have_equal_normal_form(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    texts = ["".join(random.choices(CHARACTERS, k=random.randrange(40))) for _ in range(500)]
    texts += ["".join(random.choices("\u0301\u0327\u0344\u0345", k=40)) + "a" for _ in range(50)]
    monkeypatch.setattr(charsmap, "LONG_MARKS", 2)
    for text in texts:
        assert normalize_text(form, text) == unicodedata.normalize(form, text)


def test_python_gets_marks_in_canonical_order(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: list[str] = []

    def normalize(form: Form, text: str) -> str:
        arguments.append(text)
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(charsmap, "unicodedata", SimpleNamespace(normalize=normalize, combining=unicodedata.combining))
    expected = "a" + "\u0327" * 2000 + "\u0301" * 2000 + "b"
    assert normalize_text("NFD", "a" + "\u0301\u0327" * 2000 + "b") == expected
    assert arguments[-1] == expected


def test_the_operator_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    change = NormalizeUnicode(normalization_form="NFD").change([])
    assert change(("\u0301\u0327" * 2000).encode()) == ("\u0327" * 2000 + "\u0301" * 2000).encode()


def test_long_replacements_of_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charsmap, "read_entries", lambda _: {"a": "b" * 1000, "ac": "d"})
    replaced = CharsMap(None).replaced  # type: ignore[arg-type]  # the entries are given
    assert replaced("xaac") == "x" + "b" * 1000 + "d"
    with limited_memory(100_000), pytest.raises(ResourceError):
        replaced("a" * 1000)
