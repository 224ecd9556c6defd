"""The second judge folds holds in SQL and must count what the check counts."""

import pathlib
import random

import pytest

from harness.checks import device_exclusivity
from harness.checks.devices import device_catalogue
from harness.checks.holds import hold_history
from harness.history import directories, histories, records
from tests.histories import building, dense_histories, rewound, shared_devices
from tests.support import second_judge

pytest.importorskip("duckdb", reason="needs DuckDB: the extra `analysis`")
HISTORIES = 50
TOGETHER = 25
"""Histories of one query. Of 150 it needs 400 to 512 MiB, of the 512 that it has."""
LENGTH = 40


def _checked(run: directories.RunDirectory) -> second_judge.Count:
    declared = device_catalogue.DeviceCatalogue()
    body = histories.load(run.path).observations()
    folded = hold_history.fold(body or (), declared)
    found = device_exclusivity.check(folded, declared.is_shareable)
    return second_judge.Count(found.examined_count, found.violation_count)


def _run(path: pathlib.Path, body: list[records.Body], **changes: object):
    return building.build(path, "", observations=body, changes=changes)


def _counted(runs: list[directories.RunDirectory]) -> list[second_judge.Count]:
    parts = [runs[at : at + TOGETHER] for at in range(0, len(runs), TOGETHER)]
    return [count for part in parts for count in second_judge.counts(part)]


def test_random_histories_with_gaps(tmp_path: pathlib.Path) -> None:
    stream = random.Random(16)
    texts = [dense_histories.draw(stream, LENGTH) for _ in range(HISTORIES)]
    runs = [_run(tmp_path / str(n), dense_histories.observe(text)) for n, text in enumerate(texts)]
    checked = [_checked(run) for run in runs]
    assert any(item.doubled for item in checked)
    counted = _counted(runs)
    assert [
        text for text, one, two in zip(texts, counted, checked, strict=True) if one != two
    ] == []


def test_random_shares(tmp_path: pathlib.Path) -> None:
    bodies = [_shares(random.Random(seed)) for seed in range(HISTORIES)]
    runs = [_run(tmp_path / str(number), body) for number, body in enumerate(bodies)]
    checked = [_checked(run) for run in runs]
    assert any(item.doubled for item in checked)
    assert _counted(runs) == checked


def _shares(stream: random.Random) -> list[records.Body]:
    found = shared_devices.slices()
    live: list[str] = []
    for rv in range(10, 40):
        if live and stream.random() < 0.3:
            found.append(shared_devices.gone(rv, live.pop(stream.randrange(len(live)))))
            continue
        live.append(f"c{rv}")
        taken = {stream.choice("SSXZ"): stream.choice([None, 1, 1])}
        found.append(shared_devices.claim(rv, live[-1], taken))
    return found


@pytest.mark.parametrize("body", rewound.REWOUND.values(), ids=rewound.REWOUND)
def test_two_histories_are_not_put_in_one_order(body: rewound.Body, tmp_path: pathlib.Path) -> None:
    run = _run(tmp_path / "run", rewound.whole(body))
    [counted] = second_judge.counts([run])
    assert counted == second_judge.Count(1, 0)
    assert counted != _checked(run)
