"""The runner of mutants: loaded functions change, and survivors need reasons."""

import importlib
import pathlib
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that imports a module of the runner."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.chdir(ROOT)
    return lambda name: importlib.import_module(f"mutation.{name}")


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
