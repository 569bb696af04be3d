"""The modules that a process loads: reading a network loads nothing that only other tasks need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec.cli import main
from tests.helpers.facts import naming

ROOT = Path(__file__).resolve().parent.parent
NETWORK = ROOT / "tests" / "networks" / "lstm.xml"


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys\n{statement}\nprint('loaded:', *sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    return set(done.stdout.rpartition("loaded:")[2].split())


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_import_loads_nothing_but_itself() -> None:
    loaded = modules_after("import ir_exec")
    assert not packages(loaded) & {"numpy", "lxml", "pydantic", "ml_dtypes", "rich", "click"}
    assert {name for name in loaded if name.startswith("ir_exec.")} == {"ir_exec.lazy"}


def test_running_loads_neither_command_line_nor_other_families() -> None:
    loaded = modules_after(f"import ir_exec\nir_exec.compile_model({str(NETWORK)!r})")
    assert not packages(loaded) & {"rich", "click", "openvino", "ml_dtypes"}
    assert "pydantic" in loaded, "the document is made of its models"
    assert "ir_exec.check" not in loaded
    assert "ir_exec.ops.sequence.sequences" in loaded
    assert "ir_exec.ops.sort.nms" not in loaded


def test_debugger_loads_modules_on_demand() -> None:
    loaded = modules_after("from ir_exec.debug import drawn_inputs")
    assert "ir_exec.debug.inputs.drawing" in loaded
    assert not loaded & {
        "ir_exec.debug.comparison.comparing",
        "ir_exec.debug.reduction.reducing",
        "ir_exec.debug.traces.tracing",
    }


def test_small_networks_do_not_load_blas_limits() -> None:
    run = """
import ir_exec, numpy
with numpy.load({0!r} + ".inputs.npz") as stored:
    ir_exec.compile_model({0!r} + ".xml")([stored[f"in{{i}}"] for i in range(len(stored.files))])
""".format
    networks = ROOT / "tests" / "networks"
    assert "threadpoolctl" not in modules_after(run(str(networks / "gnn_gcn_gat")))
    assert "threadpoolctl" in modules_after(run(str(networks / "lstm")))


def test_the_registry_is_loaded_without_pydantic() -> None:
    loaded = modules_after("from ir_exec.ops import registered\nregistered()")
    assert "ir_exec.ops.sort.nms" in loaded
    assert "pydantic" not in loaded


def test_help_loads_no_numpy() -> None:
    program = "from ir_exec.cli import main\nmain(['--help'], standalone_mode=False)"
    assert not packages(modules_after(program)) & {"numpy", "rich", "lxml", "pydantic"}


def test_help_shows_what_the_commands_say() -> None:
    assert isinstance(main, click.Group)
    with click.Context(main) as context:
        shown = main.get_help(context).partition("Commands:")[2]
        for name in main.list_commands(context):
            command = main.get_command(context, name)
            assert command is not None
            if command.hidden:
                assert f"  {name} " not in shown
            else:
                assert f"{name} {command.get_short_help_str(limit=400)}" in " ".join(shown.split())


def test_help_can_be_copied() -> None:
    """No name of a command, option or file is broken at a hyphen."""
    assert isinstance(main, click.Group)
    for name in ("", *main.list_commands(click.Context(main))):
        shown = CliRunner().invoke(main, [*filter(None, [name]), "--help"])
        assert shown.exit_code == 0
        assert [line for line in shown.output.splitlines() if line.endswith("-")] == []
        assert "\N{NON-BREAKING HYPHEN}" not in shown.output


def test_python_m() -> None:
    """`python -m ir_exec` is the command line."""
    command = [sys.executable, "-m", "ir_exec"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ir_exec.__version__ in shown.stdout
    ran = subprocess.run([*command, "check", "no/such.xml"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ran.returncode, "IR001" in ran.stdout) == (2, True)


def test_public_names_exist() -> None:
    assert {"read_model", "compile_model", "check_model", "register_op", "IRError"} <= {*ir_exec.__all__}
    for name in ir_exec.__all__:
        assert getattr(ir_exec, name).__name__ == name
        assert name in dir(ir_exec)


MODULES = ("batch", "build", "check", "debug", "extension", "onnx", "testing", "types", "view")


def test_modules_are_attributes() -> None:
    loaded = modules_after(f"import ir_exec\nfor name in {MODULES}: assert getattr(ir_exec, name).__doc__")
    assert {f"ir_exec.{name}" for name in MODULES} <= loaded
    assert not packages(loaded) & {"onnx", "click", "pytest", "openvino"}
    assert {*MODULES} <= {*dir(ir_exec)}
    assert not {*MODULES} & {*ir_exec.__all__}


def test_module_is_loaded_on_access() -> None:
    loaded = modules_after("import ir_exec\nir_exec.debug")
    assert "ir_exec.debug" in loaded
    assert not packages(loaded) & {"numpy", "pydantic"}
    assert "ir_exec.debug.inputs.drawing" in modules_after("import ir_exec\nir_exec.debug.drawn_inputs")


def test_missing_name_is_reported() -> None:
    with pytest.raises(AttributeError, match=naming("nothing")):
        ir_exec.nothing  # type: ignore[attr-defined]  # noqa: B018  # the point of the test


def test_called_packages() -> None:
    """`ir_exec.check(path)` is what a user writes after `ir-exec check path`."""
    assert ir_exec.check(str(NETWORK)) == ir_exec.check_model(str(NETWORK))  # type: ignore[operator]  # a package
    assert ir_exec.check(NETWORK, target="2020.1") == ir_exec.check_model(NETWORK, target="2020.1")  # type: ignore[operator]
    page = ir_exec.view(str(NETWORK))  # type: ignore[operator]  # a package
    assert page == ir_exec.view.view(str(NETWORK))
