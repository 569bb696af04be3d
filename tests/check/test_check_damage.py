"""`check_model` answers for any bytes; `python -m benchmarks.hostile` measures its time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec import check_model

BAD = Path(__file__).parents[1] / "bad"
NETWORKS = Path(__file__).parents[1] / "networks"
SMALL = (NETWORKS / "script_if.xml").read_bytes()
SMALL_WEIGHTS = (NETWORKS / "script_if.bin").read_bytes()
MIXED = (BAD / "many-independent-faults.xml").read_bytes()
MIXED_WEIGHTS = (BAD / "many-independent-faults.bin").read_bytes()

FRAGMENTS = [b'"', b"<", b">", b"/>", b"-1", b"0", b"99999999999999999999", b"<dim>", b"?", b"\xff", b"&x;", b"..", b""]


def check(raw: bytes, weights: bytes) -> None:
    report = check_model(raw, weights=weights)
    assert report.ok == (not report.errors)
    assert str(report).endswith(("error, 0 warnings", "errors, 0 warnings")) or "warning" in str(report)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    raw = bytearray(SMALL)
    for offset, byte in changes:
        raw[offset] = byte
    check(bytes(raw), SMALL_WEIGHTS)


@settings(max_examples=100)
@given(st.data())
def test_replaced_pieces(data: st.DataObject) -> None:
    raw = MIXED
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(raw)))
        end = min(start + data.draw(st.integers(0, 20)), len(raw))
        raw = raw[:start] + data.draw(st.sampled_from(FRAGMENTS)) + raw[end:]
    check(raw, MIXED_WEIGHTS)


@settings(max_examples=60)
@given(st.data())
def test_replaced_numbers(data: st.DataObject) -> None:
    """Well-formed files with changed numbers: ids, ports, dims, offsets, attributes."""
    places = [index for index in range(len(SMALL)) if SMALL[index : index + 1].isdigit()]
    raw = bytearray(SMALL)
    for offset in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=5)):
        raw[offset : offset + 1] = data.draw(st.sampled_from([b"0", b"1", b"7", b"-", b"9"]))
    check(bytes(raw), SMALL_WEIGHTS)


@settings(max_examples=40)
@given(st.binary(max_size=300), st.binary(max_size=50))
def test_random_bytes(raw: bytes, weights: bytes) -> None:
    check(raw, weights)


@settings(max_examples=30)
@given(st.integers(0, len(SMALL)), st.integers(0, len(SMALL_WEIGHTS)))
def test_cut_files(length: int, weights_length: int) -> None:
    check(SMALL[:length], SMALL_WEIGHTS[:weights_length])


@settings(max_examples=25)
@given(st.data())
def test_memory_is_a_small_multiple_of_the_files(data: st.DataObject) -> None:
    """Sizes in damaged files: shapes, sizes and offsets with many digits."""
    raw = bytearray(SMALL)
    places = [index for index in range(len(SMALL)) if SMALL[index : index + 1].isdigit()]
    for offset in sorted(data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=6)), reverse=True):
        raw[offset : offset + 1] = data.draw(
            st.sampled_from([b"999999999", b"1000000000000", b"-99", b"3,99999,99999"])
        )
    check_model(bytes(raw), weights=SMALL_WEIGHTS)  # imports the modules of these operators
    tracemalloc.start()
    try:
        check(bytes(raw), SMALL_WEIGHTS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(raw) + 4 * 2**20


def test_body_result_without_edge_is_no_internal_error() -> None:
    """Its edge ends at a port that does not exist."""
    edge = b'<edge from-layer="4" from-port="2" to-layer="5" to-port="0" />'
    before, _, after = SMALL.rpartition(edge)
    assert before
    report = check_model(before + edge.replace(b'to-layer="5"', b'to-layer="1"') + after, weights=SMALL_WEIGHTS)
    codes = {diagnostic.code for diagnostic in report.diagnostics}
    assert "IR103" in codes
    assert "IR999" not in codes
