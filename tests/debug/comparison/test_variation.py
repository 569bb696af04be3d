"""References whose values vary between their runs: never blamed on the model."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from ir_exec import EvaluationError, Model, build, read_model
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.comparing import compare_with
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.comparison.references.repeating import VARIED, RunSetting, Vary, plan_runs
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.debug.comparison.flickering import FlickeringReference, layers_to_vary
from tests.helpers.facts import coded, mentions

NETWORKS = Path(__file__).parents[2] / "networks"
FLICKERS = [(name, seed) for name in ("conv_zoo", "keras", "gnn_gcn_gat", "lstm", "same_padding") for seed in range(4)]


def read(name: str) -> tuple[Model, list[Array]]:
    model = read_model(NETWORKS / f"{name}.xml")
    return model, arrays(NETWORKS / f"{name}.xml", "inputs") or []


def small() -> Model:
    x = build.parameter([2, 4], name="x")
    middle = build.sin(build.multiply(x, np.float32(3), name="first"), name="middle")
    return build.model([build.result(build.add(middle, x, name="last"), name="y")])


def compare_repeatedly(
    model: Model, reference: FlickeringReference, inputs: list[Array], repeat: int = 4, vary: tuple[Vary, ...] = ()
) -> Comparison:
    return compare_with(model, reference, [inputs], Settings(), repeat=plan_runs(repeat, vary, "accuracy"))


def id_of(model: Model, name: str) -> str:
    return next(node.id for node in model.graph.nodes if node.name == name)


INPUT = [np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)]


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize(("name", "seed"), FLICKERS, ids=[f"{name}-{seed}" for name, seed in FLICKERS])
def test_planted_flicker_is_found(name: str, seed: int) -> None:
    """The compared run and one later run compute a layer differently."""
    model, inputs = read(name)
    layer = Random(f"{name}{seed}").choice(layers_to_vary(model))
    path = next(node.name for node in model.graph.nodes if node.id == layer)
    reference = FlickeringReference(model, layer, lambda run, setting: run in (0, 3, 8))
    report = compare_repeatedly(model, reference, inputs)
    assert report.variation is not None
    assert report.variation.first is not None
    assert report.variation.first.path == path
    assert report.verdict == "reference"
    assert not report.faults
    assert report.decision is not None
    assert report.decision.line == mentions(path)


@pytest.mark.parametrize("name", sorted({name for name, _ in FLICKERS}))
def test_stable_reference(name: str) -> None:
    model, inputs = read(name)
    report = compare_repeatedly(model, FlickeringReference(model), inputs, vary=VARIED)
    assert report.variation is not None
    assert (report.variation.verdict, report.variation.runs) == ("equal", 4 * 4)
    assert report.verdict == "equal"


@pytest.mark.parametrize("vary", VARIED)
def test_setting_that_varies(vary: Vary) -> None:
    model = small()
    reference = FlickeringReference(
        model, id_of(model, "middle"), lambda run, setting: setting.varies == vary and run % 3 == 0
    )
    report = compare_repeatedly(model, reference, INPUT, vary=VARIED)
    assert report.variation is not None
    assert {value.varies for value in (*report.variation.layers, *report.variation.outputs)} == {vary}
    first = report.variation.first
    assert first is not None
    assert first.path == "middle"
    assert 0 < first.runs <= first.of
    assert report.verdict == "reference"


def test_model_that_is_wrong_elsewhere() -> None:
    """A layer that does not vary is blamed."""
    model = small()
    reference = FlickeringReference(model, id_of(model, "last"), lambda run, setting: run == 3)
    wrong = FlickeringReference(model, id_of(model, "first"), lambda run, setting: True)
    wrong.repeat = reference.repeat  # type: ignore[method-assign]  # the runs that are repeated are those of the other
    reference.run({((), id_of(model, "x"), 0): INPUT[0]}, ())
    report = compare_repeatedly(model, wrong, INPUT)
    assert report.variation is not None
    assert report.variation.verdict == "varies"
    assert report.verdict == "different"
    assert [fault.path for fault in report.faults] == ["first"]


def test_flicker_without_probes_only() -> None:
    """Inside a fusion: intermediate values as outputs prevent it."""
    model = small()
    reference = FlickeringReference(model, id_of(model, "middle"), lambda run, setting: run % 2 == 1, is_hidden=True)
    report = compare_repeatedly(model, reference, INPUT)
    assert report.variation is not None
    assert not report.variation.layers
    assert report.variation.first is not None
    assert (report.variation.first.path, report.variation.first.is_probed) == ("last", False)
    assert report.verdict == "reference"


def test_rounding_is_no_flicker() -> None:
    model = small()
    reference = FlickeringReference(model, id_of(model, "middle"), lambda run, setting: run % 2 == 1, amount=1e-7)
    report = compare_repeatedly(model, reference, INPUT)
    assert report.variation is not None
    assert report.variation.verdict == "rounding"
    assert [value.path for value in report.variation.layers] == ["middle", "last"]
    assert report.verdict == "equal"


def test_spread_is_the_largest_one() -> None:
    model = small()
    reference = FlickeringReference(model, id_of(model, "last"), lambda run, setting: run >= 8, amount=0.25)
    report = compare_repeatedly(model, reference, INPUT, repeat=6)
    assert report.variation is not None
    last = next(value for value in report.variation.layers if value.path == "last")
    assert (last.runs, last.of) == (5, 5)
    largest = np.abs(np.sin(3 * INPUT[0]) + INPUT[0]).max()
    assert last.spread.max_abs == pytest.approx(0.25 * max(largest, 1))


def test_runs_of_a_plan() -> None:
    plan = plan_runs(3, ("compile", "hint"), "performance")
    assert plan == [RunSetting()] * 2 + [plan[2]] * 3 + [plan[5]] + [plan[6]] * 2
    assert (plan[2].compiles, plan[5].hint, plan[6].hint) == (True, "accuracy", "accuracy")
    assert [run.is_base for run in plan] == [False] * 5 + [True] + [False] * 2
    assert [run.varies for run in plan_runs(2, ("threads",), "accuracy")] == [None, "threads", "threads"]


@pytest.mark.parametrize("name", ["conv_zoo", "lstm"])
@pytest.mark.parametrize("reference", ["openvino", "onnxruntime"])
def test_programs(reference: str, name: str) -> None:
    pytest.importorskip(reference)
    model, inputs = read(name)
    vary: tuple[Vary, ...] = VARIED if reference == "openvino" else ("threads", "compile")
    report = compare(model, reference, inputs, repeat=2, vary=vary)
    assert report.variation is not None
    assert report.variation.runs == 2 + 2 * len(vary)
    assert set(report.variation.varied) == set(vary)
    assert report.variation.verdict != "varies"
    assert report.verdict == "equal"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"repeat": 1}, "IR704"),
        ({"vary": ("threads",)}, "IR705"),
        ({"repeat": 2, "vary": ("cores",)}, "IR705"),
        ({"repeat": 2, "isolate": True}, "IR705"),
        ({"repeat": 2}, "IR705"),
    ],
)
def test_impossible_options(options: dict[str, object], code: str) -> None:
    model = small()
    with pytest.raises(EvaluationError) as error:
        compare(model, model, INPUT, **options)  # type: ignore[arg-type]  # of several types
    assert coded(code)(error.value)
