"""The counts of the wordings that `tests/words/patterns.toml` replaces never grow."""

from __future__ import annotations

from tests.words.lint import (
    excess,
    findings,
    identifiers,
    identifiers_of_python,
    load_baseline,
    texts_of_markdown,
    texts_of_python,
)

SOURCE = '''
"""What it is."""
import click

LIMIT = 3  # from which on
"""Whether there is a limit."""

@cli.command()
@click.option("--all", help="all that there are of them")
def run():
    """Run the model."""
    raise ValueError(f"the file {LIMIT} tells no type", hint="name the type yourself")
'''


def test_no_wording_comes_back() -> None:
    assert [str(finding) for finding in excess(load_baseline(), findings())] == []


def test_texts_have_their_kinds_and_lines() -> None:
    assert {(text.kind, text.line) for text in texts_of_python(SOURCE)} == {
        ("docstring", 2),
        ("comment", 5),
        ("docstring", 6),
        ("help", 9),
        ("help", 11),
        ("message", 12),
        ("hint", 12),
    }


def test_markdown_without_its_code() -> None:
    page = "# Title\n\nA [page](that/tells.md) of `code`\nthat goes.\n\n```sh\ntold\n```\n\n- item\n\n| a | b |\n"
    lines = [(text.line, text.content) for text in texts_of_markdown(page)]
    assert lines[:3] == [(1, "Title"), (3, "A [page] of `code`\nthat goes."), (10, "item")]
    assert not any("tell" in content or "told" in content for _, content in lines)


def test_identifiers_are_functions_parameters_and_assigned_names() -> None:
    source = "def joined(one, *rest):\n    kept = [found for found in one]\n    kept.held = rest\n"
    names = identifiers()
    patterns = {
        (name, line): names.pattern_of(name, is_function=is_function)
        for name, line, is_function in identifiers_of_python(source)
    }
    assert patterns == {
        ("joined", 1): "participle",
        ("one", 1): "vague name",
        ("rest", 1): "vague name",
        ("kept", 2): "vague name",
        ("found", 2): "vague name",
    }


def test_names_of_values_may_be_participles() -> None:
    names = identifiers()
    assert names.pattern_of("_fused", is_function=True) == "participle"
    assert names.pattern_of("fused", is_function=False) is None
    assert names.pattern_of("speed", is_function=True) is None
    assert names.pattern_of("find_matches", is_function=True) is None
