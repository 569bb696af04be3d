"""Values of a reference that do not lead to its own outputs, and layers that cannot be blamed."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.comparing import compare_with
from ir_exec.debug.comparison.judging import decide
from ir_exec.debug.comparison.metrics import Difference, Settings, difference
from ir_exec.debug.comparison.records import CONTRADICTION, ComparedLayer, ComparedOutput
from ir_exec.debug.comparison.references.reference import ArraysReference
from ir_exec.debug.comparison.tolerances import tolerance_of
from ir_exec.types import Array, ElementType
from tests.debug.comparison.test_value_comparer_advice import Fusing, chain, values
from tests.helpers.facts import mentions

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def against(model: Model, arrays: dict[str, Array], *, fuses: bool = True) -> Comparison:
    reference_class = Fusing if fuses else ArraysReference
    return compare_with(model, reference_class(arrays, "arrays"), [[X]], Settings())


def statuses(report: Comparison) -> dict[str, str]:
    return {layer.path: layer.status for layer in report.layers}


def with_a_side(moves: bool, effect: float = 1e-12) -> Model:
    """y = 1 + |x| + effect * side, where the side moves or computes values."""
    x = build.parameter([3, 4], name="x")
    side = build.transpose(x, np.int64([1, 0]), name="side") if moves else build.tanh(x, name="side")
    back = build.transpose(side, np.int64([1, 0])) if moves else side
    end = build.add(build.abs(x, name="size"), build.multiply(back, np.float32(effect)), name="sum")
    return build.model(build.result(build.add(end, np.float32(1), name="end"), name="y"))


def side_values(moves: bool) -> dict[str, Array]:
    return {"side": (X.T if moves else np.tanh(X)) + np.float32(2), "end": np.abs(X) + np.float32(1)}


class TestFusions:
    def test_value_used_elsewhere_is_not_the_fault(self) -> None:
        end = values()["end"] * np.float32(1.1)
        report = against(chain(), {"inner": X + 5, "end": end})
        assert statuses(report)["inner"] == "reference"
        assert [(fault.path, fault.is_certain) for fault in report.faults] == [("end", False)]
        assert report.verdict == "reference"

    def test_infinities_are_away(self) -> None:
        """The mean error leaves them out."""
        x = build.parameter([3, 4], name="x")
        inner = build.tanh(x, name="inner")
        deep = build.multiply(build.exp(build.multiply(inner, np.float32(30))), np.float32(1e-9), name="deep")
        far = np.exp(np.tanh(X) * np.float32(30)) * np.float32(1e-9) * np.float32(1.05)
        report = against(build.model(build.result(deep, name="y")), {"inner": X + 5, "deep": far})
        assert statuses(report)["inner"] == "reference"

    def test_the_region_is_in_the_first_line(self) -> None:
        layers = tuple(
            ComparedLayer(layer_id=str(at), layer_name=name, path=name, type="Tanh", status="reference", note=note)
            for at, (name, note) in enumerate([("before", None), ("first", CONTRADICTION), ("last", CONTRADICTION)])
        )
        output = ComparedOutput(name="y", path="y", status="different", error=Difference(elements=2, beyond_count=1))
        report = Comparison(
            model="m", reference="r", verdict="reference", equal=False, layers=layers, output_results=(output,)
        )
        decided = decide(report, "reference", "outputs")
        assert decided.decision is not None
        assert decided.decision.line == mentions("first", "last")
        assert decided.exit_code == 1
        assert decide(report, "equal", "outputs").exit_code == 0

    def test_outputs_that_agree_stay_equal(self) -> None:
        report = against(with_a_side(moves=False, effect=1.0), side_values(moves=False) | {"end": _end(1.0)})
        assert report.faults == ()
        assert report.verdict == "equal"

    def test_data_movement_is_not_blamed(self) -> None:
        report = against(with_a_side(moves=True), side_values(moves=True))
        assert statuses(report)["side"] == "skipped"
        assert report.faults == ()
        assert report.verdict == "equal"

    def test_computing_layer_is_blamed(self) -> None:
        report = against(with_a_side(moves=False), side_values(moves=False))
        assert [(fault.path, fault.is_gross, fault.is_certain) for fault in report.faults] == [("side", True, True)]
        assert report.verdict == "different in a layer"
        assert report.exit_code == 1
        assert str(report).splitlines()[0] == mentions("side")


def _end(effect: float) -> Array:
    return np.asarray(np.abs(X) + np.float32(effect) * np.tanh(X) + np.float32(1))


class TestOtherReferences:
    def test_data_movement_only_ends_a_region(self) -> None:
        report = against(with_a_side(moves=True), side_values(moves=True), fuses=False)
        assert [(fault.path, fault.is_certain) for fault in report.faults] == [("side", False)]
        assert report.verdict == "different in a layer"

    def test_errors_that_compensate_each_other(self) -> None:
        """A scale that one layer has in the model and another one in the reference."""
        arrays = side_values(moves=False) | {"end": _end(1.0)}
        report = against(with_a_side(moves=False, effect=1.0), arrays, fuses=False)
        assert [fault.is_gross for fault in report.faults] == [False] * len(report.faults) != []
        assert report.verdict == "equal"

    def test_outputs_alone_accuse_no_layer(self) -> None:
        report = against(chain(), {"end": values()["end"] * np.float32(1.1)}, fuses=False)
        (fault,) = report.faults
        assert (fault.path, fault.is_certain, fault.unseen) == ("end", False, 4)
        assert str(report).splitlines()[0] == mentions("end", 4, "--with")

    def test_values_before_the_fault_make_it_certain(self) -> None:
        arrays = {name: array for name, array in values().items() if name != "end"}
        report = against(chain(), arrays | {"end": values()["end"] * np.float32(1.1)}, fuses=False)
        (fault,) = report.faults
        assert (fault.path, fault.is_certain, fault.unseen) == ("end", True, 0)
        assert "--with" not in str(report).splitlines()[0]


@pytest.mark.parametrize("effect", [0.0, 1e-12])
def test_another_file_shows_the_misplacing_layer(effect: float) -> None:
    def model(mode: str) -> Model:
        x = build.parameter([1, 8, 3, 2], name="x")
        y = build.depth_to_space(x, mode=mode, block_size=2, name="moved")
        return build.model(build.result(build.add(build.multiply(y, np.float32(effect)), np.float32(1)), name="y"))

    report = compare(model("blocks_first"), model("depth_first"), threads=1)
    assert report.verdict == "different in a layer"
    assert report.first_fault is not None
    assert (report.first_fault.path, report.first_fault.is_certain) == ("moved", True)


class TestSpread:
    """The differences between a reference's own answers for the same inputs."""

    @staticmethod
    def against_varying(error: float, spread: float, names: tuple[str, ...] = ("end",)) -> Comparison:
        """tanh(|x|) against outputs with an error; `names` are the values that the reference has."""
        size = build.abs(build.parameter([3, 4], name="x"), name="size")
        model = build.model(build.result(build.tanh(size, name="end"), name="y"))
        arrays = {"size": np.abs(X), "end": np.tanh(np.abs(X)) + np.float32(error)}
        reference = ArraysReference({name: arrays[name] for name in names}, "arrays")
        theirs = arrays["end"] + np.float32(spread)
        reference.spread["y"] = difference(theirs, arrays["end"], tolerance_of([ElementType.f32]))
        return compare_with(model, reference, [[X]], Settings())

    def test_errors_of_its_size_are_no_fault_of_the_model(self) -> None:
        report = self.against_varying(error=0.1, spread=0.09)
        assert report.verdict == "reference"
        assert report.output_results[0].spread is not None
        assert report.decision is not None
        assert report.decision.failing == ()

    def test_greater_errors_are(self) -> None:
        assert self.against_varying(error=0.1, spread=0.03).verdict == "different"

    def test_certain_faults_are(self) -> None:
        report = self.against_varying(error=0.1, spread=0.09, names=("size", "end"))
        assert [(fault.path, fault.is_certain) for fault in report.faults] == [("end", True)]
        assert report.verdict == "different"
