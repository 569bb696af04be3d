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
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, echo, errors_as_messages, styled
from ir_exec.model import Model
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count

__all__ = ["compressed", "read_compression", "split_weights"]

_NAMES = ("f16", *SHORT_NAMES, *FORMATS)
_KEYS = {"format": str, "group_size": int, "ratio": float, "all_layers": bool, "layers": dict}


def split_weights(given: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the .bin and the format in the values of --weights.

    Raises:
        Unusable: For two of a kind.
    """
    formats = [one for one in given if one in _NAMES or one.lower().endswith(".json")]
    files = [one for one in given if one not in formats]
    unknown = [file for file in files if not file.lower().endswith(".bin") and not Path(file).exists()]
    if unknown:
        choices = ", ".join(_NAMES)
        raise Unusable(f"--weights is {unknown[0]}, expected a .bin, a .json or a format: {choices}")
    for found in (formats, files):
        if len(found) > 1:
            raise Unusable(f"--weights has {found[0]} and {found[1]}, expected one of them")
    return (files or [None])[0], (formats or [None])[0]  # type: ignore[list-item]  # None if missing


def read_compression(
    asked: str, group_size: int | None = None, ratio: float | None = None, *, all_layers: bool = False
) -> Compression:
    """Return the compression that the options describe; options override the file."""
    found = _of_file(asked) if asked.lower().endswith(".json") else Compression(asked)
    if group_size is not None:
        found = replace(found, group_size=group_size)
    if ratio is not None:
        found = replace(found, ratio=ratio)
    return replace(found, all_layers=True) if all_layers else found


def _of_file(path: str) -> Compression:
    content = read_json(path, "the formats")
    example = '{"format": "int4", "group_size": 64, "layers": {"PATTERN OF NAMES": "int8"}}'
    if not isinstance(content, dict) or set(content) - set(_KEYS):
        raise Unusable(f"{path} contains other JSON, expected {example}")
    for name, value in content.items():
        kind: Any = (int, float) if _KEYS[name] is float else _KEYS[name]
        is_truth = isinstance(value, bool) and _KEYS[name] is not bool
        if not isinstance(value, kind) or is_truth:
            raise Unusable(f"{path}: {name} is {value!r}, expected {example}")
    layers = content.get("layers", {})
    if not all(isinstance(layer, str) for layer in layers.values()):
        raise Unusable(f"{path}: layers must map name patterns to formats, expected {example}")
    return Compression(**{"format": "keep", **content})


def compressed(network: Model, compression: Compression, archives: Sequence[str]) -> Model:
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
        found, stored = compress_weights(network, compression, importance)
    for line in _shown(stored):
        echo(styled("message", printable(line)))
    return found


def _shown(stored: Sequence[StoredWeight]) -> list[str]:
    kinds: Counter[tuple[str, int | None, str | None]] = Counter()
    for one in stored:
        kinds[one.format, one.group_size, one.note] += 1
    lines = []
    for (name, group, note), count in kinds.most_common():
        text = f"{format_count(count, 'weight', ',')} as {name}" + ("" if group is None else f", groups of {group}")
        lines.append(text + ("" if note is None else f" ({note})"))
    before, after = sum(one.bytes_before for one in stored), sum(one.bytes for one in stored)
    lines.append(f"weights: {before:,} -> {after:,} bytes, for reports and tests; NNCF keeps more accuracy")
    return lines
