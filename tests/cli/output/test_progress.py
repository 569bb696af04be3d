"""The spinner of a command: after a second on a terminal without an output or a bar."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.cli.output import progress
from ir_exec.cli.output.progress import LayerBar, Spinner, Steps
from ir_exec.cli.output.terminal import echo, print_report, show_json, write
from ir_exec.cli.parallel import Bar

SAMPLES = Path(__file__).parents[3] / "samples"
NEVER = 10.0**6


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "shows_progress", lambda: True)
    return terminal


def test_a_spinner_waits_and_goes(stderr: Terminal) -> None:
    with Spinner("convert", NEVER) as spinner:
        assert not spinner.is_shown
        assert stderr.getvalue() == ""
        spinner.show()
        assert spinner.is_shown
    assert not spinner.is_shown


def test_a_spinner_appears_by_itself(stderr: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[float, Callable[[], None]]] = []

    class Immediate:
        def __init__(self, seconds: float, function: Callable[[], None]) -> None:
            started.append((seconds, function))

        def start(self) -> None:
            started[-1][1]()

        def cancel(self) -> None:
            pass

    monkeypatch.setattr(progress, "Timer", Immediate)
    with Spinner("convert") as spinner:
        assert spinner.is_shown
    assert started[0][0] == progress.SPINNER_PATIENCE


def test_no_spinner_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "shows_progress", lambda: False)
    monkeypatch.setattr(progress, "Timer", None)
    with Spinner("convert") as spinner:
        assert not spinner.is_shown


def open_layer_bar() -> None:
    with LayerBar(None) as bar:
        bar.advance("a layer")
        assert bar.tasks


def open_bar() -> None:
    with Bar(lambda: 1, is_wanted=True):
        pass


class Timers:
    """Timers that fire when a test calls `fire`."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, seconds: float, function: Callable[[], None]) -> Timers:
        self.waiting.append(function)
        return self

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        self.waiting.clear()

    def fire(self) -> None:
        """Let the seconds of the only waiting timer pass."""
        (function,) = self.waiting
        self.waiting.clear()
        function()


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    timers = Timers()
    monkeypatch.setattr(progress, "Timer", timers)
    return timers


@pytest.mark.parametrize(
    "output",
    [
        lambda: echo("text"),
        lambda: echo("text", to_stderr=True),
        lambda: show_json("{}"),
        lambda: print_report("<html>"),
        lambda: Steps().tell("a step"),
        open_layer_bar,
        open_bar,
    ],
)
def test_outputs_and_bars_hide_a_spinner(
    output: Callable[[], None], stderr: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ir_exec.cli.parallel.shows_progress", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Spinner("convert", NEVER) as spinner:
        spinner.show()
        output()
        assert not spinner.is_shown


def test_spinner_returns_after_a_while_without_output(stderr: Terminal, timers: Timers) -> None:
    with Spinner("convert") as spinner:
        timers.fire()
        assert spinner.is_shown
        echo("first")
        assert not spinner.is_shown
        timers.fire()
        assert spinner.is_shown
        echo("second")
        timers.fire()
        assert spinner.is_shown


def test_spinner_waits_for_silence(stderr: Terminal, timers: Timers) -> None:
    with Spinner("check") as spinner:
        for _ in range(3):
            echo("a line")
            timers.fire()
            assert not spinner.is_shown
        timers.fire()
        assert spinner.is_shown


def test_many_outputs_start_one_timer(stderr: Terminal, timers: Timers) -> None:
    with Spinner("check"):
        timers.fire()
        for _ in range(100):
            echo("a line")
        assert len(timers.waiting) == 1


def test_spinner_is_hidden_during_a_bar(stderr: Terminal, timers: Timers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Spinner("run") as spinner:
        with LayerBar(None) as bar:
            bar.advance("a layer")
            for _ in range(3):
                timers.fire()
                assert not spinner.is_shown
        timers.fire()
        assert spinner.is_shown


def test_spinner_is_hidden_while_steps_or_a_line_are_unfinished(stderr: Terminal, timers: Timers) -> None:
    with Spinner("profile") as spinner:
        with Steps() as steps:
            steps.tell("a step")
            timers.fire()
            timers.fire()
            assert not spinner.is_shown
        write("half of ", nl=False)
        timers.fire()
        timers.fire()
        assert not spinner.is_shown
        write("a line")
        timers.fire()
        timers.fire()
        assert spinner.is_shown
    assert timers.waiting == []


def test_an_error_ends_a_spinner(stderr: Terminal) -> None:
    spinner = Spinner("convert", NEVER)

    def fail() -> None:
        with spinner:
            spinner.show()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not spinner.is_shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("bundle", "bert.xml", "-o", "bundle.zip"),
        ("diff", "bert.xml", "gnn_step.xml"),
        ("convert", "bert.xml", "-o", "converted.onnx"),
        ("edit", "bert.xml", "--weights", "int8", "-o", "edited.xml"),
        ("shapes", "bert.xml"),
        ("view", "bert.xml", "-o", "page.html"),
        ("run", "bert.xml"),
        ("extract", "bert.xml", "--to", "pooled", "-o", "part.xml"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_has_a_spinner(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    initialize = Spinner.__init__

    def record(self: Spinner, title: str, *patience: Any) -> None:
        titles.append(title)
        initialize(self, title, *patience)

    monkeypatch.setattr(Spinner, "__init__", record)
    monkeypatch.chdir(tmp_path)
    paths = [str(SAMPLES / text) if (SAMPLES / text).exists() else text for text in arguments]
    result = CliRunner().invoke(main, paths)
    assert result.exit_code in (0, 1), result.output
    assert titles == [arguments[0]]
