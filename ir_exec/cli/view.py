"""`ir-exec view`: a page with the network, for a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from ir_exec.cli.extensions import extension_option, load_extensions
from ir_exec.cli.files import write_bytes
from ir_exec.cli.terminal import echo, errors_as_messages
from ir_exec.view import html_of, view


@click.command("view")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--weights", metavar="FILE.bin", type=click.Path(), help="Weights other than those beside the .xml.")
@click.option("-o", "--output", metavar="PAGE.html", type=click.Path(), help="Where to write.  [default: MODEL.html]")
@click.option("--open", "opens", is_flag=True, help="Show the page in the browser.")
@extension_option
def command(model: str, weights: str | None, output: str | None, opens: bool, extensions: tuple[str, ...]) -> None:
    """Write a page that shows a network in a browser: one file that needs nothing else."""
    load_extensions(extensions)
    with errors_as_messages():
        page = html_of(view(model, weights=weights))
    path = output or f"{Path(model).stem}.html"
    write_bytes(path, page.encode("utf-8", "backslashreplace"))
    echo(f"{path}: {len(page) / 1024:,.0f} KiB")
    if opens:
        webbrowser.open(Path(path).absolute().as_uri())
