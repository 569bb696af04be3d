"""`run`: a model on any number of items, with any executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ir_exec.batch.flow import Task, TaskFlow
from ir_exec.batch.models import ModelReference, NotHere, Parcel
from ir_exec.batch.pool import Cargo, Pool
from ir_exec.batch.pools import Processes, pool_of
from ir_exec.batch.worker import Answer, Item, error_text, evaluate, fetch
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, ModelPort, Source, WeightsSource, count_constant_bytes, read_model
from ir_exec.plan.memory import default_budget
from ir_exec.plan.passes.prepack import PACKED_SHARE
from ir_exec.runtime import CompiledModel, Results
from ir_exec.runtime.arguments import whole_number
from ir_exec.runtime.compiled import compiled_with
from ir_exec.runtime.precision import Precision
from ir_exec.runtime.state import Snapshot
from ir_exec.runtime.weight_modes import WeightMode, split_weights, weight_mode_of_many_runs

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Item", "ItemResult", "Pace", "Result", "run"]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one item.

    Attributes:
        index: The position of the item, starting at 0.
        outputs: The outputs of a call, None after a failure.
        error: The failure.
        digest: sha256 of the arrays, for items that were read from a file.
        path: The file that the worker wrote the outputs to; `outputs` is None then.
    """

    index: int
    outputs: Results | None
    error: IRError | None
    digest: str | None = None
    path: str | None = None


Result: TypeAlias = ItemResult
"""The former name."""


def run(
    model: Model | Source,
    items: Iterable[Item],
    executor: Executor | Client | Pool | None = None,
    *,
    jobs: int | None = None,
    ordered: bool = True,
    on_error: Literal["record", "raise"] = "record",
    session: Callable[[Any], Hashable] | None = None,
    chunk: int | None = None,
    ahead: int | None = None,
    tries: int = 3,
    initializer: Callable[[], None] | None = None,
    weights: WeightsSource | None = None,
    weight_mode: WeightMode = "auto",
    max_memory: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    precision: Precision = "f32",
    outputs: Sequence[str] | None = None,
    optimize: bool = True,
    engine: str | None = None,
    providers: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Iterator[ItemResult]:
    """Run a model on each of the items, whose number is unlimited: a few are in memory at a time.

    A worker compiles the model once and keeps it. A weights file is opened by its path if the worker finds the
    same file there; otherwise its content is sent, once per worker if the executor supports that.

    Exceptions of `items` are passed on after the results before them. Closing the iterator ends the processes that it
    has started.

    Args:
        items: Arguments of a call, or their sources (see `Item`). They are taken one by one, as they are needed.
        executor: Anything with the interface of `concurrent.futures.Executor`, or a Dask client. Without one, `jobs`
            processes are started; with neither, or with one job, the items are computed in this thread, as the results
            are consumed.
        ordered: If true, yield the results in the order of the items, else in the order of completion.
        on_error: A failing item is an ItemResult with its error ("record"), or ends the run with the error ("raise").
        session: A function that returns the session of an item. The items of a session run one after the other, in
            their order, and each starts with the variables of the previous one; a failing item leaves them unchanged.
            Without it each item starts from the initial state. The state of every session is kept until the end.
        chunk: The number of items that are sent to a worker in one task; by default enough to keep it busy for a while,
            at most 100 and a MiB: a task costs about a millisecond with processes, and several with Dask.
        ahead: Maximum items that are taken and whose results are not yet returned; by default four tasks for each
            worker, and with Dask at least 16 items.
        tries: The number of worker processes that an item may cost before it counts as failed. Items of a lost worker
            are computed again, and each counts once.
        initializer: A function that a worker calls before it reads the model; it must be picklable.
        weights: As for `compile_model`.
        weight_mode: As for `compile_model`. With "auto", the processes of `jobs` also share the pages of the weights
            file if private copies would exceed a quarter of the machine's memory.
        max_memory: As for `compile_model`.
        max_seconds: As for `compile_model`.
        threads: As for `compile_model`. By default the workers of `jobs` share the cores, and workers of an executor
            have one thread each.
        precision: As for `compile_model`.
        outputs: As for `compile_model`.
        optimize: As for `compile_model`.
        engine: As for `compile_model`.
        providers: As for `compile_model`.
        options: As for `compile_model`.

    Raises:
        IRError: The errors of `compile_model`, or if no worker answers.
        EvaluationError: IR704 for other invalid arguments.
    """
    if on_error not in ("record", "raise"):
        raise EvaluationError("on_error is", actual=repr(on_error), expected='"record" or "raise"')
    jobs = None if jobs is None else whole_number(jobs, "jobs", 1)
    chunk, tries = None if chunk is None else whole_number(chunk, "chunk", 1), whole_number(tries, "tries", 1)
    ahead = None if ahead is None else whole_number(ahead, "ahead", 1)
    weights, mode = split_weights(weights, weight_mode)
    if not isinstance(model, Model):
        model = read_model(model, weights=weights)
    elif weights is not None:
        raise EvaluationError("weights is another .bin for a model that was already read", expected="None")
    pool = pool_of(executor, jobs, threads=threads, initializer=initializer)
    how: dict[str, Any] = {
        "max_memory": max_memory,
        "max_seconds": max_seconds,
        "expand_weights": _weight_mode_of_workers(model, mode, pool, precision, max_memory, engine) == "expand",
        "threads": pool.threads if threads is None else threads,
        "precision": precision,
        "outputs": outputs,
        "optimize": optimize,
    }
    if engine is not None or providers is not None or options is not None:
        how |= {"engine": engine, "providers": providers, "options": options}
    compiled = compiled_with(model, **how)
    work = _Work(pool, compiled.inputs, compiled.outputs, Pace(pool, chunk, ahead), session, tries)
    return _results(
        work,
        items,
        model,
        compiled,
        how,
        initializer,
        ordered=ordered,
        raises=on_error == "raise",
        owns_pool=pool is not executor,
    )


def _weight_mode_of_workers(
    model: Model, mode: WeightMode, pool: Pool, precision: Precision, max_memory: int | None, engine: str | None
) -> WeightMode:
    """Return "keep" by default if the private copies of all processes would exceed the memory for them."""
    workers = pool.workers if isinstance(pool, Processes) else 1
    is_divided = mode == "auto" and isinstance(pool, Processes)
    if is_divided and count_constant_bytes(model.graph) * workers > default_budget() // PACKED_SHARE:
        return "keep"
    return weight_mode_of_many_runs(model, mode, precision, max_memory, engine=engine, workers=workers)


def _results(
    work: _Work,
    items: Iterable[Item],
    model: Model,
    compiled: CompiledModel,
    options: dict[str, Any],
    initializer: Callable[[], None] | None,
    *,
    ordered: bool,
    raises: bool,
    owns_pool: bool,
) -> Generator[ItemResult]:
    is_finished = False
    with ExitStack() as stack:
        if owns_pool:
            stack.callback(lambda: work.pool.close(at_once=not is_finished))
        stack.callback(work.cancel)
        if work.pool.in_process:
            work.begin(ModelReference("", ""), None, Cargo(compiled))
        else:
            folder = stack.enter_context(temporary_folder())
            parcel = Parcel(model, options, Path(folder), initializer)
            work.begin(parcel.reference, parcel, None)
        for result in work.in_order(items) if ordered else work.as_they_come(items):
            if raises and result.error is not None:
                raise result.error
            yield result
        is_finished = True


@dataclass(slots=True)
class _SessionQueue:
    """A session: its waiting items, its state, and `is_busy` while some of its items are in flight.

    Attributes:
        alone: The number of next items that are sent one by one, because one of them may have killed a worker.
    """

    waiting: deque[tuple[int, Item]] = field(default_factory=deque)
    state: Snapshot | None = None
    is_busy: bool = False
    alone: int = 0


@dataclass(slots=True)
class _Sent:
    """The items of a task, and their session."""

    items: list[tuple[int, Item]]
    line: _SessionQueue | None
    has_cargo: bool = False


class _Work:
    """Items in flight: a limited number is taken and not yet returned."""

    def __init__(
        self,
        pool: Pool,
        inputs: list[ModelPort],
        outputs: list[ModelPort],
        pace: Pace,
        session: Callable[[Any], Hashable] | None,
        tries: int,
    ) -> None:
        self.pool = pool
        self._inputs, self._outputs = inputs, outputs
        self._pace = pace
        self._session = session
        self._tries = tries
        self._flow = TaskFlow(pool, tries)
        self._lines: dict[Hashable, _SessionQueue] = {}
        self._free: deque[tuple[int, Item]] = deque()
        self._taken = 0
        self._given_back = 0
        self._found: deque[ItemResult] = deque()
        self._waiting_for_cargo: deque[tuple[_Sent, Snapshot | None, Cargo]] = deque()
        self._carrying = 0

    def begin(self, reference: ModelReference, parcel: Parcel | None, cargo: Cargo | None) -> None:
        """Set up the tasks.

        Args:
            reference: The reference to the model, sent with every task.
            parcel: The model for workers that request it.
            cargo: The large arguments, sent with every task.
        """
        self._reference, self._parcel, self._cargo = reference, parcel, cargo

    def in_order(self, items: Iterable[Item]) -> Iterator[ItemResult]:
        early: dict[int, ItemResult] = {}
        for result in self._all(items):
            early[result.index] = result
            while self._given_back in early:
                yield early.pop(self._given_back)
                self._given_back += 1

    def as_they_come(self, items: Iterable[Item]) -> Iterator[ItemResult]:
        for result in self._all(items):
            yield result
            self._given_back += 1

    def _all(self, items: Iterable[Item]) -> Iterator[ItemResult]:
        left = enumerate(items)
        failure: Exception | None = None
        is_over = False
        while True:
            while not is_over and self._taken - self._given_back < self._pace.limit:
                start = perf_counter()
                try:
                    index, item = next(left)
                    self._pace.record_wait(perf_counter() - start)
                    self._taken += 1
                    self._queue(index, item)
                except StopIteration:
                    is_over = True
                except Exception as error:
                    is_over, failure = True, error
            self._send_free()
            if not self._flow.pending:
                break
            self._receive()
            while self._found:
                yield self._found.popleft()
        if failure is not None:
            raise failure

    def _queue(self, index: int, item: Item) -> None:
        if self._session is None:
            self._free.append((index, item))
            if len(self._free) >= self._pace.chunk:
                self._send_free()
            return
        line = self._lines.setdefault(self._session(item), _SessionQueue())
        line.waiting.append((index, item))
        self._send_line(line)

    def _send_free(self) -> None:
        if self._free:
            self._send(_Sent(list(self._free), None))
            self._free.clear()

    def _send_line(self, line: _SessionQueue) -> None:
        if line.waiting and not line.is_busy:
            line.is_busy = True
            count = 1 if line.alone else min(self._pace.chunk, len(line.waiting))
            line.alone = max(0, line.alone - 1)
            items = [line.waiting.popleft() for _ in range(count)]
            self._send(_Sent(items, line), line.state)

    def _send(self, sent: _Sent, state: Snapshot | None = None, cargo: Cargo | None = None, deaths: int = 0) -> None:
        arguments = (self._reference, cargo or self._cargo, [item for _, item in sent.items], state, bool(sent.line))
        is_divisible = len(sent.items) > 1
        self._flow.submit(Task(evaluate, arguments, (sent, state), is_divisible=is_divisible, deaths=deaths))

    def _receive(self) -> None:
        task, answer, error = self._flow.next()
        sent, state = task.label
        self._carrying -= sent.has_cargo
        sent.has_cargo = False
        if isinstance(answer, NotHere):
            assert self._parcel is not None, "a task with the model in its arguments does not request it"
            self._waiting_for_cargo.append((sent, state, self._parcel.cargo(answer)))
        elif error is not None:
            self._fail(sent, error, task.deaths)
        else:
            self._take(sent, answer)
        while self._waiting_for_cargo and self._carrying < self.pool.carriers:
            sent, state, cargo = self._waiting_for_cargo.popleft()
            sent.has_cargo = True
            self._carrying += 1
            self._send(sent, state, cargo)

    def _fail(self, sent: _Sent, error: Exception, deaths: int) -> None:
        """Fail the only item of a failed task; the items of a larger task are sent one by one to find the cause.

        Args:
            deaths: The number of workers that the task has cost; they count for each of its items, but fail none alone.
        """
        (index, _), *others = sent.items
        if others and sent.line is None:
            for item in sent.items:
                self._send(_Sent([item], None), deaths=min(deaths, self._tries - 1))
        elif others and sent.line is not None:
            self._give_back(sent.line, sent.items)
            sent.line.alone = len(sent.items)
            self._send_line(sent.line)
        else:
            self._found.append(ItemResult(index, None, _as_ir_error(error)))
            if sent.line is not None:
                sent.line.is_busy = False
                self._send_line(sent.line)

    def _take(self, sent: _Sent, answer: Answer) -> None:
        done = len(answer.outcomes)
        self._pace.record_answer(done, answer.seconds, answer.size)
        for (index, _), outcome in zip(sent.items, answer.outcomes, strict=False):
            results = None if outcome.arrays is None else Results(self._outputs, outcome.arrays)
            self._found.append(ItemResult(index, results, outcome.error, outcome.digest, outcome.path))
        left = sent.items[done:]
        if left:
            # The worker cannot find the file of the first item; if it is missing here too, its result reports that.
            left[0] = left[0][0], fetch(left[0][1], self._inputs)
        if sent.line is None:
            if left:
                self._send(_Sent(left, None))
            return
        sent.line.state = answer.state
        self._give_back(sent.line, left)
        self._send_line(sent.line)

    def _give_back(self, line: _SessionQueue, items: list[tuple[int, Item]]) -> None:
        line.waiting.extendleft(reversed(items))
        line.is_busy = False

    def cancel(self) -> None:
        """Drop all items in flight."""
        self._flow.cancel()


def _as_ir_error(error: Exception) -> IRError:
    return error if isinstance(error, IRError) else EvaluationError(error_text(error), code=Code.failed)


_MOST_ITEMS = 100
_MOST_BYTES = 2**20
"""Maximum bytes of the arrays of the items of a task, and of their outputs."""

_QUEUED = 4
"""Tasks of several items in flight for each worker."""


class Pace:
    """Chooses the number of items of a task: enough to make its overhead negligible, and no more.

    Args:
        chunk: A fixed number; None: one at first, then adapted to the answers, at most twice as many as in the last
            task.
        ahead: Maximum items that are taken and not yet returned; None: enough to keep the workers busy.
    """

    def __init__(self, pool: Pool, chunk: int | None, ahead: int | None) -> None:
        self._pool = pool
        self._ahead = ahead
        self._is_free = chunk is None and pool.task_seconds > 0
        self._chunk = chunk or 1
        self._waited = 0.0
        self._is_growing = self._is_free

    @property
    def chunk(self) -> int:
        return self._chunk

    @property
    def limit(self) -> int:
        """The maximum number of items that are taken and not yet returned."""
        if self._ahead is not None:
            return self._ahead
        if self._pool.in_process and self._pool.workers == 1:
            return self._chunk
        if self._is_free:
            # Until the size is found there are few, small tasks.
            tasks = _QUEUED * self._chunk
            return self._pool.workers * (tasks if self._is_growing else max(self._pool.ahead, tasks))
        return self._pool.workers * self._pool.ahead * self._chunk

    def record_wait(self, seconds: float) -> None:
        """Record the time until an item was available: items that arrive slowly are not collected."""
        self._waited = (self._waited + seconds) / 2

    def record_answer(self, items: int, seconds: float, size: int) -> None:
        """Record the time of a task with this many items and bytes of arrays."""
        if not self._is_free or items == 0:
            return
        each = max(seconds / items, self._waited, 1e-6)
        most = min(_MOST_ITEMS, self._pool.task_seconds / each, _MOST_BYTES * items / max(size, 1))
        if self._ahead is not None:
            most = min(most, self._ahead / (2 * self._pool.workers))
        self._is_growing = most > 2 * self._chunk
        self._chunk = max(1, int(min(most, 2 * self._chunk)))
