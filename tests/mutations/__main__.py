"""`python -m tests.mutations [COUNT] [KIND]...`: break many files and list what was not found or not placed."""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

from tests.conformance.networks import networks
from tests.mutations.meanings import MUTATIONS
from tests.mutations.runs import OF_BODIES, WITH_BODIES, outcomes


def main(count: int, kinds: list[str]) -> int:
    names = sorted(networks())
    random = Random(count)
    totals: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for mutation in kinds or list(MUTATIONS):
        choices = WITH_BODIES if mutation in OF_BODIES else names
        chosen = [random.choice(choices) for _ in range(max(count // len(kinds or MUTATIONS), 1))]
        for outcome in outcomes(mutation, chosen):
            totals[mutation] += 1
            if not outcome.is_right:
                wrong[mutation] += 1
                sys.stdout.write(f"{outcome}\n\n")
    for mutation in sorted(totals):
        sys.stdout.write(f"{mutation:34} {totals[mutation] - wrong[mutation]:4} of {totals[mutation]:4}\n")
    share = 1 - sum(wrong.values()) / max(sum(totals.values()), 1)
    sys.stdout.write(f"{sum(totals.values())} files of {len(totals)} kinds, {share:.2%} found and placed\n")
    return 0 if share >= 0.99 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, sys.argv[2:]))
