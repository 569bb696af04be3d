"""The stub of `ir_exec.build`: a signature with types, defaults and a docstring for each function, for editors.

python -m tests.build.stub > ir_exec/build/__init__.pyi
"""

from __future__ import annotations

import sys
from inspect import Parameter
from types import NoneType, SimpleNamespace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ir_exec.build.functions import docstring_for, function_names, has_one_output, parameters_of
from ir_exec.build.operators import operator_class
from ir_exec.ops import Op
from ir_exec.types import ElementType, Shape

__all__ = ["stub_text"]

_HEADER = """# Made by `python -m tests.build.stub` from the registry of operators: the newest version of each.

from collections.abc import Iterable, Sequence
from typing import Literal

from ir_exec.build.bodies import (
    Collected as Collected,
    Sliced as Sliced,
    if_ as if_,
    loop as loop,
    tensor_iterator as tensor_iterator,
)
from ir_exec.build.constants import (
    ElementTypeLike as ElementTypeLike,
    Input as Input,
    constant as constant,
    parameter as parameter,
)
from ir_exec.build.edit import (
    Editor as Editor,
)
from ir_exec.build.network import (
    model as model,
    result as result,
)
from ir_exec.build.operators import (
    op as op,
)
from ir_exec.build.values import (
    Value as Value,
)
from ir_exec.build.operators import (
    assign as assign,
    read_value as read_value,
)
from ir_exec.model import ShapeLike as ShapeLike
"""

_WIDTH = 120

_PLAIN = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    ElementType: "ElementTypeLike",
    Shape: "ShapeLike",
}


def stub_text() -> str:
    """The text of `ir_exec/build/__init__.pyi`."""
    functions = [_function(name, operator_class(type_name)) for name, type_name in sorted(function_names().items())]
    return "\n".join([_HEADER, *functions]).rstrip() + "\n"


def _function(name: str, cls: type[Op]) -> str:
    kinds = _kinds(cls)
    inputs = {declared.name: declared for declared in cls.inputs}
    lines = [f"def {name}("]
    is_keyword = False
    for parameter in parameters_of(cls):
        if parameter.kind is Parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            lines.append("    *,")
        if parameter.name in inputs:
            annotation = "Sequence[Input]" if inputs[parameter.name].variadic else "Input"
            annotation += " | None" if inputs[parameter.name].optional else ""
        else:
            annotation = kinds[parameter.name]
        lines += _broken(f"    {parameter.name}: {annotation}{_default(parameter)},")
    if not is_keyword:
        lines.append("    *,")
    single = has_one_output(cls)
    lines += [
        "    opset: str | int | None = None,",
        "    name: str | None = None,",
        f"    tensor_names: {'Iterable[str]' if single else 'Iterable[Iterable[str]]'} = (),",
        *(["    outputs: int | None = None,"] if cls.varies_outputs else []),
        f") -> {_return_annotation(cls)}:",
        *_docstring(cls),
        "",
    ]
    return "\n".join(lines)


def _broken(line: str) -> list[str]:
    """The line as `ruff format` leaves it: a Literal that is too long for one is broken at its brackets."""
    if len(line) <= _WIDTH:
        return [line]
    before, _, tail = line.partition("Literal[")
    names, _, default = tail.partition("]")
    return [f"{before}Literal[", f"        {names}", f"    ]{default}"]


def _return_annotation(cls: type[Op]) -> str:
    if has_one_output(cls):
        return "Value"
    return "tuple[Value, ...]" if cls.varies_outputs else f"tuple[{', '.join(['Value'] * len(cls.outputs))}]"


def _docstring(cls: type[Op]) -> list[str]:
    text = docstring_for(cls)
    quotes = 'r"""' if "\\" in text else '"""'
    first, *following = text.split("\n")
    if not following:
        return [f'    {quotes}{first}"""']
    return [f"    {quotes}{first}", *(f"    {line}".rstrip() for line in following), '    """']


def _default(parameter: Parameter) -> str:
    value = parameter.default
    if value is Parameter.empty:
        return ""
    if isinstance(value, ElementType):
        value = value.name
    if isinstance(value, Shape):
        value = "..." if value.dims is None else ",".join(map(str, value))
    if isinstance(value, str):
        return ' = "' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple) and value:
        return " = (" + ", ".join(_default_text(item) for item in value) + ("," if len(value) == 1 else "") + ")"
    return f" = {value!r}"


def _default_text(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _kinds(cls: type[Op]) -> dict[str, str]:
    """The annotation of each field, as spelled by a caller."""
    annotations: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        names = vars(sys.modules[base.__module__])
        fields = {field.name for field in cls.fields()}
        own = {name: annotation for name, annotation in vars(base).get("__annotations__", {}).items() if name in fields}
        for name, annotation in get_type_hints(
            SimpleNamespace(__annotations__=own), names, include_extras=True
        ).items():
            annotations[name] = _spell_annotation(annotation)
    by_default = {field.name: field.default for field in cls.fields()}
    return {
        name: f"{annotation} | None" if by_default[name] is None else annotation
        for name, annotation in annotations.items()
    }


def _spell_annotation(annotation: Any) -> str:
    if get_origin(annotation) is Annotated:
        return _spell_annotation(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        # typing keeps one of the Literals that differ only in their order: that which was imported first.
        return "Literal[" + ", ".join(f'"{arg}"' for arg in sorted(get_args(annotation))) + "]"
    if get_origin(annotation) is tuple:
        return f"Sequence[{_spell_annotation(get_args(annotation)[0])}]"
    if NoneType in get_args(annotation):
        (annotation,) = [arg for arg in get_args(annotation) if arg is not NoneType]
        return _spell_annotation(annotation)
    return _PLAIN[annotation]


if __name__ == "__main__":
    sys.stdout.write(stub_text())
