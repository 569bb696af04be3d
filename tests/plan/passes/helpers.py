"""Shared parts of the tests of rewrites: both plans of a network, and the fused layers of the rewritten one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import ir_exec
from ir_exec.plan.passes.prepack import HoldsInput
from ir_exec.plan.records import Step
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.types import Array
from tests.conformance.networks import COPIES, networks
from tests.helpers.network_text import NetworkText

__all__ = ["Both", "of_model", "of_network", "of_text"]


class Both(NamedTuple):
    """Runs of a network with a rewritten plan and with the plain one. fused: the steps of several layers."""

    rewritten: list[Array]
    plain: list[Array]
    fused: list[Step]

    @property
    def types(self) -> list[str]:
        """The types of the fused steps."""
        return [step.op.type_name for step in self.fused]

    def assert_close(self, tolerance: float = 1e-5) -> None:
        """Outputs agree within rounding, relative to the greatest element."""
        for ours, plain in zip(self.rewritten, self.plain, strict=True):
            assert (ours.shape, ours.dtype) == (plain.shape, plain.dtype)
            scale = float(np.abs(plain, dtype=np.float64).max(initial=0)) if plain.dtype.kind == "f" else 0.0
            np.testing.assert_allclose(ours, plain, rtol=0, atol=tolerance * scale)


def of_model(model: ir_exec.Model, inputs: list[Array]) -> Both:
    """Both runs of a network on these inputs."""
    fused: list[Step] = []

    def watch(step: Step) -> Step:
        fused.extend([step] if step.members and not isinstance(step.op, HoldsInput) else [])
        return step

    rewritten = CompiledModel(model, instrument=watch)(inputs)
    plain = CompiledModel(model, optimize=False)(inputs)
    return Both([rewritten[i] for i in range(len(rewritten))], [plain[i] for i in range(len(plain))], fused)


def of_network(name: str) -> Both:
    """Both runs of one of the real networks, of which `onnx/NAME` are ONNX files."""
    path = COPIES / f"{name}.onnx" if name.startswith("onnx/") else networks()[name]
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        return of_model(ir_exec.read_model(path), [stored[key] for key in stored.files])


def of_text(net: NetworkText, *inputs: Array) -> Both:
    """Both runs of a network that a test writes."""
    file = net.file()
    return of_model(ir_exec.read_model(file.xml, weights=file.weights), list(inputs))
