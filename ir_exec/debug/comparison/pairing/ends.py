"""Pairs of values with the same names, and of inputs and outputs by type, shape and position, or as requested."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from ir_exec.codes import Code
from ir_exec.debug.values.entries import Entry, Key, find
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.ports import ModelPort
from ir_exec.report.records import Record
from ir_exec.types import ElementType

__all__ = [
    "Pairing",
    "agree",
    "asked_pairs",
    "paired_ends",
    "pairs_by_name",
    "require_same_ports",
    "same_family",
    "unnamed_pairs",
]


class Pairing(Record):
    """A pair of values of MODEL and the reference that is not found by name.

    Attributes:
        end: "value" for a value that is neither an input nor an output.
        how: The method: by the adjacent layers, by position, by a unique element type and shape, or as requested by the
            caller.
    """

    end: Literal["input", "output", "value"]
    model: str
    reference: str
    how: Literal["structure", "position", "type and shape", "asked"]


End: TypeAlias = Literal["input", "output", "value"]


def asked_pairs(
    ours: Sequence[Entry], theirs: Sequence[Entry], asked: Mapping[str, str]
) -> tuple[dict[Key, Entry], list[Pairing]]:
    """Return the partners that the caller names, and the pairings.

    Raises:
        EvaluationError: For an unknown name.
    """
    matches: dict[Key, Entry] = {}
    pairings = []
    for name, other in asked.items():
        entry, partner = find(ours, name), find(theirs, other)
        matches[entry.key] = partner
        end: End = "input" if entry.is_input else "output" if entry.output else "value"
        pairings.append(Pairing(end=end, model=_title(entry), reference=_title(partner), how="asked"))
    return matches, pairings


def paired_ends(
    ours: Sequence[Entry], theirs: Sequence[Entry], partners: Mapping[Key, Entry]
) -> tuple[dict[Key, Entry], list[Pairing]]:
    """Return partners for inputs and outputs without one, if the choice is unambiguous, and the pairings.

    Args:
        ours: The values of MODEL.
        theirs: The values of the reference.
        partners: The known pairs.
    """
    matches: dict[Key, Entry] = {}
    pairings: list[Pairing] = []
    used = {partner.key for partner in partners.values()}
    # A layer before the output may resemble that of the reference, for example a product without its bias of zeros.
    inner = {
        partners[entry.key].key
        for entry in ours
        if entry.key in partners and not entry.is_end and not _have_common_name(entry, partners[entry.key])
    }
    ends: tuple[tuple[End, Callable[[Entry], bool]], ...]
    ends = ("input", lambda entry: entry.is_input), ("output", lambda entry: entry.output)
    for end, is_end in ends:
        mine = [our for our in ours if is_end(our) and our.key not in partners]
        other = [their for their in theirs if is_end(their) and their.key not in used - inner]
        for entry, partner, how in _pair_if_unambiguous(_by_place(mine), _by_place(other)):
            matches[entry.key] = partner
            pairings.append(Pairing(end=end, model=_title(entry), reference=_title(partner), how=how))
    return matches, pairings


def unnamed_pairs(ours: Sequence[Entry], partners: Mapping[Key, Entry], reported: Sequence[Pairing]) -> list[Pairing]:
    """Return the pairings of inputs and outputs without a common name, except those in `reported`."""
    told = {pairing.model for pairing in reported}
    pairings = []
    for entry in ours:
        partner = partners.get(entry.key)
        if not entry.is_end or partner is None or _title(entry) in told:
            continue
        if not _have_common_name(entry, partner):
            end: End = "input" if entry.is_input else "output"
            pairings.append(Pairing(end=end, model=_title(entry), reference=_title(partner), how="structure"))
    return pairings


def _by_place(entries: Sequence[Entry]) -> list[Entry]:
    """Return outputs in the order of the model, which may differ from the order of computation."""
    return sorted(entries, key=lambda entry: entry.place or 0)


def _have_common_name(entry: Entry, partner: Entry) -> bool:
    return not {entry.layer_name, *entry.names}.isdisjoint({partner.layer_name, *partner.names})


def _title(entry: Entry) -> str:
    return entry.names[0] if entry.names else entry.path


def _pair_if_unambiguous(
    ours: Sequence[Entry], theirs: Sequence[Entry]
) -> Iterable[tuple[Entry, Entry, Literal["position", "type and shape"]]]:
    """The pairs, if they are unambiguous: both sides have the same number of similar values."""
    if len(ours) != len(theirs):
        return
    if all(_are_alike(entry, partner) for entry, partner in zip(ours, theirs, strict=True)):
        for entry, partner in zip(ours, theirs, strict=True):
            yield entry, partner, "position"
        return
    kinds, others = (Counter((value.element_type, value.shape) for value in side) for side in (ours, theirs))
    if kinds == others and max(kinds.values()) == 1:
        by_kind = {(their.element_type, their.shape): their for their in theirs}
        for entry in ours:
            yield entry, by_kind[entry.element_type, entry.shape], "type and shape"


def _are_alike(entry: Entry, partner: Entry) -> bool:
    """Return True if known types and shapes do not differ; floats of different widths do not differ."""
    return same_family(entry, partner) and agree(entry.shape, partner.shape)


def same_family(entry: Entry, partner: Entry) -> bool:
    """Return True if both or neither are floats, or if a type is unknown."""
    kinds = [entry.element_type, partner.element_type]
    is_unknown = None in kinds or str(ElementType.dynamic) in kinds
    return is_unknown or ("f" in str(kinds[0])) == ("f" in str(kinds[1]))


def agree(shape: str | None, other: str | None) -> bool:
    """Return True if the known dims of two shapes are equal."""
    if shape is None or other is None or shape == other or "..." in shape + other:
        return True
    dims, others = ([dim for dim in text[1:-1].split(",") if dim] for text in (shape, other))
    pairs = zip(dims, others, strict=False)
    return len(dims) == len(others) and all(a == b or not a.isdigit() or not b.isdigit() for a, b in pairs)


def pairs_by_name(ours: Sequence[Entry], theirs: Sequence[Entry]) -> dict[Key, Entry]:
    """Return the value of the reference with the same tensor name for each value outside bodies that has one.

    A value without tensor names, such as a constant, has the name of its layer. Floats of few bits, which the reference
    may store as codes in integers, are paired only if the element types are equal. Outputs at the same position are
    paired first: a layer may have the name of an output that another layer computes. An output may also have the name
    of its layer in the reference.
    """
    mine, others = (_unique_names(side) for side in (ours, theirs))
    pairs = _outputs_by_place(ours, theirs)
    used = {partner.key for partner in pairs.values()}
    outputs = ((entry.path, entry) for entry in ours if entry.output and not entry.scope and entry.path not in mine)
    for name, entry in (*mine.items(), *outputs):
        partner = others.get(name)
        if partner is None or entry.key in pairs or partner.key in used or not _have_same_storage(entry, partner):
            continue
        pairs[entry.key] = partner
        used.add(partner.key)
    return pairs


def _outputs_by_place(ours: Sequence[Entry], theirs: Sequence[Entry]) -> dict[Key, Entry]:
    """The outputs at the same position with a common name."""
    by_place = {entry.place: entry for entry in theirs if entry.output and entry.place is not None}
    pairs: dict[Key, Entry] = {}
    for entry in ours:
        partner = by_place.get(entry.place) if entry.output and entry.place is not None else None
        if partner is not None and not set(entry.names).isdisjoint(partner.names):
            pairs[entry.key] = partner
    return pairs


def _unique_names(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The values by name, without names of several values. Names of tensors have priority over those of layers."""
    outer = [entry for entry in entries if not entry.scope]
    owners: dict[str, dict[Key, Entry]] = defaultdict(dict)
    for entry in outer:
        for name in entry.names:
            owners[name][entry.key] = entry
    of_layers: dict[str, dict[Key, Entry]] = defaultdict(dict)
    for entry in outer:
        if not entry.names and entry.path not in owners:
            of_layers[entry.path][entry.key] = entry
    return {name: next(iter(named.values())) for name, named in (owners | of_layers).items() if len(named) == 1}


def _have_same_storage(entry: Entry, partner: Entry) -> bool:
    if _is_short_float(entry):
        return entry.element_type == partner.element_type
    return not entry.is_constant or same_family(entry, partner)


def _is_short_float(entry: Entry) -> bool:
    """Return True for a type that may be stored as codes in 8-bit integers."""
    element_type = ElementType.dynamic if entry.element_type is None else ElementType.parse(entry.element_type)
    return element_type.is_known and element_type.is_float and element_type.bits <= 8


_MOST_LISTED = 5


def require_same_ports(model: Model, other: Model, name: str, other_name: str) -> None:
    """Raise an error for models with other inputs or outputs.

    Inputs correspond by name, outputs by position.

    Args:
        name: The name of the model in the message.
        other_name: The name of the other model.

    Raises:
        EvaluationError: IR705, with every input and output that differs.
    """
    differences = [
        *_port_differences(model.inputs, other.inputs, "input", name, other_name),
        *_port_differences(model.outputs, other.outputs, "output", name, other_name),
    ]
    if not differences:
        return
    more = f"; and {len(differences) - _MOST_LISTED} more" if len(differences) > _MOST_LISTED else ""
    message = f"{name} and {other_name} have different inputs or outputs: {'; '.join(differences[:_MOST_LISTED])}{more}"
    raise EvaluationError(message, code=Code.unknown_input)


def _port_differences(
    ours: Sequence[ModelPort],
    theirs: Sequence[ModelPort],
    end: Literal["input", "output"],
    name: str,
    other_name: str,
) -> Iterator[str]:
    """Yield a description of each input or output that differs: missing, of another type, or of another shape.

    Floats of different widths do not differ, and neither do dims if one of them is dynamic.
    """
    pairs, lonely = _pairs(ours, theirs, end)
    for port, other in pairs:
        if not _are_alike_ports(port, other):
            title = repr(port.name) if port.name == other.name else f"{port.name!r} ({other.name!r} there)"
            yield (
                f"{end} {title} is {port.element_type}{port.shape} in {name}, "
                f"{other.element_type}{other.shape} in {other_name}"
            )
    for port, lacks in lonely:
        yield f"{end} {port.name!r} is missing from {other_name if lacks == 'other' else name}"


def _pairs(
    ours: Sequence[ModelPort], theirs: Sequence[ModelPort], end: str
) -> tuple[list[tuple[ModelPort, ModelPort]], list[tuple[ModelPort, str]]]:
    """The pairs of ports, and the ports without a partner with the side that lacks them.

    Inputs correspond by name; outputs, and inputs without any common name, by position if their numbers are equal.
    """
    by_name = {label: port for port in reversed(theirs) for label in (*port.names, port.name)}
    partners = [
        next((by_name[label] for label in (port.name, *sorted(port.names)) if label in by_name), None) for port in ours
    ]
    if len(ours) == len(theirs) and (end == "output" or not any(partners)):
        return list(zip(ours, theirs, strict=True)), []
    pairs = [(port, other) for port, other in zip(ours, partners, strict=True) if other is not None]
    used = {other.name for _, other in pairs}
    lonely = [(port, "other") for port, other in zip(ours, partners, strict=True) if other is None]
    return pairs, lonely + [(port, "model") for port in theirs if port.name not in used]


def _are_alike_ports(port: ModelPort, other: ModelPort) -> bool:
    kinds = port.element_type, other.element_type
    is_same_type = kinds[0] is kinds[1] or all(element_type.is_float for element_type in kinds)
    return (is_same_type or not all(element_type.is_known for element_type in kinds)) and agree(
        str(port.shape), str(other.shape)
    )
