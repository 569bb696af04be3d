"""A snapshot of one network: two runs on its inputs, and the plans of them."""

from __future__ import annotations

from pathlib import Path

import ir_exec
from tests.plans.networks import Case
from tests.plans.snapshot import fixed_machine, plans_of

__all__ = ["SNAPSHOTS", "snapshot_of"]

SNAPSHOTS = Path(__file__).with_name("snapshots")


def snapshot_of(case: Case) -> str:
    """The text of the plans of a network."""
    model, inputs = case.make()
    with fixed_machine():
        compiled = ir_exec.compile_model(model, threads=1, **case.options)
        compiled(inputs)
    return plans_of(compiled) + "\n"
