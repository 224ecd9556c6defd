"""The runner of mutants: what it changes, that loaded functions change, and what survivors need."""

import importlib
import pathlib
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = """
LIMIT = 3

def fits(size, limit=LIMIT):
    if size == 0:
        return True
    return size <= limit and not size % 2

class Box:
    def __init__(self):
        self.sizes = sorted([2, 1])
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that imports a module of the runner."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.chdir(ROOT)
    return lambda name: importlib.import_module(f"mutation.{name}")


def test_every_comparison_condition_number_and_call_is_changed(tool: Any) -> None:
    told = [item.told for item in tool("changes").mutants(SOURCE)]
    assert told == [
        "module: LIMIT = 3 -> LIMIT = 4",
        "fits: size == 0 -> size != 0",
        "fits: size == 0 -> size == 1",
        "fits: return True -> return False",
        "fits: size <= limit and (not size % 2) -> size <= limit or not size % 2",
        "fits: size <= limit -> size < limit",
        "fits: size <= limit and (not size % 2) -> size <= limit and (not not size % 2)",
        "fits: size % 2 -> size % 3",
        "Box.__init__: sorted([2, 1]) -> list([2, 1])",
        "Box.__init__: [2, 1] -> [3, 1]",
        "Box.__init__: [2, 1] -> [2, 2]",
    ]


def test_every_survivor_has_a_reason_of_a_known_kind(tool: Any) -> None:
    known = tool("survivors").known()
    for module in known.reasons:
        assert pathlib.Path(tool("sessions").file_of(module)).exists(), module
    tests = [test for named in known.tests.values() for test in named]
    assert [test for test in tests if not pathlib.Path(test).exists()] == []


def test_a_survivor_without_a_reason_fails_it(tmp_path: pathlib.Path) -> None:
    """Of the limit of a result's list, by tests that look at nothing else."""
    test = tmp_path / "test_nothing.py"
    test.write_text(
        "from harness.checks import findings\n"
        "def test_nothing():\n    assert findings.in_full(0, 0) == []\n"
    )
    done = subprocess.run(
        [sys.executable, "tools/mutations.py", "harness.checks.findings", str(test)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "in_full: not count -> not not count" not in done.stdout
    assert "(no test runs this)" in done.stdout
