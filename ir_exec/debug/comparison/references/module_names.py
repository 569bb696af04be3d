"""The modules that the layers of a model derive from, by the names of the layers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ir_exec.debug.comparison.references.torch_hooks import FIRST_INPUT
from ir_exec.model import Model

__all__ = [
    "ancestors_of",
    "common_module",
    "common_prefix",
    "inferred_modules",
    "is_input_of_module",
    "is_within",
    "module_of",
    "named_layers",
    "path_of",
]

_KEY = re.compile(r"^(.*?)(?::(\d+))?(?:#(\d+))?$", re.DOTALL)
_IR = "__module."


def module_of(layer: str) -> str | None:
    """The path of the module that a layer is named after, in the naming of OpenVINO, torch.onnx or TensorFlow."""
    if layer.startswith(_IR):
        return layer[len(_IR) :].split("/", 1)[0]
    if not layer.startswith("/"):
        steps = layer.split("/")[:-1]
        return None if any("::" in step for step in steps) else ".".join(steps) or None  # aten::relu is a function
    parts: list[str] = []
    for part in layer[1:].split("/")[:-1]:
        if parts and part.startswith(parts[-1] + "."):
            parts.pop()  # the name of an item repeats the name of its module list
        parts.append(part)
    return ".".join(parts) or None


def is_input_of_module(key: str) -> bool:
    """Return True if an array of a recording is the first input of a module."""
    return re.search(rf"{FIRST_INPUT}(#\d+)?$", key) is not None


def path_of(key: str) -> str:
    match = _KEY.match(key)
    assert match is not None, "everything matches"
    return match[1]


def named_layers(model: Model, paths: Sequence[str]) -> dict[str, str]:
    """The module of each layer whose name contains one.

    TensorFlow numbers names that are already used: `dense_1` is the recorded `dense` if no module is named `dense_1`.
    """
    steps = {step for path in paths for step in path.split(".")}
    modules: dict[str, str] = {}
    for node in model.graph.nodes:
        if (module := module_of(node.name)) is not None:
            if not node.name.startswith((_IR, "/")):
                module = ".".join(_strip_number(step, steps) for step in module.split("."))
            modules[node.name] = module
    return modules


def _strip_number(step: str, steps: set[str]) -> str:
    base, _, number = step.rpartition("_")
    return base if step not in steps and base in steps and number.isdigit() else step


def is_within(module: str | None, path: str) -> bool:
    return module is not None and (module == path or module.startswith(path + "."))


def ancestors_of(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:size]) for size in range(1, len(parts) + 1)]


def inferred_modules(model: Model, named: Mapping[str, str]) -> dict[str, str]:
    """The modules of layers with generated names: the innermost module that contains all readers of the layer."""
    inferred: dict[str, str] = {}
    readers: dict[str, list[str | None]] = defaultdict(list)
    for node in reversed(model.graph.nodes):
        module = named.get(node.name)
        if module is None and (modules := readers[node.id]) and None not in modules:
            module = common_module([module for module in modules if module is not None])
            if module is not None:
                inferred[node.name] = module
        for value in node.inputs:
            if value is not None:
                readers[value.node.id].append(module)
    return inferred


def common_module(modules: Sequence[str]) -> str | None:
    """The innermost module that contains all of these modules."""
    steps = [level[0] for level in zip(*map(ancestors_of, modules), strict=False) if len(set(level)) == 1]
    return steps[-1] if steps else None


def common_prefix(modules: Iterable[str], paths: Iterable[str]) -> str:
    """The prefix of the recorded paths in the model, if the exported module wraps the recorded module."""
    recorded = set(paths)
    counts = Counter({"": 0})
    for module in {ancestor for inner in modules for ancestor in ancestors_of(inner)}:
        steps = module.split(".")
        for size in range(len(steps)):
            if ".".join(steps[size:]) in recorded:
                counts["".join(f"{step}." for step in steps[:size])] += 1
    return max(sorted(counts, key=len), key=counts.__getitem__)
