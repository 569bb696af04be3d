"""The pytest plugin: fixtures for models, tolerances as a marker, snapshots of outputs, and pages of failed tests.

pytest loads this module at every start, so it imports ir_exec only when a test uses a fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ir_exec.fixtures import CheckFixture, CompareFixture, TestSettings

__all__ = ["ir_check", "ir_compare", "pytest_addoption", "pytest_configure"]

_TOLERANCE = "ir_tolerance"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("ir-exec", "OpenVINO IR and ONNX models")
    group.addoption("--ir-update", action="store_true", help="write snapshots of outputs instead of comparing them")
    pages = "write the page of the model of a failed check or comparison to this folder"
    group.addoption("--ir-pages", metavar="FOLDER", help=pages)
    parser.addini("ir_pages", f"{pages}, relative to the root folder", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    marker = f"{_TOLERANCE}(rtol=None, atol=None): tolerances of ir_compare, numbers or dicts by the name of the output"
    config.addinivalue_line("markers", marker)


@pytest.fixture
def ir_check(request: pytest.FixtureRequest) -> CheckFixture:
    """Check a model, and fail with the findings. The arguments are those of `ir_exec.testing.assert_ir_ok`."""
    from ir_exec.fixtures import CheckFixture  # see the docstring of the module

    return CheckFixture(_settings_of(request))


@pytest.fixture
def ir_compare(request: pytest.FixtureRequest) -> CompareFixture:
    """Compare a model with a reference, or with a snapshot of its outputs, and fail with the verdict."""
    from ir_exec.fixtures import CompareFixture

    return CompareFixture(_settings_of(request))


def _settings_of(request: pytest.FixtureRequest) -> TestSettings:
    from ir_exec.fixtures import TestSettings

    config, node = request.config, request.node
    folder = config.getoption("--ir-pages")
    in_file = config.getini("ir_pages")
    return TestSettings(
        test=node.nodeid,
        path=node.path,
        name=node.nodeid.partition("::")[2].replace("::", "."),
        is_updating=bool(config.getoption("--ir-update")),
        pages=config.invocation_params.dir / folder if folder else config.rootpath / in_file if in_file else None,
        tolerances=_tolerances_of(node),
        properties=node.user_properties,
    )


def _tolerances_of(node: Any) -> dict[str, Any]:
    """Return the arguments of the closest marker.

    Raises:
        pytest.UsageError: For other arguments than the two tolerances.
    """
    marker = node.get_closest_marker(_TOLERANCE)
    if marker is None:
        return {}
    if marker.args or not marker.kwargs.keys() <= {"rtol", "atol"}:
        names = ", ".join([*map(repr, marker.args), *marker.kwargs])
        raise pytest.UsageError(f"{node.nodeid}: {_TOLERANCE} has the arguments {names}, expected rtol=X and atol=X")
    return dict(marker.kwargs)
