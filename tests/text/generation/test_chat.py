"""Chat templates: what they render, and the limits of a program that comes with a model."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError, ResourceError
from ir_exec.codes import Code
from ir_exec.text.folders.folder import Folder
from ir_exec.text.folders.pipeline_rules import faults_of
from ir_exec.text.generation import chat
from ir_exec.text.generation.chat import render_chat
from tests.helpers.facts import coded, fault_with

pytest.importorskip("jinja2")

PATH = str(Path("model", "chat_template.jinja"))


TEXTS = [
    ("{% for m in messages %}[{{ m.role }}]{{ m['content'] }}{% endfor %}", "[user]a[user]b"),
    ("{% generation %}x{{ messages[0].content }}{% endgeneration %}", "xa"),
    ("{%- generation -%} {% if true %}y{% endif %} {%- endgeneration -%} z", "yz"),
    ("{% for m in messages %}{% if loop.last %}{% break %}{% endif %}{{ loop.index }}{% endfor %}", "1"),
    ("{% if add_generation_prompt %}\u2581\U0001f600{{ bos_token }}{% endif %}", "\u2581\U0001f600"),
    ("{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"),
    ("{{ messages | length }}{{ messages[0] | tojson }}", '2{"content": "a", "role": "user"}'),
]
"""Templates, and what they render."""


def folder(template: str) -> Folder:
    return Folder("model", "language model", {}, {}, template)


def render(template: str, *contents: Any) -> str:
    return render_chat(folder(template), [{"role": "user", "content": content} for content in contents])


@pytest.mark.parametrize(("template", "expected"), TEXTS)
def test_texts(template: str, expected: str) -> None:
    assert render(template, "a", "b") == expected
    assert not [fault for fault in faults_of(folder(template)) if fault.code == Code.chat_template]


def test_contents_match_json() -> None:
    template = (
        "{{ messages[0].content.n + 1 }} {{ messages[0].content.list | join('-') }} {{ messages[0].content.day }}"
    )
    assert (
        render(template, {"n": np.int64(2), "list": (1, 2.5, None), "day": date(2026, 1, 2)})
        == "3 1-2.5-None 2026-01-02"
    )


def test_deeply_nested_messages() -> None:
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(EvaluationError, check=coded(Code.bad_value)):
        render("{{ messages }}", nested)


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 9 ** (9 ** 9) }}",
        "{% for a in range(99999) %}{% set b = (9 + a) ** 99999 %}{% endfor %}",
    ],
)
def test_endless_templates_end(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "RENDER_SECONDS", 1.0)
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded, path=PATH)):
        render(template, "a")


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10 ** 12 }}",
        "{{ '%1000000000000d' % 1 }}",
        "{{ 'a'.ljust(10 ** 12) }}",
        "{{ 'a' | center(10 ** 12) }}",
        "{{ ([0] * 10 ** 12) | length }}",
        "{{ messages[0].content | indent(10 ** 12) }}",
        "{% set s = namespace(t='ab' * 1000) %}{% for a in range(99) %}{% set s.t = s.t ~ s.t %}{% endfor %}",
    ],
)
def test_templates_that_need_too_much_memory(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "RENDER_MEMORY", 2**28)
    with pytest.raises((ResourceError, EvaluationError)) as caught:
        render(template, "a\nb")
    assert caught.value.location.path == PATH


def test_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "MOST_CHARACTERS", 1000)
    assert render("{{ 'a' * 1000 }}") == "a" * 1000
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded, path=PATH)) as caught:
        render("{% for a in range(99999) %}{{ 'a' * 501 }}{% endfor %}")
    assert caught.value == fault_with("1,000")


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no') }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ range(10 ** 9) | list }}",
        "{{ ().__class__.__base__.__subclasses__() }}",
        "{{ nothing.at.all }}",
    ],
)
def test_failing_templates(template: str) -> None:
    with pytest.raises(EvaluationError, check=coded(Code.bad_value, path=PATH)):
        render(template)


def test_long_templates_are_refused_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("generation.chat", "folders.pipeline_rules"):
        monkeypatch.setattr(f"ir_exec.text.{module}.MOST_TEMPLATE", 10)
    assert render("a" * 10) == "a" * 10
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded, path=PATH)):
        render("a" * 11)
    assert [fault.code for fault in faults_of(folder("a" * 11)) if fault.location.path == PATH] == [Code.chat_template]
