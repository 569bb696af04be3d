"""Fuzzing of everything that comes from outside: settings, folders, files of arrays and of sound, texts, old models.

A case is drawn from a seed and runs in an empty folder. It ends with a result or with an error of `ir_exec.errors`;
every other exception, an IR999, a traceback, and what the subject asserts is a fault.

To add a subject, add a module to `tests/fuzz/subjects` that defines SUBJECT:

    def run(random: Random, folder: Path) -> None:
        path = folder / "sound.wav"
        path.write_bytes(damage(b"RIFF...", random))
        with only_our_errors():
            read_wav(path)

    SUBJECT = Subject(run, cases=300)

`run` draws everything from `random`, so a seed is sufficient to repeat a case, and writes to `folder` only, which is
the current folder meanwhile. Calls of the package are within `only_our_errors()`; commands are called by `invoke(...)`,
which fails for tracebacks, unknown exit codes and control characters. `damage`, `HOSTILE_TEXTS` and `draw_json` of
`tests.fuzz.drawing` draw bytes, names and JSON. Nothing else is necessary: `tests/fuzz/test_fuzz.py` runs `cases` of
each subject, with the seeds 0, 1, ...; choose a number that takes 5 to 10 seconds.

    python -m tests.fuzz                           # the cases of the tests
    python -m tests.fuzz wav --seed 17 --cases 1   # a case again, with its traceback
    python -m benchmarks.hostile --hours 1         # other seeds, in processes with limits of memory and time
"""
