"""Write the snapshots anew: `python -m tests.plans`, or `python -m tests.plans NAME...` for some of them."""

from __future__ import annotations

import sys

from tests.plans.networks import cases
from tests.plans.taking import SNAPSHOTS, taken


def main(names: list[str]) -> None:
    known = cases()
    for name in names or known:
        (SNAPSHOTS / f"{name}.txt").write_text(taken(known[name]), encoding="utf-8")
    if not names:
        for path in SNAPSHOTS.glob("*.txt"):
            if path.stem not in known:
                path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
