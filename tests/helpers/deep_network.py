"""Deep networks of any size, as text: blocks with two branches and a residual sum, and a mask that all of them read."""

from __future__ import annotations

__all__ = ["deep_network"]

_DIMS = "<dim>1</dim><dim>8</dim><dim>16</dim>"
_CHAIN = ("Relu", "Sigmoid", "Tanh", "Exp", "Abs")


def deep_network(layers: int, *, grouped: bool) -> bytes:
    """An IR without weights of about so many layers; grouped: whether their names have the parts of modules."""
    net = _Net(grouped)
    x = net.layer("x", "Parameter")
    mask = net.layer("mask", "Parameter")
    block = 0
    while len(net.layers) < layers - 1:
        prefix = f"decoder/stage{block // 10}/block{block % 10}"
        start = left = right = x
        for step, operator_type in enumerate(_CHAIN):
            left = net.layer(f"{prefix}/attention/step{step}", operator_type, left)
            right = net.layer(f"{prefix}/gate/step{step}", operator_type, right)
        masked = net.layer(f"{prefix}/attention/masked", "Add", left, mask)
        product = net.layer(f"{prefix}/product", "Multiply", masked, right)
        x = net.layer(f"{prefix}/sum", "Add", product, start)
        for step, operator_type in enumerate(_CHAIN[:3]):
            x = net.layer(f"{prefix}/mlp/step{step}", operator_type, x)
        block += 1
    net.layer("result", "Result", x)
    lines = ['<?xml version="1.0"?>', '<net name="deep" version="11">', "<layers>", *net.layers, "</layers>"]
    return "\n".join([*lines, "<edges>", *net.edges, "</edges>", "</net>"]).encode()


class _Net:
    """Layers with one output each, whose port has the id 9."""

    def __init__(self, grouped: bool) -> None:
        self.layers: list[str] = []
        self.edges: list[str] = []
        self._grouped = grouped

    def layer(self, name: str, type: str, *inputs: int) -> int:
        id = len(self.layers)
        shown = name if self._grouped or not inputs else f"{type}_{id}"
        lines = [f'<layer id="{id}" name="{shown}" type="{type}" version="opset1">']
        if type == "Parameter":
            lines.append('    <data shape="1,8,16" element_type="f32"/>')
        if inputs:
            ports = [f'        <port id="{port}" precision="FP32">{_DIMS}</port>' for port in range(len(inputs))]
            lines += ["    <input>", *ports, "    </input>"]
        if type != "Result":
            lines += ["    <output>", f'        <port id="9" precision="FP32">{_DIMS}</port>', "    </output>"]
        self.layers.append("\n".join([*lines, "</layer>"]))
        self.edges += [
            f'<edge from-layer="{source}" from-port="9" to-layer="{id}" to-port="{port}"/>'
            for port, source in enumerate(inputs)
        ]
        return id
