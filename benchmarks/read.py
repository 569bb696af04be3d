"""Reading, inferring and checking files of a thousand layers and more, against OpenVINO, which reads and validates.

The document alone is the work of lxml and pydantic; the rest is additional.

The files are the models of `../shared/models` (or of `tests/networks` without that folder), each repeated in one file
until it has enough layers. All times are per layer.

    python -m benchmarks.read [--only TEXT] [--layers 1000] [--seconds 3]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import openvino as ov

import ir_exec
from benchmarks.measure import Paired, draw_chart, geometric_mean, measure_pair, print_table, write_json
from ir_exec.ir import Document, Edge, Layer, Weights, default_weights_path, read_document
from ir_exec.ir.writer import write_document

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "models"


def repeat_layers(document: Document, least: int) -> Document:
    """Return copies of the model in one file, with at least `least` layers."""
    step = 1 + max(int(layer.id) for layer in document.layers)
    copies = range(-(-least // sum(1 for _ in document.all_layers())))
    return document.changed(
        layers=tuple(_copy(layer, copy, step) for copy in copies for layer in document.layers),
        edges=tuple(_shift_edge(edge, copy * step) for copy in copies for edge in document.edges),
    )


def _copy(layer: Layer, copy: int, step: int) -> Layer:
    def mark(name: str) -> str:
        return f"{name}~{copy}"

    outputs = [port.changed(names=tuple(map(mark, port.names))) for port in layer.outputs]
    data = {name: mark(value) if name == "variable_id" else value for name, value in layer.data.items()}
    id = str(int(layer.id) + copy * step)
    names = tuple(map(mark, layer.output_names))
    return layer.changed(id=id, name=mark(layer.name), outputs=tuple(outputs), data=data, output_names=names)


def _shift_edge(edge: Edge, by: int) -> Edge:
    return edge.changed(from_layer=str(int(edge.from_layer) + by), to_layer=str(int(edge.to_layer) + by))


def files(folder: Path, least: int) -> Iterator[tuple[str, Path, int]]:
    """Yield name, file and number of layers of every model, including layers in bodies."""
    for path in sorted((SHARED if SHARED.exists() else ROOT / "tests" / "networks").glob("*.xml")):
        document = read_document(path)
        assert document is not None, "the reader raises"
        many = repeat_layers(document, least)
        written = folder / path.name
        write_document(many, Weights.open(default_weights_path(path)), written)
        yield path.stem, written, sum(1 for _ in many.all_layers())


def of_one_layer(row: Paired, layers: int) -> Paired:
    return Paired(f"{row.name} ({layers:,} layers)", row.ours / layers, row.theirs / layers, row.ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--layers", type=int, default=1000, help="minimum number of layers of a file")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds per file")
    arguments = parser.parse_args()
    core = ov.Core()
    checked: list[Paired] = []
    read: list[Paired] = []
    parsed: list[Paired] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, layers in files(Path(folder), arguments.layers):
            if arguments.only not in name:
                continue
            report = ir_exec.check_model(path)
            if not report.ok:
                raise SystemExit(f"{name}: {report}")
            calls: list[tuple[list[Paired], Callable[[Path], Any]]]
            calls = [(checked, ir_exec.check_model), (read, ir_exec.read_model), (parsed, read_document)]
            for rows, ours in calls:
                row = measure_pair(
                    name, partial(ours, path), partial(core.read_model, path), seconds=arguments.seconds / 3
                )
                rows.append(of_one_layer(row, layers))
    print("Read, infer and check, per layer")
    print_table(checked)
    print("\nRead and infer, per layer")
    print_table(read)
    print("\nThe document alone (lxml and pydantic), per layer")
    print_table(parsed)
    print(f"\ngeometric mean of check_model: {geometric_mean(row.ours for row in checked) * 1e6:.1f} us per layer")
    write_json(
        "read",
        checked,
        unit="seconds per layer",
        read_model=[vars(row) for row in read],
        read_document=[vars(row) for row in parsed],
    )
    draw_chart("read", checked, "Reading, inferring and checking: speed relative to OpenVINO, which reads")


if __name__ == "__main__":
    main()
