"""The base of operators: a class with a field for each attribute and methods for inference and evaluation.

    @op("GatherElements", since=6)
    class GatherElements(Op):
        inputs = (In("data"), In("indices", types=INDEX))

        axis: Int

        def infer(self, data: TensorType, indices: TensorType) -> TensorType: ...
        def evaluate(self, data: Array, indices: Array) -> Array: ...

The fields are the attributes of the layer's `<data>`, and `attributes.py` defines their types. `inputs` declares the
input ports; the parameters of both methods have their names. `infer` is one rule for static and dynamic shapes: it
takes the types of the inputs, raises ShapeError on a definite contradiction, and returns the type of the output, or a
tuple of types. `evaluate` computes arrays from arrays and may trust that `infer` accepted their types. An operator has
no access to its layer or file: it raises, and the caller adds the location.

Further context is passed by keyword-only parameters with names in `CONTEXT`. An `evaluate` that can write its result
over an input also has `out`.

Operators that differ only in the selection or order of inputs share the methods of a `Family`. Other packages read the
class attributes of an operator and never compare type names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, Fault, GraphError, InvalidAttributeError, IRError, ReportFault
from ir_exec.ops.base.attributes import AttributeValueError, Field, fields_of
from ir_exec.ops.base.element_facts import ElementFacts
from ir_exec.ops.base.facts import NumericFacts
from ir_exec.ops.base.former_flags import FORMER_FLAGS, FormerFlag, adopt_former_flags
from ir_exec.ops.base.graph_facts import GraphFacts
from ir_exec.ops.base.inputs import In
from ir_exec.ops.base.variants import KernelRequest, chosen
from ir_exec.types import Array, Bounds, ElementType, TensorType

__all__ = ["CONTEXT", "Family", "In", "Op", "check_contract"]


CONTEXT = frozenset({"weights", "state", "bodies"})
"""weights: the source of constants; state: the variables of a model; bodies: the graphs inside a layer."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Op(GraphFacts, NumericFacts, ElementFacts):
    """The base of all operators, which are immutable; the module's docstring describes a class.

    Other packages read the facts of three bases: `NumericFacts` for tolerances between two implementations,
    `ElementFacts` for generated inputs, `GraphFacts` for files, engines and compression.

    Attributes: Bounds of the output from bounds of the inputs
        increasing_in: Inputs in which no element of the output decreases when elements of the input increase and the
            other inputs are constant. The bounds of the output are `evaluate` of the bounds of these inputs.
        nonnegative: `increasing_in` holds only if no element of these inputs is negative.
        monotone: Inputs (two at most) in each of which the output is monotone. The bounds of the output are the least
            and greatest of `evaluate` over every corner of the bounds.
        saturates: Arithmetic, in which an unbounded element makes every output element computed from it unbounded.

    Attributes: Memory
        may_alias: Outputs may alias an input.
        inplace_inputs: Inputs whose memory may become the output's. `evaluate` then has the keyword `out`: None, or one
            of these inputs, which no later layer reads. It has the output's shape and element type, is writable and
            contiguous, and aliases no other input. The result is written there and returned. In operators of this
            library without `is_data_movement`, elements of axis 1 may be adjacent instead of those of the last one.
        reads_sparsely: Inputs of which each element of the output reads one element, so only a few elements of large
            inputs are read.
        deterministic: Equal inputs always give equal outputs, so a result may be computed once and stored.
        pads_to_static: `kernel` pads what `evaluate` returns to the static type of the output; where types are known
            only in the run, nothing is padded.

    Attributes: The file
        expected_attributes: Attributes that have a default because OpenVINO reads layers without them, although the
            specification requires them.
        takes_untyped: An optional input may be an empty constant of the element type `dynamic` in place of a missing
            input. In a run it is an empty array of u8.

    Attributes: Precision
        rounds: Values are stored in the output's element type, or deliberately rounded to it. This also holds if a
            model declared in f16 or bf16 is computed in f32; all other operators then compute in f32, for any 16-bit
            float type that an attribute names.
        is_data_movement: Every floating point element of the outputs is an element of the inputs, bit for bit, or 0. A
            model with only such operators on its 16-bit floats runs in the types of its file: the results are equal and
            no conversions are needed.
        fills_with_lowest: Missing values of floating point outputs are the lowest finite value of their type: the type
            in the file, if 16-bit floats are computed in f32.
        is_discontinuous: A tiny difference of an input may become a large one of a floating point output, since values
            are rounded, compared or selected. For outputs of other types this is always assumed.

    Attributes: The place in a graph
        is_parameter: An input of the graph, with a value from the caller of the run.
        is_result: An output of the graph.
        is_conversion: The output is the input in another element type.
        varies_outputs: There may be any number of outputs, including one; attributes or an input determine the number.
        counts_outputs: The input whose number of elements is the number of outputs; "" if `outputs` lists all.

    Attributes: Graphs inside the layer
        body_names: The names of the graphs in a layer of this type, as in the file. If there are several, one of them
            runs, and an input may be for any of them.
        own_inputs: The number of leading inputs for the layer itself: a body may read them, and must read the others.
        has_condition: A body has a Result that is the condition of another iteration.
    """

    type_name: ClassVar[str]
    since: ClassVar[int]
    least_inputs: ClassVar[int]
    most_inputs: ClassVar[int]
    infer_context: ClassVar[frozenset[str]] = frozenset()
    evaluate_context: ClassVar[frozenset[str]] = frozenset()

    inputs: ClassVar[tuple[In, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ("output",)

    increasing_in: ClassVar[tuple[str, ...]] = ()
    nonnegative: ClassVar[bool] = False
    monotone: ClassVar[tuple[str, ...]] = ()
    saturates: ClassVar[bool] = False

    may_alias: ClassVar[bool] = False
    inplace_inputs: ClassVar[tuple[str, ...]] = ()
    reads_sparsely: ClassVar[tuple[str, ...]] = ()
    deterministic: ClassVar[bool] = True
    pads_to_static: ClassVar[bool] = False

    expected_attributes: ClassVar[tuple[str, ...]] = ()
    rounds: ClassVar[bool] = False
    fills_with_lowest: ClassVar[bool] = False
    is_discontinuous: ClassVar[bool] = False

    takes_untyped: ClassVar[bool] = False

    is_parameter: ClassVar[bool] = False
    is_result: ClassVar[bool] = False
    is_conversion: ClassVar[bool] = False
    varies_outputs: ClassVar[bool] = False
    counts_outputs: ClassVar[str] = ""

    body_names: ClassVar[tuple[str, ...]] = ()
    own_inputs: ClassVar[int] = 0
    has_condition: ClassVar[bool] = False

    infer: ClassVar[Callable[..., Any]]
    evaluate: ClassVar[Callable[..., Any]]

    _fields: ClassVar[tuple[Field, ...]]
    _attributes: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        adopt_former_flags(cls, Op)

    def __init__(self, **values: Any) -> None:
        """An operator with these values of its fields; a string is parsed as in a file.

        Raises:
            ValueError: For what `parse` reports.
            TypeError: For fields that are missing or unknown.
        """
        fields = self.fields()
        missing = [field.name for field in fields if field.is_required and field.name not in values]
        unknown = values.keys() - {field.name for field in fields}
        if missing or unknown:
            raise TypeError(f"{type(self).__name__}: missing fields {missing}, unknown fields {sorted(unknown)}")
        for field in fields:
            value = values.get(field.name, field.default)
            vars(self)[field.name] = field.parse(value) if isinstance(value, str) else value
        self.check_attributes()

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """The attributes that the class accepts."""
        # Not when the class is defined: most models use one or two operators of a module.
        if "_fields" not in cls.__dict__:
            cls._fields = fields_of(cls)
            cls._attributes = frozenset(field.attribute for field in cls._fields)
        return cls._fields

    def spelled_out(self) -> Mapping[str, Any]:
        """The attributes, by their names in files, that are written even if they have their default."""
        return {}

    def check_attributes(self) -> None:
        """Raise ValueError for attributes that contradict each other."""

    def check_values(self, *types: TensorType) -> list[IRError]:
        """The faults of a run that follow from known values of the inputs, for types that `infer` accepts.

        Codes: IR701 and IR704 (errors) for an index out of range and for other values that a run rejects; IR702
        (warning) for a negative index that the specification does not allow; IR703 (info) for duplicate scatter
        indices.
        """
        return []

    def evaluate_known(self, *arrays: Array) -> Any:
        """The output computed in inference from known inputs: `evaluate`, unless OpenVINO uses another rule there."""
        return self.evaluate(*arrays)

    def evaluate_bounds(self, *inputs: Any) -> Bounds | None:
        """Bounds of the only output from bounds of the inputs, if neither `increasing_in` nor `monotone` gives them.

        Called only if an input is not known. None means unbounded, and so does a bound at the end of its type's
        range.
        """
        return None

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """The number of multiply-adds for inputs and outputs of these sizes.

        Matrix products, convolutions, recurrent cells and attention are counted, but not the bodies of a layer.
        """
        return 0

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        """The function for arrays of exactly these static types: `evaluate`, or a faster one with equal results.

        It has the keyword `out` if `evaluate` does. By default it is the cheapest of the registered variants; an
        operator without variants may return its `evaluate` with all that depends on types precomputed.

        Args:
            unread: Outputs that no later layer reads; those after the last output that is read may be omitted.
        """
        return chosen(self, KernelRequest(types, unread))

    def view_kernel(self, *types: TensorType) -> Callable[..., Any] | None:
        """The function to try first if the shapes of the outputs depend on elements of the inputs; None without one.

        It returns views of the inputs, for which `infer` has no faults, or None: then `infer` and `evaluate` run.

        Args:
            types: The static types of all inputs.
        """
        return None

    def with_constants(self, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        """The function to call instead of `evaluate` if inputs are always `constants`; None if `evaluate` is as fast.

        Args:
            constants: Arrays by position, which may be prepacked.
        """
        return None

    @classmethod
    def parse(cls, attributes: Mapping[str, str], report: ReportFault) -> Self | None:
        """The operator with these attributes; every fault is reported, and None is returned if there is one.

        Codes: IR301 for a missing attribute, IR302 for one that is invalid.
        """
        operator = cls.__new__(cls)
        values = vars(operator)
        sound = True
        for field in cls.fields():
            text = attributes.get(field.attribute)
            if text is not None:
                try:
                    values[field.name] = field.parse(text)
                except ValueError as error:
                    report(_attribute_error(field.attribute, text, str(error)))
                    sound = False
            elif field.is_required:
                message = f"attribute {field.attribute} is missing"
                report(InvalidAttributeError(message, code=Code.missing_attribute))
                sound = False
            else:
                values[field.name] = field.default
        if sound:
            try:
                operator.check_attributes()
            except AttributeValueError as error:
                report(InvalidAttributeError.of(error.fault))
                sound = False
            except ValueError as error:
                report(InvalidAttributeError(str(error)))
                sound = False
        return operator if sound else None

    @classmethod
    def unknown_attributes(cls, attributes: Mapping[str, str]) -> list[str]:
        """The names in `attributes` that this operator does not have."""
        cls.fields()
        if cls._attributes.issuperset(attributes):
            return []
        return [name for name in attributes if name not in cls._attributes]

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, field.name) for field in self.fields()])

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("operators are immutable")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Op) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        values = zip(self.fields(), self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{field.name}={value!r}' for field, value in values)})"

    @classmethod
    def input_name(cls, position: int) -> str:
        """The name of the input at this position in messages: `indices`, or `inputs[2]` for a variadic one."""
        for index, declared in enumerate(cls.inputs):
            if declared.variadic:
                return f"{declared.name}[{position - index}]"
            if index == position:
                return declared.name.rstrip("_")
        return str(position)

    @classmethod
    def output_name(cls, position: int) -> str:
        """The name of the output at this position; outputs beyond the declared ones are `outputs[2]` and so on."""
        return cls.outputs[position] if position < len(cls.outputs) else f"{cls.outputs[-1]}[{position}]"

    def check_inputs(self, types: list[TensorType], report: ReportFault) -> bool:
        """Return True if number and element types of the inputs are as declared; every fault is reported.

        Codes: IR106 for a wrong number of inputs, IR401 for an element type that the port does not accept, IR402 for an
        element type that differs from the input in `In.like`.
        """
        kinds = tuple([type.element_type for type in types])
        faults = _input_faults(type(self), kinds)  # type: ignore[arg-type]  # mypy takes a class for one of its objects
        for error, fault in faults:
            report(error.of(fault))
        return not faults


for _former in FORMER_FLAGS:
    setattr(Op, _former, FormerFlag(_former))


@lru_cache(maxsize=2**12)
def _input_faults(cls: type[Op], kinds: tuple[ElementType, ...]) -> list[tuple[type[IRError], Fault]]:
    """The faults of inputs with these element types, cached: most layers of an operator have the same ones."""
    if not cls.least_inputs <= len(kinds) <= cls.most_inputs:
        return [(GraphError, _count_error(cls.inputs, cls.least_inputs, len(kinds)).fault)]
    faults: list[tuple[type[IRError], Fault]] = []
    seen: dict[str, ElementType] = {}
    for position, element_type in enumerate(kinds):
        declared = cls.inputs[position] if position < len(cls.inputs) else cls.inputs[-1]
        if element_type is ElementType.dynamic:
            continue
        name = cls.input_name(position)
        if element_type not in declared.types:
            expected = ", ".join(allowed.name for allowed in ElementType if allowed in declared.types)
            refused = ElementTypeError(f"{name} is", actual=element_type, expected=f"one of {expected}", port=name)
            faults.append((ElementTypeError, refused.fault))
            continue
        like = declared.like or (declared.name if declared.variadic and not declared.mixed else None)
        if like is not None and seen.setdefault(like, element_type) is not element_type:
            differing = ElementTypeError(
                f"{name} is",
                actual=element_type,
                expected=seen[like],
                reason=f" as {like} is",
                code=Code.element_types_differ,
                port=name,
            )
            faults.append((ElementTypeError, differing.fault))
        seen.setdefault(declared.name, element_type)
    return faults


class Family(Op):
    """The base of operators with shared methods that differ in the selection or order of inputs.

    `infer_inputs` and `evaluate_inputs` have the inputs of all members as keyword-only parameters, by the names that a
    member declares in `inputs`; `**parameters` accepts any others. Inputs missing in a layer are not passed.
    """

    infer_inputs: ClassVar[Callable[..., Any]]
    evaluate_inputs: ClassVar[Callable[..., Any]]

    _names: ClassVar[tuple[str, ...]]

    def infer(self, *types: TensorType) -> Any:
        return self.infer_inputs(**dict(zip(self._names, types, strict=False)))

    def evaluate(self, *arrays: Array) -> Any:
        return self.evaluate_inputs(**dict(zip(self._names, arrays, strict=False)))


def check_contract(cls: type[Op], type_name: str) -> None:
    """Make the class the operator `type_name`.

    Raises:
        TypeError: As `op` does.
    """
    cls.type_name = type_name
    cls.least_inputs = sum(not declared.optional for declared in cls.inputs)
    cls.most_inputs = sys.maxsize if cls.inputs and cls.inputs[-1].variadic else len(cls.inputs)
    if issubclass(cls, Family):
        cls._names = tuple([declared.name for declared in cls.inputs])
    cls.infer_context = _check_signature(cls, "infer")
    cls.evaluate_context = _check_signature(cls, "evaluate")


def _check_signature(cls: type[Op], method: str) -> frozenset[str]:
    """The context parameters of a method.

    Raises:
        TypeError: If its other parameters are not the inputs.
    """
    function = getattr(cls, method, None)
    if function is None:
        raise TypeError(f"{cls.__name__} has no {method}")
    if function is getattr(Family, method):
        _check_keywords(cls, f"{method}_inputs")
        return frozenset()
    # Ten times faster than inspect.signature: every process that runs a model waits for this.
    code = function.__code__
    names = code.co_varnames[1 : code.co_argcount]
    keywords = _keywords(code)
    required = len(names) - len(function.__defaults__ or ())
    variadic = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :][: bool(code.co_flags & CO_VARARGS)]
    if method == "evaluate" and ("out" in keywords) != bool(cls.inplace_inputs):
        raise TypeError(
            f"{cls.__name__}: evaluate must have the keyword out if inplace_inputs names inputs, and only then"
        )
    context = keywords - {"out"}
    if [*names, *variadic] != [declared.name for declared in cls.inputs]:
        raise TypeError(f"the parameters of {cls.__name__}.{method} are not its inputs")
    if not context <= CONTEXT:
        raise TypeError(
            f"{cls.__name__}.{method} requires {sorted(context - CONTEXT)}, expected names of {sorted(CONTEXT)}"
        )
    for position, declared in enumerate(cls.inputs):
        if declared.variadic != (position == len(names)):
            raise TypeError(f"{cls.__name__}.{method}: {declared.name} must be variadic in both places or neither")
        if not declared.variadic and declared.optional != (position >= required):
            raise TypeError(f"{cls.__name__}.{method}: {declared.name} must be optional in both places or neither")
    return context


def _check_keywords(cls: type[Op], method: str) -> None:
    """Raise TypeError if a method of a Family cannot be called with every selection of inputs that `cls` declares."""
    function = getattr(cls, method, None)
    if function is None:
        raise TypeError(f"{cls.__name__} has no {method}")
    code = function.__code__
    keywords = _keywords(code)
    required = keywords - (function.__kwdefaults__ or {}).keys()
    names = {declared.name for declared in cls.inputs}
    takes_any = bool(code.co_flags & CO_VARKEYWORDS)
    if code.co_argcount > 1 or cls.inputs[-1].variadic or not required <= names or not (takes_any or names <= keywords):
        raise TypeError(f"the keyword-only parameters of {cls.__name__}.{method} are not its inputs")
    for declared in cls.inputs:
        if declared.optional and declared.name in required:
            raise TypeError(f"{cls.__name__}.{method}: {declared.name} is optional and needs a default")


def _keywords(code: CodeType) -> frozenset[str]:
    return frozenset(code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount])


def _count_error(inputs: tuple[In, ...], least: int, count: int) -> GraphError:
    variadic = bool(inputs) and inputs[-1].variadic
    names = ", ".join(
        f"{input.name}..." if input.variadic else f"[{input.name}]" if input.optional else input.name
        for input in inputs
    )
    most = "more" if variadic else str(len(inputs))
    expected = str(least) if most == str(least) else f"{least} or more" if variadic else f"{least} to {most}"
    return GraphError(
        "the layer has",
        actual=count,
        detail="input" if count == 1 else "inputs",
        expected=expected if inputs else "none",
        reason=f" ({names})" if inputs else None,
        code=Code.wrong_number_of_inputs,
    )


def _attribute_error(name: str, text: str, reason: str) -> InvalidAttributeError:
    """The error IR302 for the text of an attribute that a step rejects; most reasons begin with `expected`."""
    expected = reason.removeprefix("expected ")
    if expected == reason:
        return InvalidAttributeError(f"attribute {name}={text!r}: {reason}")
    return InvalidAttributeError(f"attribute {name} is", actual=repr(text), expected=expected)
