"""Bundles: a model with its inputs, outputs, versions and reports in one .zip, to run on another machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.reference import differences
from ir_exec.debug.reduction.anonymizing import TRIED_SEEDS, anonymous, other_input
from ir_exec.debug.reduction.bundle_files import (
    FILES,
    INPUTS,
    MODEL,
    OUTPUTS,
    Bundle,
    Rerun,
    current_versions,
    describe_member,
    is_onnx_bundle,
    name_reports,
    unpack_bundle,
    write_bundle,
)
from ir_exec.debug.values.files import damaged_file_error, nearest, read_npz, write_npz
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, ModelPort, Source, read_model
from ir_exec.runtime import compile_model
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array, ElementType

__all__ = ["bundle", "rerun"]

_MOST_BYTES = 2**34

_TOLD = """\
A model in OpenVINO IR with inputs, and the outputs that ir_exec computed for them.

    ir-exec bundle --run {name}

runs the model again and compares the outputs. bundle.json lists the versions that were used.
"""


def bundle(
    model: Model | Source,
    inputs: Inputs,
    *,
    output: str | os.PathLike[str],
    reports: Sequence[str | os.PathLike[str]] = (),
    anonymously: bool = False,
    seed: int = 0,
    fails: Callable[..., bool] | None = None,
    command: str | None = None,
) -> Bundle:
    """Write a model, its inputs, the outputs that ir_exec computes, versions and reports into one .zip.

    Args:
        output: The .zip to write.
        reports: Files to add, at most 94, unchanged also to an anonymous bundle. A file with the name of an earlier one
            gets a number: `report-2.json`.
        anonymously: Replace names and weights as `anonymous` does, and inputs by others of the same distribution.
            Integers of more than 8 bits and booleans remain.
        seed: The seed of the new weights and inputs.
        fails: Called as by `reduce`, with the original and the anonymous model. If the latter does not fail, further
            seeds are tried. The bundle contains the result.
        command: The text of `fails` to store. Anonymous bundles omit it, as it may contain names.

    Raises:
        IRError: What a run raises.
        EvaluationError: If the original model does not fail, and IR704 for too many reports.
        ResourceError: IR009 if a file cannot be written or a report cannot be read.
    """
    members = name_reports([Path(report) for report in reports])
    model = model if isinstance(model, Model) else read_model(model)
    model, (arrays,), _ = bind_calls(model, inputs)
    with temporary_folder() as folder:
        folder_path = Path(folder)
        answer = None
        if fails is not None:
            answer = _fails(fails, model, arrays, folder_path)
            if not answer:
                raise EvaluationError("the original model does not fail", code=Code.bad_value)
        if anonymously:
            original, original_arrays = model, arrays
            for tried in range(seed, seed + (TRIED_SEEDS if fails is not None else 1)):
                model = anonymous(original, seed=tried)
                arrays = [
                    other_input(array, np.random.default_rng((tried, at))) for at, array in enumerate(original_arrays)
                ]
                if fails is None or (answer := _fails(fails, model, arrays, folder_path)):
                    break
        _store(model, arrays, folder_path)
        results = _results(model, arrays, anonymously)
        write_npz(folder_path / OUTPUTS, {port.name: array for port, array in zip(model.outputs, results, strict=True)})
        named = {name: folder_path / name for name in FILES}
        named |= members
        about = Bundle(
            versions=current_versions(),
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}",
            anonymous=anonymously,
            command=None if anonymously else command,
            fails=answer,
            members=tuple(describe_member(name, path) for name, path in named.items()),
        )
        write_bundle(Path(output), named, about, _TOLD)
    return about


def _results(model: Model, arrays: Sequence[Array], anonymously: bool) -> Sequence[Array]:
    try:
        return compile_model(model, precision="file")(arrays).to_tuple()
    except IRError as error:
        if not anonymously or error.hint is not None:
            raise
        hint = "write the bundle without --anonymous if its texts may be shared: some tokenizers need their vocabulary"
        raise error.changed(hint=hint) from error


def _store(model: Model, arrays: Sequence[Array], folder: Path) -> dict[str, Array]:
    """Write a model and its inputs.

    Returns:
        The inputs by name.
    """
    inputs = {port.name: array for port, array in zip(model.inputs, arrays, strict=True)}
    model.save(folder / MODEL)
    write_npz(folder / INPUTS, inputs)
    return inputs


def _fails(fails: Callable[..., bool], model: Model, arrays: Sequence[Array], folder: Path) -> bool:
    inputs = _store(model, arrays, folder)
    return bool(fails(read_model(folder / MODEL), inputs))


def rerun(
    path: str | os.PathLike[str],
    *,
    most_bytes: int = _MOST_BYTES,
    max_memory: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
) -> Rerun:
    """Run the model of a bundle on its inputs, and compare the outputs with those in the bundle.

    ir_exec runs the model and nothing else; the command of the bundle is not run. Only members with known names are
    read, into a temporary folder, up to the sizes in `bundle.json`.

    Args:
        most_bytes: Maximum total size of the members, and of the arrays of an .npz.
        max_memory: As for `compile_model`.
        max_seconds: As for `compile_model`.
        threads: As for `compile_model`.

    Raises:
        EvaluationError: For a file that is not a bundle, is damaged, or exceeds `most_bytes`, and what a run raises.
    """
    with temporary_folder() as folder:
        about = unpack_bundle(Path(path), Path(folder), most_bytes)
        if is_onnx_bundle(about):
            from ir_exec.debug.reduction.onnx_bundling import rerun_onnx  # imported for ONNX files only

            limits = {"threads": threads, "max_memory": max_memory, "max_seconds": max_seconds}
            return rerun_onnx(about, Path(folder), **limits)
        model = read_model(Path(folder, MODEL))
        inputs, outputs = (_arrays(Path(folder, name), most_bytes) for name in (INPUTS, OUTPUTS))
        compiled = compile_model(
            model, precision="file", threads=threads, max_memory=max_memory, max_seconds=max_seconds
        )
        results = compiled(_as_declared(inputs, model.inputs))
        return Rerun(about, differences(results, OUTPUTS, arrays=outputs))


def _arrays(path: Path, most_bytes: int) -> dict[str, Array]:
    """Read the arrays of an .npz; a bundle contains uncompressed ones, which are not larger than the file."""
    try:
        return read_npz(path, most_bytes=min(most_bytes, path.stat().st_size), name=path.name)
    except ResourceError as error:
        raise damaged_file_error(path.name, error) from None


def _as_declared(arrays: Mapping[str, Array], ports: Sequence[ModelPort]) -> dict[str, Array]:
    kinds = {port.name: port.element_type for port in ports}
    return {name: nearest(array, kinds.get(name, ElementType.dynamic)) for name, array in arrays.items()}
