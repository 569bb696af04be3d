"""Description of a folder: its parts, sizes, weights, cache and tokenizer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Literal

from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.report.records import Record
from ir_exec.text.folders.compression import PackedWeight, format_differences, packed_weights
from ir_exec.text.folders.folder import Folder, FolderPart
from ir_exec.text.folders.pipeline_rules import templates_of
from ir_exec.text.folders.vocabularies import embedding_of, entries_of
from ir_exec.text.ops.base import TextOp
from ir_exec.types import ElementType

__all__ = ["FolderFacts", "PartFacts", "WeightFormat", "facts_of_folder"]


class PartFacts(Record):
    """A model of the folder.

    Attributes:
        bytes: The size of its .bin.
        readable: True if it was read without a fault.
    """

    name: str
    file: str
    layers: int
    bytes: int
    written_by: str | None
    readable: bool


class WeightFormat(Record):
    """The storage format of a share of the weights of a model.

    Attributes:
        group_size: The number of elements that share a scale; None for channel-wise scales, and for weights without
            scales.
        symmetric: False if zero points other than the middle of the range are subtracted; None for weights without
            scales.
    """

    part: str
    format: str
    group_size: int | None
    symmetric: bool | None = None
    elements: int
    share: float


class FolderFacts(Record):
    """The description of a folder.

    Attributes:
        context_length: The number of positions that the model was trained for.
        cache_bytes: Bytes of keys and values per token.
        tokenizer: The kind of the tokenizer.
        tokens: The number of entries of its vocabulary.
        rows: The number of rows of the embedding.
        templates: The files with chat templates, in order; a later template replaces an earlier one.
        declared_formats: By part, the weight format that NNCF declares.
        differences: By part, the differences of the graph from the declared format.
    """

    format: Literal[1] = 1
    path: str
    kind: str
    model_type: str | None
    parts: tuple[PartFacts, ...]
    context_length: int | None
    cache_bytes: int | None
    tokenizer: str | None
    tokens: int | None
    rows: int | None
    templates: tuple[str, ...]
    weights: tuple[WeightFormat, ...]
    declared_formats: dict[str, str]
    differences: Mapping[str, tuple[str, ...]] = {}


def facts_of_folder(folder: Folder) -> FolderFacts:
    """Return the description of a folder; unknown facts are None."""
    tokenizer = folder.parts.get("tokenizer")
    nodes = tokenizer.nodes if tokenizer is not None else ()
    algorithms = [node.op.algorithm for node in nodes if isinstance(node.op, TextOp) and node.op.algorithm]
    entries = entries_of(tokenizer)
    embedding = embedding_of(folder.parts.get("text embeddings") or folder.decoder)
    networks = [part for name, part in folder.parts.items() if name not in ("tokenizer", "detokenizer")]
    weights = {part.name: packed_weights(part) for part in networks}
    every = [part for inner in (folder, *folder.below) for part in inner.parts.values()]
    return FolderFacts(
        path=folder.path,
        kind=folder.kind,
        model_type=_text(folder.model_type or folder.setting("model_index.json", "_class_name")),
        parts=tuple([_part(folder, part) for part in every]),
        context_length=_to_int(
            folder.setting("config.json", "max_position_embeddings")
            or folder.setting("config.json", "text_config", "max_position_embeddings")
            or folder.setting("config.json", "n_positions")
        ),
        cache_bytes=_cache_bytes(folder.decoder),
        tokenizer=algorithms[0] if algorithms else None,
        tokens=max(entries) + 1 if entries else None,
        rows=embedding[1] if embedding is not None else None,
        templates=tuple([name for name, _, _ in templates_of(folder)]),
        weights=tuple([row for name, packed in weights.items() for row in _formats(name, packed)]),
        declared_formats={
            part.name: text for part in networks if (text := _describe_declared_format(part)) is not None
        },
        differences={
            part.name: tuple(differences)
            for part in networks
            if (differences := list(format_differences(part, weights[part.name])))
        },
    )


def _text(value: object) -> str | None:
    # JSON may contain single surrogates, which no output can.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _to_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _part(folder: Folder, part: FolderPart) -> PartFacts:
    try:
        size = os.path.getsize(part.weights_path)
    except OSError:
        size = 0
    return PartFacts(
        name=part.name,
        file=os.path.relpath(part.path, folder.path),
        layers=len(part.nodes),
        bytes=size,
        written_by=part.loaded.document.writer if part.loaded is not None else None,
        readable=part.loaded is not None and not part.faults,
    )


def _cache_bytes(part: FolderPart | None) -> int | None:
    """Bytes per token in the variables with keys and values, for one text."""
    total = 0
    for node in part.nodes if part is not None else ():
        shape, element_type = getattr(node.op, "variable_shape", None), getattr(node.op, "variable_type", None)
        if not isinstance(node.op, ReadsVariable) or shape is None or shape.rank != 4 or element_type is None:
            continue
        total += prod(dim.size for dim in shape[1:] if dim.is_static) * element_type.bits // 8
    return total or None


def _formats(part: str, weights: list[PackedWeight]) -> list[WeightFormat]:
    """The formats of the weights, sorted by the number of elements, largest first."""
    counts: Counter[tuple[ElementType, int | None, bool | None]] = Counter()
    for weight in weights:
        symmetric = weight.zero_point != "other" if weight.is_scaled else None
        counts[weight.weight.element_type, weight.weight.group_size, symmetric] += weight.weight.size
    total = sum(counts.values())
    return [
        WeightFormat(
            part=part,
            format=element_type.name,
            group_size=group,
            symmetric=symmetric,
            elements=count,
            share=count / total,
        )
        for (element_type, group, symmetric), count in counts.most_common()
    ]


def _describe_declared_format(part: FolderPart) -> str | None:
    mode = part.rt_info("nncf", "weight_compression", "mode")
    if mode is None:
        return None
    details = []
    for name in ("group_size", "ratio", "backup_mode"):
        text = part.rt_info("nncf", "weight_compression", name)
        if text is not None:
            details.append(f"{name} {text}")
    return ", ".join([mode, *details])
