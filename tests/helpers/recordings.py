"""Text that is compared with a recorded file: review the changed file as text after `pytest --record TESTS`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Recording", "read_recording"]


class Recording:
    """Set by the option `--record`.

    Attributes:
        is_on: Files are written instead of compared.
    """

    is_on = False


def read_recording(path: Path, text: str) -> str:
    """Return the recorded text of a file; with `--record`, write this text first.

    assert text == read_recording(path, text)
    """
    if Recording.is_on:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return path.read_text(encoding="utf-8")
