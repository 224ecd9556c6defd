"""Conflicting pairs of holds against the definition: every pair, one by one."""

import itertools
import os
import random
from collections.abc import Sequence

import numpy as np
import pytest

from harness.checks.holds import hold_arrays, hold_conflicts

HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000"))
Row = tuple[str, str, int, int, bool]
"""Device, claim, begin, end, and whether it is a share."""


def search(rows: list[Row]) -> hold_conflicts.HoldConflicts:
    devices, owners, starts, ends, shares = zip(*rows, strict=True) if rows else ((),) * 5
    shared = np.array(shares, dtype=bool)
    unused = np.zeros(len(rows), dtype=np.int64)
    holds = hold_arrays.HoldArrays(
        device=numbered(devices),
        device_names=sorted(set(devices)),
        claim=numbered(owners),
        from_rv=np.array(starts, dtype=np.int64),
        until_rv=np.array(ends, dtype=np.int64),
        from_ts_ns=unused,
        until_ts_ns=unused,
        exclusive=~shared,
        shared=shared,
    )
    return hold_conflicts.HoldConflicts(holds, shared)


def numbered(names: Sequence[str]) -> hold_arrays.Codes:
    order = sorted(set(names))
    return np.array([order.index(name) for name in names], dtype=np.int32)


def by_brute_force(rows: list[Row]) -> list[tuple[int, int]]:
    """All pairs in order: by the begin of the later hold, then by rows."""
    found = []
    for (one, a), (two, b) in itertools.combinations(enumerate(rows), 2):
        versions = set(range(a[2], a[3])) & set(range(b[2], b[3]))
        if a[0] == b[0] and a[1] != b[1] and versions and not (a[4] and b[4]):
            first, second = sorted((one, two), key=lambda row: (rows[row][2], row))
            found.append((rows[second][2], first, second))
    return [(first, second) for _, first, second in sorted(found)]


def length(rows: list[Row], pair: tuple[int, int]) -> int:
    return min(rows[row][3] for row in pair) - rows[pair[1]][2]


def random_rows(draw: random.Random) -> list[Row]:
    return [
        (
            draw.choice("de"),
            draw.choice("abc"),
            begin := draw.randint(0, 9),
            begin + draw.randint(-1, 5),
            draw.random() < 0.3,
        )
        for _ in range(draw.randint(0, 9))
    ]


def test_random_histories_against_every_pair() -> None:
    draw = random.Random(14)
    for _ in range(HISTORIES):
        rows = random_rows(draw)
        pairs, found = by_brute_force(rows), search(rows)
        assert found.first(100) == pairs, rows
        assert found.total == len(pairs) == int(found.by_second.sum()), rows
        assert found.devices == len({rows[first][0] for first, _ in pairs}), rows
        most = draw.randint(0, 5)
        assert found.first(most) == pairs[:most], rows
        longest = max(pairs, key=lambda pair: length(rows, pair), default=None)
        assert (found.longest(), found.last()) == (longest, pairs[-1] if pairs else None), rows
        flagged = np.array([draw.random() < 0.5 for _ in rows], dtype=bool)
        assert (
            found.first(most, flagged)
            == [(first, second) for first, second in pairs if flagged[second]][:most]
        ), rows


def test_a_device_in_two_thousand_claims_makes_two_million_pairs() -> None:
    rows: list[Row] = [("d", f"c{index}", index, 5_000, False) for index in range(2_000)]
    found = search(rows)
    assert (found.total, found.devices) == (1_999_000, 1)
    assert found.first(3) == [(0, 1), (0, 2), (1, 2)]
    assert (found.longest(), found.last()) == ((0, 1), (1_998, 1_999))


@pytest.mark.parametrize("begin", [0, 2**62 - 10])
def test_versions_that_do_not_fit_beside_each_other(begin: int) -> None:
    rows: list[Row] = [
        (device, claim, begin if claim == "a" else 5, begin + 9, False)
        for device in "def"
        for claim in "ab"
    ]
    assert sorted(search(rows).first(9)) == sorted(by_pairs(begin))


def by_pairs(begin: int) -> list[tuple[int, int]]:
    """The later of each two is the one of claim a, unless that begins at 0."""
    return [(row, row + 1) if begin < 5 else (row + 1, row) for row in (0, 2, 4)]
