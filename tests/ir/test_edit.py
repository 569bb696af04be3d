"""Changes of declared ports, byte for byte."""

from __future__ import annotations

import pytest

from ir_exec.errors import ParseError
from ir_exec.ir import Port
from ir_exec.ir.edit import PortEdit, with_ports
from tests.helpers.facts import coded, naming

TEXT = (
    b'<?xml version="1.0"?>\n<net version="11"><layers>\n'
    b'<layer id="4" name="a>b" type="ReLU" version="opset1">\n'
    b"  <!-- <port id='1'/> --><output>\n"
    b"\t<port names='x>y' precision = 'FP32' id=\"1\"><dim> 2 </dim>\t<dim>-1</dim><rt_info/></port>\n"
    b"  </output></layer>\n</layers><edges/></net>\n"
)


def edit(
    dims: tuple[int, ...] | None = None, precision: str | None = None, *, line: int = 5, id: str = "1"
) -> PortEdit:
    port = Port(id=id, precision="FP32", dims=(2, -1), names=(), line=line)
    return PortEdit("4", port, precision, dims)


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (edit(), b"", b""),
        (edit((2, -1), "FP32"), b"", b""),
        (edit((3, -1)), b"> 2 <", b">3<"),
        (edit((2, 7)), b">-1<", b">7<"),
        (edit(precision="I64"), b"'FP32'", b"'I64'"),
        (edit((2,)), b"\t<dim>-1</dim>", b""),
        (edit(()), b"<dim> 2 </dim>\t<dim>-1</dim>", b""),
        (edit((2, -1, 5, 6)), b"<dim>-1</dim>", b"<dim>-1</dim>\t<dim>5</dim>\t<dim>6</dim>"),
    ],
)
def test_nothing_else_changes(change: PortEdit, old: bytes, new: bytes) -> None:
    assert with_ports(TEXT, [change, change]) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(b"2", b"<!-- two -->2", 1).replace(b'id="1"', b'id="7"'),
        TEXT.replace(b"</output>", b"</output>").replace(b"<dim> 2 </dim>", b"<dim> <!-- --> 2 </dim>"),
        TEXT.decode().encode("utf-16"),
        TEXT[:-7],
    ],
)
def test_unchangeable_parts_are_refused(text: bytes) -> None:
    with pytest.raises(ParseError):
        with_ports(text, [edit((3, -1))])


def test_ports_of_equal_text_are_refused() -> None:
    port = b'<port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port>'
    inner = b'<body><layers><layer id="4"><output>' + port + b"</output></layer></layers></body>"
    text = b'<net><layers><layer id="4"><output>' + port + b"</output>" + inner + b"</layer></layers></net>"
    with pytest.raises(ParseError, match=naming(1, 4)):
        with_ports(text, [edit((3, 3), line=1)])


def test_contradicting_changes_are_refused() -> None:
    with pytest.raises(ParseError, check=coded("IR002")):
        with_ports(TEXT, [edit(()), edit((3, -1))])
