"""List the wordings of `patterns.toml` that occur in files and folders, with the file and the line of each.

python -m tests.words ir_exec/onnx docs            every finding
python -m tests.words --kind message ir_exec       only messages
python -m tests.words --counts                     a table by package and kind
python -m tests.words --assertions                 sentences in the assertions of tests
python -m tests.words --lower                      lower the counts of the baselines
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import click

from tests.words.assertions import lower_sentences, sentences
from tests.words.lint import BASELINE, KINDS, counts, findings, load_baseline, lower_counts, write_baseline


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.words", description="List wordings to replace.")
    parser.add_argument("paths", nargs="*", help="files and folders, by default everything that is checked")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only texts of this kind; repeatable")
    parser.add_argument("--counts", action="store_true", help="print a count for each package, kind and pattern")
    parser.add_argument("--assertions", action="store_true", help="list the sentences in assertions of tests")
    parser.add_argument("--lower", action="store_true", help=f"write smaller counts to {BASELINE.name}")
    parser.add_argument("--reset", action="store_true", help="write all counts, after merging older work")
    options = parser.parse_args()
    if options.assertions:
        for sentence in sentences(options.paths or ["tests"]):
            click.echo(sentence)
        return 0
    reported = [finding for finding in findings(options.paths) if not options.kind or finding.kind in options.kind]
    if options.reset:
        write_baseline(counts(findings([])))
    elif options.lower:
        write_baseline(lower_counts(load_baseline(), findings([])))
        lower_sentences()
    elif options.counts:
        for key, count in sorted(Counter((entry.area, entry.kind, entry.pattern) for entry in reported).items()):
            click.echo(f"{count:5}  {'  '.join(key)}")
    else:
        for entry in reported:
            click.echo(entry)
    click.echo(f"{len(reported)} findings", err=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
