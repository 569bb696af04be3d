"""Models of optimum-intel, by their `openvino.Model`s; classes of the same names replace those of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_exec
from ir_exec.debug import extract, profile
from ir_exec.errors import SourceTypeError
from ir_exec.view import view

SAMPLES = Path(__file__).parents[1] / "samples"
CORE = ov.Core()


class Host:
    """The parts of `OVModelHostMixin` that are read."""

    def __init__(self, components: dict[str, Any] | None = None, **models: Any) -> None:
        self.ov_models = models
        self.components = components or {}


class OVModelHostMixin(Host):
    __module__ = "optimum.intel.openvino.modeling_base"


class OVBaseModel:
    """A model of early releases, without `ov_models`."""

    __module__ = "optimum.intel.openvino.modeling_base"

    def __init__(self, model: Any) -> None:
        self.model = model


def read(name: str) -> ov.Model:
    return CORE.read_model(SAMPLES / f"{name}.xml")


def test_one_model() -> None:
    inputs = dict(np.load(SAMPLES / "gnn_step.inputs.npz"))
    for source in (OVModelHostMixin(model=read("gnn_step")), OVBaseModel(read("gnn_step"))):
        assert ir_exec.read_model(source).name == "gnn_step"
        assert (
            ir_exec.check_model(source).layers_checked == ir_exec.check_model(SAMPLES / "gnn_step.xml").layers_checked
        )
        assert ir_exec.compare(source, source, inputs).verdict == "equal"
        assert profile(source, inputs, repeat=1).layers
        assert view(source).networks
        assert [port.name for port in extract(source, from_="messages", to="total").model.outputs] == ["total"]


def test_model_in_a_component() -> None:
    model = read("gnn_step")
    part = OVModelHostMixin(model=model)
    assert ir_exec.read_model(OVModelHostMixin({"encoder": part}, encoder=model)).name == "gnn_step"
    assert ir_exec.read_model(part).name == "gnn_step"


def test_several_models_are_listed() -> None:
    decoder = OVModelHostMixin(model=read("scatter_update"))
    source = OVModelHostMixin({"decoder": decoder}, encoder=read("gnn_step"))
    with pytest.raises(SourceTypeError) as error:
        ir_exec.read_model(source)
    assert error.value.hint is not None
    assert {"model.encoder", "model.decoder.model"} <= set(error.value.hint.replace(",", "").split())
    assert [diagnostic.code for diagnostic in ir_exec.check_model(source).diagnostics] == ["IR001"]


def test_compiled_models_are_refused() -> None:
    with pytest.raises(SourceTypeError):
        ir_exec.read_model(OVModelHostMixin(model=CORE.compile_model(read("gnn_step"), "CPU")))
    with pytest.raises(SourceTypeError):
        ir_exec.read_model(OVModelHostMixin())


@pytest.mark.parametrize(
    "function",
    [
        ir_exec.read_model,
        ir_exec.compile_model,
        lambda source: ir_exec.compare(source, "openvino"),
        lambda source: extract(source, to="x"),
        ir_exec.debug.trace,
        ir_exec.debug.profile,
        ir_exec.debug.shapes,
        lambda source: ir_exec.debug.diff(source, source),
        ir_exec.view,
        ir_exec.build.Editor,
    ],
)
def test_other_objects_are_a_type_error(function: Any) -> None:
    for source in (3, None, ["model.xml"]):
        with pytest.raises(TypeError) as error:
            function(source)
        assert isinstance(error.value, SourceTypeError)
        assert {"path", "onnx.ModelProto", "openvino.Model"} <= set(str(error.value).replace(",", "").split())
