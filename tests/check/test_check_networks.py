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
    dynamic = [found for found in report.diagnostics if found.code in (Code.dynamic_rank, Code.unbounded_dim)]
    others = [found for found in report.diagnostics if found not in dynamic]
    assert {found.code for found in others} <= {Code.operator_not_implemented, Code.unknown_inputs}
    unchecked = {found.location.layer_id for found in others}
    assert report.layers_not_checked >= len(unchecked)
    assert report.layers_checked > report.layers_not_checked or others
