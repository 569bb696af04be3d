"""Limits of devices and pipelines, checked without the device: `check --for npu`.

Only limits stated by a public document are errors or warnings; facts that no document states are reported as "not
known", with the severity info. Each finding cites its document (`Diagnostic.source`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from ir_exec.check import Diagnostic, Report
from ir_exec.codes import Code
from ir_exec.errors import IRError, Location
from ir_exec.ir.paths import exists
from ir_exec.ir.urls import is_url, suffix_of
from ir_exec.readers import ENDINGS
from ir_exec.text.folders.folder import PART_FILES, Folder, FolderPart, open_folder, read_part
from ir_exec.text.targets.devices import on_device
from ir_exec.text.targets.documents import GENAI_MODELS, GENAI_ON_NPU, finding
from ir_exec.text.targets.fusions import missed_fusions, whisper_on_npu
from ir_exec.text.targets.pipelines import LANGUAGE, in_genai, language_model, language_model_on_npu
from ir_exec.text.targets.weights import weights_on_npu

__all__ = ["TARGETS", "Target", "check_for"]

Target = Literal["npu", "gpu", "genai", "cpu"]
TARGETS: tuple[str, ...] = get_args(Target)

_TOKENIZERS = frozenset({"tokenizer", "detokenizer"})
_TEXT = LANGUAGE | {"encoder and decoder", "speech", "embeddings"}


def check_for(path: str | os.PathLike[str], target: Target) -> list[Report]:
    """Report the features of a file, or of all files of a folder, that the target rejects.

    A folder with a pipeline is checked as a whole; the models of other folders are checked one by one.

    Code: IR811, an error or a warning for limits that a document states, an info for unknown facts.

    Returns:
        A report for each file with findings.
    """
    path = os.fspath(path)
    by_file: dict[str, list[Diagnostic]] = {}
    for fault in _of_path(path, target):
        by_file.setdefault(fault.location.path or path, []).append(Diagnostic.of(fault))
    return [
        Report(path=file, diagnostics=tuple(several), layers_checked=0, layers_not_checked=0)
        for file, several in by_file.items()
    ]


def _of_path(path: str, target: Target) -> Iterator[IRError]:
    if is_url(path):
        yield from _of_url(path, target)
        return
    if not os.path.isdir(path):
        network = path[:-4] + ".xml" if path.lower().endswith(".bin") else path
        if os.path.isfile(network):
            yield from _of_network(read_part("model", network), target)
        return
    for folder_path, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        folder = open_folder(folder_path)
        if folder is not None:
            # Subfolders of a pipeline are its parts.
            folders.clear()
            yield from _of_folder(folder, target)
            continue
        networks = list(_networks(folder_path, names))
        if target == "genai" and networks:
            message = "the folder is not a known pipeline: it is not known whether GenAI runs it"
            yield finding(message, Location(path=folder_path), GENAI_MODELS, "info")
        for part in networks if target != "genai" else ():
            yield from _of_network(part, target)


def _of_url(url: str, target: Target) -> Iterator[IRError]:
    """Check a remote file, or each model of a remote folder."""
    from ir_exec.ir.remote import files_below  # not needed for local files

    try:
        urls = files_below(url)
    except OSError:
        # The check of the file itself reports the error.
        return
    for file_url in [url] if urls is None else urls:
        if suffix_of(file_url) in ENDINGS:
            yield from _of_network(read_part("model", file_url), target)


def _networks(folder_path: str, names: Iterable[str]) -> Iterator[FolderPart]:
    """The models among the files of a folder; other .xml files are omitted."""
    for name in sorted(names):
        if name.lower().endswith(ENDINGS):
            part = read_part("model", os.path.join(folder_path, name))
            if exists(part.weights_path) or not any(fault.code == Code.not_ir for fault in part.faults):
                yield part


def _of_network(part: FolderPart, target: Target) -> Iterator[IRError]:
    """Check a single model."""
    if target == "genai":
        message = "GenAI runs folders: it is not known whether it runs a single file"
        yield finding(message, part.location, GENAI_MODELS, "info", "pass the folder of the model")
    elif target != "cpu":
        yield from on_device(part, target)
    yield from missed_fusions(part, target)


def _of_folder(folder: Folder, target: Target) -> Iterator[IRError]:
    if target == "genai":
        faults = list(in_genai(folder))
        yield from faults
        is_accepted = all(fault.severity != "error" for fault in faults)
        if is_accepted and folder.decoder is not None and folder.kind in LANGUAGE:
            yield from missed_fusions(folder.decoder, target)
        return
    if target == "cpu":
        for name, part in folder.parts.items():
            if name not in _TOKENIZERS:
                yield from missed_fusions(part, target)
    else:
        yield from _on_gpu(folder) if target == "gpu" else _on_npu(folder)
    for part in _networks(folder.path, {*os.listdir(folder.path)} - {*PART_FILES.values()}):
        yield from _of_network(part, target)
    for subfolder in folder.below:
        yield from _of_folder(subfolder, target)


def _on_gpu(folder: Folder) -> Iterator[IRError]:
    for name, part in folder.parts.items():
        if name not in _TOKENIZERS:
            yield from on_device(part, "gpu", is_text=folder.kind in _TEXT)
            yield from missed_fusions(part, "gpu")


def _on_npu(folder: Folder) -> Iterator[IRError]:
    if folder.kind in LANGUAGE:
        # The pipeline converts these to static shapes.
        yield from language_model(folder)
        yield from language_model_on_npu(folder)
        if folder.decoder is not None:
            yield from weights_on_npu(folder.decoder)
        if folder.kind == "language model with vision":
            message = "only the language model was checked; support of the other parts on NPUs is unknown"
            yield finding(message, Location(path=folder.path), GENAI_ON_NPU, "info")
        return
    if folder.kind == "speech" and folder.architectures == ("WhisperForConditionalGeneration",):
        yield from whisper_on_npu(folder.decoder)
        return
    for name, part in folder.parts.items():
        if name not in _TOKENIZERS:
            yield from on_device(part, "npu")
