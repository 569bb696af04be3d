"""Many items over workers: throughput, cost per item, and memory of the workers.

    python -m benchmarks.batch [--quick] [--runs 5] [--workers 1 2] [--without-dask]

Three tables, and a JSON file in benchmarks/results:
- overhead: items of 1 KiB through a model of one addition, in chunks of 1, 10, 100 and the default of `run`, by a pool
  of processes and by a Dask cluster of processes; wall clock and processor time per item, of this process and its
  children, in milliseconds.
- throughput: the dense half of four encoder layers over batches of 8 x 128 tokens, by 1 and 2 processes, in turns with
  plain calls.
- memory: 8 workers with a model of 256 MiB of weights; their total memory minus that of workers without the weights,
  with shared pages counted once (PSS, Linux only).

Medians over the runs. With other load on the machine, the processor time is more reliable than the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Each worker has one core, and so have the plain calls.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

import ir_exec
from benchmarks.measure import RESULTS, machine
from ir_exec import batch
from ir_exec.batch.pools import Pool, Processes
from ir_exec.types import Array

CHUNKS = (1, 10, 100, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer items")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--without-dask", action="store_true")
    asked = parser.parse_args()
    count = 300 if asked.quick else 2000
    record: dict[str, Any] = {"machine": machine(), "load": os.getloadavg()}
    with tempfile.TemporaryDirectory() as folder:
        record["overhead"] = overhead(Path(folder), count, asked.runs, with_dask=not asked.without_dask)
        record["throughput"] = throughput(Path(folder), 8 if asked.quick else 40, asked.runs, asked.workers)
        record["memory"] = memory(Path(folder), workers=8)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "batch.json").write_text(json.dumps(record, indent=1) + "\n")


def overhead(folder: Path, count: int, runs: int, *, with_dask: bool) -> list[dict[str, Any]]:
    print(f"\noverhead: {count} items of 1 KiB, two workers, median of {runs} runs")
    print(f"{'executor':>12} {'chunk':>6} {'ms per item':>11} {'processor ms':>13}")
    path = adding_network(folder)
    items = [[np.full(256, index, np.float32)] for index in range(count)]
    rows = []
    with Processes(2) as processes, dask_client(2) if with_dask else nothing() as client:
        for name, executor in [("here", None), ("processes", processes), ("dask", client)]:
            if name == "dask" and client is None:
                continue
            for chunk in CHUNKS:
                wall, processor = median_times(lambda e=executor, c=chunk: every(path, items, e, c), runs)  # type: ignore[misc]  # defaults bind the loop's values
                row = {
                    "executor": name,
                    "chunk": chunk,
                    "ms": wall / count * 1e3,
                    "processor_ms": processor / count * 1e3,
                }
                rows.append(row)
                print(f"{name:>12} {chunk or 'auto':>6} {row['ms']:>11.3f} {row['processor_ms']:>13.3f}")
    return rows


def throughput(folder: Path, count: int, runs: int, workers: list[int]) -> list[dict[str, Any]]:
    print(f"\nthroughput: {count} batches of 8 x 128 tokens, one thread per worker, median of {runs} runs")
    print(f"{'workers':>8} {'items per second':>15} {'over plain calls':>18}")
    path = dense(folder)
    items = [[np.random.default_rng(index).standard_normal((8, 128, 256), np.float32)] for index in range(count)]
    compiled = ir_exec.compile_model(path, threads=1)
    rows = []
    for number in workers:
        with Processes(number, threads=1) as pool:
            every(path, items[:2], pool, 1)
            ratios, speeds = [], []
            for _ in range(runs):
                plain = wall_of(lambda: [compiled(item) for item in items])
                many = wall_of(lambda p=pool: every(path, items, p, 1))  # type: ignore[misc]  # a default binds the pool
                ratios.append(plain / many)
                speeds.append(count / many)
        row = {"workers": number, "items_a_second": statistics.median(speeds), "ratio": statistics.median(ratios)}
        rows.append(row)
        print(f"{number:>8} {row['items_a_second']:>15.3g} {row['ratio']:>18.2f}")
    return rows


def memory(folder: Path, workers: int) -> dict[str, Any]:
    size = 256 * 2**20
    path = large_network(folder, size)
    small = adding_network(folder)
    usage = {}
    for name, network, item in [
        ("without", small, [np.zeros(256, np.float32)]),
        ("with", path, [np.zeros((1, 8192), np.float32)]),
    ]:
        with Processes(workers, threads=1) as pool:
            pids = set()
            for _ in range(20):  # until each worker has processed an item
                every(network, [item] * workers * 2, pool, 1)
                pids |= {pool.submit(os.getpid).result() for _ in range(workers)}
                if len(children()) >= workers:
                    break
            usage[name] = {key: sum(memory_of(pid, key) for pid in children()) for key in ("Pss", "Rss")}
    each = {key: (usage["with"][key] - usage["without"][key]) / size for key in ("Pss", "Rss")}
    print(f"\nmemory: {workers} workers with {size >> 20} MiB of weights take, beyond what they take without them,")
    print(
        f"{each['Pss']:.2f} times the weights (shared pages once), {each['Rss']:.2f} times with shared pages for each"
    )
    return {"workers": workers, "weights": size, **{name: dict(kinds) for name, kinds in usage.items()}, "times": each}


def every(path: str, items: list[list[Array]], executor: Executor | Pool | None, chunk: int | None) -> None:
    for result in batch.run(path, items, executor, chunk=chunk, threads=1):
        assert result.outputs is not None, result.error


def median_times(call: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median seconds: wall clock, and processor time of this process and of its workers."""
    call()
    walls, processors = [], []
    for _ in range(runs):
        before, start = processor_seconds(), time.perf_counter()
        call()
        walls.append(time.perf_counter() - start)
        processors.append(processor_seconds() - before)
    return statistics.median(walls), statistics.median(processors)


def wall_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def processor_seconds() -> float:
    """Return the processor time of this process and of its running children."""
    total = time.process_time()
    for pid in children():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def children(of: int | None = None) -> list[int]:
    """Return the process ids of the children, none if the system does not list them."""
    pids = []
    for task in Path(f"/proc/{of or os.getpid()}/task").glob("*/children"):
        for pid in map(int, task.read_text().split()):
            if "resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_text():
                pids += [pid, *children(pid)]
    return pids


def memory_of(pid: int, key: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def dask_client(workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=60
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def nothing() -> Iterator[None]:
    yield None


def network(folder: Path, name: str, shape: str, layers: list[tuple[str, str, int, int]], *, size: int) -> str:
    """Write a chain of layers, each with a constant as its second input: (type, shape, offset, size) of these."""
    parts = [_layer(0, "Parameter", f'<data shape="{shape}" element_type="f32"/>', 0)]
    edges = []
    last = (0, 0)
    for position, (operator_type, dims, offset, length) in enumerate(layers):
        constant, layer = 2 * position + 1, 2 * position + 2
        data = f'<data element_type="f32" shape="{dims}" offset="{offset}" size="{length}"/>'
        parts.append(_layer(constant, "Const", data, 0))
        parts.append(_layer(layer, operator_type, "", 2))
        edges += [(*last, layer, 0), (constant, 0, layer, 1)]
        last = (layer, 2)
    parts.append(_layer(2 * len(layers) + 1, "Result", "", 1, has_output=False))
    edges.append((*last, 2 * len(layers) + 1, 0))
    lines = [f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in edges]
    text = f'<net name="{name}" version="11"><layers>{"".join(parts)}</layers><edges>{"".join(lines)}</edges></net>'
    path = folder / f"{name}.xml"
    path.write_text(text)
    if size:
        random = np.random.default_rng(0)
        with path.with_suffix(".bin").open("wb") as file:
            for start in range(0, size, 2**24):
                count = min(2**24, size - start) // 4
                file.write((random.standard_normal(count, np.float32) / 100).tobytes())
    return str(path)


def _layer(id: int, operator_type: str, data: str, inputs: int, *, has_output: bool = True) -> str:
    ports = "".join(f'<port id="{port}" precision="FP32"/>' for port in range(inputs))
    input_ports = f"<input>{ports}</input>" if inputs else ""
    output = f'<output><port id="{inputs}" precision="FP32"/></output>' if has_output else ""
    start = f'<layer id="{id}" name="{operator_type}{id}" type="{operator_type}" version="opset1">'
    return f"{start}{data}{input_ports}{output}</layer>"


def adding_network(folder: Path) -> str:
    return network(folder, "adding", "256", [("Add", "256", 0, 1024)], size=1024)


def large_network(folder: Path, size: int) -> str:
    """Write products with matrices of 8192 x 1024 and 1024 x 8192 with weights of this size."""
    length = 8192 * 1024 * 4
    layers = [
        ("MatMul", "8192,1024" if index % 2 == 0 else "1024,8192", index * length, length)
        for index in range(size // length)
    ]
    return network(folder, "large", "?,8192", layers, size=size)


def dense(folder: Path) -> str:
    """Write eight products with matrices of 256 x 1024 and 1024 x 256, the dense half of four encoder layers."""
    length = 256 * 1024 * 4
    layers = [("MatMul", "256,1024" if index % 2 == 0 else "1024,256", index * length, length) for index in range(8)]
    return network(folder, "dense", "?,128,256", layers, size=8 * length)


if __name__ == "__main__":
    main()
