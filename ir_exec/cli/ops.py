"""`ir-exec ops`: the operators and what each of them does."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.util import find_spec
from typing import NamedTuple

import click

from ir_exec.cli.config import extension_option, load_extensions
from ir_exec.cli.options import complete_operators, left_out, listed_rows, rows_of, top_option
from ir_exec.cli.tables import table
from ir_exec.cli.terminal import Unusable, echo, show, styled
from ir_exec.ops.base.docstrings import describe, description_of
from ir_exec.ops.base.operator import In, Op
from ir_exec.ops.base.registry import provided_extensions, registered, registered_extensions
from ir_exec.types import ALL, BOOLEAN, FLOAT, INTEGER, NUMERIC, ElementType

__all__ = ["attributes_of", "inputs_of", "name_of", "notes_of", "operators_page", "specification_of", "types_text"]


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
"""Sets of element types that have a name; the first holds every other set."""

_COMPARES = re.compile(r"OpenVINO|plugin|specification", re.IGNORECASE)

_SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z])")


def name_of(cls: type[Op]) -> str:
    """The type, and the opset that first holds this version: `Gather-8`."""
    return f"{cls.type_name}-{cls.since}"


def specification_of(cls: type[Op]) -> str:
    """The page of OpenVINO's documentation: `movement/gather-8`."""
    match = re.search(r"Specification:\s+([a-z0-9/-]+)", inspect.getdoc(cls) or "")
    assert match is not None, f"the docstring of {cls.__name__} names its specification"
    return match[1]


def types_text(types: frozenset[ElementType]) -> str:
    """A set of element types in a few words: `float`, `i32, i64`, `numeric except u1`."""
    name, group = min(
        ((name, group) for name, group in _NAMED.items() if types <= group), key=lambda named: len(named[1] - types)
    )
    missing = group - types
    if len(missing) > 4 or len(missing) >= len(types):
        return _names(types)
    return f"{name} except {_names(missing)}" if missing else name


def _names(types: Iterable[ElementType]) -> str:
    wanted = frozenset(types)
    return ", ".join(kind.name for kind in ElementType if kind in wanted)


def inputs_of(cls: type[Op]) -> list[tuple[str, str]]:
    """Each input as in a list of parameters, `[beta]` or `inputs...`, and the element types that it takes."""
    return [(_spelled(declared), _taken(declared)) for declared in cls.inputs]


def _spelled(declared: In) -> str:
    name = declared.name.rstrip("_") + ("..." if declared.variadic else "")
    return f"[{name}]" if declared.optional else name


def _taken(declared: In) -> str:
    return f"as {declared.like}" if declared.like else types_text(declared.types)


def attributes_of(cls: type[Op]) -> list[str]:
    """The attributes in the order of the class; optional ones in brackets."""
    return [field.attribute if field.is_required else f"[{field.attribute}]" for field in cls.fields()]


def notes_of(cls: type[Op]) -> list[str]:
    """Where OpenVINO departs from its specification, or the latter leaves something open: a note for each paragraph."""
    description = describe(cls)
    found = [note for paragraph in description.paragraphs for note in _note(paragraph)]
    for heading in description.sections:
        for name, text in description.entries(heading).items():
            found += [f"{'Errors' if heading == 'Raises' else name}: {note}" for note in _note(text)]
    return list(dict.fromkeys(found))


def _note(text: str) -> Iterator[str]:
    """Yield the sentences that compare, those between them, and the one before, which they refer to, as one text."""
    sentences = _SENTENCE_END.split(" ".join(text.split()))
    places = [place for place, sentence in enumerate(sentences) if _compares(sentence)]
    if places:
        yield " ".join(sentences[max(places[0] - 1, 0) : places[-1] + 1])


def _compares(sentence: str) -> bool:
    return bool(_COMPARES.search(re.sub(r"Specification: [a-z0-9/-]+\.?", "", sentence)))


def operators_page() -> str:
    """docs/operators.md."""
    classes = registered()
    types = len({cls.type_name for cls in classes})
    lines = [
        "# Operators",
        "",
        f"ir_exec has {len(classes)} versions of {types} operators: all that the opsets opset1 to opset17 hold.",
        "The number of a version is that of the opset in which it first appears; a layer of a later opset means the",
        "newest version that is not above it. `ir-exec ops TYPE` tells more about an operator.",
        "This page is made by `ir-exec ops --markdown`.",
        "",
        "Inputs in brackets are optional; dots stand for any number of inputs.",
        "",
        "| operator | specification | inputs and their element types |",
        "|---|---|---|",
    ]
    lines += [f"| {_linked(cls)} | {_page(cls)} | {_inputs(cls)} |" for cls in classes]
    lines += ["", "## Where OpenVINO departs from its specification", ""]
    lines += ["Notes on OpenVINO hold for 2026.4.1.", ""]
    for cls in classes:
        notes = notes_of(cls)
        if notes:
            lines += [f"### {name_of(cls)}", "", "\n\n".join(_escaped(note) for note in notes), ""]
    lines += ["## Operators of extensions", ""]
    lines += ["Those of openvino_tokenizers, and internal operators of OpenVINO: it writes these from compiled or", ""]
    lines[-1] = (
        "transformed models, and reads no file that holds one. The source of each is in the docstring of its class."
    )
    lines += ["", "| operator | version | inputs and their element types |", "|---|---|---|"]
    lines += [f"| {cls.type_name} | `{version}` | {_inputs(cls)} |" for version, cls in provided_extensions()]
    return "\n".join(lines).rstrip() + "\n"


def _linked(cls: type[Op]) -> str:
    name = name_of(cls)
    return f"[{name}](#{name.lower()})" if notes_of(cls) else name


def _page(cls: type[Op]) -> str:
    page = specification_of(cls)
    return f"[{page}]({_PAGES}{page}.rst)"


def _inputs(cls: type[Op]) -> str:
    return "; ".join(f"{name}: {taken}" for name, taken in inputs_of(cls))


def _escaped(text: str) -> str:
    """The text with Markdown's markup escaped, except in code between backquotes."""
    parts = text.split("`")
    return "`".join(part if index % 2 else re.sub(r"([*_<>\[\]|])", r"\\\1", part) for index, part in enumerate(parts))


@click.command("ops")
@click.argument("types", nargs=-1, metavar="[TYPE]...", shell_complete=complete_operators)
@click.option("--markdown", is_flag=True, help="Print the page docs/operators.md.")
@click.option("--stub", is_flag=True, help="Print the stub ir_exec/build/__init__.pyi.")
@click.option("--onnx", is_flag=True, help="List the operators of ONNX, and whether IR can say them.")
@extension_option
@top_option
@click.option("--all", "every", is_flag=True, help="In a terminal too, list every operator, not the first hundred.")
def command(
    types: tuple[str, ...],
    markdown: bool,
    stub: bool,
    onnx: bool,
    extensions: tuple[str, ...],
    top: int | None,
    every: bool,
) -> None:
    """List the operators, or tell about every version of some.

    `ir-exec ops Gather` tells about all of its versions, `ir-exec ops gather-8` about one. Operators of extensions are
    named by the `version` of their layers, as in `Standardize-extension`; the page has those of OpenVINO alone.

    Exit code: 0, or 2 for a type that does not exist.
    """
    most = rows_of(top, every, listed_rows())
    if onnx:
        _list_onnx(types, markdown, most)
        return
    if markdown:
        click.echo(operators_page(), nl=False)
        return
    if stub:
        click.echo(files("ir_exec.build").joinpath("__init__.pyi").read_text("utf-8"), nl=False)
        return
    load_extensions(extensions)
    listed = _listed()
    if not types:
        rows = table("Operators", operator="left", specification="left", inputs="left")
        for one in listed[:most]:
            inputs = ", ".join(f"{name}: {taken}" for name, taken in inputs_of(one.cls))
            rows.add_row(one.name, one.specification, inputs)
        show(rows, *left_out(len(listed), most))
        return
    for number, text in enumerate(types):
        for index, one in enumerate(_found(text, listed)):
            if number or index:
                echo("")
            _tell(one)


def _list_onnx(types: tuple[str, ...], markdown: bool, most: int | None) -> None:
    """The operators of ONNX of these names, or all."""
    if find_spec("onnx") is None:
        raise Unusable("the package onnx is not installed: pip install 'ir-exec[onnx]' installs it")
    from ir_exec.onnx.coverage import (
        covered_operators,
        onnx_page,
        unsayable_operators,
    )  # few ask, and onnx takes long to import

    if markdown:
        click.echo(onnx_page(), nl=False)
        return
    wanted = {text.strip().lower() for text in types}
    listed = [one for one in covered_operators() if not wanted or one.name.lower() in wanted]
    missing = wanted - {one.name.lower() for one in listed}
    if missing:
        raise Unusable(f"ONNX has no operator {sorted(missing)[0]!r}")
    rows = table("Operators of ONNX", operator="left", versions="left", said="left")
    for one in listed[:most]:
        said = {"function": "yes", "body": "by its body", "no": "no"}[one.how]
        rows.add_row(one.shown, ", ".join(map(str, one.versions)), said)
    unsayable = unsayable_operators() if not wanted else []
    show(
        rows,
        *left_out(len(listed), most),
        f"{sum(one.how != 'no' for one in listed)} of {len(listed)} can be said in IR",
        *(f"not written as ONNX: {name}: {reason}" for name, reason in unsayable),
    )


class _Operator(NamedTuple):
    """A version of an operator, and what stands for it in lists."""

    name: str
    specification: str
    cls: type[Op]


def _listed() -> list[_Operator]:
    """All operators of OpenVINO, and behind them those of extensions."""
    known = [_Operator(name_of(cls), specification_of(cls), cls) for cls in registered()]
    own = [_Operator(f"{cls.type_name}-{version}", "(extension)", cls) for version, cls in registered_extensions()]
    return known + own


def _found(text: str, listed: list[_Operator]) -> list[_Operator]:
    """All versions of a type, or the version with this number; case does not matter."""
    wanted = text.strip().lower()
    found = [one for one in listed if wanted in (one.cls.type_name.lower(), one.name.lower())]
    if not found:
        spellings = {one.cls.type_name.lower(): one.cls.type_name for one in listed}
        near = difflib.get_close_matches(wanted.rpartition("-")[0] or wanted, spellings, n=1)
        hint = f"; did you mean {spellings[near[0]]}?" if near else "; `ir-exec ops` lists all"
        raise Unusable(f"there is no operator {text!r}{hint}")
    return found


def _tell(one: _Operator) -> None:
    cls = one.cls
    echo(styled("message", one.name))
    echo(description_of(cls))
    told = {
        "inputs": "; ".join(f"{name}: {taken}" for name, taken in inputs_of(cls)),
        "outputs": ", ".join(cls.outputs),
        "attributes": ", ".join(attributes_of(cls)),
    }
    echo("")
    for heading, text in told.items():
        echo(f"{styled('frame', f'{heading:10}')}  {text or 'none'}")
