"""Write the tables of `benchmarks/results.md`, and the table of speeds in README.md, from `benchmarks/results/*.json`.

python -m benchmarks.report
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

from benchmarks.measure import LARGE_WEIGHTS, RESULTS, geometric_mean

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "benchmarks" / "results.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- written by benchmarks.report -->", "<!-- end -->"

GROUPS = {
    "transformers": ("bert_tiny", "bert_tiny_fp16", "detr", "encoder 1 x 128", "llama"),
    "language models with a cache": ("gpt2_with_past", "llama_stateful", "llama_with_past"),
    "convolutional models": (
        "conv_zoo", "MobileNet-v2 224", "mobilenet_v2_dynamic", "ResNet-50 224", "resnet18", "unet_diffusion"
    ),
}  # fmt: skip
"""Models of `engines.json` that the README reports together."""
CLASSES = {
    "above 10 ms": (1e-2, float("inf")),
    "1 to 10 ms": (1e-3, 1e-2),
    "below 1 ms": (0.0, 1e-3),
}
"""Classes of models by OpenVINO's seconds per call."""

Row = dict[str, Any]


def page() -> str:
    """Return the text of `results.md`."""
    sections = [
        ("All benchmarks", _summary()),
        ("Models, warm", _models()),
        ("Exported models", _exports()),
        ("Slowest operators", _operators()),
        ("Language model of 1.1 billion weights", _language_model()),
        ("Peak memory", _memory()),
    ]
    head = (
        "# Results\n\n"
        "Speedups over OpenVINO's CPU plugin with two threads each: above 1 ir_exec is faster. Contestants run in\n"
        "blocks after a pause, when the threads of the others sleep, or in separate processes.\n"
        "Means are geometric. `python -m benchmarks.report` writes this page from `benchmarks/results/`;\n"
        "[Method](method.md) explains how each benchmark measures, [Tried](tried.md) lists what did not pay.\n"
    )
    return "\n".join([head, *(f"## {title}\n\n{text}\n" for title, text in sections if text)])


def speeds() -> str:
    """Return the tables of speed and memory of the README."""
    models = _engines()
    rows = [[f"{len(models)} models, warm", _mean(models, "interpreter"), _mean(models, "engine")]]
    for title, (low, high) in CLASSES.items():
        members = [row for row in models if low <= row["openvino"] < high]
        rows.append([f"{len(members)} of them {title}", *(_mean(members, contestant) for contestant in CONTESTANTS)])
    for group, names in GROUPS.items():
        rows.append(
            [
                group,
                *(_range([row[contestant] for row in models if row["name"] in names]) for contestant in CONTESTANTS),
            ]
        )
    rows += [
        ["gather and scatter, 15 elements to 64 Mi", *_mean_of("gather_scatter"), "–"],
        ["from process start to first output", *_mean_of("cold"), "–"],
    ]
    return "\n".join(
        [
            _table(["speedup over OpenVINO", "interpreter", '`engine="onnxruntime"`'], rows),
            "",
            _table(["OpenVINO's peak memory over ours", "interpreter", '`engine="onnxruntime"`'], _peaks()),
            "",
            "Contestants [never run in turns](benchmarks/method.md). "
            + _measured_on("engines", "gather_scatter", "cold", "memory"),
        ]
    )


def _peaks() -> list[list[str]]:
    """Return OpenVINO's peak memory divided by ours, for models of two classes of weights."""
    memory = _read("memory")
    rows = [
        {"weights": (extra := memory["details"][row["name"]])["weights"], "interpreter": row["ratio"],
         "engine": row["theirs"] / extra["engine"]}
        for row in memory["rows"]
    ]  # fmt: skip
    classes = {
        "above 50 MB": [row for row in rows if row["weights"] >= LARGE_WEIGHTS],
        "below 50 MB": [row for row in rows if row["weights"] < LARGE_WEIGHTS],
    }
    return [
        [f"{len(members)} models with weights {title}", *(_mean(members, contestant) for contestant in CONTESTANTS)]
        for title, members in classes.items()
    ]


CONTESTANTS = "interpreter", "engine"


def _engines() -> list[Row]:
    """Return the models that OpenVINO runs too, with the speedups of the interpreter and the engine."""
    rows = [row for row in _read("engines")["rows"] if "openvino" in row]
    return [{**row, **{contestant: row["openvino"] / row[contestant] for contestant in CONTESTANTS}} for row in rows]


def _summary() -> str:
    titles = {
        "networks": "models, warm",
        "cold": "models, from process start to first output",
        "busy": "models, next to two busy processes",
        "gather_scatter": "gathers and scatters, 15 elements to 64 Mi",
        "operators": "models of one layer, three sizes",
        "read": "reading, inferring and checking; OpenVINO reads",
        "building": "building a model in Python",
    }
    rows = []
    for name, title in titles.items():
        if results := _read(name):
            ratios = [row["ratio"] for row in results["rows"]]
            mean, extremes = _times(results["geometric_mean"]), _range(ratios)
            rows.append([f"`{name}`", title, str(len(ratios)), mean, extremes, _machine(results)])
    return _table(["benchmark", "what", "cases", "mean", "range", "machine"], rows)


def _models() -> str:
    results = _read("engines")
    if not results:
        return ""
    rows = [
        [row["name"], f"{1e3 * row['openvino']:.3g}", _times(row["interpreter"]), _times(row["engine"])]
        for row in sorted(_engines(), key=lambda row: -float(row["interpreter"]))
    ]
    rows.append(["**mean**", "", _mean(_engines(), "interpreter"), _mean(_engines(), "engine")])
    note = f"`engines`, a process for each contestant, medians in ms, {_machine(results)}."
    return note + "\n\n" + _table(["model", "OpenVINO, ms", "interpreter", "onnxruntime engine"], rows)


def _exports() -> str:
    """Return the speedups over OpenVINO, and over onnxruntime on ONNX files, by class of OpenVINO's time."""
    from benchmarks.exported import CLASSES, CONTESTANTS  # it imports the engines

    results = _read("exported")
    if not results:
        return ""
    tables = []
    for base, title in (("openvino", "OpenVINO"), ("onnx", "onnxruntime")):
        models = [row["seconds"] for row in results["rows"] if base in row["seconds"]]
        names = [name for name in CONTESTANTS if name != base and any(name in seconds for seconds in models)]
        rows = []
        for label, low, high in (*CLASSES, ("**all**", 0.0, float("inf"))):
            members = [seconds for seconds in models if low <= seconds[base] < high]
            if members:
                rows.append([label, str(len(members)), *(_speedup(members, name, base) for name in names)])
        if rows:
            tables.append(_table([f"time of {title}", "models", *names], rows))
    note = f"`exported`, a process for each contestant, geometric means, {_machine(results)}."
    return "\n\n".join([note, *tables])


def _speedup(models: Iterable[Row], name: str, base: str) -> str:
    ratios = [seconds[base] / seconds[name] for seconds in models if name in seconds]
    return _times(geometric_mean(ratios)) if ratios else ""


def _operators() -> str:
    results = _read("operators")
    by_operator: dict[str, dict[str, float]] = {}
    for row in results["rows"]:
        name, _, size = row["name"].rpartition(" ")
        by_operator.setdefault(name, {})[size] = row["ratio"]
    slowest = sorted(by_operator.items(), key=lambda item: geometric_mean(item[1].values()))[:10]
    rows = [[name, *(f"{sizes.get(size, 0):.2f}" for size in SIZES)] for name, sizes in slowest]
    note = f"The ten slowest of {len(by_operator)} layers, each alone in a model, {_machine(results)}."
    return note + "\n\n" + _table(["operator", *SIZES], rows)


SIZES = "small", "middle", "large"


def _language_model() -> str:
    models = _by_name("llm")
    tasks = list(dict.fromkeys(name.split(", ", 1)[1] for name in models))
    rows = [
        [task, *(_times(models[f"{element_type}, {task}"]["ratio"]) for element_type in ("u4", "f16"))]
        for task in tasks
    ]
    note = f'22 layers, 2,048 wide, `weight_mode="keep"`; memory is OpenVINO\'s over ours, {_machine(_read("llm"))}.'
    return note + "\n\n" + _table(["", "u4 in groups of 128", "f16"], rows)


def _memory() -> str:
    memory = _read("memory")
    models = [row for row in memory["rows"] if row["ours"] >= 20e6]
    rows = []
    for row in sorted(models, key=lambda row: -float(row["ours"]))[:14]:
        details = memory["details"][row["name"]]
        sizes = [f"{size / 2**20:.0f}" for size in (details["weights"], row["ours"], details["engine"], row["theirs"])]
        rows.append([row["name"], *sizes, _times(row["ratio"]), _times(row["theirs"] / details["engine"])])
    note = (
        f"MiB beyond the libraries themselves, and OpenVINO's over ours; the mean of the interpreter over all "
        f"{len(memory['rows'])} models is {_times(memory['geometric_mean'])}. {_machine(memory)}."
    )
    heads = ["model", "weights", "interpreter", "engine", "OpenVINO", "interpreter", "engine"]
    return note + "\n\n" + _table(heads, rows)


def _read(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return content


def _by_name(name: str) -> dict[str, Row]:
    return {row["name"]: row for row in _read(name)["rows"]}


def _measured_on(*names: str) -> str:
    """Return the machines and the days of these benchmarks."""
    machines = [_read(name)["machine"] for name in names]
    cpus = sorted(
        {f"{machine['processor']} with {machine['vectors']}, {machine['cores']} cores" for machine in machines}
    )
    days = sorted({machine["date"] for machine in machines})
    return f"CPU: {'; '.join(cpus)}. Measured {' to '.join(dict.fromkeys((days[0], days[-1])))}."


def _machine(results: dict[str, Any]) -> str:
    machine = results["machine"]
    return f"{machine['processor']} with {machine['vectors']}, {machine['cores']} cores, {machine['date']}"


def _mean_of(name: str) -> list[str]:
    return [_times(_read(name)["geometric_mean"])]


def _mean(rows: Iterable[Row], contestant: str) -> str:
    return _times(geometric_mean(row[contestant] for row in rows))


def _range(ratios: Sequence[float]) -> str:
    return f"{_times(min(ratios))} to {_times(max(ratios))}"


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = [list(row) for row in rows]
    are_numbers = [all(re.match(r"[\d.]+x|[\d.]+$|$|–", row[column]) for row in body) for column in range(len(heads))]
    lines = [heads, ["---:" if is_number else "---" for is_number in are_numbers], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def readme(text: str) -> str:
    """Return the README with an updated table."""
    block = f"{BEGIN}\n{speeds()}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, text, flags=re.DOTALL)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PAGE.write_text(page(), "utf-8")
    README.write_text(readme(README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
