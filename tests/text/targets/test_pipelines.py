"""Requirements of the pipelines of GenAI on folders: faults that were planted, and sound folders."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from ir_exec import build
from ir_exec.cli import main
from ir_exec.text.folders.checking import check_folder
from ir_exec.text.targets import Target
from tests.text.model_folders import CONFIG, language_model, pipeline
from tests.text.targets.folders import find_diagnostics, four_bits, severities


def rename_port(before: str, after: str) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        path = folder / "openvino_model.xml"
        text = path.read_text("utf-8")
        assert f'"{before}"' in text
        path.write_text(text.replace(f'"{before}"', f'"{after}"'), "utf-8")

    return plant


def setting(file: str, **values: Any) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        path = folder / file
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")

    return plant


def network(projection: Callable[[build.Value], build.Value]) -> Callable[[Path], None]:
    return lambda folder: language_model(projection=projection).save(folder / "openvino_model.xml")


def cache_in_inputs(folder: Path) -> None:
    past = build.parameter([None, 1, None, 8], name="past_key_values.0.key")
    tokens = build.parameter([None, None], "i64", name="input_ids")
    others = [
        build.parameter([None, None], "i64", name="attention_mask"),
        build.parameter([None], "i32", name="beam_idx"),
    ]
    sums = [
        build.convert(build.reduce_sum(port, list(range(rank))), "f32")
        for port, rank in zip(others, (2, 1), strict=True)
    ]
    logits = build.add(build.convert(build.unsqueeze(tokens, [2]), "f32"), build.reduce_sum(past, [1, 2, 3]))
    logits = build.add(build.add(logits, sums[0]), sums[1])
    results = [build.result(logits, name="logits"), build.result(past, name="present.0.key")]
    build.model(results).save(folder / "openvino_model.xml")


def without_cache(folder: Path) -> None:
    inputs = [
        build.parameter([None, None], "i64", name="input_ids"),
        build.parameter([None, None], "i64", name="attention_mask"),
        build.unsqueeze(build.parameter([None], "i64", name="beam_idx"), [1]),
    ]
    logits = build.convert(build.add(build.add(inputs[0], inputs[1]), inputs[2]), "f32")
    build.model(build.result(build.unsqueeze(logits, [2]), name="logits")).save(folder / "openvino_model.xml")


def other_input(folder: Path) -> None:
    def project(states: build.Value) -> build.Value:
        return build.add(states, build.parameter([1], name="temperature"))

    network(project)(folder)


def other_output(folder: Path) -> None:
    tokens = build.parameter([None, None], "i64", name="tokens")
    logits = build.unsqueeze(build.convert(tokens, "f32"), [2])
    results = [build.result(logits, name="logits"), build.result(build.negative(logits), name="hidden_states")]
    build.model(results).save(folder / "openvino_model.xml")


def broken(folder: Path) -> None:
    (folder / "openvino_model.xml").write_text("<net", "utf-8")


def keep_weights(folder: Path) -> None:
    """Weights of f32."""


def states_of_a_recurrence(folder: Path) -> None:
    path = folder / "openvino_model.xml"
    text = path.read_text("utf-8")
    path.write_text(
        re.sub(r"past_key_values\.0\.(key|value)present\.0\.\1", r"cache_params.past.ssm.\1", text), "utf-8"
    )


class Fault(NamedTuple):
    """A fault, for which target it is one, how bad it is, and the layer or the file that is named."""

    name: str
    target: Target
    plant: Callable[[Path], None]
    severity: str
    location: str = "openvino_model.xml"


FAULTS = [
    Fault("input_ids renamed", "genai", rename_port("input_ids", "inputs_ids"), "error", "inputs_ids"),
    Fault("attention_mask renamed", "genai", rename_port("attention_mask", "attn_mask"), "error", "attn_mask"),
    Fault("beam_idx renamed", "genai", rename_port("beam_idx", "beams"), "error", "beams"),
    Fault("logits renamed", "genai", rename_port("logits", "scores"), "error", "scores"),
    Fault("a cache in inputs", "genai", cache_in_inputs, "error", "past_key_values.0.key"),
    Fault("no cache", "genai", without_cache, "error"),
    Fault("an input that the pipeline does not set", "genai", other_input, "warning", "temperature"),
    Fault("an output besides logits", "genai", other_output, "warning", "hidden_states"),
    Fault("groups of 64", "npu", network(four_bits(group=64)), "warning"),
    Fault("groups of 32 of experts", "npu", network(four_bits(group=32, experts=2)), "warning"),
    Fault("zero points", "npu", network(four_bits("u4", zero_point=5)), "warning"),
    Fault("zero points in the middle", "npu", network(four_bits("u4", zero_point=8)), "info"),
    Fault("no weights of four bits", "npu", keep_weights, "warning"),
    Fault("beam_idx renamed", "npu", rename_port("beam_idx", "beams"), "error", "beams"),
    Fault("a cache in inputs", "npu", cache_in_inputs, "error", "past_key_values.0.key"),
    Fault("beam search", "npu", setting("generation_config.json", num_beams=4), "warning", "generation_config.json"),
    Fault(
        "several sequences",
        "npu",
        setting("generation_config.json", num_return_sequences=2),
        "warning",
        "generation_config.json",
    ),
    Fault("other states", "npu", states_of_a_recurrence, "info"),
    Fault("a broken model", "genai", broken, "info"),
    Fault("a broken model", "npu", broken, "info"),
    Fault("a broken model", "gpu", broken, "info"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.target}-{fault.name}")
def test_planted_faults(fault: Fault, tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    fault.plant(folder)
    assert any(
        diagnostic.severity == fault.severity
        and fault.location in (diagnostic.location.layer_name, Path(diagnostic.location.path or "").name)
        for diagnostic in find_diagnostics(folder, fault.target)
    )


@pytest.mark.parametrize("target", ["gpu", "genai"])
def test_a_sound_folder(target: Target, tmp_path: Path) -> None:
    assert severities(pipeline(tmp_path / "model"), target) == []


@pytest.mark.parametrize("experts", [None, 4])
@pytest.mark.parametrize("target", ["npu", "gpu", "genai"])
def test_sound_weights_of_four_bits(target: Target, experts: int | None, tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    network(four_bits(group=None, experts=experts))(folder)
    assert severities(folder, target) == []


def test_hybrid_models_are_no_fault(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    states_of_a_recurrence(folder)
    assert severities(folder, "genai") == []
    assert severities(folder, "gpu") == []


def encoder(folder: Path, architecture: str) -> Path:
    """A folder of a model that gives embeddings."""
    pipeline(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG | {"architectures": [architecture]}), "utf-8")
    tokens, mask = [build.parameter([None, None], "i64", name=name) for name in ("input_ids", "attention_mask")]
    states = build.unsqueeze(build.convert(build.multiply(tokens, mask), "f32"), [2])
    build.model(build.result(states, name="last_hidden_state")).save(folder / "openvino_model.xml")
    return folder


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [("BertModel", []), ("Qwen3ForCausalLM", []), ("MyEncoder", ["info"])],
)
def test_embeddings(architecture: str, expected: list[str], tmp_path: Path) -> None:
    folder = encoder(tmp_path / "model", architecture)
    assert severities(folder, "genai") == expected
    assert severities(folder, "gpu") == []
    assert severities(folder, "npu") == ["error", "error"]


def test_a_model_of_images(tmp_path: Path) -> None:
    pixels = build.parameter([1, 3, 4, 4], name="pixel_values")
    build.model(build.result(build.reduce_mean(pixels, [2, 3]), name="logits")).save(tmp_path / "openvino_model.xml")
    (tmp_path / "config.json").write_text('{"architectures": ["ResNetForImageClassification"]}', "utf-8")
    (tmp_path / "preprocessor_config.json").write_text("{}", "utf-8")
    assert check_folder(tmp_path) == []
    assert severities(tmp_path, "genai") == ["info"]
    assert severities(tmp_path, "gpu") == []
    assert severities(tmp_path, "npu") == []


class TestWithoutATarget:
    """`check FOLDER` checks pipelines for GenAI; its rejections are warnings unless a rule of folders covers them."""

    @pytest.mark.parametrize(
        "fault",
        [fault for fault in FAULTS if fault.target == "genai" and fault.severity != "info"],
        ids=lambda fault: fault.name,
    )
    def test_planted_faults(self, fault: Fault, tmp_path: Path) -> None:
        folder = pipeline(tmp_path / "model")
        fault.plant(folder)
        diagnostics = [diagnostic for report in check_folder(folder) or () for diagnostic in report.diagnostics]
        here = [
            diagnostic
            for diagnostic in diagnostics
            if fault.location in (diagnostic.location.layer_name, Path(diagnostic.location.path or "").name)
            and diagnostic.code in ("IR805", "IR811")
        ]
        assert here
        assert {diagnostic.severity for diagnostic in diagnostics if diagnostic.code == "IR811"} <= {"warning"}
        assert all(diagnostic.source is not None for diagnostic in diagnostics if diagnostic.code == "IR811")
        clauses = [(diagnostic.location, diagnostic.message.partition(",")[0]) for diagnostic in diagnostics]
        assert len(set(clauses)) == len(clauses)

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        folder = pipeline(tmp_path / "model")
        cache_in_inputs(folder)
        counts = {}
        for options in ((), ("--for", "genai"), ("--for", "npu")):
            printed = CliRunner().invoke(main, ["check", str(folder), *options]).stdout
            counts[options] = [printed.count(f"{severity}[IR811") for severity in ("warning", "error")]
        assert counts[()] == [1, 0]
        assert counts["--for", "genai"] == [0, 1]
        assert counts["--for", "npu"][1] == 1

    def test_other_kinds_of_folders(self, tmp_path: Path) -> None:
        assert check_folder(encoder(tmp_path / "encoder", "MyEncoder")) == []
        assert check_folder(pipeline(tmp_path / "model")) == []
