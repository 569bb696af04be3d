"""ONNX read and written again, IR written and read again, and the files that OpenVINO reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import numpy as np
import onnx
import pytest

import ir_exec
from ir_exec.onnx.export.files import to_bytes
from ir_exec.onnx.export.lower import lower_model
from ir_exec.ops.base.registry import resolve
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.networks import COPIES, arrays
from tests.conformance.oracle import Refused
from tests.conformance.sample import each_chunk_of_a_part, found_in
from tests.onnx.export.engine import Engine, Question
from tests.onnx.export.left_out import (
    NOT_READ_AGAIN,
    NOT_READ_BY_OPENVINO,
    NOT_WRITTEN_AGAIN,
    ROWS_NOT_READ_BY_OPENVINO,
    WRONG,
)
from tests.onnx.export.round_trips import back_again, round_trips
from tests.onnx.export.rows import outcomes
from tests.onnx.suite import CATEGORIES, cases

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(not onnx.__version__.startswith("1.23."), reason="the lists are of the cases of onnx 1.23"),
]

SHARDS = 8
SAMPLED = 1
"""Shards of each group that the plain command runs."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


@pytest.mark.parametrize("group", CATEGORIES)
@pytest.mark.parametrize(
    "shard", [pytest.param(shard, marks=pytest.mark.rest if shard >= SAMPLED else ()) for shard in range(SHARDS)]
)
def test_the_suite_comes_out_again(group: str, shard: int, engine: Engine) -> None:
    chosen = [case for case in cases(group) if crc32(case.name.encode()) % SHARDS == shard]
    trips = list(round_trips(chosen, engine))
    wrong = [f"{trip.name}: {trip.message}" for trip in trips if trip.verdict in ("wrong", "refused")]
    assert [line for line in wrong if line.partition(":")[0] not in NOT_WRITTEN_AGAIN] == []


@pytest.mark.broad(keep=12)
@pytest.mark.parametrize("rows", each_chunk_of_a_part())
def test_rows_read_again_are_the_same_function(rows: list[Case]) -> None:
    faults = found_in(rows, _find_unlisted_faults)
    assert not faults, faults


def _find_unlisted_faults(case: Case) -> list[str]:
    """Differences, except for operators with other rows in ONNX, and for unread values."""
    if resolve(case.type, f"opset{case.opset}").__name__ in WRONG:
        return []
    return [fault for fault in back_again(case) if not any(reason in fault for reason in NOT_READ_AGAIN)]


@pytest.mark.broad(keep=6)
@pytest.mark.parametrize("name", sorted(path.stem for path in COPIES.glob("*.xml") if arrays(path, "inputs")))
def test_openvino_reads_written_files(name: str, engine: Engine) -> None:
    path = COPIES / f"{name}.xml"
    inputs, expected = arrays(path, "inputs"), arrays(path, "outputs")
    assert inputs is not None
    assert expected is not None
    exported = lower_model(ir_exec.read_model(path))
    assert not exported.proto.functions
    if exported.states or name in NOT_READ_BY_OPENVINO:
        pytest.skip(NOT_READ_BY_OPENVINO.get(name, "its states are inputs and outputs"))
    feed = dict(zip(exported.inputs, inputs, strict=True))
    (answer,) = engine.run([Question(to_bytes(exported), feed, by="openvino")])
    assert not isinstance(answer, Refused), answer.reason
    for actual, reference in zip(answer.outputs, expected, strict=True):
        np.testing.assert_allclose(
            actual.astype(np.float64),
            reference.astype(np.float64),
            rtol=2e-2,
            atol=2e-3 * max(1.0, _largest(reference)),
        )


ROWS = 2
"""Rows of each operator that OpenVINO reads."""


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("family", families())
def test_openvino_reads_rows(family: str, engine: Engine) -> None:
    """Scalars cannot be given to the child process."""
    counts: Counter[str] = Counter()
    rows = []
    for case in table(family):
        counts[case.type] += 1
        is_scalar = any(np.ndim(array) == 0 for array in case.inputs)
        if counts[case.type] <= ROWS and not is_scalar and case.type not in ROWS_NOT_READ_BY_OPENVINO:
            rows.append(case)
    faults = [
        f"{outcome.case}: {outcome.faults}"
        for outcome in outcomes(rows, engine, by="openvino")
        if outcome.faults and not outcome.is_refused
    ]
    assert not faults


def _largest(array: np.ndarray) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))
