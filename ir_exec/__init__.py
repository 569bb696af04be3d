"""Read, check and run OpenVINO IR files with NumPy, without OpenVINO.

model = ir_exec.read_model("model.xml")
compiled = ir_exec.compile_model(model)
result = compiled({"data": data, "indices": indices})
report = ir_exec.check_model("model.xml")
"""

import ast
import os
from importlib import import_module


def _homes() -> dict[str, str]:
    """The module of each public name, from the stub: type checkers read no other list, so that it is the only one."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as stub:
        statements = ast.parse(stub.read()).body
    return {
        alias.name: str(statement.module)
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


_HOMES = _homes()

__version__ = "0.2.0"

__all__ = [*_HOMES]  # the names are those of the stub


def __getattr__(name: str) -> object:
    # A name is imported when it is first asked for: running a network needs nothing of what checking does, and the
    # command line shows its help without NumPy.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ir_exec.collector import paused_collector

    # What is imported stays: the collector would look through it a tenth of the time, and find nothing.
    with paused_collector():
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
