"""Processor time and memory of commands over the number of layers: `python -m benchmarks.growth`.

Each command runs on encoders or decoders of several sizes, in a process of its own, two processes at a time. The time
of start-up, measured with a model of a few layers, is subtracted: the exponent is 1 for time that grows with the
layers, and 2 for time that grows with their square. Time is processor time of the process (user and system, seconds),
memory its greatest resident size. Decoders have weights of four bits or of f16, and a cache in variables; the last
column is the memory without that of start-up over the bytes of the weights.

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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ir_exec import build

FEW_LAYERS = 100
"""Layers of the model that measures the start-up of a command."""

WIDTH = 16
DECODER_WIDTH = 512
LAYERS_OF_BLOCK = 97
"""Layers of a block of a decoder with weights of four bits."""

MOST_DECODER_LAYERS = 20_000
"""Maximum layers of decoders: each block has 2.8 million weights."""

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
    "compare": "compare {model} {model} --inputs {inputs}",
    "trace": "trace {model} --inputs {inputs} -o {folder}/trace{size} --no-constants",
}
"""Commands that run on encoders."""

DECODER_COMMANDS = {
    "run u4": "run {u4} --inputs {inputs}",
    "run f16": "run {f16} --inputs {inputs}",
    "rename u4": "edit {u4} --rename ids=tokens -o {folder}/renamed.xml --force",
}
"""Commands that run on decoders."""


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


def write_decoder(path: Path, weights: str, layers: int) -> None:
    """Write a decoder with weights of "u4" or "f16", and four tokens for it."""
    from benchmarks.llm import Decoder  # it needs ml_dtypes

    Decoder(weights, max(layers // LAYERS_OF_BLOCK, 1), DECODER_WIDTH, DECODER_WIDTH).write(path)
    mask = np.triu(np.full((4, 4), -np.inf, np.float32), 1)[np.newaxis, np.newaxis]
    np.savez(path.with_suffix(".npz"), ids=np.arange(4)[np.newaxis], positions=np.arange(4)[np.newaxis], mask=mask)


def write_models(folder: Path, sizes: Sequence[int], decoder_sizes: Sequence[int]) -> None:
    """Write the models in another process: the greatest resident size of a process is not below that of its parent."""
    calls = [(write_encoder, (folder / f"encoder{size}.xml", size)) for size in sizes]
    decoders = [
        (folder / f"{weights}-{size}.xml", weights, size) for weights in ("u4", "f16") for size in decoder_sizes
    ]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(function, *arguments) for function, arguments in calls]
        futures += [pool.submit(write_decoder, *arguments) for arguments in decoders]
        for future in futures:
            future.result()


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


class Row(NamedTuple):
    """The usages of a command, without and with the size of the model for start-up, and the bytes of the weights."""

    name: str
    sizes: Sequence[int]
    start: Usage
    measured: list[Usage]
    weights: int | None

    @property
    def exponent(self) -> float:
        return exponent(self.sizes, [usage.seconds for usage in self.measured], self.start.seconds)

    def __str__(self) -> str:
        cells = [f"{usage.seconds:.2f} s, {usage.mebibytes:,.0f} MiB" for usage in self.measured]
        share = ""
        if self.weights is not None:
            share = f"{(self.measured[-1].mebibytes - self.start.mebibytes) * 2**20 / self.weights:>14.2f}"
        return f"{self.name:10}" + "".join(f"{cell:>24}" for cell in cells) + f"{self.exponent:>10.2f}{share}"


def measure_rows(folder: Path, commands: Mapping[str, str], sizes: Sequence[int]) -> Iterator[Row]:
    """Yield the usages of each command for models of these sizes."""
    with ThreadPoolExecutor(2) as pool:
        futures = {}
        for name, command in commands.items():
            weights = name.rpartition(" ")[2] if name in DECODER_COMMANDS else "encoder"
            for size in (FEW_LAYERS, *sizes):
                paths = {format: folder / f"{format}-{size}.xml" for format in ("u4", "f16")}
                model = paths.get(weights, folder / f"encoder{size}.xml")
                text = command.format(model=model, inputs=model.with_suffix(".npz"), folder=folder, size=size, **paths)
                futures[name, size] = pool.submit(measure_command, text.split())
        for name in commands:
            start, *measured = [futures[name, size].result() for size in (FEW_LAYERS, *sizes)]
            file = folder / f"{name.rpartition(' ')[2]}-{sizes[-1]}.bin"
            yield Row(name, sizes, start, measured, file.stat().st_size if file.exists() else None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="Growth of commands with layers.")
    parser.add_argument("--sizes", default="1000,10000,50000", help="numbers of layers, ascending")
    parser.add_argument("--most", type=float, help="the greatest exponent that is no error")
    options = parser.parse_args()
    sizes = [int(text) for text in options.sizes.split(",")]
    decoder_sizes = [min(size, MOST_DECODER_LAYERS) for size in sizes]
    steep = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder, (FEW_LAYERS, *sizes), (FEW_LAYERS, *decoder_sizes))
        for commands, columns, last in ((COMMANDS, sizes, ""), (DECODER_COMMANDS, decoder_sizes, "over weights")):
            heads = "".join(f"{f'{size:,} layers':>24}" for size in columns)
            print(f"{'command':10}{heads}{'exponent':>10}{last:>14}")
            for row in measure_rows(folder, commands, columns):
                steep += [row.name] * (options.most is not None and row.exponent > options.most)
                print(row, flush=True)
    if steep:
        print(f"steeper than {options.most}: {', '.join(steep)}", file=sys.stderr)
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
