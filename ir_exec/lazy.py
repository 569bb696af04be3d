"""Public names of a package, imported on first access."""

import ast
import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

__all__ = ["from_stub", "make_callable"]


def from_stub(package: str, path: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, read from the stub next to its `__init__.py`.

    The stub is the only list of the names, and the one that type checkers read. A name must differ from the modules of
    the package: an imported module would hide it. A stub may import modules of the package itself (`from ir_exec import
    debug as debug`). These are attributes, but not in `__all__`: `import *` must not import modules.

    Args:
        package: The `__name__` of the package.
        path: Its `__file__`.
    """
    homes = _homes(os.path.join(os.path.dirname(path), "__init__.pyi"))
    module = sys.modules[package]

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *homes})

    return get, names, [name for name, home in homes.items() if home != package]


def make_callable(package: str, function: str) -> None:
    """Make a call of a package call its function with this name: `ir_exec.check(path)` is `check_model(path)`."""

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: object, **options: object) -> object:
            return getattr(self, function)(*arguments, **options)

    sys.modules[package].__class__ = CallablePackage


def _homes(path: str) -> dict[str, str]:
    """The module of each public name."""
    with open(path, encoding="utf-8") as stub:
        statements = ast.parse(stub.read()).body
    return {
        alias.name: str(statement.module)
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
