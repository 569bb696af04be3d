"""What tests share: no deadlines, one OpenVINO process for a pytest process, and the marker `conformance`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from ir_exec.onnx import registry as onnx_registry
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in tests/conformance."""
    for item in items:
        if item.path.is_relative_to(CONFORMANCE):
            item.add_marker(pytest.mark.conformance)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say when the tests had fewer networks than there are: those of the collection are parameters of many tests."""
    if not any(COLLECTION.glob("*.xml")):
        terminalreporter.write_line(f"no networks in {COLLECTION}: tests ran only on the copies in tests/networks")


@pytest.fixture
def forgotten_extensions() -> Iterator[None]:
    """Forgets the operators that a test registers."""
    before = dict(opsets._extensions)
    yield
    for domain, name in [(one.domain, one.name) for one in onnx_registry.registered() if not onnx_registry.is_own(one)]:
        onnx_registry._versions.pop((domain, name), None)
    opsets._extensions.clear()
    opsets._extensions.update(before)
    opsets.resolve.cache_clear()


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    with Oracle() as oracle:
        yield oracle
