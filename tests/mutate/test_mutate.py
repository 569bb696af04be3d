"""The helper itself: one that makes no changes, or runs no tests, proves nothing."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.mutate.changes import changes_of
from tests.mutate.stages import stages

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


def test_what_only_speed_depends_on_is_left_alone() -> None:
    source = """
if size <= costs.FEW and is_whole:
    share(1, nanoseconds=size * costs.EACH)
if 2 * size < costs.MANY:
    work()
"""
    assert after(source) == {
        ("size <= costs.FEW and is_whole", "True"),
        ("size <= costs.FEW and is_whole", "False"),
        ("size <= costs.FEW and is_whole", "size <= costs.FEW or is_whole"),
        ("size <= costs.FEW and is_whole", "size <= costs.FEW"),
        ("size <= costs.FEW and is_whole", "is_whole"),
        ("share(1, nanoseconds=size * costs.EACH)", "pass"),
        ("1", "2"),
        ("1", "0"),
        ("work()", "pass"),
    }
    assert not changes_of("ir_exec/kernels/costs.py", "FEW = 3")


@pytest.mark.parametrize("path", sorted((ROOT / "ir_exec").rglob("*.py"))[::17], ids=lambda path: path.name)
def test_every_change_is_python_and_differs(path: Path) -> None:
    source = path.read_text("utf-8")
    changes = changes_of(str(path.relative_to(ROOT)), source)
    whole = ast.dump(ast.parse(source))
    for change in changes[:: max(len(changes) // 20, 1)]:
        assert ast.dump(ast.parse(change.applied(source.encode()))) != whole, change.key
    assert len({change.key for change in changes}) == len(changes)


def test_keys_stay_when_other_lines_change() -> None:
    keys = [change.key for change in changes_of("ir_exec/some.py", SOURCE)]
    moved = SOURCE.replace("class Some", "def other():\n    return 1 + 1\n\nclass Some")
    assert set(keys) <= {change.key for change in changes_of("ir_exec/some.py", moved)}


@pytest.mark.parametrize(
    ("path", "files", "families"),
    [
        ("ir_exec/ops/movement/gather.py", ("tests/ops/movement/test_gather.py",), ("movement.gather",)),
        ("ir_exec/kernels/softmax.py", ("tests/kernels/test_softmax.py",), ("activation.softmax",)),
        ("ir_exec/errors.py", ("tests/test_errors.py",), ()),
    ],
)
def test_the_nearest_tests_come_first(path: str, files: tuple[str, ...], families: tuple[str, ...]) -> None:
    found = stages(ROOT, path)
    assert found[0].files == files
    assert set(families) <= {name for stage in found for name in stage.families}
    run = [file for stage in found for file in stage.files]
    assert len(run) == len(set(run))
    assert {"tests/runtime/test_run.py", "tests/conformance/test_networks.py"} <= set(run)
    assert [stage.is_open for stage in found] == [False] * (len(found) - 1) + [True]


def test_every_equivalent_change_has_a_reason() -> None:
    known = json.loads((ROOT / "tests" / "mutate" / "equivalent.json").read_text("utf-8"))
    assert list(known) == sorted(known)
    assert all(len(reason) > 10 for reason in known.values())
