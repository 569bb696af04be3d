"""Write the snapshots and the table of passes: `python -m tests.plans`, or with names, some snapshots only."""

from __future__ import annotations

import sys

from tests.plans.networks import cases
from tests.plans.table import ARCHITECTURE, with_table
from tests.plans.taking import SNAPSHOTS, snapshot_of


def main(names: list[str]) -> None:
    all_cases = cases()
    for name in names or all_cases:
        (SNAPSHOTS / f"{name}.txt").write_text(snapshot_of(all_cases[name]), encoding="utf-8")
    if not names:
        ARCHITECTURE.write_text(with_table(ARCHITECTURE.read_text("utf-8")), encoding="utf-8")
        for path in SNAPSHOTS.glob("*.txt"):
            if path.stem not in all_cases:
                path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
