"""The suite: which tests `make test` defers, the order of tests, and which modules they share."""

import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import deferring, ordering

ROOT = pathlib.Path(__file__).parents[2]
SHARED = ("tests.support", "tests.histories", "tests.stand_ins")
"""Packages that several folders of tests use."""
IMPORTS = re.compile(r"^ *from (tests[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def test_a_tenth_of_the_deferred_tests_runs_and_every_one_of_them_sometimes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deferring, "lists", lambda: (("tests/slow",), ("tests/slow/test_y",)))
    names = [f"tests/slow/test_x.py::test[{number}]" for number in range(100)]
    runs = [[name for name in names if deferring.is_chosen(name, str(n))] for n in range(200)]
    assert {name for run in runs for name in run} == {*names}
    assert 5 < sum(map(len, runs)) / len(runs) < 15
    for always in ("tests/fast.py::test", "tests/slow/test_y.py::test"):
        assert all(deferring.is_chosen(always, str(n)) for n in range(20))
    told = deferring.told([*names[:3], "tests/slow/a/test_z.py::test", "tests/fast.py::test"])
    assert list(told) == ["tests/slow: x 3", "tests/slow/a: z 1"]


def test_each_line_of_the_list_names_a_file_that_is_there() -> None:
    for line in itertools.chain(*deferring.lists()):
        assert (ROOT / line.partition("::")[0]).exists(), line


class Test:
    """A test in place of one of pytest, in a file that is named by its first letter."""

    __test__ = False

    def __init__(self, name: str) -> None:
        self.name, self.path = name, name[0]

    def get_closest_marker(self, marker: str) -> bool:
        return self.path == {"slow": "s", "e2e": "r"}.get(marker)


def ordered(names: str, workers: int) -> str:
    tests: Any = [Test(name) for name in names.split()]
    return " ".join(test.name for test in ordering.ordered(tests, workers=workers))


def test_each_worker_begins_with_slow_tests_and_no_test_is_lost() -> None:
    assert ordered("a1 s1 b1 b2 b3 r1 r2 s2", 2) == "s1 r1 r2 a1 s2 b1 b2 b3"
    assert ordered("a1 s1 s2 s3 s4 s5", 2) == "s1 s3 s5 s2 s4 a1"
    names = [f"{file}{number}" for file in "srabc" for number in range(7)]
    for workers in range(1, 9):
        assert sorted(ordered(" ".join(names), workers).split()) == sorted(names)


def imported(source: str) -> Iterator[str]:
    """Yield modules of tests that are imported, by their full names."""
    for module, names in IMPORTS.findall(source):
        yield from (f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", names))


def is_allowed(importer: pathlib.PurePath, name: str) -> bool:
    """Return whether a file, named from the root, may import a module of tests."""
    folder, _, module = name.rpartition(".")
    around = [".".join(parent.parts) for parent in importer.parents if len(parent.parts) > 1]
    return not module.startswith("test_") and (folder in around or folder.startswith(SHARED))


def test_no_tests_import_those_of_another_folder() -> None:
    assert not is_allowed(
        pathlib.PurePath("tests/e2e/runs/test_runs.py"), "tests.unit.report.pages"
    )
    for path in sorted((ROOT / "tests").rglob("*.py")):
        importer = path.relative_to(ROOT)
        names = imported(path.read_text())
        assert [name for name in names if not is_allowed(importer, name)] == [], importer
