"""What an IR file says, word for word: immutable, validated models of net, layer, port, edge and body.

```python
document = Document(name="empty", version=11, layers=(), edges=())
document == Document.model_validate_json(document.model_dump_json())  # True
document.changed(name="other")  # a copy, its fields validated; model_copy does not validate
```

Nothing here knows what a layer computes. Attributes stay the text they are in the file and are parsed by the
operator's class; ids are text, so that they compare with those of port maps, and have one spelling (`007` is `7`).
`line` is the line of an element's start tag, counted from 1; 0 where there is no file.

Models take Python's own types and JSON's. Text becomes integers only in pydantic's lax mode, which the reader asks for:
in a file everything is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

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
    "join_names",
    "split_names",
]

_LARGEST = 2**63 - 1
_NUMBER = r"^\s*[+-]?[0-9]{1,40}\s*$"
"""Leading zeros are legal; 19 digits are enough for any number of 64 bits."""


class UnreadableId(str):
    """What stands in a damaged file where an id should; only the reader makes one.

    It stays, so that other layers that name it are not reported too. JSON of such a document is refused.
    """

    __slots__ = ()


class _Number:
    """The schema of an integer, in lax mode from its text: pydantic alone would take `1_0` and `1.0` too."""

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


def _one_spelling(text: str) -> str:
    number = int(text)
    if not 0 <= number <= _LARGEST:
        raise ValueError("no number from 0 on of 64 bits")
    return str(number)


class _IdText:
    """The schema of an id: most have the one spelling already, which pydantic sees without a call of Python."""

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
            custom_error_message="Input should be a number from 0 on, as text",
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
"""The types that make a network of a list of layers."""


def _spelt(type_name: str) -> str:
    """The type as the format spells it: its case means nothing. The registry of operators knows the other types."""
    return _STRUCTURAL.get(type_name.lower(), type_name)


_Type = Annotated[str, AfterValidator(_spelt)]


class _Model(BaseModel):
    """What all models share; their validators are built when they are first asked for, or as part of a Document's."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def changed(self, **fields: Any) -> Self:
        """A copy in which these fields are others; pydantic's ValidationError where one cannot be."""
        return type(self).model_validate({**dict(self), **fields})


class RtInfo(_Model):
    """An element whose content only its writer understands, kept as it is: name, attributes, text and children.

    `rt_info` of a model, layer or port is one; `meta_data`, `quantization_parameters` and `pre-process` of version 10
    are others. It is false where it says nothing.
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
        found: RtInfo | None = self
        for name in path:
            found = found.child(name) if found is not None else None
        return found.attributes.get("value") if found is not None else None


NO_RT_INFO = RtInfo.model_construct(name="rt_info")
"""The rt_info of whatever has none; made without a validator, which would have to be built for it."""


def _no_rt_info() -> RtInfo:
    """A default that pydantic does not copy for each model."""
    return NO_RT_INFO


class Port(_Model):
    """An input or output of a layer; `dims` holds -1 for a dynamic dim, and other negative numbers as they are.

    A port without dims is a scalar's or of unknown rank. Only inputs and outputs of a layer that the file lists are
    here; ids of ports count through a layer, and only their order matters. `precision` is None where a file has none,
    which is legal at inputs.
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
    """How a port of a layer with a body is tied to a Parameter or Result inside the body.

    `external_port_id` is a port id of the layer, or -1 where it is not connected. With an `axis` the value is sliced
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
    """A network inside a layer; `name` is the element's: body, then_body, else_body.

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

    `version` is the opset, None where a damaged file has none. `output_names` are the tensor names that a Result may
    give to the model's output. `data_line` is the line of `<data>`, or that of the layer where it has none.
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
        """Whether it is an input of the network or body that it is in."""
        return self.type == "Parameter"

    @property
    def is_result(self) -> bool:
        """Whether it is an output of the network or body that it is in."""
        return self.type == "Result"

    @property
    def is_constant(self) -> bool:
        """Whether its value lies in the weights."""
        return self.type in ("Const", "Constant")


class Document(_Model):
    """A whole file of IR version 10 or 11; `is_complete` is false where the reader had to leave something out."""

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
        """Every layer, those of bodies right after the layer that holds the body."""
        pending = list(reversed(self.layers))
        while pending:
            layer = pending.pop()
            yield layer
            for body in reversed(layer.bodies):
                pending.extend(reversed(body.layers))

    @property
    def writer(self) -> str | None:
        """The tools that wrote the file, `OpenVINO 2026.4, NNCF 3.4.0`, or None where it does not say."""
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
        """Year and release of the OpenVINO that wrote the file, `(2026, 4)`, or None where the file does not say."""
        text = self.rt_info.value("Runtime_version") or self.rt_info.value("OpenVINO Runtime") or ""
        year, _, rest = text.strip().partition(".")
        release = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        # The fields are short in every real file; a longer one is no version.
        if not (year.isascii() and year.isdigit() and len(year) == 4 and 0 < len(release) <= 4):
            return None
        return int(year), int(release)


_SEPARATOR = re.compile(r"(?<!\\),")


def split_names(text: str | None) -> tuple[str, ...]:
    r"""The names in a `names` or `output_names` attribute.

    Names are separated by commas, `\,` is a comma within a name, and any other backslash is itself. Empty names are
    none.
    """
    if not text:
        return ()
    if "," not in text:
        return (text,)
    return tuple([name.replace("\\,", ",") for name in _SEPARATOR.split(text) if name])


def join_names(names: Iterable[str]) -> str:
    r"""The attribute that lists these names.

    A name that ends in a backslash goes last: before a comma it would read as an escape. Only one such name can be
    told from the others, as in the files that OpenVINO writes.
    """
    ordered = sorted(names, key=lambda name: name.endswith("\\"))
    return ",".join(name.replace(",", "\\,") for name in ordered)
