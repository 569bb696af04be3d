"""Read, check and run OpenVINO IR files with NumPy, without OpenVINO.

model = ir_exec.read_model("model.xml")
compiled = ir_exec.compile_model(model)
result = compiled({"data": data, "indices": indices})
report = ir_exec.check_model("model.xml")
"""

import ast
import os
from importlib import import_module

from ir_exec.readers import Reader, add_reader


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

__version__ = "0.1.0"

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


def _is_onnx(start: bytes) -> bool:
    # A protobuf message of which field 1 is the IR version, a small number, before strings or the graph.
    return len(start) > 2 and start[0] == 8 and 0 < start[1] <= 32 and start[2] in b"\x12\x1a\x22\x28\x32\x3a\x42"


def _read_onnx(source: object, **options: object) -> object:
    # By its name, as the public names are: this module stands above all others, and below those that ask its version.
    return import_module("ir_exec.onnx.reading").read_onnx(source, **options)


add_reader(Reader("ONNX", (".onnx",), _is_onnx, _read_onnx))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
