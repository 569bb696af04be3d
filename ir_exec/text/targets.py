"""What a device or a pipeline refuses, said before it is tried: `check --for npu`.

Only what a document of OpenVINO says is an error; what none says is "unknown", an info.

Sources: docs.openvino.ai, "Supported Devices" (dynamic shapes: CPU yes, GPU in part, NPU no), "GPU Device" (no dynamic
rank), "OpenVINO GenAI on NPU" (weights of 4 bits: symmetric, ratio 1.0, groups of 128 or whole channels), "Inference
with OpenVINO GenAI" (networks with their cache in variables).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from typing import Literal, get_args

from ir_exec.check import Diagnostic, Report
from ir_exec.codes import Code
from ir_exec.errors import Fault, IRError, Location, Severity
from ir_exec.graph.compressed import CompressedWeight, compressed_weights
from ir_exec.ops.infrastructure.values import Parameter, ReadsVariable
from ir_exec.text.folder import Folder, FolderPart, open_folder, read_part
from ir_exec.types import ElementType, Shape

__all__ = ["TARGETS", "Target", "check_for"]

Target = Literal["npu", "gpu", "genai"]
TARGETS: tuple[str, ...] = get_args(Target)

_DEVICES = "docs.openvino.ai, Supported Devices"
_ON_NPU = "docs.openvino.ai, OpenVINO GenAI on NPU"
_GENAI = "docs.openvino.ai, Inference with OpenVINO GenAI"

_LANGUAGE = frozenset({"language model", "language model with vision"})
_TOKENIZERS = frozenset({"tokenizer", "detokenizer"})
_DOCUMENTED_GROUPS = (128, -1)
_FEWEST = 256
"""Constants of fewer elements are no weights."""


def check_for(path: str | os.PathLike[str], target: Target) -> list[Report]:
    """What the target refuses of a folder that is one model, or of a file, a report for each file at fault.

    Code: IR811, an error for what a document says is refused, a warning for what it does not name, an info for what is
    not known.
    """
    path = os.fspath(path)
    folder = open_folder(path)
    if folder is not None:
        found = list(_of_folder(folder, target))
    elif os.path.isfile(path):
        found = list(_of_part(read_part("model", path), target))
    else:
        found = []
    by_file: dict[str, list[Diagnostic]] = {}
    for fault in found:
        by_file.setdefault(fault.location.path or path, []).append(Diagnostic.of(fault))
    return [
        Report(path=file, diagnostics=tuple(several), layers_checked=0, layers_not_checked=0)
        for file, several in by_file.items()
    ]


def _fault(message: str, place: Location, source: str, severity: Severity = "error") -> IRError:
    return IRError.of(Fault(message, Code.refused_by_target, f"source: {source}", severity, place))


def _of_folder(folder: Folder, target: Target) -> Iterator[IRError]:
    for name, part in folder.parts.items():
        # Pipelines run tokenizers on the CPU, and make language models static themselves.
        if name in _TOKENIZERS:
            continue
        if folder.kind not in _LANGUAGE:
            yield from _of_part(part, target)
    decoder = folder.decoder
    if folder.kind in _LANGUAGE and decoder is not None:
        if target == "npu":
            yield from _four_bits(decoder)
        if target in ("npu", "genai"):
            yield from _cache(decoder)
    if target == "genai" and folder.kind in ("embeddings", "part"):
        message = f"it is not known whether GenAI has a pipeline for this folder, which is {folder.kind}"
        yield _fault(message, Location(path=folder.path), _GENAI, "info")
    for one in folder.below:
        yield from _of_folder(one, target)


def _of_part(part: FolderPart, target: Target) -> Iterator[IRError]:
    """What a device refuses of a network that runs by itself."""
    if target == "genai":
        yield _fault("GenAI runs folders: give the folder of the model", part.place, _GENAI, "info")
        return
    for node, names in part.inputs.values():
        shape = node.op.shape if isinstance(node.op, Parameter) else Shape([])
        if shape.dims is None:
            yield _fault(
                f"the rank of the input {names[0]} is open, which no GPU or NPU takes", node.location, _DEVICES
            )
        elif target == "npu" and not shape.is_static:
            is_bounded = all(dim.is_static or dim.hi < _UNBOUNDED for dim in shape)
            if is_bounded:
                message = f"the input {names[0]} has bounded dims, {shape}: which drivers take these is not known"
                yield _fault(message, node.location, _DEVICES, "info")
            else:
                message = f"the input {names[0]} has open dims, {shape}, and NPUs take static shapes"
                yield _fault(message, node.location, _DEVICES)


_UNBOUNDED = 2**31 - 1


def _weights(part: FolderPart) -> Iterator[CompressedWeight]:
    """The weights of 4 bits, those of bodies too."""
    graphs = [] if part.loaded is None else [part.loaded.graph]
    for graph in (*graphs, *(body.graph for node in part.nodes for body in node.bodies)):
        for chain in compressed_weights(graph).values():
            if chain.element_type.bits == 4 and prod(chain.constant.shape.static) >= _FEWEST:
                yield chain


def _four_bits(part: FolderPart) -> Iterator[IRError]:
    """Weights of 4 bits that the NPU's pipeline is not documented to take; one finding of a kind."""
    seen: set[str] = set()
    for chain in _weights(part):
        node, group = chain.codes, -1 if chain.group_size is None else chain.group_size
        if chain.element_type is ElementType.u4 and chain.table is None and "symmetric" not in seen:
            seen.add("symmetric")
            message = "weights of 4 bits are asymmetric (u4 with zero points), and NPUs want symmetric ones (i4)"
            yield _fault(message, node.location, _ON_NPU)
        if group not in _DOCUMENTED_GROUPS and "group" not in seen:
            seen.add("group")
            message = f"weights of 4 bits have groups of {group}: the documents name 128 and whole channels"
            yield _fault(message, node.location, _ON_NPU, "warning")
    ratio = part.rt_info("nncf", "weight_compression", "ratio")
    has_any = any(True for _ in _weights(part))
    if ratio is not None and ratio not in ("1", "1.0") and has_any:
        message = f"a share of {ratio} of the weights has 4 bits: the documents name a ratio of 1.0"
        yield _fault(message, part.place, _ON_NPU, "warning")
    if not has_any:
        message = "the weights have not 4 bits: which of these an NPU takes is not known"
        yield _fault(message, part.place, _ON_NPU, "info")


def _cache(part: FolderPart) -> Iterator[IRError]:
    has_state = any(isinstance(node.op, ReadsVariable) for node in part.nodes)
    has_past = any(name.startswith("past") for name in part.inputs)
    if has_past and not has_state:
        message = "the cache is in inputs and outputs, and pipelines take networks that keep it in variables"
        yield _fault(message, part.place, _GENAI)
