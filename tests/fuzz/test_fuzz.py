"""No case of any subject is a fault: seeds 0, 1, ...; `python -m benchmarks.hostile --hours 1` runs other seeds."""

from __future__ import annotations

import pytest

from tests.fuzz.frame import all_subjects, run_case

SUBJECTS = all_subjects()

CHUNK = 50
"""Cases of a test."""

CHUNKS = [(name, start) for name, subject in SUBJECTS.items() for start in range(0, subject.cases, CHUNK)]


@pytest.mark.broad
@pytest.mark.parametrize(("name", "start"), CHUNKS)
@pytest.mark.usefixtures("forgotten_extensions")
def test_no_case_is_a_fault(name: str, start: int) -> None:
    subject = SUBJECTS[name]
    for seed in range(start, min(start + CHUNK, subject.cases)):
        try:
            run_case(name, subject, seed)
        except Exception as error:
            error.add_note(f"python -m tests.fuzz {name} --seed {seed} --cases 1")
            raise
