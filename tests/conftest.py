"""Shared settings of tests: the number of tests, no deadlines, and one OpenVINO process for a pytest process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings

from ir_exec.onnx.lowering import registry as onnx_registry
from ir_exec.ops.base import registry as opsets
from ir_exec.plan.compiler import Compiler
from tests.conformance.networks import COLLECTION
from tests.conformance.oracle import Oracle
from tests.helpers.recordings import Recording

# A thread of it forks whenever OpenVINO is imported, and a product that BLAS works on in that moment never ends.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None: not to be found

# In CI, extensions of settings need consent; tests of it set the variable.
os.environ.pop("CI", None)

# A pass that fails is an error here, and a plan without it elsewhere.
Compiler.is_strict = True

# The time of an example depends on the machine, not about the code.
settings.register_profile("untimed", deadline=None)
# For tests.mutate: deterministic examples, without shrinking.
settings.register_profile("mutate", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
settings.load_profile("untimed")


CONFORMANCE = Path(__file__).with_name("conformance")

LEFT_OUT = {"daily": {"conformance", "broad", "rest"}, "plain": {"rest"}, "rest": set(), "complete": set()}
"""The markers of the tests that each scope leaves out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("scope", "how many of the tests are run; a sample of the tables without any of these")
    for name, told in (
        ("daily", "neither tables nor what is marked as broad"),
        ("rest", "only what is left out without an option: the other rows of the tables"),
        ("complete", "everything"),
    ):
        group.addoption(f"--{name}", dest="scope", action="store_const", const=name, default="plain", help=told)
    parser.addoption("--record", action="store_true", help="write recorded files instead of comparing them")


def pytest_configure(config: pytest.Config) -> None:
    Recording.is_on = config.getoption("record")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read the tables for the daily loop."""
    return True if config.getoption("scope") == "daily" and collection_path == CONFORMANCE else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark everything in tests/conformance, and leave out what the scope does not hold; a test that is named is run."""
    for item in items:
        if item.path.is_relative_to(CONFORMANCE):
            item.add_marker(pytest.mark.conformance)
    _mark_rest(items)
    scope = config.getoption("scope")
    if scope == "plain" and any("::" in argument for argument in config.args):
        return
    unused = [same[0].nodeid for same in _by_function(items) if all(item.get_closest_marker("rest") for item in same)]
    if unused:
        raise pytest.UsageError(f"nothing stands for these tests in the plain command: {unused}")
    selected, left = [], []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        is_meant = not marks & LEFT_OUT[scope] and (scope != "rest" or "rest" in marks)
        (selected if is_meant else left).append(item)
    items[:] = selected
    if left:
        config.hook.pytest_deselected(items=left)


_GENERATORS: list[tuple[np.random.BitGenerator, Any]] = []
"""Random generators of test modules, and their states before the first test."""


def pytest_collection_finish() -> None:
    """Keep what was collected out of the collections of garbage: there are millions of objects, and none goes."""
    gc.collect()
    gc.freeze()
    for name, module in list(sys.modules.items()):
        if name.startswith("tests."):
            generators = [var.bit_generator for var in vars(module).values() if isinstance(var, np.random.Generator)]
            _GENERATORS.extend((generator, generator.state) for generator in generators)


def pytest_runtest_setup() -> None:
    """A test gets the same random numbers independent of earlier tests."""
    for generator, state in _GENERATORS:
        generator.state = state


def _mark_rest(items: list[pytest.Item]) -> None:
    """Of a test that is marked as broad(keep=3), mark all parameters but three as what these stand for.

    Which three depends on their names alone.
    """
    for same in _by_function(items):
        mark = same[0].get_closest_marker("broad")
        if mark is not None and "keep" in mark.kwargs:
            same.sort(key=lambda item: sha256(item.nodeid.encode()).digest())
            for item in same[mark.kwargs["keep"] :]:
                item.add_marker(pytest.mark.rest)


def _by_function(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    by_function: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_function.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return list(by_function.values())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report a run with fewer networks than there are: those of the collection are parameters of many tests."""
    if not any(COLLECTION.glob("*.xml")):
        terminalreporter.write_line(f"no networks in {COLLECTION}: tests ran only on the copies in tests/networks")


@pytest.fixture
def forgotten_extensions() -> Iterator[None]:
    """Forgets the operators that a test registers."""
    before = dict(opsets.EXTENSIONS)
    yield
    for domain, name in [
        (operator.domain, operator.name)
        for operator in onnx_registry.registered()
        if not onnx_registry.is_own(operator)
    ]:
        onnx_registry.VERSIONS.pop((domain, name), None)
    opsets.EXTENSIONS.clear()
    opsets.EXTENSIONS.update(before)
    opsets.resolve.cache_clear()


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    with Oracle() as oracle:
        yield oracle
