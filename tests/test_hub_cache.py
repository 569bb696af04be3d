"""Repositories in the cache of Hugging Face on this machine, by their ids."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec.cli import main
from ir_exec.errors import ParseError
from ir_exec.hub_cache import cached_ids, cached_path
from tests.helpers.facts import mentions

SAMPLES = Path(__file__).parents[1] / "samples"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def add_repository(cache: Path, repository: str, source: Path, commit: str = COMMIT, *, branch: str = "main") -> Path:
    """Add a repository with the files of a folder, as links to blobs."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    for directory in (snapshot, folder / "blobs", folder / "refs"):
        directory.mkdir(parents=True, exist_ok=True)
    (folder / "refs" / branch).write_text(commit)
    for number, file in enumerate(sorted(source.iterdir())):
        blob = folder / "blobs" / f"{commit[:4]}{number}"
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(blob)
    return snapshot


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a model, a language model, and a repository without a snapshot."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "gnn"
    model.mkdir()
    for ending in ("xml", "bin"):
        shutil.copy(SAMPLES / f"gnn_step.{ending}", model / f"gnn_step.{ending}")
    add_repository(tmp_path / "cache", "org/gnn-step", model)
    add_repository(tmp_path / "cache", "org/tiny-lm", SAMPLES / "language_model")
    (tmp_path / "cache" / "models--org--empty" / "refs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def test_models_are_read_from_the_cache(cache: Path) -> None:
    expected = ir_exec.read_model(SAMPLES / "gnn_step.xml")
    for path in ("org/gnn-step", "org/gnn-step/gnn_step.xml"):
        model = ir_exec.read_model(path)
        assert list(model.constants) == list(expected.constants)
        np.testing.assert_array_equal(model.constants["Constant_15908"], expected.constants["Constant_15908"])
        assert ir_exec.check_model(path).layers_checked == len(list(expected.graph.all_nodes()))
    assert ir_exec.compare("org/gnn-step", "org/gnn-step/gnn_step.xml").verdict == "equal"
    assert ir_exec.read_model("org/tiny-lm").graph.path == str(cached_path("org/tiny-lm/openvino_model.xml"))


def test_folders_are_read_from_the_cache(cache: Path) -> None:
    pipeline = ir_exec.text.load("org/tiny-lm")
    assert len(pipeline.generate([1, 2], max_new_tokens=2, ignore_eos=True).ids) == 2
    for model, checkpoint in (("org/tiny-lm", SAMPLES / "language_model"), (SAMPLES / "gnn_step.xml", "org/tiny-lm")):
        report = ir_exec.debug.diff_weights(model, checkpoint)
        assert (report.explained_bytes == report.bytes) == (model == "org/tiny-lm")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["inspect", "org/gnn-step"], "hidden"),
        (["inspect", "org/tiny-lm"], "tokenizer"),
        (["run", "org/gnn-step", "--shape", "features[5,4],edges[2,6]"], "hidden"),
        (["check", "org/gnn-step", "org/tiny-lm"], "0 errors"),
        (["generate", "org/tiny-lm", "--ids", "1,2", "--max-new-tokens", "2"], ""),
        (["compare", "org/gnn-step", "org/gnn-step"], "equal"),
        (["compare", "org/tiny-lm", "--with", "org/tiny-lm", "--ids", "1,2", "--max-new-tokens", "2"], "equal"),
        (["profile", "org/gnn-step/gnn_step.xml", "--repeat", "1"], "total"),
    ],
)
def test_commands(cache: Path, arguments: list[str], expected: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.output) == (0, mentions(expected))


def test_existing_paths_have_priority(cache: Path) -> None:
    folder = cache.parent / "org" / "gnn-step"
    folder.mkdir(parents=True)
    assert cached_path("org/gnn-step") is None
    with pytest.raises(ParseError) as error:
        ir_exec.read_model("org/gnn-step")
    assert error.value.code == "IR001"
    for ending in ("xml", "bin"):
        shutil.copy(SAMPLES / f"bert.{ending}", folder / f"gnn_step.{ending}")
    assert ir_exec.read_model("org/gnn-step/gnn_step.xml").graph.path == "org/gnn-step/gnn_step.xml"


def test_the_snapshot_is_that_of_main(cache: Path) -> None:
    other = add_repository(cache, "org/gnn-step", SAMPLES / "language_model", "f" * 40)
    assert cached_path("org/gnn-step") == str(other)
    (cache / "models--org--gnn-step" / "refs" / "main").write_text(COMMIT + "\n")
    assert cached_path("org/gnn-step") == str(other.with_name(COMMIT))
    (cache / "models--org--gnn-step" / "refs" / "main").unlink()
    assert cached_path("org/gnn-step") is None
    add_repository(cache, "org/branch", SAMPLES / "language_model", branch="v2")
    assert cached_path("org/branch") is not None


@pytest.mark.parametrize(
    ("path", "near"),
    [("org/gnn-stepp", "org/gnn-step"), ("gnn/step", None), ("other/tiny-lm", "org/tiny-lm"), ("org/empty", None)],
)
def test_near_ids_are_listed(cache: Path, path: str, near: str | None) -> None:
    with pytest.raises(ParseError) as error:
        ir_exec.read_model(path)
    assert error.value.code == "IR001"
    if near is not None:
        assert error.value.hint is not None
        assert near in error.value.hint
    result = CliRunner().invoke(main, ["inspect", path])
    assert result.exit_code in (1, 2)
    assert near is None or near in result.output


def test_near_files_of_a_repository_are_listed(cache: Path) -> None:
    with pytest.raises(ParseError) as error:
        ir_exec.read_model("org/gnn-step/gnn_stepp.xml")
    assert error.value.hint is not None
    assert "org/gnn-step/gnn_step.xml" in error.value.hint


@pytest.mark.parametrize(
    "path",
    ["org/gnn-step/../../../secret.xml", "../gnn-step", "/org/gnn-step", "org/gnn-step/..", "org", "a/b/c/" * 40],
)
def test_paths_outside_the_snapshot(cache: Path, path: str) -> None:
    (cache.parent / "cache" / "secret.xml").write_text("<net/>")
    assert cached_path(path) is None


def test_damaged_references(cache: Path) -> None:
    reference = cache / "models--org--gnn-step" / "refs" / "main"
    for content in (b"../../models--org--tiny-lm/snapshots/" + COMMIT.encode(), b"\xff\xfe", b"x" * 10_000):
        reference.write_bytes(content)
        cached = cached_path("org/gnn-step")
        assert cached is None or "tiny-lm" not in cached


@pytest.mark.parametrize(
    ("variable", "below"), [("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")]
)
def test_folders_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert cached_ids() == []
    add_repository(tmp_path / below, "org/lm", SAMPLES / "language_model")
    assert cached_ids() == ["org/lm"]
