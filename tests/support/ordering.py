"""The order of the tests: slow ones first, and files with whole runs evenly among the others.

A slow test that begins last keeps one process busy when the others have ended. A run waits as much
as it computes: it belongs beside tests that only compute. All of them one after another at the end
would leave the machine idle.
"""

import itertools
from collections.abc import Iterator, Sequence

import pytest


def ordered(items: Sequence[pytest.Item], *, workers: int) -> list[pytest.Item]:
    """Return the tests in an order in which each worker begins with a share of the slow ones.

    pytest-xdist gives each worker as many tests, one part of the list after the other. A worker
    that has done its part takes tests from the end of another's.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    rest = iter(_spread([item for item in items if not item.get_closest_marker("slow")]))
    found = list[pytest.Item]()
    for number in range(workers):
        found += slow[number::workers]
        end = len(items) * (number + 1) // workers
        found += itertools.islice(rest, max(0, end - len(found)))
    return [*found, *rest]


def _spread(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    files = [list(group) for _, group in itertools.groupby(items, key=lambda item: item.path)]
    runs = [file for file in files if file[0].get_closest_marker("e2e")]
    others = [file for file in files if not file[0].get_closest_marker("e2e")]
    placed = sorted([*_placed(runs), *_placed(others)], key=lambda place: place[0])
    return list(itertools.chain.from_iterable(file for _, file in placed))


def _placed(files: Sequence[list[pytest.Item]]) -> Iterator[tuple[float, list[pytest.Item]]]:
    """Yield each file with the part of the tests that comes before it, from 0 to 1."""
    count = sum(map(len, files))
    before = itertools.accumulate(map(len, files), initial=0)
    return ((number / count, file) for number, file in zip(before, files, strict=False))
