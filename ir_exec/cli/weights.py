"""Compression of weights in `ir-exec edit`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ir_exec.build.compress import SHORT_NAMES, Compression, StoredWeight, compress_weights
from ir_exec.build.weight_formats import FORMATS
from ir_exec.cli.arrays import read_arrays
from ir_exec.cli.files import read_json
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, echo, errors_as_messages, style_text
from ir_exec.model import Model
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count

__all__ = ["compress", "read_compression", "split_weights"]

_NAMES = ("f16", *SHORT_NAMES, *FORMATS)
_KEYS = {"format": str, "group_size": int, "ratio": float, "all_layers": bool, "layers": dict}


def split_weights(arguments: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the .bin and the format in the values of --weights.

    Raises:
        Unusable: For two of a kind.
    """
    formats = [argument for argument in arguments if argument in _NAMES or argument.lower().endswith(".json")]
    files = [argument for argument in arguments if argument not in formats]
    unknown = [file for file in files if not file.lower().endswith(".bin") and not Path(file).exists()]
    if unknown:
        choices = ", ".join(_NAMES)
        raise Unusable(f"--weights is {unknown[0]}, expected a .bin, a .json or a format: {choices}")
    for group in (formats, files):
        if len(group) > 1:
            raise Unusable(f"--weights has {group[0]} and {group[1]}, expected one of them")
    return (files or [None])[0], (formats or [None])[0]  # type: ignore[list-item]  # None if missing


def read_compression(
    asked: str, group_size: int | None = None, ratio: float | None = None, *, all_layers: bool = False
) -> Compression:
    """Return the compression that the options describe; options override the file."""
    compression = _of_file(asked) if asked.lower().endswith(".json") else Compression(asked)
    if group_size is not None:
        compression = replace(compression, group_size=group_size)
    if ratio is not None:
        compression = replace(compression, ratio=ratio)
    return replace(compression, all_layers=True) if all_layers else compression


def _of_file(path: str) -> Compression:
    content = read_json(path, "the formats")
    example = '{"format": "int4", "group_size": 64, "layers": {"PATTERN OF NAMES": "int8"}}'
    if not isinstance(content, dict) or set(content) - set(_KEYS):
        raise Unusable(f"{path} contains other JSON, expected {example}")
    for name, value in content.items():
        expected_type: Any = (int, float) if _KEYS[name] is float else _KEYS[name]
        is_truth = isinstance(value, bool) and _KEYS[name] is not bool
        if not isinstance(value, expected_type) or is_truth:
            raise Unusable(f"{path}: {name} is {value!r}, expected {example}")
    layers = content.get("layers", {})
    if not all(isinstance(layer, str) for layer in layers.values()):
        raise Unusable(f"{path}: layers must map name patterns to formats, expected {example}")
    return Compression(**{"format": "keep", **content})


def compress(network: Model, compression: Compression, archives: Sequence[str]) -> Model:
    """Compress the weights of a model, and print a summary.

    Args:
        archives: .npz files of inputs.
    """
    importance = None
    with errors_as_messages(exit_code=UNUSABLE), LayerBar(network.graph) as bar:
        if archives:
            from ir_exec.debug.precision.activations import activation_powers  # imported for --inputs only

            calls = [read_arrays(path, network.inputs) for path in archives]
            importance = activation_powers(network, calls, bar.advance if bar.is_wanted else None)
        compressed_model, stored = compress_weights(network, compression, importance)
    for line in _summarize(stored):
        echo(style_text("message", printable(line)))
    return compressed_model


def _summarize(stored: Sequence[StoredWeight]) -> list[str]:
    kinds: Counter[tuple[str, int | None, str | None]] = Counter()
    for record in stored:
        kinds[record.format, record.group_size, record.note] += 1
    lines = []
    for (name, group, note), count in kinds.most_common():
        text = f"{format_count(count, 'weight', ',')} as {name}" + ("" if group is None else f", groups of {group}")
        lines.append(text + ("" if note is None else f" ({note})"))
    before, after = sum(record.bytes_before for record in stored), sum(record.bytes for record in stored)
    lines.append(f"weights: {before:,} -> {after:,} bytes, for reports and tests; NNCF keeps more accuracy")
    return lines
