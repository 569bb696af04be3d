# The public names, for editors and type checkers, and for the module itself, which imports each on first access.

from ir_exec import (
    batch as batch,
    build as build,
    check as check,
    debug as debug,
    engines as engines,
    extension as extension,
    onnx as onnx,
    testing as testing,
    text as text,
    types as types,
    view as view,
)
from ir_exec.check import (
    Diagnostic as Diagnostic,
    Report as Report,
    check_model as check_model,
)
from ir_exec.debug import (
    compare as compare,
)
from ir_exec.errors import (
    ElementTypeError as ElementTypeError,
    EvaluationError as EvaluationError,
    GraphError as GraphError,
    InvalidAttributeError as InvalidAttributeError,
    IRError as IRError,
    Location as Location,
    ParseError as ParseError,
    ResourceError as ResourceError,
    ShapeError as ShapeError,
    UnsupportedError as UnsupportedError,
    WeightsError as WeightsError,
)
from ir_exec.extension import (
    In as In,
    Op as Op,
    register_op as register_op,
)
from ir_exec.model import (
    Model as Model,
    ModelPort as ModelPort,
    read_model as read_model,
)
from ir_exec.runtime import (
    CompiledModel as CompiledModel,
    InferRequest as InferRequest,
    Results as Results,
    Session as Session,
    compile_model as compile_model,
)
from ir_exec.types import (
    Dim as Dim,
    ElementType as ElementType,
    Shape as Shape,
)

__version__: str
