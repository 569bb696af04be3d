"""The pytest plugin, in test suites of its users."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import ir_exec
import ir_exec.fixtures
from ir_exec.build import Editor
from ir_exec.ops import registered
from ir_exec.view import html_of, page_of_reports, view
from tests.test_import import modules_after

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
NETWORK = ROOT / "samples" / "gnn_step.xml"
BAD = ROOT / "tests" / "bad" / "IR601-declared-dims.xml"
OPTIONS = ("-p", "ir_exec.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:zarr", "--strict-markers")


@pytest.fixture(scope="module", autouse=True)
def loaded_modules() -> None:
    """Load the modules that the tests use: pytester unloads what a run imports, and operators register once."""
    registered()
    html_of(view(NETWORK, compare=ir_exec.compare(NETWORK, NETWORK)))
    html_of(page_of_reports([ir_exec.check_model(BAD)]))
    ir_exec.fixtures.TestSettings("", ROOT, "")


@pytest.fixture
def changed_network(pytester: pytest.Pytester) -> Path:
    """The network with another value in one constant."""
    editor = Editor(ir_exec.read_model(NETWORK))
    editor.set_constant("Constant_15908", ir_exec.read_model(NETWORK).constants["Constant_15908"] * 1.01)
    path = pytester.path / "changed.xml"
    editor.model().save(path)
    return path


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*OPTIONS, *arguments)


def test_checks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"""
        def test_good(ir_check):
            assert ir_check({str(NETWORK)!r}).ok
        def test_bad(ir_check):
            ir_check({str(BAD)!r})
        def test_ignored(ir_check):
            ir_check({str(BAD)!r}, ignore=["declared-dims"])
    """)
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*IR601 declared-dims*"])


def test_failure_has_the_verdict(pytester: pytest.Pytester, changed_network: Path) -> None:
    pytester.makepyfile(f"""
        def test_same(ir_compare):
            report = ir_compare({str(NETWORK)!r}, {str(NETWORK)!r})
            assert report.verdict == "equal"
        def test_other(ir_compare):
            ir_compare({str(changed_network)!r}, {str(NETWORK)!r})
    """)
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    decision = ir_exec.compare(changed_network, NETWORK).decision
    assert decision is not None
    assert decision.line in result.stdout.str()


def test_marker_sets_tolerances(pytester: pytest.Pytester, changed_network: Path) -> None:
    pytester.makepyfile(f"""
        import pytest
        pytestmark = pytest.mark.ir_tolerance(rtol=1.0, atol=1.0)
        def test_of_module(ir_compare):
            report = ir_compare({str(changed_network)!r}, {str(NETWORK)!r})
            assert {{result.error.atol for result in report.output_results}} == {{1.0}}
        @pytest.mark.ir_tolerance(rtol=0.0, atol={{"hidden": 2.0, "*": 1.0}})
        def test_closest_marker(ir_compare):
            report = ir_compare({str(changed_network)!r}, {str(NETWORK)!r})
            assert {{(result.error.rtol, result.error.atol) for result in report.output_results}} == {{(0.0, 2.0)}}
        def test_argument_has_priority(ir_compare):
            ir_compare({str(changed_network)!r}, {str(NETWORK)!r}, rtol=0.0, atol=1e-7)
        @pytest.mark.ir_tolerance(0.5)
        def test_wrong_marker(ir_compare):
            pass
    """)
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=1, errors=1)


def test_snapshots(pytester: pytest.Pytester, changed_network: Path) -> None:
    test = pytester.makepyfile("""
        import pytest
        @pytest.mark.parametrize("name", ["a", "b/c"])
        def test_outputs(ir_compare, name):
            ir_compare("model.xml")
            ir_compare("model.xml", seed=5)
        class TestModel:
            def test_outputs(self, ir_compare):
                ir_compare("model.xml")
    """)
    for path in (NETWORK, NETWORK.with_suffix(".bin")):
        (pytester.path / f"model{path.suffix}").write_bytes(path.read_bytes())
    folder = test.parent / "ir_snapshots" / test.stem
    missing = run(pytester)
    missing.assert_outcomes(failed=3)
    missing.stdout.fnmatch_lines(["*--ir-update*"])
    assert not folder.exists()

    run(pytester, "--ir-update").assert_outcomes(passed=3)
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 5
    assert {"test_outputs[a].npz", "test_outputs[a]-2.npz", "TestModel.test_outputs.npz"} <= set(names)
    with np.load(folder / names[0]) as stored:
        assert set(stored.files) == {"inputs/features", "inputs/edges", "outputs/hidden"}
        inputs = {name: stored[f"inputs/{name}"] for name in ("features", "edges")}
        np.testing.assert_array_equal(ir_exec.compile_model(NETWORK)(inputs)["hidden"], stored["outputs/hidden"])
    run(pytester).assert_outcomes(passed=3)

    for path in (changed_network, changed_network.with_suffix(".bin")):
        (pytester.path / f"model{path.suffix}").write_bytes(path.read_bytes())
    run(pytester).assert_outcomes(failed=3)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    run(pytester, "--ir-update").assert_outcomes(passed=3)
    assert before.keys() == set(folder.iterdir())
    assert all(path.read_bytes() != content for path, content in before.items())
    run(pytester).assert_outcomes(passed=3)


def test_snapshot_of_other_inputs_is_reported(pytester: pytest.Pytester) -> None:
    test = """
        import numpy as np
        def test_outputs(ir_compare):
            features = np.full((3, 4), {value}, np.float32)
            ir_compare({path!r}, inputs={{"features": features, "edges": np.zeros((2, 2), np.int64)}}, name="run")
    """
    pytester.makepyfile(test_it=test.format(value=1, path=str(NETWORK)))
    run(pytester, "--ir-update").assert_outcomes(passed=1)
    assert (pytester.path / "ir_snapshots" / "test_it" / "run.npz").exists()
    run(pytester).assert_outcomes(passed=1)
    pytester.makepyfile(test_it=test.format(value=25, path=str(NETWORK)))
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*"features"*'])


@pytest.mark.parametrize("by_option", [True, False])
def test_pages_of_failures(pytester: pytest.Pytester, changed_network: Path, by_option: bool) -> None:
    pytester.makepyfile(f"""
        def test_compared(ir_compare):
            ir_compare({str(NETWORK)!r}, {str(NETWORK)!r})
            ir_compare({str(changed_network)!r}, {str(NETWORK)!r})
        def test_checked(ir_check):
            ir_check({str(BAD)!r})
    """)
    if not by_option:
        pytester.makeini("[pytest]\nir_pages = pages")
    result = run(pytester, *(("--ir-pages", "pages") if by_option else ()))
    result.assert_outcomes(failed=2)
    pages = sorted((pytester.path / "pages").iterdir())
    assert len(pages) == 2
    texts = [path.read_text("utf-8") for path in pages]
    assert ["IR601" in text for text in texts] == [True, False]
    assert all(str(path) in result.stdout.str() for path in pages)
    data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', texts[1], re.DOTALL)
    assert data is not None
    page = json.loads(data[1])
    decision = ir_exec.compare(changed_network, NETWORK).decision
    assert decision is not None
    assert page["verdict"]["text"] == decision.line


def test_marker_is_registered(pytester: pytest.Pytester) -> None:
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.ir_tolerance*"])


def test_start_imports_only_the_plugin() -> None:
    loaded = modules_after("import ir_exec.pytest_plugin")
    assert {name for name in loaded if name.startswith("ir_exec.")} == {"ir_exec.lazy", "ir_exec.pytest_plugin"}
    assert not {"numpy", "pydantic", "lxml"} & loaded


def test_entry_point_is_the_module() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (module,) = settings["project"]["entry-points"]["pytest11"].values()
    assert import_module(module).__name__ == OPTIONS[1]


def test_junit_report_has_the_verdict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"""
        def test_same(ir_compare):
            ir_compare({str(NETWORK)!r}, {str(NETWORK)!r})
    """)
    run(pytester, "--junitxml", "report.xml").assert_outcomes(passed=1)
    assert 'name="ir_verdict" value="equal' in (pytester.path / "report.xml").read_text("utf-8")
