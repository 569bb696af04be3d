"""The stub of the builder, as shown by editors."""

import ast
import inspect
from pathlib import Path

import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import build
from ir_exec.build.functions import function_names
from ir_exec.cli import main
from tests.build.stub import stub_text

STUB = Path(build.__file__).with_suffix(".pyi")


def test_the_stub_is_current():
    assert STUB.read_text(encoding="utf-8") == stub_text(), "python -m tests.build.stub > ir_exec/build/__init__.pyi"


def test_the_command_prints_it():
    assert CliRunner().invoke(main, ["ops", "--stub"]).output == STUB.read_text(encoding="utf-8")


def test_stub_lists_module_members():
    statements = ast.parse(STUB.read_text(encoding="utf-8")).body
    functions = {statement.name for statement in statements if isinstance(statement, ast.FunctionDef)}
    imported = {
        alias.asname
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.asname
    }
    assert functions == set(function_names())
    assert set(dir(build)) == functions | imported - {"ElementTypeLike", "Input", "ShapeLike"}


@pytest.mark.parametrize("name", sorted(function_names()))
def test_function_has_signature_of_stub(name):
    function = getattr(build, name)
    declared = next(
        node
        for node in ast.parse(STUB.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    names = [node.arg for node in (*declared.args.args, *declared.args.kwonlyargs)]
    parameters = inspect.signature(function).parameters
    assert sorted(names) == sorted(parameters)
    told, docstring = (ast.get_docstring(declared) or "").splitlines(), inspect.getdoc(function) or ""
    assert told
    assert docstring.startswith(told[0])
    assert [line for line in told if line not in docstring] == []


def test_operators_of_another_name_have_no_function():
    with pytest.raises(AttributeError, match="gathr"):
        build.gathr  # noqa: B018  # that raises


def test_builder_is_a_package_name():
    assert ir_exec.build is build
