"""Write the snapshots anew: `python -m tests.debug.snapshots`, or with names for some of them."""

from __future__ import annotations

import sys

from tests.debug.snapshots.taking import NETWORKS, RECORDED, take_snapshot

if __name__ == "__main__":
    for name in sys.argv[1:] or NETWORKS:
        (RECORDED / f"{name}.txt").write_text(take_snapshot(name), encoding="utf-8")
