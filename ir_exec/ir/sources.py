"""The line of Python that a layer was exported from, as exporters write it into files.

torch.onnx writes a stack trace, the paths of the enclosing modules and their classes into the metadata of each node.
The same entries are the `rt_info` of a layer in IR, so both formats carry them. OpenVINO's converter of PyTorch models
and torch.onnx without `dynamo` write the path of the module into names.

```python
layer.source  # CodeLocation(file="/home/user/net.py", line=11, function="forward", module="blocks.0.bn", ...)
str(layer.source)  # blocks.0.bn, net.py:11 in forward
```

Files named in a model are never opened: the trace contains the text of its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from ir_exec.errors import SourceLine

__all__ = [
    "CLASS_HIERARCHY",
    "NAME_SCOPES",
    "SOURCE_KEYS",
    "STACK_TRACE",
    "CodeFrame",
    "CodeLocation",
    "common_source",
    "join_modules",
    "module_entries",
    "module_in_name",
    "module_order",
    "parse_source",
    "select_entries",
]

STACK_TRACE = "pkg.torch.onnx.stack_trace"
"""Frames as in a traceback, the outermost first, each with the text of its line."""

NAME_SCOPES = "pkg.torch.onnx.name_scopes"
"""A list of the paths of the enclosing modules, the outermost first, and the name of the node."""

CLASS_HIERARCHY = "pkg.torch.onnx.class_hierarchy"
"""A list of the classes of the modules in the name scopes, and the operator."""

SOURCE_KEYS = (STACK_TRACE, NAME_SCOPES, CLASS_HIERARCHY)

_MOST_CHARACTERS = 2**15
"""Maximum characters of an entry; longer ones are ignored."""

_MOST_FRAMES = 2**8

_FRAME = re.compile(r'^[ \t]*File "([^"\n]+)", line (\d{1,9}), in ([^\n]*)(?:\n(?![ \t]*File ")[ \t]*([^\n]*))?', re.M)
_TEXT = re.compile(r"""'((?:[^'\\]|\\.)*)(?:'|\\?\Z)|"((?:[^"\\]|\\.)*)(?:"|\\?\Z)""", re.S)
"""A string, or the remainder of a text without a closing quote: each character is read once."""


_FRAMEWORK = re.compile(
    r"(?:site|dist)-packages[\\/](?:torch|functorch|torch_xla|onnxscript)[\\/]"
    r"|[\\/]torch[\\/](?:_\w+|nn|fx|export|onnx|utils|autograd|jit|ao|distributed|functional|overrides)(?:[\\/]|\.py$)"
    r"|[\\/]python3(?:\.\d+)?[\\/](?!(?:site|dist)-packages[\\/])[^\\/]"
    r"|[\\/]Python3\d+[\\/]Lib[\\/](?!site-packages[\\/])"
    r"|^<(?!ipython-input)"
)
"""Files of PyTorch, of the standard library, and code without a file. They are never code of a model."""

_PACKAGE = re.compile(r"(?:site|dist)-packages[\\/](\w+)")

_OPENVINO = "__module."
_FUNCTION = re.compile(r"(?:aten|prim|prims|torchvision|quantized|torch_\w+)::\w+")
_BIAS_SUFFIX = "/WithoutBiases"
_TENSORFLOW = "StatefulPartitionedCall/"
_VARIABLE_SUFFIX = "/ReadVariableOp"
_INDEX = re.compile(r"[0-9]{1,9}")
_CALL_NUMBER = re.compile(r"@\d+")


@dataclass(frozen=True, slots=True)
class CodeFrame:
    """A frame of a stack trace.

    Attributes:
        code: The text of the line, "" if the trace does not contain it.
    """

    file: str
    line: int
    function: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """The line of Python that a layer was exported from; unknown parts are None.

    Attributes:
        file: The path on the machine of the export.
        code: The text of the line at the time of the export.
        module: The path of the module that was called, `blocks.0.bn`; "" for the exported module itself.
        module_class: The class of this module, `torch.nn.modules.batchnorm.BatchNorm2d`.
        trace: The frames, the outermost first. `file`, `line` and `function` are those of the innermost frame of the
            model's code; frames of PyTorch and of other libraries follow it.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None
    module: str | None = None
    module_class: str | None = None
    trace: tuple[CodeFrame, ...] = ()

    @property
    def summary(self) -> SourceLine:
        """The line without its trace, for messages and reports."""
        return SourceLine(self.file, self.line, self.function, self.module, self.code)

    def __str__(self) -> str:
        return str(self.summary)


def select_entries(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the entries that describe a source, of the metadata of a node or the rt_info of a layer."""
    return {key: text for key, text in entries if key in SOURCE_KEYS and 0 < len(text) <= _MOST_CHARACTERS}


def module_entries(module: str, name: str) -> dict[str, str]:
    """Return the entries of a layer of which only the path of the module is known."""
    steps = module.split(".") if module else []
    scopes = ["", *(".".join(steps[:size]) for size in range(1, len(steps) + 1)), name]
    return {NAME_SCOPES: repr(scopes)}


def parse_source(entries: Mapping[str, str], name: str = "", *, is_constant: bool = False) -> CodeLocation | None:
    """Return the source described by entries, or else by the name of a layer; None if there is none."""
    module = module_class = None
    scopes = _parse_texts(entries.get(NAME_SCOPES, ""))
    classes = _parse_texts(entries.get(CLASS_HIERARCHY, ""))
    if len(scopes) > 1:
        module = _CALL_NUMBER.sub("", scopes[-2])
        module_class = classes[-2] if len(classes) == len(scopes) else None
    elif not entries:
        module = module_in_name(name, is_constant=is_constant)
    frames = _parse_frames(entries.get(STACK_TRACE, ""))
    if not frames:
        return None if module is None else CodeLocation(module=module, module_class=module_class)
    frame = _innermost(frames, frozenset(text.partition(".")[0] for text in classes[:-1]))
    return CodeLocation(frame.file, frame.line, frame.function, frame.code or None, module, module_class, trace=frames)


def module_in_name(name: str, *, is_constant: bool = False) -> str | None:
    """Return the path of the module in the name of a layer or node, as OpenVINO, torch.onnx and TensorFlow name them.

    `__module.stem.0/aten::relu/Relu`, `/stem/stem.0/Conv` and `StatefulPartitionedCall/stem/0/Relu` are of the module
    `stem.0`; `aten::relu/Relu` is of the exported module itself, whose path is "".
    """
    if name.startswith(_OPENVINO):
        return name[len(_OPENVINO) :].partition("/")[0]
    if is_constant and name.startswith("self.") and name.count(".") > 1:
        return name[len("self.") :].rpartition(".")[0]
    if name.startswith(_TENSORFLOW):
        scope = name[len(_TENSORFLOW) :].removesuffix(_VARIABLE_SUFFIX).rpartition("/")[0]
        return scope.replace("/", ".")
    first, slash, _ = name.partition("/")
    if slash and _FUNCTION.fullmatch(first):
        return ""
    if not first and slash:
        steps: list[str] = []
        for step in name.removesuffix(_BIAS_SUFFIX)[1:].split("/")[:-1]:
            if steps and step.startswith(f"{steps[-1]}."):
                steps.pop()  # the name of an item repeats the name of its module list
            steps.append(step)
        return ".".join(steps)
    return None


def module_order(module: str) -> list[tuple[int, str]]:
    """Return the key that sorts modules by their paths, with the items of a list by number."""
    return [(int(step), "") if _INDEX.fullmatch(step) else (-1, step) for step in module.split(".")]


def join_modules(modules: Iterable[str]) -> str:
    """Return the path of the innermost module that contains all of these modules."""
    common: list[str] | None = None
    for module in modules:
        steps = module.split(".") if module else []
        if common is not None:
            length = next((i for i, pair in enumerate(zip(common, steps, strict=False)) if len(set(pair)) > 1), None)
            steps = steps[: min(len(common), len(steps)) if length is None else length]
        common = steps
    return ".".join(common or ())


def common_source(sources: Iterable[CodeLocation]) -> CodeLocation | None:
    """Return the call that contains all of these sources: their common frames, and the module around their modules."""
    different = list(dict.fromkeys(sources))
    if len(different) < 2:
        return different[0] if different else None
    modules = [source.module for source in different if source.module is not None]
    module = join_modules(modules) if len(modules) == len(different) else None
    files = {source.file for source in different}
    steps = (set(frames) for frames in zip(*(source.trace for source in different), strict=False))
    frames = [frames.pop() for frames in takewhile(lambda frames: len(frames) == 1, steps)]
    frame = next((frame for frame in reversed(frames) if frame.file in files), None)
    if frame is not None:
        return CodeLocation(frame.file, frame.line, frame.function, frame.code or None, module, trace=tuple(frames))
    return None if module is None else CodeLocation(module=module)


def _innermost(frames: tuple[CodeFrame, ...], packages: frozenset[str]) -> CodeFrame:
    """Return the innermost frame of the model's code.

    Code in an installed package belongs to the model if the package defines one of the enclosing modules.
    """
    outside = [frame for frame in frames if not _FRAMEWORK.search(frame.file)]
    own = [frame for frame in outside if not packages or _package_of(frame) in (None, *packages)]
    return (own or outside or frames)[-1]


def _package_of(frame: CodeFrame) -> str | None:
    match = _PACKAGE.search(frame.file)
    return None if match is None else match[1]


@lru_cache(maxsize=2**10)
def _parse_frames(text: str) -> tuple[CodeFrame, ...]:
    return tuple(_iterate_frames(text[:_MOST_CHARACTERS]))


def _iterate_frames(text: str) -> Iterator[CodeFrame]:
    for match, _ in zip(_FRAME.finditer(text), range(_MOST_FRAMES), strict=False):
        yield CodeFrame(match[1], int(match[2]), match[3].strip(), (match[4] or "").strip())


@lru_cache(maxsize=2**10)
def _parse_texts(text: str) -> tuple[str, ...]:
    """Return the elements of a Python list of strings."""
    pairs = _TEXT.findall(text[:_MOST_CHARACTERS])
    return tuple([re.sub(r"\\(.)", r"\1", single or double) for single, double in pairs])
