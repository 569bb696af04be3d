"""A language model of about 1.1 billion parameters with compressed weights: tokens per second, first token, memory.

The decoder is built here with random weights: a Llama with grouped heads, a cache in variables, weights of u4 with a
zero point and a scale for each group of 128, or of f16. ir_exec runs it with weight_mode="keep". Each library runs in
separate processes, in turns; their logits are compared. Memory is the peak of a process minus its memory before loading
the model, including pages of the mapped file (Linux only).

    python -m benchmarks.llm [--weights u4 f16] [--layers 22] [--width 2048] [--prompt 512] [--tokens 32] [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

import ml_dtypes

from benchmarks.measure import Paired, format_size, write_json
from ir_exec import build
from ir_exec.build import Value
from ir_exec.ir.writer import write_document
from ir_exec.model import Model

ROOT = Path(__file__).resolve().parent.parent
HEAD = 64
QUERIES_A_KEY = 8
GROUP = 128
LARGE = 2**16
"""Minimum bytes of constants whose values are drawn while the file is written."""


class Decoder:
    """Builds the model; `weights` is "u4" or "f16", `width` a multiple of 512."""

    def __init__(self, weights: str, layers: int, width: int, vocabulary: int) -> None:
        self.weights, self.width = weights, width
        self.random = np.random.default_rng(0)
        self.heads, self.keys = width // HEAD, width // HEAD // QUERIES_A_KEY
        inner = -(-width * 11 // 4 // GROUP) * GROUP
        self.sinks: list[Value] = []
        ids = build.parameter([1, None], "i64", name="ids")
        positions = build.parameter([1, None], "i64", name="positions")
        mask = build.parameter([1, 1, None, None], "f32", name="mask")
        frequencies = (10_000.0 ** -(np.arange(0, HEAD, 2) / HEAD)).astype(np.float32)[np.newaxis]
        angles = build.matmul(build.unsqueeze(build.convert(positions, "f32"), np.array([2])), frequencies)
        angles = build.unsqueeze(build.concat([angles, angles], -1), np.array([1]))
        self.cos, self.sin = build.cos(angles), build.sin(angles)
        x = build.gather(self.matrix(vocabulary, width), ids, np.array(0))
        for layer in range(layers):
            x = build.add(x, self.attention(self.rms_norm(x), mask, layer))
            hidden = self.rms_norm(x)
            gate = build.swish(self.product(hidden, inner))
            x = build.add(x, self.product(build.multiply(gate, self.product(hidden, inner)), width))
        last = build.slice(x, np.array([-1]), np.array([2**31]), np.array([1]), np.array([1]))
        logits = build.result(self.product(self.rms_norm(last), vocabulary), name="logits")
        self.model: Model = build.model(logits, sinks=self.sinks)

    def matrix(self, rows: int, columns: int) -> Value:
        """Return weights [rows, columns] in f32, decompressed by layers as in exported files."""
        if self.weights == "f16":
            return build.convert(build.constant(np.broadcast_to(np.float16(1), (rows, columns))), "f32")
        grouped = (rows, columns // GROUP, GROUP)
        one = np.array(1, ml_dtypes.uint4)
        codes = build.convert(build.constant(np.broadcast_to(one, grouped)), "f16")
        zero = build.convert(build.constant(np.broadcast_to(one, (*grouped[:2], 1))), "f16")
        scale = self.random.uniform(0.1, 0.3, (*grouped[:2], 1)) / np.sqrt(columns)
        product = build.multiply(build.subtract(codes, zero), scale.astype(np.float16))
        return build.convert(build.reshape(product, np.array([rows, columns]), special_zero=False), "f32")

    def product(self, x: Value, rows: int) -> Value:
        return build.matmul(x, self.matrix(rows, x.shape[-1].size), transpose_b=True)

    def rms_norm(self, x: Value) -> Value:
        mean = build.reduce_mean(build.power(x, np.float32(2)), np.array([-1]), keep_dims=True)
        factor = self.random.uniform(0.5, 1.5, (1, 1, self.width)).astype(np.float32)
        root = build.sqrt(build.add(mean, np.float32(1e-5)))
        return build.multiply(factor, build.divide(x, root))

    def attention(self, x: Value, mask: Value, layer: int) -> Value:
        query = self.rotate(self.by_head(x, self.heads))
        key = self.append_to_cache(self.rotate(self.by_head(x, self.keys)), f"key{layer}")
        value = self.append_to_cache(self.by_head(x, self.keys), f"value{layer}")
        attended = build.scaled_dot_product_attention(
            query, self.repeat_heads(key), self.repeat_heads(value), mask, causal=False
        )
        joined = build.reshape(
            build.transpose(attended, np.array([0, 2, 1, 3])), np.array([0, 0, -1]), special_zero=True
        )
        return self.product(joined, self.width)

    def by_head(self, x: Value, heads: int) -> Value:
        split = build.reshape(self.product(x, heads * HEAD), np.array([0, 0, heads, HEAD]), special_zero=True)
        return build.transpose(split, np.array([0, 2, 1, 3]))

    def rotate(self, x: Value) -> Value:
        first, second = build.split(x, np.array(-1), num_splits=2)
        turned = build.concat([build.negative(second), first], -1)
        return build.add(build.multiply(x, self.cos), build.multiply(turned, self.sin))

    def append_to_cache(self, x: Value, variable: str) -> Value:
        shape = [1, self.keys, None, HEAD]
        before = build.read_value(np.zeros((1, self.keys, 0, HEAD), np.float32), variable, shape=shape)
        cache = build.concat([before, x], 2)
        self.sinks.append(build.assign(cache, variable))
        return cache

    def repeat_heads(self, x: Value) -> Value:
        """Repeat the heads of keys or values for their queries."""
        apart = build.unsqueeze(x, np.array([2]))
        spread = build.broadcast(apart, np.array([1, 1, QUERIES_A_KEY, 1, 1]), mode="bidirectional")
        return build.reshape(spread, np.array([0, self.heads, -1, HEAD]), special_zero=True)

    def write(self, path: Path) -> None:
        write_document(self.model.document, _RandomWeights(self.model), path)


class _RandomWeights:
    """The bytes of constants: large ones are drawn when they are written, small ones are unchanged."""

    def __init__(self, model: Model) -> None:
        self._weights = model.weights
        self._scales: dict[int, tuple[int, float]] = {}
        for layer in model.document.layers:
            if layer.is_constant and layer.data["element_type"] == "f16" and int(layer.data["size"]) >= LARGE:
                columns = int(layer.data["shape"].split(",")[-1])
                if columns > 1:
                    self._scales[int(layer.data["offset"])] = int(layer.data["size"]), columns**-0.5
        self._packed = {
            int(layer.data["offset"]): int(layer.data["size"])
            for layer in model.document.layers
            if layer.is_constant and layer.data["element_type"] == "u4"
        }

    def slice(self, offset: int, size: int) -> memoryview:
        random = np.random.default_rng(offset)
        for start, (length, scale) in self._scales.items():
            if start <= offset < start + length:
                return (random.standard_normal(size // 2, np.float32) * scale).astype(np.float16).view(np.uint8).data
        for start, length in self._packed.items():
            if start <= offset < start + length:
                return random.integers(0, 256, size, np.uint8).data
        return self._weights.slice(offset, size)  # type: ignore[union-attr]  # a model with constants has weights


PROGRAM = """
import json, sys, time
import numpy as np

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

library, path, prompt, tokens, logits = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
if library == "ir_exec":
    import ir_exec
    load = lambda: ir_exec.compile_model(path, weight_mode="keep")
else:
    sys.modules["openvino_telemetry"] = None
    import openvino
    core = openvino.Core()
    load = lambda: core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

def inputs(before, ids):
    count = len(ids)
    mask = np.where(np.arange(before + count) > before + np.arange(count)[:, None], np.float32(-1e9), np.float32(0))
    return {"ids": np.array([ids]), "positions": np.arange(before, before + count)[None], "mask": mask[None, None]}

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
memory = peak()
begin = time.perf_counter()
request = load().create_infer_request()
loaded = time.perf_counter()
def run(before, ids):
    return np.array(request.infer(inputs(before, ids))["logits"])
ids = [(7 * place) % 1000 for place in range(prompt)]
found = run(0, ids)
first = time.perf_counter()
request.reset_state()
warm = time.perf_counter()
found = run(0, ids)
prompted = time.perf_counter()
np.save(logits, found)
times = []
for step in range(tokens):
    start = time.perf_counter()
    run(prompt + step, [step])
    times.append(time.perf_counter() - start)
times.sort()
print(json.dumps({
    "loading": loaded - begin, "first": first - loaded, "prompt": prompted - warm, "token": times[len(times) // 2],
    "memory": peak() - memory,
}))
"""


def measure(path: Path, prompt: int, tokens: int, runs: int) -> dict[str, list[dict[str, float]]]:
    """Return the figures of each library and run, after comparing the logits of both."""
    times_by_library: dict[str, list[dict[str, float]]] = {"ir_exec": [], "OpenVINO": []}
    logits = {library: path.with_name(f"{library}.npy") for library in times_by_library}
    for _ in range(runs):
        for library, times in times_by_library.items():
            command = [sys.executable, "-c", PROGRAM, library, path, str(prompt), str(tokens), logits[library]]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            times.append(json.loads(done.stdout))
    ours, theirs = (np.load(logits[library]) for library in times_by_library)
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    print(f"{path.stem}: logits differ by at most {error:.1e} of the largest")
    # OpenVINO rounds the other factor of products with u4 to 8 bits on some processors.
    if not error < 0.2:
        raise SystemExit(f"{path.stem}: the logits differ")
    return times_by_library


def compare_runs(name: str, measurements: dict[str, list[dict[str, float]]], key: str) -> Paired:
    ours, theirs = ([run[key] for run in runs] for runs in measurements.values())
    ratio = statistics.median(their / our for our, their in zip(ours, theirs, strict=True))
    return Paired(name, statistics.median(ours), statistics.median(theirs), ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", nargs="+", choices=("u4", "f16"), default=["u4", "f16"])
    parser.add_argument("--layers", type=int, default=22)
    parser.add_argument("--width", type=int, default=2048, help="a multiple of 512")
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=32, help="tokens generated after it")
    parser.add_argument("--runs", type=int, default=3, help="processes per library")
    parser.add_argument("--folder", type=Path, help="folder for the model, by default a temporary one")
    arguments = parser.parse_args()
    rows: list[Paired] = []
    sizes = {}
    for weights in arguments.weights:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / f"{weights}.xml"
            Decoder(weights, arguments.layers, arguments.width, arguments.vocabulary).write(path)
            sizes[weights] = size = path.with_suffix(".bin").stat().st_size
            measurements = measure(path, arguments.prompt, arguments.tokens, arguments.runs)
        say = partial(compare_runs, measurements=measurements)
        own = [say(f"{weights}, one token", key="token"), say(f"{weights}, {arguments.prompt} tokens", key="prompt")]
        own += [say(f"{weights}, loading", key="loading"), say(f"{weights}, first prompt", key="first")]
        for row in own:
            print(f"{row.name:24} {row.ours * 1e3:9.1f} ms, OpenVINO {row.theirs * 1e3:9.1f} ms, ratio {row.ratio:.2f}")
        memory = compare_runs(f"{weights}, memory", measurements, "memory")
        times = f"{memory.ours / size:.2f} of the file size, OpenVINO {memory.theirs / size:.2f}"
        print(f"{memory.name:24} {format_size(memory.ours)} for {format_size(size)}: {times}")
        rows += [*own, memory]
    write_json("llm", rows, sizes=sizes, layers=arguments.layers, width=arguments.width)


if __name__ == "__main__":
    main()
