"""Pages of models of 1,000 and 5,000 layers: the times for writing and opening them, and the frame rate of panning.

A page is made in memory and compared with `check_model` on the same file, which is part of the work. It is then opened
in an installed Chromium, without a graphics card, for the time from opening to the first drawn graph and the frames per
second while the graph is panned.

    python -m benchmarks.view [--seconds 3] [--runs 5]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import ir_exec
from benchmarks.measure import measure_pair, print_table, write_json
from ir_exec.view import html_of, view
from tests.helpers.deep_network import deep_network

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")

FRAMES = """async ({seconds, isWhole}) => {
    const scene = page.scenes[0];
    if (isWhole) {
        for (const group of scene.network.allGroups()) group.isOpen = true;
        scene.layOut();
        scene.fit();
    }
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    const [first, start] = [scene.frames, performance.now()];
    for (let step = 0; performance.now() - start < 1000 * seconds; step += 1) {
        scene.pan(step % 2 ? 3 : -5, step % 120 < 60 ? -7 : 7);
        await frame();
    }
    return (1000 * (scene.frames - first)) / (performance.now() - start);
}"""


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and file of each model: with names in groups of modules, and with flat names."""
    for layers in (1000, 5000):
        for grouped in (True, False):
            name = f"{layers:,} layers, {'groups' if grouped else 'flat'}"
            path = folder / f"{layers}{grouped}.xml"
            path.write_bytes(deep_network(layers, grouped=grouped))
            yield name, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds per figure")
    parser.add_argument("--runs", type=int, default=5, help="openings of each page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        network_files = list(files(Path(folder)))
        rows = []
        for name, path in network_files:
            page = html_of(view(path))
            path.with_suffix(".html").write_text(page)
            print(f"{name}: {len(page) / 1e6:.2f} MB", flush=True)

            def make_page(path: Path = path) -> object:
                return html_of(view(path))

            def check_path(path: Path = path) -> object:
                return ir_exec.check_model(path)

            rows.append(measure_pair(name, make_page, check_path, seconds=arguments.seconds))
        print("\nmaking a page: the ratio is the time of check_model divided by its time")
        print_table(rows, ours="view", theirs="check")
        write_json("view", rows)
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
        if path is None:
            print("no Chromium is installed: pages are not opened")
            return
        print("\nopening a page")
        for name, file in network_files:
            for line in _open_page(path, file.with_suffix(".html"), arguments):
                print(f"{name}: {line}", flush=True)


def _open_page(browser: str, file: Path, arguments: Any) -> Iterator[str]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=list(ARGUMENTS))
        times = []
        for _ in range(arguments.runs):
            tab = launched.new_page(viewport={"width": 1280, "height": 800})
            start = perf_counter()
            tab.goto(file.as_uri())
            tab.wait_for_selector("canvas[data-drawn]")
            times.append(perf_counter() - start)
            if len(times) < arguments.runs:
                tab.close()
        yield f"drawn after {median(times):.2f} s (from {min(times):.2f} to {max(times):.2f})"
        for is_whole, what in ((False, "as it opens"), (True, "zoomed to fit")):
            rate = tab.evaluate(FRAMES, {"seconds": arguments.seconds, "isWhole": is_whole})
            yield f"{rate:.0f} frames per second while panning, {what}"
        launched.close()


if __name__ == "__main__":
    main()
