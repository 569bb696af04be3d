"""Variables: across calls, after a reset, and after a failure."""

import numpy as np
import pytest

import ir_exec
from tests.helpers.ir_text import layer, net, parameter, port, result


def network(read_opset="opset6", *, initial=True):
    """state = state + x, and the new state is the output; the initial state is x * x."""
    variable = 'variable_id="v"'
    declared = f'{variable} variable_type="f32" variable_shape="?"' if read_opset == "opset6" else variable
    dims = (-1,)
    inputs = [port(0, dims=dims)] if initial else []
    layers = [
        parameter(0, "f32", dims, "x"),
        layer(1, "Multiply", inputs=[port(0, dims=dims), port(1, dims=dims)], outputs=[port(2, dims=dims)]),
        layer(2, "ReadValue", opset=read_opset, data=declared, inputs=inputs, outputs=[port(1, dims=dims)]),
        layer(3, "Add", name="sum", inputs=[port(0, dims=dims), port(1, dims=dims)], outputs=[port(2, dims=dims)]),
        layer(4, "Assign", opset=read_opset, data=variable, inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)]),
        result(5, dims=dims),
    ]
    ends = [(0, 0, 1, 0), (0, 0, 1, 1), (2, 1, 3, 0), (0, 0, 3, 1), (3, 2, 4, 0), (3, 2, 5, 0)]
    if initial:
        ends.append((1, 2, 2, 0))
    return net(layers, ends)


@pytest.mark.parametrize("opset", ["opset3", "opset6"])
def test_variable_lives_until_reset(opset):
    compiled = ir_exec.compile_model(network(opset))
    x = np.array([2.0, 3.0], np.float32)
    assert compiled([x])["sum"].tolist() == [6, 12]
    assert compiled([x])["sum"].tolist() == [8, 15]
    compiled.reset_state()
    assert compiled([x])["sum"].tolist() == [6, 12]


def test_without_an_initial_value_open_dims_are_empty():
    compiled = ir_exec.compile_model(network(initial=False))
    assert compiled([np.ones(1, np.float32)])["sum"].shape == (0,)


def test_results_do_not_share_memory_with_variables():
    compiled = ir_exec.compile_model(network())
    x = np.ones(2, np.float32)
    compiled([x])["sum"][:] = 100
    assert compiled([x])["sum"].tolist() == [3, 3]


def test_failed_run_keeps_variables():
    compiled = ir_exec.compile_model(network())
    x = np.ones(2, np.float32)
    compiled([x])

    def stop(node, inputs, outputs):
        if node.type == "Assign":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled([x], observe=stop)
    assert compiled([x])["sum"].tolist() == [3, 3]


def test_each_compiled_model_has_variables_of_its_own():
    model = ir_exec.read_model(network())
    first, second = ir_exec.compile_model(model), ir_exec.compile_model(model)
    x = np.ones(1, np.float32)
    first([x])
    assert first([x])["sum"].tolist() == [3]
    assert second([x])["sum"].tolist() == [2]
