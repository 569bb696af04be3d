"""Lower bound of NumPy for the products and passes of a model, against OpenVINO's time.

For each model a skeleton runs: one call per matrix product on prepared matrices, one copy per layer of the plan that is
neither a product nor a view, and nothing else. A product runs in the fastest of several arrangements, with weights from
memory. For 3 x 3 convolutions the products with transformed filters count if they are faster, for depthwise ones the
products of row tiles. Copies of windows and of filters are free, a normalization is one copy, the softmax of attention
one exponential, and the only Python is the loop over the calls. The difference to a run is an upper limit for
savings. With --windows each convolution includes its contiguous copies: windows, rows of windows and the sums over
rows of the kernel, or those of transformed filters. With --layers all other layers run by the steps of the plan on
prepared arrays. With --threads each call is also tried in as many chunks on several threads.

    python -m benchmarks.limits [--only TEXT] [--seconds 1] [--windows] [--layers] [--threads 1] [FILE.xml ...]

FILE.xml: IR files instead of the models of `benchmarks.networks`. Their inputs are those of FILE.inputs.npz, by the
names of the parameters, or in0, in1 and so on; without that file they are random.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import openvino as ov

import ir_exec
from benchmarks.measure import Paired, geometric_mean, measure_pair, write_json
from benchmarks.networks import PRECISE, compare, networks
from ir_exec.cli.process import keep_freed_memory
from ir_exec.debug.inputs.drawing import drawn_inputs
from ir_exec.debug.profiles.recording import bytes_moved
from ir_exec.kernels.gemm.blas import blas_is_single_threaded, prefers_tiles
from ir_exec.kernels.gemm.panels import PackedMatrix
from ir_exec.kernels.gemm.tiles import multiply_in_tiles
from ir_exec.kernels.parallel import for_each
from ir_exec.plan.records import Step
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.runtime.threads import RunThreads
from ir_exec.tuning import thresholds
from ir_exec.types import Array

OTHERS = 2**21
"""Elements of other layers that are read between two reads of a layer's weights."""

RUNS_BEFORE_RESTORING = 16
"""Runs of layers that overwrite their inputs from one restore to the next: a repeated Swish of its own output ends in
subnormal numbers, which are slow. The runs with a restore are too few to affect a median.
"""

_Shape: TypeAlias = tuple[int, ...]
_Call: TypeAlias = Callable[[], object]


class Product(NamedTuple):
    """[batch, rows, inner] times [batch, inner, columns].

    weights: the factor that is read from separate memory, once in a run; all others are in the cache.
    """

    batch: int
    rows: int
    inner: int
    columns: int
    weights: Literal["", "first", "second"] = ""


class Way(NamedTuple):
    """Products that compute a layer, and the number of elements moved for them."""

    products: list[Product]
    moved: int = 0


class Layer(NamedTuple):
    """call: the complete layer. inputs: its arrays, which it may overwrite. originals: their values before the call."""

    call: _Call
    inputs: list[Array]
    originals: list[Array]

    def restore(self) -> None:
        for array, original in zip(self.inputs, self.originals, strict=True):
            np.copyto(array, original)


class Work(NamedTuple):
    """ways: alternatives, of which the fastest counts. exponentials, copied: numbers of elements."""

    ways: list[Way]
    exponentials: int = 0
    copied: int = 0
    layer: Layer | None = None


def stored_networks(paths: Iterable[str]) -> Iterator[tuple[str, Path, list[Array]]]:
    for path in map(Path, paths):
        stored = path.with_suffix(".inputs.npz")
        model = ir_exec.read_model(path)
        if not stored.exists():
            yield path.stem, path, [*drawn_inputs(model, 0).values()]
            continue
        with np.load(stored) as archive:
            names = [next((name for name in port.names if name in archive), None) for port in model.inputs]
            arrays = [archive[name or f"in{index}"] for index, name in enumerate(names)]
        yield path.stem, path, arrays


def work_of(path: Path, inputs: list[Array], *, has_layers: bool) -> list[Work]:
    """Return the products of the layers in the file, and the copies of the plan's layers or these layers."""
    model = ir_exec.read_model(path)
    works: list[Work] = []

    def record(step: Step, *, of_products: bool) -> Step:
        are_products = any(node.type in WAYS for node in (step.node, *step.members))

        def evaluate(*arrays: Array, **further: Any) -> Any:
            originals = [np.array(array) for array in arrays] if has_layers and not of_products else []
            result = step.evaluate(*arrays, **further)
            outputs = list(result) if isinstance(result, tuple) else [result]
            if of_products and are_products:
                works.append(WAYS[step.node.type]([array.shape for array in arrays], outputs[0].shape, step.op))
            elif not (of_products or are_products or step.node.bodies) and bytes_moved(step.op, arrays, outputs):
                if has_layers:
                    own = [array.copy("K") for array in originals]
                    works.append(Work([], layer=Layer(partial(step.evaluate, *own, **further), own, originals)))
                else:
                    works.append(Work([], copied=sum(output.size for output in outputs)))
            return result

        return replace(step, evaluate=evaluate)

    work: list[Work] = []
    for optimize in (False, True):
        instrument = partial(record, of_products=not optimize)
        compiled = CompiledModel(model, threads=1, optimize=optimize, instrument=instrument)
        # Layers of constants are computed only in the first run.
        for _ in range(2):
            works.clear()
            compiled(inputs)
        work += works
    return work


def _of_matrices(inputs: Sequence[_Shape], result: _Shape, op: Any) -> Work:
    a, b = inputs[:2]
    inner = a[-2 if op.transpose_a and len(a) > 1 else -1]
    columns = 1 if len(b) == 1 else result[-1]
    if len(b) <= 2 or prod(b[:-2]) == 1:
        return Work([Way([Product(1, prod(result) // columns, inner, columns, "second")])])
    rows = 1 if len(a) == 1 else result[-2]
    return Work([Way([Product(prod(result) // (rows * columns), rows, inner, columns)])])


def _of_windows(inputs: Sequence[_Shape], result: _Shape, op: Any) -> Work:
    filters = inputs[1] if op.filter_axes == 3 else (1, *inputs[1])
    groups, outputs, channels, *kernel = filters
    windows = prod(result[2:])
    batch, elements = result[0] * groups, prod(kernel)
    image, sums = channels * prod(inputs[0][2:]), outputs * windows
    is_pointwise = elements == 1 and windows == prod(inputs[0][2:])
    copied = 0 if is_pointwise else channels * elements * windows
    # The filters of several images are one matrix.
    own: Literal["", "first"] = "first" if result[0] == 1 else ""
    ways = [Way([Product(batch, outputs, channels * elements, windows, own)], batch * copied)]
    if elements > 1:
        # Each row of the kernel separately, and their sums.
        first, along = kernel[0], elements // kernel[0]
        moved = channels * along * windows * (op.strides[0] if op.strides else 1) + first * sums
        ways.append(Way([Product(batch, outputs * first, channels * along, windows, own)], batch * moved))
    if set(kernel) == {3} and len(kernel) > 1 and not {*op.strides, *op.dilations} - {1}:
        places = 4 ** len(kernel)
        # Each axis doubles the data; along each axis, four positions become two sums of three.
        moved = image * (2 ** (len(kernel) + 1) - 1) + sums * 7
        product = Product(places * batch, outputs, channels, -(-windows // 2 ** len(kernel)), own)
        ways.append(Way([product], batch * moved))
    if outputs * channels == 1 and len(kernel) > 1:
        height = (6 - 1) * (op.strides[0] if op.strides else 1) + kernel[0]
        bands = -(-result[2] // 6)
        product = Product(batch * bands, 6, height * prod(kernel[1:]), windows // result[2])
        rows = prod(inputs[0][2:3]) * windows // result[2]
        ways.append(Way([product], batch * rows * prod(kernel[1:])))
    return Work(ways)


def _of_transposed(inputs: Sequence[_Shape], result: _Shape, op: Any) -> Work:
    data, filters = inputs[:2]
    groups, channels = (filters[0], filters[1]) if op.filter_axes == 3 else (1, filters[0])
    outputs = prod(filters[op.filter_axes - 1 :])
    return Work([Way([Product(data[0] * groups, outputs, channels, prod(data[2:]))], prod(result))])


def _of_attention(inputs: Sequence[_Shape], result: _Shape, op: Any) -> Work:
    query, key, value = inputs[:3]
    batch, rows, keys = prod(result[:-2]), result[-2], key[-2]
    scores, sums = Product(batch, rows, query[-1], keys), Product(batch, rows, keys, value[-1])
    return Work([Way([scores, sums])], exponentials=batch * rows * keys)


def _of_steps(inputs: Sequence[_Shape], result: _Shape, op: Any) -> Work:
    shapes = dict(zip((declared.name for declared in op.inputs), inputs, strict=False))
    w, r = ((1, *shapes[name])[-3:] for name in ("w", "r"))
    batch = shapes["x"][0]
    steps = shapes["x"][1] if len(shapes["x"]) > 2 else 1
    # All steps at once with w, step by step with r.
    return Work([Way([Product(w[0], w[1], w[2], batch * steps), *[Product(r[0], r[1], r[2], batch)] * steps])])


WAYS: dict[str, Callable[[Sequence[_Shape], _Shape, Any], Work]] = {
    "MatMul": _of_matrices,
    "Convolution": _of_windows,
    "GroupConvolution": _of_windows,
    "ConvolutionBackpropData": _of_transposed,
    "GroupConvolutionBackpropData": _of_transposed,
    "ScaledDotProductAttention": _of_attention,
    **dict.fromkeys(("LSTMCell", "GRUCell", "RNNCell", "LSTMSequence", "GRUSequence", "RNNSequence"), _of_steps),
}


class Skeleton:
    """The calls for this work in a run. products, passes: their seconds, each call separately.

    has_windows: True to include the copies for convolutions. threads: of the run.
    """

    def __init__(self, work: Sequence[Work], *, has_windows: bool = False, threads: int = 1) -> None:
        self._threads = threads
        products = [product for item in work for way in item.ways for product in way.products]
        sizes = [batch * max(a * b, b * c, a * c) for batch, a, b, c, _ in products]
        sizes += [max(item.copied, item.exponentials, *[way.moved for way in item.ways]) for item in work]
        self._pool = np.full(max(sizes, default=0) + 1, 0.5, np.float32)
        self._target = np.empty_like(self._pool)
        self._others = np.zeros(OTHERS, np.float32)
        self._calls: list[_Call] = []
        self._layers: list[Layer] = []
        self._runs = 0
        self.products = self.passes = 0.0
        with RunThreads(threads), np.errstate(all="ignore"):
            blas_is_single_threaded()
            for item in work:
                candidates = [self._add(way, has_windows=has_windows) for way in item.ways]
                if candidates:
                    seconds, calls = min(candidates, key=lambda way: way[0])
                    self._calls += calls
                    self.products += seconds
                for count, call in ((item.exponentials, np.exp), (item.copied, np.positive)):
                    if count:
                        seconds, moved = self._elementwise_pass(count, call)
                        self._calls.append(moved)
                        self.passes += seconds
                if item.layer is not None:
                    self._layers.append(item.layer)
                    self._calls.append(item.layer.call)
                    self.passes += _seconds(item.layer.call)

    def __call__(self) -> None:
        self._runs += 1
        if self._runs % RUNS_BEFORE_RESTORING == 0:
            for layer in self._layers:
                layer.restore()
        with RunThreads(self._threads), np.errstate(all="ignore"):
            blas_is_single_threaded()
            for call in self._calls:
                call()

    def _add(self, way: Way, *, has_windows: bool) -> tuple[float, list[_Call]]:
        timings = [self._fastest(product) for product in way.products]
        if has_windows and way.moved:
            timings.append(self._elementwise_pass(way.moved, np.positive))
        return sum(seconds for seconds, _ in timings), [call for _, call in timings]

    def _elementwise_pass(self, count: int, function: Callable[[Array, Array], object]) -> tuple[float, _Call]:
        """Return a pass over this many elements."""
        some = [self._pool[:count], self._target[:count]]
        parts = [
            partial(function, *part)
            for part in zip(*[np.array_split(array, self._threads) for array in some], strict=True)
        ]
        return _least([partial(function, *some), _share_parts(parts)][: self._threads])

    def _fastest(self, product: Product) -> tuple[float, _Call]:
        batch, rows, inner, columns, weights = product
        first = self._both_ways(batch, rows, inner, is_own=weights == "first")
        second = self._both_ways(batch, inner, columns, is_own=weights == "second")
        results = [
            self._target[: batch * rows * columns].reshape(batch, rows, columns),
            self._target[: batch * rows * columns].reshape(batch, columns, rows).swapaxes(1, 2),
        ]
        if batch == 1:
            first, second, results = [[way[0] for way in ways] for ways in (first, second, results)]
        # The others are not faster, or need both matrices in another order.
        a, b, out = first[0], second[0], results[0]
        arranged = [(a, b, out), (a, second[1], out)]
        if weights == "first":
            arranged += [(first[1], b, out), (first[1], b, results[1])]
        calls: list[_Call] = [partial(np.matmul, *arrays) for arrays in arranged]
        if prefers_tiles():
            calls += [partial(multiply_in_tiles, *arrays) for arrays in arranged]
            if batch == 1 and columns >= thresholds.TILE_COLUMNS and inner:
                calls.append(partial(PackedMatrix.of(b).product, a))
        for arrays in arranged if self._threads > 1 else ():
            calls += [
                _share_parts(_parts(product, *arrays, self._threads)) for product in (np.matmul, multiply_in_tiles)
            ]
        return _least(calls, self._others if weights else None)

    def _both_ways(self, batch: int, rows: int, columns: int, *, is_own: bool) -> list[Array]:
        """Return matrices by rows and by columns, in memory or in the cache."""
        size = batch * rows * columns
        left, other = [np.full(size, 0.5, np.float32) if is_own else self._pool[:size] for _ in range(2)]
        return [left.reshape(batch, rows, columns), other.reshape(batch, columns, rows).swapaxes(1, 2)]


def _parts(multiply: Callable[..., object], a: Array, b: Array, out: Array, count: int) -> list[_Call]:
    """Split a product by the matrices of a batch, else along the longer side of the result."""
    if a.ndim > 2:
        arrays = [np.array_split(array, count) for array in (a, b, out)]
    elif len(a) > b.shape[1]:
        arrays = [np.array_split(a, count), [b] * count, np.array_split(out, count)]
    else:
        arrays = [[a] * count, np.array_split(b, count, 1), np.array_split(out, count, 1)]
    return [partial(multiply, *part) for part in zip(*arrays, strict=True)]


def _share_parts(parts: Sequence[_Call]) -> _Call:
    def work(number: int) -> None:
        parts[number]()

    return partial(for_each, len(parts), lambda: work)


def _least(calls: Sequence[_Call], others: Array | None = None) -> tuple[float, _Call]:
    """Return the fastest of these, with its seconds; others: as in `_seconds`."""
    return min([(_seconds(call, others), call) for call in calls], key=lambda timing: timing[0])


def _seconds(call: _Call, others: Array | None = None) -> float:
    """Return the minimum of several tries. others: an array that evicts the operands from the cache in between."""
    times = []
    for _ in range(4):
        if others is not None:
            np.negative(others, out=others)
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def measure(
    name: str, path: Path, inputs: list[Array], seconds: float, *, has_windows: bool, has_layers: bool, threads: int
) -> tuple[Paired, Paired, float]:
    """Measure the model, its skeleton, and the share of products in the time of the skeleton."""
    ours = ir_exec.compile_model(path, threads=threads)
    work = work_of(path, inputs, has_layers=has_layers)
    skeleton = Skeleton(work, has_windows=has_windows, threads=threads)
    request = (
        ov.Core().compile_model(path, "CPU", PRECISE | {"INFERENCE_NUM_THREADS": str(threads)}).create_infer_request()
    )
    compare(name, ours(inputs), request.infer(inputs))
    measured, least = [
        measure_pair(name, contestant, lambda: request.infer(inputs), seconds=seconds)
        for contestant in (lambda: ours(inputs), skeleton)
    ]
    return measured, least, skeleton.products / max(skeleton.products + skeleton.passes, 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds per model, measured twice")
    parser.add_argument("--windows", action="store_true", help="count the copies for convolutions")
    parser.add_argument("--layers", action="store_true", help="compute the layers that are not products")
    parser.add_argument("--threads", type=int, default=1, help="threads of a run, and of OpenVINO")
    parser.add_argument("paths", nargs="*", metavar="FILE.xml", help="IR files")
    arguments = parser.parse_args()
    keep_freed_memory()
    results = []
    print(f"{'time over OpenVINO':40}  ir_exec  skeleton  share of products")
    for name, path, inputs in stored_networks(arguments.paths) if arguments.paths else networks():
        if arguments.only in name:
            comparison, least, share = measure(
                name,
                path,
                inputs,
                arguments.seconds,
                has_windows=arguments.windows,
                has_layers=arguments.layers,
                threads=arguments.threads,
            )
            results.append((comparison, least, share))
            print(f"{name:40} {1 / comparison.ratio:8.2f} {1 / least.ratio:9.2f} {share:15.2f}", flush=True)
    ours, theirs = (geometric_mean(1 / row[column].ratio for row in results) for column in (0, 1))
    above = sum(least.ratio < 1 / 1.2 for _, least, _ in results)
    print(f"geometric mean of {len(results)}: ir_exec {ours:.2f}, skeleton {theirs:.2f}; {above} skeletons above 1.2")
    if not (arguments.paths or arguments.windows or arguments.layers or arguments.threads > 1):
        further = {least.name: {**vars(least), "products": share} for _, least, share in results}
        write_json("limits", [comparison for comparison, _, _ in results], skeletons=further)


if __name__ == "__main__":
    main()
