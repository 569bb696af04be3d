"""The weight formats that the pipeline for language models on NPUs supports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ir_exec.errors import IRError, Location
from ir_exec.text.folders.compression import PackedWeight, packed_weights
from ir_exec.text.folders.folder import FolderPart
from ir_exec.text.targets.documents import GENAI_ON_NPU, finding

__all__ = ["weights_on_npu"]

_GROUP = 128
_NAMED = frozenset({"i4", "u4", "nf4"})
_EXPORT = "export with --weight-format int4 --sym --group-size 128 (or -1) --ratio 1.0"


def weights_on_npu(part: FolderPart) -> Iterator[IRError]:
    """Report weights other than symmetric 4-bit weights with groups of 128 or whole channels; one finding per kind."""
    four = [packed for packed in packed_weights(part) if packed.weight.element_type.bits == 4]
    if part.loaded is None:
        return
    if not four:
        yield _warning("no weights have 4 bits", part.location, expected="4-bit weights")
        return
    yield from _formats(four)
    yield from _zero_points(four)
    yield from _groups(four)
    ratio = part.rt_info("nncf", "weight_compression", "ratio")
    if ratio is not None and not _is_one(ratio):
        yield _warning("the ratio of 4-bit weights is", part.location, actual=ratio, expected="1.0")


def _warning(message: str, location: Location, hint: str = _EXPORT, **parts: Any) -> IRError:
    return finding(message, location, GENAI_ON_NPU, "warning", hint, reason=" for NPUs", **parts)


def _is_one(text: str) -> bool:
    try:
        return float(text) == 1
    except ValueError:
        return False


def _formats(weights: list[PackedWeight]) -> Iterator[IRError]:
    others = [packed for packed in weights if packed.type_name not in _NAMED]
    for type_name in sorted({packed.type_name for packed in others}):
        first = next(packed for packed in others if packed.type_name == type_name)
        yield _warning("weights have the format", first.weight.codes.location, actual=type_name, expected="int4 or nf4")
    nf4 = [packed for packed in weights if packed.type_name == "nf4"]
    grouped = next((packed for packed in nf4 if packed.weight.group_size is not None), None)
    if grouped is not None:
        yield _warning(
            "nf4 weights have groups of",
            grouped.weight.codes.location,
            "export with --group-size -1",
            actual=grouped.weight.group_size,
            expected="channel-wise scales",
        )
    elif nf4:
        message = "nf4 weights need an NPU of Core Ultra Series 2 or newer: it is not known which NPU is used"
        yield finding(message, nf4[0].weight.codes.location, GENAI_ON_NPU, "info")


def _zero_points(weights: list[PackedWeight]) -> Iterator[IRError]:
    asymmetric = [packed for packed in weights if packed.zero_point == "other"]
    if asymmetric:
        message = f"{len(asymmetric)} of {len(weights)} 4-bit weights have zero points and are asymmetric"
        yield _warning(message, asymmetric[0].weight.codes.location, expected="symmetric weights")
    middle = [packed for packed in weights if packed.zero_point == "middle"]
    if middle:
        message = (
            f"{len(middle)} of {len(weights)} 4-bit weights are symmetric with a zero point at the middle of u4: "
            "it is not known whether NPUs support this format"
        )
        yield finding(message, middle[0].weight.codes.location, GENAI_ON_NPU, "info")


def _groups(weights: list[PackedWeight]) -> Iterator[IRError]:
    integers = [packed for packed in weights if packed.type_name in ("i4", "u4") and packed.is_scaled]
    sizes = {packed.weight.group_size for packed in integers} - {None, _GROUP}
    for size in sorted(size for size in sizes if size is not None):
        same = [packed for packed in integers if packed.weight.group_size == size]
        share = f"{len(same)} of {len(weights)} 4-bit weights"
        expected = f"{_GROUP} or whole channels"
        yield _warning(f"{share} have groups of", same[0].weight.codes.location, actual=size, expected=expected)
