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

__all__ = ["PATH", "describe_operators", "render"]

PATH = Path(signatures.__file__).with_suffix(".json")

Entry = dict[str, Any]


def describe_operators() -> dict[str, dict[str, Entry]]:
    """The content of the file: domains, and entries by `Operator-version`."""
    return {
        **{domain: _describe_standard(domain) for domain in (STANDARD, ML, TRAINING)},
        MICROSOFT: _describe_microsoft(),
    }


def _describe_standard(domain: str) -> dict[str, Entry]:
    schemas = {
        (one.name, one.since_version): one for one in defs.get_all_schemas_with_history() if one.domain == domain
    }
    # onnxruntime has operators of earlier versions too, such as LayerNormalization-1.
    further = {(one.name, one.since_version): one for one in _runtime_schemas(domain) if not one.deprecated}
    entries: dict[str, Entry] = {}
    previous: tuple[str, Entry] = "", {}
    for (name, since), schema in sorted({**further, **schemas}.items()):
        inputs = " ".join(f"{one.name}{_mark(one)}" for one in schema.inputs)
        entry = _entry(inputs, schema)
        if (name, entry) != previous:
            entries[f"{name}-{since}"] = entry
        previous = name, entry
    return entries


def _describe_microsoft() -> dict[str, Entry]:
    entries = {}
    for schema in sorted(_runtime_schemas(MICROSOFT), key=lambda one: one.name):
        types = {one.type_param_str: _element_types(one.allowed_type_strs) for one in schema.type_constraints}
        inputs, used = [], {}
        for one in schema.inputs:
            variable = one.typeStr if one.typeStr in types else _element_types([one.typeStr])
            if variable in types:
                used[variable] = types[variable]
            inputs.append(f"{one.name}{':' if variable else ''}{variable}{_mark(one)}")
        entry = _entry(" ".join(inputs), schema)
        entry |= {"types": used} if any(used.values()) else {}
        entries[f"{schema.name}-{schema.since_version}"] = {**entry, "outputs": schema.max_output}
    return entries


def _runtime_schemas(domain: str) -> list[Any]:
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    return [one for one in get_all_operator_schema() if one.domain == domain]


def _entry(inputs: str, schema: Any) -> Entry:
    attributes = {name: _attribute(one) for name, one in sorted(schema.attributes.items())}
    return {"inputs": inputs, "attributes": attributes} if attributes else {"inputs": inputs}


def _mark(declared: Any) -> str:
    return {"Single": "", "Optional": "?", "Variadic": "*"}[declared.option.name]


def _attribute(declared: Any) -> str | list[Any]:
    kind = declared.type.name
    if isinstance(declared, defs.OpSchema.Attribute):
        default = declared.default_value
    else:
        default = onnx.AttributeProto.FromString(declared._default_value)
    if not default.type:
        return kind if declared.required else f"{kind}?"
    return [kind, _plain(helper.get_attribute_value(default))]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # The shortest number that is the f32.
        return float(str(np.float32(value)))
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _element_types(types: Any) -> str:
    """The names of the element types of tensors, as `f16|f32`; "" if all types of IR are accepted."""
    names = re.findall(r"^tensor\((\w+)\)$", "\n".join(types), re.MULTILINE)
    if "complex64" in names:
        return ""
    known = {name.lower(): code for name, code in onnx.TensorProto.DataType.items()}
    return "|".join(sorted({_element_type(name, known[name]) for name in names}))


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
