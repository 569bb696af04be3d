"""Shapes, element types and operators that devices take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.errors import Citation
from ir_exec.ops.base.registry import names_of_types, type_key
from ir_exec.text.targets import documents
from ir_exec.text.targets.documents import names_in_documents
from tests.helpers.network_text import NetworkText
from tests.text.model_folders import TOKENIZERS
from tests.text.targets.folders import find_diagnostics, severities


def network(shape: object, element_type: str = "f32") -> ir_exec.Model:
    shape = ir_exec.Shape(None) if shape is None else shape
    return build.model(build.result(build.add(build.parameter(shape, element_type, name="x"), np.ones(1)), name="y"))


@pytest.mark.parametrize(
    ("shape", "npu", "gpu"),
    [
        ([1, 3], [], []),
        ([None, 3], ["error"], ["info"]),
        ([(1, 8), 3], ["info"], []),
        ([1, (1, 8)], ["info"], ["info"]),
        (None, ["error"], ["error"]),
    ],
)
def test_shapes_of_inputs(shape: object, npu: list[str], gpu: list[str], tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    network(shape).save(path)
    assert severities(path, "npu") == npu
    assert severities(path, "gpu") == gpu
    assert severities(path, "genai") == ["info"]
    assert all(
        diagnostic.location.layer_name == "x"
        for target in ("npu", "gpu")
        for diagnostic in find_diagnostics(path, target)
    )


def test_dims_of_a_model_of_text(tmp_path: Path) -> None:
    tokens = build.parameter([None, None], "i64", name="input_ids")
    build.model(build.result(build.negative(tokens), name="y")).save(tmp_path / "net.xml")
    assert severities(tmp_path / "net.xml", "gpu") == []


@pytest.mark.parametrize("device", ["gpu", "npu"])
def test_dims_that_depend_on_values(device: str, tmp_path: Path) -> None:
    places = build.non_zero(build.parameter([2, 3], name="x"))
    build.model(build.result(build.convert(places, "f32"), name="y")).save(tmp_path / "net.xml")
    (diagnostic,) = find_diagnostics(tmp_path / "net.xml", device)  # type: ignore[arg-type]
    assert (diagnostic.severity, diagnostic.location.layer_type) == ("info", "NonZero")


def test_element_types(tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    scaled = build.convert(build.constant(np.zeros([4], np.float32), "f8e4m3"), "f32")
    build.model(build.result(build.add(build.parameter([4], name="x"), scaled), name="y")).save(path)
    assert severities(path, "gpu") == ["info"]
    assert severities(path, "npu") == []


@pytest.mark.parametrize(
    ("type", "opset", "gpu", "npu"),
    [
        ("Relu", 1, [], []),
        ("ReLU", 1, [], []),
        ("SegmentMax", 16, ["info"], ["info"]),
        ("IsNaN", 10, [], ["info"]),
        ("NonMaxSuppression", 9, ["info"], []),
        ("MyOp", "extension", ["warning"], ["error"]),
        ("MyOp", "my.opset", ["warning"], ["error"]),
        ("SDPA", "gpu_opset", ["info"], ["info"]),
        ("GatedDeltaNet", "extension", ["info"], ["info"]),
    ],
)
def test_operators(type: str, opset: int | str, gpu: list[str], npu: list[str], tmp_path: Path) -> None:
    net = NetworkText()
    net.result(net.op(type, net.parameter("1,4"), opset=opset))
    path = tmp_path / "net.xml"
    path.write_bytes(net.file().xml)
    assert severities(path, "gpu") == gpu
    assert severities(path, "npu") == npu


@pytest.mark.parametrize("device", ["gpu", "npu"])
def test_tokenizers(device: str) -> None:
    assert severities(TOKENIZERS / "llama3_tokenizer.xml", device) == ["warning"]  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["gpu", "npu"])
def test_a_file_that_cannot_be_read(device: str, tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    path.write_text("<net", "utf-8")
    assert severities(path, device) == ["info"]  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["gpu", "npu"])
def test_lists_name_types(device: str) -> None:
    types = {type_key(name) for name in names_of_types()}
    listed, lowered = names_in_documents(device, "operators"), names_in_documents(device, "lowered operators")
    assert {type_key(name) for name in listed | lowered} <= types
    assert not listed & lowered
    assert {type_key("Const"), type_key("Parameter"), type_key("Result")} <= {type_key(name) for name in listed}


def test_the_page_has_every_document() -> None:
    page = (Path(__file__).parents[3] / "docs" / "targets.md").read_text("utf-8")
    cited = [value for value in vars(documents).values() if isinstance(value, Citation)]
    assert len(cited) == len({citation.url for citation in cited})
    assert [citation.url for citation in cited if f"({citation.url})" not in page] == []
