"""Networks whose .bin is missing: everything that does not need values is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_exec import check_model
from ir_exec.codes import Code
from tests.helpers.ir_text import const, layer, net, parameter, port, result

DIMS = (2, 3)


def add(id: int, other: tuple[int, ...], out: tuple[int, ...] = DIMS) -> str:
    return layer(id, "Add", inputs=[port(0, dims=DIMS), port(1, dims=other)], outputs=[port(2, dims=out)])


def in_a_body(bias: tuple[int, ...], size: int) -> bytes:
    """A TensorIterator that adds a constant in its body."""
    layers = [parameter(0, dims=DIMS), const(1, "f32", bias, 0, size), add(2, bias), result(3, dims=DIMS)]
    inside = net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)]).decode()
    body = inside[inside.index("<layers>") : inside.index("</net>")]
    port_map = '<input external_port_id="0" internal_layer_id="0"/><output external_port_id="1" internal_layer_id="3"/>'
    inner = f"<port_map>{port_map}</port_map><body>{body}</body>"
    loop = layer(1, "TensorIterator", inputs=[port(0, dims=DIMS)], outputs=[port(1, dims=DIMS)], inner=inner)
    return net([parameter(0, dims=DIMS), loop, result(2, dims=DIMS)], [(0, 0, 1, 0), (1, 1, 2, 0)])


def in_the_network(bias: tuple[int, ...], size: int) -> bytes:
    layers = [parameter(0, dims=DIMS), const(1, "f32", bias, 0, size), add(2, bias), result(3, dims=DIMS)]
    return net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)])


@pytest.mark.parametrize("make", [in_a_body, in_the_network])
def test_missing_file_is_one_error_and_check_continues(make, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_bytes(make((3,), 12))
    for source in (path, path.read_bytes()):
        report = check_model(source)
        assert [(diagnostic.severity, diagnostic.code) for diagnostic in report.diagnostics] == [
            ("error", Code.weights_missing)
        ]
        assert report.layers_not_checked == 0


@pytest.mark.parametrize("make", [in_a_body, in_the_network])
def test_shapes_and_sizes_of_constants_are_checked(make) -> None:
    codes = [error.code for error in check_model(make((4,), 16)).errors]
    assert Code.no_broadcast in codes
    assert Code.internal_error not in codes
    codes = [error.code for error in check_model(make((3,), 8)).errors]
    assert Code.constant_size in codes


def test_missing_values_are_not_guessed() -> None:
    """A Reshape to an unknown pattern may give what the port declares."""
    pattern = const(1, "i64", (2,), 0, 16)
    reshape = layer(
        2,
        "Reshape",
        data='special_zero="false"',
        inputs=[port(0, dims=DIMS), port(1, "i64", (2,))],
        outputs=[port(2, dims=(3, 2))],
    )
    layers = [parameter(0, dims=DIMS), pattern, reshape, result(3, dims=(3, 2))]
    report = check_model(net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)]))
    assert [error.code for error in report.errors] == [Code.weights_missing]
    assert report.layers_checked == 4
