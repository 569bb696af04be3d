"""`ir-exec inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.ir import Document, read_document
from tests.helpers.facts import mentions
from tests.helpers.ir_text import layer, net, port

NETWORKS = Path(__file__).parents[2] / "networks"
SCHEMA = Path(__file__).parents[3] / "schemas" / "document.schema.json"
SUMMARY = SCHEMA.with_name("summary.schema.json")
SAMPLES = SCHEMA.parents[1] / "samples"
BAD = Path(__file__).parents[2] / "bad"


def inspect(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def table(result: Result, title: str) -> list[list[str]]:
    lines = result.stdout.splitlines()
    start = lines.index(title)
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [line.split() for line in lines[start + 3 : end]]


def test_a_network_with_bodies() -> None:
    result = inspect(NETWORKS / "script_if.xml", "--layers")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == mentions("Model2", "IR", 11, 33, "OpenVINO", "2026.4")
    assert table(result, "Inputs") == [["x.1", "f32", "[3,8]"]]
    assert table(result, "Outputs") == [["aten::mul/Multiply", "f32", "[3,8]", "Result_68"]]
    operators = {row[0]: row[1:] for row in table(result, "Operators")}
    assert operators["Const"] == ["opset1", "10"]
    assert operators["If"] == ["opset8", "1"]
    assert sum(int(row[1]) for row in operators.values()) == 33
    assert ["f32", "5", "145", "580"] in table(result, "Weights")
    layers = {row[0]: row for row in table(result, "Layers")}
    assert len(layers) == 33
    assert layers["16"] == ["16", "If", "prim::If/If", "15,", "0", "f32[3,8]"]
    assert layers["16/then/2"] == ["16/then/2", "MatMul", "aten::linear/MatMul", "0,", "1", "f32[3,8]"]


def test_inferred_types_go_beyond_the_declared_ones() -> None:
    """Dims that the file leaves open are shown as intervals."""
    result = inspect(NETWORKS / "index_ops.xml")
    assert result.exit_code == 0, result.output
    assert table(result, "Inputs")[0][:3] == ["x", "f32", "[?,?]"]


def test_missing_operators() -> None:
    result = inspect(BAD / "IR902-extension-operator.xml")
    assert result.exit_code == 0
    assert ["MyOp", "my_extension", "1", "not", "implemented"] in table(result, "Operators")


def test_json_is_the_document() -> None:
    path = NETWORKS / "script_if.xml"
    result = inspect(path, "--format", "json")
    assert result.exit_code == 0, result.output
    assert Document.model_validate_json(result.stdout) == read_document(path)


def test_json_keeps_to_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(inspect(NETWORKS / "script_if.xml", "--format", "json").stdout)
    validator.validate(document)
    for field, wrong in (("version", 12), ("name", 1), ("layers", [{"id": "0"}]), ("statistics", {})):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**document, field: wrong})


def test_the_schema_is_current() -> None:
    printed = CliRunner().invoke(main, ["schema", "document"]).stdout
    assert printed == SCHEMA.read_text("utf-8"), "run: ir-exec schema document > schemas/document.schema.json"


def test_json_of_a_broken_file() -> None:
    result = inspect(BAD / "IR007-unreadable-dim.xml", "--format", "json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "IR007" in result.stderr


def test_a_broken_file() -> None:
    path = BAD / "IR107-cycle.xml"
    result = inspect(path)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error[IR107 cycle]" in result.stderr
    assert f"`ir-exec check {path}`" in result.stderr


def test_arguments() -> None:
    assert inspect().exit_code == 2
    assert inspect("a.xml", "b.xml").exit_code == 2


def old_network(tail: str) -> bytes:
    """Version 10: an f16 input, a Greater, whose output becomes f32."""
    image = layer(
        0,
        "Parameter",
        name="image",
        data='shape="2,3" element_type="f16"',
        outputs=[port(0, "f16", (2, 3), "tensor")],
    )
    ports = [port(0, "f16", (2, 3)), port(1, "f16", (2, 3))]
    greater = layer(1, "Greater", name="more", inputs=ports, outputs=[port(2, "boolean", (2, 3))])
    last = layer(2, "Result", name="more/sink", inputs=[port(0, "boolean", (2, 3))])
    return net([image, greater, last], [(0, 0, 1, 0), (0, 0, 1, 1), (1, 2, 2, 0)], version=10, tail=tail)


def test_version_10_is_shown_as_stored(tmp_path: Path) -> None:
    path = tmp_path / "old.xml"
    meta = '<meta_data><MO_version value="2021.4.2-3974"/></meta_data><quantization_parameters/>'
    path.write_bytes(old_network(meta))
    result = inspect(path)
    assert result.exit_code == 0, result.output
    title = result.stdout.splitlines()[0]
    assert title == mentions("net", 10, 3, 2)
    assert title.endswith("Model Optimizer 2021.4.2-3974, Post-training Optimization Tool")
    assert table(result, "Inputs") == [["image", "f32", "[2,3]", "tensor"]]
    assert table(result, "Outputs") == [["more", "f32", "[2,3]", "more/sink"]]
    shown = json.loads(inspect(path, "--format", "json").stdout)
    assert (shown["version"], [entry["name"] for entry in shown["layers"]]) == (10, ["image", "more", "more/sink"])


def test_a_network_without_its_weights(tmp_path: Path) -> None:
    path = tmp_path / "alone.xml"
    path.write_bytes((NETWORKS / "script_if.xml").read_bytes())
    result = inspect(path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == mentions("OpenVINO", "2026.4", "weights")
    complete = inspect(NETWORKS / "script_if.xml")
    for title in ("Inputs", "Outputs", "Operators", "Weights"):
        assert table(result, title) == table(complete, title)
    single = inspect(path, "--layer", "10", "--layer", "Parameter_36")
    assert single.exit_code == 0, single.output
    # What follows from values is not known without them.
    listed = [table(inspect(file, "--layers"), "Layers") for file in (path, NETWORKS / "script_if.xml")]
    assert [row[:3] for row in listed[0]] == [row[:3] for row in listed[1]]


def test_other_faults_are_still_faults(tmp_path: Path) -> None:
    result = inspect(BAD / "IR204-constant-size.xml")
    assert result.exit_code == 1
    assert "IR204" in result.stderr


def test_a_summary_comes_first() -> None:
    lines = inspect(NETWORKS / "script_if.xml").stdout.splitlines()
    assert lines[1:9] == [
        "",
        "parameters      145",
        "bytes           604",
        "multiply-adds   192",
        "variables       0",
        "inputs          1",
        "outputs         1",
        "",
    ]
    assert "Layers" not in lines
    assert "Variables" not in lines


def test_variables_and_open_dims() -> None:
    result = inspect(SAMPLES / "cache_update.xml")
    assert table(result, "Variables") == [["keys", "f32", "[1,2,8,4]"]]
    assert "variables       1" in result.stdout
    assert mentions("multiply-adds", 64) in result.stdout.splitlines()
    shaped = inspect(SAMPLES / "cache_update.xml", "--shape", "new_keys[1,2,3,4],position[3],query[1,2,5,4]")
    assert "multiply-adds   320\n" in shaped.stdout
    assert ["query", "f32", "[1,2,5,4]"] in table(shaped, "Inputs")
    assert table(shaped, "Outputs")[0][:3] == ["scores", "f32", "[1,2,5,8]"]


def test_shapes_that_do_not_fit() -> None:
    result = inspect(SAMPLES / "cache_update.xml", "--shape", "query[1,2,5,3]")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[IR502 dims-differ]" in result.stderr
    assert inspect(SAMPLES / "cache_update.xml", "--shape", "nope[1]").exit_code == 2
    assert inspect(SAMPLES / "cache_update.xml", "--shape", "[1]").exit_code == 2


class TestLayer:
    def test_attributes_and_neighbors(self) -> None:
        result = inspect(NETWORKS / "script_if.xml", "--layer", "aten::linear/MatMul")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[:2] == [
            'layer 16/then/2 "aten::linear/MatMul" (MatMul of opset1, line 210)',
            "multiply-adds   192",
        ]
        assert table(result, "Attributes") == [["transpose_a", "false"], ["transpose_b", "true"]]
        assert table(result, "Inputs") == [
            ["a", "f32[3,8]", "16/then/0", "Parameter_36", "(Parameter)"],
            ["b", "f32[8,8]", "16/then/1", "self.a.weight", "(Const)"],
        ]
        assert table(result, "Outputs") == [["output", "f32[3,8]", "16/then/4", "aten::linear/Add", "(Add)"]]

    @pytest.mark.parametrize("name", ["16/then/2", "aten::linear/MatMul"])
    def test_by_id_and_by_name(self, name: str) -> None:
        assert inspect(NETWORKS / "script_if.xml", "--layer", name).stdout.startswith("layer 16/then/2 ")

    def test_values_of_small_constants(self) -> None:
        result = inspect(NETWORKS / "script_if.xml", "--layer", "10", "--layer", "Parameter_36")
        assert result.stdout.count("\nlayer ") == 1
        assert table(result, "Outputs")[0][-1] == "1"

    def test_several_outputs_and_tensor_names(self) -> None:
        result = inspect(SAMPLES / "gather_elements.xml", "--layer", "output")
        assert table(result, "Outputs") == [["output", "f32[2,1,3]", "output", "3", "Result_4", "(Result)"]]

    def test_unknown_names(self) -> None:
        result = inspect(NETWORKS / "script_if.xml", "--layer", "aten::linear/MatMull")
        assert (result.exit_code, result.stdout) == (2, "")
        assert mentions("aten::linear/MatMull", "aten::linear/MatMul") in result.stderr.splitlines()
        assert "--layers" in inspect(NETWORKS / "script_if.xml", "--layer", "§").stderr


class TestJson:
    def test_the_summary(self) -> None:
        result = inspect(NETWORKS / "script_if.xml", "--format", "json", "--summary")
        summary = json.loads(result.stdout)
        jsonschema.validate(summary, json.loads(SUMMARY.read_text("utf-8")))
        assert (summary["parameters"], summary["bytes"], summary["multiply_adds"]) == (145, 604, 192)
        assert summary["is_exact"] is True
        assert summary["inputs"] == [{"name": "x.1", "element_type": "f32", "shape": "[3,8]", "other_names": []}]
        assert sum(operator["layers"] for operator in summary["operators"]) == summary["layers"] == 33

    def test_the_schema_of_the_summary_is_current(self) -> None:
        printed = CliRunner().invoke(main, ["schema", "summary"]).stdout
        assert printed == SUMMARY.read_text("utf-8"), "run: ir-exec schema summary > schemas/summary.schema.json"

    def test_layers(self) -> None:
        layers = json.loads(inspect(NETWORKS / "script_if.xml", "--format", "json", "--layers").stdout)
        assert len(layers) == 33
        (facts,) = json.loads(inspect(NETWORKS / "script_if.xml", "--format", "json", "--layer", "16/then/2").stdout)
        assert facts in layers
        assert facts["attributes"] == {"transpose_a": "false", "transpose_b": "true"}
        assert facts["inputs"][1]["source"] == {"id": "16/then/1", "type": "Const", "name": "self.a.weight", "port": 0}

    @pytest.mark.parametrize("more", [["--summary", "--layers"], ["--layer", "0", "--layers"], ["--shape", "[3,8]"]])
    def test_one_thing_at_a_time(self, more: list[str]) -> None:
        result = inspect(NETWORKS / "script_if.xml", "--format", "json", *more)
        assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("int4_asym", ("int4_asym", 32, 1, 512, 296)),
        ("mxfp4", ("mxfp4", 32, 1, 512, 272)),
        ("int8_sym", ("int8_sym", None, 1, 512, 528)),
    ],
)
def test_compressed_weights(mode: str, expected: tuple[object, ...]) -> None:
    path = str(Path(__file__).parents[2] / "quantization" / "nncf" / f"{mode}.xml")
    result = CliRunner().invoke(main, ["inspect", path, "--format", "json", "--summary"])
    (weights,) = json.loads(result.stdout)["compressed"]
    assert tuple(weights.values()) == expected
    assert mentions(mode) in CliRunner().invoke(main, ["inspect", path]).stdout.splitlines()
