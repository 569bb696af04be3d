"""Values of a reference that vary between its runs: the first layer that varies, its spread, and the setting."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Difference, Settings, difference
from ir_exec.debug.comparison.references.reference import Reference
from ir_exec.debug.comparison.references.repeating import Repeatable, RepeatedValue, RunSetting, Vary
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.errors import EvaluationError
from ir_exec.report.numbers import format_count, format_number, pluralize
from ir_exec.report.records import Record
from ir_exec.types import ElementType

__all__ = ["Variation", "VariedValue", "measure_variation", "require_repeatable", "variation_lines", "variation_text"]


class VariedValue(Record):
    """A value with other bits in some runs.

    Attributes:
        path: The layer of the model, or of the reference for values that the model does not have.
        setting: The setting of the runs, "" for runs of the same compiled model.
        varies: The setting that was varied; None for runs of the same compiled model.
        runs: The number of runs in which it differs from the first run; with another hint, from the first one with it.
        of: The number of runs with this setting that were compared.
        spread: The largest of these differences.
        is_probed: True if intermediate values were outputs of these runs.
    """

    path: str
    layer_id: str
    type: str
    setting: str
    varies: Vary | None = None
    runs: int
    of: int
    spread: Difference
    is_probed: bool

    @property
    def text(self) -> str:
        """Its spread, the number of runs that differ, and their setting."""
        return f"varies {_brief(self.spread)} {_between(self)}"


class Variation(Record):
    """The values of a reference that differ between its runs.

    Attributes:
        verdict: equal: all runs have the same bits. rounding: all differences are within the tolerance. varies: a
            difference is beyond the tolerance.
        runs: The number of runs, the first one included.
        varied: The settings that were varied.
        settings: The settings of the runs, "" for runs of the same compiled model.
        outputs: Outputs that differ in runs without intermediate values.
        layers: Values that differ in runs with intermediate values, in the order of computation.
        first: The first value beyond the tolerance.
    """

    verdict: Literal["equal", "rounding", "varies"]
    runs: int
    varied: tuple[Vary, ...] = ()
    settings: tuple[str, ...] = ("",)
    outputs: tuple[VariedValue, ...] = ()
    layers: tuple[VariedValue, ...] = ()
    first: VariedValue | None = None

    def find_layer(self, path: str) -> VariedValue | None:
        """Return the first value of a layer that varies by more than the tolerance; None if there is none.

        Args:
            path: The path of the layer, or of one of its outputs: `split`, `split:1`.
        """
        for value in (*self.layers, *self.outputs):
            if not value.spread.is_within and path in (value.path, value.path.rpartition(":")[0]):
                return value
        return None


def require_repeatable(reference: Reference, vary: Collection[Vary]) -> Repeatable:
    """Return the reference; raises EvaluationError if it cannot run again, or does not have the varied settings."""
    if not isinstance(reference, Repeatable):
        message = f"{reference.title} cannot be repeated"
        raise EvaluationError(message, expected="the reference openvino or onnxruntime", code=Code.unknown_input)
    missing = [name for name in vary if name not in reference.varied]
    if missing:
        raise EvaluationError(
            f"{reference.title} does not have the setting",
            actual=missing[0],
            expected=" or ".join(sorted(reference.varied)),
            code=Code.unknown_input,
        )
    return reference


def measure_variation(
    reference: Repeatable,
    plan: Sequence[RunSetting],
    theirs: Sequence[Entry],
    partners: Mapping[Key, Entry],
    ours: Mapping[Key, Entry],
    settings: Settings,
) -> Variation:
    """Run a reference again and return the values that differ between its runs.

    Args:
        plan: The settings of the runs after the first one.
        theirs: The values of the reference, in the order of computation.
        partners: The reference's values by those of the model.
        ours: The values of the model by key.
        settings: The tolerances.
    """
    names = {partner.key: ours[key] for key, partner in partners.items() if key in ours}
    order = {entry.key: position for position, entry in enumerate(theirs)}
    by_key = {entry.key: names.get(entry.key, entry) for entry in theirs}
    worst: dict[tuple[bool, Key, RunSetting], tuple[Difference, set[int]]] = {}
    for value in reference.repeat(plan, set(by_key)):
        group = value.is_probed, value.key, value.setting
        spread, runs = worst.get(group, (None, set()))
        worst[group] = _larger(spread, _spread(value, settings)), runs | {value.run}
    sizes = {setting: sum(other == setting and not setting.is_base for other in plan) for setting in plan}
    listed: dict[bool, list[VariedValue]] = {False: [], True: []}
    for group in sorted(worst, key=lambda group: order.get(group[1], len(order))):
        is_probed, key, setting = group
        entry, (spread, runs) = by_key[key], worst[group]
        listed[is_probed].append(
            VariedValue(
                path=entry.path,
                layer_id=entry.layer_id,
                type=entry.type,
                setting=setting.name,
                varies=setting.varies,
                runs=len(runs),
                of=sizes[setting],
                spread=spread,
                is_probed=is_probed,
            )
        )
    everything = [*listed[True], *listed[False]]
    first = next((value for value in everything if not value.spread.is_within), None)
    return Variation(
        verdict="varies" if first is not None else "rounding" if everything else "equal",
        runs=1 + len(plan),
        varied=tuple(dict.fromkeys(setting.varies for setting in plan if setting.varies is not None)),
        settings=tuple(dict.fromkeys(setting.name for setting in plan)),
        outputs=tuple(listed[False]),
        layers=tuple(listed[True]),
        first=first,
    )


def _spread(value: RepeatedValue, settings: Settings) -> Difference:
    kinds = [ElementType.of(value.first), ElementType.of(value.array)]
    coarser = value.computes_in or settings.computes_in
    return difference(value.array, value.first, replace(settings, computes_in=coarser).carried_tolerance(kinds))


def _larger(left: Difference | None, right: Difference) -> Difference:
    if left is None:
        return right
    return max(left, right, key=lambda spread: (not spread.is_within, spread.beyond, spread.max_abs))


def variation_text(variation: Variation) -> str:
    """Return the end of a line: the first value that varies by more than the tolerance, and how many others do."""
    first = variation.first
    if first is None:
        return f"equal to itself in {format_count(variation.runs, 'run')}{_settings(variation)}"
    count = len({value.path for value in variation.layers if not value.spread.is_within} - {first.path})
    more = f", and {count} more {pluralize(count, 'layer varies', 'layers vary')}" if count else ""
    where = "" if first.is_probed else ", in an output only: a fusion varies"
    return f"{first.path} ({first.type}) {first.text}{where}{more}"


def _brief(spread: Difference) -> str:
    if spread.problem is not None:
        return spread.problem
    sqnr = "" if spread.sqnr_db is None else f", SQNR {spread.sqnr_db:.1f} dB"
    return f"by {format_number(spread.max_abs)}{sqnr}"


def _between(value: VariedValue) -> str:
    runs = f"in {value.runs} of {format_count(value.of, 'run')}"
    return f"{runs} with {value.setting}" if value.setting else f"{runs} of the same compiled model"


def _settings(variation: Variation) -> str:
    return f" with other {', '.join(variation.varied)}" if variation.varied else ""


def variation_lines(variation: Variation) -> Iterator[str]:
    """Yield the result of repeated runs, with the first value that differs for each setting."""
    runs = format_count(variation.runs, "run")
    if variation.verdict == "equal":
        yield f"  the reference is equal to itself to the bit in {runs}{_settings(variation)}"
        return
    how = "within the tolerance" if variation.verdict == "rounding" else "by more than the tolerance"
    yield f"  the reference differs from itself {how} in {runs}{_settings(variation)}"
    for setting in variation.settings:
        yield f"    {setting or 'same compiled model'}: {_setting_text(variation, setting)}"


def _setting_text(variation: Variation, setting: str) -> str:
    """Describe the first value that differs under a setting, by more than the tolerance if one does."""
    values = [value for value in (*variation.layers, *variation.outputs) if value.setting == setting]
    if not values:
        return "equal to the bit"
    first = next((value for value in values if not value.spread.is_within), values[0])
    count = sum(value.is_probed == first.is_probed for value in values)
    what = "" if first.is_probed else "only in runs without intermediate values: "
    differ = f"{format_count(count, 'value')} differ" if count > 1 else "no other value differs"
    return f"{what}{first.path} ({first.type}) {_brief(first.spread)} in {first.runs} of {first.of} runs; {differ}"
