"""Which reads may show an older state, and which version was current some time ago."""

import random
import urllib.parse

import pytest

from harness.faults import stale_reads
from tests.support import text_tables

ROWS = text_tables.rows(__file__, "test_stale_reads.txt")


@pytest.mark.parametrize(("part", "columns"), [row for row in ROWS if "accepted" in row[0]])
def test_reads_accept_what_is_as_new_as_they_ask(part: str, columns: list[str]) -> None:
    query = dict(urllib.parse.parse_qsl(columns[0], keep_blank_values=True))
    assert stale_reads.accepts(query, 7) is (part == "accepted")


@pytest.mark.parametrize("columns", [columns for part, columns in ROWS if part == "ago"])
def test_the_version_of_some_seconds_ago(columns: list[str]) -> None:
    asked, expected, *remark = columns
    seconds, first = asked.removesuffix(")").split(" (")
    now = [0.0]
    times = stale_reads.VersionTimes(lambda: now[0])
    for now[0], version in ((0.0, 5), (10.0, 6), (20.0, 8), (25.0, 8)):
        times.note(version)
    now[0] = 30.0
    found = times.ago(float(seconds), first=int(first))
    assert found == (int(expected), "".join(remark))
    times.clear()
    assert times.ago(0) is None
    times.note(9)
    assert times.ago(1) == (9, "the oldest state that is kept, 0.0 s old")


def test_the_oldest_times_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale_reads, "_MARKS_MAX", 10)
    now = [0.0]
    times = stale_reads.VersionTimes(lambda: now[0])
    for version in range(2000):
        times.note(version)
        found = times.ago(0.08)
        assert found is not None
        assert bool(found[1]) == (now[0] < 0.08), "so much is kept"
        now[0] += 0.001
    assert times.ago(0.25)[1], "a second time as long is not"


def test_times_of_versions_are_never_too_new() -> None:
    now, dice = [0.0], random.Random(1)
    times, made = stale_reads.VersionTimes(lambda: now[0]), [(0.0, 5)]
    assert times.ago(0.0) is None
    times.note(5)
    for version in range(7, 500, 2):  # two are made at a time, and the newest one is noted
        now[0] += dice.choice([0.0, 0.001, 0.02, 0.3])
        times.note(version)
        made += [(now[0], version - 1), (now[0], version)]
    now[0] += 1.0
    for _ in range(1000):
        ago = dice.uniform(0, now[0] + 5)
        then = now[0] - ago
        exact = max((version for at, version in made if at <= then), default=5)
        early = max((version for at, version in made if at <= then - stale_reads.STEP_S), default=5)
        found = times.ago(ago)
        assert found is not None
        assert early <= found[0] <= exact
        assert bool(found[1]) == (then < 0)
    for at_s, version in made:
        assert times.age_s(version) <= now[0] - at_s + 1e-9
        assert now[0] - at_s <= times.age_s(version) + stale_reads.STEP_S
    assert times.age_s(500) == 0
