"""The line of Python on pages, and groups of layers by modules."""

from __future__ import annotations

import pytest

from ir_exec.view import view
from tests.helpers.sources import EXPORTS, NET, find_line
from tests.view.conftest import Opens

SUM = "x = x + self.attention(self.norm1(x))"


def test_layers_have_their_line() -> None:
    (network,) = view(EXPORTS / "encoder.onnx").networks
    code = {layer.name: layer.code for layer in network.graph.layers}
    source = code["node_add"]
    assert source is not None
    assert (source.file, source.line, source.code) == (NET, find_line(SUM), SUM)
    assert (source.module, source.module_class) == ("layers.0", "net.Layer")


@pytest.mark.broad
def test_modules_are_groups(open_page: Opens) -> None:
    tab = open_page(view(EXPORTS / "encoder.onnx"))
    path = "(item) => item ? [...pathOf(item.parent), item.name] : []"
    script = f"""() => {{
        const pathOf = {path};
        const layers = [...page.networks[0].layers.values()];
        return layers.map((layer) => [layer.view.name, pathOf(layer.group).join("/")]);
    }}"""
    groups = dict(tab.evaluate(script))
    assert "attention" in groups["node_linear"]
    assert groups["node_linear"].startswith(groups["node_matmul"])
    assert "mlp" in groups["node_gelu"]
    tab.evaluate(
        "name => page.go([...page.networks[0].layers.values()].find((one) => one.view.name === name))", "node_add"
    )
    shown = tab.locator("#details").inner_text()
    assert SUM in shown
    assert f"{NET}:{find_line(SUM)}" in shown
