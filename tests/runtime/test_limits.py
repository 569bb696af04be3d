"""What a run may take: memory counted over bodies and constants, iterations of all loops together, seconds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.kernels import limits as limiting
from ir_exec.kernels.limits import Budget, Limits, current_limits
from ir_exec.runtime import loop as running
from ir_exec.types import Array
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
    around: NetworkText | None = None,
) -> Output:
    """A Loop whose body makes `step(body, value, number of the iteration)`; its output is all parts or the last."""
    outer = around or net
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
    """Goes on up to an iteration that no inference knows: the number is compared with a value that is data."""
    return lambda body, count: body.op("Less", count, body.const(int64(last)))


def tiled(columns: int) -> Callable[[NetworkText, Output, Output], Output]:
    """[1, 1] becomes [1, columns]."""
    return lambda body, value, _: body.op("Tile", value, body.const(int64([1, columns])))


def parts_that_grow() -> NetworkText:
    """2 GiB in parts of 1 MiB, in a loop that only its condition ends."""
    net = NetworkText()
    net.result(loop(net, net.parameter("1,1"), tiled(MIB // 4), trips=int64(-1), goes_on=until(2048)))
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
        return loop(net, value, tiled(MIB // 4), trips=int64(12), around=body)

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
    net.result(net.op("Add", large, small))
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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_loop_takes_no_more_than_the_budget(name: str, tmp_path: Path) -> None:
    file = HOSTILE[name]().file()
    (tmp_path / "net.xml").write_bytes(file.xml)
    (tmp_path / "net.bin").write_bytes(file.weights)
    budget = 32 * MIB
    command = [sys.executable, "-c", CHILD, str(tmp_path / "net.xml"), str(budget)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert found[1:] == ["IR006"]
    # Modules that the run imports, and what kernels need besides the tensors.
    assert int(found[0]) < budget + 16 * MIB
