"""Processor time and memory of commands over the number of layers: `python -m benchmarks.growth`.

Each command runs on encoders of several sizes, in a process of its own. The time of start-up, measured with an encoder
of a few layers, is subtracted, so that the exponent is that of the work: 1 for time that grows with the layers, 2 for
its square. Time is processor time of the process (user and system, seconds), memory its greatest resident size.

python -m benchmarks.growth                     1,000, 10,000 and 50,000 layers
python -m benchmarks.growth --sizes 3000,12000 --most 1.5   an exponent above it is an error, as in .ci/run
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ir_exec import build

FEW_LAYERS = 100
"""Layers of the encoder that measures the start-up of a command."""

WIDTH = 16

COMMANDS = {
    "check": "check {model}",
    "inspect": "inspect {model} --layers",
    "run": "run {model} --inputs {inputs}",
    "profile": "profile {model} --inputs {inputs} --repeat 2",
    "convert": "convert {model} -o {folder}/out.onnx --force",
    "fold": "convert {model} -o {folder}/folded.xml --fold --force",
    "rename": "edit {model} --rename x=image -o {folder}/renamed.xml --force",
    "int8": "edit {model} --weights int8 -o {folder}/int8.xml --force",
    "diff": "diff {model} {model}",
}


class Usage(NamedTuple):
    """Processor time of a command in seconds, and its greatest resident size in MiB, not below that of this script."""

    seconds: float
    mebibytes: float


def write_encoder(path: Path, layers: int) -> None:
    """Write a model of blocks of nine layers, two of them constants, and an input `x` for it."""
    random = np.random.default_rng(0)
    hidden = build.parameter([None, WIDTH], name="x")
    for block in range(max(layers // 9, 1)):
        weight = build.constant(random.normal(size=(WIDTH, WIDTH)).astype(np.float32), name=f"block{block}/weight")
        bias = build.constant(random.normal(size=(1, WIDTH)).astype(np.float32), name=f"block{block}/bias")
        activation = build.relu(build.add(build.matmul(hidden, weight), bias))
        gated = build.multiply(activation, build.sigmoid(activation))
        hidden = build.tanh(build.add(hidden, gated))
    build.model(build.result(hidden, name="y")).save(path)
    np.savez(path.with_suffix(".npz"), x=np.ones((2, WIDTH), np.float32))


def measure_command(arguments: Sequence[str]) -> Usage:
    """Return the processor time and memory of a command in a process of its own.

    Raises:
        SystemExit: If the command fails.
    """
    process = subprocess.Popen([sys.executable, "-m", "ir_exec", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for
    if process.returncode != 0:
        raise SystemExit(f"the command fails: ir-exec {' '.join(arguments)}")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def exponent(sizes: Sequence[int], seconds: Sequence[float], start: float) -> float:
    """Return the exponent between the last two sizes, without the time of start-up."""
    work = [max(time - start, 1e-3) for time in seconds[-2:]]
    return math.log(work[1] / work[0]) / math.log(sizes[-1] / sizes[-2])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="Growth of commands with layers.")
    parser.add_argument("--sizes", default="1000,10000,50000", help="numbers of layers, ascending")
    parser.add_argument("--most", type=float, help="the greatest exponent that is no error")
    options = parser.parse_args()
    sizes = [int(text) for text in options.sizes.split(",")]
    steep = []
    print(f"{'command':10}" + "".join(f"{f'{size:,} layers':>24}" for size in sizes) + f"{'exponent':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for size in (FEW_LAYERS, *sizes):
            write_encoder(Path(folder, f"encoder{size}.xml"), size)
        for name, command in COMMANDS.items():
            rows = []
            for size in (FEW_LAYERS, *sizes):
                model = Path(folder, f"encoder{size}.xml")
                text = command.format(model=model, inputs=model.with_suffix(".npz"), folder=folder)
                rows.append(measure_command(text.split()))
            start, *measured = rows
            growth = exponent(sizes, [row.seconds for row in measured], start.seconds)
            steep += [name] * (options.most is not None and growth > options.most)
            cells = [f"{row.seconds:.2f} s, {row.mebibytes:,.0f} MiB" for row in measured]
            print(f"{name:10}" + "".join(f"{cell:>24}" for cell in cells) + f"{growth:>10.2f}")
    if steep:
        print(f"steeper than {options.most}: {', '.join(steep)}", file=sys.stderr)
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
