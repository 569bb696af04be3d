"""`ir-exec ops`: the operators and what each of them does."""

from __future__ import annotations

import difflib

import click

from ir_exec.cli.completion import complete_operators
from ir_exec.cli.listing import attributes_of, inputs_of, name_of, operators_page, specification_of
from ir_exec.cli.terminal import Unusable, echo, show, styled, table
from ir_exec.ops import Op, registered
from ir_exec.ops.base.docstrings import description_of


@click.command("ops")
@click.argument("types", nargs=-1, metavar="[TYPE]...", shell_complete=complete_operators)
@click.option("--markdown", is_flag=True, help="Print the page docs/operators.md.")
@click.option("--stub", is_flag=True, help="Print the stub ir_exec/build/__init__.pyi.")
def command(types: tuple[str, ...], markdown: bool, stub: bool) -> None:
    """List the operators, or tell about every version of some.

    `ir-exec ops Gather` tells about all of its versions, `ir-exec ops gather-8` about one.

    Exit code: 0, or 2 for a type that does not exist.
    """
    if markdown:
        click.echo(operators_page(), nl=False)
        return
    if stub:
        from ir_exec.build.stub import stub_text  # for those who work on ir_exec

        click.echo(stub_text(), nl=False)
        return
    if not types:
        listed = table("Operators", operator="left", specification="left", inputs="left")
        for cls in registered():
            inputs = ", ".join(f"{name}: {taken}" for name, taken in inputs_of(cls))
            listed.add_row(name_of(cls), specification_of(cls), inputs)
        show(listed)
        return
    for number, text in enumerate(types):
        for index, cls in enumerate(_found(text)):
            if number or index:
                echo("")
            _tell(cls)


def _found(text: str) -> list[type[Op]]:
    """All versions of a type, or the version with this number; case does not matter."""
    wanted = text.strip().lower()
    classes = registered()
    found = [cls for cls in classes if wanted in (cls.type_name.lower(), name_of(cls).lower())]
    if not found:
        spellings = {cls.type_name.lower(): cls.type_name for cls in classes}
        near = difflib.get_close_matches(wanted.rpartition("-")[0] or wanted, spellings, n=1)
        hint = f"; did you mean {spellings[near[0]]}?" if near else "; `ir-exec ops` lists all"
        raise Unusable(f"there is no operator {text!r}{hint}")
    return found


def _tell(cls: type[Op]) -> None:
    echo(styled("message", name_of(cls)))
    echo(description_of(cls))
    told = {
        "inputs": "; ".join(f"{name}: {taken}" for name, taken in inputs_of(cls)),
        "outputs": ", ".join(cls.outputs),
        "attributes": ", ".join(attributes_of(cls)),
    }
    echo("")
    for heading, text in told.items():
        echo(f"{styled('frame', f'{heading:10}')}  {text or 'none'}")
