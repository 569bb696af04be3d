"""The modules of layers of exported programs, by the names of the parameters that the layers read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ir_exec.debug.comparison.references.torch_hooks import common_module
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const

__all__ = ["layers_with_parameters"]

_OPERATION = re.compile(r"([^/]+/aten\.[^/]+)/")


def layers_with_parameters(model: Model, paths: Sequence[str]) -> dict[str, str]:
    """The modules of the layers of an exported program that read parameters; other layers have no known module.

    OpenVINO names the layers of an operation `linear_1/aten.linear.default/MatMul`, and the weights of a module
    `head.mlp` of the recording `head_mlp_weight`.
    """
    by_spelling = {re.sub(r"\W", "_", path): path for path in paths}
    owners: dict[str, str] = {}
    modules: dict[str, list[str]] = defaultdict(list)
    operations: dict[str, str] = {}
    for node in model.graph.nodes:
        if isinstance(node.op, Const):
            candidates = (_owner_of(name, by_spelling) for output in node.outputs for name in output.names)
            if (parameter_owner := next(filter(None, candidates), None)) is not None:
                owners[node.id] = parameter_owner
        elif (match := _OPERATION.match(node.name)) is not None:
            operations[node.name] = match[1]
        for value in node.values_in if not isinstance(node.op, Const) else ():
            if (owner := owners.get(value.node.id)) is None:
                continue
            if node.name in operations:
                modules[operations[node.name]].append(owner)
            else:
                owners[node.id] = owner  # a conversion of the parameter
    named = {operation: module for operation, owners in modules.items() if (module := common_module(owners))}
    return {name: named[operation] for name, operation in operations.items() if operation in named}


def _owner_of(parameter: str, by_spelling: Mapping[str, str]) -> str | None:
    """The module whose path, with underscores, is the longest beginning of the name of a parameter."""
    steps = parameter.split("_")
    beginnings = ("_".join(steps[:size]) for size in range(len(steps) - 1, 0, -1))
    return next((by_spelling[beginning] for beginning in beginnings if beginning in by_spelling), None)
