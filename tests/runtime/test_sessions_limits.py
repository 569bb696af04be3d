"""Limits of a run: memory counted over bodies and constants, iterations of all loops together, seconds."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

import ir_exec
from ir_exec.kernels import limits as limiting
from ir_exec.kernels.limits import Budget, Limits, current_limits, owners
from ir_exec.ops.base.shapes import LARGEST_SEARCHED
from ir_exec.runtime import executor
from ir_exec.runtime import loop as running
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import coded, facts, naming
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output

MIB = 2**20
TRUE = np.array(True)


def int64(value: object) -> Array:
    return np.array(value, np.int64)


def loop(
    net: NetworkText,
    value: Output,
    step: Callable[[NetworkText, Output, Output], Output],
    *,
    trips: Array | Output,
    back: bool = False,
    concatenate: bool = True,
    goes_on: Callable[[NetworkText, Output], Output] | None = None,
    enclosing: NetworkText | None = None,
) -> Output:
    """A Loop whose body makes `step(body, value, number of the iteration)`; its output is all parts or the last."""
    outer = enclosing or net
    body = NetworkText(outer)
    trip_count = trips if isinstance(trips, Output) else outer.const(trips)
    parameter, count = body.parameter(), body.parameter("", "i64")
    result = body.result(step(body, parameter, count))
    goes = body.result(goes_on(body, count) if goes_on else body.const(TRUE))
    ties = [tied_input(2, parameter), tied_input(-1, count, purpose="current_iteration")]
    ties += [tied_output(3, result, **({"axis": 0} if concatenate else {}))]
    ties += [tied_output(-1, goes, purpose="execution_condition")]
    inputs = [trip_count, outer.const(TRUE), value]
    return outer.loop(1, "Loop", inputs, body, ties, [(result, parameter)] if back else [])[0]


def compiled_of(net: NetworkText, **options: object) -> ir_exec.CompiledModel:
    file = net.file()
    return ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights), **options)


def until(last: int) -> Callable[[NetworkText, Output], Output]:
    """Continues up to an iteration unknown to inference: the number is compared with a value that is data."""
    return lambda body, count: body.op("Less", count, body.const(int64(last)))


def tile_to(columns: int) -> Callable[[NetworkText, Output, Output], Output]:
    """[1, 1] becomes [1, columns]."""
    return lambda body, value, _: body.op("Tile", value, body.const(int64([1, columns])))


def parts_that_grow() -> NetworkText:
    """2 GiB in parts of 1 MiB, in a loop that only its condition ends."""
    net = NetworkText()
    net.result(loop(net, net.parameter("1,1"), tile_to(MIB // 4), trips=int64(-1), goes_on=until(2048)))
    return net


def a_value_that_grows() -> NetworkText:
    """Doubled in each iteration."""
    net = NetworkText()
    net.result(
        loop(
            net,
            net.parameter("?,1"),
            lambda body, value, _: body.op("Concat", value, value, axis=0),
            trips=int64(-1),
            back=True,
            concatenate=False,
            goes_on=until(40),
        )
    )
    return net


def parts_of_parts() -> NetworkText:
    """Sixty times sixty parts of 1 MiB, each loop within the budget by itself."""
    net = NetworkText()

    def outer(body: NetworkText, value: Output, _: Output) -> Output:
        return loop(net, value, tile_to(MIB // 4), trips=int64(12), enclosing=body)

    net.result(loop(net, net.parameter("?,1"), outer, trips=int64(60)))
    return net


def small_parts() -> NetworkText:
    """A million parts of 4 bytes, which take far more than their elements."""
    net = NetworkText()
    x = net.parameter("1,1")
    net.result(loop(net, x, lambda body, value, _: body.op("Negative", value), trips=int64(-1), goes_on=until(900_000)))
    return net


def places_that_data_tells() -> NetworkText:
    """NonZero of ones, 16 bytes for each byte of its input, held by a loop."""
    net = NetworkText()

    def step(body: NetworkText, value: Output, _: Output) -> Output:
        ones = body.op("Broadcast", value, body.const(int64([1, MIB])), opset=3, mode="numpy")
        return body.op("NonZero", body.op("Convert", ones, destination_type="u8"), opset=3, output_type="i64")

    net.result(loop(net, net.parameter("1,1"), step, trips=int64(100)))
    return net


def a_body_beside_a_large_value() -> NetworkText:
    """20 MiB around the loop, and 20 MiB in its body."""
    net = NetworkText()
    x = net.parameter("1,1")
    large = net.op("Tile", x, net.const(int64([1, 5 * MIB])))

    def step(body: NetworkText, value: Output, _: Output) -> Output:
        tiled_again = body.op("Tile", value, body.const(int64([1, 5 * MIB])))
        return body.op("ReduceSum", tiled_again, body.const(int64([1])), keep_dims="true")

    small = loop(net, x, step, trips=int64(3), concatenate=False)
    total = net.op("ReduceSum", large, net.const(int64([1])), keep_dims="true")
    net.result(net.op("Add", total, small))
    return net


def copies_of_a_constant() -> NetworkText:
    """2 GiB made of one constant of 1 MiB, whose parts take no memory until they are put together."""
    net = NetworkText()
    row = np.ones((1, MIB // 4), np.float32)
    net.result(loop(net, net.parameter("1,1"), lambda body, *_: body.const(row), trips=int64(-1), goes_on=until(2048)))
    return net


def a_size_that_data_tells() -> NetworkText:
    """[1, 1] becomes [1, 2^29], given by a product of values."""
    net = NetworkText()
    x = net.parameter("1,1")
    size = net.op("Convert", net.op("Multiply", x, net.const(np.float32(2**29))), destination_type="i64")
    sizes = net.op("Concat", net.const(int64([1])), net.op("Squeeze", size, net.const(int64([0]))), axis=0)
    net.result(net.op("ReduceSum", net.op("Tile", x, sizes), net.const(int64([1])), keep_dims="true"))
    return net


HOSTILE = {
    maker.__name__: maker
    for maker in (
        parts_that_grow,
        a_value_that_grows,
        parts_of_parts,
        small_parts,
        places_that_data_tells,
        a_body_beside_a_large_value,
        copies_of_a_constant,
        a_size_that_data_tells,
    )
}

CHILD = """
import sys
import numpy as np
import ir_exec

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

compiled = ir_exec.compile_model(sys.argv[1], max_memory=int(sys.argv[2]), threads=1)
before = peak()
try:
    compiled([np.ones((1, 1), np.float32)])
except ir_exec.ResourceError as error:
    print(peak() - before, error.code)
"""


@pytest.mark.broad(keep=2)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_loop_takes_no_more_than_the_budget(name: str, tmp_path: Path) -> None:
    file = HOSTILE[name]().file()
    (tmp_path / "net.xml").write_bytes(file.xml)
    (tmp_path / "net.bin").write_bytes(file.weights)
    budget = 32 * MIB
    command = [sys.executable, "-c", CHILD, str(tmp_path / "net.xml"), str(budget)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert answer[1:] == ["IR006"]
    # Modules that the run imports, and the temporary memory of kernels.
    assert int(answer[0]) < budget + 16 * MIB


X = np.ones((1, 1), np.float32)


def test_body_may_use_remaining_budget() -> None:
    """20 MiB around the loop and 20 MiB in its body, and not both counted by themselves."""
    compiled = compiled_of(a_body_beside_a_large_value(), max_memory=45 * MIB)
    assert compiled([X])[0] == 10 * MIB
    with pytest.raises(ir_exec.ResourceError) as caught:
        compiled_of(a_body_beside_a_large_value(), max_memory=39 * MIB)([X])
    assert caught.value.location.layer_type == "Tile"


def test_parts_and_final_copy_fit_together_or_not_at_all() -> None:
    net = NetworkText()
    net.result(loop(net, net.parameter("1,1"), tile_to(MIB // 4), trips=int64(-1), goes_on=until(9)))
    assert compiled_of(net, max_memory=22 * MIB)([X])[0].shape == (10, MIB // 4)
    with pytest.raises(ir_exec.ResourceError):
        compiled_of(net, max_memory=19 * MIB)([X])


def test_values_of_open_shape_are_counted_together() -> None:
    """Each of the three has 8 MB, known only at run time."""
    net = NetworkText()
    x = net.parameter("?")
    places = [net.op("NonZero", net.op("Roll", x, *roll_operands(net, step), opset=7), opset=3) for step in range(3)]
    for indices in places:
        net.result(indices)
    ones = np.ones(10**6, np.float32)
    assert compiled_of(net, max_memory=60 * 10**6)([ones])[2].shape == (1, 10**6)
    with pytest.raises(ir_exec.ResourceError) as caught:
        compiled_of(net, max_memory=30 * 10**6)([ones])
    assert caught.value.location.layer_type == "NonZero"


def test_many_small_values_are_counted_too() -> None:
    """Each of the thousand has 2,000 bytes."""
    net = NetworkText()
    x = net.parameter("?")
    for indices in [net.op("NonZero", x, opset=3) for _ in range(1000)]:
        net.result(indices)
    ones = np.ones(250, np.float32)
    assert compiled_of(net, max_memory=6 * MIB)([ones])[999].shape == (1, 250)
    with pytest.raises(ir_exec.ResourceError):
        compiled_of(net, max_memory=MIB)([ones])


def roll_operands(net: NetworkText, step: int) -> tuple[Output, Output]:
    return net.const(int64([step])), net.const(int64([0]))


def test_freed_memory_may_be_reused() -> None:
    """Four times 8 MB, one after the other; views keep what they look at."""
    net = NetworkText()
    value = net.parameter("?")
    for _ in range(4):
        places = net.op("NonZero", value, opset=3, output_type="i64")
        row = net.op("Reshape", places, net.const(int64([-1])), special_zero="false")
        value = net.op("Convert", net.op("Add", row, net.const(int64(1))), destination_type="f32")
    net.result(net.op("ReduceSum", value, net.const(int64([0]))))
    compiled = compiled_of(net, max_memory=45 * 10**6)
    assert compiled([np.ones(10**6, np.float32)])[0] > 0


@pytest.mark.parametrize("type", ["NonZero", "Unique", "NonMaxSuppression"])
def test_data_dependent_sizes_are_counted_in_advance(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    sizes: list[int] = []
    monkeypatch.setattr(Limits, "require", lambda limits, size: asked.append(size))
    monkeypatch.setattr(Limits, "keep", lambda limits, array, **_: sizes.append(array.nbytes))
    net = NetworkText()
    if type == "NonMaxSuppression":
        boxes, scores = net.parameter("1,?,4"), net.parameter("1,1,?")
        numbers = [net.const(int64(100)), net.const(np.float32(0.5)), net.const(np.float32(0.5))]
        outputs = net.outputs(3, type, boxes, scores, *numbers, opset=9)
        side = np.arange(100, dtype=np.float32)[:, np.newaxis]
        inputs = [(side + np.array([0, 0, 0.5, 0.5], np.float32))[np.newaxis], np.ones((1, 1, 100), np.float32)]
    else:
        outputs = net.outputs(
            4 if type == "Unique" else 1, type, net.parameter("?"), opset=10 if type == "Unique" else 3
        )
        # More than inference searches.
        inputs = [np.arange(1, LARGEST_SEARCHED + 2, dtype=np.float32)]
    for output in outputs:
        net.result(output)
    compiled_of(net)(inputs)
    assert max(asked) >= sum(sizes) > 0


def test_constants_and_the_run_count_together() -> None:
    """10 MB of f32 from f16, and 10 MB of the run."""
    net = NetworkText()
    weights = net.op("Convert", net.const(np.ones((2500, 1000), np.float16)), destination_type="f32")
    net.result(net.op("Add", net.parameter("1,1000"), weights))
    row = np.ones((1, 1000), np.float32)
    assert compiled_of(net, max_memory=21 * 10**6)([row])[0][0, 0] == 2
    with pytest.raises(ir_exec.ResourceError) as caught:
        compiled_of(net, max_memory=19 * 10**6)([row])
    assert facts(caught.value.message) == ["19,000,000", "20,000,000"]


@pytest.mark.parametrize(("outputs", "budget"), [(1, 3), (2, 7)])
def test_copied_outputs_are_counted_in_advance(outputs: int, budget: int) -> None:
    """Each is the input, which the caller has already, and takes 4 MB."""
    net = NetworkText()
    x = net.parameter("?")
    for _ in range(outputs):
        net.result(x)
    numbers = np.ones(10**6, np.float32)
    asked: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        require, keep = Limits.require, Limits.keep
        patch.setattr(Limits, "require", lambda limits, size: (asked.append(size), require(limits, size))[1])
        patch.setattr(
            Limits, "keep", lambda limits, array, **how: (asked.append(-array.nbytes), keep(limits, array, **how))[1]
        )
        with pytest.raises(ir_exec.ResourceError):
            compiled_of(net, max_memory=budget * 10**6)([numbers])
    size = numbers.nbytes
    assert [request for request in asked if abs(request) >= size] == [size, -size] * (outputs - 1) + [size]


def test_views_of_inputs_and_of_constants_take_no_memory() -> None:
    net = NetworkText()
    body = NetworkText(net)
    large = net.parameter("?,1000")
    parameter = body.parameter()
    same = body.result(parameter)
    constant = body.result(body.const(np.ones((1, 10**6), np.float32)))
    ties = [tied_input(0, parameter, axis=0), tied_output(1, same), tied_output(2, constant)]
    for output in net.loop(2, "TensorIterator", [large], body, ties):
        net.result(output)
    # The copies of the outputs, which are the caller's, take 4 MB.
    compiled = compiled_of(net, max_memory=6 * 10**6)
    assert compiled([np.ones((2500, 1000), np.float32)])[0].shape == (1, 1000)


def test_folded_constants_are_counted_once() -> None:
    """4 MB of a constant that is every part, and 8 MB of two of them."""
    net = NetworkText()
    row = np.ones((1, 10**6), np.float16)
    net.result(
        loop(
            net,
            net.parameter("1,1"),
            lambda body, *_: body.op("Convert", body.const(row), destination_type="f32"),
            trips=int64(2),
        )
    )
    compiled = compiled_of(net, max_memory=13 * 10**6)
    for _ in range(2):
        assert compiled([X])[0].shape == (2, 10**6)


def nested_loops(trips: int) -> NetworkText:
    """Three loops, one in the other, each with the first element of an input as number of iterations."""
    net = NetworkText()
    count = net.const(int64(trips))

    def middle(body: NetworkText, value: Output, _: Output) -> Output:
        return loop(net, value, inner, trips=int64(trips), back=True, concatenate=False, enclosing=body)

    def inner(body: NetworkText, value: Output, _: Output) -> Output:
        return loop(net, value, negate, trips=int64(trips), back=True, concatenate=False, enclosing=body)

    net.result(loop(net, net.parameter("1,1"), middle, trips=count, back=True, concatenate=False))
    return net


def negate(body: NetworkText, value: Output, _: Output) -> Output:
    return body.op("Negative", value)


def test_iterations_are_counted_over_all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiting, "MOST_ITERATIONS", 3 + 9 + 27)
    compiled = compiled_of(nested_loops(3))
    for _ in range(2):
        assert compiled([X])[0] == -1
    monkeypatch.setattr(limiting, "MOST_ITERATIONS", 3 + 9 + 26)
    with pytest.raises(ir_exec.ResourceError, match=naming("38")) as caught:
        compiled([X])
    assert (caught.value.code, caught.value.location.layer_type) == ("IR006", "Loop")


class Clock:
    """Time that advances by a second on every read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_time_is_looked_at_before_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    net = NetworkText()
    value = net.parameter("1,1")
    for _ in range(10):
        value = net.op("Exp", value)
    net.result(value)
    monkeypatch.setattr(limiting, "monotonic", Clock())
    assert compiled_of(net, max_seconds=10)([X]).keys()
    with pytest.raises(ir_exec.ResourceError, match=naming("5.5")) as caught:
        compiled_of(net, max_seconds=5.5)([X])
    assert (caught.value.code, caught.value.location.layer_name) == ("IR006", "exp6")


def test_time_is_looked_at_before_each_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of no layers, which only counts iterations."""
    net = NetworkText()
    net.result(loop(net, net.parameter("1,1"), lambda body, value, _: value, trips=int64(100), concatenate=False))
    monkeypatch.setattr(limiting, "monotonic", Clock())
    with pytest.raises(ir_exec.ResourceError, match=naming("50")) as caught:
        compiled_of(net, max_seconds=50)([X])
    assert caught.value.location.layer_type == "Loop"
    assert compiled_of(net, max_seconds=150)([X])[0] == 1


def convolution(net: NetworkText) -> Output:
    filters = net.const(np.ones((8, 8, 3, 3), np.float32))
    padding = dict.fromkeys(("strides", "dilations", "pads_begin", "pads_end"), "1,1")
    return net.op("Convolution", net.parameter("1,8,300,300"), filters, **padding)


def deformable(net: NetworkText) -> Output:
    offsets = net.const(np.zeros((1, 18, 100, 100), np.float32))
    filters = net.const(np.ones((8, 8, 3, 3), np.float32))
    padding = dict.fromkeys(("strides", "dilations", "pads_begin", "pads_end"), "1,1")
    return net.op("DeformableConvolution", net.parameter("1,8,100,100"), offsets, filters, opset=8, **padding)


def softmax(net: NetworkText) -> Output:
    return net.op("SoftMax", net.parameter("2000,500"), axis=1)


def gather(net: NetworkText) -> Output:
    data = net.const(np.ones((1000, 64), np.float32))
    return net.op(
        "Gather", data, net.op("Convert", net.parameter("60000"), destination_type="i64"), net.const(int64(0))
    )


def attention(net: NetworkText) -> Output:
    x = net.parameter("1,4096,8")
    return net.op("ScaledDotProductAttention", x, x, x, opset=13, causal=False)


def recurrent(net: NetworkText) -> Output:
    weights = [net.const(np.ones(shape, np.float32)) for shape in [(1, 3, 3), (1, 3, 3), (1, 3)]]
    state, lengths = net.const(np.zeros((1, 1, 3), np.float32)), net.const(np.array([9], np.int32))
    return net.outputs(
        2, "RNNSequence", net.parameter("1,9,3"), state, lengths, *weights, opset=5, hidden_size=3, direction="forward"
    )[0]


def losses(net: NetworkText) -> Output:
    numbers = [net.const(np.array(value, np.int32)) for value in ([9], [[1, 2] + [0] * 7], [2])]
    return net.op("CTCLoss", net.parameter("1,9,5"), *numbers, opset=4)


def boxes(net: NetworkText) -> Output:
    corners = np.arange(4000, dtype=np.float32)[:, np.newaxis] + np.array([0, 0, 0.5, 0.5], np.float32)
    limits = [net.const(np.array(number)) for number in (np.int64(4000), np.float32(0.5), np.float32(0))]
    result = net.outputs(
        3, "NonMaxSuppression", net.const(corners[np.newaxis]), net.parameter("1,1,4000"), *limits, opset=9
    )
    return result[2]


def regions(net: NetworkText) -> Output:
    rois = net.const(np.tile(np.array([0, 0, 0, 3, 3], np.float32), (9, 1)))
    pooling = {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0, "method": "max"}
    return net.op("ROIPooling", net.parameter("1,2,4,4"), rois, opset=2, **pooling)


def products(net: NetworkText) -> Output:
    return net.op("Einsum", *[net.parameter("2,2")] * 5, opset=7, equation="ab,bc,cd,de,ef->af")


@pytest.mark.broad(keep=6)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "layer",
    [convolution, deformable, softmax, gather, attention, recurrent, losses, boxes, regions, products],
)
def test_time_is_looked_at_within_layers(
    layer: Callable[[NetworkText], Output], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last seconds of a run pass in its largest layer, which is stopped there."""
    net = NetworkText()
    output = layer(net)
    net.result(output)
    clock = Clock()
    monkeypatch.setattr(limiting, "monotonic", clock)
    in_chunks(monkeypatch, "INTERMEDIATE_ELEMENTS", 1)
    compiled = compiled_of(net, max_seconds=1e9, threads=threads)
    x = np.ones(compiled.inputs[0].shape.static, np.float32)
    compiled([x])
    looks = clock.now
    with pytest.raises(ir_exec.ResourceError, check=coded("IR006")) as caught:
        compiled_of(net, max_seconds=looks - 3, threads=threads)([x])
    assert caught.value.location.layer_id == str(output.layer)


def test_no_time_limit_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    net = NetworkText()
    net.result(net.op("Exp", net.parameter("1,1")))
    monkeypatch.setattr(Limits, "check_time", lambda limits: pytest.fail("looked at"))
    compiled_of(net)([X])


def test_memory_is_counted_during_lifetime() -> None:
    limits = Limits(Budget(10_000))
    first = np.zeros(4000, np.uint8)
    limits.keep(first)
    view = first[10:]
    limits.keep(view)
    limits.keep(np.zeros(2000, np.uint8), excluded=owners([first]))
    limits.require(5000)
    with pytest.raises(ir_exec.ResourceError):
        limits.require(6000)
    del first
    with pytest.raises(ir_exec.ResourceError):
        limits.require(6000)
    del view
    limits.require(10_000)
    shared = np.zeros(9000, np.uint8)
    limits.keep(shared[:10], excluded=owners([shared[20:]]))
    limits.require(10_000)
    limits.keep(shared, planned=9000)
    with pytest.raises(ir_exec.ResourceError):
        limits.require(9900)
    limits.close()
    limits.require(10_000)


def test_outside_of_a_run_nothing_is_limited() -> None:
    current_limits().require(2**60)


def test_limits_end_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are gone while the caller holds the outputs, without waiting for the collector of garbage."""
    seen: list[ref[Limits]] = []
    original = running.run_steps

    def note_limits(steps: Any, slots: Any, limits: Limits) -> None:
        seen.append(ref(limits))
        original(steps, slots, limits)

    monkeypatch.setattr(executor, "run_steps", note_limits)
    net = NetworkText()
    net.result(net.op("NonZero", net.parameter("?"), opset=3))
    compiled = compiled_of(net)
    gc.disable()
    try:
        outputs = compiled([np.ones(10**4, np.float32)])
        assert outputs[0].shape == (1, 10**4)
        assert [limits() for limits in seen] == [None, None]
    finally:
        gc.enable()
    assert limiting.LIMITS.get() is None
