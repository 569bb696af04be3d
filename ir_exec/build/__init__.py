"""Models in Python: a function for each operator type, with type inference during construction.

```python
from ir_exec import build

data = build.parameter([None, 64], name="data")
hidden = build.relu(build.add(build.matmul(data, weights), 0.5))
model = build.model(build.result(hidden, name="hidden"))
model.save("model.xml")
```

An invalid shape or element type of an input raises an IRError at the line that makes the layer. The functions have the
names of OpenVINO's Python API and are made from the registry of operators; `__init__.pyi` lists them.
"""

from __future__ import annotations

from ir_exec.build.bodies import Collected, Sliced, if_, loop, tensor_iterator
from ir_exec.build.constants import constant, parameter
from ir_exec.build.edit import Editor
from ir_exec.build.functions import function_for, function_names
from ir_exec.build.network import model, result
from ir_exec.build.operators import assign, op, read_value
from ir_exec.build.values import Value

__all__ = [
    "Collected",
    "Editor",
    "Sliced",
    "Value",
    "assign",
    "constant",
    "if_",
    "loop",
    "model",
    "op",
    "parameter",
    "read_value",
    "result",
    "tensor_iterator",
]


def __getattr__(name: str) -> object:
    type_name = function_names().get(name)
    if type_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Modules of operators are imported with the first use of one of their functions.
    function = globals()[name] = function_for(type_name)
    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *function_names()})
