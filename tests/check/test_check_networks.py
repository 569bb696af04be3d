"""Real networks, as OpenVINO wrote them, have nothing wrong with them."""

from __future__ import annotations

import pytest

from ir_exec import check_model
from ir_exec.codes import Code
from tests.conformance.networks import networks

NETWORKS = networks()


@pytest.mark.broad
@pytest.mark.parametrize("name", NETWORKS)
def test_no_findings(name: str) -> None:
    report = check_model(NETWORKS[name])
    assert report.ok, str(report)
    assert not report.warnings, str(report)
    # What is left are dynamic inputs, operators that ir_exec does not have, and layers that depend on them.
    dynamic = [
        diagnostic for diagnostic in report.diagnostics if diagnostic.code in (Code.dynamic_rank, Code.unbounded_dim)
    ]
    others = [diagnostic for diagnostic in report.diagnostics if diagnostic not in dynamic]
    assert {diagnostic.code for diagnostic in others} <= {Code.operator_not_implemented, Code.unknown_inputs}
    unchecked = {diagnostic.location.layer_id for diagnostic in others}
    assert report.layers_not_checked >= len(unchecked)
    assert report.layers_checked > report.layers_not_checked or others
