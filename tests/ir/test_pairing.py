"""The digest of a .bin in its .xml: models whose two files were not written together are not read."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.check import check_model, fix
from ir_exec.codes import Code
from ir_exec.errors import WeightsError
from ir_exec.ir import files, storage
from ir_exec.ir.pairing import ENTRY, seal
from tests.helpers.facts import coded

SMALL, LARGE = 8, 2**17
"""Elements of a constant: the sample contains all bytes of the small one, and a half of those of the large one."""


def model_with(value: float, count: int = SMALL) -> ir_exec.Model:
    x = build.parameter([count], "f32", name="x")
    weights = build.constant(np.full(count, value, np.float32))
    return build.model([build.add(x, weights, name="y")], [x])


def _first(path: Path) -> float:
    (constant,) = ir_exec.read_model(path).constants.values()
    return float(constant[0])


def codes(path: Path, **options: bool) -> set[str]:
    return {error.code for error in check_model(path, **options).errors}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.xml"
    model_with(1.0).save(path)
    return path


@pytest.fixture(params=[SMALL, LARGE])
def pairs(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """Two models of the same layers with other weights."""
    paths = tmp_path / "a.xml", tmp_path / "b.xml"
    for value, path in enumerate(paths, 1):
        model_with(float(value), request.param).save(path)
    return paths


def test_a_pair_is_read(path: Path) -> None:
    assert _first(path) == 1.0
    assert codes(path) == codes(path, weights_values=True) == set()


def test_weights_of_another_writing_are_refused(pairs: tuple[Path, Path]) -> None:
    first, other = pairs
    shutil.copy(other.with_suffix(".bin"), first.with_suffix(".bin"))
    with pytest.raises(WeightsError, check=coded(Code.weights_digest, path=str(first.with_suffix(".bin")))):
        ir_exec.read_model(first)
    assert codes(first) == {Code.weights_digest}


def test_weights_of_another_size_are_refused(path: Path) -> None:
    with path.with_suffix(".bin").open("ab") as file:
        file.write(b"more")
    with pytest.raises(WeightsError, check=coded(Code.weights_digest)):
        ir_exec.read_model(path)
    assert codes(path) == {Code.weights_digest}


def test_named_weights_are_not_compared(pairs: tuple[Path, Path]) -> None:
    first, other = pairs
    model = ir_exec.read_model(first, weights=other.with_suffix(".bin"))
    assert all(np.all(constant == 2.0) for constant in model.constants.values())


def test_change_outside_sample_is_found_by_all_values(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    model_with(1.0, LARGE).save(path)
    content = bytearray(path.with_suffix(".bin").read_bytes())
    content[4096] ^= 1  # the second block is not in the sample
    path.with_suffix(".bin").write_bytes(content)
    assert _first(path) == 1.0
    assert codes(path) == set()
    assert codes(path, weights_values=True) == {Code.weights_digest}


def _with_older_entry(path: Path) -> None:
    """Replace the digest of the chunks by that of earlier versions, of all bytes."""
    complete = hashlib.blake2b(path.with_suffix(".bin").read_bytes(), digest_size=32).hexdigest()
    text, count = re.subn('<chunks value="[^"]*"', f'<complete value="{complete}"', path.read_text())
    assert count == 1
    path.write_bytes(seal(text.encode()))


@pytest.mark.parametrize("is_older", [True, False])
@pytest.mark.parametrize("count", [SMALL, LARGE, 2**21 + 1])
def test_files_of_this_and_earlier_versions_are_verified(tmp_path: Path, is_older: bool, count: int) -> None:
    path = tmp_path / "m.xml"
    model_with(1.0, count).save(path)
    if is_older:
        _with_older_entry(path)
    assert codes(path, weights_values=True) == set()
    content = bytearray(path.with_suffix(".bin").read_bytes())
    content[-5000 % len(content)] ^= 1
    path.with_suffix(".bin").write_bytes(content)
    assert codes(path, weights_values=True) == {Code.weights_digest}


def test_the_digest_is_not_in_the_document(path: Path, tmp_path: Path) -> None:
    model = ir_exec.read_model(path)
    assert model.document.rt_info.child(ENTRY) is None
    model.save(tmp_path / "again.xml")
    assert (tmp_path / "again.xml").read_bytes() == path.read_bytes()
    assert path.read_text().count(f"<{ENTRY}>") == 1


def test_a_model_without_constants_has_no_digest(tmp_path: Path) -> None:
    x = build.parameter([2], "f32", name="x")
    build.model([build.relu(x, name="y")], [x]).save(tmp_path / "m.xml")
    assert ENTRY not in (tmp_path / "m.xml").read_text()
    (tmp_path / "m.bin").write_bytes(b"unused")
    ir_exec.read_model(tmp_path / "m.xml")


def test_openvino_reads_the_file_and_saves_other_weights(path: Path, tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    core = ov.Core()
    model = core.read_model(path)
    compiled = core.compile_model(model, "CPU")
    np.testing.assert_array_equal(compiled([np.zeros(SMALL, np.float32)])[0], np.ones(SMALL, np.float32))
    (constant,) = [op for op in model.get_ops() if op.get_type_name() == "Constant"]
    other = ov.opset15.constant(np.full(SMALL, 7.0, np.float32))
    constant.output(0).replace(other.output(0))
    saved = tmp_path / "saved.xml"
    ov.save_model(model, saved, compress_to_fp16=False)
    # OpenVINO keeps the entry, which now describes other weights.
    assert ENTRY in saved.read_text()
    assert _first(saved) == 7.0
    assert codes(saved) == codes(saved, weights_values=True) == set()
    # The entry of the next file is its own.
    ir_exec.read_model(saved).save(path)
    assert path.read_text().count(f"<{ENTRY}>") == 1
    assert _first(path) == 7.0
    shutil.copy(saved.with_suffix(".bin"), path.with_suffix(".bin"))
    path.with_suffix(".bin").write_bytes(b"\1" * 4 * SMALL)
    assert codes(path) == {Code.weights_digest}


def test_fix_refuses_weights_of_another_writing(path: Path) -> None:
    path.with_suffix(".bin").write_bytes(np.full(SMALL, 5.0, np.float32).tobytes())
    with pytest.raises(WeightsError, check=coded(Code.weights_digest)):
        fix(path)


def test_edited_xml_has_no_digest(path: Path) -> None:
    path.write_text(path.read_text().replace('name="y"', 'name="z"'))
    path.with_suffix(".bin").write_bytes(np.full(SMALL, 5.0, np.float32).tobytes())
    assert _first(path) == 5.0
    assert codes(path, weights_values=True) == set()


@pytest.mark.parametrize("name", ["size", "sample", "chunks"])
def test_a_damaged_entry_is_ignored(path: Path, name: str) -> None:
    text = re.sub(rf'<{name} value="[^"]*"', f'<{name} value="x"' if name == "size" else f"<{name}", path.read_text())
    path.write_bytes(seal(text.encode()))
    assert _first(path) == 1.0


def test_fix_keeps_the_digest(path: Path) -> None:
    text = path.read_text()
    start = text.rindex(f"<dim>{SMALL}</dim>")
    path.write_bytes(seal(f"{text[:start]}<dim>9</dim>{text[start + len('<dim>8</dim>') :]}".encode()))
    repaired = fix(path)
    assert repaired.has_changed
    path.write_bytes(repaired.after)
    assert codes(path) == set()
    path.with_suffix(".bin").write_bytes(np.full(SMALL, 5.0, np.float32).tobytes())
    assert Code.weights_digest in codes(path)


def _killed_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End a writer without cleaning up, after some renames."""
    replace = os.replace
    done: list[str] = []

    def kill(source: str, target: str) -> None:
        if len(done) == count:
            raise _Killed
        replace(source, target)
        done.append(target)

    monkeypatch.setattr(storage.os, "replace", kill)
    monkeypatch.setattr(storage.Replacement, "restore", lambda self: None)


class _Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize("has_digest", [True, False])
@pytest.mark.parametrize("has_older", [True, False])
@pytest.mark.parametrize("count", [0, 1])
def test_writer_killed_between_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, has_older: bool, has_digest: bool
) -> None:
    path = tmp_path / "m.xml"
    if has_older:
        model_with(1.0).save(path)
        if not has_digest:
            text = path.read_text()
            path.write_text(re.sub(rf"<{ENTRY}>.*</{ENTRY}>", "", text, flags=re.DOTALL))
            assert _first(path) == 1.0
    with monkeypatch.context() as patch:
        _killed_after(count, patch)
        with pytest.raises(_Killed):
            model_with(2.0).save(path)
    if count == 0 and has_older:
        assert _first(path) == 1.0
        return
    with pytest.raises(ir_exec.IRError):
        ir_exec.read_model(path)
    model_with(3.0).save(path)
    assert _first(path) == 3.0


def _save_other(path: Path) -> None:
    model_with(2.0).save(path)


def _read_between(monkeypatch: pytest.MonkeyPatch, name: str, owner: object, action: Callable[[], None]) -> None:
    """Run an action once, before the first call of a function."""
    function = getattr(owner, name)
    done: list[bool] = []

    def call(*arguments: object, **options: object) -> object:
        if not done:
            done.append(True)
            action()
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("has_digest", [True, False])
def test_model_replaced_during_reading(path: Path, monkeypatch: pytest.MonkeyPatch, has_digest: bool) -> None:
    if not has_digest:
        path.write_text(re.sub(rf"<{ENTRY}>.*</{ENTRY}>", "", path.read_text(), flags=re.DOTALL))
    _read_between(monkeypatch, "_open_weights", files, lambda: _save_other(path))
    assert _first(path) == 2.0


def test_a_reader_between_two_renames_waits_for_the_second(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The .xml is new and the .bin is old when the reader begins; the .bin follows when it waits for the lock."""
    model_with(2.0).save(path.with_name("new.xml"))
    os.replace(path.with_name("new.xml"), path)
    finish = lambda: os.replace(path.with_name("new.bin"), path.with_suffix(".bin"))  # noqa: E731  # one action
    _read_between(monkeypatch, "lock_folder", files, finish)
    assert _first(path) == 2.0


def test_a_pickle_of_a_pair(path: Path) -> None:
    model = pickle.loads(pickle.dumps(ir_exec.read_model(path)))
    assert [float(constant[0]) for constant in model.constants.values()] == [1.0]
