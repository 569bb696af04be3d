"""Recording of a PyTorch module by hooks, and the modules that the layers of a model derive from.

PyTorch is not imported: any object with `named_modules`, and `register_forward_hook` on each module, can be recorded.
The module of a layer follows from its name or, in exported programs, from the names of the parameters that it reads.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from ir_exec.debug.values.files import write_npz
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array

__all__ = [
    "FIRST_INPUT",
    "INPUTS",
    "OUTPUTS",
    "Recording",
    "ancestors_of",
    "common_module",
    "common_prefix",
    "inferred_modules",
    "is_input_of_module",
    "is_within",
    "layers_with_parameters",
    "module_of",
    "named_layers",
    "path_of",
    "torch_recorder",
]

INPUTS = "inputs/"
"""Prefix of the name of an input in a recording."""

OUTPUTS = "outputs/"
"""Prefix of the name or position of an output of the whole module."""

FIRST_INPUT = "@0"
"""Suffix of the path of a module in the name of its first input."""


class Recording:
    """Arrays by `inputs/NAME`, by `outputs/NAME` and by the paths of modules, in the order of the calls.

    The second output of a module is `PATH:1`, the output of its second call is `PATH#2`, and the first inputs of its
    calls are `PATH@0` and `PATH@0#2`.

    Attributes:
        calls: The number of calls of the whole module. Only the first call is recorded.
        title: The name of the recording in reports.
    """

    def __init__(self, title: str = "a recording") -> None:
        self.arrays: dict[str, Array] = {}
        self.calls = 0
        self.title = title

    def set_inputs(self, inputs: Mapping[str, Array]) -> None:
        """Replace the inputs, by name."""
        others = {name: array for name, array in self.arrays.items() if not name.startswith(INPUTS)}
        self.arrays = {INPUTS + name: array for name, array in inputs.items()} | others

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays as an .npz."""
        write_npz(path, self.arrays)


@contextmanager
def torch_recorder(model: Any, path: str | os.PathLike[str] | None = None) -> Iterator[Recording]:
    """Record the first call of a PyTorch module in the block, for `compare` with the exported model.

    Tuples, dicts and caches are recorded tensor by tensor; bfloat16 is recorded as float32.

    Args:
        path: The .npz to write at the end of the block, unless the block fails.
    """
    recording = Recording(f"{type(model).__name__} (PyTorch)")
    seen: Counter[str] = Counter()
    handles = []
    for name, module in model.named_modules():
        if name:
            handles.append(module.register_forward_pre_hook(_pre_hook(recording, seen, name)))
        handles.append(
            _register_hook(module, _root_hook(recording, model) if not name else _hook(recording, seen, name))
        )
    try:
        with _without_compilation():
            yield recording
    finally:
        for handle in handles:
            handle.remove()
    if path is not None:
        recording.save(path)


def _without_compilation() -> AbstractContextManager[object]:
    """Return a context in which PyTorch runs branches, loops and compiled modules as Python code, so that hooks run.

    `torch.cond` compiles its branches otherwise, and refuses modules with hooks.
    """
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    set_stance = getattr(compiler, "set_stance", None)  # PyTorch 2.6
    return nullcontext() if set_stance is None else set_stance("force_eager")


def _register_hook(module: Any, hook: Any) -> Any:
    try:
        return module.register_forward_hook(hook, with_kwargs=True)
    except TypeError:  # PyTorch before 2.0 does not support keyword arguments
        return module.register_forward_hook(lambda self, arguments, output: hook(self, arguments, {}, output))


def _pre_hook(recording: Recording, seen: Counter[str], name: str) -> Any:
    """Record the first input before the call, because a module that works in place overwrites it."""

    def record(_module: Any, arguments: Any) -> None:
        if not recording.calls and (first := next(_tensors(arguments[:1]), None)) is not None:
            recording.arrays[name + FIRST_INPUT + (f"#{seen[name] + 1}" if seen[name] else "")] = first[1]

    return record


def _hook(recording: Recording, seen: Counter[str], name: str) -> Any:
    def record(_module: Any, _arguments: Any, _named: Any, output: Any) -> None:
        if recording.calls:
            return
        seen[name] += 1
        call = f"#{seen[name]}" if seen[name] > 1 else ""
        for position, (_, tensor) in enumerate(_tensors(output)):
            recording.arrays[name + (f":{position}" if position else "") + call] = tensor

    return record


def _root_hook(recording: Recording, model: Any) -> Any:
    def record(_module: Any, arguments: Any, named: Any, output: Any) -> None:
        recording.calls += 1
        if recording.calls > 1:
            return
        try:
            names = list(inspect.signature(model.forward).parameters)
        except (AttributeError, TypeError, ValueError):
            names = []
        names += [f"in{position}" for position in range(len(names), len(arguments))]
        for name, value in [*zip(names, arguments, strict=False), *named.items()]:
            for further, tensor in _tensors(value):
                recording.arrays[INPUTS + name + (f".{further}" if further else "")] = tensor
        for position, (name, tensor) in enumerate(_tensors(output)):
            recording.arrays[OUTPUTS + (name or str(position))] = tensor

    return record


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    """Yield the tensors of a value, each with its path of keys and positions."""
    if hasattr(value, "detach"):
        yield name, _array(value)
    elif isinstance(value, np.ndarray):
        yield name, np.array(value)
    else:
        for key, item in _items(value):
            yield from _tensors(item, f"{name}.{key}" if name else str(key))


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (tuple, list)):
        yield from enumerate(value)
    elif isinstance(layers := getattr(value, "layers", None), (tuple, list)):  # a cache of keys and values
        for position, layer in enumerate(layers):
            for key in ("keys", "values"):
                yield f"{position}.{key}", getattr(layer, key, None)


def _array(tensor: Any) -> Array:
    tensor = tensor.detach().cpu()
    try:
        return np.array(tensor.numpy())
    except TypeError:  # bfloat16, which NumPy does not have
        return np.array(tensor.float().numpy())


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
    """The module of each layer with a source, or else with a name that contains one.

    Exporters number names that are already used: `dense_1` is the recorded `dense` if no module is named `dense_1`.
    """
    steps = {step for path in paths for step in path.split(".")}
    sources = {node.name: source.module for node in model.graph.nodes if (source := node.source) is not None}
    modules = {name: module for name, module in sources.items() if module}
    if not sources:
        modules = {node.name: module for node in model.graph.nodes if (module := module_of(node.name)) is not None}
    return {layer: ".".join(_strip_number(step, steps) for step in path.split(".")) for layer, path in modules.items()}


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
