"""Bundles of ONNX files in the layout of ONNX's own test data: `model.onnx`, `test_data_set_0/input_0.pb`, ..."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.reference import differences
from ir_exec.debug.reduction.anonymizing import TRIED_SEEDS, other_input
from ir_exec.debug.reduction.bundle_files import (
    ONNX_DATA,
    ONNX_MODEL,
    TEST_DATA,
    Bundle,
    Rerun,
    current_versions,
    describe_member,
    name_reports,
    write_bundle,
)
from ir_exec.debug.reduction.minimizing import inputs_path
from ir_exec.debug.reduction.onnx_anonymizing import anonymize_onnx
from ir_exec.debug.values.files import write_npz
from ir_exec.errors import EvaluationError
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, read_model
from ir_exec.onnx.editing.attributes import tensor_of
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited
from ir_exec.onnx.reading.tensor_files import data_set_files, read_tensor_file
from ir_exec.runtime import compile_model
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

__all__ = ["bundle_onnx", "has_tensors_only", "rerun_onnx"]

_READ_ME = """\
An ONNX model with inputs, and the outputs that ir_exec computed for them, in the layout of ONNX's test data.

    onnx_test_runner FOLDER
    ir-exec bundle --run {name}

run the model again and compare the outputs. bundle.json lists the versions that were used.
"""


_LARGE = 2**30
"""Minimum bytes of a message whose tensors are written to a separate file."""


def has_tensors_only(source: OnnxSource) -> bool:
    """Return True if all inputs and outputs are tensors; sequences and optional values have several in IR."""
    graph = source.proto.graph
    return all(declared.type.WhichOneof("value") in (None, "tensor_type") for declared in (*graph.input, *graph.output))


def bundle_onnx(
    source: OnnxSource,
    model: Model,
    inputs: Mapping[str, Array],
    *,
    output: str | os.PathLike[str],
    reports: Sequence[str | os.PathLike[str]] = (),
    anonymously: bool = False,
    seed: int = 0,
    fails: Callable[[str], bool] | None = None,
    command: str | None = None,
) -> Bundle:
    """Write an ONNX file, inputs, the outputs that ir_exec computes, versions and reports into one .zip.

    The model has the bytes of the file, unless it is anonymous; external data are copied to `model.onnx.data`.

    Args:
        model: The model of the file.
        inputs: All inputs by name.
        output: The .zip to write.
        reports: As for `bundle`.
        anonymously: Replace names and weights as `anonymize_onnx` does, and inputs by others of the same distribution.
        seed: The seed of the new weights and inputs.
        fails: Called with the path of the model, whose inputs are next to it as an .npz.
        command: The text of `fails` to store.

    Raises:
        IRError: What a run raises.
        EvaluationError: If the model does not fail, and IR704 for too many reports.
        ResourceError: IR009 if a file cannot be written or a report cannot be read.
    """
    reports_by_member = name_reports([Path(report) for report in reports])
    with temporary_folder() as folder_name:
        folder = Path(folder_name)
        answer = _store(source, source.proto, inputs, folder, fails)
        if answer is False:
            raise EvaluationError("the original model does not fail", code=Code.bad_value)
        proto = source.proto
        if anonymously:
            original, original_inputs = model, inputs
            for tried in range(seed, seed + (TRIED_SEEDS if fails is not None else 1)):
                proto, names = anonymize_onnx(source, original, seed=tried)
                inputs = {
                    names[name]: other_input(array, np.random.default_rng((tried, position)))
                    for position, (name, array) in enumerate(original_inputs.items())
                }
                answer = _store(source, proto, inputs, folder, fails)
                if answer is not False:
                    break
            model = read_model(folder / ONNX_MODEL)
        results = compile_model(model, precision="file")(dict(inputs)).to_tuple()
        initialized = {tensor.name for tensor in proto.graph.initializer}
        graph_inputs = [declared for declared in proto.graph.input if declared.name not in initialized]
        (folder / TEST_DATA).mkdir()
        members = {ONNX_MODEL: folder / ONNX_MODEL}
        if (folder / ONNX_DATA).exists():
            members[ONNX_DATA] = folder / ONNX_DATA
        members |= _write_tensors(folder, "input", graph_inputs, [inputs[declared.name] for declared in graph_inputs])
        members |= _write_tensors(folder, "output", list(proto.graph.output), results)
        members |= reports_by_member
        about = Bundle(
            versions=current_versions(),
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}",
            anonymous=anonymously,
            command=None if anonymously else command,
            fails=answer,
            members=tuple(describe_member(name, path) for name, path in members.items()),
        )
        write_bundle(Path(output), members, about, _READ_ME)
    return about


def _store(
    source: OnnxSource,
    proto: ModelProto,
    inputs: Mapping[str, Array],
    folder: Path,
    fails: Callable[[str], bool] | None,
) -> bool | None:
    """Write a model and its inputs; return True if it fails, None without a command."""
    for previous in folder.glob(f"{ONNX_MODEL}*"):
        previous.unlink()
    is_large = proto.ByteSize() > _LARGE
    write_edited(source, proto, folder / ONNX_MODEL, external_data="out" if is_large else "pack")
    if fails is None:
        return None
    write_npz(inputs_path(folder / ONNX_MODEL), dict(inputs))
    return fails(os.fspath(folder / ONNX_MODEL))


def _write_tensors(
    folder: Path, end: str, declarations: Sequence[ValueInfoProto], arrays: Sequence[Array]
) -> dict[str, Path]:
    """Write one file for each tensor, in the element types that the model declares."""
    members: dict[str, Path] = {}
    for position, (declared, array) in enumerate(zip(declarations, arrays, strict=True)):
        name = f"{TEST_DATA}/{end}_{position}.pb"
        members[name] = folder / name
        members[name].write_bytes(tensor_of(declared.name, _as_declared(array, declared)).SerializeToString())
    return members


def _as_declared(array: Array, declared: Any) -> Array:
    from onnx import helper

    code = declared.type.tensor_type.elem_type
    if not code or array.dtype == object:
        return array
    dtype = helper.tensor_dtype_to_np_dtype(code)
    return array if array.dtype == dtype else array.astype(dtype)


def rerun_onnx(about: Bundle, folder: Path, **options: Any) -> Rerun:
    """Run the model of an unpacked bundle on its inputs, and compare the outputs with those in the bundle.

    Args:
        options: As for `compile_model`.
    """
    inputs, expected = (
        dict(read_tensor_file(path) for path in data_set_files(folder / TEST_DATA, end)) for end in ("input", "output")
    )
    results = compile_model(read_model(folder / ONNX_MODEL), precision="file", **options)(inputs)
    return Rerun(about, differences(results, TEST_DATA, arrays=expected))
