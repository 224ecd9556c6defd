"""The order of tests, for one process and for several."""

from typing import Any

import pytest

from tests.support import ordering


class Test:
    """A test in place of one of pytest, in a file that is named by its first letter."""

    __test__ = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = name[0]

    def get_closest_marker(self, marker: str) -> bool:
        return self.path == {"slow": "s", "e2e": "r"}.get(marker)


def ordered(names: str, workers: int) -> str:
    tests: Any = [Test(name) for name in names.split()]
    return " ".join(test.name for test in ordering.ordered(tests, workers=workers))


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        (1, "s1 s2 r1 r2 a1 b1 b2 b3"),
        (2, "s1 r1 r2 a1 s2 b1 b2 b3"),
        (4, "s1 r1 s2 r2 a1 b1 b2 b3"),
    ],
)
def test_each_worker_begins_with_slow_tests(workers: int, expected: str) -> None:
    assert ordered("a1 s1 b1 b2 b3 r1 r2 s2", workers) == expected


def test_more_slow_tests_than_a_workers_part() -> None:
    assert ordered("a1 s1 s2 s3 s4 s5", 2) == "s1 s3 s5 s2 s4 a1"


def test_no_test_is_lost() -> None:
    names = [f"{file}{number}" for file in "srabc" for number in range(7)]
    for workers in range(1, 9):
        assert sorted(ordered(" ".join(names), workers).split()) == sorted(names)


def test_without_tests() -> None:
    assert ordered("", 4) == ""
