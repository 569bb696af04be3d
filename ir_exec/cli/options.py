"""Options of several commands: shapes, formats, tolerances, rows of tables, and shell completion.

Shells complete rules, operators and releases with functions of this module, and paths by the type of the parameter.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ir_exec.check.what_if import join_shapes
from ir_exec.cli.files import read_json, read_toml
from ir_exec.cli.output.terminal import Unusable, terminal_width
from ir_exec.errors import IRError
from ir_exec.hints import complete_path
from ir_exec.hub_cache import cached_path, main_model
from ir_exec.ir.urls import is_url
from ir_exec.model import ModelPort, find_port
from ir_exec.readers import ENDINGS
from ir_exec.report.text import format_remainder
from ir_exec.types import MOST_AXES, Shape

if TYPE_CHECKING:
    from ir_exec.ops import Op

__all__ = [
    "MODEL",
    "MODEL_OR_FOLDER",
    "MODEL_OR_PIPELINE",
    "MOST_RUNS",
    "MOST_SECONDS",
    "REFERENCE",
    "CommaSeparated",
    "FiniteRange",
    "ModelPath",
    "ToleranceType",
    "complete_operators",
    "complete_releases",
    "complete_rules",
    "format_option",
    "hint_option",
    "left_out",
    "listed_rows",
    "precision_option",
    "read_shapes",
    "read_tolerances",
    "rows_of",
    "shape_option",
    "shapes_by_input",
    "timeout_option",
    "tolerances_of",
    "top_option",
    "weight_mode_option",
    "weights_option",
]

_RANKED_ROWS = 20
"""Default rows of a ranked table."""

MOST_SECONDS = 10**6
"""Maximum of a time limit, which is below the limits of operating systems."""

MOST_RUNS = 10**6
"""Maximum number of runs for a measurement."""

_LARGEST_FLOAT = sys.float_info.max

_LISTED_ROWS = 100
"""Default rows of a list in a terminal."""


def shape_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --shape; its texts are the argument `shapes`."""
    note = "NAME is optional for a single input, NAME=1,3 is also accepted"
    text = f"{help}; {note}; repeatable."
    return click.option("--shape", "shapes", multiple=True, metavar='"NAME[1,?,2..8]"', help=text)


weights_option = click.option(
    "--weights", metavar="FILE.bin", type=click.Path(), help="Weights file.  [default: the .bin next to the .xml]"
)


def format_option(*formats: str, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --format, `text` by default; its value is the argument `output_format`."""
    choices = click.Choice(["text", *formats])
    return click.option("--format", "output_format", type=choices, default="text", show_default=True, help=help)


def hint_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --hint, OpenVINO's performance mode."""
    return click.option(
        "--hint",
        type=click.Choice(["accuracy", "performance"]),
        default=default,
        show_default=True,
        help="For openvino: compute in f32, or in the precision of its choice.",
    )


def timeout_option(default: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --timeout of a child process that runs another runtime."""
    return click.option(
        "--timeout",
        type=FiniteRange(0.1, MOST_SECONDS),
        default=default,
        show_default=True,
        help="Seconds before a request to the other runtime fails.",
    )


precision_option = click.option(
    "--precision",
    type=click.Choice(["f32", "file"]),
    default="f32",
    show_default=True,
    help="Compute f16 and bf16 in f32, or in the types of the file.",
)

weight_mode_option = click.option(
    "--weight-mode",
    type=click.Choice(["auto", "expand", "keep"]),
    default="auto",
    show_default=True,
    help="Compute expanded weights once, or keep weights compressed; auto: expand them where this pays off.",
)


def read_shapes(texts: Sequence[str]) -> dict[str, Shape] | None:
    """Parse shapes by name, "" for a shape without a name. Return None without texts."""
    try:
        shapes = join_shapes(texts) if texts else None
    except IRError as error:
        raise Unusable(f"--shape: {error.message}") from None
    for name, shape in (shapes or {}).items():
        if shape.rank is not None and shape.rank > MOST_AXES:
            raise Unusable(f"--shape: {name or 'the input'} has {shape.rank} dims, expected at most {MOST_AXES}")
    return shapes


def shapes_by_input(texts: Sequence[str], ports: Sequence[ModelPort]) -> dict[str, Shape]:
    """Parse shapes by the names of these inputs."""
    shapes: dict[str, Shape] = {}
    for name, shape in (read_shapes(texts) or {}).items():
        try:
            port = ports[0 if name == "" and len(ports) == 1 else find_port(ports, name)]
        except IRError as error:
            raise Unusable("; ".join(filter(None, (f"--shape: {error.message}", error.hint)))) from None
        if port.name in shapes:
            raise Unusable(f"--shape: input {port.name!r} has two shapes, expected one")
        shapes[port.name] = shape
    return shapes


top_option = click.option("--top", type=click.IntRange(min=1), metavar="N", help="In text, show N rows per table.")


def rows_of(top: int | None, every: bool, default: int | None = _RANKED_ROWS) -> int | None:
    """Return the number of rows for --top and --all, None for all rows."""
    if top is not None and every:
        raise Unusable("--top and --all are both given, expected one of them")
    return None if every else default if top is None else top


def listed_rows() -> int | None:
    """Return the default number of rows of a list, None for all rows without a terminal."""
    return None if terminal_width() is None else _LISTED_ROWS


def left_out(count: int, most: int | None, noun: str = "") -> list[str]:
    """Return a line with the number of omitted rows, nothing if all rows are shown."""
    lines = [] if most is None else format_remainder(count, most, noun=noun)
    return [f"{line}; --all shows all, --top N shows N" for line in lines]


class ModelPath(click.Path):
    """The path of a model; a path without a file is completed with .xml or .onnx if exactly one such file exists.

    A repository in the cache of Hugging Face (`org/name`) is its main model, or its folder.

    Args:
        endings: Suffixes for completion.
        exact: Texts that are never completed.
        takes_folder: Returns True for a folder that the command reads as a whole.
    """

    def __init__(
        self,
        endings: Sequence[str] = ENDINGS,
        exact: Sequence[str] = (),
        takes_folder: Callable[[str], bool] = lambda folder: False,
    ) -> None:
        super().__init__()
        self._endings = endings
        self._exact = exact
        self._takes_folder = takes_folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = os.fsdecode(super().convert(value, param, ctx))
        cached = None if path in self._exact else cached_path(path)
        if cached is not None:
            is_model = os.path.isfile(cached) or self._takes_folder(cached)
            return cached if is_model else main_model(cached) or cached
        matches = complete_path(path, self._endings) if path not in self._exact and not is_url(path) else []
        return matches[0] if len(matches) == 1 else path


def _has_tokenizer(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "openvino_tokenizer.xml"))


MODEL = ModelPath()
MODEL_OR_PIPELINE = ModelPath(takes_folder=_has_tokenizer)
MODEL_OR_FOLDER = ModelPath(takes_folder=lambda folder: True)
REFERENCE = ModelPath(exact=("openvino", "onnxruntime"), takes_folder=_has_tokenizer)


class FiniteRange(click.FloatRange):
    """Finite floats in a range; click accepts NaN and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class CommaSeparated(click.ParamType):  # type: ignore[type-arg]  # click before 8.2 has no argument here
    """Several of some words, separated by commas."""

    name = "list"

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        for part in parts:
            if part not in self._words:
                self.fail(f"{part!r} is not one of {', '.join(self._words)}", parameter, context)
        return tuple(dict.fromkeys(parts))


class ToleranceType(click.ParamType[tuple[str, float]]):
    """A number for all outputs, or `NAME=NUMBER` for one, as a pair of the name ("*" for all) and the number."""

    name = "[output=]number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).rpartition("=")
        return name or "*", FiniteRange(min=0).convert(text, param, ctx)


def tolerances_of(
    options: Sequence[tuple[str, float]], from_file: Mapping[str, float]
) -> float | dict[str, float] | None:
    """Return tolerances in the format of `compare`; options override the file."""
    tolerances = {**from_file, **dict(options)}
    if set(tolerances) <= {"*"}:
        return tolerances.get("*")
    return tolerances


def read_tolerances(path: str | None) -> tuple[dict[str, float], dict[str, float]]:
    """Return the relative and absolute tolerances of a JSON or TOML file: `{"OUTPUT or *": {"rtol": X, "atol": X}}`.

    Raises:
        Unusable: For unreadable files and other content.
    """
    if path is None:
        return {}, {}
    loaded = read_toml(path, "the tolerances") if path.endswith(".toml") else read_json(path, "the tolerances")
    tolerances: tuple[dict[str, float], dict[str, float]] = {}, {}
    for name, limits in loaded.items() if isinstance(loaded, dict) else [("", loaded)]:
        if not isinstance(limits, dict) or not limits or set(limits) - {"rtol", "atol"}:
            shown = repr(limits)[:60]
            raise Unusable(f'{path}: {name!r} is {shown}, expected {{"rtol": number, "atol": number}}')
        for tolerances_of_key, key in zip(tolerances, ("rtol", "atol"), strict=True):
            if key in limits:
                number = limits[key]
                is_number = isinstance(number, int | float) and not isinstance(number, bool)
                if not is_number or not 0 <= number <= _LARGEST_FLOAT:
                    raise Unusable(f"{path}: {key} of {name!r} is {number!r}, expected a finite number of at least 0")
                tolerances_of_key[name] = float(number)
    return tolerances


def complete_rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete codes, names and groups after the last comma."""
    from ir_exec.check import GROUPS, RULES

    before, comma, last = incomplete.rpartition(",")
    prefix = last.lower()
    summaries = {
        **{rule.name: rule.summary for rule in RULES.values()},
        **{str(rule.code): rule.summary for rule in RULES.values()},
        **{group.replace(" ", "-"): f"the rules IR{number}.." for number, group in GROUPS.items()},
    }
    return [
        CompletionItem(f"{before}{comma}{name}", help=summary)
        for name, summary in summaries.items()
        if name.lower().startswith(prefix)
    ]


def versioned_name(cls: type[Op]) -> str:
    """Return the type with the first opset of this version: `Gather-8`."""
    return f"{cls.type_name}-{cls.since}"


def complete_operators(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete operator types, and versions after a hyphen: `Gather`, `Gather-8`."""
    from ir_exec.ops import registered

    classes = registered()
    names = dict.fromkeys(versioned_name(cls) if "-" in incomplete else cls.type_name for cls in classes)
    return [CompletionItem(name) for name in names if name.lower().startswith(incomplete.lower())]


def complete_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the releases of OpenVINO."""
    from ir_exec.check.releases import known_releases

    return [CompletionItem(str(release)) for release in known_releases() if str(release).startswith(incomplete)]
