"""Rows that are folded one by one: holds are those of the second judge, whatever claims do."""

import pathlib
import random
from collections.abc import Iterator

import pytest

from harness.history import directories, records
from harness.tables import database, reading
from tests.histories import building, dense_histories, shared_devices
from tests.support import second_judge

pytest.importorskip("duckdb", reason="needs DuckDB: the extra `analysis`")
HISTORIES = 20
HOLDS = "SELECT * EXCLUDE (request, share, amounts, until_ts_ns) FROM holds"


@pytest.fixture
def runs(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    """Runs in which claims come and go, with gaps of the watch, shares, and admin access."""
    stream = random.Random(7)
    bodies = [dense_histories.observe(dense_histories.draw(stream, 40)) for _ in range(HISTORIES)]
    bodies += [list(_mixed(random.Random(seed))) for seed in range(HISTORIES)]
    return [
        building.build(tmp_path / f"{number:03}", "", observations=body).path
        for number, body in enumerate(bodies)
    ]


def _mixed(stream: random.Random) -> Iterator[records.Body]:
    yield from shared_devices.slices()
    live: list[str] = []
    for rv in range(10, 50):
        drawn = stream.random()
        if live and drawn < 0.2:
            yield shared_devices.gone(rv, live.pop(stream.randrange(len(live))))
        elif live and drawn < 0.4:
            yield shared_devices.allocated(rv, stream.choice(live), _results(stream))
        else:
            live.append(f"c{rv}")
            yield shared_devices.allocated(rv, live[-1], _results(stream), "ADDED")


def _results(stream: random.Random) -> list[dict[str, object]]:
    """Up to three results, which may be of one device."""
    return [
        {
            "request": "r",
            "driver": shared_devices.DRIVER,
            "pool": shared_devices.POOL,
            "device": stream.choice("SXWZ"),
            **stream.choice(
                [
                    {},
                    {"adminAccess": True},
                    {"adminAccess": False},
                    {"shareID": ""},
                    {"shareID": "s", "consumedCapacity": {"memory": stream.choice(["1Gi", "2Gi"])}},
                    {"shareID": "s", "adminAccess": True},
                ]
            ),
        }
        for _ in range(stream.choice([0, 1, 1, 2, 3]))
    ]


def test_random_histories(runs: list[pathlib.Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 7)
    folded = [tuple(row) for row in database.query(runs, HOLDS).rows]
    read = {str(path): second_judge.read(directories.existing(path)) for path in runs}
    expected = [(run, *hold) for run, body in read.items() for hold in second_judge.holds(body)]
    assert sorted(folded, key=repr) == sorted(expected, key=repr)
    assert {row[5] for row in folded} == {"exclusive", "share", "admin"}
