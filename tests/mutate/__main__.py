"""Change the source in one place at a time, in a copy, and see which changes no test notices.

Prints a line a change and a summary. Ends with 0 where at least 95 % of the changes are caught that are not known to
be equivalent (tests/mutate/equivalent.json), with 1 where fewer are, with 2 without a change to try.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from random import Random

from tests.mutate.changes import Change, changes_of, recognize_changes
from tests.mutate.trial import Tried, Workshop

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.json")
SHARE = 0.95


def main() -> int:
    options = _options()
    listed: dict[str, dict[str, str]] = json.loads(EQUIVALENT.read_text("utf-8"))
    changes = _all_changes(options.under)
    matches = recognize_changes({key: entry["shape"] for key, entry in listed.items()}, changes)
    if options.rekey:
        return _rekey(listed, matches)
    equivalent_keys = {change.key for change in matches.values()}
    stale = sorted(key for key in listed if key not in matches and _is_under(key, options.under))
    chosen = _chosen(changes, options)
    if options.list or not chosen:
        sys.stdout.writelines(f"{change.line}: {change.key}\n" for change in chosen)
        sys.stdout.write(f"{len(chosen)} of {len(changes)} changes\n")
        return 0 if chosen else 2
    equivalent = [change for change in chosen if change.key in equivalent_keys]
    tried = []
    for outcome in _try_changes([change for change in chosen if change.key not in equivalent_keys], options):
        tried.append(outcome)
        sys.stdout.write(
            f"{len(tried):4} {outcome.stage or 'SURVIVED':20} {outcome.seconds:6.1f} s  {outcome.line}: {outcome.key}\n"
        )
        sys.stdout.flush()
        if options.output:
            with options.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
    return _summary(tried, equivalent, stale)


def _rekey(listed: dict[str, dict[str, str]], matches: dict[str, Change]) -> int:
    """Write the list with the keys and shapes of today, and name the entries that fit no change."""
    lost = {key: entry for key, entry in listed.items() if key not in matches}
    entries = {matches[key].key: {**listed[key], "shape": matches[key].shape} for key in matches} | lost
    text = json.dumps(dict(sorted(entries.items())), indent=2, ensure_ascii=False)
    EQUIVALENT.write_text(text + "\n", encoding="utf-8")
    sys.stdout.writelines(f"no such change any more: {key}\n" for key in sorted(lost))
    return 1 if lost else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="that many changes, drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample; default 0")
    parser.add_argument(
        "--under", action="append", metavar="PATH", help="only modules below, as ir_exec/ops; may be given repeatedly"
    )
    parser.add_argument("-k", action="append", metavar="TEXT", help="only changes whose key holds TEXT; repeatable")
    parser.add_argument("--again", type=Path, metavar="FILE", help="only what survived in an earlier --output")
    parser.add_argument("--output", type=Path, metavar="FILE", help="append each result to FILE, as a line of JSON")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default 1")
    parser.add_argument(
        "--seconds", type=float, default=30.0, metavar="S", help="processor time for a stage of a change; default 30"
    )
    parser.add_argument("--quick", action="store_true", help="leave out tests that are not near the module")
    parser.add_argument("--list", action="store_true", help="print the keys and try nothing")
    parser.add_argument(
        "--rekey", action="store_true", help="only write equivalent.json anew, after names have changed in the source"
    )
    options = parser.parse_args()
    if options.rekey:
        options.under = ["ir_exec"]
    options.under = options.under or ["ir_exec"]
    return options


def _all_changes(under: list[str]) -> list[Change]:
    paths = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "ir_exec").rglob("*.py"))]
    return [
        change
        for path in paths
        if _is_under(path, under)
        for change in changes_of(path, (ROOT / path).read_text("utf-8"))
    ]


def _is_under(path: str, under: list[str]) -> bool:
    return any(path.startswith(folder.removesuffix("/")) for folder in under)


def _chosen(changes: list[Change], options: argparse.Namespace) -> list[Change]:
    if options.again:
        lines = [json.loads(line) for line in options.again.read_text("utf-8").splitlines()]
        again = {line["key"] for line in lines if line["stage"] is None}
        changes = [change for change in changes if change.key in again]
    if options.k:
        changes = [change for change in changes if any(text in change.key for text in options.k)]
    if options.sample is not None and options.sample < len(changes):
        changes = Random(options.seed).sample(changes, options.sample)
    return changes


def _try_changes(changes: list[Change], options: argparse.Namespace) -> Iterator[Tried]:
    with tempfile.TemporaryDirectory(prefix="ir_exec-mutate-", ignore_cleanup_errors=True) as folder:
        jobs = [(change, Path(folder), options.seconds, options.quick) for change in changes]
        # Forked, so that what the children need is imported once.
        with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
            yield from pool.imap_unordered(_try_out, jobs)


@cache
def _workshop(folder: Path, seconds: float, is_quick: bool) -> Workshop:
    """The one of this process."""
    return Workshop(ROOT, folder, seconds, is_quick=is_quick)


def _try_out(job: tuple[Change, Path, float, bool]) -> Tried:
    change, *settings = job
    return _workshop(*settings).try_out(change)


def _summary(tried: list[Tried], equivalent: list[Change], stale: list[str]) -> int:
    caught = Counter(outcome.stage for outcome in tried if outcome.stage is not None)
    survived = [outcome for outcome in tried if not outcome.is_caught]
    share = caught.total() / len(tried) if tried else 1.0
    lines = ["", *(f"{count:5} caught by {stage}" for stage, count in caught.most_common())]
    lines += [f"{len(equivalent):5} equivalent", f"{len(survived):5} survived"]
    lines += [f"      {outcome.line}: {outcome.key}" for outcome in sorted(survived, key=lambda outcome: outcome.key)]
    lines += [f"no such change any more: {key}" for key in stale]
    lines += [f"{caught.total()} of {len(tried)} caught that are not equivalent, {share:.1%}"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if share >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
