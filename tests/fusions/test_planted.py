"""One changed layer of an exported decoder: OpenVINO drops the fusion, and the near miss names the layer."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lxml import etree

from ir_exec.debug.device.fused_operators import FusionCounter
from ir_exec.fusions import list_fusions
from ir_exec.model import read_model

EXPORTED = Path(__file__).parent.parent / "networks" / "llama_stateful.xml"


@dataclass(frozen=True)
class Change:
    """A change of the first layer that meets a condition.

    Attributes:
        fact: A part of the actual value of the near miss.
    """

    fusion: str
    matched: int
    selects: Callable[[etree._Element], bool]
    apply: Callable[[etree._Element], None]
    fact: str


def set_type(name: str) -> Callable[[etree._Element], None]:
    return lambda layer: layer.set("type", name)


def set_axis(layer: etree._Element) -> None:
    data = layer.find("data")
    assert data is not None
    data.set("axis", "3")


def is_rotation(layer: etree._Element) -> bool:
    return (
        layer.get("type") == "Concat" and "self_attn/aten::cat" in (layer.get("name") or "") and axis_of(layer) == "-1"
    )


def axis_of(layer: etree._Element) -> str | None:
    data = layer.find("data")
    return None if data is None else data.get("axis")


CHANGES = {
    "concatenation along axis 3": Change("RoPE", 3, is_rotation, set_axis, "3"),
    "another function than the root": Change(
        "RMS", 4, lambda layer: layer.get("type") == "Sqrt", set_type("Exp"), "Exp"
    ),
}


@pytest.fixture(scope="module")
def counter() -> Iterator[FusionCounter]:
    with FusionCounter() as started:
        yield started


@pytest.mark.parametrize("name", CHANGES)
def test_changed_layer(name: str, counter: FusionCounter, tmp_path: Path) -> None:
    change = CHANGES[name]
    tree = etree.parse(str(EXPORTED))
    layer = next(layer for layer in tree.iter("layer") if change.selects(layer))
    change.apply(layer)
    tree.write(str(tmp_path / "model.xml"))
    shutil.copy(EXPORTED.with_suffix(".bin"), tmp_path / "model.bin")
    model = read_model(tmp_path / "model.xml")
    fusion = list_fusions(model, "cpu").find(change.fusion)
    assert counter.count(model)[change.fusion] == fusion.matched == change.matched
    (missed,) = fusion.missed
    assert change.fact in missed.actual
    assert missed.layer.rpartition("/")[0] == (layer.get("name") or "").rpartition("/")[0]
