"""Reports as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import ir_exec.check
from ir_exec import Report, check_model
from ir_exec.check import Diagnostic, Summary, render, summary_line
from ir_exec.check.text import plain
from ir_exec.codes import Code
from ir_exec.errors import Location
from ir_exec.printable import inert, printable
from ir_exec.report.numbers import format_count
from ir_exec.report.text import wrap_words
from tests.helpers.facts import mentions
from tests.report.test_html import texts

BAD = Path(__file__).parents[1] / "bad"


def make_diagnostic(severity: str, message: str, layer: str, **more: str) -> Diagnostic:
    location = Location("m.xml", 7, layer, "name", "Type")
    return Diagnostic.model_validate(
        {
            "code": Code.unknown_attribute,
            "name": "unknown-attribute",
            "severity": severity,
            "message": message,
            "location": location,
        }
        | more
    )


def report_of(*diagnostics: Diagnostic) -> Report:
    return Report(path="m.xml", diagnostics=diagnostics, layers_checked=1, layers_not_checked=0)


def test_a_block() -> None:
    path = BAD / "IR601-declared-dims.xml"
    report = check_model(path)
    lines = path.read_text().splitlines()
    head, *location, hint, last = "\n".join(render(report, lines_of=lambda path: lines)).split("\n")
    assert head == mentions("error[IR601 declared-dims]", "f32[2,5]", "f32[2,3]", 1, 3, 5)
    assert location == [
        f'  --> {path}:21  layer 1 "relu" (ReLU), port output',
        "   |",
        '21 | <port id="1" precision="FP32">',
        "   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]
    assert hint.startswith("   = hint: ")
    assert hint == mentions("f32[2,3]")
    assert last == ""


def test_report_shows_counts_and_notebook_findings() -> None:
    report = report_of(make_diagnostic("error", "a < b", "1"), make_diagnostic("warning", "attribute c", "2"))
    assert repr(report) == mentions("m.xml", 1, 0, 1, 1)
    assert repr(check_model(b"")) == mentions("bytes", 0)
    html = report._repr_html_()
    assert texts(html, "caption") == [repr(report)]
    location = 'm.xml:7: layer 1 "name" (Type)'
    assert texts(html, "td")[:4] == ["error", "IR303 unknown-attribute", location, "a < b"]
    assert len(texts(html, "tr")) == 3


def test_text_report_ends_with_summary() -> None:
    text = str(check_model(BAD / "many-independent-faults.xml"))
    assert text.split("\n")[-1] == mentions(1, 7, 1, 5, 0)
    assert text.count("error[") == 5


def test_bytes_have_no_path() -> None:
    raw = (BAD / "IR601-declared-dims.xml").read_bytes()
    assert mentions(21, 1, "relu", "ReLU") in str(check_model(raw)).splitlines()


def test_summary() -> None:
    report = report_of(
        make_diagnostic("warning", "a", "1"), make_diagnostic("error", "b", "1"), make_diagnostic("error", "c", "1")
    )
    assert summary_line(Summary.of([report])) == mentions(1, 1, 0, 2, 1)
    told = report_of(make_diagnostic("info", "a", "1"), make_diagnostic("info", "b", "1"))
    assert summary_line(Summary.of([told])) == mentions(1, 1, 0, 0, 0, 2)
    assert summary_line(Summary.of([])) == mentions(0, 0, 0, 0, 0)
    big = Report(path=None, diagnostics=(), layers_checked=410, layers_not_checked=7)
    assert summary_line(Summary.of([report, report, big])) == mentions(3, 412, 7, 4, 2)


def test_equal_warnings_are_one_block() -> None:
    same = [make_diagnostic("warning", "X has no attribute y; it is ignored", str(id)) for id in range(20)]
    text = "\n".join(render(report_of(*same)))
    assert text.count("warning[") == 1
    assert mentions(19, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) in text.splitlines()


def test_list_is_shortened_after_twelve_layers() -> None:
    def also(*layers: str) -> str:
        same = [make_diagnostic("warning", "same", layer) for layer in ("0", *layers)]
        (line,) = [line for line in render(report_of(*same)) if "also:" in line]
        return line.strip()

    twelve = [str(id) for id in range(1, 13)]
    assert also("1") == mentions(1, 1)
    assert also("1", "2", "1") == mentions(2, 1, 2)
    assert also(*twelve) == mentions(12, f"({', '.join(twelve)})")
    assert also(*twelve, "13") == mentions(13, f"({', '.join(twelve)}, ...)")


def test_every_error_has_its_block() -> None:
    assert (
        "\n".join(render(report_of(*[make_diagnostic("error", "same", str(id)) for id in range(3)]))).count("error[")
        == 3
    )


def test_errors_lead_then_warnings() -> None:
    text = "\n".join(
        render(
            report_of(
                make_diagnostic("info", "a", "1"),
                make_diagnostic("error", "b", "2"),
                make_diagnostic("warning", "c", "3"),
                make_diagnostic("error", "d", "4"),
            )
        )
    )
    heads = [line.partition("[")[0] for line in text.split("\n") if "[IR303" in line]
    assert heads == ["error", "error", "warning", "info"]
    assert text.index(": b") < text.index(": d")


def test_layers_unread_by_target_are_one_block() -> None:
    newer = [
        make_diagnostic("error", "Gelu is of opset7", str(id), code="IR119", name="newer-than-target")
        for id in range(5)
    ]
    other = make_diagnostic("error", "Mish is of opset4", "9", code="IR119", name="newer-than-target")
    text = "\n".join(render(report_of(*newer, other)))
    assert text.count("error[") == 2
    assert mentions(4, 1, 2, 3, 4) in text.splitlines()


def test_repeated_tensor_names_are_one_block() -> None:
    same = [
        make_diagnostic("warning", f"tensor name {id}", str(id), code="IR111", name="duplicate-tensor-name")
        for id in range(5)
    ]
    text = "\n".join(render(report_of(*same)))
    assert text.count("warning[") == 1
    assert mentions(4, 1, 2, 3, 4) in text.splitlines()


def test_ids_cannot_speak_to_the_terminal() -> None:
    same = [make_diagnostic("warning", "a", f"{id}\n::error::x\x1b") for id in range(3)]
    lines = list(render(report_of(*same)))
    assert not any(char in line for line in lines for char in "\x1b\n")
    assert any(r"(1\n::error::x\x1b, 2\n::error::x\x1b)" in line for line in lines)


def test_names_cannot_speak_to_the_terminal() -> None:
    evil = make_diagnostic("error", "layer \x1b[31mred\x1b[0m\nnext line", "1", hint="\x07")
    lines = list(render(report_of(evil)))
    assert not any(char in line for line in lines for char in "\x1b\x07\n")
    assert r"\x1b[31mred\x1b[0m\nnext line" in lines[0]


def test_long_lines_are_cut() -> None:
    lines = ["x" * 1000] * 9
    text = list(render(report_of(make_diagnostic("error", "text", "1")), lines_of=lambda path: lines))
    assert max(map(len, text)) < 200


def test_styles_are_the_callers() -> None:
    seen: set[str] = set()

    def style(role: str, text: str) -> str:
        seen.add(role)
        return text

    report = check_model(BAD / "IR601-declared-dims.xml")
    list(render(report, style=style, lines_of=lambda path: ["line"] * 30))
    assert seen == {"error", "message", "frame", "hint", "source"}


def underlined_part(severity: str, code: str, message: str, line: str) -> str:
    """Return the underlined part of a line."""
    diagnostic = make_diagnostic(severity, message, "1", code=code)
    block = list(render(report_of(diagnostic), lines_of=lambda path: [""] * 6 + [line]))
    shown = next(text for text in block if line.strip() in text)
    underline = block[block.index(shown) + 1]
    return shown[underline.index("^") : underline.rindex("^") + 1]


def test_the_attribute_at_fault_is_marked() -> None:
    layer = '  <layer id="1" name="relu" type="Rellu" version="opset1">'
    assert underlined_part("error", Code.unknown_type, "unknown type", layer) == 'type="Rellu"'
    assert underlined_part("error", Code.unknown_opset, "unknown opset", layer) == 'version="opset1"'
    assert (
        underlined_part("error", Code.invalid_attribute, "attribute axis='x': no", '<data other_axis="1" axis="x"/>')
        == 'axis="x"'
    )
    assert (
        underlined_part("error", Code.declared_dims, "dims differ", '<port id="1"><dim>2</dim></port>')
        == '<port id="1">'
    )
    assert underlined_part("error", Code.not_well_formed, "not well-formed", "text") == "text"


def excerpt(line: str, width: int | None, severity: str = "error") -> list[str]:
    """The line of the file and what is marked under it, without their margins."""
    report = report_of(make_diagnostic(severity, "attribute mode='x': wrong", "1"))
    block = list(render(report, lines_of=lambda path: [""] * 6 + [line], width=width))
    number_line = next(index for index, text in enumerate(block) if text.startswith(" 7 | "))
    return [block[number_line].removeprefix(" 7 | "), block[number_line + 1].removeprefix("   | ")]


def test_excerpts_fit_the_terminal() -> None:
    line = '<data first="1" mode="x" second="2" third="3" fourth="4"/>'
    assert excerpt(line, 80) == [line, "                ^^^^^^^^"]
    assert excerpt(line, 45) == ['<data first="1" mode="x" second="2" t...', "                ^^^^^^^^"]
    for width in range(1, 80):
        shown, marks = excerpt(line, width)
        assert shown[marks.index("^") :].startswith('mode="x"')
        assert len(shown) <= max(width - 5, 30)


def test_marked_text_is_shown_in_long_lines() -> None:
    line = f'<net name="{"n" * 500}"/><layer mode="{"x" * 20}"/>' + "<port/>" * 100
    for width in (None, 60):
        shown, marks = excerpt(line, width)
        assert shown.startswith('...mode="xxxxxxxxxxxxxxxxxxxx"')
        assert shown.endswith("...")
        assert marks == "   " + "^" * 27
    shown, marks = excerpt(line, 20)
    assert (len(shown), len(marks)) == (30, 27)


def test_text_wraps_at_terminal_width() -> None:
    words = "word " * 30
    diagnostic = make_diagnostic("error", words, "1", hint=words)
    lines = list(render(report_of(diagnostic), width=60))
    assert all(len(line) <= 60 for line in lines)
    assert sum(line.count("word") for line in lines) == 60
    assert "\n".join(lines).replace("\n", " ").count("word") == 60
    placed = diagnostic.model_copy(update={"location": replace(diagnostic.location, layer_name="many words " * 8)})
    lines = list(render(report_of(placed), width=60))
    first, second = next((line, lines[n + 1]) for n, line in enumerate(lines) if "-->" in line)
    assert len(second) - len(second.lstrip()) == first.index("-->") + 4
    name = "n" * 200
    assert any(name in line for line in render(report_of(make_diagnostic("error", f"a {name} b", "1")), width=60))
    assert len(list(render(report_of(diagnostic)))) == 4


FORMER_NAMES = {
    "counted": format_count,
    "inert": inert,
    "plain": plain,
    "printable": printable,
    "wrapped": wrap_words,
}


@pytest.mark.parametrize("name", FORMER_NAMES)
def test_former_name_warns(name: str) -> None:
    assert name not in ir_exec.check.__all__
    with pytest.warns(DeprecationWarning, match=name):
        assert getattr(ir_exec.check, name) is FORMER_NAMES[name]


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = ir_exec.check.no_such_name
