"""Decoders with a cache in variables: a loop of 192 tokens, and a step at 1,000, 4,000 and 8,000 tokens in the cache.

The loop runs an exported decoder, `tests/networks/llama_stateful.xml`, from an empty cache. The steps are those of
decoders built here with random weights, with as many heads of keys as of queries ("heads") and with a fourth of them
("grouped heads"). Caches are ReadValue, Gather by `beam_idx`, Concat and Assign, as exporters write them. The
interpreter, the engine onnxruntime and OpenVINO run in processes of their own, one after another. The tokens and
outputs of the engine must be those of the interpreter; those of OpenVINO, which by default rounds activations before
products with compressed weights, are reported if they differ. Figures are medians of processor and wall time for each
token. OpenVINO keeps caches in f32, as ir_exec does; by default it rounds them to 8 bits.

    python -m benchmarks.decoding [MODEL.xml ...] [--tokens 192] [--lengths 1000 4000 8000] [--runs 3] [--threads 2]

Rows of the results file that a run does not measure remain in it, so that models can be measured one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

from benchmarks.measure import RESULTS, Paired, print_table, write_json
from ir_exec import build
from ir_exec.build import Value
from ir_exec.model import Model

ROOT = Path(__file__).resolve().parent.parent
EXPORTED = ROOT / "tests" / "networks" / "llama_stateful.xml"
HEAD = 64
HEADS = 8
WIDTH = HEADS * HEAD
LAYERS = 4
VOCABULARY = 1000
LEAST_COSINE = 0.999
LIBRARIES = "interpreter", "onnxruntime", "OpenVINO"


def build_decoder(key_heads: int) -> Model:
    """Build a decoder of four layers whose keys and values have this many heads."""
    random = np.random.default_rng(0)

    def project(x: Value, rows: int) -> Value:
        weights = random.standard_normal((rows, x.shape[-1].size), np.float32) / np.float32(x.shape[-1].size ** 0.5)
        return build.matmul(x, weights, transpose_b=True)

    def split_heads(x: Value, heads: int) -> Value:
        split = build.reshape(project(x, heads * HEAD), np.array([0, 0, heads, HEAD]), special_zero=True)
        return build.transpose(split, np.array([0, 2, 1, 3]))

    def append(x: Value, variable: str) -> Value:
        past = build.read_value(
            np.zeros((1, key_heads, 0, HEAD), np.float32), variable, shape=[None, key_heads, None, HEAD]
        )
        cache = build.concat([build.gather(past, beams, np.array(0)), x], 2)
        sinks.append(build.assign(cache, variable))
        if key_heads == HEADS:
            return cache
        apart = build.unsqueeze(cache, np.array([2]))
        repeated = build.broadcast(apart, np.array([1, 1, HEADS // key_heads, 1, 1]), mode="bidirectional")
        return build.reshape(repeated, np.array([0, HEADS, -1, HEAD]), special_zero=True)

    sinks: list[Value] = []
    ids = build.parameter([None, None], "i64", name="input_ids")
    mask = build.parameter([None, 1, None, None], "f32", name="attention_bias")
    beams = build.parameter([None], "i32", name="beam_idx")
    x = build.gather(random.standard_normal((VOCABULARY, WIDTH), np.float32), ids, np.array(0))
    for layer in range(LAYERS):
        query = split_heads(x, HEADS)
        key = append(split_heads(x, key_heads), f"key{layer}")
        value = append(split_heads(x, key_heads), f"value{layer}")
        attended = build.scaled_dot_product_attention(query, key, value, mask, causal=False)
        attended = build.reshape(
            build.transpose(attended, np.array([0, 2, 1, 3])), np.array([0, 0, WIDTH]), special_zero=True
        )
        x = build.add(x, project(attended, WIDTH))
        x = build.add(x, project(build.swish(project(x, WIDTH)), WIDTH))
    return build.model(build.result(project(x, VOCABULARY), name="logits"), sinks=sinks)


PROGRAM = """
import json, sys, time
import numpy as np

library, path, threads, tokens, lengths = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
if library != "OpenVINO":
    import ir_exec
    from ir_exec.cli.process import keep_freed_memory
    keep_freed_memory()
    compiled = ir_exec.compile_model(path, threads=threads, engine=None if library == "interpreter" else library)
    names = [port.name for port in compiled.inputs]
else:
    sys.modules["openvino_telemetry"] = None
    import openvino
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": str(threads), "KV_CACHE_PRECISION": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    names = [port.get_any_name() for port in compiled.inputs]
request = compiled.create_infer_request()

def run(ids, length):
    total = length + len(ids)
    values = {
        "input_ids": lambda: np.array([ids]),
        "attention_mask": lambda: np.ones((1, total), np.int64),
        "attention_bias": lambda: np.zeros((1, 1, 1, total), np.float32),
        "position_ids": lambda: np.arange(length, total)[None],
        "beam_idx": lambda: np.zeros(1, np.int32),
    }
    results = request.infer({name: values[name]() for name in names})
    return np.array(results[0])[0, -1]

def decode():
    request.reset_state()
    token, chosen = 1, []
    wall, processor = time.perf_counter(), time.process_time()
    for length in range(tokens):
        token = int(run([token], length).argmax())
        chosen.append(token)
    return [time.perf_counter() - wall, time.process_time() - processor], chosen

figures = {}
if tokens:
    decode()
    loops = [decode() for _ in range(5)]
    figures["loop"] = {
        "times": [[part / tokens for part in times] for times, _ in loops],
        "first": [part / tokens for part in loops[0][0]],
        "outputs": loops[-1][1],
    }
for length in map(int, filter(None, lengths.split(","))):
    request.reset_state()
    for start in range(0, length, 500):
        run([(7 * place) % 1000 for place in range(start, start + 500)], start)
    steps, position = [], length
    for _ in range(12):
        wall, processor = time.perf_counter(), time.process_time()
        output = run([1], position)
        steps.append([time.perf_counter() - wall, time.process_time() - processor])
        position += 1
    figures[f"step at {length:,} tokens"] = {"times": steps[2:], "outputs": output.tolist()}
print(json.dumps(figures))
"""


def measure(name: str, path: Path, threads: int, tokens: int, lengths: list[int], runs: int) -> list[Paired]:
    """Time the libraries in separate processes, one after another, and compare their outputs."""
    figures: dict[str, list[dict[str, dict[str, list[list[float]]]]]] = {library: [] for library in LIBRARIES}
    for _ in range(runs):
        for library, results in figures.items():
            command = [sys.executable, "-c", PROGRAM, library, str(path), str(threads), str(tokens)]
            command.append(",".join(map(str, lengths)))
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            results.append(json.loads(process.stdout))
    rows = []
    for part in figures["interpreter"][0]:
        interpreted, on_engine, theirs = (figures[library][0][part]["outputs"] for library in LIBRARIES)
        if not _agree(interpreted, on_engine):
            raise SystemExit(f"{name}, {part}: the outputs of the engine differ")
        if not _agree(interpreted, theirs):
            print(f"{name}, {part}: the outputs of OpenVINO differ")
        for clock, suffix in enumerate(("", ", processor time")):
            interpreter, engine, openvino = (
                [statistics.median(times[clock] for times in result[part]["times"]) for result in figures[library]]
                for library in LIBRARIES
            )
            for library, ours in (("interpreter", interpreter), ("engine", engine)):
                ratio = statistics.median(openvino) / statistics.median(ours)
                row = f"{name}, {part}, {library}{suffix}"
                rows.append(Paired(row, statistics.median(ours), statistics.median(openvino), ratio))
    return rows


def merge_rows(rows: list[Paired]) -> list[Paired]:
    """Return the rows, preceded by those of the results file that have other names."""
    path = RESULTS / "decoding.json"
    stored = [Paired(**row) for row in json.loads(path.read_text())["rows"]] if path.exists() else []
    names = {row.name for row in rows}
    return [row for row in stored if row.name not in names] + rows


def _agree(ours: list[float], theirs: list[float]) -> bool:
    """Return True for equal tokens, and for logits of the same direction."""
    if all(isinstance(element, int) for element in ours):
        return ours == theirs
    first, second = np.array(ours), np.array(theirs)
    return bool(first @ second >= LEAST_COSINE * np.linalg.norm(first) * np.linalg.norm(second))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path, help="exported decoders for the loop")
    parser.add_argument("--tokens", type=int, default=192, help="tokens of the loop")
    parser.add_argument("--lengths", type=int, nargs="*", default=[1000, 4000, 8000], help="multiples of 500")
    parser.add_argument("--runs", type=int, default=3, help="processes per library")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    rows = []
    for path in (arguments.models or [EXPORTED]) if arguments.tokens else []:
        rows += measure(
            path.parent.name if path.stem == "openvino_model" else path.stem,
            path.absolute(),
            arguments.threads,
            arguments.tokens,
            [],
            arguments.runs,
        )
    if arguments.lengths:
        with tempfile.TemporaryDirectory() as folder:
            for name, key_heads in (("heads", HEADS), ("grouped heads", HEADS // 4)):
                path = Path(folder) / f"{name}.xml"
                build_decoder(key_heads).save(path)
                rows += measure(name, path, arguments.threads, 0, arguments.lengths, arguments.runs)
    print_table(rows)
    write_json("decoding", merge_rows(rows), tokens=arguments.tokens)


if __name__ == "__main__":
    main()
