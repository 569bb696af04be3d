"""A function for each operator type: `build.gather(data, indices, axis, batch_dims=0)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from inspect import Parameter, Signature
from typing import Any

from ir_exec.build.operators import has_one_output, make, operator_class, single_or_all
from ir_exec.build.values import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, IRError, Location
from ir_exec.ops import Op
from ir_exec.ops.base.docstrings import describe, sections_text
from ir_exec.ops.base.registry import names_of_types, spelled_functions

__all__ = ["docstring_for", "function_for", "function_name", "function_names", "has_one_output", "parameters_of"]

_COMMON = {
    "opset": "The opset, such as `opset8`, whose version of the operator is used; by default the newest version.",
    "name": "The name of the layer.",
    "tensor_names": "The names of its output; a list of names for each of several outputs.",
    "outputs": "The number of outputs.",
}
"""Descriptions of the arguments that all functions have, and of `outputs`, for any number of outputs."""

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def function_name(type_name: str) -> str:
    """Return the name of the function for an operator type: `gather_elements` for `GatherElements`."""
    return spelled_functions().get(type_name) or _WORDS.sub("_", type_name).lower()


@cache
def function_names() -> dict[str, str]:
    """Return the operator type of each function; types with functions of a different form are missing."""
    spelled = spelled_functions()
    return {function_name(type): type for type in names_of_types() if spelled.get(type, type) is not None}


def parameters_of(cls: type[Op]) -> list[Parameter]:
    """Return the parameters of a function for this class: its inputs, then its attributes."""
    parameters = []
    left_out = False
    for declared in cls.inputs:
        left_out |= declared.optional
        annotation = Sequence[Any] if declared.variadic else Any
        default = None if declared.optional else Parameter.empty
        parameters.append(
            Parameter(declared.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
        )
    for field in cls.fields():
        if field.is_required:
            kind_of = Parameter.KEYWORD_ONLY if left_out else Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(Parameter(field.name, kind_of))
    optional = [field for field in cls.fields() if not field.is_required]
    return parameters + [Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default) for field in optional]


def function_for(type_name: str) -> Callable[..., Any]:
    """Return the function that makes layers of an operator type."""

    def function(
        *arguments: Any,
        opset: str | int | None = None,
        name: str | None = None,
        tensor_names: Any = (),
        outputs: int | None = None,
        **keywords: Any,
    ) -> Any:
        cls = operator_class(type_name, opset)
        try:
            inputs, attributes = _bind(cls, arguments, keywords)
        except IRError as error:
            raise error.located(Location(layer_name=name, layer_type=type_name)) from None
        layer = make(cls, inputs, attributes, name=name, tensor_names=tensor_names, outputs=outputs)
        return single_or_all(layer)

    newest = operator_class(type_name)
    function.__name__ = function.__qualname__ = function_name(type_name)
    function.__module__ = "ir_exec.build"
    function.__doc__ = docstring_for(newest)
    common = [
        Parameter("opset", Parameter.KEYWORD_ONLY, default=None),
        Parameter("name", Parameter.KEYWORD_ONLY, default=None),
        Parameter("tensor_names", Parameter.KEYWORD_ONLY, default=()),
    ]
    if newest.varies_outputs:
        common.append(Parameter("outputs", Parameter.KEYWORD_ONLY, default=None))
    ordered = sorted([*parameters_of(newest), *common], key=lambda parameter: parameter.kind)
    function.__signature__ = Signature(ordered)  # type: ignore[attr-defined]  # for inspect and help()
    return function


def docstring_for(cls: type[Op]) -> str:
    """The docstring of the function for this class: the description of the operator, with its inputs as arguments."""
    description = describe(cls)
    common = _COMMON if cls.varies_outputs else {name: _COMMON[name] for name in ("opset", "name", "tensor_names")}
    entries = description.sections.get("Inputs", {}) | description.sections.get("Attributes", {})
    ordered = {parameter.name: entries[parameter.name] for parameter in parameters_of(cls) if parameter.name in entries}
    sections = {
        "Args": ordered | {name: [f"    {name}: {text}"] for name, text in common.items()},
        "Returns": description.sections.get("Outputs", {}),
        "Raises": description.sections.get("Raises", {}),
    }
    return "\n\n".join([*description.paragraphs, *sections_text(sections)])


@lru_cache(maxsize=2**10)
def _positional(cls: type[Op]) -> list[str]:
    return [parameter.name for parameter in parameters_of(cls) if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD]


def _bind(cls: type[Op], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return inputs and attributes from the arguments: inputs first, then attributes in the order of the class."""
    names = _positional(cls)  # type: ignore[arg-type]  # mypy takes a class for one of its objects
    if len(arguments) > len(names):
        raise GraphError(
            "the call has",
            actual=len(arguments),
            detail="positional arguments",
            expected=f"at most {len(names)}",
            reason=f": {', '.join(names)}",
            code=Code.wrong_number_of_inputs,
        )
    values = dict(zip(names, arguments, strict=False))
    for key in keywords.keys() & values.keys():
        raise InvalidAttributeError(f"{key} is given twice", expected="one value")
    values.update(keywords)
    inputs: list[Any] = []
    for declared in cls.inputs:
        value = values.pop(declared.name, None)
        if value is None and not declared.optional:
            message = f"input {declared.name} is missing"
            raise GraphError(message, code=Code.wrong_number_of_inputs, port=declared.name)
        if declared.variadic and value is not None:
            if isinstance(value, Value):
                value = [value]
            inputs.extend(value)
        else:
            inputs.append(value)
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs, values
