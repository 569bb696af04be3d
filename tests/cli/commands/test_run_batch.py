"""`ir-exec run` and `ir-exec compare` over many inputs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result
from lxml import etree

from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.helpers.items import weighed_network

COMPARISONS = Path(__file__).parents[3] / "schemas" / "compare-many.schema.json"
WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with net.xml, and data/0.npz to data/4.npz with the input `in0`."""
    weighed_network(tmp_path)
    (tmp_path / "data").mkdir()
    for index in range(5):
        np.savez(tmp_path / "data" / f"{index}.npz", in0=np.full((2, 4), index, np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def other(work_folder: Path) -> str:
    """A network like net.xml with other weights, from the folder `work_folder`."""
    (work_folder / "other").mkdir()
    weighed_network(work_folder / "other")
    (work_folder / "other" / "net.bin").write_bytes((WEIGHTS + 1).tobytes())
    return "other/net.xml"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def manifest(folder: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(folder, "manifest.jsonl").read_text().splitlines()]


def outputs(path: str) -> Any:
    (array,) = np.load(path).values()
    return array.tolist()


@pytest.mark.parametrize("inputs", ["data/*.npz", "data", "./data/?.npz"])
def test_every_file_has_its_output(work_folder: Path, inputs: str) -> None:
    result = call("run", "net.xml", "--inputs", inputs, "--output", "out")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == mentions(5)
    for index in range(5):
        assert outputs(f"out/{index}.npz") == (np.full((2, 4), index, np.float32) @ WEIGHTS).tolist()
    head, *lines = manifest("out")
    assert head["model"] == "net.xml"
    assert [line["item"] for line in lines] == list("01234")
    assert all(line["error"] is None and line["digest"] for line in lines)


def test_processes_do_the_same(work_folder: Path) -> None:
    assert call("run", "net.xml", "--inputs", "data/*.npz", "--output", "one").exit_code == 0
    result = call("run", "net.xml", "--inputs", "data/*.npz", "--output", "two", "--jobs", "2")
    assert result.exit_code == 0, result.output
    assert manifest("one") == manifest("two")
    for index in range(5):
        assert outputs(f"one/{index}.npz") == outputs(f"two/{index}.npz")


def test_batch_resumes_after_interruption(work_folder: Path) -> None:
    call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out")
    written = Path("out/3.npz").stat().st_mtime_ns
    lines = Path("out/manifest.jsonl").read_text().splitlines(keepends=True)
    # As if it had been killed while it wrote the line of item 4.
    Path("out/manifest.jsonl").write_text("".join(lines[:5]) + lines[5][:20])
    Path("out/2.npz").unlink()
    np.savez("data/1.npz", in0=np.full((2, 4), 7, np.float32))
    np.savez("data/0.npz", in0=np.full((2, 4), 0, np.float32))  # newer, with the same arrays
    result = call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out")
    assert result.exit_code == 0
    assert "ran 3 items" in result.output
    assert mentions(2, 1) in result.output.splitlines()
    assert Path("out/3.npz").stat().st_mtime_ns == written
    assert outputs("out/1.npz") == (np.full((2, 4), 7, np.float32) @ WEIGHTS).tolist()
    assert "ran 0 items" in call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out").output


def test_another_network_is_noticed(work_folder: Path) -> None:
    call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out")
    Path("net.bin").write_bytes((WEIGHTS + 1).tobytes())
    result = call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out")
    assert result.exit_code == 2
    assert result.output.startswith("error[IR701") or "error[IR70" in result.output
    assert " out " in result.output.replace("\n", " ")
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("kept")
    other = call("run", "net.xml", "--inputs", "data/*.npz", "--output", "mine")
    assert other.exit_code == 2
    assert "manifest.jsonl" in other.output


def test_failed_items_are_recorded_and_tried_again(work_folder: Path) -> None:
    np.savez("data/2.npz", in0=np.zeros((2, 5), np.float32))
    Path("data/3.npz").write_bytes(b"no archive")
    result = call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out")
    assert result.exit_code == 1
    assert mentions("error", 2) in result.output.splitlines()
    errors = {line["item"]: line["error"] for line in manifest("out")[1:] if line["error"]}
    assert {name: error["code"] for name, error in errors.items()} == {"2": "IR506", "3": "IR705"}
    assert not Path("out/2.npz").exists()
    np.savez("data/2.npz", in0=np.zeros((2, 4), np.float32))
    assert "ran 2 items" in call("run", "net.xml", "--inputs", "data/*.npz", "--output", "out").output


def test_files_of_several_folders_keep_their_folders(work_folder: Path) -> None:
    (work_folder / "data" / "sub").mkdir()
    np.savez("data/sub/0.npz", in0=np.full((2, 4), 9, np.float32))
    np.save("data/0.npy", np.full((2, 4), 8, np.float32))
    assert call("run", "net.xml", "--inputs", "data/**/*.np?", "--output", "out", "--batch", "2").exit_code == 0
    names = {line["item"] for line in manifest("out")[1:]}
    assert {"sub/0-0", "0-0", "0-0.npz"} <= names
    assert outputs("out/sub/0-0.npz") == (np.full((2, 4), 9, np.float32) @ WEIGHTS).tolist()


def test_a_stack_for_a_network_of_one_row(work_folder: Path) -> None:
    weighed_network(work_folder, rows="1")
    data = np.arange(20, dtype=np.float32).reshape(5, 4)
    np.save("stack.npy", data)
    assert call("run", "net.xml", "--inputs", "stack.npy", "--output", "out", "--batch", "2").exit_code == 0
    rows = [row for index in range(3) for row in outputs(f"out/stack-{index}.npz")]
    assert rows == (data @ WEIGHTS).tolist()
    assert call("run", "net.xml", "--inputs", "stack.npy", "--output", "each").exit_code == 0
    assert len(manifest("each")) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--inputs", "data/*.npz"], mentions("--output")),
        (["--inputs", "nothing/*.npz", "--output", "out"], mentions("nothing/")),
        (["--inputs", "data/*.npz", "--output", "out", "--repeat", "2"], mentions("--repeat")),
        (["--inputs", "data/*.npz", "--output", "out", "--shape", "1,4"], mentions("--shape")),
        (
            ["--inputs", "data", "--output", "out", "--jobs", "2", "--scheduler", "tcp://x"],
            mentions("--jobs", "--scheduler"),
        ),
    ],
)
def test_arguments_that_do_not_go_together(work_folder: Path, arguments: list[str], message: mentions) -> None:
    result = call("run", "net.xml", *arguments)
    assert result.exit_code == 2
    assert message in result.output.splitlines()
    assert not Path("out").exists()


def test_a_scheduler_that_does_not_answer(work_folder: Path) -> None:
    # Imported before its setting is changed: it adds its defaults when it is, and they would go with the setting.
    pytest.importorskip("distributed", reason="Dask's scheduler is not installed")
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    with dask.config.set({"distributed.comm.timeouts.connect": "100ms"}):
        result = call("run", "net.xml", "--inputs", "data", "--output", "out", "--scheduler", "tcp://127.0.0.1:1")
        other = call("check", "net.xml", "--scheduler", "tcp://127.0.0.1:1")
    assert result.exit_code == other.exit_code == 2
    for output in (result.output, other.output):
        assert mentions("Dask", "tcp://127.0.0.1:1") in output.splitlines()


def test_a_cluster_does_the_same(work_folder: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask's scheduler is not installed")
    assert call("run", "net.xml", "--inputs", "data", "--output", "here").exit_code == 0
    plain = call("check", "net.xml", "data")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=60
    ) as cluster:
        address = ("--scheduler", cluster.scheduler_address)
        ran = call("run", "net.xml", "--inputs", "data", "--output", "there", *address)
        checked = call("check", "net.xml", "data", *address)
        compared = call("compare", "net.xml", "--with", "net.xml", "--inputs", "data", *address)
    assert ran.exit_code == 0, ran.output
    assert manifest("there") == manifest("here")
    assert outputs("there/3.npz") == outputs("here/3.npz")
    assert (checked.exit_code, checked.output) == (plain.exit_code, plain.output)
    assert mentions(5, 5) in compared.output.splitlines()


def test_compare(other: str) -> None:
    equal = call("compare", "net.xml", "--with", "net.xml", "--inputs", "data/*.npz")
    assert equal.exit_code == 0, equal.output
    assert mentions(5, 5) in equal.output.splitlines()
    differing = call("compare", "net.xml", "--with", other, "--inputs", "data/*.npz", "--format", "json")
    assert differing.exit_code == 1
    report = json.loads(differing.output)
    jsonschema.validate(report, json.loads(COMPARISONS.read_text("utf-8")))
    assert not report["equal"]
    verdicts = {entry["item"]: entry["comparison"]["equal"] for entry in report["items"]}
    assert not verdicts["3"]
    np.savez("data/4.npz", in0=np.zeros((2, 5), np.float32))
    broken = call("compare", "net.xml", "--with", "net.xml", "--inputs", "data/*.npz")
    assert broken.exit_code == 2
    assert mentions(4, 5) in broken.output.splitlines()


def test_compare_for_other_programs(other: str) -> None:
    """Of items that are equal, differ, and cannot be compared."""
    np.savez("data/4.npz", in0=np.zeros((2, 5), np.float32))
    arguments = ("compare", "net.xml", "--with", other, "--inputs", "data")
    suites = call(*arguments, "--format", "junit", "--output", "found.xml")
    assert suites.exit_code == 2
    suites_by_name = {suite.get("name", ""): suite for suite in etree.parse("found.xml").getroot()}
    assert next(iter(suites_by_name)) == mentions(0, "net.xml", "other/net.xml")
    assert [len(suite.findall("testcase/error")) for suite in suites_by_name.values()] == [0, 0, 0, 0, 1]
    assert [suite.get("errors") for suite in suites_by_name.values()] == ["0", "0", "0", "0", "1"]
    assert int(list(suites_by_name.values())[3].get("failures", "")) > 0
    rows = list(csv.DictReader(call(*arguments, "--format", "csv").stdout.splitlines()))
    assert {row["item"] for row in rows if row["layer_id"]} == {"0", "1", "2", "3"}
    (failed,) = (row for row in rows if row["error"])
    assert failed["item"] == "4"
    text = call(*arguments, "--output", "found.txt")
    assert text.exit_code == 2
    assert Path("found.txt").read_text().splitlines()[-1].startswith("4: ")


def test_compare_as_a_page(other: str) -> None:
    """Each layer as it is in the item in which it is worst."""
    np.savez("data/4.npz", in0=np.zeros((2, 5), np.float32))
    arguments = ("compare", "net.xml", "--with", other, "--inputs", "data")
    result = call(*arguments, "--format", "html")
    assert result.exit_code == 2, result.output
    data = json.loads(etree.HTML(result.stdout).xpath("string(//script[@id='data'])"))
    heading, *lines = data["sections"][0]["lines"]
    assert heading == mentions(0, 5)
    assert [line.split(":")[0] for line in lines] == list("01234")
    assert lines[-1].startswith("4: ")
    errors = [entry["error"] for entry in data["networks"][0]["graph"]["layers"] if "error" in entry]
    statuses = {error["status"]: error for error in errors}
    assert statuses["wrong"]["note"] == mentions(4, 5, 0)
    # Of zeros times any weights the first item makes the same.
    assert statuses["carried"]["note"] == mentions(1)
    report = call(*arguments, "--format", "json", "--output", "found.json")
    assert report.exit_code == 2
    assert call("view", "net.xml", "--compare", "found.json", "--output", "page.html").exit_code == 0
    page = json.loads(etree.HTML(Path("page.html").read_text()).xpath("string(//script[@id='data'])"))
    assert page["networks"] == data["networks"]


def test_the_schema_is_current() -> None:
    assert call("schema", "compare-many").stdout == COMPARISONS.read_text("utf-8")
