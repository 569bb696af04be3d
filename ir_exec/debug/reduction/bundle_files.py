"""The files of bundles: records of their contents, and .zip files that are written and unpacked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Annotated, BinaryIO, Literal

from pydantic import Field, ValidationError

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.values.files import damaged_file_error, unwritable
from ir_exec.errors import EvaluationError
from ir_exec.hints import path_word
from ir_exec.ir.regular_files import open_regular
from ir_exec.ir.storage import replacing
from ir_exec.report.records import Record, to_json

__all__ = [
    "FILES",
    "INPUTS",
    "MODEL",
    "ONNX_DATA",
    "ONNX_MODEL",
    "OUTPUTS",
    "TEST_DATA",
    "Bundle",
    "Member",
    "Rerun",
    "current_versions",
    "describe_member",
    "is_onnx_bundle",
    "name_reports",
    "unpack_bundle",
    "write_bundle",
]

MODEL, _WEIGHTS, INPUTS, OUTPUTS = "model.xml", "model.bin", "model.inputs.npz", "model.outputs.npz"
FILES = (MODEL, _WEIGHTS, INPUTS, OUTPUTS)
ONNX_MODEL, ONNX_DATA, TEST_DATA = "model.onnx", "model.onnx.data", "test_data_set_0"
_ONNX_MEMBER = re.compile(rf"{re.escape(ONNX_MODEL)}(\.data)?|{TEST_DATA}/(input|output)_\d{{1,6}}\.pb")
_ABOUT, _READ_ME, _REPORTS = "bundle.json", "README.txt", "reports/"

_MOST_MEMBERS, _MOST_TENSORS = 100, 2_000
_MOST_REPORTS = 94
_MOST_ABOUT = 2**20
_CHUNK = 2**20

_SAMPLES, _SAMPLE_BYTES = 16, 2**16
_WORTHWHILE = 0.8
"""Files whose samples shrink to less than this part are compressed."""

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


def is_onnx_bundle(about: Bundle) -> bool:
    """Return True for a bundle in the layout of ONNX's test data."""
    return any(member.name == ONNX_MODEL for member in about.members)


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
            own_names = [name for name in members if _ONNX_MEMBER.fullmatch(name)] if is_onnx_bundle(about) else FILES
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
