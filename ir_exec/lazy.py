"""Public names of a package, imported when they are first asked for."""

import ast
import os
import sys
from collections.abc import Callable
from importlib import import_module

__all__ = ["from_stub"]


def from_stub(package: str, path: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the stub beside its `__init__.py`.

    package, path: its `__name__` and `__file__`. Type checkers read no other list of the names, so that it is the only
    one. A name must not be that of a module of the package, which would hide it once the module is imported; but a stub
    may import modules of the package itself (`from ir_exec import debug as debug`). Those are attributes, and no part
    of `__all__`: who takes all names wants no module imported.
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
