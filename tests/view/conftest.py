"""A browser that is installed, and pages in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ir_exec.view import PageView, html_of

Opens = Callable[..., Any]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; IR_EXEC_CHROMIUM names one that is not on the path."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = os.environ.get("IR_EXEC_CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium is installed: pages are not looked at in a browser")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def idle_tabs(browser: Any) -> list[Any]:
    """Tabs of the usual size that no test is in: most of the time of a new one goes into its process."""
    return []


@pytest.fixture
def open_page(browser: Any, idle_tabs: list[Any], tmp_path: Path) -> Iterator[Opens]:
    """Opens a page from its data or its text, and waits until its network is drawn.

    In the end the console must be empty, and no request sent to the network, unless a page need not
    be quiet. A page that need not, or has options, gets a tab of its own.
    """
    said: list[str] = []
    asked: list[str] = []
    hear: dict[str, Callable[[Any], None]] = {
        "console": lambda message: said.append(message.text),
        "request": lambda request: asked.append(request.url),
        "pageerror": lambda error: said.append(str(error)),
    }
    lent, contexts = [], []

    def opens(
        page: PageView | str, fragment: str = "", *, is_drawn: bool = True, is_quiet: bool = True, **options: Any
    ) -> Any:
        file = tmp_path / f"page{len(lent) + len(contexts)}.html"
        text = page if isinstance(page, str) else html_of(page)
        file.write_bytes(text.encode("utf-8", "backslashreplace"))
        if is_quiet and not options and idle_tabs:
            lent.append(tab := idle_tabs.pop())
        else:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
            tab = context.new_page()
            if is_quiet and not options:
                lent.append(tab)
            else:
                contexts.append(context)
        for event in hear if is_quiet else ("pageerror",):
            tab.on(event, hear[event])
        tab.goto(file.as_uri() + fragment)
        if is_drawn:
            tab.wait_for_selector("html[data-ready]")
            tab.wait_for_selector("canvas[data-drawn]")
        return tab

    yield opens
    for context in contexts:
        context.close()
    for tab in lent:
        for event, listener in hear.items():
            tab.remove_listener(event, listener)
        tab.mouse.move(-1, -1)
        tab.goto("about:blank")
        idle_tabs.append(tab)
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []
