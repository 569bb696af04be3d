"""The reference of the site has every public name, and each has a docstring with its parameters and errors."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ir_exec import errors
from ir_exec.debug import compare
from ir_exec.testing import assert_same

PAGES = (Path(__file__).resolve().parents[1] / "docs" / "reference").rglob("*.md")
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)
SHOWN = re.findall(r"^::: (ir_exec\S*)$", TEXT, re.MULTILINE)
PUBLIC = ["", ".batch", ".build", ".dask", ".debug", ".extension", ".onnx.backend", ".testing", ".text", ".view"]


def names_of(module: Any) -> list[str]:
    if "__all__" in vars(module):
        return list(module.__all__)
    return [name for name, value in vars(module).items() if not (name.startswith("_") or inspect.ismodule(value))]


def resolve(path: str) -> Any:
    """The object at a dotted path: a module, or something in one."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if not error.name or not error.name.startswith("ir_exec"):
            raise
        module, _, name = path.rpartition(".")
        return getattr(resolve(module), name)


def shown_by(path: str) -> Iterator[Any]:
    """The members that `::: path` shows: for a module its `__all__`, unless a module in it has the same name."""
    yield (target := resolve(path))
    if inspect.ismodule(target):
        for name in getattr(target, "__all__", []):
            if f"{path}.{name}" not in sys.modules:
                yield getattr(target, name)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    pytest.importorskip("dask") if name == ".dask" else None
    module = importlib.import_module(f"ir_exec{name}")
    shown = {id(value) for path in SHOWN for value in shown_by(path)}
    for public in names_of(module):
        value = getattr(module, public)
        # Types that are spelled for annotations, and constants, are in a sentence.
        is_named = not inspect.isclass(value) and f"`{public}`" in TEXT
        assert id(value) in shown or is_named, f"ir_exec{name}.{public}"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring(name: str) -> None:
    pytest.importorskip("dask") if name == ".dask" else None
    module = importlib.import_module(f"ir_exec{name}")
    assert module.__doc__
    missing = [
        f"{public}{member}"
        for public in names_of(module)
        for member, value in documented_members(getattr(module, public))
        if not inspect.getdoc(value)
    ]
    assert not missing


def documented_members(value: Any) -> Iterator[tuple[str, Any]]:
    """A function or a class, with the methods and properties of the class."""
    if inspect.isroutine(value) or inspect.isclass(value):
        yield "", value
    if inspect.isclass(value) and value.__module__.startswith("ir_exec"):
        for name, member in vars(value).items():
            if not name.startswith("_") and isinstance(
                member, (property, classmethod, staticmethod, type(documented_members))
            ):
                yield f".{name}", member


PLAIN = {
    "model",
    "source",
    "path",
    "page",
    "reports",
    "report",
    "reference",
    "text",
    "key",
    "other",
    "value",
    "array",
    "arrays",
}
"""Parameters that explain themselves."""

OF_LAYERS = {"name", "tensor_names"}
"""Common parameters of functions of `ir_exec.build`: of the layer that is made, and of its outputs."""

LIKE_OTHERS = {assert_same: compare}
"""Functions whose docstring refers to another one for their other parameters."""


def public_functions() -> Iterator[tuple[str, Any, str]]:
    """Name, function and docstring of every public function and method; that of a class is about its methods too."""
    for name in PUBLIC:
        if name == ".dask" and importlib.util.find_spec("dask") is None:
            continue
        module = importlib.import_module(f"ir_exec{name}")
        for public in names_of(module):
            value = getattr(module, public)
            if not getattr(value, "__module__", "").startswith("ir_exec"):
                continue
            if inspect.isfunction(value) and not value.__module__.endswith("build.functions"):
                both = dict.fromkeys((value, LIKE_OTHERS.get(value, value)))
                yield f"{name}.{public}", value, "\n".join(inspect.getdoc(documented) or "" for documented in both)
            elif inspect.isclass(value) and not issubclass(value, Exception):
                for method, member in vars(value).items():
                    function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
                    if inspect.isfunction(function) and (method == "__call__" or not method.startswith("_")):
                        yield f"{name}.{public}.{method}", function, f"{value.__doc__}\n{function.__doc__ or ''}"


FUNCTIONS = {name: (function, told) for name, function, told in public_functions()}


def test_every_parameter_is_told() -> None:
    missing = {
        name: [
            parameter
            for parameter in inspect.signature(function).parameters
            if parameter not in {"self", "cls"} | PLAIN | (OF_LAYERS if name.startswith(".build.") else set())
            and not re.search(rf"\b{parameter}\b", told)
        ]
        for name, (function, told) in FUNCTIONS.items()
        if not name.startswith(".onnx.backend.")  # ONNX's interface documents them
    }
    assert {name: left for name, left in missing.items() if left} == {}


def test_every_error_is_told() -> None:
    """Errors of the tree that a function raises itself: its callees may raise others."""
    missing = {}
    for name, (function, told) in FUNCTIONS.items():
        if function.__code__.co_filename.startswith("<"):
            continue  # what a dataclass has made
        raised = set(re.findall(r"\braise (\w+Error|IRError)\(", inspect.getsource(function)))
        if left := sorted(error for error in raised if hasattr(errors, error) and error not in told):
            missing[name] = left
    assert missing == {}
