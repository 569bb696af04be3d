"""What tests share: how many of them are run, no deadlines, and one OpenVINO process for a pytest process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from ir_exec.ops.base import registry as opsets
from tests.conformance.networks import COLLECTION
from tests.conformance.oracle import Oracle

# A thread of it forks whenever OpenVINO is imported, and a product that BLAS works on in that moment never ends.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None: not to be found

# How long an example takes says something about the machine, not about the code.
settings.register_profile("untimed", deadline=None)
# For tests.mutate: the same examples each time, and none made smaller.
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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read the tables for the daily loop."""
    return True if config.getoption("scope") == "daily" and collection_path == CONFORMANCE else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark everything in tests/conformance, and leave out what the scope does not hold; a test that is named is run."""
    for item in items:
        if item.path.is_relative_to(CONFORMANCE):
            item.add_marker(pytest.mark.conformance)
    scope = config.getoption("scope")
    if scope == "plain" and any("::" in argument for argument in config.args):
        return
    kept, left = [], []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        is_meant = not marks & LEFT_OUT[scope] and (scope != "rest" or "rest" in marks)
        (kept if is_meant else left).append(item)
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say when the tests had fewer networks than there are: those of the collection are parameters of many tests."""
    if not any(COLLECTION.glob("*.xml")):
        terminalreporter.write_line(f"no networks in {COLLECTION}: tests ran only on the copies in tests/networks")


@pytest.fixture
def forgotten_extensions() -> Iterator[None]:
    """Forgets the operators that a test registers."""
    before = dict(opsets._extensions)
    yield
    opsets._extensions.clear()
    opsets._extensions.update(before)
    opsets.resolve.cache_clear()


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    with Oracle() as oracle:
        yield oracle
