"""The helper itself: one that makes no changes, or runs no tests, proves nothing."""

from __future__ import annotations

import ast
import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conformance.kept import VARIABLE
from tests.mutate.bench import Reached, Test
from tests.mutate.changes import Change, changes_of, recognize_changes
from tests.mutate.children import Ended, Limits, in_child
from tests.mutate.patch import Functions, UnpatchableError
from tests.mutate.reach import Reach
from tests.mutate.stages import Stage, stages

ROOT = Path(__file__).parents[2]

SOURCE = '''"""Text with numbers: 1 < 2."""
from __future__ import annotations
if TYPE_CHECKING:
    import this
__all__ = ["a"]

@dataclass(frozen=True)
class Some:
    """Text."""
    size: int = 3

    def method(self, x: int | None = None) -> int:
        if self.size <= x and not x:
            raise Error(f"{x + 1}", code=7)
        x += 1
        for value in zip(x, self.size, strict=True):
            self.held[value] = any(value)
        return max(x[1:], key=len)
'''


def after(source: str) -> set[tuple[str, str]]:
    return {(change.before, change.after) for change in changes_of("ir_exec/some.py", source)}


def test_every_kind_of_change_is_made() -> None:
    assert after(SOURCE) == {
        ("3", "4"),
        ("3", "2"),
        ("self.size <= x and (not x)", "True"),
        ("self.size <= x and (not x)", "False"),
        ("self.size <= x and (not x)", "self.size <= x or not x"),
        ("self.size <= x and (not x)", "self.size <= x"),
        ("self.size <= x and (not x)", "not x"),
        ("self.size <= x", "self.size < x"),
        ("self.size <= x", "self.size > x"),
        ("not x", "x"),
        ("raise Error(f'{x + 1}', code=7)", "pass"),
        ("x += 1", "pass"),
        ("x += 1", "x -= 1"),
        ("1", "2"),
        ("1", "0"),
        ("zip(x, self.size, strict=True)", "zip(self.size, x, strict=True)"),
        ("self.held[value] = any(value)", "pass"),
        ("any", "all"),
        ("max", "min"),
        ("max(x[1:], key=len)", "max(x[1:])"),
        ("x[1:]", "x[:]"),
    }


def test_changes_of_speed_alone_are_skipped() -> None:
    source = """
if size <= thresholds.FEW and is_whole:
    share(1, nanoseconds=size * thresholds.EACH)
if 2 * size < thresholds.MANY:
    work()
"""
    assert after(source) == {
        ("size <= thresholds.FEW and is_whole", "True"),
        ("size <= thresholds.FEW and is_whole", "False"),
        ("size <= thresholds.FEW and is_whole", "size <= thresholds.FEW or is_whole"),
        ("size <= thresholds.FEW and is_whole", "size <= thresholds.FEW"),
        ("size <= thresholds.FEW and is_whole", "is_whole"),
        ("share(1, nanoseconds=size * thresholds.EACH)", "pass"),
        ("1", "2"),
        ("1", "0"),
        ("work()", "pass"),
    }
    assert not changes_of("ir_exec/tuning/thresholds.py", "FEW = 3")


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("path", sorted((ROOT / "ir_exec").rglob("*.py"))[::17], ids=lambda path: path.name)
def test_every_change_is_python_and_differs(path: Path) -> None:
    source = path.read_text("utf-8")
    changes = changes_of(str(path.relative_to(ROOT)), source)
    original = ast.dump(ast.parse(source))
    for change in changes[:: max(len(changes) // 20, 1)]:
        assert ast.dump(ast.parse(change.apply_to(source.encode()))) != original, change.key
    assert len({change.key for change in changes}) == len(changes)


def test_keys_stay_when_other_lines_change() -> None:
    keys = [change.key for change in changes_of("ir_exec/some.py", SOURCE)]
    moved = SOURCE.replace("class Some", "def other():\n    return 1 + 1\n\nclass Some")
    assert set(keys) <= {change.key for change in changes_of("ir_exec/some.py", moved)}


@pytest.mark.broad
@pytest.mark.parametrize(
    ("path", "files", "families"),
    [
        ("ir_exec/ops/movement/gather.py", ("tests/ops/movement/test_gather.py",), ("movement.gather",)),
        ("ir_exec/kernels/softmax.py", ("tests/kernels/test_softmax.py",), ("activation.softmax",)),
        ("ir_exec/errors.py", ("tests/test_errors.py",), ()),
    ],
)
def test_the_nearest_tests_come_first(path: str, files: tuple[str, ...], families: tuple[str, ...]) -> None:
    all_stages = stages(ROOT, path)
    assert all_stages[0].files == files
    assert set(families) <= {name for stage in all_stages for name in stage.families}
    run = [file for stage in all_stages for file in stage.files]
    assert len(run) == len(set(run))
    assert {"tests/runtime/test_sessions_run.py", "tests/conformance/test_networks.py"} <= set(run)
    assert [stage.is_open for stage in all_stages] == [False] * (len(all_stages) - 1) + [True]


def test_every_equivalent_change_has_a_reason() -> None:
    entries = json.loads((ROOT / "tests" / "mutate" / "equivalent.json").read_text("utf-8"))
    assert list(entries) == sorted(entries)
    assert all(len(entry["why"]) > 10 and len(entry["shape"]) == 12 for entry in entries.values())


def test_a_change_is_recognized_under_other_names() -> None:
    changes = changes_of("ir_exec/some.py", SOURCE)
    listed = {change.key: change.shape for change in changes if "size" in change.before}
    assert listed
    renamed = SOURCE.replace("size", "extent").replace("method", "way").replace("Some", "Other")
    others = changes_of("ir_exec/other.py", renamed)
    matches = recognize_changes(listed, others)
    assert matches.keys() == listed.keys()
    for key, change in matches.items():
        old = next(change for change in changes if change.key == key)
        assert (change.before, change.after) == (
            old.before.replace("size", "extent"),
            old.after.replace("size", "extent"),
        )
    changed = changes_of("ir_exec/other.py", renamed.replace("<=", "<"))
    assert recognize_changes(listed, changed).keys() != listed.keys()


MODULE = """from functools import cache
LIMIT = 3
def outer(x, most=LIMIT):
    def inner(y):
        return y + x
    return inner if x < most else None
@cache
def once():
    return [number + 1 for number in range(2)]
class Some:
    @property
    def size(self):
        return (1 +
                1)
    def other(self):
        return 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, list[Change]]]:
    """A module below `tmp_path`, and all its changes."""
    folder = tmp_path / "patched_package"
    folder.mkdir()
    (folder / "some.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("patched_package.some"), changes_of("patched_package/some.py", MODULE)
    for name in [name for name in sys.modules if name.startswith("patched_package")]:
        del sys.modules[name]


def test_functions_are_changed_in_place(module: tuple[ModuleType, list[Change]], tmp_path: Path) -> None:
    some, changes = module
    added = some.outer(2)
    assert (added(1), some.once(), some.Some().size) == (3, [1, 2], 2)
    functions = Functions(tmp_path / "patched_package")

    def change(where: str, before: str, after: str) -> None:
        functions.change(
            next(change for change in changes if (change.where, change.before, change.after) == (where, before, after))
        )
        functions.forget_results()

    change("outer.inner", "y + x", "y - x")
    assert (added(1), some.outer(2)(1)) == (-1, -1)
    change("once", "number + 1", "number - 1")
    assert some.once() == [-1, 0]
    # Functions below a change that takes other lines than what it replaces are left as they are.
    change("Some.size", "1 + 1", "1 - 1")
    assert (some.Some().size, some.Some().other()) == (0, 5)


def test_module_level_changes_are_not_patched(module: tuple[ModuleType, list[Change]], tmp_path: Path) -> None:
    functions = Functions(tmp_path / "patched_package")
    chosen = [change for change in module[1] if change.where == "the module"]
    assert chosen
    for change in chosen:
        with pytest.raises(UnpatchableError):
            functions.change(change)


def test_child_returns_result_or_ending(tmp_path: Path) -> None:
    told = tmp_path / "told"
    assert in_child(lambda: [1, 2], Limits(5.0), told) == [1, 2]
    assert in_child(lambda: os._exit(3), Limits(5.0), told) is Ended.DIED
    assert in_child(lambda: signal.raise_signal(signal.SIGXCPU), Limits(5.0), told) is Ended.LATE


def test_tests_that_reach_a_change_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "answers"))
    (tmp_path / "tests").mkdir()
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / "tests" / name).write_text("")
    asked: list[str] = []

    def measure(source: str) -> list[Reached]:
        asked.append(source)
        called = {"slow": "Some.f", "quick": "Some.f", "fails": "Some.f", "other": "g", "same class": "Some.h"}
        return [
            Reached(Test(source, name), float(len(name)), name != "fails", frozenset({f"ir_exec/a.py {function}"}))
            for name, function in called.items()
        ]

    changes = changes_of("ir_exec/a.py", "class Some:\n    a = 1\n    def f(self):\n        return 2\n")
    in_class, in_function = (next(change for change in changes if change.before == number) for number in "12")

    def names(own: bool, change: Change, seconds: float) -> list[str]:
        stage = Stage("", (f"tests/test_{'a' if own else 'b'}.py",), is_own=own)
        return [reached.test.name for reached in Reach(tmp_path, measure).chosen(stage, change, seconds)]

    assert names(True, in_function, 99) == ["slow", "quick", "other", "same class"]
    assert names(False, in_function, 99) == ["slow", "quick"]
    assert names(False, in_class, 99) == ["slow", "quick", "same class"]
    assert names(False, in_class, 9) == ["slow", "quick"]
    # What was found out is kept until the file of tests is another.
    assert asked == ["tests/test_a.py", "tests/test_b.py"]
    (tmp_path / "tests" / "test_b.py").write_text("# another")
    assert names(False, in_function, 99) == ["slow", "quick"]
    assert asked == ["tests/test_a.py", "tests/test_b.py", "tests/test_b.py"]
