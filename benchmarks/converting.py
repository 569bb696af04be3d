"""Memory for converting a large ONNX file, in addition to the mapped file. Compares with nothing.

A file of 512 MB is written, once with its weights inside and once with external data, and converted in a separate
process. The result is the peak of the process's anonymous memory minus its memory before (Linux only).

    python -m benchmarks.converting [--megabytes 512]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

ROOT = Path(__file__).resolve().parent.parent

WIDTH = 2048
"""Rows and columns of a weight: 16 MB of f32."""

_CONVERT = """
import sys, threading, time
import ir_exec
import onnx  # imported by the first file otherwise, which would be counted

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

path, target, is_halved = sys.argv[1:]
before = peak = anonymous()
done = threading.Event()

def watch():
    global peak
    while not done.is_set():
        peak = max(peak, anonymous())
        time.sleep(0.001)

watcher = threading.Thread(target=watch)
watcher.start()
ir_exec.read_model(path).save(target, compress_to_fp16=is_halved == "1")
done.set()
watcher.join()
print(max(peak, anonymous()) - before)
"""


def write_chain(path: Path, megabytes: int, *, is_external: bool) -> None:
    """Write a chain of products, each with a separate weight."""
    rng = np.random.default_rng(0)
    count = megabytes * 10**6 // (WIDTH * WIDTH * 4)
    names = ["x", *(f"y{at}" for at in range(count))]
    nodes = [helper.make_node("MatMul", [names[at], f"w{at}"], [names[at + 1]]) for at in range(count)]
    weights = [
        numpy_helper.from_array(rng.standard_normal((WIDTH, WIDTH), np.float32), f"w{at}") for at in range(count)
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path, save_as_external_data=is_external, location=f"{path.stem}.data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--megabytes", type=int, default=512, help="of weights")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for is_external in (False, True):
            path = Path(folder) / "model.onnx"
            write_chain(path, options.megabytes, is_external=is_external)
            for is_halved in (False, True):
                command = [
                    sys.executable,
                    "-c",
                    _CONVERT,
                    str(path),
                    str(path.with_suffix(".xml")),
                    str(int(is_halved)),
                ]
                done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
                storage = "external data" if is_external else "weights inside"
                stored = "f16" if is_halved else "f32"
                print(f"{options.megabytes} MB, {storage}, stored as {stored}: {int(done.stdout) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
