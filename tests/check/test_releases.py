"""The OpenVINO release that a file needs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ir_exec import check_model
from ir_exec.check.releases import Release, known_releases, target_release
from ir_exec.codes import Code
from ir_exec.ops.base.known_extensions import EXTENSION_MODULES
from ir_exec.ops.base.registry import LAST_OPSET, canonical, newest, resolve
from tests.helpers.facts import facts, fault_with, mentions

ROOT = Path(__file__).parents[2]
NETWORKS = Path(__file__).parents[1] / "networks"
BAD = Path(__file__).parents[1] / "bad"
RELU = (BAD / "IR119-newer-than-target.xml").read_text("utf-8")


def relu(opset: str, *, version: str = "11", element_type: str = "f32") -> bytes:
    precision = {"f32": "FP32", "f8e4m3": "F8E4M3"}[element_type]
    text = RELU.replace('version="opset15"', f'version="{opset}"').replace(
        'net" version="11"', f'net" version="{version}"'
    )
    return text.replace('"f32"', f'"{element_type}"').replace('"FP32"', f'"{precision}"').encode()


# The table of OpenVINO's documentation for opsets 1 to 15.
@pytest.mark.parametrize(
    ("opset", "release"),
    [
        ("opset1", "2020.1"),
        ("opset4", "2021.1"),
        ("opset7", "2021.4"),
        ("opset8", "2022.1"),
        ("opset9", "2022.2"),
        ("opset10", "2022.3"),
        ("opset11", "2023.0"),
        ("opset12", "2023.1"),
        ("opset13", "2023.2"),
        ("opset14", "2024.0"),
        ("opset15", "2024.5"),
    ],
)
def test_the_newest_opset_counts(opset: str, release: str) -> None:
    requires = check_model(relu(opset, version="10")).requires
    assert requires is not None
    assert requires.release == release
    assert any(demand.what == f"ReLU of {opset}" for demand in requires.demands)


def test_every_opset_has_a_release() -> None:
    releases = [check_model(relu(f"opset{number}")).requires for number in range(1, LAST_OPSET + 1)]
    assert all(requires is not None for requires in releases)
    parsed = [Release.parse(requires.release) for requires in releases if requires is not None]
    assert parsed == sorted(parsed)


def net(type_name: str, opset: int, attributes: str = "", inputs: int = 1, dim: int = 2) -> bytes:
    """A layer with Parameters, which need not fit each other: the required release is reported for faulty files too."""
    port = f'precision="FP32"><dim>{dim}</dim></port>'
    layers = [
        f'<layer id="{i}" name="p{i}" type="Parameter" version="opset1"><data shape="{dim}" element_type="f32"/>'
        f'<output><port id="0" {port}</output></layer>'
        for i in range(inputs)
    ]
    input_ports = "".join(f'<port id="{i}" {port}' for i in range(inputs))
    layers += [
        f'<layer id="50" name="layer" type="{type_name}" version="opset{opset}"><data {attributes}/>'
        f'<input>{input_ports}</input><output><port id="{inputs}" {port}</output></layer>',
        f'<layer id="51" name="result" type="Result" version="opset1"><input><port id="0" {port}</input></layer>',
    ]
    edges = [f'<edge from-layer="{i}" from-port="0" to-layer="50" to-port="{i}"/>' for i in range(inputs)]
    edges.append(f'<edge from-layer="50" from-port="{inputs}" to-layer="51" to-port="0"/>')
    parts = ["<layers>", *layers, "</layers><edges>", *edges, "</edges>"]
    return f'<net name="net" version="11">{"".join(parts)}</net>'.encode()


def required_release(xml: bytes) -> tuple[str, list[str]]:
    requires = check_model(xml, weights=b"").requires
    assert requires is not None
    return requires.release, [demand.what for demand in requires.demands]


# What the wheels of OpenVINO read: the release that is named, and not the one before it.
@pytest.mark.parametrize(
    ("type_name", "opset", "release"),
    [
        ("ScaledDotProductAttention", 13, "2023.3"),
        ("NMSRotated", 13, "2023.2"),
        ("ConvertPromoteTypes", 14, "2024.0"),
        ("Col2Im", 15, "2024.2"),
        ("SliceScatter", 15, "2024.4"),
        ("SearchSorted", 15, "2024.5"),
        ("Identity", 16, "2025.0"),
        ("ISTFT", 16, "2025.1"),
        ("SparseFillEmptyRows", 16, "2025.2"),
        ("AvgPool", 16, "2025.3"),
        ("OneHot", 16, "2025.4"),
        ("ReLU", 16, "2026.0"),
        ("ErfInv", 17, "2026.2"),
        ("GroupedMatMul", 17, "2026.3"),
        ("RGBtoNV12", 17, "2026.4"),
    ],
)
def test_opsets_grow_for_a_few_releases(type_name: str, opset: int, release: str) -> None:
    assert required_release(net(type_name, opset)) == (release, [mentions(type_name, f"opset{opset}")])
    assert required_release(net(type_name.swapcase(), opset))[0] == release


@pytest.mark.parametrize(
    ("xml", "release", "what"),
    [
        (
            net("MaxPool", 14, 'rounding_type="ceil_torch"'),
            "2024.1",
            mentions("rounding_type", "ceil_torch", "MaxPool"),
        ),
        (net("MaxPool", 14, 'rounding_type="ceil"'), "2024.0", mentions("MaxPool", "opset14")),
        (net("RandomUniform", 8, 'alignment="pytorch"'), "2024.3", mentions("alignment", "pytorch", "RandomUniform")),
        (net("RandomUniform", 8, 'alignment="tensorflow"'), "2022.1", mentions("IR", 11)),
        (net("Einsum", 7, 'equation="i...->i"'), "2025.1", mentions("i...->i", "Einsum")),
        (net("Einsum", 7, 'equation="ij->i..."'), "2025.1", mentions("ij->i...", "Einsum")),
        (net("Einsum", 7, 'equation="i...j->j...i"'), "2022.1", mentions("IR", 11)),
        (net("Einsum", 7, 'equation="i,->i"', inputs=2), "2025.2", mentions("i,->i", "Einsum")),
        (net("Einsum", 7, 'equation="->"'), "2025.2", mentions("->", "Einsum")),
        (net("Einsum", 7, 'equation=",ij->j"', inputs=2), "2022.1", mentions("IR", 11)),
        (net("Einsum", 7, f'equation="{"." * 100_000}"'), "2022.1", mentions("IR", 11)),
        (net("ScaledDotProductAttention", 13, inputs=6), "2025.4", mentions("ScaledDotProductAttention", 6)),
        (net("ScaledDotProductAttention", 13, inputs=5), "2023.3", mentions("ScaledDotProductAttention", "opset13")),
        (net("ReadValue", 6, 'variable_id="v"', inputs=0), "2023.3", mentions("ReadValue")),
        (net("NonMaxSuppression", 4, inputs=2), "2023.1", mentions("NonMaxSuppression", 2)),
        (net("NonMaxSuppression", 5, inputs=2), "2022.1", mentions("IR", 11)),
        (net("ReLU", 1, dim=0), "2023.2", mentions("dim", 0)),
        (net("FakeConvert", 13, 'destination_type="f8e4m3"'), "2023.3", mentions("FakeConvert", "opset13")),
        (net("Interpolate", 4).replace(b"FP32", b"FP64"), "2026.3", mentions("Interpolate", "f64")),
        (net("Interpolate", 1).replace(b"FP32", b"FP64"), "2022.1", mentions("IR", 11)),
    ],
)
def test_attributes_and_inputs_demand_releases(xml: bytes, release: str, what: mentions) -> None:
    actual, demands = required_release(xml)
    assert actual == release
    assert what in demands
    lower = re.sub(rb'(name="layer" type=")(\w+)', lambda parts: parts[1] + parts[2].lower(), xml)
    assert lower != xml
    assert required_release(lower)[0] == release


def test_the_table_names_types_as_files_do() -> None:
    table = json.loads((ROOT / "ir_exec" / "check" / "releases.json").read_text("utf-8"))
    names = {name for part in ("attributes", "inputs", "operators") for entry in table[part] for name in entry["types"]}
    assert names
    assert {name for name in names if newest(name) is None or canonical(name) != name} == set()


def test_operators_of_tokenizers() -> None:
    folder = ROOT / "tests" / "text" / "tokenizers"
    requires = check_model(folder / "llama3_tokenizer.xml").requires
    assert requires is not None
    assert Release.parse(requires.release) >= Release(2024, 0)
    codes = [error.code for error in check_model(folder / "llama3_tokenizer.xml", target="2023.3").errors]
    assert set(codes) == {Code.newer_than_target}
    assert len(codes) > 3


@pytest.mark.parametrize(
    ("type_name", "inputs", "release"),
    [
        ("Truncate", 4, "2025.2"),
        ("BPETokenizer", 11, "2024.0"),
        ("BPETokenizer", 15, "2024.2"),
        ("BPETokenizer", 18, "2024.4"),
        ("RegexSplit", 6, "2024.0"),
        ("RegexSplit", 7, "2024.5"),
        ("RaggedToDense", 6, "2025.3"),
        ("ContribStringJoin", 2, "2026.3"),
    ],
)
def test_generations_of_operators_of_tokenizers(type_name: str, inputs: int, release: str) -> None:
    xml = net(type_name, 1, inputs=inputs).replace(
        f'type="{type_name}" version="opset1"'.encode(), f'type="{type_name}" version="extension"'.encode()
    )
    assert required_release(xml)[0] == release


def test_the_table_has_every_operator_of_tokenizers() -> None:
    table = json.loads((ROOT / "ir_exec" / "check" / "releases.json").read_text("utf-8"))
    names = {name.lower() for entry in table["extensions"] for name in entry["types"]}
    tokenizers = {
        name
        for name, module in EXTENSION_MODULES.items()
        if module.rpartition(".")[2] not in ("grouped_attention", "internal", "recurrences")
    }
    assert names == tokenizers


def test_empty_constants_were_always_read() -> None:
    xml = net("ReLU", 1).decode()
    constant = (
        '<data shape="0" element_type="f32" offset="0" size="1"/><output><port id="0" precision="FP32"><dim>0</dim>'
    )
    layer = f'<layer id="60" name="constant" type="Const" version="opset1">{constant}</port></output></layer>'
    assert required_release(xml.replace("<layers>", f"<layers>{layer}").encode()) == ("2022.1", [mentions("IR", 11)])


def test_tabled_operators_are_in_their_opset() -> None:
    tables = [
        json.loads((ROOT / "ir_exec" / name).read_text("utf-8"))
        for name in ("check/releases.json", "ops/base/opsets.json")
    ]
    releases, opsets = tables
    for entry in releases["operators"]:
        for name in entry["types"]:
            assert entry["opset"] in opsets[name]["opsets"]
    for entry in (*releases["attributes"], *releases["inputs"]):
        for name in entry["types"]:
            assert name in opsets
            resolve(name, f"opset{max(opsets[name]['opsets'])}")


def test_ir_version_11_needs_2022_1() -> None:
    requires = check_model(relu("opset1")).requires
    assert requires is not None
    assert (requires.release, [demand.what for demand in requires.demands]) == ("2022.1", [mentions("IR", 11)])


def test_demands_name_the_first_layer_and_count() -> None:
    requires = check_model(NETWORKS / "gnn_gcn_gat.xml").requires
    assert requires is not None
    assert requires.release == "2023.1"
    (demand,) = requires.demands
    assert (demand.what, demand.count, demand.location.layer_id) == (
        mentions("ScatterElementsUpdate", "opset12"),
        4,
        "27",
    )


def test_element_types_demand_releases() -> None:
    requires = check_model(relu("opset1", element_type="f8e4m3")).requires
    assert requires is not None
    assert requires.release == "2024.0"
    assert requires.demands
    assert all(demand.what == mentions("f8e4m3") for demand in requires.demands)


@pytest.mark.parametrize(
    ("target", "is_read"), [("2024.4", False), ("2024.5", True), ("2024.5.0-17288", True), ("2025.0", True)]
)
def test_a_target(target: str, is_read: bool) -> None:
    report = check_model(relu("opset15"), target=target)
    assert [error.code for error in report.errors] == ([] if is_read else [Code.newer_than_target])
    if not is_read:
        assert report.errors[0].location.layer_name == "relu"
        assert facts(report.errors[0].message) == ["2024.4", "2024.5", "OpenVINO", "ReLU", "opset15"]


def test_invalid_target() -> None:
    (error,) = check_model(relu("opset1"), target="latest").errors
    assert error == fault_with("latest", "OpenVINO")


def test_unreadable_file_needs_no_release() -> None:
    assert check_model(b"no xml").requires is None


def test_layer_too_new_twice_is_one_error() -> None:
    report = check_model(net("MaxPool", 14, 'rounding_type="ceil_torch"'), target="2023.3")
    (error,) = [error for error in report.errors if error.code == Code.newer_than_target]
    assert facts(error.message) == ["2023.3", "2024.1", "MaxPool", "OpenVINO", "ceil_torch", "rounding_type"]


@pytest.mark.parametrize("text", ["2030.9", "2024.7", "2017.1", "2026.99"])
def test_unknown_release_as_target(text: str) -> None:
    (error,) = check_model(relu("opset1"), target=text).errors
    assert error.code == Code.unknown_input
    assert error == fault_with(text, "2018.1", "2026.4")


def test_targets_are_releases() -> None:
    releases = known_releases()
    assert releases == sorted(set(releases))
    table = json.loads((ROOT / "ir_exec" / "check" / "releases.json").read_text("utf-8"))
    entries = [table["dim_of_0"], *table["opsets"].values(), *table["ir_versions"].values()]
    entries += table["element_types"].values()
    entries += [entry["release"] for key in ("operators", "extensions", "attributes", "inputs") for entry in table[key]]
    assert {target_release(text) for text in entries} <= set(releases)
    assert target_release("2026.4.1-22222") == Release(2026, 4)
