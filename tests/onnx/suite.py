"""The official suite of the onnx package: its cases, and the outcome of each with ir_exec.

    python -m tests.onnx.suite                 # counts by what fails
    python -m tests.onnx.suite -k resize -v    # the cases whose names hold the words, one by one
    python -m tests.onnx.suite --plain         # through compile_model, in place of ONNX's interface of backends

Compared is as the suite itself compares, with its tolerances.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import ir_exec
from ir_exec.errors import IRError
from ir_exec.onnx import backend

CATEGORIES = ("node", "simple", "pytorch-converted", "pytorch-operator")

LEFT = Path(__file__).with_name("left_out.json")
"""The cases that are left out, by the reason why."""


class Case(NamedTuple):
    """A model with inputs and expected outputs; one pair for each run of it."""

    category: str
    name: str
    model: onnx.ModelProto
    runs: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


@cache
def cases(category: str) -> list[Case]:
    """The cases of a category; the ones of single nodes are computed anew by the suite, which takes 20 seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_case(category, case) for case in load_model_tests(kind=category)]


def _case(category: str, case: Any) -> Case:
    if case.model_dir is None:
        runs = [
            ([_array(array) for array in inputs], [_array(array) for array in out]) for inputs, out in case.data_sets
        ]
        return Case(category, case.name, case.model, runs, case.rtol, case.atol)
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    runs = [
        (list(_read_values(data, "input", model.graph.input)), list(_read_values(data, "output", model.graph.output)))
        for data in sorted(folder.glob("test_data_set*"))
    ]
    return Case(category, case.name, model, runs, case.rtol, case.atol)


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read_values(folder: Path, which: str, declared: Any) -> Iterator[Any]:
    for position in range(len(list(folder.glob(f"{which}_*.pb")))):
        raw = (folder / f"{which}_{position}.pb").read_bytes()
        field = declared[position].type.WhichOneof("value")
        if field == "sequence_type":
            yield numpy_helper.to_list(onnx.SequenceProto.FromString(raw))
        elif field == "optional_type":
            yield numpy_helper.to_optional(onnx.OptionalProto.FromString(raw))
        else:
            yield numpy_helper.to_array(onnx.TensorProto.FromString(raw))


class Outcome(NamedTuple):
    """The outcome of a case. wrong: values differ, or an error other than those of ir_exec was raised."""

    name: str
    message: str | None
    wrong: bool


def outcome(case: Case, *, is_plain: bool = False) -> Outcome:
    """Run a case and compare its outputs.

    is_plain: with the content of a file and `compile_model`. Its outputs are the elements of lists, one by one, in the
    types that hold those which IR lacks.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite divides by zero and overflows on purpose
        try:
            run = _compile(case.model) if is_plain else backend.prepare(case.model).run
            for inputs, expected in case.runs:
                declared = list(_flat(expected)) if is_plain else expected
                Runner.assert_similar_outputs(declared, run(inputs), case.rtol, case.atol)
        except IRError as error:
            return Outcome(case.name, str(error), wrong=False)
        except Exception as error:
            return Outcome(case.name, f"{type(error).__name__}: {error}", wrong=True)
    return Outcome(case.name, None, wrong=False)


def without_shapes(case: Case, *, has_ranks: bool) -> Case:
    """The case with inputs and outputs of which the file declares no sizes, or not even ranks."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    initialized = {tensor.name for tensor in graph.initializer}
    for declared in (*graph.input, *graph.output):
        if declared.name not in initialized:
            _open(declared.type, has_ranks)
    del graph.value_info[:]
    return case._replace(model=model)


def _open(type: onnx.TypeProto, has_ranks: bool) -> None:
    field = type.WhichOneof("value")
    if field in ("sequence_type", "optional_type"):
        _open(getattr(type, field).elem_type, has_ranks)
    elif has_ranks:
        for dim in type.tensor_type.shape.dim:
            dim.Clear()
    else:
        type.tensor_type.ClearField("shape")


def _compile(model: onnx.ModelProto) -> Callable[[list[Any]], list[Any]]:
    compiled = ir_exec.compile_model(model.SerializeToString())
    return lambda inputs: list(compiled(_widen(inputs)).values())


def _widen(value: Any) -> Any:
    """Arrays in the types that hold those which IR lacks."""
    if isinstance(value, list):
        return [_widen(element) for element in value]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "V":
        return value
    return value.astype(_HELD.get(value.dtype.name, value.dtype))


_HELD = {"int2": "int8", "float8_e4m3fnuz": "float32", "float8_e5m2fnuz": "float32"}


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from _flat(element)
    elif value is not None:
        yield _widen(np.asarray(value))


def left_out() -> dict[str, str]:
    """The reason of each case that is left out, by its name."""
    reasons = json.loads(LEFT.read_text(encoding="utf-8"))
    return {name: reason for reason, names in reasons.items() for name in names}


_chosen: list[Case] = []
"""The cases of the worker processes: they are forked, as cases are slow to make and to pickle."""


def _run_case(number: int, *, is_plain: bool) -> Outcome:
    return outcome(_chosen[number], is_plain=is_plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="words that the names of the cases hold")
    parser.add_argument("-v", action="store_true", help="a line for each case that fails")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--plain", action="store_true", help="through compile_model")
    options = parser.parse_args()
    words = options.k.split()
    _chosen.extend(
        case for category in CATEGORIES for case in cases(category) if all(word in case.name for word in words)
    )
    with multiprocessing.get_context("fork").Pool(options.j) as pool:
        outcomes = pool.map(partial(_run_case, is_plain=options.plain), range(len(_chosen)), chunksize=8)
    failed = [outcome for outcome in outcomes if outcome.message is not None]
    if options.v:
        for outcome in failed:
            print(f"{outcome.name}: {' '.join(str(outcome.message).split())[:300]}")
    else:
        for message, count in Counter(" ".join(str(outcome.message).split())[:120] for outcome in failed).most_common():
            print(f"{count:5} {message}")
    bad = {outcome.name for outcome in failed}
    for category in CATEGORIES:
        names = [case.name for case in _chosen if case.category == category]
        if names:
            print(f"{category}: {sum(name not in bad for name in names)} of {len(names)}")


if __name__ == "__main__":
    main()
