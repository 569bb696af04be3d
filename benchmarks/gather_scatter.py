"""The gather and scatter family against OpenVINO's CPU plugin, in one process, on the same arrays.

Both run a model of one layer on fixed inputs and return outputs owned by the caller, the default of both. With
`--shared-outputs` OpenVINO returns outputs in memory that the next call overwrites, which ir_exec does not offer. The
outputs are compared before anything is timed.

    python -m benchmarks.gather_scatter [--quick] [--only TEXT] [--seconds 1.5] [--threads 2] [--shared-outputs]

The full run takes about five minutes and 2 GiB of memory.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

import ir_exec
from benchmarks.measure import Paired, draw_chart, geometric_mean, measure_pair, print_table, write_json
from ir_exec.cli.process import keep_freed_memory
from ir_exec.types import Array, ElementType
from tests.conformance.build import build
from tests.conformance.case import Case

QUICK = 2**18
"""Maximum elements of a case in the quick subset."""


@dataclass(frozen=True)
class Row:
    """A case that is made when it runs: the large ones do not fit into memory together."""

    name: str
    elements: int
    make: Callable[[np.random.Generator], Case]


def numbers(rng: np.random.Generator, element_type: str, *shape: int) -> Array:
    """Return small whole numbers: every element type represents them, and sums of a few of them, exactly."""
    return rng.integers(-8, 9, shape, np.int8).astype(ElementType[element_type].dtype)


def places(rng: np.random.Generator, element_type: str, size: int, *shape: int) -> Array:
    return rng.integers(0, size, shape, ElementType[element_type].dtype)


def dims(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def axis_input(axis: int) -> Array:
    return np.array(axis, np.int64)


def gather_older(shape: tuple[int, ...], axis: int, chosen: tuple[int, ...], index: str, opset: int) -> Row:
    """Gather-1 and Gather-7, which has batch_dims."""

    def make(rng: np.random.Generator) -> Case:
        inputs = (numbers(rng, "f32", *shape), places(rng, index, shape[axis], *chosen), axis_input(axis))
        return Case("Gather", opset, inputs, {"batch_dims": 1} if opset == 7 else {}, (2,))

    behind = chosen[1:] if opset == 7 else chosen
    elements = prod(shape[:axis]) * prod(behind) * prod(shape[axis + 1 :])
    more = " batch 1" if opset == 7 else ""
    return Row(f"Gather-{opset} f32 {dims(shape)} axis {axis} by {index} {dims(chosen)}{more}", elements, make)


def gather_elements(
    shape: tuple[int, ...], axis: int, index: str = "i32", data: str = "f32", length: int | None = None
) -> Row:
    chosen = (*shape[:axis], length or shape[axis], *shape[axis + 1 :])

    def make(rng: np.random.Generator) -> Case:
        inputs = (numbers(rng, data, *shape), places(rng, index, shape[axis], *chosen))
        return Case("GatherElements", 6, inputs, {"axis": axis})

    some = f" {length} of" if length else ""
    return Row(f"GatherElements {data} {dims(shape)} axis {axis}{some} {index}", prod(chosen), make)


def gather(
    shape: tuple[int, ...],
    axis: int,
    chosen: tuple[int, ...],
    index: str = "i32",
    data: str = "f32",
    batch: int = 0,
    least: int = 0,
) -> Row:
    def make(rng: np.random.Generator) -> Case:
        indices = rng.integers(least, shape[axis], chosen, ElementType[index].dtype)
        attributes = {"batch_dims": batch}
        return Case("Gather", 8, (numbers(rng, data, *shape), indices, axis_input(axis)), attributes, (2,))

    more = f" batch {batch}" * bool(batch) + " negative" * (least < 0)
    elements = prod(shape[:axis]) * prod(chosen[batch:]) * prod(shape[axis + 1 :])
    return Row(f"Gather {data} {dims(shape)} axis {axis} by {index} {dims(chosen)}{more}", elements, make)


def tuples(rng: np.random.Generator, sizes: tuple[int, ...], index: str, *leading: int) -> Array:
    return np.stack([places(rng, index, size, *leading) for size in sizes], -1)


def gather_nd(
    shape: tuple[int, ...],
    leading: tuple[int, ...],
    length: int,
    index: str = "i32",
    data: str = "f32",
    batch: int = 0,
    opset: int = 8,
) -> Row:
    def make(rng: np.random.Generator) -> Case:
        indices = tuples(rng, shape[batch : batch + length], index, *leading)
        return Case("GatherND", opset, (numbers(rng, data, *shape), indices), {"batch_dims": batch})

    name = "GatherND" + f"-{opset}" * (opset < 8)
    more = f" batch {batch}" * bool(batch)
    elements = prod(leading) * prod(shape[batch + length :])
    return Row(f"{name} {data} {dims(shape)} by {index} {dims((*leading, length))}{more}", elements, make)


def gather_tree(steps: int, batch: int, beams: int, element_type: str = "i32") -> Row:
    def make(rng: np.random.Generator) -> Case:
        dtype = ElementType[element_type].dtype
        inputs = (
            rng.integers(2, 1000, (steps, batch, beams)).astype(dtype),
            rng.integers(0, beams, (steps, batch, beams)).astype(dtype),
            np.full(batch, steps, dtype),
            np.array(1, dtype),
        )
        return Case("GatherTree", 1, inputs)

    return Row(f"GatherTree {element_type} {dims((steps, batch, beams))}", steps * batch * beams, make)


def scatter_elements(
    shape: tuple[int, ...],
    axis: int,
    length: int,
    index: str = "i32",
    data: str = "f32",
    reduction: str = "none",
    opset: int = 12,
) -> Row:
    chosen = (*shape[:axis], length, *shape[axis + 1 :])

    def make(rng: np.random.Generator) -> Case:
        if reduction == "none":
            # OpenVINO does not define which of equal indices wins, so indices are unique.
            order = rng.random(chosen, np.float32).argsort(axis)
            indices = (order + np.arange(length).reshape([-1] + [1] * (len(shape) - axis - 1)) * 0) % shape[axis]
            indices = indices.astype(ElementType[index].dtype)
        else:
            indices = places(rng, index, shape[axis], *chosen)
        # Products of these are exact.
        updates = numbers(rng, data, *chosen) if reduction != "prod" else 1 - 2 * (numbers(rng, data, *chosen) > 0)
        inputs = (numbers(rng, data, *shape), indices, updates.astype(ElementType[data].dtype), axis_input(axis))
        attributes: dict[str, object] = {"reduction": reduction, "use_init_val": True} if opset >= 12 else {}
        return Case("ScatterElementsUpdate", opset, inputs, attributes, (3,))

    older = f"-{opset}" * (opset < 12)
    name = f"ScatterElementsUpdate{older} {data} {dims(shape)} axis {axis} {length} {index} {reduction}"
    return Row(name, prod(shape), make)


def scatter_nd(
    shape: tuple[int, ...],
    count: int,
    length: int,
    index: str = "i32",
    data: str = "f32",
    reduction: str = "none",
    opset: int = 15,
) -> Row:
    def make(rng: np.random.Generator) -> Case:
        sizes = shape[:length]
        if reduction == "none":
            flat = rng.permutation(prod(sizes))[:count]
            indices = np.stack(np.unravel_index(flat, sizes), -1).astype(ElementType[index].dtype)
        else:
            indices = tuples(rng, sizes, index, count)
        inputs = (numbers(rng, data, *shape), indices, numbers(rng, data, count, *shape[length:]))
        return Case("ScatterNDUpdate", opset, inputs, {"reduction": reduction} if opset >= 15 else {})

    name = "ScatterNDUpdate" + f"-{opset}" * (opset < 15)
    return Row(f"{name} {data} {dims(shape)} by {index} {count}x{length} {reduction}", prod(shape), make)


def scatter(shape: tuple[int, ...], axis: int, count: int, index: str = "i32", data: str = "f32") -> Row:
    def make(rng: np.random.Generator) -> Case:
        size = shape[axis]
        repeated = np.concatenate([rng.permutation(size) for _ in range(-(-count // size))])[:count]
        updates = numbers(rng, data, *shape[:axis], count, *shape[axis + 1 :])
        if count > size:
            # OpenVINO does not define which of equal indices wins, so their updates are equal.
            first = np.argsort(repeated[:size])
            updates = np.take(updates, first[repeated], axis)
        inputs = (numbers(rng, data, *shape), repeated.astype(ElementType[index].dtype), updates, axis_input(axis))
        return Case("ScatterUpdate", 3, inputs, {}, (3,))

    return Row(f"ScatterUpdate {data} {dims(shape)} axis {axis} {count} {index}", prod(shape), make)


ROWS = [
    gather_elements((3, 5), 1),
    gather_elements((3, 5), 0, "i64"),
    gather_elements((64, 128), 1, "i64"),
    gather_elements((32, 64, 64), 1),
    gather_elements((1000, 1000), 0),
    gather_elements((1000, 1000), 1, "i64"),
    gather_elements((32, 32000), 1, "i64", length=40),
    gather_elements((16, 256, 1024), 1, data="f16"),
    gather_elements((16, 512, 512), 2, data="i8"),
    gather_elements((8, 512, 512), 2, "i64", "i64"),
    gather_elements((64, 512, 512), 0),
    gather_elements((64, 512, 512), 1, "i64"),
    gather_elements((64, 512, 512), 2),
    gather_elements((64, 1024, 1024), 2),
    gather_elements((64, 1024, 1024), 1, "i64"),
    gather_elements((16, 8, 200, 64), 2, "i64", "f16", length=50),
    gather_elements((500, 300), 0, data="i8"),
    gather((15,), 0, (15,)),
    gather((8, 128, 64), 1, (), "i64"),
    gather((30522, 768), 0, (1, 128), "i64"),
    gather((30522, 768), 0, (32, 512), "i64"),
    gather((30522, 768), 0, (32, 512), data="f16"),
    gather((64, 1000, 64), 1, (100,)),
    gather((64, 1000, 64), 1, (2000,), "i64", least=-1000),
    gather((1024, 4096), 1, (512,)),
    gather((1024, 4096), 1, (4096,), "i64", "i8"),
    gather((16, 1000, 64), 1, (16, 200), batch=1),
    gather((2**20,), 0, (2**24,)),
    gather((65536, 1024), 0, (65536,), "i64"),
    gather((256, 512, 512), 2, (512,)),
    gather_older((30522, 768), 0, (8, 256), "i32", 1),
    gather_older((32, 512, 256), 1, (32, 128), "i64", 7),
    gather((8, 12, 1024, 64), 2, (512,), "i64", "f16"),
    gather((2000, 4, 4), 0, (50_000,), "i64", "i64"),
    gather_nd((3, 5), (15,), 2),
    gather_nd((64, 64, 64), (1000,), 2, "i64"),
    gather_nd((256, 256, 256), (2**20,), 3),
    gather_nd((256, 256, 256), (2**22,), 3, "i64", "f16"),
    gather_nd((4096, 1024), (16384,), 1, "i64"),
    gather_nd((32, 1000, 64), (32, 500), 1, batch=1),
    gather_nd((1024, 1024, 64), (2**20,), 2),
    gather_nd((16, 8, 500, 64), (16, 8, 300), 1, "i64", batch=2, opset=5),
    gather_nd((500, 80, 80), (200_000,), 3, data="i8"),
    gather_tree(10, 1, 4),
    gather_tree(100, 16, 8),
    gather_tree(256, 64, 32, "f32"),
    scatter_elements((3, 5), 1, 5),
    scatter_elements((64, 128), 1, 64, "i64"),
    scatter_elements((1000, 1000), 0, 500),
    scatter_elements((1000, 1000), 1, 1000, "i64"),
    scatter_elements((16, 256, 1024), 1, 128, data="f16"),
    scatter_elements((16, 512, 512), 2, 256, data="i8"),
    scatter_elements((8, 512, 512), 2, 512, "i64", "i64"),
    scatter_elements((32, 512, 1024), 1, 256, "i64"),
    scatter_elements((64, 1024, 1024), 2, 512),
    scatter_elements((3, 5), 1, 5, reduction="sum"),
    scatter_elements((1000, 1000), 0, 1000, reduction="sum"),
    scatter_elements((1000, 1000), 1, 1000, "i64", reduction="mean"),
    scatter_elements((1000, 1000), 1, 500, reduction="max"),
    scatter_elements((1000, 1000), 0, 500, reduction="min"),
    scatter_elements((1000, 1000), 1, 500, reduction="prod"),
    scatter_elements((1000, 1000), 1, 500, data="f16", reduction="sum"),
    scatter_elements((16, 1024, 1024), 2, 1024, "i64", reduction="sum"),
    scatter_elements((1000, 1000), 0, 1000, data="i8", reduction="max"),
    scatter_elements((1000, 1000), 0, 1000, data="i64", reduction="sum"),
    scatter_elements((200, 500), 1, 250, "i64", opset=3),
    scatter_elements((8, 16, 64, 64), 1, 8, data="i64"),
    scatter_nd((3, 5), 15, 2),
    scatter_nd((64, 64, 64), 1000, 2, "i64"),
    scatter_nd((256, 256, 256), 2**20, 3),
    scatter_nd((4096, 1024), 2048, 1, "i64"),
    scatter_nd((4096, 1024), 2048, 1, data="f16"),
    scatter_nd((512, 512, 64), 100_000, 2, data="i8"),
    scatter_nd((65536, 1024), 32768, 1, "i64"),
    scatter_nd((1024, 1024), 2**20, 2, reduction="sum"),
    scatter_nd((4096, 256), 8192, 1, "i64", reduction="sum"),
    scatter_nd((4096, 256), 8192, 1, reduction="max"),
    scatter_nd((4096, 256), 8192, 1, data="i64", reduction="min"),
    scatter_nd((1000, 1000), 100_000, 2, "i64", reduction="prod"),
    scatter_nd((300, 40, 64), 2000, 2, opset=4),
    scatter((15,), 0, 5),
    scatter((64, 1000, 64), 1, 100),
    scatter((1024, 4096), 1, 512, "i64"),
    scatter((4096, 1024), 0, 4096),
    scatter((4096, 1024), 0, 2048, "i64", "f16"),
    scatter((512, 1024), 0, 16384, "i64"),
    scatter((16384, 1024), 0, 64),
    scatter((1024, 64, 256), 1, 32, data="i8"),
    scatter((65536, 1024), 0, 32768),
]  # fmt: skip


@dataclass(frozen=True)
class Contestants:
    """Both engines, ready for one case."""

    ours: Callable[[], Any]
    theirs: Callable[[], Any]

    @classmethod
    def of(cls, case: Case, core: Any, threads: int, share: bool) -> Contestants:
        import openvino

        file = build(case)
        weights = np.frombuffer(file.weights, np.uint8).copy()
        model = core.read_model(file.xml, openvino.Tensor(weights)) if weights.size else core.read_model(file.xml)
        request = core.compile_model(model, "CPU").create_infer_request()
        named = dict(enumerate(file.inputs))
        compiled = ir_exec.compile_model(file.xml, weights=file.weights, threads=threads)
        inputs = list(file.inputs)
        return cls(
            lambda: compiled(inputs)[0],
            lambda: request.infer(named, share_inputs=True, share_outputs=share)[0],
        )


def start_openvino(threads: int) -> Any:
    """Return a Core whose CPU plugin uses this many threads."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # no telemetry
    import openvino

    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"})
    return core


def run(row: Row, core: Any, threads: int, seconds: float, share: bool) -> Paired:
    case = row.make(np.random.default_rng(zlib.crc32(row.name.encode())))
    both = Contestants.of(case, core, threads, share)
    if not np.array_equal(both.ours(), both.theirs()):
        raise SystemExit(f"{row.name}: the outputs differ")
    return measure_pair(row.name, both.ours, both.theirs, seconds=seconds)


def select(quick: bool, only: str) -> Iterator[Row]:
    for row in ROWS:
        if only in row.name and (row.elements <= QUICK or not quick):
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"only cases of at most {QUICK:,} elements, 0.1 s each")
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--seconds", type=float, help="seconds for each case (default 1.5)")
    parser.add_argument("--threads", type=int, default=2, help="threads of both libraries (default 2)")
    parser.add_argument("--shared-outputs", action="store_true", help="OpenVINO overwrites its outputs with each call")
    options = parser.parse_args()
    seconds = options.seconds or (0.1 if options.quick else 1.5)
    keep_freed_memory()
    core = start_openvino(options.threads)
    results = []
    for row in select(options.quick, options.only):
        results.append(run(row, core, options.threads, seconds, options.shared_outputs))
        print(f"{results[-1].ratio:6.2f}  {row.name}", file=sys.stderr, flush=True)
    if not results:
        raise SystemExit("no case has this text in its name")
    print_table(results)
    if options.only:
        return
    name = "gather_scatter" + "_shared_outputs" * options.shared_outputs + "_quick" * options.quick
    print(write_json(name, results, threads=options.threads))
    mean = geometric_mean(result.ratio for result in results)
    title = f"Gather and scatter: speedup {mean:.2f}x over OpenVINO's CPU plugin (geometric mean)"
    print(draw_chart(name, results, title))


if __name__ == "__main__":
    main()
