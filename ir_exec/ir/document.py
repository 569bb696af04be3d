"""The content of an IR file: immutable, validated models of net, layer, port, edge and body.

```python
document = Document(name="empty", version=11, layers=(), edges=())
document == Document.model_validate_json(document.model_dump_json())  # True
document.changed(name="other")  # a copy, its fields validated; model_copy does not validate
```

The models are independent of operators. Attributes are kept as text and parsed by the operator's class. Ids are text
too, for comparison with ids in port maps, and have one spelling (`007` is `7`). `line` is the line of an element's
start tag, counted from 1; 0 without a file.

Models accept the types of Python and JSON. Text becomes integers only in pydantic's lax mode, which the reader uses: in
a file everything is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from ir_exec.ir.sources import CodeLocation, module_entries, module_in_name, parse_source, select_entries

__all__ = [
    "NO_RT_INFO",
    "BackEdge",
    "Body",
    "Document",
    "Edge",
    "Layer",
    "Port",
    "PortMapEntry",
    "RtInfo",
    "UnreadableId",
    "compact",
    "create_unvalidated",
    "id_number",
    "join_names",
    "source_info",
    "split_names",
]

_LARGEST = 2**63 - 1
_NUMBER = r"^\s*[+-]?[0-9]{1,40}\s*$"
"""Leading zeros are legal; 19 digits are enough for any 64-bit number."""


class UnreadableId(str):
    """The text in place of an id in a damaged file; only the reader creates one.

    It is kept, to avoid faults in other layers that name it. Such a document cannot be converted to JSON.
    """

    __slots__ = ()


class _Number:
    """The schema of an integer, in lax mode from its text: pydantic alone would accept `1_0` and `1.0` too."""

    def __init__(self, least: int = -_LARGEST - 1, most: int = _LARGEST) -> None:
        self.least, self.most = least, most

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(pattern=_NUMBER, coerce_numbers_to_str=True, strict=False)
        return core_schema.lax_or_strict_schema(
            core_schema.chain_schema([text, core_schema.int_schema(ge=self.least, le=self.most, strict=False)]),
            core_schema.int_schema(ge=self.least, le=self.most, strict=True),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


def id_number(id: str) -> int | None:
    """Return the number of an id; None if it is unreadable."""
    if not (id.isascii() and id.isdigit() and len(id) <= _DIGITS):
        return None
    number = int(id)
    return number if number <= _LARGEST else None


_DIGITS = 19
"""Digits of a 64-bit number. Python refuses to convert very long texts."""


def _one_spelling(text: str) -> str:
    number = int(text)
    if not 0 <= number <= _LARGEST:
        raise ValueError("expected a 64-bit number of 0 or more")
    return str(number)


class _IdText:
    """The schema of an id: most already have the normal spelling, which pydantic checks without a call of Python."""

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.union_schema(
            [
                core_schema.str_schema(pattern="^(?:0|[1-9][0-9]{0,17})$"),
                core_schema.no_info_after_validator_function(
                    _one_spelling, core_schema.str_schema(pattern="^[+-]?[0-9]{1,40}$")
                ),
                core_schema.is_instance_schema(UnreadableId),
            ],
            mode="left_to_right",
            custom_error_type="id",
            custom_error_message="Input should be a number of 0 or more, as text",
            serialization=core_schema.to_string_ser_schema(),
        )

    @staticmethod
    def __get_pydantic_json_schema__(schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": "^[0-9]+$"}


_Int = Annotated[int, _Number()]
_Version = Annotated[int, _Number(10, 11)]
_Id = Annotated[str, _IdText]
_Line = Annotated[int, Field(ge=0)]

_STRUCTURAL = {name.lower(): name for name in ("Parameter", "Result", "Const", "Constant")}
"""The types that turn a list of layers into a model."""


def _spell(type_name: str) -> str:
    """The type in the spelling of the format, which is case-insensitive.

    The registry of operators has the other types.
    """
    return _STRUCTURAL.get(type_name.lower(), type_name)


_Type = Annotated[str, AfterValidator(_spell)]


class _Model(BaseModel):
    """The base of all models; their validators are built on first use, or as part of a Document's validator."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def changed(self, **fields: Any) -> Self:
        """A copy with these fields replaced; raises pydantic's ValidationError for an invalid value."""
        return type(self).model_validate({**dict(self), **fields})


_M = TypeVar("_M", bound=_Model)

_FIELD_SETS: dict[frozenset[str], set[str]] = {}
"""The sets of fields that models were created with; a few occur in all files."""


def create_unvalidated(model: type[_M], **fields: Any) -> _M:
    """Return a model as `model_construct` does, in as little memory as `compact`."""
    small = object.__new__(model)
    set_field = object.__setattr__
    for name, field in model.model_fields.items():
        set_field(small, name, fields[name] if name in fields else field.get_default(call_default_factory=True))
    _complete(small, set(fields))
    return small


def _complete(model: _Model, fields: set[str]) -> None:
    """Set the attributes of pydantic, with the names of given fields."""
    set_field = object.__setattr__
    set_field(model, "__pydantic_fields_set__", _FIELD_SETS.setdefault(frozenset(fields), fields))
    set_field(model, "__pydantic_extra__", None)
    set_field(model, "__pydantic_private__", None)


def compact(model: _M) -> _M:
    """Return an equal model in a fifth of the memory, for models that only this caller refers to.

    Attributes that are set one by one share the keys of their dict with other models. Models with equal names of given
    fields share the set of them, because it never changes in a frozen model.
    """
    small = object.__new__(type(model))
    set_field = object.__setattr__
    for name, value in vars(model).items():
        if value and value.__class__ is tuple and isinstance(value[0], (Port, RtInfo)):
            value = tuple([compact(part) for part in value])
        elif value.__class__ is RtInfo and value is not NO_RT_INFO:
            value = compact(value)
        set_field(small, name, value)
    _complete(small, model.model_fields_set)
    return small


class RtInfo(_Model):
    """An element with free content, stored unchanged: name, attributes, text and children.

    Examples are the `rt_info` of a model, layer or port, and `meta_data`, `quantization_parameters` and `pre-process`
    of version 10. The truth value is False for an empty element.
    """

    name: str
    attributes: dict[str, str] = Field(default_factory=dict)
    text: str = ""
    children: tuple[RtInfo, ...] = ()
    line: _Line = 0

    def __bool__(self) -> bool:
        return bool(self.attributes or self.children or self.text)

    def child(self, name: str) -> RtInfo | None:
        """The first child of this name; names that XML does not allow are written `<info name="...">`."""
        for child in self.children:
            if child.name == name or (child.name == "info" and child.attributes.get("name") == name):
                return child
        return None

    def value(self, *path: str) -> str | None:
        """The `value` attribute at the end of a path of names: `value("conversion_parameters", "framework")`."""
        node: RtInfo | None = self
        for name in path:
            node = node.child(name) if node is not None else None
        return node.attributes.get("value") if node is not None else None


def source_info(entries: Mapping[str, str], other: RtInfo | None = None) -> RtInfo:
    """Return the rt_info of a layer with the entries of its source, followed by its other content."""
    children = [
        RtInfo(name="attribute", attributes={"name": key, "version": "0", "value": text})
        for key, text in entries.items()
    ]
    return RtInfo(name="rt_info", children=(*children, *(other.children if other is not None else ())))


def _source_entries_in(info: RtInfo) -> dict[str, str]:
    entries = [(child.attributes.get("name", ""), child.attributes.get("value", "")) for child in info.children]
    return select_entries(entries)


NO_RT_INFO = RtInfo.model_construct(name="rt_info")
"""The rt_info of elements without one. It is not validated, because building a validator takes time at import."""


def _no_rt_info() -> RtInfo:
    """A default that pydantic does not copy for each model."""
    return NO_RT_INFO


class Port(_Model):
    """An input or output of a layer; `dims` holds -1 for a dynamic dim, and other negative numbers as they are.

    A port without dims has a scalar or an unknown rank. Only the inputs and outputs listed in the file exist; port ids
    are numbered within a layer, and only their order matters. `precision` is None if it is missing in the file, which
    is legal for inputs.
    """

    id: _Id
    precision: str | None
    dims: tuple[_Int, ...] = ()
    names: tuple[str, ...] = ()
    line: _Line = 0
    rt_info: RtInfo = Field(default_factory=_no_rt_info)


class Edge(_Model):
    """A connection from an output port to an input port."""

    from_layer: _Id
    from_port: _Id
    to_layer: _Id
    to_port: _Id
    line: _Line = 0


class PortMapEntry(_Model):
    """The tie of a port of a layer with a body to a Parameter or Result inside the body.

    `external_port_id` is a port id of the layer, or -1 if it is not connected. With an `axis` the value is sliced
    (input) or concatenated (output) over the iterations, from `start` to `end` in steps of `stride`. Any text may be
    the `internal_port_id`: a Parameter or Result has one port.
    """

    direction: Literal["input", "output"]
    external_port_id: _Int
    internal_layer_id: _Id
    internal_port_id: Annotated[_Id | str | None, Field(union_mode="left_to_right")] = None
    axis: _Int | None = None
    start: _Int | None = None
    end: _Int | None = None
    stride: _Int | None = None
    part_size: _Int | None = None
    purpose: str | None = None
    line: _Line = 0


class BackEdge(_Model):
    """A value of one iteration (`from_layer`, a Result) that the next one starts with (`to_layer`, a Parameter)."""

    from_layer: _Id
    to_layer: _Id
    line: _Line = 0


class Body(_Model):
    """A graph inside a layer; `name` is the name of the element: body, then_body, else_body.

    `then_port_map` belongs to then_body, `else_port_map` to else_body, `port_map` and `back_edges` to body.
    """

    name: Literal["body", "then_body", "else_body"]
    port_map: tuple[PortMapEntry, ...] = ()
    back_edges: tuple[BackEdge, ...] = ()
    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    line: _Line = 0
    rt_info: RtInfo = Field(default_factory=_no_rt_info)


class Layer(_Model):
    """One layer; `data` holds the attributes of its `<data>` in the order of the file.

    `version` is the opset, None if it is missing in a damaged file. `output_names` are the tensor names that a Result
    may give to the model's output. `data_line` is the line of `<data>`, or the line of the layer if it has no `<data>`.
    """

    id: _Id
    name: str
    type: _Type
    version: str | None
    data: dict[str, str] = Field(default_factory=dict)
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    bodies: tuple[Body, ...] = ()
    output_names: tuple[str, ...] = ()
    rt_info: RtInfo = Field(default_factory=_no_rt_info)
    line: _Line = 0
    data_line: _Line = 0

    @property
    def is_parameter(self) -> bool:
        """Return True for an input of the enclosing model or body."""
        return self.type == "Parameter"

    @property
    def is_result(self) -> bool:
        """Return True for an output of the enclosing model or body."""
        return self.type == "Result"

    @property
    def is_constant(self) -> bool:
        """Return True if its value is in the weights."""
        return self.type in ("Const", "Constant")

    @property
    def source(self) -> CodeLocation | None:
        """The line of Python that the layer was exported from, None if the file does not contain it."""
        return parse_source(_source_entries_in(self.rt_info), self.name, is_constant=self.is_constant)

    @property
    def source_entries(self) -> dict[str, str]:
        """The entries of rt_info that describe `source`, as in the metadata of an ONNX node."""
        entries = _source_entries_in(self.rt_info)
        if not entries and (module := module_in_name(self.name, is_constant=self.is_constant)) is not None:
            return module_entries(module, self.name)
        return entries

    def with_source_of(self, other: Layer) -> Self:
        """Return the layer with the source of another one, from which it was made; its own source is kept."""
        if self.source_entries or not (entries := other.source_entries):
            return self
        return self.model_copy(update={"rt_info": source_info(entries, self.rt_info)})


class Document(_Model):
    """A whole file of IR version 10 or 11; `is_complete` is false if the reader omitted faulty content."""

    name: str
    version: _Version
    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    rt_info: RtInfo = Field(default_factory=_no_rt_info)
    meta_data: RtInfo | None = None
    quantization_parameters: RtInfo | None = None
    pre_process: RtInfo | None = None
    path: str | None = None
    is_complete: bool = True

    def all_layers(self) -> Iterator[Layer]:
        """Every layer; layers of bodies follow the layer with the body."""
        pending = list(reversed(self.layers))
        while pending:
            layer = pending.pop()
            yield layer
            for body in reversed(layer.bodies):
                pending.extend(reversed(body.layers))

    @property
    def writer(self) -> str | None:
        """The tools that wrote the file, `OpenVINO 2026.4, NNCF 3.4.0`, or None if it is missing."""
        old = self.meta_data or NO_RT_INFO
        runtime, optimizer = self.runtime_version, self.rt_info.value("MO_version") or old.value("MO_version")
        tools = []
        if optimizer is not None:
            tools.append(f"Model Optimizer {'' if 'unknown' in optimizer else optimizer}".strip())
        elif runtime is not None:
            tools.append(f"OpenVINO {runtime[0]}.{runtime[1]}")
        if optimum := self.rt_info.value("optimum", "optimum_intel_version"):
            tools.append(f"optimum-intel {optimum}")
        if (nncf := self.rt_info.child("nncf")) is not None:
            tools.append(f"NNCF {nncf.value('version') or ''}".strip())
        if self.quantization_parameters is not None:
            tools.append("Post-training Optimization Tool")
        return ", ".join(tools) or None

    @property
    def runtime_version(self) -> tuple[int, int] | None:
        """Year and release of the OpenVINO that wrote the file, `(2026, 4)`, or None if it is missing."""
        text = self.rt_info.value("Runtime_version") or self.rt_info.value("OpenVINO Runtime") or ""
        year, _, remaining = text.strip().partition(".")
        release = remaining[: len(remaining) - len(remaining.lstrip("0123456789"))]
        # Real files have short fields; a longer one is not a version.
        if not (year.isascii() and year.isdigit() and len(year) == 4 and 0 < len(release) <= 4):
            return None
        return int(year), int(release)


_SEPARATOR = re.compile(r"(?<!\\),")


def split_names(text: str | None) -> tuple[str, ...]:
    r"""The names in a `names` or `output_names` attribute.

    Names are separated by commas, `\,` is a comma within a name, and any other backslash is literal. Empty names are
    ignored.
    """
    if not text:
        return ()
    if "," not in text:
        return (text,)
    return tuple([name.replace("\\,", ",") for name in _SEPARATOR.split(text) if name])


def join_names(names: Iterable[str]) -> str:
    r"""The attribute that lists these names.

    A name that ends in a backslash is last: before a comma it would be read as an escape. As in files of OpenVINO, only
    one such name is possible.
    """
    ordered = sorted(names, key=lambda name: name.endswith("\\"))
    return ",".join(name.replace(",", "\\,") for name in ordered)
