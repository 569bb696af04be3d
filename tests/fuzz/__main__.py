"""`python -m tests.fuzz [SUBJECT]... [--seed N] [--cases N]`: run cases and print the faults with their seeds."""

from __future__ import annotations

import argparse
import sys
import traceback
from importlib.util import find_spec

from tests.fuzz.frame import all_subjects, run_case

__all__ = ["main"]


def main() -> int:
    subjects = all_subjects()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("names", nargs="*", metavar="SUBJECT", help=f"default: {' '.join(subjects)}")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--cases", type=int, help="number of cases; default: that of the tests")
    parser.add_argument("--gibibytes", type=float, help="limit of the memory, where the system has one")
    parser.add_argument("--progress", action="store_true", help="print the name and the seed before each case")
    options = parser.parse_args()
    if unknown := set(options.names) - set(subjects):
        parser.error(f"there is no subject {', '.join(sorted(unknown))}, expected {', '.join(subjects)}")
    if options.gibibytes is not None:
        _limit_memory(int(options.gibibytes * 2**30))
    faults = 0
    for name in options.names or subjects:
        subject = subjects[name]
        count = subject.cases if options.cases is None else options.cases
        for seed in range(options.seed, options.seed + count):
            if options.progress:
                _tell(f"{name} {seed}")
            try:
                run_case(name, subject, seed)
            except Exception:
                faults += 1
                _tell(f"fault: {name} --seed {seed} --cases 1\n{traceback.format_exc()}")
    _tell(f"{faults} faults")
    return 1 if faults else 0


def _limit_memory(size: int) -> None:
    if find_spec("resource") is None:
        return
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
