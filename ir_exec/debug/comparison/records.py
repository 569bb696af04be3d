"""Records of a comparison report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import model_validator

from ir_exec.debug.comparison.discontinuities import Jump, Untested
from ir_exec.debug.comparison.metrics import COLUMNS, Difference
from ir_exec.debug.comparison.pairing.ends import Pairing
from ir_exec.debug.comparison.rounded import WeightsNote
from ir_exec.debug.comparison.variation import Variation
from ir_exec.debug.device.records import Isolation, PartStatus
from ir_exec.debug.inputs.drawing import Drawn
from ir_exec.debug.precision.activations import QuantizedRange
from ir_exec.debug.precision.weights import QuantizedWeight
from ir_exec.errors import SourceLine
from ir_exec.report.records import Record, TableRecord

__all__ = [
    "CONTRADICTION",
    "MOST_INCLUDED",
    "ComparedLayer",
    "ComparedModule",
    "ComparedOutput",
    "ComparisonRecord",
    "Decision",
    "FailOn",
    "LayerFault",
    "OutputStatus",
    "Status",
    "Unmatched",
    "Verdict",
]


Verdict = Literal["equal", "different", "different in a layer", "reference", "not compared", "failed"]
"""equal: every output is within its tolerance, and no layer has a gross error. different: an output is not within its
tolerance. different in a layer: no output shows it, but a layer or constant differs by more than rounding explains.
reference: an output is beyond its tolerance, but the reference contradicts itself: a second answer agrees with this
model, its inner values do not lead to its outputs, or repeated runs of it differ by more than the tolerance.
not compared: an output has no finite element on either side, which would hide any fault, or the runtime refuses the
file. failed: the reference produced no results, or only some of
them."""

FailOn = Literal["outputs", "layers"]
"""outputs: outputs beyond their tolerances and gross errors of layers count. layers: every wrong layer counts."""

_EXIT_CODES: dict[Verdict, Literal[0, 1, 2]] = {
    "equal": 0,
    "different": 1,
    "different in a layer": 1,
    "reference": 1,
    "not compared": 2,
    "failed": 2,
}

OutputStatus = Literal["equal", "close", "step", "different", "not compared", "unmatched"]
"""equal: bit-identical. close: within the tolerance. step: beyond it, but only on steps and in ties. different: beyond
it. not compared: no element is finite on either side. unmatched: the reference has no such output."""

CONTRADICTION = "the reference's value does not lead to its own outputs"
"""Note of a layer whose value in the reference contradicts the outputs of the reference."""

LIKE = 2
"""Maximum error relative to the differences between the reference's own answers that is of their size."""

MOST_INCLUDED = 20
"""Maximum number of layers without partners that are listed for a layer."""

Status = Literal["equal", "close", "carried", "step", "reference", "wrong", "failed", "unmatched", "skipped"]
"""equal: bit-identical. close: within the tolerance. carried: beyond it because of errors in the inputs. step: differs
only in ties or on steps, for the same inputs or for inputs that differ within the tolerance. reference: beyond the
tolerance, but the reference differs from itself: its second answer for the layer agrees with this model, or its value
varies between its runs.
wrong: the own error is beyond the tolerance. failed: the layer fails on the reference's inputs. unmatched: the
reference has no value for it. skipped: inside a fusion of the reference, where its values differ from those of the
layers, or inside a compressed weight that is compared as a whole."""

_SEVERITY: dict[Status, int] = {
    "unmatched": 0,
    "skipped": 1,
    "equal": 2,
    "close": 3,
    "carried": 4,
    "step": 5,
    "reference": 6,
    "failed": 7,
    "wrong": 8,
}


class Decision(Record):
    """The verdict of a comparison, decided once. The exit code and the reports in every format follow it.

    Attributes:
        verdict: The result in a few words.
        line: The result in one line, the first line of the text.
        fail_on: The differences that count.
        failing: The paths of the layers that explain a verdict other than "equal", as far as they are known.
    """

    verdict: Verdict
    line: str
    fail_on: FailOn = "outputs"
    failing: tuple[str, ...] = ()

    @property
    def exit_code(self) -> Literal[0, 1, 2]:
        """Return 0 for equal, 1 for a difference, and 2 if nothing or only a part was compared."""
        return _EXIT_CODES[self.verdict]


class ComparedLayer(Record):
    """One layer of MODEL.

    Attributes:
        path: `loop/body/name` for layers of bodies.
        partner: The path of the reference's layer.
        own: The own error, of the layer computed from the reference's inputs; None if the reference has too few values.
        carried: The error when both models run from the same inputs. A layer with several outputs or iterations reports
            the worst one; `iterations` is its index in each enclosing body. Of several calls, it reports the first one
            with the worst status; `call` is its number, counted from 1.
        runs: The number of all runs; 0 for a layer of a body that has not run.
        includes: Upstream layers without a partner whose errors are part of `own`.
        jump: The effect of inputs within the tolerance on a layer with steps.
        untested: The reason why these inputs cannot show a fault in any element.
        other_attributes: The attributes with other values in the reference file, if the values of these inputs agree.
        alone: The result of the layer alone on the device, if the comparison isolates layers.
        alone_error: The result of the layer alone on the device, if the comparison isolates layers.
        note: Further remarks.
        source: The line of Python that it was exported from.
        node: The node of the ONNX file that it was made from.
        operator: The operator of this node.
    """

    layer_id: str
    layer_name: str
    path: str
    type: str
    partner: str | None = None
    element_type: str | None = None
    shape: tuple[int, ...] | None = None
    status: Status
    own: Difference | None = None
    carried: Difference | None = None
    iterations: tuple[int, ...] = ()
    call: int = 1
    runs: int = 1
    includes: tuple[str, ...] = ()
    jump: Jump | None = None
    untested: Untested | None = None
    other_attributes: tuple[str, ...] = ()
    alone: PartStatus | None = None
    alone_error: Difference | None = None
    note: str | None = None
    source: SourceLine | None = None
    node: str | None = None
    operator: str | None = None

    @property
    def is_within(self) -> bool:
        """True if the error of the layer's value in the run is within the tolerance."""
        return self.carried is not None and self.carried.is_within

    @property
    def severity(self) -> int:
        """Severity of the status: greater is worse."""
        return _SEVERITY[self.status]

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key of several runs of a layer, greatest for the worst: status, then fraction beyond the tolerance."""
        error = self.own if self.status in ("wrong", "reference", "step") and self.jump is None else self.carried
        return self.severity, error.beyond if error is not None else 0.0


class LayerFault(Record):
    """A wrong layer, with the names of MODEL.

    Attributes:
        call: The number of the first call in which it is wrong, counted from 1.
        includes: Upstream layers without a partner, one of which may be the wrong one instead.
        taken_by: The layers that read it, for a constant.
        is_gross: True if no rounding of its types explains the own error.
        is_certain: True if the layer itself is wrong; False if the fault may be in a layer before it.
        unseen: The number of layers before it that have no value in the reference, if the fault may be in one of them.
        source: The line of Python that it was exported from.
        node: The node of the ONNX file that it was made from.
        operator: The operator of this node.
    """

    layer_id: str
    layer_name: str
    path: str
    type: str
    own: Difference | None = None
    carried: Difference | None = None
    call: int = 1
    includes: tuple[str, ...] = ()
    taken_by: tuple[str, ...] = ()
    is_gross: bool = False
    is_certain: bool = True
    unseen: int = 0
    note: str | None = None
    source: SourceLine | None = None
    node: str | None = None
    operator: str | None = None


class ComparedOutput(Record):
    """One output of MODEL.

    Attributes:
        name: The name of the output.
        path: The layer that computes it.
        partner: The path of the reference's value.
        error: The difference from the reference's output, with the tolerance; None if the reference has no such output.
            Of several calls it is the worst one; `call` is its number, counted from 1.
        spread: The largest difference between the reference's own answers for the same inputs; None if they agree.
        is_explained: True if only the compression of the weights of one side explains the error.
    """

    name: str
    path: str
    partner: str | None = None
    element_type: str | None = None
    shape: tuple[int, ...] | None = None
    status: OutputStatus
    error: Difference | None = None
    visible: Difference | None = None
    spread: Difference | None = None
    is_explained: bool = False
    call: int = 1

    @property
    def is_within_spread(self) -> bool:
        """True if the error is of the size of the differences between the reference's own answers."""
        if self.error is None or self.spread is None or self.error.problem is not None:
            return False
        return self.error.max_abs <= LIKE * self.spread.max_abs and self.error.rmse <= LIKE * self.spread.rmse


class ComparedModule(Record):
    """A module of a recording, or of the sources of the layers.

    Attributes:
        path: The path in the form of layer names of the model.
        layers: The layers that compute its outputs; of sources, all of its layers that were compared.
        status: Wrong if a layer of the module or of a nested module is wrong.
        own: The error of that layer.
        carried: The error of its outputs.
    """

    path: str
    layers: tuple[str, ...] = ()
    status: Status
    own: Difference | None = None
    carried: Difference | None = None


class Unmatched(Record):
    """A layer without a partner.

    Attributes:
        side: The model or the reference that contains it.
        why: The reason.
    """

    side: Literal["model", "reference"]
    path: str
    type: str
    why: str


class ComparisonRecord(TableRecord):
    """The report of `compare`.

    Attributes:
        reference: The name of the reference, or the path of its file.
        runtime: The program that computed its values, with "exported" or "lowered by ir_exec" if it did not run the
            file itself; None for stored values, and for runs that failed before they started.
        settings: Settings of the file or of the runtime that change the reference's outputs beyond the tolerance.
        verdict: The result in one word.
        equal: True if the verdict is "equal": outputs were compared, each has a partner and is within its tolerance,
            and no layer has a gross error.
        decision: The verdict with the first line of the text and the failing layers; None in reports of releases
            without it.
        output_results: The outputs, in the order of the model.
        not_compared: The number of elements of outputs that are NaN or infinite on both sides.
        untested: The number of layers in which these inputs cannot show a fault.
        not_run: The number of layers in bodies that have not run in any call; they count as untested.
        first_fault: The first wrong layer, in the order of calls and of computation; outputs may be equal nevertheless.
        faults: All wrong layers.
        first_carried: The first layer whose value is beyond the tolerance.
        layers: The layers in the order of computation.
        outputs: The layers that compute them.
        pairings: inputs, outputs and values named by the caller that are paired by something other than a name.
        unmatched: Layers of both sides without a partner.
        notes: Remarks on the comparison itself.
        inputs: The shapes of the model's inputs in the first call, by name.
        seed: The seed of drawn inputs; None if no inputs were drawn.
        drawn: A record of the drawn inputs.
        calls: The number of compared calls.
        rounds: The number of runs of the reference.
        failure: The reason why the reference did not produce all values; None if it did. With a failure, `equal` is
            false.
        computes_in: The element type in which the reference computed, if it is coarser than the type of its values.
        weights: The rounding of one side's weights to a shorter type, if any. Rounded constants do not count as wrong.
        quantized: Compressed weights of either side, compared with those of the other side.
        ranges: FakeQuantize layers that the reference does not have.
        modules: The modules of a recording, in its order.
        first_module: The innermost module with the first wrong layer.
        isolation: The results of each part alone on the device, if requested.
        variation: The values that vary between runs of the reference, if it was repeated.
    """

    format: Literal[1] = 1
    model: str
    reference: str
    runtime: str | None = None
    settings: tuple[str, ...] = ()
    verdict: Verdict
    equal: bool
    decision: Decision | None = None
    output_results: tuple[ComparedOutput, ...] = ()
    not_compared: int = 0
    untested: int = 0
    not_run: int = 0
    first_fault: LayerFault | None = None
    faults: tuple[LayerFault, ...] = ()
    first_carried: str | None = None
    layers: tuple[ComparedLayer, ...] = ()
    outputs: tuple[str, ...] = ()
    pairings: tuple[Pairing, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = {}
    seed: int | None = None
    drawn: Drawn | None = None
    calls: int = 1
    rounds: int = 1
    failure: str | None = None
    computes_in: str | None = None
    weights: WeightsNote | None = None
    quantized: tuple[QuantizedWeight, ...] = ()
    ranges: tuple[QuantizedRange, ...] = ()
    modules: tuple[ComparedModule, ...] = ()
    first_module: str | None = None
    isolation: Isolation | None = None
    variation: Variation | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_releases(cls, data: Any) -> Any:
        """Add the verdict to reports of releases without verdicts."""
        if isinstance(data, dict) and "verdict" not in data and "equal" in data:
            failed = data.get("failure") is not None
            return {**data, "verdict": "failed" if failed else "equal" if data["equal"] else "different"}
        return data

    @property
    def reference_title(self) -> str:
        """The reference, with the program that runs its file if that is not ir_exec."""
        is_plain = self.runtime in (None, "ir_exec", self.reference)
        return self.reference if is_plain else f"{self.reference} (run by {self.runtime})"

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Raise ValueError if the fields contradict the decision."""
        verdict = self.verdict if self.decision is None else self.decision.verdict
        if self.verdict != verdict or self.equal != (verdict == "equal"):
            raise ValueError(f"verdict is {self.verdict!r} and equal is {self.equal}, expected those of {verdict!r}")
        return self

    @property
    def exit_code(self) -> Literal[0, 1, 2]:
        """The exit code of the command line: 0 for equal, 1 for a difference, 2 if nothing was compared."""
        return _EXIT_CODES[self.verdict]

    @property
    def failing(self) -> frozenset[str]:
        """The paths of the layers that explain a verdict other than "equal"."""
        if self.decision is not None:
            return frozenset(self.decision.failing)
        return frozenset(() if self.equal else [fault.path for fault in self.faults])

    @property
    def named_fault(self) -> LayerFault | None:
        """The wrong layer that the first line names: the first one that explains the verdict, or else the first one."""
        return next((fault for fault in self.faults if fault.path in self.failing), self.first_fault)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each layer, as written by `--format csv`."""
        rows = []
        for layer in self.layers:
            row: dict[str, Any] = {
                "layer_id": layer.layer_id,
                "layer_name": layer.layer_name,
                "path": layer.path,
                "type": layer.type,
                "partner": layer.partner,
                "element_type": layer.element_type,
                "shape": None if layer.shape is None else str(list(layer.shape)),
                "status": layer.status,
                "call": layer.call,
                "untested": layer.untested,
            }
            for side, error in (("own", layer.own), ("carried", layer.carried)):
                for column in COLUMNS:
                    row[f"{side}_{column}"] = None if error is None else getattr(error, column)
                for name, number in (error.custom if error else {}).items():
                    row[f"{side}_{name}"] = number
            if self.isolation is not None:
                row["alone"] = layer.alone
                row["alone_max_abs"] = None if layer.alone_error is None else layer.alone_error.max_abs
            row["note"] = layer.note
            row["source"] = None if layer.source is None else str(layer.source)
            rows.append(row)
        return rows
