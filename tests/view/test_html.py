"""The file of a page: it stands alone, and its parts are those that are named."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from ir_exec.view import PageView, html_of, view
from ir_exec.view.data import GraphView, NetworkView
from ir_exec.view.html import MODULES

HERE = Path(__file__).parents[2] / "ir_exec" / "view"
SAMPLES = Path(__file__).parents[2] / "samples"


def test_it_names_no_other_place() -> None:
    text = html_of(view(SAMPLES / "gnn_step.xml"))
    without_data = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=[\"'](?!#)", without_data) == []
    assert "https://" not in without_data
    assert "sourceMappingURL" not in without_data


def test_policy_has_hashes_of_scripts_and_styles() -> None:
    text = html_of(view(SAMPLES / "gnn_step.xml"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    contents = re.findall(r"<(?:style|script|script type=\"module\")>(.*?)</(?:style|script)>", text, re.DOTALL)
    digests = [b64encode(sha256(part.encode()).digest()).decode() for part in contents]
    assert sorted(digests) == sorted(re.findall(r"sha256-([^']*)'", policy))


@pytest.mark.parametrize("text", ["</script>", "<!--", "{style}", "\u2028", "'\"&"])
def test_data_survive_the_page(text: str) -> None:
    network = NetworkView(title=text, graph=GraphView())
    page = PageView(format=1, made_by=text, title=text, networks=(network,))
    data = re.search(r'id="data">(.*?)</script>', html_of(page), re.DOTALL)[1]
    assert "<" not in data
    assert PageView.model_validate(json.loads(data)) == page


def test_modules_are_ordered_after_their_imports() -> None:
    assert sorted(MODULES) == sorted(path.stem for path in (HERE / "page").glob("*.js"))
    for position, name in enumerate(MODULES):
        source = (HERE / "page" / f"{name}.js").read_text()
        imported = re.findall(r'^import .* from "\./(\w+)\.js";$', source, re.MULTILINE)
        assert len(imported) == source.count("import ")
        assert set(imported) <= set(MODULES[:position])


def test_no_two_modules_share_a_name() -> None:
    names = [
        name
        for module in MODULES
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:function\*?|class|const|let) (\w+)",
            (HERE / "page" / f"{module}.js").read_text(),
            re.MULTILINE,
        )
    ]
    assert len(names) == len(set(names))


def test_named_library_is_embedded_with_licence() -> None:
    named = json.loads((HERE / "vendor" / "dagre.json").read_text())
    library = (HERE / "vendor" / "dagre.js").read_text(encoding="utf-8")
    assert sha256(library.encode()).hexdigest() == named["sha256"]
    licence = (HERE / "vendor" / "LICENSE-dagre.txt").read_text()
    assert library.startswith(f"/*! {named['name']} {named['version']}")
    assert licence.strip() in library
    assert licence.strip() in html_of(view(SAMPLES / "gnn_step.xml"))
