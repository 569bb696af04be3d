"""The signatures in `ir_exec/onnx/reading/signatures.json`, from the definitions in onnx and onnxruntime.

    python -m tests.onnx.signatures

One entry for each version that changed the signature. An input is `name`, with `?` if it is optional and `*` if it
repeats; for com.microsoft `name:variable`, where inputs of one variable have equal types. An attribute is its type if
it is required, its type and `?` if it is optional without a default, or its type and its default.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper

from ir_exec.errors import UnsupportedError
from ir_exec.onnx.lowering.registry import MICROSOFT, ML, STANDARD, TRAINING
from ir_exec.onnx.reading import signatures
from ir_exec.onnx.reading.tensors import element_type_of

__all__ = ["CORRECTIONS", "PATH", "describe_operators", "render"]

PATH = Path(signatures.__file__).with_suffix(".json")

Entry = dict[str, Any]

CORRECTIONS: dict[tuple[str, str], Any] = {("GRU-1", "direction"): "forward"}
"""Defaults that replace those of a definition: the definition of GRU-1 has "foward"."""


def describe_operators() -> dict[str, dict[str, Entry]]:
    """The content of the file: domains, and entries by `Operator-version`."""
    return {
        **{domain: _describe_standard(domain) for domain in (STANDARD, ML, TRAINING)},
        MICROSOFT: _describe_microsoft(),
    }


def _describe_standard(domain: str) -> dict[str, Entry]:
    schemas = {
        (schema.name, schema.since_version): schema
        for schema in defs.get_all_schemas_with_history()
        if schema.domain == domain
    }
    # onnxruntime has operators of earlier versions too, such as LayerNormalization-1.
    further = {
        (schema.name, schema.since_version): schema for schema in _runtime_schemas(domain) if not schema.deprecated
    }
    entries: dict[str, Entry] = {}
    previous: tuple[str, Entry] = "", {}
    for (name, since), schema in sorted({**further, **schemas}.items()):
        inputs = " ".join(f"{declared.name}{_mark(declared)}" for declared in schema.inputs)
        entry = _entry(inputs, schema)
        if (name, entry) != previous:
            entries[f"{name}-{since}"] = entry
        previous = name, entry
    return entries


def _describe_microsoft() -> dict[str, Entry]:
    entries = {}
    for schema in sorted(_runtime_schemas(MICROSOFT), key=lambda schema: schema.name):
        types = {
            constraint.type_param_str: _element_types(constraint.allowed_type_strs)
            for constraint in schema.type_constraints
        }
        inputs, used = [], {}
        for declared in schema.inputs:
            variable = declared.typeStr if declared.typeStr in types else _element_types([declared.typeStr])
            if variable in types:
                used[variable] = types[variable]
            inputs.append(f"{declared.name}{':' if variable else ''}{variable}{_mark(declared)}")
        entry = _entry(" ".join(inputs), schema)
        entry |= {"types": used} if any(used.values()) else {}
        entries[f"{schema.name}-{schema.since_version}"] = {**entry, "outputs": schema.max_output}
    return entries


def _runtime_schemas(domain: str) -> list[Any]:
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    return [schema for schema in get_all_operator_schema() if schema.domain == domain]


def _entry(inputs: str, schema: Any) -> Entry:
    attributes = {name: _attribute(declared) for name, declared in sorted(schema.attributes.items())}
    for (operator, name), default in CORRECTIONS.items():
        if operator == f"{schema.name}-{schema.since_version}":
            attributes[name][1] = default
    return {"inputs": inputs, "attributes": attributes} if attributes else {"inputs": inputs}


def _mark(declared: Any) -> str:
    return {"Single": "", "Optional": "?", "Variadic": "*"}[declared.option.name]


def _attribute(declared: Any) -> str | list[Any]:
    type_name = declared.type.name
    if isinstance(declared, defs.OpSchema.Attribute):
        default = declared.default_value
    else:
        default = onnx.AttributeProto.FromString(declared._default_value)
    if not default.type:
        return type_name if declared.required else f"{type_name}?"
    return [type_name, _plain(helper.get_attribute_value(default))]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # The shortest number that is the f32.
        return float(str(np.float32(value)))
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(element) for element in value] if isinstance(value, (list, tuple)) else value


def _element_types(types: Any) -> str:
    """The names of the element types of tensors, as `f16|f32`; "" if all types of IR are accepted."""
    names = re.findall(r"^tensor\((\w+)\)$", "\n".join(types), re.MULTILINE)
    if "complex64" in names:
        return ""
    codes = {name.lower(): code for name, code in onnx.TensorProto.DataType.items()}
    return "|".join(sorted({_element_type(name, codes[name]) for name in names}))


def _element_type(name: str, code: int) -> str:
    try:
        return str(element_type_of(code))
    except UnsupportedError:
        return name


def render(operators: dict[str, dict[str, Entry]]) -> str:
    """The file, with one line for each entry."""
    domains = []
    for domain, entries in operators.items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        domains.append(f"{json.dumps(domain)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(domains) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(render(describe_operators()), "utf-8")
