"""`ir-exec run` on many items: files, or rows of stacked inputs. Outputs and a manifest are written to a folder."""

from __future__ import annotations

import glob
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType
from typing import Any

from ir_exec.batch.folder import MANIFEST, OutputFolder, network_digest
from ir_exec.batch.input_files import Pixels
from ir_exec.batch.items import SUFFIXES, StoredFile, StoredItem, items_in
from ir_exec.batch.names import IMAGES
from ir_exec.batch.running import run
from ir_exec.batch.worker import Item
from ir_exec.cli.arrays import split_named
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, echo, errors_as_messages, style_text
from ir_exec.cli.parallel import Bar, pool_for
from ir_exec.errors import IRError
from ir_exec.ir.remote import files_below
from ir_exec.ir.urls import is_url, suffix_of
from ir_exec.model import Model, ModelPort
from ir_exec.onnx.reading.tensor_files import data_set_files
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count
from ir_exec.report.text import format_remainder
from ir_exec.types import Dim, Shape

__all__ = ["Many", "is_many", "run_many"]

_MOST_SHOWN = 10
"""Failed items whose errors are printed; the manifest contains all of them."""


def is_many(inputs: str | None) -> bool:
    """Return True if --inputs specifies many items: a pattern, a folder, or a file that stacks them."""
    if inputs is None:
        return False
    suffix = suffix_of(inputs)
    if is_url(inputs):
        return suffix != ".npz" or "*" in inputs
    is_pattern = glob.has_magic(inputs) and not os.path.exists(inputs)
    is_folder = os.path.isdir(inputs) and not data_set_files(inputs, "input")
    return is_pattern or is_folder or (suffix in SUFFIXES and suffix != ".npz")


@dataclass(frozen=True)
class Many:
    """Options of a run on many items.

    Attributes:
        named: NAME=FILE.
        archive: A pattern, a folder or a file.
    """

    named: Sequence[str]
    archive: str | None
    batch: int | None
    jobs: int | None
    scheduler: str | None
    extensions: tuple[str, ...]
    pixels: Pixels | None = None

    def items(self, ports: Sequence[ModelPort]) -> Iterator[tuple[str, StoredItem]]:
        """Yield the items with their names, paths relative to the folder of the outputs."""
        named = [split_named(text, ports, "--input") for text in self.named]
        stacked = [StoredFile(path, port.name, self.pixels) for port, path in named]
        if self.archive is None:
            yield from items_in(stacked, ports, self.batch)
            return
        files = _files(self.archive)
        if stacked and len(files) > 1:
            raise Unusable(f"--inputs has {len(files)} files, expected one file in combination with --input")
        folders = [_folder_of(path) for path in files]
        top = os.path.commonpath(folders)
        seen: set[str] = set()
        for path, folder in zip(files, folders, strict=True):
            below = os.path.relpath(folder, top)
            for name, item in items_in([StoredFile(path, pixels=self.pixels), *stacked], ports, self.batch):
                name = name if below == os.curdir else os.path.join(below, name)
                if name in seen:
                    name = f"{name}{StoredFile(path).suffix}"  # a.npy and a.npz
                seen.add(name)
                yield name, item


def _folder_of(path: str) -> str:
    return os.path.dirname(path.partition("::")[0] if is_url(path) else os.path.abspath(path))


def _files(pattern: str) -> list[str]:
    if is_url(pattern):
        try:
            below = files_below(pattern) if "*" in pattern or StoredFile(pattern).suffix not in SUFFIXES else None
        except OSError as error:
            raise Unusable(f"cannot read {pattern}: {error.strerror or error}") from None
        paths = [pattern] if below is None else [path for path in below if StoredFile(path).suffix in SUFFIXES]
    elif os.path.isdir(pattern) and StoredFile(pattern).suffix not in SUFFIXES:
        paths = sorted(os.path.join(pattern, name) for name in os.listdir(pattern))
        paths = [path for path in paths if StoredFile(path).suffix in (*SUFFIXES, *IMAGES)]
    else:
        paths = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
    if not paths:
        raise Unusable(f"{pattern} has no files of arrays, expected {', '.join(SUFFIXES)}, or images")
    return paths


def run_many(
    network: Model,
    many: Many,
    output: str | None,
    how: Mapping[str, Any],
    *,
    max_seconds: float | None,
    optimize: bool,
    engine: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Run the model on every item without an output; exit with 1 if an item fails.

    Args:
        how: The keywords of `compile_model` that change results; a folder has results with equal ones.
        engine: The keywords of `compile_model` that select an engine.
    """
    if output is None:
        advice = f"; for one array use --input NAME={many.archive}" if (many.archive or "").endswith(".npy") else ""
        raise Unusable(f"--output is missing, expected a folder for the outputs of many inputs{advice}")
    if many.batch is not None:
        with errors_as_messages():
            network = _with_open_batch(network, many.batch)
    ports = network.inputs
    with errors_as_messages(exit_code=UNUSABLE):
        if next(many.items(ports), None) is None:
            raise Unusable("there are no items, expected at least one")
    start = perf_counter()
    settings = {**how, **({"engine": engine} if engine else {})}
    digest = network_digest(network, settings)
    about = {"model": network.graph.path, **settings}
    with ExitStack() as stack:
        stack.enter_context(errors_as_messages(exit_code=UNUSABLE))
        pool = stack.enter_context(pool_for(many.jobs, many.scheduler, many.extensions))
        folder = stack.enter_context(OutputFolder.open(output, digest, about))
        bar = stack.enter_context(
            Bar(lambda: sum(1 for _ in many.items(ports)), is_wanted=True, verb="running", noun="items")
        )
        pending: deque[tuple[str, StoredItem]] = deque()
        results = run(
            network,
            _taking(folder.select_unfinished(many.items(ports), ports), pending, folder if pool.shares_files else None),
            pool,
            max_seconds=max_seconds,
            optimize=optimize,
            **how,
            **engine,
        )
        failed: list[tuple[str, IRError]] = []
        done = 0
        for result in stack.enter_context(closing(results)):  # type: ignore[type-var]  # it is a generator
            name, item = pending.popleft()
            folder.add(name, item, result)
            done += 1
            if result.error is not None:
                failed.append((name, result.error))
            bar.advance()
    _tell(folder, done, failed, perf_counter() - start, output)
    if failed:
        sys.exit(1)


def _taking(
    items: Iterator[tuple[str, StoredItem]], pending: deque[tuple[str, StoredItem]], folder: OutputFolder | None
) -> Iterator[Item]:
    """Yield the items; append their names to `pending`, in the order of the results.

    Args:
        folder: The folder that workers write the outputs to; None if they return them.
    """
    for name, item in items:
        pending.append((name, item))
        yield item if folder is None else folder.delegate(name, item)


def _with_open_batch(network: Model, batch: int) -> Model:
    """Return the model with an open first dim, because the last item may have fewer than `batch` rows."""
    closed = {
        position: Shape([Dim.any(), *dims[1:]])
        for position, port in enumerate(network.inputs)
        if (dims := port.shape.dims) and dims[0].is_static and dims[0].lo != batch
    }
    return network.reshape(closed) if closed else network


def _tell(folder: OutputFolder, done: int, failed: list[tuple[str, IRError]], seconds: float, output: str) -> None:
    parts = [f"ran {format_count(done, 'item', ',')} in {seconds:.3g} s"]
    if done:
        parts[0] += f" ({done / seconds:,.3g} per second)"
    if folder.known:
        parts.append(f"{folder.known:,} done before")
    if folder.changed:
        parts.append(f"{folder.changed:,} changed and ran again")
    echo("; ".join(parts))
    echo(f"outputs and {MANIFEST} written to {printable(output)}")
    if failed:
        count = f"{format_count(len(failed), 'item', ',')} failed"
        echo(f"{style_text('error', 'error')}{style_text('message', ': ' + count)}", to_stderr=True)
        for name, error in failed[:_MOST_SHOWN]:
            echo(f"  {printable(name)}: {str(error).splitlines()[0]}", to_stderr=True)
        for line in format_remainder(len(failed), _MOST_SHOWN, indent="  "):
            echo(f"{line} in {MANIFEST}", to_stderr=True)
