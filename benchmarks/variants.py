"""The `cost` of each registered variant of an operator: its time relative to `evaluate`.

For each variant the supported cases of its operator's table run both ways, in turns.

    python -m benchmarks.variants [--only TEXT] [--seconds 0.05]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from time import perf_counter, thread_time

import numpy as np

from benchmarks.measure import geometric_mean
from ir_exec.errors import IRError
from ir_exec.ops.base.variants import Kernel, KernelVariant, variants_of
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.ours import evaluate, operator, requests

__all__: list[str] = []


def _shares(case: Case, seconds: float) -> Iterator[tuple[KernelVariant, float]]:
    try:
        layer = operator(case)
        evaluate(case)
    except IRError:
        return
    for variant in variants_of(layer):
        request = next((request for request in requests(case) if variant.applies(layer, request)), None)
        if request is not None:
            kernel = variant.make(layer, request)
            yield variant, _share(kernel, layer.evaluate, case.inputs, seconds)


def _share(kernel: Kernel, plain: Kernel, inputs: list[Array], seconds: float) -> float:
    times: tuple[list[float], list[float]] = ([], [])
    end = perf_counter() + seconds
    while perf_counter() < end or len(times[0]) < 5:
        for function, samples in zip((kernel, plain), times, strict=True):
            start = thread_time()
            for _ in range(50):
                function(*inputs)
            samples.append(thread_time() - start)
    return min(times[0]) / min(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="variants whose name contains this text")
    parser.add_argument("--seconds", type=float, default=0.05, help="seconds per case")
    arguments = parser.parse_args()
    shares_by_name: dict[str, list[float]] = {}
    costs: dict[str, float] = {}
    with RunThreads(1), np.errstate(all="ignore"):
        for family in families():
            for case in table(family):
                for variant, share in _shares(case, arguments.seconds):
                    name = f"{variant.type_name}.{variant.name}"
                    if arguments.only in name:
                        costs[name] = variant.cost
                        shares_by_name.setdefault(name, []).append(share)
    print("| variant | cost | measured, geometric mean | median | worst | cases |\n|---|---:|---:|---:|---:|---:|")
    for name, shares in sorted(shares_by_name.items()):
        mean, median = geometric_mean(shares), statistics.median(shares)
        print(f"| `{name}` | {costs[name]:.2f} | {mean:.2f} | {median:.2f} | {max(shares):.2f} | {len(shares)} |")


if __name__ == "__main__":
    main()
