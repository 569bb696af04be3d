"""Chat templates of hostile fragments: each is rendered or refused, in little time."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest.mock import patch

from ir_exec.codes import Code
from ir_exec.text.folders.folder import Folder
from ir_exec.text.folders.pipeline_rules import faults_of
from ir_exec.text.generation import chat
from ir_exec.text.generation.chat import render_chat
from tests.fuzz.drawing import HOSTILE_TEXTS, damage, draw_json
from tests.fuzz.frame import Subject, only_our_errors

__all__ = ["SUBJECT"]

_FRAGMENTS = (
    "{% for one in messages %}{{ one['content'] }}{% endfor %}",
    "{% generation %}{{ messages | length }}{% endgeneration %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ 9 ** (9 ** 9) }}",
    "{{ 'a' * 10 ** 12 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ messages | tojson(indent=10 ** 9) }}",
    "{% set s = namespace(t='ab') %}{% for a in range(99) %}{% set s.t = s.t ~ s.t %}{% endfor %}{{ s.t }}",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "{{ messages[0].__class__.__mro__[1].__subclasses__() }}",
    "{{ self.__init__.__globals__ }}",
    "{{ raise_exception('no') }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os }}",
    "{{ messages | map(attribute='content') | join(', ') }}",
    "{{ (messages * 10 ** 7) | length }}",
    "{{ messages[0].content.split() | batch(10 ** 9, 'x') | list }}",
    "{% raw %}{{ a }}{% endraw %}",
    "{% break %}",
    "{% set messages = 1 %}{{ messages / 0 }}",
    "{{ nothing.at.all }}",
    "{%- if true -%} a {%- else -%} b {%- endif -%}",
)


def run(random: Random, folder: Path) -> None:
    parts = [random.choice(_FRAGMENTS) for _ in range(random.randint(1, 3))]
    template = random.choice(("", "\n", random.choice(HOSTILE_TEXTS))).join(parts)
    if random.random() < 0.4:
        template = damage(template.encode("utf-8", "replace"), random).decode("utf-8", "replace")
    messages = [{"role": "user", "content": draw_json(random)} for _ in range(random.randrange(4))]
    opened = Folder(str(folder), "language model", {}, {}, template)
    assert Code.internal_error not in {fault.code for fault in faults_of(opened)}
    with patch.multiple(chat, RENDER_SECONDS=1.0, MOST_CHARACTERS=10_000, RENDER_MEMORY=2**28), only_our_errors():
        assert len(render_chat(opened, messages)) <= 10_000


SUBJECT = Subject(run, cases=15)
