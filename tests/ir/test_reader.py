"""The document of a healthy or damaged file."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ir_exec.errors import IRError, ParseError
from ir_exec.ir import Document, Layer, read_document, reader
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.ir_files import LOOP, RELU, networks


def read(text: str | bytes) -> Document:
    document = read_document(text.encode() if isinstance(text, str) else text)
    assert document is not None
    return document


def faults(text: str) -> tuple[Document | None, list[IRError]]:
    errors: list[IRError] = []
    return read_document(text.encode(), report=errors.append), errors


def layer(document: Document, id: str) -> Layer:
    return next(layer for layer in document.all_layers() if layer.id == id)


def test_a_document() -> None:
    document = read(RELU)
    assert (document.name, document.version, document.path, document.is_complete) == ("relu", 11, None, True)
    assert [(layer.id, layer.name, layer.type, layer.version) for layer in document.layers] == [
        ("0", "x", "Parameter", "opset1"),
        ("1", "y", "ReLU", "opset1"),
        ("2", "result", "Result", "opset1"),
    ]
    assert dict(document.layers[0].data) == {"shape": "2,?", "element_type": "f32"}
    assert [(edge.from_layer, edge.from_port, edge.to_layer, edge.to_port) for edge in document.edges] == [
        ("0", "0", "1", "0"),
        ("1", "1", "2", "0"),
    ]
    (port,) = document.layers[1].outputs
    assert (port.id, port.precision, port.dims, port.names) == ("1", "FP32", (2, -1), ("y",))
    assert document.layers[2].output_names == ("y",)


def test_lines_equal_those_of_start_tags() -> None:
    document = read(RELU)
    lines = RELU.splitlines()
    for layer in document.layers:
        assert f'<layer id="{layer.id}"' in lines[layer.line - 1]
        for port in (*layer.inputs, *layer.outputs):
            assert f'<port id="{port.id}"' in lines[port.line - 1]
    assert "<data" in lines[document.layers[0].data_line - 1]
    assert document.layers[1].data_line == document.layers[1].line
    assert [lines[edge.line - 1].strip()[:5] for edge in document.edges] == ["<edge", "<edge"]


@pytest.mark.parametrize("ending", ["\r\n", "\n\n", " \n"])
def test_lines_are_exact_with_other_ends_of_lines(ending: str) -> None:
    text = RELU.replace("\n", ending)
    document = read(text)
    lines = text.split("\n")
    assert [f'<layer id="{layer.id}"' in lines[layer.line - 1] for layer in document.layers] == [True] * 3


def test_lines_are_exact_with_comments_cdata_and_multiline_tags() -> None:
    asides = "<!-- <layer>\n<layer> --><?note <a>\n?><rt_info><![CDATA[<b>\n<c>]]></rt_info>"
    text = RELU.replace("\t<layers>", f"{asides}\n<layers\n>").replace('<layer id="1" ', '<layer\n\n\tid="1"\n')
    document = read(text)
    lines = text.splitlines()
    assert lines[layer(document, "0").line - 1].strip().startswith('<layer id="0"')
    assert lines[layer(document, "1").line - 1].strip() == "<layer"
    assert lines[layer(document, "2").line - 1].strip().startswith('<layer id="2"')
    assert "from-layer" in lines[document.edges[1].line - 1]
    assert document.rt_info.text == "<b>\n<c>"


@pytest.mark.parametrize("name", ["plain", "a&gt;b", "a>b"])
def test_lines_are_exact_with_multiline_tags(name: str) -> None:
    text = RELU.replace('<layer id="1" ', f'<layer\n\n\tother="{name}"\n\tid="1"\n')
    lines = text.splitlines()
    document = read(text)
    assert lines[layer(document, "1").line - 1].strip() == "<layer"
    assert lines[layer(document, "2").line - 1].strip().startswith('<layer id="2"')


def test_lines_are_exact_with_attribute_line_ends() -> None:
    text = RELU.replace('<layer id="1" ', '<layer other="a>\n" id="1" ')
    lines = text.splitlines()
    document = read(text)
    assert lines[layer(document, "1").line - 1].strip() == '<layer other="a>'
    assert lines[layer(document, "2").line - 1].strip().startswith('<layer id="2"')


@pytest.mark.parametrize("line", [65_534, 65_535, 65_536, 65_537])
def test_lines_are_exact_beyond_the_limit_of_lxml(line: int) -> None:
    text = RELU.replace('<layer id="1"', "\n" * (line - 13) + '<layer id="1"')
    start, end = text[: text.index('<layer id="1"')], text[text.index('<layer id="1"') :]
    for following in (text, start + end.replace("\n", " ")):
        assert layer(read(following), "1").line == line


def test_lines_are_exact_beyond_65535_lines() -> None:
    text = RELU.replace('<layer id="1"', "\n" * 70_000 + '<layer id="1"')
    assert layer(read(text), "1").line == 13 + 70_000
    _, errors = faults(text.replace('to-layer="2"', ""))
    assert [error.location.line for error in errors] == [RELU[: RELU.index('to-layer="2"')].count("\n") + 1 + 70_000]


def test_the_form_of_line_ends_does_not_matter() -> None:
    assert read(RELU.replace("\n", "\r\n")) == read(RELU)


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", ' encoding="UTF-16"'),
        ("utf-16-le", ""),
        ("utf-16-be", ""),
        ("utf-32", ""),
        ("iso-8859-1", ' encoding="ISO-8859-1"'),
        ("cp1252", " encoding='windows-1252'"),
    ],
)
def test_encodings(encoding: str, declared: str) -> None:
    text = RELU.replace('"1.0"?>', f'"1.0"{declared}?>').replace('name="y"', 'name="übung"')
    parsed = layer(read(text.encode(encoding)), "1")
    assert (parsed.name, parsed.line) == ("übung", 13)


@pytest.mark.parametrize("encoding", ["zip", "unicode_escape", "punycode", "x-none", "utf-7", "rot13"])
def test_unknown_character_set_is_refused(encoding: str) -> None:
    text = RELU.replace('"1.0"?>', f'"1.0" encoding="{encoding}"?>')
    with pytest.raises(ParseError, match=naming(encoding)) as caught:
        read(text)
    assert caught.value.code == "IR002"


def test_ids_have_one_spelling() -> None:
    document = read(RELU.replace('<layer id="1"', '<layer id="007"').replace('-layer="1"', '-layer="+7"'))
    assert document.layers[1].id == "7"
    assert (document.edges[0].to_layer, document.edges[1].from_layer) == ("7", "7")


def test_layers_keep_their_order_and_need_no_unique_names() -> None:
    first, second = re.findall(r"\t\t<layer id=\"[12]\".*?</layer>\n", RELU, re.DOTALL)
    document = read(RELU.replace(first + second, second + first).replace('name="result"', 'name="y"'))
    assert [layer.id for layer in document.layers] == ["0", "2", "1"]
    assert [layer.name for layer in document.layers] == ["x", "y", "y"]


def test_two_edges_between_the_same_layers() -> None:
    edge = '<edge from-layer="0" from-port="0" to-layer="1" to-port="0" />'
    assert len(read(RELU.replace(edge, edge + edge)).edges) == 3


def test_unknown_elements_and_attributes_are_legal() -> None:
    text = (
        RELU.replace("<layers>", "<statistics><layer/></statistics><layers><note/>")
        .replace('version="opset1"', 'version="opset1" PrimitivesPriority="x"')
        .replace("<dim>-1</dim>", "<dim>-1</dim><stride>3</stride>")
        .replace("<output>", "<fused/><output><port_list/>")
    )
    document = read(text)
    assert [(layer.type, len(layer.outputs)) for layer in document.layers] == [
        ("Parameter", 1),
        ("ReLU", 1),
        ("Result", 0),
    ]
    assert document.layers[0].outputs[0].dims == (2, -1)


def test_a_scalar_has_no_dims() -> None:
    assert layer(read(LOOP), "5").outputs[0].dims == ()


def test_negative_dims_are_left_to_the_graph() -> None:
    assert read(RELU.replace("<dim>2</dim>", "<dim> -7 </dim>")).layers[0].outputs[0].dims == (-7, -1)


def test_namespaces_are_no_fault() -> None:
    expected = [layer.type for layer in read(RELU).layers]
    for text in (
        RELU.replace("<net ", '<net xmlns="http://example.org/ir" '),
        RELU.replace("<rt_info>", "<rt_info><vendor:key value='1'/>"),
        RELU.replace(
            "<net ",
            '<net xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="ir.xsd" ',
        ),
    ):
        assert [layer.type for layer in read(text).layers] == expected


def test_an_undeclared_prefix_hides_no_other_fault() -> None:
    with pytest.raises(ParseError) as caught:
        read(RELU.replace("<rt_info>", "<rt_info><vendor:key value='1'/>").replace("</edges>", "</edge>"))
    assert caught.value.code == "IR002"


def test_bodies() -> None:
    parsed = layer(read(LOOP), "5")
    assert [port.id for port in parsed.inputs] == ["0", "1", "2"]
    (body,) = parsed.bodies
    assert body.name == "body"
    assert [layer.id for layer in body.layers] == ["0", "2"]
    assert [(edge.from_layer, edge.to_layer) for edge in body.edges] == [("0", "2")]
    assert [(edge.from_layer, edge.to_layer) for edge in body.back_edges] == [("2", "0")]
    sliced, carried, condition = body.port_map
    assert sliced.direction == "output"
    assert (sliced.axis, sliced.start, sliced.end, sliced.stride, sliced.part_size) == (-1, 0, -1, 1, 2)
    assert (carried.direction, carried.external_port_id, carried.internal_layer_id) == ("input", 2, "0")
    assert (carried.internal_port_id, carried.axis, carried.purpose) == ("0", None, None)
    assert (condition.external_port_id, condition.purpose) == (-1, "execution_condition")
    assert [layer.id for layer in read(LOOP).all_layers()] == ["5", "0", "2"]


def test_if_branches_have_separate_port_maps() -> None:
    text = (
        LOOP.replace('type="Loop"', 'type="If"')
        .replace("<body>", "<else_body>")
        .replace("</body>", "</else_body><then_port_map/><then_body><layers/><edges/></then_body>")
        .replace("port_map>", "else_port_map>")
        .replace("then_else_", "then_")
    )
    bodies_by_name = {body.name: body for body in layer(read(text), "5").bodies}
    assert {name: (len(body.port_map), len(body.layers)) for name, body in bodies_by_name.items()} == {
        "then_body": (0, 0),
        "else_body": (3, 2),
    }
    assert all(body.back_edges == () for body in bodies_by_name.values())


def test_rt_info_is_a_tree() -> None:
    text = RELU.replace(
        "<data ", '<rt_info><attribute name="fused" version="0" value="a,b"><x y="1"/></attribute></rt_info><data '
    )
    document = read(text)
    (attribute,) = document.layers[0].rt_info.children
    assert (attribute.name, dict(attribute.attributes)) == (
        "attribute",
        {"name": "fused", "version": "0", "value": "a,b"},
    )
    assert attribute.children[0].attributes["y"] == "1"
    assert not document.layers[1].rt_info
    assert document.rt_info.value("Runtime_version") == "2026.4.1-22982-e213a147257-releases/2026/4"
    assert document.rt_info.value("OpenVINO Runtime") == document.rt_info.value("Runtime_version")
    assert document.rt_info.value("nncf", "mode") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2023.3.0-13775-ceeafaf64f3-releases/2023/3", (2023, 3)),
        ("2026.4.1-22982", (2026, 4)),
        ("custom", None),
        ("2024.", None),
        ("9" * 5000 + ".1", None),
        ("2024." + "9" * 5000, None),
    ],
)
def test_the_runtime_version(value: str, expected: tuple[int, int] | None) -> None:
    assert read(re.sub(r'value="[^"]*"', f'value="{value}"', RELU)).runtime_version == expected


def test_version_10_keeps_its_metadata() -> None:
    text = RELU.replace('version="11"', 'version="10"').replace(
        "<edges>",
        '<meta_data><MO_version value="2021.4"/></meta_data>'
        "<quantization_parameters><config/></quantization_parameters>"
        '<pre-process reference-layer-name="x" mean-precision="FP32"><channel id="0"><mean value="1.5"/></channel>'
        "</pre-process><edges>",
    )
    document = read(text)
    assert document.version == 10
    assert document.meta_data is not None
    assert document.meta_data.value("MO_version") == "2021.4"
    assert document.quantization_parameters is not None
    assert document.pre_process is not None
    assert document.pre_process.attributes["reference-layer-name"] == "x"
    assert document.pre_process.children[0].value("mean") == "1.5"


def test_a_document_does_not_change() -> None:
    document = read(RELU)
    with pytest.raises(ValidationError, match="frozen"):
        document.layers[0].name = "other"  # type: ignore[misc]  # the point of the test
    assert document.changed(name="other").layers == document.layers


@pytest.mark.parametrize("path", networks())
def test_real_networks_are_read_whole(path: Path) -> None:
    document = read_document(path)
    assert document is not None
    assert document.is_complete
    text = path.read_text()
    assert len(list(document.all_layers())) == text.count("<layer ")
    assert document.path == str(path)
    lines = text.splitlines()
    assert all(f'<layer id="{layer.id}"' in lines[layer.line - 1] for layer in document.all_layers())
    ports = sum(len(layer.inputs) + len(layer.outputs) for layer in document.all_layers())
    assert ports == text.count("<port ")


def test_reading_does_not_look_for_the_weights(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text(RELU)
    (tmp_path / "model.bin").mkdir()
    assert read_document(tmp_path / "model.xml") is not None


EDGE = '<edge from-layer="1" from-port="1" to-layer="2" to-port="0" />'
NINES = "9" * 6000

DAMAGE = {
    # what is replaced, by what, the code, the line, the layer's id and words of the message
    "no layers": ("layers>", "sheets>", "IR008", 2, None, "<net> has no <layers>"),
    "no edges": ("edges>", "ledges>", "IR008", 2, None, "<net> has no <edges>"),
    "no version of the net": (' version="11"', "", "IR008", 2, None, "<net> has no attribute version"),
    "version is no number": ('version="11"', 'version="eleven"', "IR007", 2, None, "the version is 'eleven'"),
    "no layer id": ('<layer id="1"', "<layer", "IR008", 13, None, "<layer> has no attribute id"),
    "no layer name": (' name="y"', "", "IR008", 13, "1", "<layer> has no attribute name"),
    "no layer type": (' type="ReLU"', "", "IR008", 13, "1", "<layer> has no attribute type"),
    "no layer version": (' type="ReLU" version="opset1"', ' type="ReLU"', "IR008", 13, "1", "no attribute version"),
    "layer id is no number": ('<layer id="1"', '<layer id="one"', "IR007", 13, "one", "'one'"),
    "layer id is negative": ('<layer id="1"', '<layer id="-1"', "IR007", 13, "-1", "'-1'"),
    "layer id holds blanks": ('<layer id="1"', '<layer id=" 1"', "IR007", 13, " 1", "' 1'"),
    "layer id is huge": ('<layer id="1"', f'<layer id="{NINES}"', "IR007", 13, NINES, "9..."),
    "no port id": ('<port id="1" ', "<port ", "IR008", 21, "1", "<port> has no attribute id"),
    "port id is no number": ('<port id="1" ', '<port id="b" ', "IR007", 21, "1", "port's id is 'b'"),
    "no precision": ('<port id="1" precision="FP32"', '<port id="1"', "IR008", 21, "1", "no attribute precision"),
    "no from-layer": (EDGE, EDGE.replace('from-layer="1" ', ""), "IR008", 38, None, "no attribute from-layer"),
    "no from-port": (EDGE, EDGE.replace('from-port="1" ', ""), "IR008", 38, None, "no attribute from-port"),
    "no to-layer": (EDGE, EDGE.replace('to-layer="2" ', ""), "IR008", 38, None, "no attribute to-layer"),
    "no to-port": (EDGE, EDGE.replace('to-port="0" ', ""), "IR008", 38, None, "no attribute to-port"),
    "edge to no number": (EDGE, EDGE.replace('to-layer="2"', 'to-layer="x"'), "IR007", 38, None, "to-layer is 'x'"),
    "dim is no number": ("<dim>2</dim>", "<dim>two</dim>", "IR007", 8, "0", "dim 0 of port 0 is 'two'"),
    "dim is a float": ("<dim>2</dim>", "<dim>2.0</dim>", "IR007", 8, "0", "'2.0'"),
    "dim is empty": ("<dim>2</dim>", "<dim/>", "IR007", 8, "0", "''"),
    "dim has an underscore": ("<dim>2</dim>", "<dim>1_0</dim>", "IR007", 8, "0", "'1_0'"),
    "dim is no ASCII digit": ("<dim>2</dim>", "<dim>٢</dim>", "IR007", 8, "0", "'٢'"),
    "dim is beyond 64 bits": ("<dim>2</dim>", "<dim>9223372036854775808</dim>", "IR007", 8, "0", "64-bit"),
    "dim has thousands of digits": ("<dim>2</dim>", f"<dim>{NINES}</dim>", "IR007", 8, "0", "9..."),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_reported_with_its_place(name: str) -> None:
    old, new, code, line, layer_id, words = DAMAGE[name]
    count = 1 if "</" in old or old.startswith("<layer") else -1
    text = RELU.replace(old, new, count)
    assert text != RELU
    with pytest.raises(ParseError) as caught:
        read(text)
    error = caught.value
    assert (error.code, error.location.line, error.location.layer_id) == (code, line, layer_id)
    assert words in error.message
    document, errors = faults(text)
    assert len(errors) == 1
    assert document is not None
    assert not document.is_complete


def test_all_faults_come_out_in_one_pass() -> None:
    text = RELU
    for old, new in (
        ('<layer id="0"', "<layer"),
        ('type="ReLU"', ""),
        ("<dim>2</dim>", "<dim>x</dim>"),
        (EDGE, "<edge/>"),
    ):
        text = text.replace(old, new)
    document, errors = faults(text)
    assert [(error.code, error.location.line) for error in errors] == [
        ("IR008", 4),
        ("IR007", 8),
        ("IR008", 13),
        ("IR007", 16),
        ("IR007", 22),
        ("IR007", 30),
        *[("IR008", 38)] * 4,
    ]
    assert errors[3].location.layer_name == "y"
    assert document is not None
    assert [layer.id for layer in document.layers] == ["1", "2"]
    assert len(document.edges) == 1


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ('external_port_id="2" ', "", "IR008", fault_with("external_port_id")),
        (
            'external_port_id="2" ',
            'external_port_id="two" ',
            "IR007",
            fault_with("external_port_id", actual="'two'", expected="a 64-bit integer"),
        ),
        ('internal_layer_id="000"', "", "IR008", fault_with("internal_layer_id")),
        (
            'internal_layer_id="000"',
            'internal_layer_id="?"',
            "IR007",
            fault_with("internal_layer_id", actual="'?'", expected=mentions(0)),
        ),
        (
            'axis="-1"',
            f'axis="{NINES}"',
            "IR007",
            fault_with("axis", actual="'9999999999999999999999999999999999999999...'", expected="a 64-bit integer"),
        ),
        ('<edge from-layer="2" to-layer="0" />', '<edge to-layer="0" />', "IR008", fault_with("from-layer")),
    ],
)
def test_damage_in_bodies(old: str, new: str, code: str, words: fault_with) -> None:
    text = LOOP.replace(old, new).replace(old.replace("<", "</"), new.replace("<", "</"))
    assert text != LOOP
    _, errors = faults(text)
    assert [error.code for error in errors] == [code]
    assert errors[0] == words
    assert (errors[0].location.layer_id, errors[0].location.layer_type) == ("5", "Loop")


SCRAPS = st.sampled_from(
    ["<", ">", '"', "/>", "</layer>", "<layer>", "<!--", "]]>", "<?", "&", "&#0;", "&x;", "\0", "é", "-", "9" * 30, ""]
)


@settings(max_examples=150)
@given(st.sampled_from([RELU, LOOP]), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), SCRAPS), max_size=4))
def test_damaged_text_raises_nothing_but_IRError(text: str, cuts: list[tuple[float, int, str]]) -> None:
    for position, length, scrap in cuts:
        start = int(position * len(text))
        text = text[:start] + scrap + text[start + length :]
    document, errors = faults(text)
    assert document is not None or errors
    assert document is None or document.is_complete == (not errors)


@settings(max_examples=100)
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"<net", b"<?xml version='1.0'?>", b"\xff\xfe<\0", b"\xef\xbb\xbf"])
)
def test_random_bytes_raise_nothing_but_IRError(raw: bytes, start: bytes) -> None:
    errors: list[IRError] = []
    document = read_document(start + raw, report=errors.append)
    assert document is not None or len(errors) == 1


@pytest.mark.parametrize("spelling", ["RESULT", "result"])
def test_case_of_graph_types_is_ignored(spelling: str) -> None:
    assert '"Result"' in RELU
    assert layer(read(RELU.replace('"Result"', f'"{spelling}"')), "2").type == "Result"


class Element:
    """An element of many attributes, which are not to be listed one by one."""

    attrib = range(1000)

    def items(self) -> None:
        pytest.fail("each one is searched from the first on")

    def xpath(self, path: str) -> list[str]:
        assert path == "@*"
        return []


def test_many_attributes_are_listed_in_one_pass() -> None:
    attributes = {f"a{number}": f"<{number}é" for number in range(1000)}
    text = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    document = read(RELU.replace('type="ReLU" version="opset1">', f'type="ReLU" version="opset1"><data{text}/>'))
    assert layer(document, "1").data == attributes
    assert reader.attributes_of(Element()) == {}  # type: ignore[arg-type]  # what it takes of an element
