"""Commands with drawn options over small valid models: each ends with a result, one message, or a usage error."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import click

from ir_exec.cli import main
from ir_exec.errors import IRError
from ir_exec.model import Model, read_model
from tests.fuzz.frame import Subject, invoke
from tests.fuzz.small_models import write_model

__all__ = ["SUBJECT"]

_COMMANDS = tuple(main.list_commands(click.Context(main)))

_LEFT_OUT = frozenset(
    {"extensions", "scheduler", "jobs", "device", "opens", "until", "again", "providers", "config_path", "page"}
)
"""Options that start processes, connect to others, open a browser, or list every code."""

_OF_RUNTIMES = frozenset({"openvino", "onnxruntime"})
"""Choices that start another runtime in a process."""


class _Values:
    """Values for the parameters of commands, for one model in the current folder."""

    def __init__(self, random: Random, path: str) -> None:
        self._random = random
        self._path = path
        self._model = _read(path)
        self.inputs = [port.name for port in self._model.inputs] if self._model is not None else []
        nodes = list(self._model.graph.nodes) if self._model is not None else []
        self._layers = [node.name for node in nodes] or ["x"]
        self._values = [value.name for node in nodes for value in node.outputs] or ["x"]

    def argument(self, command: str, parameter: click.Parameter) -> list[str]:
        """The words of an argument."""
        if isinstance(parameter.type, click.Choice):
            return [self._random.choice([str(choice) for choice in parameter.type.choices])]
        if parameter.name == "types":
            return [self._random.choice(["Add", "MatMul", "Nothing", "LSTM*"])]
        if parameter.name == "rules":
            return [self._random.choice(["IR502", "dims-differ", "IR6", "Nothing"])]  # without one, it lists every code
        if parameter.name == "folder":
            return ["."]
        return [] if not parameter.required and self._random.random() < 0.1 else [self._path]

    def option(self, command: str, option: click.Option) -> list[str] | None:
        """The words of an option; None if it is left out."""
        name = self._random.choice([*option.opts, *option.secondary_opts])
        if option.is_flag:
            return [name]
        value = self._value(command, option)
        return None if value is None else [name, value]

    def _value(self, command: str, option: click.Option) -> str | None:
        type_ = option.type
        if option.name in _TEXTS and not (option.name == "reference" and command == "profile"):
            return _TEXTS[option.name](self)
        if isinstance(type_, click.Choice):
            choices = [str(choice) for choice in type_.choices if choice not in _OF_RUNTIMES]
            return self._random.choice(choices) if choices else None
        if isinstance(type_, (click.IntRange, click.FloatRange)):
            least = max(type_.min or 0, 0)
            most = least + 3 if type_.max is None else min(type_.max, least + 3)
            number = self._random.randint(math.ceil(least), int(most))
            return str(number if isinstance(type_, click.IntRange) else max(number, 1))
        if type_ is click.INT or type_ is click.FLOAT:
            return str(self._random.randint(1, 4))
        return self._file(option)

    def _file(self, option: click.Option) -> str:
        """A file to read, or the name of one to write."""
        if option.opts[0] in ("-o", "--write-baseline", "--save", "--mixed", "--trace-events"):
            metavar = option.metavar or ""
            endings = [ending for ending in (".xml", ".npz", ".json", ".html", ".zip") if ending in metavar]
            any_ending = self._random.choice([".xml", ".npz", ".json", ".html", ".onnx", ""])
            return f"out{self.one_of(*endings) if endings and self._random.random() < 0.9 else any_ending}"
        return self._random.choice(["inputs.npz", "inputs.npz", self._path, "nothing.npz", "x.npy"])

    def pick(self, names: list[str]) -> str:
        """One of the names, seldom an unknown one."""
        return "nothing" if not names or self._random.random() < 0.1 else self._random.choice(names)

    def shape(self) -> str:
        """A shape for an input, mostly one that fits."""
        name = self.pick(self.inputs)
        ports = {port.name: port for port in self._model.inputs} if self._model is not None else {}
        dims = ports[name].shape.dims if name in ports else None
        sizes = [1, 2] if dims is None else [dim.lo if dim.is_static else self._random.randint(0, 4) for dim in dims]
        return f"{name}[{','.join(map(str, sizes))}]"

    @property
    def layer(self) -> str:
        return self.pick(self._layers)

    @property
    def value(self) -> str:
        return self.pick([*self._values, *self.inputs])

    @property
    def path(self) -> str:
        return self._path

    def one_of(self, *texts: str) -> str:
        return self._random.choice(texts)


_NEEDED: dict[str, Callable[[_Values], list[str]]] = {
    "bundle": lambda values: ["-o", "out.zip"],
    "convert": lambda values: ["-o", values.one_of("out.xml", "out.onnx", "out.onnx")],
    "edit": lambda values: ["-o", "out.xml"],
    "extract": lambda values: ["--to", values.value, "-o", "out.xml"],
    "generate": lambda values: ["--ids", "1"],
    "profile": lambda values: ["--repeat", "1"],
    "quantize-report": lambda values: ["--with", values.path],
    "reduce": lambda values: ["--passes", "-o", "out.xml"],
    "trace": lambda values: ["-o", "out"],
}
"""Words without which a command is a usage error, or takes seconds."""

_FOR_IMAGES = ("mean", "scale", "layout", "color")

_TEXTS: dict[str | None, Callable[[_Values], str]] = {
    "shapes": _Values.shape,
    "named": lambda values: f"{values.pick(values.inputs)}={values.one_of('x.npy', 'inputs.npz', 'nothing.npy')}",
    "archive": lambda values: "inputs.npz",
    "inputs": lambda values: "inputs.npz",
    "mean": lambda values: values.one_of("1", "1,2,3"),
    "scale": lambda values: values.one_of("1", "1,2,3"),
    "layout": lambda values: values.one_of("NCHW", "NHWC", "NC", "X"),
    "target": lambda values: values.one_of("2024.0", "onnxruntime", "2026.1"),
    "select": lambda values: values.one_of("IR5", "IR502", "dims-differ"),
    "ignore": lambda values: values.one_of("IR5", "IR6", "nothing"),
    "reference": lambda values: values.path,
    "other": lambda values: values.path,
    "plain": lambda values: values.path,
    "b": lambda values: values.path,
    "rtols": lambda values: values.one_of("1e-3", "y=1e-3", "0"),
    "atols": lambda values: values.one_of("1e-3", "y=1e-3", "0"),
    "pairs": lambda values: f"{values.value}={values.value}",
    "metrics": lambda values: values.one_of("sqnr", "cosine", "nothing"),
    "block": lambda values: values.one_of("layers.*", "*", "["),
    "prompt": lambda values: "a",
    "ids": lambda values: values.one_of("1,2", "1"),
    "types": lambda values: values.one_of("Nothing", "Nothing*"),
    "states": lambda values: f"{values.pick(values.inputs)}={values.value}",
    "renamed": lambda values: f"{values.value}=other",
    "element_types": lambda values: f"{values.pick(values.inputs)}={values.one_of('f16', 'f32', 'i64', 'u8', 'x')}",
    "attributes": lambda values: f"{values.layer}.{values.one_of('axis', 'nothing')}={values.one_of('0', '9', 'x')}",
    "constants": lambda values: f"{values.layer}={values.one_of('1', 'x.npy', '[1,2]')}",
    "removed": lambda values: values.layer,
    "replaced": lambda values: (
        f"{values.layer}={values.one_of('ReLU()', 'Softmax(axis=9)', 'Clamp(min=0, max=1)', '(')}"
    ),
    "inserted": lambda values: f"{values.value}={values.one_of('ReLU()', 'Softmax(axis=9)', 'Nothing()')}",
    "added": lambda values: values.value,
    "weights": lambda values: values.one_of("int8_asym", "int4_sym", "model.bin", "model.bin", "nothing.bin"),
    "ratio": lambda values: values.one_of("0", "0.5", "1"),
    "begin": lambda values: values.value,
    "end": lambda values: values.value,
    "iteration": lambda values: values.one_of("0", "1", "last", "-1"),
    "names": lambda values: values.layer,
    "layers": lambda values: values.one_of("*", "nothing", values.layer),
    "engine": lambda values: values.one_of("onnxruntime", "nothing"),
    "options": lambda values: values.one_of("profile=1", "nothing=1", "inter_op_num_threads=1"),
    "passes": lambda values: values.one_of("-fuse_attention", "fold_constants", "nothing"),
    "timeout": lambda values: "5",
    "seconds": lambda values: "0.1",
    "repeat": lambda values: values.one_of("1", "2"),
    "max_seconds": lambda values: "5",
    "max_gib": lambda values: "1",
    "limit": lambda values: "2",
    "eos": lambda values: "1",
    "language": lambda values: "en",
    "stop": lambda values: "a",
    "prompts": lambda values: "a",
    "rows": lambda values: "1,2",
    "source": lambda values: ".",
}
"""Texts for options, by the name of their parameter."""


def run(random: Random, folder: Path) -> None:
    command = random.choice(_COMMANDS)
    invoke(*_words(command, random))


def _words(command: str, random: Random) -> list[str]:
    """Write a small valid model and its inputs to the current folder, and return words for the command."""
    values = _Values(random, write_model(random))
    words = [command]
    is_short = random.random() < 0.1
    parameters = main.get_command(click.Context(main), command).params  # type: ignore[union-attr]  # one of its own
    for parameter in parameters:
        if isinstance(parameter, click.Argument):
            words += values.argument(command, parameter)
    if command in _NEEDED and not is_short:
        words += _NEEDED[command](values)
    likely = random.choice([0.0, 0.05, 0.2])
    for parameter in parameters:
        if not isinstance(parameter, click.Option) or parameter.name in _LEFT_OUT or parameter.opts[-1] in words:
            continue
        chance = likely / 10 if parameter.name in _FOR_IMAGES else likely
        if random.random() < chance or (command == "conformance" and parameter.name == "types"):
            words += values.option(command, parameter) or []
    return words


def _read(path: str) -> Model | None:
    try:
        return read_model(path)
    except IRError:
        return None  # a model that its inputs complete


SUBJECT = Subject(run, cases=120)
