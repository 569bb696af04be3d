"""What an operator is: a class whose fields are its attributes and whose methods say what it does.

    @op("GatherElements", since=6)
    class GatherElements(Op):
        inputs = (In("data"), In("indices", types=INDEX))

        axis: Int

        def infer(self, data: TensorType, indices: TensorType) -> TensorType: ...
        def evaluate(self, data: Array, indices: Array) -> Array: ...

The fields are the attributes of the layer's `<data>`; pydantic parses and refuses them. `inputs` declares the input
ports, and the parameters of both methods bear their names. `infer` is one rule for static and dynamic shapes: it takes
the types of the inputs, raises ShapeError on a definite contradiction, and returns the type of the output, or a tuple
of types. `evaluate` computes arrays from arrays and may trust that `infer` accepted their types. An operator knows
neither its layer nor its file: it raises, and the caller says where.

What an operator needs beyond its inputs it asks for by a keyword-only parameter of a name in `CONTEXT`. An `evaluate`
that can write its result over an input has one more, `out`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ir_exec.errors import ElementTypeError, GraphError, InvalidAttributeError, IRError, Report
from ir_exec.ops.opsets import register
from ir_exec.types import ALL, Bounds, ElementType, TensorType

__all__ = ["CONTEXT", "In", "Op", "op"]

CONTEXT = frozenset({"weights", "state", "bodies"})
"""weights: where constants are read from; state: the variables of a network; bodies: the graphs inside a layer."""


@dataclass(frozen=True, slots=True)
class In:
    """An input port: its name, the element types it takes, and how it stands to the others.

    like: the name of an earlier input whose element type this one must share.
    optional: the port may be left out; the parameter of both methods has a default.
    variadic: any number of ports from here on, one at least if it is not optional; the parameter is a `*parameter`.
    mixed: the ports of a variadic input may differ in element type; otherwise they share one.
    """

    name: str
    types: frozenset[ElementType] = ALL
    like: str | None = None
    optional: bool = False
    variadic: bool = False
    mixed: bool = False


class Op(BaseModel):
    """The base of all operators; see the module for what a class declares.

    rising: inputs in which every element of the output never falls when elements of the input rise, the other inputs
        being held. Bounds of the output then are `evaluate` of the bounds of these inputs.
    nonnegative: `rising` holds only while no element of these inputs is below zero.
    monotone: inputs (two at most) in each of which the output either never falls or never rises. Bounds of the output
        then are the least and greatest of `evaluate` over every corner of the bounds.
    saturates: arithmetic, for which an element without bound makes every output element that it meets unbounded.
    views: outputs may share memory with an input.
    overwrites: inputs whose memory may become the output's. `evaluate` then has the keyword `out`, None or one of these
        inputs, which nobody needs any more: of the output's shape and element type, writable, contiguous, and sharing
        memory with no other input. The result is written there and returned.
    deterministic: the same inputs always give the same outputs, so that a result may be computed once and kept.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True)

    type_name: ClassVar[str]
    since: ClassVar[int]
    infer_context: ClassVar[frozenset[str]] = frozenset()
    evaluate_context: ClassVar[frozenset[str]] = frozenset()

    inputs: ClassVar[tuple[In, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ("output",)
    rising: ClassVar[tuple[str, ...]] = ()
    nonnegative: ClassVar[bool] = False
    monotone: ClassVar[tuple[str, ...]] = ()
    saturates: ClassVar[bool] = False
    views: ClassVar[bool] = False
    overwrites: ClassVar[tuple[str, ...]] = ()
    deterministic: ClassVar[bool] = True

    infer: ClassVar[Callable[..., Any]]
    evaluate: ClassVar[Callable[..., Any]]

    def check_values(self, *types: TensorType) -> list[IRError]:
        """What the known values of constants say about a run, for types that `infer` accepts.

        Codes: IR701 for an index out of range, an error; IR702 for a negative one where the specification says
        otherwise, a warning; IR703 for duplicate scatter indices, an information.
        """
        return []

    def evaluate_bounds(self, *inputs: Any) -> Bounds | None:
        """Bounds of the one output from bounds of the inputs, where neither `rising` nor `monotone` tells them.

        Called only with inputs that are not known; None, or a bound at the end of its type's range: not bounded.
        """
        return None

    def kernel(self, *types: TensorType) -> Callable[..., Any]:
        """What to call for arrays of exactly these static types: `evaluate`, or something that does the same sooner."""
        return self.evaluate

    @classmethod
    def parse(cls, attributes: Mapping[str, str], report: Report) -> Self | None:
        """The operator with these attributes; every fault among them is reported, and None returned on a fault.

        Codes: IR301 for a missing attribute, IR302 for one that cannot be read or has a value that is not allowed.
        """
        try:
            return cls.model_validate(attributes)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                report(_attribute_error(fault))
            return None

    @classmethod
    def unknown_attributes(cls, attributes: Mapping[str, str]) -> list[str]:
        """The names among `attributes` that this operator does not have."""
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return [name for name in attributes if name not in known]

    @classmethod
    def input_name(cls, position: int) -> str:
        """What the input at this position is called in messages: `indices`, or `inputs[2]` for a variadic one."""
        for index, declared in enumerate(cls.inputs):
            if declared.variadic:
                return f"{declared.name}[{position - index}]"
            if index == position:
                return declared.name.rstrip("_")
        return str(position)

    @classmethod
    def output_name(cls, position: int) -> str:
        return cls.outputs[position] if position < len(cls.outputs) else f"{cls.outputs[-1]}[{position}]"

    def check_inputs(self, types: list[TensorType], report: Report) -> bool:
        """Whether count and element types of the inputs are as declared; every fault is reported.

        Codes: IR106 for a wrong number of inputs, IR401 for an element type that the port does not take, IR402 for
        one that differs from the input it must be like.
        """
        least = sum(not declared.optional for declared in self.inputs)
        variadic = bool(self.inputs) and self.inputs[-1].variadic
        if len(types) < least or (len(types) > len(self.inputs) and not variadic):
            report(GraphError(_count_message(self.inputs, least, variadic, len(types)), code="IR106"))
            return False
        sound = True
        seen: dict[str, ElementType] = {}
        for position, found in enumerate(types):
            declared = self.inputs[min(position, len(self.inputs) - 1)]
            if not found.element_type.is_known:
                continue
            name = self.input_name(position)
            if found.element_type not in declared.types:
                expected = ", ".join(kind.name for kind in ElementType if kind in declared.types)
                message = f"{name} is {found.element_type}, expected one of {expected}"
                report(ElementTypeError(message, code="IR401", port=name))
                sound = False
                continue
            like = declared.like or (declared.name if declared.variadic and not declared.mixed else None)
            if like is not None and seen.get(like, found.element_type) is not found.element_type:
                message = f"{name} is {found.element_type}, expected {seen[like]} as {like} is"
                report(ElementTypeError(message, code="IR402", port=name))
                sound = False
            seen.setdefault(declared.name, found.element_type)
            if like is not None:
                seen.setdefault(like, found.element_type)
        return sound


Class = TypeVar("Class", bound=type[Op])


def op(type_name: str, *, since: int) -> Callable[[Class], Class]:
    """Register a class for operator `type_name` as first held by opset `since`.

    Raises TypeError where the class does not keep the contract: a method whose parameters are not the declared
    inputs, an unknown context, or a (type, since) that another class has already.
    """

    def decorate(cls: Class) -> Class:
        cls.type_name = type_name
        cls.since = since
        cls.infer_context = _check_signature(cls, "infer")
        cls.evaluate_context = _check_signature(cls, "evaluate")
        register(cls, type_name, since)
        return cls

    return decorate


def _check_signature(cls: type[Op], method: str) -> frozenset[str]:
    function = getattr(cls, method, None)
    if function is None:
        raise TypeError(f"{cls.__name__} has no {method}")
    parameters = list(inspect.signature(function).parameters.values())[1:]
    keywords = frozenset(one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY)
    if method == "evaluate" and ("out" in keywords) != bool(cls.overwrites):
        raise TypeError(f"{cls.__name__}: evaluate has the keyword out where overwrites names inputs, and only there")
    context = keywords - {"out"}
    named = [parameter for parameter in parameters if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    if [parameter.name for parameter in named] != [declared.name for declared in cls.inputs]:
        raise TypeError(f"the parameters of {cls.__name__}.{method} are not its inputs")
    if not context <= CONTEXT:
        raise TypeError(f"{cls.__name__}.{method} asks for {sorted(context - CONTEXT)}, which no caller has")
    for parameter, declared in zip(named, cls.inputs, strict=True):
        if declared.variadic != (parameter.kind is inspect.Parameter.VAR_POSITIONAL):
            raise TypeError(f"{cls.__name__}.{method}: {declared.name} must be variadic in both places or in none")
        if not declared.variadic and declared.optional != (parameter.default is not inspect.Parameter.empty):
            raise TypeError(f"{cls.__name__}.{method}: {declared.name} must be optional in both places or in none")
    return context


def _count_message(inputs: tuple[In, ...], least: int, variadic: bool, found: int) -> str:
    names = ", ".join(
        f"{one.name}..." if one.variadic else f"[{one.name}]" if one.optional else one.name for one in inputs
    )
    most = "more" if variadic else str(len(inputs))
    expected = str(least) if most == str(least) else f"{least} or more" if variadic else f"{least} to {most}"
    plural = "input" if expected == "1" else "inputs"
    return f"expected {expected} {plural} ({names}), found {found}" if inputs else f"expected no inputs, found {found}"


def _attribute_error(fault: Any) -> InvalidAttributeError:
    name = ".".join(str(part) for part in fault["loc"][:1]) or "attributes"
    if fault["type"] == "missing":
        return InvalidAttributeError(f"attribute {name} is missing", code="IR301")
    if fault["type"] == "literal_error":
        reason = f"expected {fault['ctx']['expected'].replace(chr(39), '')}"
    else:
        reason = fault["msg"].removeprefix("Value error, ")
        reason = reason[:1].lower() + reason[1:]
    if fault["loc"]:
        return InvalidAttributeError(f"attribute {name}={fault['input']!r}: {reason}", code="IR302")
    return InvalidAttributeError(reason, code="IR302")
