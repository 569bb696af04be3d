"""Documents made, changed and stored in Python; what the reader makes of files is in test_reader.py."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ir_exec.errors import IRError
from ir_exec.graph import build_graph
from ir_exec.ir import Body, Document, Edge, Layer, Port, PortMapEntry, RtInfo, read_document
from tests.helpers.ir_files import LOOP, RELU, networks


def port(id: str) -> Port:
    return Port(id=id, precision="FP32", dims=(2, -1))


def document() -> Document:
    x = Layer(
        id="0",
        name="x",
        type="Parameter",
        version="opset1",
        data={"shape": "2,?", "element_type": "f32"},
        outputs=(port("0"),),
    )
    relu = Layer(id="1", name="y", type="ReLU", version="opset1", inputs=(port("0"),), outputs=(port("1"),))
    result = Layer(id="2", name="result", type="Result", version="opset1", inputs=(port("0"),))
    edges = (
        Edge(from_layer="0", from_port="0", to_layer="1", to_port="0"),
        Edge(from_layer="1", from_port="1", to_layer="2", to_port="0"),
    )
    return Document(name="relu", version=11, layers=(x, relu, result), edges=edges)


def read(text: str) -> Document:
    result = read_document(text.encode())
    assert result is not None
    return result


def test_document_built_in_python_is_a_network() -> None:
    network = document()
    assert [node.type for node in build_graph(network, None).nodes] == ["Parameter", "ReLU", "Result"]
    assert network == document()
    assert network != network.changed(name="other")


@pytest.mark.parametrize("path", networks())
def test_json_comes_back(path: Path) -> None:
    parsed = read_document(path)
    assert parsed is not None
    assert Document.model_validate_json(parsed.model_dump_json()) == parsed


@pytest.mark.parametrize("text", [RELU, LOOP])
def test_every_form_comes_back(text: str) -> None:
    parsed = read(text)
    assert Document.model_validate(parsed.model_dump()) == parsed
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    assert copy.deepcopy(parsed) == parsed


WRONG: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "an id of no number": (Port, {"id": "one", "precision": "FP32"}),
    "a negative id": (Port, {"id": "-1", "precision": "FP32"}),
    "an id that is a number": (Port, {"id": 1, "precision": "FP32"}),
    "an id beyond 64 bits": (Port, {"id": "9223372036854775808", "precision": "FP32"}),
    "no precision": (Port, {"id": "1"}),
    "a dim as text": (Port, {"id": "1", "precision": "FP32", "dims": ("2",)}),
    "a dim that is a float": (Port, {"id": "1", "precision": "FP32", "dims": (2.0,)}),
    "a dim that is a truth value": (Port, {"id": "1", "precision": "FP32", "dims": (True,)}),
    "a dim beyond 64 bits": (Port, {"id": "1", "precision": "FP32", "dims": (2**63,)}),
    "a line before the first": (Port, {"id": "1", "precision": "FP32", "line": -1}),
    "a field that is not known": (Port, {"id": "1", "precision": "FP32", "shape": ()}),
    "an edge without an end": (Edge, {"from_layer": "0", "from_port": "0", "to_layer": "1"}),
    "a third direction": (PortMapEntry, {"direction": "both", "external_port_id": 0, "internal_layer_id": "0"}),
    "a body of another name": (Body, {"name": "third_body", "layers": (), "edges": ()}),
    "version 12": (Document, {"name": "", "version": 12, "layers": (), "edges": ()}),
    "version 9": (Document, {"name": "", "version": 9, "layers": (), "edges": ()}),
    "attributes that are no text": (RtInfo, {"name": "info", "attributes": {"value": 1}}),
}


@pytest.mark.parametrize("name", WRONG)
def test_foreign_content_is_refused(name: str) -> None:
    model, fields = WRONG[name]
    with pytest.raises(ValidationError) as caught:
        model(**fields)
    assert caught.value.error_count() == 1


@pytest.mark.parametrize(("text", "id"), [("007", "7"), ("+7", "7"), ("0", "0"), (str(2**63 - 1), str(2**63 - 1))])
def test_ids_have_one_spelling(text: str, id: str) -> None:
    assert Port(id=text, precision=None).id == id


def test_changes_are_validated() -> None:
    network = document()
    layer = network.layers[1].changed(data={"alpha": "1"}, outputs=(port("7"),))
    assert (layer.name, layer.data, layer.outputs[0].id) == ("y", {"alpha": "1"}, "7")
    assert network.layers[1].outputs[0].id == "1"
    for change in ({"layers": "none"}, {"layers": (port("0"),)}, {"title": "relu"}):
        with pytest.raises(ValidationError):
            network.changed(**change)


def test_document_of_damaged_file_is_invalid() -> None:
    errors: list[IRError] = []
    damaged = read_document(RELU.replace('<layer id="1"', '<layer id="one"').encode(), report=errors.append)
    assert damaged is not None
    assert [layer.id for layer in damaged.layers] == ["0", "one", "2"]
    assert not damaged.is_complete
    assert pickle.loads(pickle.dumps(damaged)) == damaged
    with pytest.raises(ValidationError):
        Document.model_validate_json(damaged.model_dump_json())


def test_trees_may_be_deep() -> None:
    deep = "<x>" * 240 + "</x>" * 240
    parsed = read(RELU.replace("<rt_info>", f"<rt_info>{deep}"))
    depth, tree = 0, parsed.rt_info
    while tree.children:
        depth, tree = depth + 1, tree.children[0]
    assert depth == 240


@pytest.mark.parametrize(
    ("tail", "writer"),
    [
        ("", None),
        (
            '<meta_data><MO_version value="2021.3.0-2767-releases/2021/3"/></meta_data>',
            "Model Optimizer 2021.3.0-2767-releases/2021/3",
        ),
        ('<meta_data><MO_version value="unknown version"/></meta_data>', "Model Optimizer"),
        (
            '<rt_info><MO_version value="2022.1"/><Runtime_version value="2022.1.0-7019"/></rt_info>',
            "Model Optimizer 2022.1",
        ),
        (
            '<rt_info><Runtime_version value="2024.6.0-17404"/><nncf><version value="2.14"/></nncf></rt_info>',
            "OpenVINO 2024.6, NNCF 2.14",
        ),
        (
            '<rt_info><Runtime_version value="2024.6"/><optimum><optimum_intel_version value="1"/></optimum></rt_info>',
            "OpenVINO 2024.6, optimum-intel 1",
        ),
        ("<quantization_parameters/>", "Post-training Optimization Tool"),
    ],
)
def test_the_writer(tail: str, writer: str | None) -> None:
    document = read_document(f'<net name="n" version="11"><layers/><edges/>{tail}</net>'.encode())
    assert document is not None
    assert document.writer == writer
