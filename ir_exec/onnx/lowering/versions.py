"""One version of an ONNX operator: the function that lowers it, and the inputs and attributes that a file may have."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from ir_exec.onnx.reading.signatures import DeclaredAttribute, Signature, declarations_of, find_signature

__all__ = ["CONTEXT", "KINDS", "Attribute", "Version", "VersionInput"]

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "bool": "INT",
        "int": "INT",
        "float": "FLOAT",
        "str": "STRING",
        "Ints": "INTS",
        "Floats": "FLOATS",
        "Strings": "STRINGS",
        "Tensor": "TENSOR",
        "Body": "GRAPH",
        "Sparse": "SPARSE_TENSOR",
        "Type": "TYPE_PROTO",
    }
)
"""The type of AttributeProto for each annotation."""

LISTS = ("Ints", "Floats", "Strings")
"""The annotations of attributes that are empty if they are missing and have no default."""

CONTEXT = frozenset({"call", "since"})
"""The keyword-only parameters that are not attributes."""

WITHOUT_EFFECT = ("consumed_inputs",)
"""Attributes without effect on outputs for all operators: inputs whose memory may be overwritten."""


class Attribute(NamedTuple):
    """An attribute of a version.

    Attributes:
        parameter: The parameter of the function; "" for an attribute without effect.
        type_name: Its type in AttributeProto.
        default: `inspect.Parameter.empty` if it is required.
    """

    parameter: str
    annotation: str
    type_name: str
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty


class VersionInput(NamedTuple):
    """An input of a version.

    Attributes:
        value_class: `Value`, `Sequence`, or `GraphValue` for either.
        is_optional: True if the function accepts None for it.
    """

    name: str
    value_class: str
    is_optional: bool


class Version:
    """One version of an operator.

    Attributes:
        instead: The replacement in ONNX of an operator that is not part of it.
        unused: The attributes of the operator without effect on its outputs.
        ignores_attributes: True if onnxruntime ignores attributes that the operator does not have.
        declares_signature: True if the parameters of the function and their defaults are the signature, also of an
            operator with a stored one.
    """

    def __init__(
        self,
        domain: str,
        name: str,
        since: int,
        function: Callable[..., Any],
        instead: str | None = None,
        *,
        unused: tuple[str, ...] = (),
        ignores_attributes: bool = False,
        declares_signature: bool = False,
    ) -> None:
        self.domain = domain
        self.name = name
        self.since = since
        self.function = function
        self.instead = instead
        self.unused = unused
        self.ignores_attributes = ignores_attributes
        self.declares_signature = declares_signature

    @cached_property
    def signature(self) -> Signature | None:
        """The stored signature; None if the function declares it."""
        return None if self.declares_signature else find_signature(self.domain, self.name, self.since)

    @cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        # On first use of the version: reading a signature takes longer than registering the function.
        return list(inspect.signature(self.function).parameters.values())

    @cached_property
    def _context(self) -> frozenset[str]:
        """The parameters that are not attributes. A function of a user may have an attribute `since`."""
        names = frozenset(parameter.name for parameter in self._parameters)
        return names & ({"call"} if self.declares_signature else CONTEXT)

    @cached_property
    def _positional(self) -> list[inspect.Parameter]:
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        return [parameter for parameter in self._parameters if parameter.kind in kinds]

    @cached_property
    def _keywords(self) -> Mapping[str, inspect.Parameter]:
        """The parameters for attributes by their names in files, those of a TypedDict too."""
        keywords = []
        for parameter in self._parameters:
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in self._context:
                keywords.append(parameter.replace(annotation=_spell_annotation(parameter.annotation)))
            elif parameter.kind is parameter.VAR_KEYWORD:
                keywords += _members(parameter.annotation, self.function)
        return {parameter.name.rstrip("_"): parameter for parameter in keywords}

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes by their names in files.

        Raises:
            TypeError: If the parameters of the function do not match them.
        """
        keywords, signature = self._keywords, self.signature
        if signature is None:
            return {name: self._attribute(parameter, parameter.default) for name, parameter in keywords.items()}
        attributes = {}
        for name, declared in signature.attributes.items():
            if name in (*self.unused, *WITHOUT_EFFECT):
                attributes[name] = Attribute("", "", declared.type_name, declared.default)
                continue
            if name not in keywords:
                raise TypeError(f"{self}: the function has no parameter for the attribute {name}")
            attributes[name] = self._attribute(keywords[name], _default(declared, keywords[name]))
            if attributes[name].type_name != declared.type_name:
                raise TypeError(f"{self}: attribute {name} has type {declared.type_name} in files")
        return attributes

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The values of missing attributes by parameters of the function, without required attributes.

        ONNX adds attributes with defaults that preserve the meaning of the previous version: in a version without an
        attribute, its value is the default in the next version that has it, or else in the last one.

        Raises:
            TypeError: If neither another version nor the parameter of the function has a default.
        """
        values = {
            attribute.parameter: attribute.default for attribute in self.attributes.values() if attribute.parameter
        }
        for name, parameter in self._keywords.items():
            if name not in self.attributes:
                values[parameter.name] = self._default_of_other_version(name, parameter)
        return {name: value for name, value in values.items() if value is not inspect.Parameter.empty}

    def _default_of_other_version(self, name: str, parameter: inspect.Parameter) -> Any:
        if parameter.default is not parameter.empty:
            return parameter.default
        declarations = declarations_of(self.domain, self.name, name)
        later = [since for since in declarations if since > self.since]
        since = min(later, default=max(declarations, default=0))
        if since not in declarations or declarations[since].is_required:
            raise TypeError(f"{self} has no attribute {name}, expected a default of the parameter")
        return _default(declarations[since], parameter)

    def _attribute(self, parameter: inspect.Parameter, default: Any) -> Attribute:
        annotation = parameter.annotation.removesuffix(" | None")
        if annotation not in KINDS:
            raise TypeError(f"{self}: attribute {parameter.name} has the unknown annotation {annotation}")
        return Attribute(parameter.name, annotation, KINDS[annotation], default)

    def takes(self, context: str) -> bool:
        """Return True if the function has this parameter of `CONTEXT`."""
        return context in self._context

    @cached_property
    def inputs(self) -> tuple[VersionInput, ...]:
        """The inputs; the last one may repeat.

        Raises:
            TypeError: If the parameters of the function do not match them.
        """
        positional, signature = self._positional, self.signature
        if signature is None:
            return tuple(
                self._input(parameter, parameter.name, is_required=parameter.default is parameter.empty)
                for parameter in positional
            )
        count = len(signature.inputs)
        if self.is_variadic:
            positional = [*positional, *positional[-1:] * (count - len(positional))]
        if count > len(positional):
            raise TypeError(f"{self}: the function has {len(positional)} inputs, expected {count}")
        pairs = zip(positional, signature.inputs, strict=False)
        return tuple(
            self._input(parameter, declared.name, is_required=declared.is_required) for parameter, declared in pairs
        )

    def _input(self, parameter: inspect.Parameter, name: str, *, is_required: bool) -> VersionInput:
        annotation = _spell_annotation(parameter.annotation)
        value_class = annotation.removesuffix(" | None")
        if value_class not in ("Value", "Sequence", "GraphValue"):
            raise TypeError(f"{self}: input {parameter.name} has the unknown annotation {annotation}")
        accepts_none = value_class != annotation or parameter.default is None
        is_either = value_class == "GraphValue"
        if not (is_required or accepts_none or is_either or parameter.kind is parameter.VAR_POSITIONAL):
            raise TypeError(f"{self}: input {parameter.name} is optional, expected None in its annotation")
        return VersionInput(name, value_class, accepts_none or (not is_required and is_either))

    def check_signature(self) -> None:
        """Raise TypeError for annotations that are not valid for inputs or attributes."""
        if len(self.inputs) + len(self.attributes) + len(self._context) != len(self._parameters):
            raise TypeError(f"{self}: expected positional inputs and keyword-only attributes, without **")

    def input_at(self, position: int) -> VersionInput:
        return self.inputs[min(position, len(self.inputs) - 1)]

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the inputs in the function, which layers may have as the names of ports."""
        return tuple(parameter.name for parameter in self._positional[: len(self.inputs)])

    @cached_property
    def is_variadic(self) -> bool:
        return any(parameter.kind is parameter.VAR_POSITIONAL for parameter in self._positional)

    @cached_property
    def least_inputs(self) -> int:
        named = len(self._positional) - self.is_variadic
        required = [position for position, declared in enumerate(self.inputs[:named], 1) if not declared.is_optional]
        return max(required, default=0)

    @cached_property
    def most_inputs(self) -> int:
        return sys.maxsize if self.is_variadic else len(self.inputs)

    def call(self, inputs: list[Any], keywords: Mapping[str, Any]) -> Any:
        """Call the function, with None for optional inputs that the node, or this version, does not have."""
        if self.signature is not None:
            count = len(self._positional) - self.is_variadic
            inputs = [*inputs, *[None] * (count - len(inputs))]
        return self.function(*inputs, **keywords)

    def __str__(self) -> str:
        prefix = f"{self.domain}:" if self.domain else ""
        return f"{prefix}{self.name}-{self.since}"


def _default(declared: DeclaredAttribute, parameter: inspect.Parameter) -> Any:
    """The value of a missing attribute: the stored default, the default of the parameter, or else None, () or False.

    An attribute without any of these is required, although it is optional by its definition.
    """
    if declared.is_required:
        return inspect.Parameter.empty
    if declared.default is not None:
        return bool(declared.default) if parameter.annotation == "bool" else declared.default
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default
    if parameter.annotation.endswith(" | None"):
        return None
    without_default: Mapping[str, Any] = {"bool": False, **dict.fromkeys(LISTS, ())}
    return without_default.get(parameter.annotation, inspect.Parameter.empty)


def _members(annotation: Any, function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The members of `**name: Unpack[Members]`, where Members is a TypedDict, as parameters."""
    match = re.fullmatch(r"Unpack\[(\w+)\]", annotation) if isinstance(annotation, str) else None
    if match is None:
        return []
    members = inspect.unwrap(function).__globals__[match[1]].__annotations__
    texts = {name: getattr(member, "__forward_arg__", member) for name, member in members.items()}
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, keyword_only, annotation=_spell_annotation(text)) for name, text in texts.items()]


_SPELLINGS = {
    "BuiltValue": "Value",  # the class that `ir_exec.build` exports as Value
    "tuple[int, ...]": "Ints",
    "tuple[float, ...]": "Floats",
    "tuple[str, ...]": "Strings",
}


def _spell_annotation(annotation: Any) -> str:
    """An annotation as spelled in the functions of `ir_exec.onnx.ops`, from a text, a class or a union."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    unqualified = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
    inner = unqualified.removesuffix(" | None")
    return _SPELLINGS.get(inner, inner) + unqualified[len(inner) :]
