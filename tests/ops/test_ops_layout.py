"""The law of the house: from a specification page to the module of its operators without a search, and back.

For a module `ir_exec/ops/X/y.py` that defines types of layers, the tests are `tests/ops/X/test_y.py`, and the cases
that are compared with OpenVINO are `tests/cases/X/y.py`. Tests of a kernel alone, `ir_exec/kernels/y.py`, are
`tests/kernels/test_y.py`.
"""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import ir_exec.ops
from ir_exec.cli.commands.ops import specification_of
from ir_exec.cli.options import versioned_name
from ir_exec.ops import Op, registered, resolve
from tests.conformance.checks import families, table

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
TABLE = json.loads(resources.files("ir_exec.ops.base").joinpath("opsets.json").read_text("utf-8"))
HOMES = sorted({row["home"] for row in TABLE.values()})

NEED_A_NETWORK = {
    "infrastructure.loops": "runtime/test_bodies.py",
    "infrastructure.values": "runtime/test_sessions_run.py",
}
"""Modules of which one layer alone makes no case: Parameter, Const, Result, variables and loops. These tests run whole
networks with them."""

# A module that imports another one registers its types too, so each starts from an empty registry.
PROGRAM = """
import json, sys
from importlib import import_module
from ir_exec.ops.base import registry

kept = set(sys.modules)
found = {}
for home in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.startswith("ir_exec.ops.") and name not in kept]:
        del sys.modules[name]
    registry.classes_of_type.clear()
    import_module(f"ir_exec.ops.{home}")
    found[home] = sorted({
        cls.type_name
        for versions in registry.classes_of_type.values()
        for cls in versions.values()
        if cls.__module__ == f"ir_exec.ops.{home}"
    })
print(json.dumps(found))
"""


@pytest.mark.parametrize("cls", registered(), ids=versioned_name)
def test_page_folder_is_the_module(cls: type[Op]) -> None:
    folder = specification_of(cls).partition("/")[0]
    assert cls.__module__.removeprefix("ir_exec.ops.").partition(".")[0] == folder


@pytest.mark.parametrize("cls", registered(), ids=versioned_name)
def test_the_table_knows_the_module(cls: type[Op]) -> None:
    assert cls.__module__ == f"ir_exec.ops.{TABLE[cls.type_name]['home']}"


@pytest.mark.parametrize("cls", registered(), ids=versioned_name)
def test_class_starts_with_opset_containing_its_type(cls: type[Op]) -> None:
    assert cls.since in TABLE[cls.type_name]["opsets"]


def test_modules_of_a_family_register_their_table() -> None:
    submodules = pkgutil.walk_packages(ir_exec.ops.__path__, "ir_exec.ops.")
    names = [module.name.removeprefix("ir_exec.ops.") for module in submodules if not module.ispkg]
    modules = [name for name in names if not name.startswith("base.")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(modules)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=ROOT,
    )
    expected: dict[str, list[str]] = {module: [] for module in modules}
    for name, row in TABLE.items():
        expected[row["home"]].append(name)
    assert json.loads(done.stdout) == {module: sorted(types) for module, types in expected.items()}


def source_of(home: str) -> Path:
    return Path(*home.split(".")).with_suffix(".py")


@pytest.mark.parametrize("home", HOMES)
def test_modules_have_tests_and_cases(home: str) -> None:
    source = source_of(home)
    if home in NEED_A_NETWORK:
        assert (TESTS / NEED_A_NETWORK[home]).is_file()
        assert not (TESTS / "cases" / source).exists()
        return
    assert (TESTS / "ops" / source.with_name(f"test_{source.name}")).is_file()
    assert (TESTS / "cases" / source).is_file()


@pytest.mark.parametrize("family", families())
def test_a_table_holds_cases_of_its_module(family: str) -> None:
    homes = {resolve(case.type, f"opset{case.opset}").__module__ for case in table(family)}
    assert homes == {f"ir_exec.ops.{family}"}


@pytest.mark.parametrize("package", ["ops", "kernels"])
def test_tests_stand_beside_a_module(package: str) -> None:
    for path in sorted((TESTS / package).rglob("test_*.py")):
        module = path.relative_to(TESTS).with_name(path.name.removeprefix("test_"))
        assert (ROOT / "ir_exec" / module).is_file() or path == Path(__file__), f"{module} is no module of ir_exec"
