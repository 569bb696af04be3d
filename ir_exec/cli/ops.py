"""`ir-exec ops`: the operators and what each of them does."""

from __future__ import annotations

import difflib
from importlib.util import find_spec
from typing import NamedTuple

import click

from ir_exec.cli.config import extension_option, load_extensions
from ir_exec.cli.listing import attributes_of, inputs_of, name_of, operators_page, specification_of
from ir_exec.cli.options import complete_operators
from ir_exec.cli.terminal import Unusable, echo, show, styled, table
from ir_exec.ops import Op, registered
from ir_exec.ops.base.docstrings import description_of
from ir_exec.ops.base.registry import registered_extensions


@click.command("ops")
@click.argument("types", nargs=-1, metavar="[TYPE]...", shell_complete=complete_operators)
@click.option("--markdown", is_flag=True, help="Print the page docs/operators.md.")
@click.option("--stub", is_flag=True, help="Print the stub ir_exec/build/__init__.pyi.")
@click.option("--onnx", is_flag=True, help="List the operators of ONNX, and whether IR can say them.")
@extension_option
def command(types: tuple[str, ...], markdown: bool, stub: bool, onnx: bool, extensions: tuple[str, ...]) -> None:
    """List the operators, or tell about every version of some.

    `ir-exec ops Gather` tells about all of its versions, `ir-exec ops gather-8` about one. Operators of extensions are
    named by the `version` of their layers, as in `Standardize-extension`; the page has those of OpenVINO alone.

    Exit code: 0, or 2 for a type that does not exist.
    """
    if onnx:
        _list_onnx(types, markdown)
        return
    if markdown:
        click.echo(operators_page(), nl=False)
        return
    if stub:
        from ir_exec.build.stub import stub_text  # for those who work on ir_exec

        click.echo(stub_text(), nl=False)
        return
    load_extensions(extensions)
    listed = _listed()
    if not types:
        rows = table("Operators", operator="left", specification="left", inputs="left")
        for one in listed:
            inputs = ", ".join(f"{name}: {taken}" for name, taken in inputs_of(one.cls))
            rows.add_row(one.name, one.specification, inputs)
        show(rows)
        return
    for number, text in enumerate(types):
        for index, one in enumerate(_found(text, listed)):
            if number or index:
                echo("")
            _tell(one)


def _list_onnx(types: tuple[str, ...], markdown: bool) -> None:
    """The operators of ONNX of these names, or all."""
    if find_spec("onnx") is None:
        raise Unusable("the package onnx is not installed: pip install 'ir-exec[onnx]' installs it")
    from ir_exec.onnx.coverage import covered_operators, onnx_page  # few ask, and onnx takes long to import

    if markdown:
        click.echo(onnx_page(), nl=False)
        return
    wanted = {text.strip().lower() for text in types}
    listed = [one for one in covered_operators() if not wanted or one.name.lower() in wanted]
    missing = wanted - {one.name.lower() for one in listed}
    if missing:
        raise Unusable(f"ONNX has no operator {sorted(missing)[0]!r}")
    rows = table("Operators of ONNX", operator="left", versions="left", said="left")
    for one in listed:
        said = {"function": "yes", "body": "by its body", "no": "no"}[one.how]
        rows.add_row(one.shown, ", ".join(map(str, one.versions)), said)
    show(rows, f"{sum(one.how != 'no' for one in listed)} of {len(listed)} can be said in IR")


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
