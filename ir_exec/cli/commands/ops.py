"""`ir-exec ops`: the operators and their descriptions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.util import find_spec
from typing import NamedTuple

import click

from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.options import complete_operators, left_out, listed_rows, rows_of, top_option, versioned_name
from ir_exec.cli.output.terminal import Unusable, echo, show, style_text, write
from ir_exec.hints import closest_names, did_you_mean, install_hint
from ir_exec.ops.base.docstrings import describe, description_of
from ir_exec.ops.base.operator import In, Op
from ir_exec.ops.base.registry import provided_extensions, registered, registered_extensions
from ir_exec.report.tables import table
from ir_exec.types import ALL, BOOLEAN, FLOAT, INTEGER, NUMERIC, ElementType

__all__ = ["attributes_of", "inputs_of", "notes_of", "operators_page", "specification_of", "types_text"]


_PAGES = (
    "https://github.com/openvinotoolkit/openvino/blob/master/docs/articles_en/documentation/openvino-ir-format/"
    "operation-sets/operation-specs/"
)

_NAMED = {
    "any": ALL,
    "numeric or boolean": NUMERIC | BOOLEAN,
    "numeric": NUMERIC,
    "integer or boolean": INTEGER | BOOLEAN,
    "integer": INTEGER,
    "float": FLOAT,
}
"""Named sets of element types; the first contains all others."""

_COMPARES = re.compile(r"OpenVINO|plugin|specification", re.IGNORECASE)

_SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z])")


def specification_of(cls: type[Op]) -> str:
    """Return the page in OpenVINO's documentation: `movement/gather-8`."""
    match = re.search(r"Specification:\s+([a-z0-9/-]+)", inspect.getdoc(cls) or "")
    assert match is not None, f"the docstring of {cls.__name__} has a specification"
    return match[1]


def types_text(types: frozenset[ElementType]) -> str:
    """Return a short text for a set of element types: `float`, `i32, i64`, `numeric except u1`."""
    name, group = min(
        ((name, group) for name, group in _NAMED.items() if types <= group), key=lambda named: len(named[1] - types)
    )
    missing = group - types
    if len(missing) > 4 or len(missing) >= len(types):
        return _names(types)
    return f"{name} except {_names(missing)}" if missing else name


def _names(types: Iterable[ElementType]) -> str:
    supported = frozenset(types)
    return ", ".join(element_type.name for element_type in ElementType if element_type in supported)


def inputs_of(cls: type[Op]) -> list[tuple[str, str]]:
    """Return the inputs as in a list of parameters, `[beta]` or `inputs...`, with their element types."""
    return [(_input_name(declared), _accepted_types(declared)) for declared in cls.inputs]


def _input_name(declared: In) -> str:
    name = declared.name.rstrip("_") + ("..." if declared.variadic else "")
    return f"[{name}]" if declared.optional else name


def _accepted_types(declared: In) -> str:
    return f"as {declared.like}" if declared.like else types_text(declared.types)


def attributes_of(cls: type[Op]) -> list[str]:
    """Return the attributes in the order of the class, optional ones in brackets."""
    return [field.attribute if field.is_required else f"[{field.attribute}]" for field in cls.fields()]


def notes_of(cls: type[Op]) -> list[str]:
    """Return notes on differences between OpenVINO and its specification, and on gaps in it, one per paragraph."""
    description = describe(cls)
    notes = [note for paragraph in description.paragraphs for note in _note(paragraph)]
    for heading in description.sections:
        for name, text in description.entries(heading).items():
            notes += [f"{'Errors' if heading == 'Raises' else name}: {note}" for note in _note(text)]
    return list(dict.fromkeys(notes))


def _note(text: str) -> Iterator[str]:
    """Yield the first to last comparing sentence of a paragraph, and the sentence before, for its references."""
    sentences = _SENTENCE_END.split(" ".join(text.split()))
    places = [position for position, sentence in enumerate(sentences) if _compares(sentence)]
    if places:
        yield " ".join(sentences[max(places[0] - 1, 0) : places[-1] + 1])


def _compares(sentence: str) -> bool:
    return bool(_COMPARES.search(re.sub(r"Specification: [a-z0-9/-]+\.?", "", sentence)))


def operators_page() -> str:
    """Return the page docs/operators.md."""
    classes = registered()
    types = len({cls.type_name for cls in classes})
    lines = [
        "# Operators",
        "",
        f"ir_exec implements {len(classes)} versions of {types} operators, all of opset1 to opset17. The number of a",
        "version is the opset that introduced it; a layer of a later opset uses the newest version up to that opset.",
        "`ir-exec ops TYPE` describes an operator. This page is the output of `ir-exec ops --markdown`.",
        "",
        "Inputs in brackets are optional, and dots mark a variable number of inputs.",
        "",
        "| operator | specification | inputs and their element types |",
        "|---|---|---|",
    ]
    lines += [f"| {_link(cls)} | {_page(cls)} | {_inputs(cls)} |" for cls in classes]
    lines += ["", "## Differences between OpenVINO and its specification", ""]
    lines += ["All notes refer to OpenVINO 2026.4.1.", ""]
    for cls in classes:
        notes = notes_of(cls)
        if notes:
            lines += [f"### {versioned_name(cls)}", "", "\n\n".join(_escape(note) for note in notes), ""]
    lines += ["## Operators of extensions", ""]
    lines += [
        "The operators of openvino_tokenizers, and internal operators of OpenVINO. OpenVINO writes the latter for",
        "compiled or transformed models, but does not read them. The docstring of each class names its source.",
    ]
    lines += ["", "| operator | version | inputs and their element types |", "|---|---|---|"]
    lines += [f"| {cls.type_name} | `{version}` | {_inputs(cls)} |" for version, cls in provided_extensions()]
    return "\n".join(lines).rstrip() + "\n"


def _link(cls: type[Op]) -> str:
    name = versioned_name(cls)
    return f"[{name}](#{name.lower()})" if notes_of(cls) else name


def _page(cls: type[Op]) -> str:
    page = specification_of(cls)
    return f"[{page}]({_PAGES}{page}.rst)"


def _inputs(cls: type[Op]) -> str:
    return "; ".join(f"{name}: {accepted}" for name, accepted in inputs_of(cls))


def _escape(text: str) -> str:
    """Escape Markdown outside of code in backquotes."""
    parts = text.split("`")
    return "`".join(part if index % 2 else re.sub(r"([*_<>\[\]|])", r"\\\1", part) for index, part in enumerate(parts))


@click.command("ops")
@click.argument("types", nargs=-1, metavar="[TYPE]...", shell_complete=complete_operators)
@click.option("--markdown", is_flag=True, help="Print the page docs/operators.md.")
@click.option("--stub", is_flag=True, help="Print the stub ir_exec/build/__init__.pyi.")
@click.option("--onnx", is_flag=True, help="List the operators of ONNX and their support.")
@extension_options
@top_option
@click.option("--all", "every", is_flag=True, help="In text, list every operator.  [default: 100 in a terminal]")
def command(
    types: tuple[str, ...],
    markdown: bool,
    stub: bool,
    onnx: bool,
    extensions: tuple[str, ...],
    top: int | None,
    every: bool,
) -> None:
    """List the operators, or describe some of them.

    `ir-exec ops Gather` describes all versions of an operator, `ir-exec ops gather-8` one. The names of custom
    operators end in the `version` of their layers, as in `Standardize-extension`.

    Exit code: 0 on success, 2 for an unknown type.
    """
    most = rows_of(top, every, listed_rows())
    if onnx:
        _list_onnx(types, markdown, most)
        return
    if markdown:
        write(operators_page(), nl=False)
        return
    if stub:
        write(files("ir_exec.build").joinpath("__init__.pyi").read_text("utf-8"), nl=False)
        return
    load_extensions(extensions)
    listed = _list_operators()
    if not types:
        rows = table("Operators", operator="left", specification="left", inputs="left")
        for operator in listed[:most]:
            inputs = ", ".join(f"{name}: {accepted}" for name, accepted in inputs_of(operator.cls))
            rows.add_row(operator.name, operator.specification, inputs)
        show(rows, *left_out(len(listed), most))
        return
    for number, text in enumerate(types):
        for index, operator in enumerate(_find_operators(text, listed)):
            if number or index:
                echo("")
            _tell(operator)


def _list_onnx(types: tuple[str, ...], markdown: bool, most: int | None) -> None:
    """List the operators of ONNX with these names, or all."""
    if find_spec("onnx") is None:
        raise Unusable(f"the package onnx is not installed: {install_hint('onnx')}")
    from ir_exec.onnx.lowering.coverage import (
        covered_operators,
        onnx_page,
        operators_not_representable,
    )  # imported for --onnx only, because onnx imports slowly

    if markdown:
        write(onnx_page(), nl=False)
        return
    requested = {text.strip().lower() for text in types}
    listed = [operator for operator in covered_operators() if not requested or operator.name.lower() in requested]
    missing = requested - {entry.name.lower() for entry in listed}
    if missing:
        raise Unusable(f"ONNX has no operator {sorted(missing)[0]!r}; `ir-exec ops --onnx` lists all operators")
    rows = table("Operators of ONNX", operator="left", versions="left", supported="left")
    for entry in listed[:most]:
        support = {"function": "yes", "body": "by its function body", "no": "no"}[entry.how]
        rows.add_row(entry.shown, ", ".join(map(str, entry.versions)), support)
    not_representable = operators_not_representable() if not requested else []
    show(
        rows,
        *left_out(len(listed), most),
        f"{sum(entry.how != 'no' for entry in listed)} of {len(listed)} are supported",
        *(f"not exported to ONNX: {name}: {reason}" for name, reason in not_representable),
    )


class _Operator(NamedTuple):
    """A version of an operator, with its name and specification in lists."""

    name: str
    specification: str
    cls: type[Op]


def _list_operators() -> list[_Operator]:
    """Return all operators of OpenVINO, then those of extensions."""
    of_openvino = [_Operator(versioned_name(cls), specification_of(cls), cls) for cls in registered()]
    own = [_Operator(f"{cls.type_name}-{version}", "(extension)", cls) for version, cls in registered_extensions()]
    return of_openvino + own


def _find_operators(text: str, listed: list[_Operator]) -> list[_Operator]:
    """Return all versions of a type, or the version with this number, ignoring case."""
    requested = text.strip().lower()
    matches = [operator for operator in listed if requested in (operator.cls.type_name.lower(), operator.name.lower())]
    if not matches:
        near = closest_names(requested.rpartition("-")[0] or requested, [operator.cls.type_name for operator in listed])
        hint = did_you_mean(near) or "`ir-exec ops` lists all operators"
        raise Unusable(f"there is no operator {text!r}; {hint}")
    return matches


def _tell(operator: _Operator) -> None:
    cls = operator.cls
    echo(style_text("message", operator.name))
    echo(description_of(cls))
    sections = {
        "inputs": "; ".join(f"{name}: {accepted}" for name, accepted in inputs_of(cls)),
        "outputs": ", ".join(cls.outputs),
        "attributes": ", ".join(attributes_of(cls)),
    }
    echo("")
    for heading, text in sections.items():
        echo(f"{style_text('frame', f'{heading:10}')}  {text or 'none'}")
