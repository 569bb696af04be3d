"""The verdict of a comparison: outputs first, and nothing is equal that was not compared."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import EvaluationError, Model, build
from ir_exec.cli import main
from ir_exec.debug import Comparison, compare
from ir_exec.testing import NothingComparedError, assert_same
from ir_exec.types import Array
from tests.helpers.facts import mentions

SCHEMA = Path(__file__).parents[3] / "schemas" / "compare.schema.json"
NAN, INF = float("nan"), float("inf")
NEAR = 1 + 4e-6
"""A factor that is beyond the tolerance of a constant, and within that of an output."""


def network(middle: str = "gelu", factor: float = 1.0, *, bounded: bool = False) -> Model:
    """scores = (gelu or relu)(x) * factor + mask, best = the index of the greatest of them."""
    x, mask = build.parameter([2, 4], name="x"), build.parameter([2, 4], name="mask")
    inner = build.relu(x, name="inner") if middle == "relu" else build.gelu(x, name="inner")
    scores = build.add(build.multiply(inner, np.float32(factor)), mask, name="scores")
    last = build.sigmoid(scores, name="last") if bounded else scores
    best = build.topk(last, np.int64(1), axis=1, mode="max", sort="value", index_element_type="i64", name="best")
    return build.model([build.result(last, name="scores"), build.result(best[1], name="best")])


def inputs(mask: float, x: float | None = None) -> dict[str, Array]:
    values = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4) if x is None else np.full((2, 4), x, np.float32)
    return {"x": values, "mask": np.full((2, 4), mask, np.float32)}


class TestNothingIsEqualThatWasNotCompared:
    @pytest.mark.parametrize("mask", [NAN, INF, -INF])
    def test_outputs_without_a_finite_element(self, mask: float) -> None:
        report = compare(network(), network(), inputs(mask))
        assert report.verdict == "not compared"
        assert not report.equal
        assert [result.status for result in report.output_results] == ["not compared", "equal"]
        assert report.not_compared == 8 + 2, "an index among elements that are not finite shows nothing either"
        with pytest.raises(NothingComparedError):
            assert_same(network(), network(), inputs(mask))

    def test_gross_error_counts_without_finite_outputs(self) -> None:
        report = compare(network("relu"), network(), inputs(NAN))
        assert (report.verdict, report.failing) == ("different in a layer", {"inner"})
        with pytest.raises(AssertionError) as caught:
            assert_same(network("relu"), network(), inputs(NAN))
        assert not isinstance(caught.value, NothingComparedError)

    def test_explicit_nan_equality_is_honored(self) -> None:
        report = compare(network(), network(), inputs(NAN), nan_equal=True)
        assert report.equal
        assert report.not_compared == 0
        assert assert_same(network(), network(), inputs(NAN), nan_equal=True).equal

    def test_both_errors_are_one_for_every_test(self) -> None:
        for error_class in (AssertionError, EvaluationError):
            with pytest.raises(error_class):
                assert_same(network(), network(), inputs(NAN))

    def test_some_elements(self) -> None:
        arrays = inputs(0.0)
        arrays["mask"][:, 0] = -INF
        report = compare(network(), network(), arrays)
        assert report.equal
        assert report.not_compared == 2
        assert "2 of 10 elements" in str(report)
        assert compare(network("relu"), network(), arrays).verdict == "different"

    def test_no_elements_at_all_are_equal(self) -> None:
        x = build.parameter([-1], name="x")
        model = build.model(build.result(build.relu(x), name="y"))
        assert compare(model, model, [np.zeros(0, np.float32)]).equal

    def test_one_side_alone_is_a_difference(self) -> None:
        report = compare(network(), network(factor=NAN), inputs(0.0))
        assert report.verdict == "different"
        assert report.output_results[0].error is not None
        assert report.output_results[0].error.not_finite == 0


class TestSensitivity:
    def statuses(self, report: Comparison) -> dict[str, str | None]:
        return {layer.layer_name: layer.untested for layer in report.layers}

    def test_constant(self) -> None:
        report = compare(network("relu"), network("relu"), inputs(0.0, x=-1.0))
        assert self.statuses(report)["inner"] == "constant"
        assert report.untested == sum(layer.untested is not None for layer in report.layers) > 0
        assert mentions(report.untested) in str(report).splitlines()

    def test_not_finite(self) -> None:
        result = self.statuses(compare(network(), network(), inputs(NAN)))
        assert (result["inner"], result["scores"]) == (None, "not finite")

    def test_saturated(self) -> None:
        arrays = inputs(0.0)
        arrays["mask"][:] = [-1e4, 1e4, -1e4, 1e4]
        assert self.statuses(compare(network(bounded=True), network(bounded=True), arrays))["last"] == "saturated"

    def test_inputs_that_show_all(self) -> None:
        arrays = inputs(0.0)
        arrays["mask"] += np.arange(8, dtype=np.float32).reshape(2, 4)
        assert set(self.statuses(compare(network(), network(), arrays)).values()) == {None}

    def test_fault_in_later_call(self) -> None:
        report = compare(network("relu"), network("relu"), inputs(0.5, x=-1.0), then=[inputs(0.5)])
        assert self.statuses(report)["inner"] is None


class TestOutputsFirst:
    def test_wrong_layer_without_wrong_output(self) -> None:
        report = compare(network(factor=1.0), network(factor=NEAR), inputs(0.0))
        assert report.faults
        assert not report.faults[0].is_gross
        assert report.equal
        assert str(report).splitlines()[1] == mentions(report.faults[0].layer_name)
        assert assert_same(network(factor=1.0), network(factor=NEAR), inputs(0.0)).equal
        with pytest.raises(AssertionError):
            assert_same(network(factor=1.0), network(factor=NEAR), inputs(0.0), fail_on="layers")

    def test_tolerances_by_output(self) -> None:
        models = network(factor=1.0), network(factor=NEAR)
        assert not compare(*models, inputs(0.0), rtol={"scores": 1e-6}).equal
        assert compare(*models, inputs(0.0), rtol={"scores": 1e-6, "*": 0.0}, atol={"scores": 1e-2}).equal
        assert compare(*models, inputs(0.0), atol={"best": 1.0}).equal
        assert not compare(*models, inputs(0.0), atol=0.0).equal
        with pytest.raises(EvaluationError) as caught:
            compare(*models, inputs(0.0), rtol={"score": 1e-6})
        assert caught.value.hint is not None
        assert "scores" in caught.value.hint

    def test_reports_of_before_have_a_verdict(self) -> None:
        old = {"model": "m", "reference": "r", "equal": True}
        assert Comparison.model_validate(old).verdict == "equal"
        assert Comparison.model_validate({**old, "equal": False}).verdict == "different"
        assert Comparison.model_validate({**old, "equal": False, "failure": "crash"}).verdict == "failed"


class TestCommandLine:
    @pytest.fixture
    def files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        network().save("good.xml")
        network("relu").save("relu.xml")
        network(factor=NEAR).save("near.xml")
        np.savez("nan.npz", **inputs(NAN))
        np.savez("real.npz", **inputs(0.0))

    def call(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["compare", *arguments])

    @pytest.mark.usefixtures("files")
    def test_exit_codes(self) -> None:
        expected = {
            ("relu.xml", "real.npz"): 1,
            ("relu.xml", "nan.npz"): 1,
            ("relu.xml", "nan.npz", "--nan-equal"): 1,
            ("good.xml", "nan.npz"): 2,
            ("good.xml", "nan.npz", "--nan-equal"): 0,
            ("good.xml", "real.npz"): 0,
            ("near.xml", "real.npz"): 0,
            ("near.xml", "real.npz", "--fail-on", "layers"): 1,
            ("near.xml", "real.npz", "--rtol", "scores=1e-7"): 1,
            ("near.xml", "real.npz", "--rtol", "1e-7"): 1,
            ("near.xml", "real.npz", "--rtol", "1e-7", "--atol", "scores=0.1"): 0,
        }
        for (other, archive, *more), code in expected.items():
            result = self.call("good.xml", "--with", other, "--inputs", archive, *more)
            assert result.exit_code == code, (other, archive, more, result.output)

    @pytest.mark.usefixtures("files")
    def test_equal_models_report_verdict_only(self) -> None:
        result = self.call("good.xml", "--with", "good.xml", "--inputs", "real.npz")
        assert len(result.stdout.splitlines()) == 1
        assert len(self.call("good.xml", "--with", "good.xml", "--inputs", "real.npz", "--all").stdout.splitlines()) > 9

    @pytest.mark.usefixtures("files")
    @pytest.mark.parametrize("name", ["tolerances.json", "tolerances.toml"])
    def test_tolerances_in_a_file(self, name: str) -> None:
        text = '{"scores": {"rtol": 1e-7}}' if name.endswith("json") else "[scores]\nrtol = 1e-7\n"
        Path(name).write_text(text)
        arguments = ("good.xml", "--with", "near.xml", "--inputs", "real.npz", "--tolerances", name)
        assert self.call(*arguments).exit_code == 1
        assert self.call(*arguments, "--rtol", "scores=0.1").exit_code == 0

    @pytest.mark.usefixtures("files")
    @pytest.mark.parametrize(
        "text", ["", "[]", '{"a": 1}', '{"a": {}}', '{"a": {"rtol": -1}}', '{"a": {"rtol": true}}', '{"a": {"x": 1}}']
    )
    def test_files_that_hold_no_tolerances(self, text: str) -> None:
        Path("bad.json").write_text(text)
        result = self.call("good.xml", "--with", "near.xml", "--inputs", "real.npz", "--tolerances", "bad.json")
        assert result.exit_code == 2
        assert "Traceback" not in result.output

    @pytest.mark.usefixtures("files")
    @pytest.mark.parametrize("tolerance", ["x", "scores=", "scores=nan", "scores=-1", "nothing=1"])
    def test_invalid_tolerances(self, tolerance: str) -> None:
        result = self.call("good.xml", "--with", "near.xml", "--inputs", "real.npz", "--rtol", tolerance)
        assert result.exit_code == 2, result.output

    @pytest.mark.usefixtures("files")
    def test_json(self) -> None:
        result = self.call("good.xml", "--with", "good.xml", "--inputs", "nan.npz", "--format", "json")
        assert result.exit_code == 2
        parsed = json.loads(result.stdout)
        jsonschema.validate(parsed, json.loads(SCHEMA.read_text()))
        assert (parsed["verdict"], parsed["not_compared"]) == ("not compared", 10)
