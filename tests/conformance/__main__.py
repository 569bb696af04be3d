"""Replay tables of cases: `python -m tests.conformance FAMILY... [-k TEXT] [--only values|types] [-v]`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.conformance import ours
from tests.conformance.build import FORMS
from tests.conformance.case import Case
from tests.conformance.checks import check_file, check_types, check_values, families, requests, table
from tests.conformance.oracle import Oracle


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument(
        "family", nargs="*", help=f"modules of tests/cases, or their folders: {', '.join(families()) or 'none yet'}"
    )
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases whose name holds TEXT")
    parser.add_argument("--only", choices=("values", "types"), help="only one of both halves")
    parser.add_argument("-v", "--verbose", action="store_true", help="tracebacks, and the full answers of OpenVINO")
    options = parser.parse_args()
    start = time.perf_counter()
    rows = [case for family in _chosen(parser, options.family) for case in table(family) if options.k in str(case)]
    failed = 0
    with Oracle() as oracle:
        # Requested all at once, so that the child need not wait for this process.
        for _ in oracle.ask_all(
            request for case in rows for request in requests(case) if _is_requested(request.mode, options.only)
        ):
            pass
        for case in rows:
            faults = _faults(case, oracle, options.only)
            failed += bool(faults)
            if faults:
                lines = [fault if options.verbose else _short(fault) for fault in faults]
                sys.stdout.write("\n    ".join([str(case), *lines]) + "\n")
            if faults and options.verbose:
                _trace(case)
    sys.stdout.write(f"{len(rows)} cases, {failed} failed, {time.perf_counter() - start:.1f} s\n")
    return 1 if failed else 0


def _chosen(parser: argparse.ArgumentParser, prefixes: list[str]) -> list[str]:
    """The modules of these names, and those in folders of these names; all where there is no name."""
    chosen = []
    for name in prefixes:
        matches = [family for family in families() if f"{family}.".startswith(f"{name}.")]
        if not matches:
            parser.error(f"there is no family {name}")
        chosen += matches
    return chosen or families()


def _is_requested(mode: str, only: str | None) -> bool:
    return only is None or (mode == "types") == (only == "types")


def _faults(case: Case, oracle: Oracle, only: str | None) -> list[str]:
    faults = []
    if only != "types":
        faults += [f"values: {fault}" for fault in check_values(case, oracle)]
        for form in FORMS:
            faults += [f"file, {form}: {fault}" for fault in check_file(case, form)]
    if only != "values":
        for form in FORMS:
            faults += [f"types, {form}: {fault}" for fault in check_types(case, form, oracle)]
    return faults


def _short(fault: str) -> str:
    line = " ".join(fault.split())
    return line if len(line) <= 300 else line[:140] + " ... " + line[-155:]


def _trace(case: Case) -> None:
    try:
        ours.infer(case)
        ours.evaluate(case)
    except Exception:  # any exception, for its author to see
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(main())
