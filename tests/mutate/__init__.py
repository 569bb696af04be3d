"""Mutation tests: one change of the source at a time, and the tests that detect it.

    python -m tests.mutate --sample 400 --seed 1 --jobs 2 --output survived.jsonl
    python -m tests.mutate --again survived.jsonl                  # survivors, after tests were added
    python -m tests.mutate --under ir_exec/kernels/boxes.py --list # the changes of a module, with their keys
    python -m tests.mutate -k "keep_best: shrink < 1"              # selected changes

It makes one change at a time in a copy of the repository: a different comparison, `and` for `or`, a condition that is
always true, always false or removed, `min` for `max`, minus for plus, numbers off by one, narrower types, swapped or
removed arguments, open slices, removed statements. Code that only affects speed is excluded: `tuning/thresholds.py`,
comparisons with its numbers, and estimates of work. Then it runs the tests of the module, its table against OpenVINO,
neighboring tests, the tests and tables of importing modules, and everything else, up to the first failure. Tests
that fail without the change do not count.

The functions that a test calls are recorded once and cached with OpenVINO's outputs (in `tests-reach`) by the digest
of its file. Apart from the module's own tests, only tests that reach the change run, fastest first. A process imports
all tests; a forked child changes the functions in memory and runs the tests. Changes of constants, classes and
defaults, and survivors, run in a new process.

- `--quick` skips the last stage and new processes. Run survivors again with `--again FILE` without `--quick`.
- `--seconds` limits the processor time of a stage, measured without a change; the fastest tests run. A change that
  makes them several times slower counts as detected.
- Equal seed and source give an equal sample. The exit code is 1 if less than 95 % are detected.

A change that the module's tests detect takes less than a second, a survivor up to `--seconds` per stage. Recording
the functions that all tests reach takes about ten minutes of processor time, once.

Write a test for a survivor, preferably a property that also detects similar changes. If no test can detect it,
because behavior does not change, add it with a reason to `mutate/equivalent.json` under its key. Keys contain the
function and the expression, no line numbers. An entry also has the shape of the change, a digest of its function
without names, which identifies it after a move or a rename: `python -m tests.mutate --rekey` writes the current keys
and the shapes of new entries. The summary lists entries that no longer match the source.
"""
