"""A valid file that is broken in one place gives one error, at the layer that was broken."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from random import Random

import pytest
from lxml import etree

from ir_exec import check_model
from tests.check.mutations import MUTATIONS

NETWORKS = Path(__file__).parents[1] / "networks"
CHOSEN = ("index_ops", "gnn_gcn_gat", "dynamic_output_ops", "script_loop_seq")
TRIES = 6


@pytest.mark.parametrize("network", CHOSEN)
@pytest.mark.parametrize("name", MUTATIONS)
def test_one_fault_one_error(name: str, network: str) -> None:
    tree = etree.parse(NETWORKS / f"{network}.xml").getroot()
    random = Random(f"{name} {network}")
    broken = 0
    for _ in range(TRIES):
        net = deepcopy(tree)
        layer = MUTATIONS[name](net, random)
        if layer is None:
            continue
        broken += 1
        report = check_model(etree.tostring(net), weights=NETWORKS / f"{network}.bin")
        found = [(error.location.layer_id, error.location.layer_name) for error in report.errors]
        assert found == [(layer.get("id"), layer.get("name"))], f"{report}\nbroken: {layer.get('id')}"
        assert not report.warnings, str(report)
    assert broken or name in ("attribute_missing", "destination_type")
