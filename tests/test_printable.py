"""Text of hostile files is shown with escapes, and no line of output is a command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.errors import IRError, Location
from ir_exec.printable import PrintableStream, inert, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain / text: 'é' 漢", "plain / text: 'é' 漢"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x00\x07\x1b[31m", r"\x00\x07\x1b[31m"),
        ("\x7f\x85\x9b", r"\x7f\x85\x9b"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("a\u200bb\u200dc\ufeff\u2060", r"a\u200bb\u200dc\ufeff\u2060"),
        ("line\u2028end\u2029", r"line\u2028end\u2029"),
        ("\u3164\u034f\u115f", r"\u3164\u034f\u115f"),
        ("\U000e0100\ufe0f", r"\U000e0100\ufe0f"),
        ("\udcff", r"\udcff"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a::b", "a::b"),
        ("::error::x", r"\x3a:error::x"),
        (" \t::error::x", " \t" + r"\x3a:error::x"),
        ("a ##[error]x", r"a \x23#[error]x"),
        ("## a [b]", "## a [b]"),
    ],
)
def test_no_line_is_a_command(line: str, shown: str) -> None:
    assert inert(line) == shown


def test_errors_are_shown_at_their_lines() -> None:
    location = Location("m\n.xml", 7, "1\n::error::x", "n\x1b", "T\u202e", "p\x85")
    error = IRError("what\r\nelse", hint="say\x07", location=location)
    assert str(error) == (
        r'm\n.xml:7: layer 1\n::error::x "n\x1b" (T\u202e), port p\x85: what\r\nelse' + "\n" + r"hint: say\x07"
    )


class TestStream:
    """Text that arrives in parts is printed as if it had arrived at once."""

    TEXT = "a\n::error::x\n \t::b\n##[error]c a##[d] :: e::f\n\x1b[31m\u202e\x07\n:\n#\n:x ###[y]\t\x85z:"
    SHOWN = (
        "a\n\\x3a:error::x\n \t\\x3a:b\n\\x23#[error]c a\\x23#[d] :: e::f\n"
        "\\x1b[31m\\u202e\\x07\n:\n#\n:x #\\x23#[y]\t\\x85z:"
    )

    def print_parts(self, parts: list[str]) -> str:
        stream = PrintableStream()
        return "".join([*map(stream.add, parts), stream.end()])

    def test_at_once(self) -> None:
        assert self.print_parts([self.TEXT]) == self.SHOWN

    @pytest.mark.parametrize("size", range(1, 12))
    def test_in_parts(self, size: int) -> None:
        parts = [self.TEXT[start : start + size] for start in range(0, len(self.TEXT), size)]
        assert self.print_parts(parts) == self.SHOWN

    @given(st.lists(st.text(alphabet=":#[ \n\tax\x1b", max_size=4), max_size=12))
    def test_any_parts(self, parts: list[str]) -> None:
        assert self.print_parts(parts) == self.print_parts(["".join(parts)])

    def test_text_is_not_delayed(self) -> None:
        stream = PrintableStream()
        assert [stream.add(text) for text in ("a", " b", ":", "\n", "c:")] == ["a", " b", ":", "\n", "c:"]

    def test_a_new_line_after_the_end(self) -> None:
        stream = PrintableStream()
        assert stream.add("a") + stream.end() + stream.add("::b") == "a\\x3a:b"
