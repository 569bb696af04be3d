"""Inputs of a node: checks against the version that lowers it, and their names in errors of its layers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, Location, UnsupportedError
from ir_exec.onnx.lowering.values import GraphValue, Narrow
from ir_exec.onnx.lowering.versions import Version

__all__ = ["check_inputs", "locate_at_node"]

_LEAST_WORD = 4
"""Minimum letters of a port's name that is replaced in a message: shorter names are also words."""


def check_inputs(version: Version, inputs: list[GraphValue]) -> list[GraphValue]:
    """The inputs without missing optional ones at the end.

    Raises:
        GraphError: For another number of inputs, for a missing input that is required, and for a tensor in place of a
            list or the reverse.
        UnsupportedError: For an element type that only a few functions support.
    """
    while inputs and inputs[-1] is None and len(inputs) > version.least_inputs:
        inputs = inputs[:-1]
    if not version.least_inputs <= len(inputs) <= version.most_inputs:
        names = ", ".join(declared.name for declared in version.inputs)
        raise GraphError(
            "the node has",
            actual=len(inputs),
            detail="inputs",
            expected=_count(version),
            reason=f" ({names})",
            code=Code.wrong_number_of_inputs,
        )
    _check_kinds(version, inputs)
    return inputs


def _check_kinds(version: Version, inputs: list[GraphValue]) -> None:
    for position, value in enumerate(inputs):
        name, value_class, is_optional = version.input_at(position)
        if value_class == "GraphValue" or (value is None and is_optional):
            continue
        if value is None:
            raise GraphError(f"the input {name} is missing", code=Code.wrong_number_of_inputs, port=name)
        if isinstance(value, Narrow) and value_class == "Value":
            raise UnsupportedError("its element type does not exist in IR")
        if isinstance(value, Value) != (value_class == "Value"):
            actual, expected = ("a tensor", "a list") if isinstance(value, Value) else ("a list", "a tensor")
            raise GraphError(f"the input {name} is", actual=actual, expected=expected, code=Code.wrong_port, port=name)


def _count(version: Version) -> str:
    least, most = version.least_inputs, version.most_inputs
    return str(least) if least == most else f"{least} to {most}" if most < 2**31 else f"{least} or more"


def locate_at_node(error: IRError, node: Location, names: Mapping[str, str]) -> IRError:
    """The error at the innermost node, in place of the layer that was built for it.

    The port of a layer becomes the input of the node.

    Args:
        names: The names of the node's inputs, by the parameters of the function that lowers it.
    """
    port = error.location.port
    if error.location.kind == "node":
        return error.located(node)
    own = None if port is None else names.get(port)
    error = error.changed(location=node.filled_from(replace(error.location, port=own)))
    if port is None or own is None or len(port) < _LEAST_WORD:
        return error
    texts = {part: getattr(error, part) for part in ("message", "actual", "expected")}
    word = re.compile(rf"\b{re.escape(port)}\b")
    return error.changed(**{part: word.sub(own, text) for part, text in texts.items() if text is not None})
