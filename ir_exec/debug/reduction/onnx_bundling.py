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
from ir_exec.ir.regular_files import open_regular
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, ModelPort, read_model
from ir_exec.onnx.editing.attributes import tensor_of
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited
from ir_exec.onnx.reading.tensor_files import data_set_files, read_tensor_file
from ir_exec.runtime import compile_model
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

__all__ = ["bundle_onnx", "can_bundle", "rerun_onnx"]

_READ_ME = """\
An ONNX model with inputs, and the outputs that ir_exec computed for them, in the layout of ONNX's test data.

    onnx_test_runner FOLDER
    ir-exec bundle --run {name}

run the model again and compare the outputs. bundle.json lists the versions that were used.
"""


_LARGE = 2**30
"""Minimum bytes of a message whose tensors are written to a separate file."""


def can_bundle(source: OnnxSource) -> bool:
    """Return True if all inputs and outputs are tensors or sequences of tensors, not maps or optional values."""
    graph = source.proto.graph
    return all(
        declared.type.WhichOneof("value") in (None, "tensor_type")
        or (_is_sequence(declared) and declared.type.sequence_type.elem_type.WhichOneof("value") == "tensor_type")
        for declared in (*graph.input, *graph.output)
    )


def _is_sequence(declared: ValueInfoProto) -> bool:
    return bool(declared.type.WhichOneof("value") == "sequence_type")


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
        # A sequence has as many outputs as elements for these inputs.
        called, (arrays,), _ = bind_calls(model, dict(inputs))
        results = compile_model(called, precision="file")(arrays).to_tuple()
        outputs = {port.name: array for port, array in zip(called.outputs, results, strict=True)}
        if not any(map(_is_sequence, proto.graph.output)):
            outputs = {declared.name: array for declared, array in zip(proto.graph.output, results, strict=True)}
        (folder / TEST_DATA).mkdir()
        members = {ONNX_MODEL: folder / ONNX_MODEL}
        if (folder / ONNX_DATA).exists():
            members[ONNX_DATA] = folder / ONNX_DATA
        members |= _write_values(folder, "input", _inputs_of(proto), inputs)
        members |= _write_values(folder, "output", list(proto.graph.output), outputs)
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


def _inputs_of(proto: ModelProto) -> list[ValueInfoProto]:
    """Return the inputs that have no initializer."""
    initialized = {tensor.name for tensor in proto.graph.initializer}
    return [declared for declared in proto.graph.input if declared.name not in initialized]


def _write_values(
    folder: Path, end: str, declarations: Sequence[ValueInfoProto], arrays: Mapping[str, Array]
) -> dict[str, Path]:
    """Write one file for each tensor or sequence, in the element types that the model declares."""
    members: dict[str, Path] = {}
    for position, declared in enumerate(declarations):
        name = f"{TEST_DATA}/{end}_{position}.pb"
        members[name] = folder / name
        members[name].write_bytes(_message(declared, arrays).SerializeToString())
    return members


def _message(declared: ValueInfoProto, arrays: Mapping[str, Array]) -> Any:
    """Return a tensor or a sequence: elements are `name/0`, `name/1`, ..., or the rows of a single array."""
    if not _is_sequence(declared):
        return tensor_of(declared.name, _as_declared(arrays[declared.name], declared.type.tensor_type.elem_type))
    from onnx import SequenceProto

    code = declared.type.sequence_type.elem_type.tensor_type.elem_type
    elements = [_as_declared(array, code) for array in _elements(declared.name, arrays)]
    tensors = [tensor_of("", array) for array in elements]
    return SequenceProto(name=declared.name, elem_type=SequenceProto.TENSOR, tensor_values=tensors)


def _elements(name: str, arrays: Mapping[str, Array]) -> list[Array]:
    if name in arrays:
        return [np.asarray(row) for row in arrays[name]]
    count = sum(f"{name}/{position}" in arrays for position in range(len(arrays)))
    return [arrays[f"{name}/{position}"] for position in range(count)]


def _as_declared(array: Array, code: int) -> Array:
    from onnx import helper

    if not code or array.dtype == object:
        return array
    dtype = helper.tensor_dtype_to_np_dtype(code)
    return array if array.dtype == dtype else array.astype(dtype)


def rerun_onnx(about: Bundle, folder: Path, **options: Any) -> Rerun:
    """Run the model of an unpacked bundle on its inputs, and compare the outputs with those in the bundle.

    Args:
        options: As for `compile_model`.
    """
    model = read_model(folder / ONNX_MODEL)
    proto = OnnxSource(folder / ONNX_MODEL).proto
    inputs = _read_values(folder, "input", _inputs_of(proto), model.inputs)
    called, (arrays,), _ = bind_calls(model, inputs)
    expected = _read_values(folder, "output", list(proto.graph.output), called.outputs)
    results = compile_model(called, precision="file", **options)(arrays)
    return Rerun(about, differences(results, TEST_DATA, arrays=expected))


def _read_values(
    folder: Path, end: str, declarations: Sequence[ValueInfoProto], ports: Sequence[ModelPort]
) -> dict[str, Array]:
    """Read the files of a data set; the elements of a sequence are `name/0`, ..., or one array for one port."""
    names = {port.name for port in ports}
    values: dict[str, Array] = {}
    for declared, path in zip(declarations, data_set_files(folder / TEST_DATA, end), strict=False):
        if not _is_sequence(declared):
            name, array = read_tensor_file(path)
            values[name] = array
            continue
        elements = _read_sequence(path)
        if declared.name in names:
            values[declared.name] = np.stack(elements) if elements else np.empty(0, np.float32)
        else:
            values |= {f"{declared.name}/{position}": array for position, array in enumerate(elements)}
    return values


def _read_sequence(path: str) -> list[Array]:
    """Return the tensors of a SequenceProto.

    Raises:
        EvaluationError: IR705 for another message.
    """
    from onnx import SequenceProto, numpy_helper

    try:
        with open_regular(path) as file:
            sequence = SequenceProto.FromString(file.read())
        return [numpy_helper.to_array(tensor) for tensor in sequence.tensor_values]
    except Exception as error:
        # The exceptions of protobuf have no common class in all its implementations.
        message = f"{os.path.basename(path)} is not an ONNX sequence: {error}"
        raise EvaluationError(message, code=Code.unknown_input) from None
