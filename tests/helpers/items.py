"""Networks and items for tests of batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import ir_exec
from ir_exec.types import Array
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText

__all__ = ["arrays", "counting_network", "weighed_network"]


def weighed_network(folder: Path | None = None, *, rows: str = "?") -> ir_exec.Model:
    """y[rows, 3] = x[rows, 4] @ weights[4, 3]; with a folder, from files in it."""
    text = NetworkText()
    x = text.parameter(f"{rows},4")
    weights = text.const(np.arange(12, dtype=np.float32).reshape(4, 3))
    text.result(text.op("MatMul", x, weights, transpose_a=False, transpose_b=False))
    file = text.file()
    if folder is None:
        return ir_exec.read_model(file.xml, file.weights)
    (folder / "net.xml").write_bytes(file.xml)
    (folder / "net.bin").write_bytes(file.weights)
    return ir_exec.read_model(folder / "net.xml")


def counting_network() -> ir_exec.Model:
    """state = state + x, from 0, and the new state is the output."""
    dims = (-1,)
    variable = 'variable_id="v"'
    layers = [
        parameter(0, "f32", dims, "x"),
        layer(
            1,
            "ReadValue",
            opset="opset6",
            data=f'{variable} variable_type="f32" variable_shape="1"',
            outputs=[port(1, dims=(1,))],
        ),
        layer(2, "Add", inputs=[port(0, dims=dims), port(1, dims=(1,))], outputs=[port(2, dims=dims)]),
        layer(
            3,
            "Assign",
            opset="opset6",
            data=variable,
            inputs=[port(0, dims=dims)],
            outputs=[port(1, dims=dims)],
        ),
        result(4, dims=dims),
    ]
    return ir_exec.read_model(net(layers, [(1, 1, 2, 1), (0, 0, 2, 0), (2, 2, 3, 0), (2, 2, 4, 0)]))


def arrays(count: int) -> Iterator[list[Array]]:
    """Items for `weighed_network` that all differ."""
    for index in range(count):
        yield [np.full((1, 4), index, np.float32)]
