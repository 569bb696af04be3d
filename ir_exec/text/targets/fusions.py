"""Fusions that OpenVINO misses in a model and that cost a feature: PagedAttention, a cache, compressed weights.

The search is that of `ir_exec.fusions`; each finding cites the transformation.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.errors import Citation, IRError, Location
from ir_exec.fusions import FusionTarget, MissedFusion
from ir_exec.fusions.catalogue import TRANSFORMATIONS
from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.predicting import predict
from ir_exec.model import Model
from ir_exec.text.folders.folder import FolderPart
from ir_exec.text.targets.documents import WHISPER_ON_NPU, finding

__all__ = ["missed_fusions", "whisper_on_npu"]


def missed_fusions(part: FolderPart, target: FusionTarget) -> Iterator[IRError]:
    """Report each kind of near miss that costs a feature, at its first layer."""
    if part.loaded is None or part.types is None:
        return  # the check of the file reports its faults
    graph = FusionGraph(Model(part.loaded, part.types))
    for entry in TRANSFORMATIONS:
        if target not in entry.targets:
            continue
        fusion = predict(graph, entry, target)
        if fusion.loss is None or fusion.unknown is not None:
            continue
        groups: dict[tuple[str, str | None], list[MissedFusion]] = {}
        for missed in fusion.missed:
            groups.setdefault((missed.expected, missed.hint), []).append(missed)
        for group in groups.values():
            yield _describe_group(part, fusion.name, group, fusion.loss, entry.source)


def _describe_group(part: FolderPart, name: str, group: list[MissedFusion], loss: str, source: Citation) -> IRError:
    first = group[0]
    more = f" in {len(group):,} layers" if len(group) > 1 else ""
    return finding(
        f"OpenVINO makes no {name}{more}: the model has",
        _location(part, first.layer),
        source,
        "warning",
        first.hint,
        actual=first.actual,
        expected=first.expected,
        reason=f"; the loss: {loss}",
    )


def _location(part: FolderPart, layer: str) -> Location:
    """The location of a layer, or of the file."""
    return next((node.location for node in part.nodes if node.name == layer), part.location)


_FIRST_TRANSFORMERS = (5, 4)
"""The first release of transformers whose export of Whisper runs on NPUs."""


def whisper_on_npu(decoder: FolderPart | None) -> Iterator[IRError]:
    """Report a Whisper model whose decoder was exported with an older release of transformers."""
    if decoder is None:
        return
    text = decoder.rt_info("optimum", "transformers_version")
    hint = "export with transformers 5.4 or later, for example 5.5.4"
    if text is None:
        message = "the file does not state the release of transformers: it is not known whether NPUs run it"
        yield finding(message, decoder.location, WHISPER_ON_NPU, "info", hint)
        return
    release = tuple(int(number) for number in text.split(".")[:2] if number.isdigit())
    if release < _FIRST_TRANSFORMERS:
        yield finding(
            "transformers_version is",
            decoder.location,
            WHISPER_ON_NPU,
            "warning",
            hint,
            actual=text,
            expected="5.4 or later",
            reason="; the pipeline for NPUs does not find the positions of the cache in older exports",
        )
