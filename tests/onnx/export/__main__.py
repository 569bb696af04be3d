"""Replay tables of cases as ONNX: `python -m tests.onnx.export FAMILY... [-k TEXT] [--form FORM] [--opset N] [-v]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from ir_exec.onnx.export.lower import DEFAULT_OPSET
from tests.conformance.build import FORMS
from tests.conformance.checks import TOGETHER, families, table
from tests.onnx.export.engine import Engine
from tests.onnx.export.rows import Outcome, outcomes, summary


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.onnx.export", description=__doc__)
    parser.add_argument("family", nargs="*", help="modules of tests/cases, or their folders; all without any")
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases whose name holds TEXT")
    parser.add_argument("--form", choices=FORMS, default="static", help="what the inputs declare of their shapes")
    parser.add_argument("--opset", type=int, default=DEFAULT_OPSET, help="of ONNX, that is written")
    parser.add_argument("-q", "--quiet", action="store_true", help="counts only")
    parser.add_argument("-v", "--verbose", action="store_true", help="faults in full")
    options = parser.parse_args()
    start, everything = time.perf_counter(), list[Outcome]()
    with Engine(timeout=30) as engine:
        for family in _select_families(parser, options.family):
            rows = [case for case in table(family) if options.k in str(case)]
            results: list[Outcome] = []
            for at in range(0, len(rows), TOGETHER):
                for outcome in outcomes(rows[at : at + TOGETHER], engine, options.form, options.opset):
                    results.append(outcome)
                    if outcome.faults and not options.quiet:
                        faults = [fault if options.verbose else _short(fault) for fault in outcome.faults]
                        sys.stdout.write("\n    ".join([str(outcome.case)[:300], *faults]) + "\n")
            everything += results
            sys.stdout.write(f"{family}: {_describe_counts(summary(results))}\n")
            by_type = {
                outcome.case.type: summary([o for o in results if o.case.type == outcome.case.type])
                for outcome in results
            }
            for operator_type, counts in by_type.items():
                if len(by_type) > 1 and (counts["wrong"] or counts["refused"]):
                    sys.stdout.write(f"    {operator_type}: {_describe_counts(counts)}\n")
    sys.stdout.write(f"{_describe_counts(summary(everything))}, {time.perf_counter() - start:.1f} s\n")
    return 0 if all(outcome.is_right or outcome.is_refused for outcome in everything) else 1


def _describe_counts(counts: Counter[str]) -> str:
    right = counts["onnxruntime"] + counts["reference"]
    return (
        f"{right} of {counts.total()} right ({counts['reference']} by the reference), "
        f"{counts['refused']} refused, {counts['wrong']} wrong"
    )


def _select_families(parser: argparse.ArgumentParser, names: list[str]) -> list[str]:
    chosen = []
    for name in names:
        matches = [family for family in families() if f"{family}.".startswith(f"{name}.")]
        if not matches:
            parser.error(f"there is no family {name}")
        chosen += matches
    return chosen or families()


def _short(fault: str) -> str:
    line = " ".join(fault.split())
    return line if len(line) <= 400 else line[:200] + " ... " + line[-200:]


if __name__ == "__main__":
    sys.exit(main())
