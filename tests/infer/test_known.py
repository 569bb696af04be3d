"""Values known to inference: through the operators' own evaluate, when a rule requests them."""

import numpy as np
import pytest

import ir_exec
from ir_exec.infer.known import with_known_values
from ir_exec.types import UNBOUNDED, Dim, Shape, TensorType
from tests.helpers.ir_text import const, layer, net, parameter, port, result
from tests.helpers.operators import bounds_of, make


class Chain:
    """A network over one input whose shape is computed with; `values` are constants in the order they are made."""

    def __init__(self, dims, element_type="f32"):
        self.layers = [parameter(0, element_type, dims, "x")]
        self.ends = []
        self.weights = b""

    def const(self, array):
        array = np.asarray(array)
        element_type = ir_exec.ElementType.of(array).name
        self.layers.append(const(len(self.layers), element_type, array.shape, len(self.weights), array.nbytes))
        self.weights += array.tobytes()
        return len(self.layers) - 1, 0

    def add(self, type, *sources, opset="opset1", data="", outputs=1):
        id = len(self.layers)
        inputs = [port(i, "UNSPECIFIED") for i in range(len(sources))]
        output_ports = [port(len(sources) + i, "UNSPECIFIED") for i in range(outputs)]
        self.layers.append(layer(id, type, opset=opset, data=data, inputs=inputs, outputs=output_ports))
        self.ends += [(source, from_port, id, position) for position, (source, from_port) in enumerate(sources)]
        return id, len(sources)

    def shape_after(self, source):
        id = len(self.layers)
        xml = net([*self.layers, result(id, "UNSPECIFIED")], [*self.ends, (*source, id, 0)])
        return ir_exec.read_model(xml, weights=self.weights).outputs[0].shape


def int64(*values):
    return np.array(values, np.int64)


def test_reshape_pattern_is_traced_through_shape_arithmetic():
    """ShapeOf -> Gather -> Multiply -> Concat -> Reshape, as exporters write it."""
    net = Chain((-1, 8, 4))
    shape = net.add("ShapeOf", (0, 0), opset="opset3", data='output_type="i64"')
    batch = net.add("Gather", shape, net.const(int64(0)), net.const(np.int64(0)), opset="opset8", data='batch_dims="0"')
    tokens = net.add(
        "Gather", shape, net.const(int64(1)), net.const(np.int64(0)), opset="opset8", data='batch_dims="0"'
    )
    merged = net.add("Multiply", batch, tokens)
    pattern = net.add("Concat", merged, net.const(int64(4)), data='axis="0"')
    reshaped = net.add("Reshape", (0, 0), pattern, data='special_zero="false"')
    assert net.shape_after(reshaped) == [None, 4]
    net.layers[0] = parameter(0, "f32", (3, 8, 4), "x")
    assert net.shape_after(reshaped) == [24, 4]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("2..5", Dim(2 + 3, 5 + 3)),
        ("?", Dim(3, UNBOUNDED)),
        ("7", Dim(10)),
        ("4..", Dim(7, UNBOUNDED)),
    ],
)
def test_bounds_of_dims_become_bounds_of_values_and_dims_again(bounds, expected):
    net = Chain((-1,))
    net.layers[0] = net.layers[0].replace('shape="?"', f'shape="{bounds}"')
    shape = net.add("ShapeOf", (0, 0), opset="opset3", data='output_type="i64"')
    longer = net.add("Add", shape, net.const(int64(3)))
    wide = net.add("Broadcast", net.const(np.float32(1)), longer, opset="opset3", data='mode="numpy"')
    assert net.shape_after(wide)[0] == expected


def test_an_unbounded_dim_stays_unbounded_in_arithmetic():
    net = Chain((-1, 2))
    shape = net.add("ShapeOf", (0, 0), opset="opset3", data='output_type="i64"')
    doubled = net.add("Multiply", shape, net.const(int64(2, 2)))
    wide = net.add("Broadcast", net.const(np.float32(1)), doubled, opset="opset3", data='mode="numpy"')
    assert net.shape_after(wide) == [None, 4]


def test_a_subtraction_turns_its_bounds_around():
    net = Chain((-1,))
    net.layers[0] = net.layers[0].replace('shape="?"', 'shape="2..5"')
    shape = net.add("ShapeOf", (0, 0), opset="opset3", data='output_type="i64"')
    left = net.add("Subtract", net.const(int64(10)), shape)
    wide = net.add("Broadcast", net.const(np.float32(1)), left, opset="opset3", data='mode="numpy"')
    assert net.shape_after(wide) == [Dim(5, 8)]


def test_long_chains_of_known_values_do_not_recurse():
    net = Chain((2,))
    shape = net.add("ShapeOf", (0, 0), opset="opset3", data='output_type="i64"')
    increment = net.const(int64(1))
    for _ in range(3000):
        shape = net.add("Add", shape, increment)
    wide = net.add("Broadcast", net.const(np.float32(1)), shape, opset="opset3", data='mode="numpy"')
    assert net.shape_after(wide) == [3002]


def test_incomputable_values_are_unknown_without_error():
    net = Chain((2,))
    quotient = net.add("Divide", net.const(int64(4)), net.const(int64(0)))
    wide = net.add("Broadcast", net.const(np.float32(1)), quotient, opset="opset3", data='mode="numpy"')
    assert net.shape_after(wide).rank == 1


def test_large_tensors_are_left_alone():
    """Nothing of this size is computed while types are inferred: a billion elements would take minutes."""
    net = Chain((2,))
    huge = net.add(
        "Broadcast", net.const(np.int64(1)), net.const(int64(1000, 1000, 1000)), opset="opset3", data='mode="numpy"'
    )
    more = net.add("Add", huge, huge)
    assert net.shape_after(more) == [1000, 1000, 1000]


@pytest.mark.parametrize("size", [64, 65, 1000, 1024, 1025])
def test_known_vectors_up_to_the_largest(size: int) -> None:
    operator, single = make("Add"), TensorType.of(np.array([1]))
    data = TensorType.of(np.arange(size))
    (total,) = with_known_values(operator, [data, single], [operator.infer(data, single)])
    if size > 1024:
        assert total.value is None
    else:
        np.testing.assert_array_equal(total.value, np.arange(1, size + 1))


HUGE = 2**48
"""The limit of meaningful bounds."""


@pytest.mark.parametrize(
    ("element_type", "type", "a", "b", "expected"),
    [
        # The end of an element type's range is kept under any addition and in any width.
        ("i64", "Add", (1, 2**63 - 1), (5, 5), (6, 2**63 - 1)),
        ("i64", "Subtract", (-(2**63), 3), (5, 5), (-(2**63), -2)),
        ("i32", "Add", (1, 2**31 - 1), (5, 5), (6, 2**31 - 1)),
        ("i32", "Subtract", (-(2**31), 3), (5, 5), (-(2**31), -2)),
        ("i32", "Multiply", (2, 2**31 - 1), (-3, -3), (-(2**31), -6)),
        ("u8", "Add", (7, 255), (1, 1), (8, 255)),
        ("u8", "Add", (0, 9), (1, 1), (1, 10)),
        ("u8", "Add", (1, 9), (0, 1), (1, 10)),
        ("i8", "Add", (-128, -1), (-1, -1), (-128, -2)),
        ("i32", "Add", (-1, 0), (1, 1), (0, 1)),
        # Large numbers that are no end are exact until they mean nothing.
        ("i64", "Add", (HUGE - 3, HUGE - 2), (0, 1), (HUGE - 3, HUGE - 1)),
        ("i64", "Add", (HUGE - 3, HUGE - 2), (0, 2), (HUGE - 3, 2**63 - 1)),
        ("i64", "Subtract", (3 - HUGE, 3 - HUGE), (0, 2), (1 - HUGE, 3 - HUGE)),
        ("i64", "Subtract", (3 - HUGE, 3 - HUGE), (0, 3), (-(2**63), 3 - HUGE)),
        ("i64", "Multiply", (2**40, 2**41), (-(2**20), 1), (-(2**63), 2**41)),
        ("f32", "Add", (1.5, 2.5), (3, 4), (4.5, 6.5)),
        ("f32", "Multiply", (1.5, 2.5), (-2, 2), (-5, 5)),
    ],
)
def test_bounds_at_the_ends_of_a_type(element_type, type, a, b, expected):
    dtype = ir_exec.ElementType[element_type].dtype
    bounds = bounds_of(make(type), *[tuple(np.array([number], dtype) for number in bound) for bound in (a, b)])
    assert bounds is not None
    assert [bound.dtype for bound in bounds] == [dtype, dtype]
    assert tuple(bound.item() for bound in bounds) == expected


def test_one_input_without_bounds_leaves_the_output_without():
    constant, unknown = TensorType.of(int64(3)), TensorType(ir_exec.ElementType.i64, TensorType.of(int64(3)).shape)
    for inputs in ([constant, unknown], [unknown, constant]):
        (output,) = with_known_values(make("Add"), inputs, [make("Add").infer(*inputs)])
        assert output.bounds is None


def test_input_with_late_unknown_bounds():
    """A source of a value is known in advance, and its value only on request."""
    constant, other = TensorType.of(int64(3)), TensorType.of(int64(3))
    late = TensorType(other.element_type, other.shape, lambda: None)
    for inputs in ([constant, late], [late, constant], [late, late]):
        (output,) = with_known_values(make("Add"), inputs, [make("Add").infer(*inputs)])
        assert output.bounds is None


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (3, 3)])
def test_values_contradicting_inferred_type_are_unknown(sizes):
    """Of one output or of all: an operator that contradicts itself is believed in nothing."""
    data, axis = TensorType.of(int64(1, 2, 3, 4)), TensorType.of(np.array(0))
    operator = make("Split", 1, num_splits=2)
    types = [TensorType(data.element_type, Shape([size])) for size in sizes]
    assert [type_.bounds for type_ in with_known_values(operator, [data, axis], types)] == [None, None]
    wrong = [TensorType(element_type, Shape([2])) for element_type in (data.element_type, ir_exec.ElementType.i32)]
    assert [type_.bounds for type_ in with_known_values(operator, [data, axis], wrong)] == [None, None]
    right = with_known_values(operator, [data, axis], operator.infer(data, axis))
    assert [type_.value.tolist() for type_ in right] == [[1, 2], [3, 4]]
