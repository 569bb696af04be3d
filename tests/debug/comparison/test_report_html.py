"""Reports of comparisons in notebooks, and at the prompt of Python."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import ir_exec
from ir_exec.build import Editor
from tests.helpers.facts import mentions

NETWORK = Path(__file__).parents[3] / "samples" / "gnn_step.xml"


class _Text(HTMLParser):
    """The text of the cells of a page, and its tags."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def change_reduction(name: str = "total") -> ir_exec.Model:
    editor = Editor(ir_exec.read_model(NETWORK))
    editor.set_attribute(name, "reduction", "max")
    return editor.model()


def test_notebook_shows_verdict_outputs_and_layers() -> None:
    report = ir_exec.compare(change_reduction(), NETWORK)
    assert report.decision is not None
    page = _Text(report._repr_html_())
    assert report.decision.line in page.texts
    assert {"Outputs", "Layers", "hidden", "different"} <= set(page.texts)
    for layer in report.layers:
        assert (layer.path in page.texts) == (
            layer.status not in ("equal", "close", "skipped") or layer.path == "hidden"
        )
    assert "script" not in page.tags


def test_equal_models_have_no_layers() -> None:
    page = _Text(ir_exec.compare(NETWORK, NETWORK)._repr_html_())
    assert "Layers" not in page.texts
    assert "hidden" in page.texts


def test_names_are_escaped() -> None:
    layer = ir_exec.build.parameter([2], "f32", name="x")
    model = ir_exec.build.model(ir_exec.build.result(ir_exec.build.tanh(layer), name="<script>alert(1)</script>"))
    report = ir_exec.compare(model, {"<script>alert(1)</script>": np.zeros(2, np.float32)}, [np.ones(2, np.float32)])
    assert "script" not in _Text(report._repr_html_()).tags


def test_prompt_shows_the_text() -> None:
    report = ir_exec.compare(change_reduction(), NETWORK)
    assert repr(report) == str(report) == mentions("total")
