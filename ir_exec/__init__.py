"""Read, check and run OpenVINO IR files with NumPy, without OpenVINO.

model = ir_exec.read_model("model.xml")
compiled = ir_exec.compile_model(model)
result = compiled({"data": data, "indices": indices})
report = ir_exec.check_model("model.xml")
"""

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
    "InvalidAttributeError",
    "Location",
    "Model",
    "ModelPort",
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
]
