"""Bundles: a model with its inputs, outputs, versions and reports in one .zip, to run on another machine."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, Literal

import numpy as np
from pydantic import Field, ValidationError

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.comparison.references.reference import differences
from ir_exec.debug.reduction.anonymizing import anonymous, redrawn
from ir_exec.debug.values.files import damaged_file_error, nearest, read_npz, unwritable, write_npz
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.hints import path_word
from ir_exec.ir.regular_files import open_regular
from ir_exec.ir.storage import replacing, temporary_folder
from ir_exec.model import Model, ModelPort, Source, read_model
from ir_exec.onnx.reading.tensor_files import data_set_files, read_tensor_file
from ir_exec.report.records import Record, to_json
from ir_exec.runtime import compile_model
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import BOOLEAN, Array, ElementType

__all__ = [
    "ONNX_DATA",
    "ONNX_MODEL",
    "TEST_DATA",
    "Bundle",
    "Rerun",
    "bundle",
    "current_versions",
    "describe_member",
    "name_reports",
    "rerun",
    "write_bundle",
]

_MODEL, _WEIGHTS, _INPUTS, _OUTPUTS = "model.xml", "model.bin", "model.inputs.npz", "model.outputs.npz"
_FILES = (_MODEL, _WEIGHTS, _INPUTS, _OUTPUTS)
ONNX_MODEL, ONNX_DATA, TEST_DATA = "model.onnx", "model.onnx.data", "test_data_set_0"
_ONNX_MEMBER = re.compile(rf"{re.escape(ONNX_MODEL)}(\.data)?|{TEST_DATA}/(input|output)_\d{{1,6}}\.pb")
_ABOUT, _READ_ME, _REPORTS = "bundle.json", "README.txt", "reports/"

_MOST_MEMBERS, _MOST_TENSORS = 100, 2_000
_MOST_REPORTS = 94
_MOST_ABOUT = 2**20
_MOST_BYTES = 2**34
_CHUNK = 2**20

_SAMPLES, _SAMPLE_BYTES = 16, 2**16
_WORTHWHILE = 0.8
"""Files whose samples shrink to less than this part are compressed."""

_TRIED_SEEDS = 3

_TOLD = """\
A model in OpenVINO IR with inputs, and the outputs that ir_exec computed for them.

    ir-exec bundle --run {name}

runs the model again and compares the outputs. bundle.json lists the versions that were used.
"""

_PACKAGES = ("ir-exec", "numpy", "ml_dtypes", "openvino", "onnxruntime")


class Member(Record):
    """A file of a bundle.

    Attributes:
        digest: SHA-256.
    """

    name: str
    size: Annotated[int, Field(ge=0)]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Bundle(Record):
    """`bundle.json`: the contents of the .zip, and the versions that produced it.

    Attributes:
        versions: The versions of ir_exec and of installed related packages.
        anonymous: True if names and weights differ from the original model.
        command: The command that checked for the fault, omitted in anonymous bundles.
        fails: True if the command found the fault; None without a command.
    """

    format: Literal[1] = 1
    versions: dict[str, str]
    python: str
    machine: str
    anonymous: bool = False
    command: str | None = None
    fails: bool | None = None
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Rerun:
    """Result of running a bundle again.

    Attributes:
        differences: The difference of each output from the array in the bundle; None if the bundle has no such array.
    """

    bundle: Bundle
    differences: dict[str, Difference | None]

    @property
    def equal(self) -> bool:
        """True if every output is within the tolerance."""
        return all(difference is not None and difference.is_within for difference in self.differences.values())


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
            for tried in range(seed, seed + (_TRIED_SEEDS if fails is not None else 1)):
                model = anonymous(original, seed=tried)
                arrays = [
                    _other_input(array, np.random.default_rng((tried, at))) for at, array in enumerate(original_arrays)
                ]
                if fails is None or (answer := _fails(fails, model, arrays, folder_path)):
                    break
        _store(model, arrays, folder_path)
        results = _results(model, arrays, anonymously)
        write_npz(
            folder_path / _OUTPUTS, {port.name: array for port, array in zip(model.outputs, results, strict=True)}
        )
        named = {name: folder_path / name for name in _FILES}
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


def name_reports(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the files by the names of their members; names differ also without regard to case.

    Raises:
        EvaluationError: For more files than a bundle may have.
    """
    distinct = list({os.path.realpath(path): path for path in paths}.values())
    if len(distinct) > _MOST_REPORTS:
        raise EvaluationError(
            "there are",
            actual=f"{len(distinct):,}",
            detail="reports",
            expected=f"at most {_MOST_REPORTS}",
            code=Code.bad_value,
        )
    members: dict[str, Path] = {}
    names: set[str] = set()
    for path in distinct:
        number, name = 1, path.name
        while name.casefold() in names:
            number += 1
            name = f"{path.stem}-{number}{path.suffix}"
        names.add(name.casefold())
        members[f"{_REPORTS}{name}"] = path
    return members


def _store(model: Model, arrays: Sequence[Array], folder: Path) -> dict[str, Array]:
    """Write a model and its inputs.

    Returns:
        The inputs by name.
    """
    inputs = {port.name: array for port, array in zip(model.inputs, arrays, strict=True)}
    model.save(folder / _MODEL)
    write_npz(folder / _INPUTS, inputs)
    return inputs


def _fails(fails: Callable[..., bool], model: Model, arrays: Sequence[Array], folder: Path) -> bool:
    inputs = _store(model, arrays, folder)
    return bool(fails(read_model(folder / _MODEL), inputs))


def _other_input(array: Array, random: np.random.Generator) -> Array:
    element_type = ElementType.of(array)
    stays = element_type in BOOLEAN or (not element_type.is_float and element_type.bits > 8)
    return array if stays else redrawn(array, random)


def current_versions() -> dict[str, str]:
    """Return the versions of ir_exec and of installed related packages."""
    versions = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def describe_member(name: str, path: Path) -> Member:
    try:
        with open_regular(path) as file:
            return Member(name=name, size=path.stat().st_size, digest=hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise damaged_file_error(path, error) from None


def write_bundle(target: Path, members: Mapping[str, Path], about: Bundle, read_me: str) -> None:
    """Write the .zip; equal contents give equal files.

    Args:
        members: The files by the names of their members.
        read_me: The text of README.txt, with `{name}` for the name of the .zip.
    """
    description = to_json(about) + "\n"
    if len(description.encode()) > _MOST_ABOUT:
        message = f"the command has {len(about.command or ''):,} characters, too many for bundle.json"
        raise EvaluationError(message, code=Code.bad_value)
    try:
        with replacing(target, "bundle") as new, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_info(_READ_ME), read_me.format(name=path_word(target.name)))
            archive.writestr(_info(_ABOUT), description)
            for name, path in members.items():
                with open_regular(path) as file:
                    info = _info(name, zipfile.ZIP_DEFLATED if _is_compressible(file) else zipfile.ZIP_STORED)
                    with archive.open(info, "w", force_zip64=True) as member:
                        shutil.copyfileobj(file, member, _CHUNK)
    except OSError as error:
        raise unwritable(target, error) from None


def _is_compressible(file: BinaryIO) -> bool:
    """Return True if samples of a file, at fixed positions, are smaller when they are compressed.

    Trained weights are not: compressing them takes most of the time of a bundle, and saves less than a tenth of them.
    """
    size = file.seek(0, os.SEEK_END)
    steps = range(0, size, max(size // _SAMPLES, _SAMPLE_BYTES)) if size else ()
    before = after = 0
    for start in steps:
        file.seek(start)
        sample = file.read(_SAMPLE_BYTES)
        before += len(sample)
        after += len(zlib.compress(sample, 6))
    file.seek(0)
    return after <= _WORTHWHILE * before


def _info(name: str, compression: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = compression
    info.external_attr = 0o644 << 16
    return info


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
            limits = {"threads": threads, "max_memory": max_memory, "max_seconds": max_seconds}
            return _rerun_onnx(about, Path(folder), **limits)
        model = read_model(Path(folder, _MODEL))
        inputs, outputs = (_arrays(Path(folder, name), most_bytes) for name in (_INPUTS, _OUTPUTS))
        compiled = compile_model(
            model, precision="file", threads=threads, max_memory=max_memory, max_seconds=max_seconds
        )
        results = compiled(_as_declared(inputs, model.inputs))
        return Rerun(about, differences(results, _OUTPUTS, arrays=outputs))


def _rerun_onnx(about: Bundle, folder: Path, **options: Any) -> Rerun:
    """Run the model of an unpacked bundle on its inputs, and compare the outputs with those in the bundle.

    Args:
        options: As for `compile_model`.
    """
    inputs, expected = (
        dict(read_tensor_file(path) for path in data_set_files(folder / TEST_DATA, end)) for end in ("input", "output")
    )
    results = compile_model(read_model(folder / ONNX_MODEL), precision="file", **options)(inputs)
    return Rerun(about, differences(results, TEST_DATA, arrays=expected))


def is_onnx_bundle(about: Bundle) -> bool:
    """Return True for a bundle in the layout of ONNX's test data."""
    return any(member.name == ONNX_MODEL for member in about.members)


def _arrays(path: Path, most_bytes: int) -> dict[str, Array]:
    """Read the arrays of an .npz; a bundle contains uncompressed ones, which are not larger than the file."""
    try:
        return read_npz(path, most_bytes=min(most_bytes, path.stat().st_size), name=path.name)
    except ResourceError as error:
        raise damaged_file_error(path.name, error) from None


def _as_declared(arrays: Mapping[str, Array], ports: Sequence[ModelPort]) -> dict[str, Array]:
    kinds = {port.name: port.element_type for port in ports}
    return {name: nearest(array, kinds.get(name, ElementType.dynamic)) for name, array in arrays.items()}


def unpack_bundle(path: Path, folder: Path, most_bytes: int) -> Bundle:
    try:
        with open_regular(path) as stored, zipfile.ZipFile(stored) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            tensor_count = sum(_ONNX_MEMBER.fullmatch(name) is not None for name in names)
            is_too_large = len(infos) - tensor_count > _MOST_MEMBERS or tensor_count > _MOST_TENSORS
            if is_too_large or len(set(names)) < len(names):
                raise ValueError(f"{len(infos):,} members, expected at most {_MOST_MEMBERS}, each with a unique name")
            if _ABOUT not in names:
                raise ValueError("not a bundle, expected a member bundle.json")
            with archive.open(_ABOUT) as file:
                text = file.read(_MOST_ABOUT + 1)
            if len(text) > _MOST_ABOUT:
                raise ValueError(f"bundle.json is too large, expected at most {_MOST_ABOUT:,} bytes")
            about = Bundle.model_validate_json(text)
            members = {member.name: member for member in about.members}
            own_names = [name for name in members if _ONNX_MEMBER.fullmatch(name)] if is_onnx_bundle(about) else _FILES
            if lost := [name for name in own_names if name not in members]:
                raise ValueError(f"bundle.json does not list {lost[0]}")
            needed = [members[name] for name in own_names]
            if sum(member.size for member in needed) > most_bytes:
                total = sum(member.size for member in needed)
                raise ValueError(f"the members have {total:,} bytes, expected at most {most_bytes:,}")
            for member in needed:
                (folder / member.name).parent.mkdir(exist_ok=True)
                with archive.open(member.name) as source, open(folder / member.name, "xb") as target:
                    _copy(source, target, member)
    except ValidationError:
        raise damaged_file_error(path, ValueError("bundle.json does not match the schema of a bundle")) from None
    except (
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
    ) as error:
        # RuntimeError: an encrypted member, or an unavailable compression method.
        reason = error if isinstance(error, (OSError, ValueError)) else ValueError(str(error).strip("'\""))
        raise damaged_file_error(path, reason) from None
    return about


def _copy(source: IO[bytes], target: IO[bytes], member: Member) -> None:
    """Copy a member.

    Raises:
        ValueError: If its size or digest differs from bundle.json.
        ResourceError: IR009 on a full disk.
    """
    left, hashed = member.size, hashlib.sha256()
    while left >= 0 and (chunk := source.read(min(_CHUNK, left + 1))):
        left -= len(chunk)
        hashed.update(chunk)
        try:
            target.write(chunk)
        except OSError as error:
            raise unwritable(target.name, error) from None
    if left or hashed.hexdigest() != member.digest:
        raise ValueError(f"{member.name} differs from its size or digest in bundle.json")
