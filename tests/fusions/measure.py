"""Counts of predicted fusions against OpenVINO's: python -m tests.fusions.measure FOLDER_OR_FILE ...

A line for each model whose counts differ, and the share of equal counts for each fusion.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ir_exec.debug.device.fused_operators import FusionCounter
from ir_exec.errors import IRError
from ir_exec.fusions import list_fusions
from ir_exec.model import read_model


def find_models(paths: Sequence[str]) -> Iterator[Path]:
    """The IR files of the folders, without tokenizers."""
    for text in paths:
        path = Path(text)
        files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
        yield from (file for file in files if "tokenizer" not in file.name and file.with_suffix(".bin").exists())


def compare_counts(path: Path, counter: FusionCounter) -> dict[str, tuple[int | None, int | None]]:
    """The predicted count and OpenVINO's by name of the fusion; None for a conversion that fails."""
    model = read_model(path)
    counts = counter.count(model)
    predicted = {fusion.name: fusion.matched for fusion in list_fusions(model, "cpu").fusions}
    predicted["PagedAttention"] = list_fusions(model, "genai").paged_attention
    if isinstance(counts["PagedAttention"], str) and predicted["PagedAttention"] == 0:
        predicted["PagedAttention"] = None  # neither tokens nor variables
    return {
        name: (predicted[name], None if isinstance(count, str) else count)
        for name, count in counts.items()
        if name in predicted
    }


def main(paths: Sequence[str]) -> None:
    """Print the differences and the shares."""
    equal, total, present = Counter[str](), Counter[str](), Counter[str]()
    with FusionCounter(timeout=300) as counter:
        for path in find_models(paths):
            try:
                counts = compare_counts(path, counter)
            except IRError as error:
                sys.stdout.write(f"{path}: not compared: {str(error)[:100]}\n")
                continue
            for name, (ours, theirs) in counts.items():
                total[name] += 1
                present[name] += bool(theirs)
                equal[name] += ours == theirs
                if ours != theirs:
                    sys.stdout.write(f"{path}: {name} {ours}, OpenVINO {theirs}\n")
    for name, count in total.items():
        sys.stdout.write(f"{name:28} {equal[name]} of {count} equal ({present[name]} models have it)\n")


if __name__ == "__main__":
    main(sys.argv[1:])
