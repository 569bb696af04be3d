"""How commands end where it is not by their own will: output that cannot be written, and Ctrl-C."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

__all__ = ["endings"]

_COULD_NOT = 2
_INTERRUPTED = 130
"""As shells have it: 128 and the number of SIGINT."""


@contextmanager
def endings() -> Iterator[None]:
    """Ctrl-C ends the program with 130, a full disk with 2 and a message, a closed pipe with 2: all without traceback.

    What is printed is written out here, so that nothing is left to fail when the interpreter ends.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        _drop_output()
        raise click.exceptions.Exit(_INTERRUPTED) from None
    except OSError as error:
        _drop_output()
        if error.errno != errno.EPIPE:
            place = error.filename or "the output"
            with suppress(OSError):
                click.echo(f"error: cannot write {place}: {error.strerror or error}", err=True)
        raise click.exceptions.Exit(_COULD_NOT) from None


def _drop_output() -> None:
    """Let what was printed and not yet written go nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
