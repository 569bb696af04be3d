"""The XML Schema of IR: real networks are valid, structurally broken files are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from ir_exec.types import ElementType
from tests.helpers.ir_files import LOOP, RELU, REPOSITORY, constant, networks


@pytest.fixture(scope="module")
def schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(REPOSITORY / "schemas" / "ir.xsd")))


def is_valid(schema: etree.XMLSchema, text: str) -> bool:
    return bool(schema.validate(etree.fromstring(text.encode())))


@pytest.mark.parametrize("path", networks())
def test_real_networks_are_valid(schema: etree.XMLSchema, path: Path) -> None:
    assert schema.validate(etree.parse(str(path))), schema.error_log


VALID = {
    "as it is": (RELU, "", ""),
    "version 10": (RELU, 'version="11"', 'version="10"'),
    "metadata of version 10": (RELU, "<edges>", "<meta_data><a b='1'>c</a></meta_data><edges>"),
    "no name": (RELU, ' name="relu"', ""),
    "a body in any order": (LOOP, "", ""),
    "unknown attributes": (RELU, 'version="opset1"', 'version="opset1" PrimitivesPriority="x"'),
    "any rt_info": (RELU, "<rt_info>", "<rt_info><net><layer x='1'/>text</net>"),
    "an empty constant": (constant("f32", "FP32", "0", 1), "", ""),
    "for editors": (
        RELU,
        "<net ",
        '<net xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="ir.xsd" ',
    ),
    "a port that needs no precision": (
        RELU,
        '<input>\n\t\t\t\t<port id="0" precision="FP32">',
        '<input>\n\t\t\t\t<port id="0">',
    ),
    "the same id in net and body": (LOOP, 'layer id="5"', 'layer id="0"'),
}


@pytest.mark.parametrize("name", VALID)
def test_valid_documents(schema: etree.XMLSchema, name: str) -> None:
    text, old, new = VALID[name]
    assert old in text
    assert is_valid(schema, text.replace(old, new)), schema.error_log


@pytest.mark.parametrize("element_type", ElementType)
def test_every_element_type_is_a_precision(schema: etree.XMLSchema, element_type: ElementType) -> None:
    assert is_valid(schema, RELU.replace("FP32", element_type.precision)), schema.error_log


EDGE = '<edge from-layer="1" from-port="1" to-layer="2" to-port="0" />'

BROKEN = {
    "wrong root": (RELU, "net", "network"),
    "no version": (RELU, ' version="11"', ""),
    "version 7": (RELU, 'version="11"', 'version="7"'),
    "version 12": (RELU, 'version="11"', 'version="12"'),
    "no layers": (RELU, "layers>", "sheets>"),
    "no edges": (RELU, "edges>", "ledges>"),
    "no layer id": (RELU, '<layer id="1"', "<layer"),
    "no layer name": (RELU, 'name="y" ', ""),
    "no layer type": (RELU, 'type="ReLU" ', ""),
    "no layer version": (RELU, ' version="opset1"', ""),
    "layer id is no number": (RELU, '<layer id="1"', '<layer id="one"'),
    "layer id is negative": (RELU, '<layer id="1"', '<layer id="-1"'),
    "layer id is huge": (RELU, '<layer id="1"', f'<layer id="{"9" * 30}"'),
    "the same id twice": (RELU, '<layer id="2"', '<layer id="1"'),
    "the same number twice": (RELU, '<layer id="2"', '<layer id="01"'),
    "no port id": (RELU, '<port id="1" ', "<port "),
    "port id is no number": (RELU, '<port id="1" ', '<port id="a" '),
    "no precision of an output": (RELU, '<port id="1" precision="FP32"', '<port id="1"'),
    "unknown precision": (RELU, '<port id="1" precision="FP32"', '<port id="1" precision="FP33"'),
    "dim is no number": (RELU, "<dim>2</dim>", "<dim>two</dim>"),
    "dim is a float": (RELU, "<dim>2</dim>", "<dim>2.5</dim>"),
    "dim is empty": (RELU, "<dim>2</dim>", "<dim/>"),
    "dim is below -1": (RELU, "<dim>2</dim>", "<dim>-2</dim>"),
    "dim is beyond 64 bits": (RELU, "<dim>2</dim>", "<dim>9223372036854775808</dim>"),
    "edge without ends": (RELU, EDGE, "<edge/>"),
    "edge without from-layer": (RELU, EDGE, EDGE.replace('from-layer="1"', "")),
    "edge without from-port": (RELU, EDGE, EDGE.replace('from-port="1"', "")),
    "edge without to-layer": (RELU, EDGE, EDGE.replace('to-layer="2"', "")),
    "edge without to-port": (RELU, EDGE, EDGE.replace('to-port="0"', "")),
    "edge from no layer": (RELU, EDGE, EDGE.replace('from-layer="1"', 'from-layer="77"')),
    "edge to no layer": (RELU, EDGE, EDGE.replace('to-layer="2"', 'to-layer="77"')),
    "layer outside layers": (RELU, "<edges>", '<layer id="9" name="" type="T" version="v"/><edges>'),
    "blobs of version 7": (RELU, "<input>", "<blobs/><input>"),
    "port outside input": (RELU, "<input>", '<port id="0"/><input>'),
    "body without layers": (LOOP, "<layers>\n\t\t\t\t\t<layer", "<layer"),
    "two layers in a body with one id": (LOOP, '<layer id="2"', '<layer id="0"'),
    "edge to no layer in a body": (LOOP, 'to-layer="2"', 'to-layer="5"'),
    "port map without external id": (LOOP, 'external_port_id="2" ', ""),
    "port map without internal id": (LOOP, 'internal_layer_id="000"', ""),
    "axis is no number": (LOOP, 'axis="-1"', 'axis="last"'),
    "back edge without end": (LOOP, '<edge from-layer="2" to-layer="0" />', '<edge from-layer="2"/>'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_documents(schema: etree.XMLSchema, name: str) -> None:
    text, old, new = BROKEN[name]
    assert old in text
    broken = text.replace(old, new)
    if name == "body without layers":
        broken = broken.replace("</layers>\n\t\t\t</body>", "</body>")
    assert is_valid(schema, text)
    assert not is_valid(schema, broken)


def test_everything_is_explained_in_editors() -> None:
    schema = etree.parse(str(REPOSITORY / "schemas" / "ir.xsd"))
    names = {"xs": "http://www.w3.org/2001/XMLSchema"}
    types = schema.xpath("//xs:complexType[@name and not(xs:annotation)]/@name", namespaces=names)
    assert set(types) == {"Inputs", "Outputs", "OutputPort"}, "these are explained where they are used"
    required = schema.xpath("//xs:complexType[@name='Layer']/xs:attribute[not(xs:annotation)]", namespaces=names)
    assert required == []
