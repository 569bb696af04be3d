"""Make the pictures of the documentation from real runs: `python docs/pictures/make.py`, with Chromium installed.

The terminal is drawn by rich, the page by Chromium.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from click.testing import CliRunner
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

from ir_exec.cli import main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COLUMNS = 108


def terminal(name: str, command: str, lines: int) -> None:
    """The first lines of what a command prints, as an SVG."""
    result = CliRunner(env={"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}).invoke(main, shlex.split(command), color=True)
    shown = result.output.rstrip().splitlines()[:lines]
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115  # it lives as long as this does
    console.print(Text("$ ", style="bold green") + Text(f"ir-exec {command}", style="bold"))
    console.print(Text.from_ansi("\n".join(shown)))
    drawn = console.export_svg(title="ir-exec")
    # The typeface would be fetched from elsewhere; any of fixed width does.
    (HERE / f"{name}.svg").write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL))


def page(name: str, command: str, address: str = "", height: int = 720, look: str = "") -> None:
    """A page as it opens in a browser, as a PNG; `look` is a label of the menu of colors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        result = CliRunner().invoke(main, [*shlex.split(command), "-o", str(path)])
        assert path.exists(), result.output
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            view = browser.new_page(viewport={"width": 1200, "height": height}, color_scheme="light")
            view.goto(f"{path.as_uri()}{address}")
            if look:
                view.get_by_label("Colors").select_option(label=look)
            view.wait_for_function("document.fonts.status === 'loaded'")
            view.wait_for_timeout(1000)
            view.screenshot(path=HERE / f"{name}.png")
            browser.close()


def pictures() -> None:
    """All of them, in the root of the repository, where the samples are."""
    os.chdir(ROOT)
    terminal("check", "check samples/broken.xml", 25)
    page("view", "view samples/bert.xml --inputs samples/bert.inputs.npz", "#layer=45")
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "converted.xml"
        wrong.write_text(Path("samples/gnn_step.xml").read_text().replace('reduction="sum"', 'reduction="max"'))
        shutil.copy("samples/gnn_step.bin", wrong.with_suffix(".bin"))
        report = Path(folder) / "report.json"
        inputs = "--inputs samples/gnn_step.inputs.npz"
        compare = f"compare {wrong} --with samples/gnn_step.xml {inputs} --format json --output {report}"
        CliRunner().invoke(main, shlex.split(compare))
        page("compare", f"view {wrong} --compare {report}", "#layer=12")
        profile = Path(folder) / "profile.json"
        CliRunner().invoke(main, ["profile", "samples/bert.xml", "--format", "json", "--output", str(profile)])
        page("profile", f"view samples/bert.xml --profile {profile}")


if __name__ == "__main__":
    pictures()
