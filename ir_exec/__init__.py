"""Read, check and run OpenVINO IR files with NumPy, without OpenVINO.

model = ir_exec.read_model("model.xml")
compiled = ir_exec.compile_model(model)
result = compiled({"data": data, "indices": indices})
report = ir_exec.check_model("model.xml")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir_exec.check import Diagnostic, Report, check_model
    from ir_exec.errors import (
        ElementTypeError,
        EvaluationError,
        GraphError,
        InvalidAttributeError,
        IRError,
        Location,
        ParseError,
        ResourceError,
        ShapeError,
        UnsupportedError,
        WeightsError,
    )
    from ir_exec.extension import In, Op, register_op
    from ir_exec.model import Model, ModelPort, read_model
    from ir_exec.runtime import CompiledModel, Results, compile_model
    from ir_exec.types import Dim, ElementType, Shape

__version__ = "0.1.0"

__all__ = [
    "CompiledModel",
    "Diagnostic",
    "Dim",
    "ElementType",
    "ElementTypeError",
    "EvaluationError",
    "GraphError",
    "IRError",
    "In",
    "InvalidAttributeError",
    "Location",
    "Model",
    "ModelPort",
    "Op",
    "ParseError",
    "Report",
    "ResourceError",
    "Results",
    "Shape",
    "ShapeError",
    "UnsupportedError",
    "WeightsError",
    "check_model",
    "compile_model",
    "read_model",
    "register_op",
]

# A name is imported when it is first asked for: reading a network needs nothing that checking does, and the command
# line shows its help without NumPy.
_HOMES = {
    "check": ("Diagnostic", "Report", "check_model"),
    "errors": (
        "ElementTypeError",
        "EvaluationError",
        "GraphError",
        "IRError",
        "InvalidAttributeError",
        "Location",
        "ParseError",
        "ResourceError",
        "ShapeError",
        "UnsupportedError",
        "WeightsError",
    ),
    "extension": ("In", "Op", "register_op"),
    "model": ("Model", "ModelPort", "read_model"),
    "runtime": ("CompiledModel", "Results", "compile_model"),
    "types": ("Dim", "ElementType", "Shape"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            from ir_exec.collector import paused_collector

            # What is imported stays: the collector would look through it a tenth of the time, and find nothing.
            with paused_collector():
                value = globals()[name] = getattr(import_module(f"ir_exec.{home}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
