"""Which tests `make test` defers."""

import itertools
import pathlib

import pytest

from tests.support import deferring

ROOT = pathlib.Path(__file__).parents[2]


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
