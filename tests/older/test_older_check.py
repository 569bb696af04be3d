"""Findings of `check` in older files, with the layer and the line of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import IRError
from ir_exec.older.registry import lowered_types
from tests.older.cases import CASES, image
from tests.older.files import OlderFile, Port
from tests.older.test_older_pairs import PAIRS

META = '<meta_data><MO_version value="1.5.12.49d067a0"/><cli_parameters/></meta_data>'


def network() -> OlderFile:
    file = OlderFile(version=5, extra=META)
    x = file.input("x", 1, 2, 4, 4)
    told = {"kernel": (3, 3), "output": 3, "group": 1}
    conv = file.layer("Convolution", [x], (1, 3, 2, 2), data=told, blobs={"weights": image(3, 2, 3, 3)}, name="conv")
    file.layer("ReLU", conv, (1, 3, 2, 2), name="relu")
    return file


CHANGES: dict[str, tuple[int, str, str, str]] = {
    "blob-of-another-size": (1, 'size="216"', 'size="212"', "IR204 conv"),
    "blob-behind-the-end": (1, 'offset="0"', 'offset="8"', "IR202 conv/weights"),
    "negative-offset": (1, 'offset="0"', 'offset="-8"', "IR205 conv"),
    "unreadable-offset": (1, 'offset="0"', 'offset="zero"', "IR007 conv"),
    "no-size": (1, 'size="216"', "", "IR008 conv"),
    "size-beyond-64-bits": (1, 'size="216"', f'size="{10**30}"', "IR007 conv"),
    "no-attribute": (1, 'output="3"', "", "IR301 conv"),
    "unreadable-attribute": (1, 'output="3"', 'output="three"', "IR302 conv"),
    "unreadable-list": (1, 'kernel="3,3"', 'kernel="3,x"', "IR302 conv"),
    "too-many-sizes": (1, 'kernel="3,3"', 'kernel="3,3,3"', "IR302 conv"),
    "huge-output": (1, 'output="3"', f'output="{2**62}"', "IR205 conv"),
    "groups-that-do-not-fit": (1, 'group="1"', 'group="5"', "IR502 conv"),
    "unreadable-dim": (0, "<dim>4</dim>", "<dim>x</dim>", "IR007 x"),
    "no-layer-id": (2, 'id="2"', "", "IR008 relu"),
    "unknown-precision": (1, 'precision="FP32"', 'precision="FP31"', "IR401 conv"),
    "two-layers-of-one-id": (2, 'id="2"', 'id="1"', "IR101 relu"),
}
"""A layer, a text in it, what replaces the text, and what is found."""

EDGES: dict[str, tuple[str, str, str]] = {
    "no-such-layer": ('from-layer="1"', 'from-layer="7"', "IR102 None"),
    "no-such-port": ('from-port="1"', 'from-port="7"', "IR103 conv"),
    "no-such-input-port": ('to-port="0"', 'to-port="7"', "IR103 relu"),
    "a-cycle": ('from-layer="1" from-port="1"', 'from-layer="2" from-port="1"', "IR107 relu"),
}
"""A fault at the last edge."""


def faulty(name: str) -> tuple[OlderFile, str]:
    file = network()
    if name in CHANGES:
        layer, old, new, expected = CHANGES[name]
        assert old in file.layers[layer]
        file.layers[layer] = file.layers[layer].replace(old, new, 1)
    elif name in EDGES:
        old, new, expected = EDGES[name]
        assert old in file.edges[-1]
        file.edges[-1] = file.edges[-1].replace(old, new, 1)
    elif name == "no-edge":
        file.edges.pop()
        expected = "IR105 relu"
    else:
        file.edges.append(file.edges[-1])
        expected = "IR104 relu"
    return file, expected


@pytest.mark.parametrize("name", [*CHANGES, *EDGES, "no-edge", "two-edges"])
def test_faults(name: str) -> None:
    file, expected = faulty(name)
    report = file.report()
    assert expected in [f"{error.code} {error.location.layer_name}" for error in report.errors], str(report)
    assert all(error.location.line for error in report.errors if error.code != "IR108")
    with pytest.raises(IRError) as raised:
        file.model()
    assert raised.value.code in {error.code for error in report.errors}


def test_lines_match_the_file() -> None:
    file = network()
    conv = file.layers[1]
    file.layers[1] = conv.replace("<dim>2</dim></port></output>", "<dim>3</dim></port></output>")
    lines = file.xml.decode().splitlines()
    report = file.report()
    assert [error.code for error in report.errors] == ["IR601"]
    assert "IR604" in [error.code for error in report.warnings]
    for error in report.diagnostics:
        if error.code == "IR005":
            continue
        assert error.location.line is not None
        assert "<port" in lines[error.location.line - 1] or "<layer" in lines[error.location.line - 1]
        assert error.location.layer_id in ("1", "2")


def test_ids_names_and_lines_stay() -> None:
    file = network()
    lines = file.xml.decode().splitlines()
    layers = {layer.id: layer for layer in file.model().document.layers}
    assert [layers[str(id)].name for id in range(3)] == ["x", "conv", "relu"]
    for id in range(3):
        assert f'id="{id}"' in lines[layers[str(id)].line - 1]


def test_the_version_and_what_wrote_it() -> None:
    (warning,) = network().report().diagnostics
    assert (warning.code, warning.severity) == ("IR005", "warning")
    assert "version 5" in warning.message
    assert "Model Optimizer 2018 R5" in warning.message
    assert warning.hint is not None
    assert "convert" in warning.hint


def test_a_missing_bin_is_one_error(tmp_path: Path) -> None:
    file = network()
    file.layer("Permute", [Port(2, 1, (1, 3, 2, 2))], (1, 2, 2, 3), data={"order": (0, 2, 3, 1)})
    (tmp_path / "old.xml").write_bytes(file.xml)
    report = ir_exec.check_model(tmp_path / "old.xml")
    assert [error.code for error in report.errors] == ["IR201"]
    assert report.layers_not_checked == 0


def test_bytes_behind_the_last_constant() -> None:
    file = network()
    file.layer("Permute", [Port(2, 1, (1, 3, 2, 2))], (1, 2, 2, 3), data={"order": (0, 2, 3, 1)})
    file.stored += bytes(8)
    assert [info.code for info in file.report().infos] == ["IR207"]
    file.model()


def test_constant_may_have_spare_bytes() -> None:
    file = OlderFile()
    x = file.input("x", 2, 3)
    constant = file.const(np.float32([[1, 2, 3]]), "FP32")
    file.layers[1] = file.layers[1].replace('size="12"', 'size="24"')
    file.stored += bytes(12)
    file.layer("Eltwise", [x, constant], (2, 3), data={"operation": "sum"})
    assert file.report().ok
    assert file.run(np.zeros((2, 3), np.float32))[0].tolist() == [[1, 2, 3]] * 2


def test_unknown_types_are_named_and_not_run() -> None:
    file = network()
    relu = file.layers[2]
    file.layers[2] = relu.replace('type="ReLU"', 'type="Fancy"').replace("<input>", '<data depth="7"/><input>')
    report = file.report()
    (finding,) = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == "IR116"]
    assert (finding.location.layer_name, finding.location.layer_type) == ("relu", "Fancy")
    assert "depth" in finding.message
    assert report.layers_not_checked == 1
    model = file.model()
    assert model.output().shape == [1, 3, 2, 2]
    with pytest.raises(ir_exec.IRError) as error:
        ir_exec.compile_model(model)([image(1, 2, 4, 4)])
    assert error.value.code == "IR901"
    assert "Fancy" in error.value.message


def test_the_target_does_not_read_it() -> None:
    file = network()
    report = ir_exec.check_model(file.xml, weights=file.stored, target="2024.0")
    assert [error.code for error in report.errors] == ["IR119"]
    assert ir_exec.check_model(file.xml, weights=file.stored, target="2020.4").ok


def test_declared_sizes_take_no_memory() -> None:
    file = OlderFile()
    x = file.input("x", 2**40, 2**20)
    file.layer("ReLU", [x], (2**40, 2**20))
    assert file.report().ok


def test_every_layer_type_is_tested() -> None:
    """Types without a case are tested elsewhere, or named here."""
    elsewhere = {"tensoriterator", "memory", "const"}
    tested = {
        layer.split('type="')[1].split('"')[0].lower()
        for case in (*CASES.values(), *PAIRS)
        for layer in case()[0].layers
    }
    assert {name.lower() for name in lowered_types()} <= tested | elsewhere


def test_outputs_have_the_names_of_their_layers() -> None:
    file = OlderFile()
    x = file.input("x", 1, 4)
    file.layer("Split", [x], (1, 1), (1, 3), data={"axis": 1}, name="parts")
    model = file.model()
    assert [port.name for port in model.outputs] == ["parts.0", "parts.1"]
    outputs = ir_exec.compile_model(model)({"x": np.float32([[1, 2, 3, 4]])})
    assert outputs["parts.1"].tolist() == [[2, 3, 4]]


@pytest.mark.parametrize("precision", ["FP31", "", "9" * 5000, "dynamic", "string"])
@pytest.mark.parametrize("version", [6, 7])
def test_a_needed_constant_of_an_unknown_precision(version: int, precision: str) -> None:
    file = OlderFile(version=version)
    x = file.input("x", 2, 3)
    constant = file.const(np.float32([[1, 2, 3]]), "FP32")
    file.layers[1] = file.layers[1].replace('precision="FP32"', f'precision="{precision}"')
    file.layer("Eltwise", [x, constant], (2, 3), data={"operation": "sum"})
    report = file.report()
    assert "IR999" not in {diagnostic.code for diagnostic in report.diagnostics}
    assert not report.ok or not precision
    if report.errors:
        assert {error.location.layer_name for error in report.errors} == {"Const1"}
        with pytest.raises(IRError) as raised:
            file.run(np.zeros((2, 3), np.float32))
        assert raised.value.code != "IR999"


@pytest.mark.parametrize("type", ["Result", "Parameter", "Constant"])
def test_types_of_current_files(type: str) -> None:
    file = network()
    file.layers[2] = file.layers[2].replace('type="ReLU"', f'type="{type}"')
    assert "IR999" not in {diagnostic.code for diagnostic in file.report().diagnostics}


@pytest.mark.parametrize("id", ["9" * 5000, "9" * 19, "\u00b2", "\u0663", "-1", "1_0", "1.0", " ", "0x1"])
@pytest.mark.parametrize("version", [2, 7])
def test_unreadable_ids(version: int, id: str) -> None:
    file = network()
    file.version = version
    file.layers[2] = file.layers[2].replace('id="2"', f'id="{id}"', 1)
    codes = {error.code for error in file.report().errors}
    assert "IR007" in codes
    assert "IR999" not in codes
    with pytest.raises(IRError) as raised:
        file.model()
    assert raised.value.code in codes


@pytest.mark.parametrize("number", ["9" * 5000, "1e400", "nan", "1e300", "-1", "x", ""])
def test_numbers_of_any_length(number: str) -> None:
    file = network()
    for name in ("kernel", "output", "group"):
        changed = OlderFile(version=5, layers=list(file.layers), edges=file.edges, stored=file.stored)
        changed.layers[1] = changed.layers[1].replace(f'{name}="', f'{name}="{number},', 1)
        assert "IR999" not in {diagnostic.code for diagnostic in changed.report().diagnostics}
    for name in ("id", "value", "offset", "size"):
        mean = {"value": "1", **({"offset": "0", "size": "64"} if name in ("offset", "size") else {})} | {name: number}
        told = " ".join(f'{key}="{text}"' for key, text in mean.items() if key != "id")
        channels = "".join(
            f'<channel id="{number if name == "id" else channel}"><mean {told}/></channel>' for channel in (0, 1)
        )
        file.extra = f"<pre-process>{channels}</pre-process>"
        assert "IR999" not in {diagnostic.code for diagnostic in file.report().diagnostics}
